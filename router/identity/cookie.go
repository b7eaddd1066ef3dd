package identity

import (
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// cookieNames are the cookies of one site. Where the browser takes Secure
// cookies they carry the __Host- prefix, so that no other host can set them.
type cookieNames struct {
	session string // the handle of the session on this site
	flow    string // what a sign-in under way is bound to
	last    string // a keyed hash of who signed in here last
	secure  bool
}

// lastLifetime is the longest that browsers keep a cookie.
const lastLifetime = 400 * 24 * time.Hour

// namesFor names the cookies of the site at u. Browsers count *.localhost as
// secure over plain HTTP too.
func namesFor(u *url.URL, site string) cookieNames {
	host := strings.ToLower(u.Hostname())
	n := cookieNames{session: "hux_" + site, flow: "hux_flow", last: "hux_last"}
	n.secure = u.Scheme == "https" || host == "localhost" || strings.HasSuffix(host, ".localhost")
	if n.secure {
		n.session, n.flow, n.last = "__Host-"+n.session, "__Host-"+n.flow, "__Host-"+n.last
	}
	return n
}

// site is where a request to site counts: with one origin all of it is Console.
func (s *Service) site(site Site) Site {
	if site == Chat && s.chat == nil {
		return Console
	}
	return site
}

func (s *Service) names(site Site) cookieNames {
	if site == Chat {
		return s.chatNames
	}
	return s.consoleNames
}

// cookies walks through the names and values in Cookie header lines.
func cookies(lines []string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, line := range lines {
			for line != "" {
				var pair string
				pair, line, _ = strings.Cut(line, ";")
				name, value, ok := strings.Cut(pair, "=")
				if ok && !yield(strings.Trim(name, " \t"), strings.Trim(value, " \t")) {
					return
				}
			}
		}
	}
}

// cookie finds the one cookie of that name in Cookie header lines. One that
// comes twice is not found: at most one of the two is ours.
func cookie(lines []string, name string) (value string, ok bool) {
	if name == "" {
		return "", false
	}
	for n, v := range cookies(lines) {
		if n != name {
			continue
		}
		if ok {
			return "", false
		}
		value, ok = v, true
	}
	return value, ok
}

// cookiesWith lists the names of cookies that start with prefix.
func cookiesWith(lines []string, prefix string) []string {
	var names []string
	for name := range cookies(lines) {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

// set sets a cookie for life; clearing is a negative life.
func (n cookieNames) set(w http.ResponseWriter, name, value string, life time.Duration) {
	maxAge := int(life.Seconds())
	if life < 0 {
		maxAge = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: maxAge,
		Secure: n.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// signedIn marks the browser as user's on site. Where another one was the
// last, what the browser keeps of theirs goes: never its cookies, since that
// would take the sibling host's too.
func (s *Service) signedIn(w http.ResponseWriter, r *http.Request, site Site, user string) {
	n := s.names(site)
	mark := s.keyedHash("last user "+string(site), user)[:32]
	if last, ok := cookie(r.Header["Cookie"], n.last); ok && last != mark {
		clearSiteData(w)
	}
	n.set(w, n.last, mark, lastLifetime)
}

func clearSiteData(w http.ResponseWriter) {
	w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
}
