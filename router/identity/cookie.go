package identity

import (
	"iter"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"bstein.dev/hux/hux"
)

// cookieNames are the cookies of one site. Where the browser takes Secure
// cookies they carry the __Host- prefix, so that no other host can set them.
type cookieNames struct {
	session string // the handle of the session on this site
	flow    string // begins the names of what sign-ins under way are bound to; see flowOf
	last    string // console: a keyed hash of who signed in in this browser last
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

// set sets a cookie for life; clearing is a negative life.
func (n cookieNames) set(w http.ResponseWriter, name, value string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: maxAge(life),
		Secure: n.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func maxAge(life time.Duration) int {
	if life < 0 {
		return -1
	}
	return int(life.Seconds())
}

// flowOf names the cookie of the sign-in that hash tells from others, so that
// tabs do not disturb each other.
func (n cookieNames) flowOf(hash string) string { return n.flow + "_" + hash[:8] }

// begun is the value of a flow cookie that had to make room: of that sign-in it
// is known that this browser began it, and nothing more.
const begun = "begun"

// makeRoom makes room for one more sign-in in this browser: of those under way
// the newest are kept that most allows, and of those that it began at all known.
// Browsers send a cookie before those that are younger (RFC 6265, 5.4).
func (n cookieNames) makeRoom(w http.ResponseWriter, r *http.Request, most, known int) {
	var names, whole []string
	for name, value := range cookies(r.Header["Cookie"]) {
		if strings.HasPrefix(name, n.flow+"_") {
			names = append(names, name)
			if value != begun {
				whole = append(whole, name)
			}
		}
	}
	forgotten := names[:max(0, len(names)-known+1)]
	for _, name := range whole[:max(0, len(whole)-most+1)] {
		if !slices.Contains(forgotten, name) {
			n.set(w, name, begun, flowKept)
		}
	}
	for _, name := range forgotten {
		n.set(w, name, "", -1)
	}
}

// sharedDomain is the longest domain that holds the host names a and b, which
// is where a cookie for both goes; "" for none of two labels or more.
func sharedDomain(a, b string) string {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if net.ParseIP(a) != nil || net.ParseIP(b) != nil {
		return ""
	}
	for d := a; strings.Contains(d, "."); _, d, _ = strings.Cut(d, ".") {
		if b == d || strings.HasSuffix(b, "."+d) {
			return d
		}
	}
	return ""
}

// isLast reports whether the console knows user as the one who signed in here
// last. Where it does not know, anybody may have left something.
func (s *Service) isLast(r *http.Request, user hux.User) bool {
	last, ok := cookie(r.Header["Cookie"], s.consoleNames.last)
	return ok && last == s.lastMark(user)
}

func (s *Service) setLast(w http.ResponseWriter, user hux.User) {
	s.consoleNames.set(w, s.consoleNames.last, s.lastMark(user), lastLifetime)
}

func (s *Service) lastMark(user hux.User) string {
	return s.keyedHash("last user", string(user))[:32]
}

// clearSiteData has the browser forget what it keeps of this host: never its
// cookies, since that would take the sibling host's too.
func clearSiteData(w http.ResponseWriter) {
	w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
}
