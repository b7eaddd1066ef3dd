package server

import (
	"net/http"
	"path"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/router/identity"
)

// A page of the chat origin can set cookies for the whole site, in such
// numbers that no request of the browser would be served any more, on the
// console neither. So requests are read up to maxHeader, and one that is
// crowded with cookies gets an answer that takes them away.
const (
	maxHeader  = 1 << 20 // more than a browser keeps for one site
	maxCookies = 32 << 10
)

func crowded(r *http.Request) bool {
	size := 0
	for _, line := range r.Header["Cookie"] {
		size += len(line)
	}
	return size > maxCookies
}

// uncrowd expires every cookie that is not ours, on this host and on the
// site's shared domain, for each path on which the request may have got it.
func (s *Server) uncrowd(w http.ResponseWriter, r *http.Request) error {
	domains := []string{"", "; Domain=" + s.sharedDomain()}
	if s.sharedDomain() == "" {
		domains = domains[:1]
	}
	paths := []string{"/"}
	for p := r.URL.EscapedPath(); len(p) > 1 && len(paths) < 4; p = path.Dir(p) {
		paths = append(paths, p)
	}
	for _, line := range r.Header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			name, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if name == "" || ourCookie(name) || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) }) {
				continue
			}
			gone := name + "=; Max-Age=0; Path="
			secure := ""
			if strings.HasPrefix(name, "__") { // a browser heeds such a name with this alone
				secure = "; Secure"
			}
			for _, p := range paths {
				for _, d := range domains {
					w.Header().Add("Set-Cookie", gone+p+d+secure)
				}
			}
		}
	}
	return hux.Errorf(hux.HeadersTooLarge, "Your browser sent more cookies than this site can use. They were removed; load the page again.")
}

// ourCookie names those of ours that people would miss. The others live for
// minutes, and a page can plant any number under names like theirs.
func ourCookie(name string) bool {
	for _, prefix := range []string{"__Host-", "__Secure-"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name == "hux_chat" || name == "hux_console" || name == "hux_last"
}

// sharedDomain is the parent that the chat host and the console host share, ""
// with one origin.
func (s *Server) sharedDomain() string {
	if s.config.ConsoleURL == nil {
		return ""
	}
	return identity.SharedDomain(s.config.PublicURL.Hostname(), s.config.ConsoleURL.Hostname())
}
