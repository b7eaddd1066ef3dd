package api

import (
	"net/url"
	"strings"
)

// Origin is the origin of u as a browser writes it: scheme and host in lower
// case, and the port unless it is the scheme's own (RFC 6454 section 6.1).
func Origin(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return scheme + "://" + host
}
