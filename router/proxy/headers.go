package proxy

import (
	"net/http"
	"strings"
)

// maxFold is how much of a header's name is folded; no name that matters is
// longer, and New refuses an identity header that is.
const maxFold = 48

// foldName writes the letters and digits of a header's name in lower case to
// buf. A CGI-like upstream takes names that fold alike for the same header.
// ok is false for a name with anything but letters, digits and hyphens in it.
func foldName(buf *[maxFold]byte, name string) (folded []byte, ok bool) {
	n := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c |= 0x20
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		case c == '-':
			continue
		default:
			return nil, false
		}
		if n < maxFold {
			buf[n] = c
			n++
		}
	}
	return buf[:n], true
}

// families are the beginnings of names that never go up, folded: who the
// client is, where the request came from, how it travels. What of them the
// upstream needs is set afterwards.
var families = byFirst(
	"authorization", "cfconnecting", "clientip", "connection", "contentlength", "cookie", "expect", "forwarded", "host",
	"http2settings", "hux", "keepalive", "proxy", "remote", "scriptname", "ssl", "trailer", "transferencoding", "trueclient",
	"upgrade", "xauth", "xclient", "xcluster", "xenvoy", "xforwarded", "xhost", "xhttpmethod", "xhux", "xmethodoverride",
	"xoriginal", "xproxy", "xreal", "xremote", "xrewrite", "xscriptname", "xssl", "xuser", "xwebauth",
)

// byFirst sorts names by their first byte, so that a header meets few of them.
func byFirst(names ...string) (table [256][]string) {
	for _, name := range names {
		table[name[0]] = append(table[name[0]], name)
	}
	return table
}

// passes reports whether a client's header may go up as it is.
func (p *Proxy) passes(name string) bool {
	var buf [maxFold]byte
	folded, ok := foldName(&buf, name)
	if !ok || len(folded) == 0 || string(folded) == p.identityFold || string(folded) == "te" {
		return false
	}
	for _, f := range families[folded[0]] {
		if len(folded) >= len(f) && string(folded[:len(f)]) == f {
			return false
		}
	}
	return true
}

// setHeaders leaves in the outgoing headers what passes and adds what the
// upstream may believe. Cookies and identity are set last, so that nothing
// that the client put into Connection can take them away.
func (x *exchange) setHeaders(in, out http.Header) {
	p := x.proxy
	for name := range out {
		if !p.passes(name) {
			delete(out, name)
		}
	}
	if x.target.ClientAddr.IsValid() {
		x.values.addr[0] = x.target.ClientAddr.Unmap().String()
		out["X-Forwarded-For"] = x.values.addr[:]
		out["X-Real-Ip"] = x.values.addr[:]
	}
	out["X-Forwarded-Proto"] = p.forwardedProto
	out["X-Forwarded-Host"] = p.forwardedHost
	if cookies := x.slot.cookies.request(in["Cookie"], &x.foreign); cookies != "" {
		x.values.cookies[0] = cookies
		out["Cookie"] = x.values.cookies[:]
	}
	x.values.user[0] = string(x.target.User)
	out[p.identityHeader] = x.values.user[:]
}

// cleanAnswer takes from an upstream's answer what is not its to say: about
// the host's transport, about other origins, about the router itself, about
// who hears of the browser's errors (a report names every path of the origin),
// or about a worker's scope beyond its own directory.
func (p *Proxy) cleanAnswer(h http.Header) {
	for name := range h {
		switch name[0] {
		case 'A':
			if name == "Alt-Svc" || strings.HasPrefix(name, "Access-Control-") {
				delete(h, name)
			}
		case 'C':
			if name == "Clear-Site-Data" {
				delete(h, name)
			}
		case 'N':
			if name == "Nel" {
				delete(h, name)
			}
		case 'R':
			if name == "Report-To" || name == "Reporting-Endpoints" {
				delete(h, name)
			}
		case 'H', 'S', 'X':
			switch name {
			case "Server", "Strict-Transport-Security", "Service-Worker-Allowed", "X-Accel-Redirect", "X-Sendfile":
				delete(h, name)
			default:
				if ours(name) {
					delete(h, name)
				}
			}
		}
	}
	delete(h, p.identityHeader)
}

// frame leaves in an answer without a body the headers that it may have: a 204
// and a 101 have no length, a 304 needs none, which clients of HTTP/2 wait for,
// and a 101, which net/http/httputil passes on as it
// is, switches to the WebSocket protocol and says nothing else of its
// connection (RFC 9110, 7.6.1 and 8.6).
func frame(resp *http.Response) {
	h := resp.Header
	switch resp.StatusCode {
	case http.StatusNoContent, http.StatusNotModified:
		delete(h, "Content-Length")
	case http.StatusSwitchingProtocols:
		for _, line := range h["Connection"] {
			for name := range strings.SplitSeq(line, ",") {
				if name = http.CanonicalHeaderKey(strings.TrimSpace(name)); name != "Upgrade" {
					delete(h, name)
				}
			}
		}
		for _, name := range [...]string{"Content-Length", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding"} {
			delete(h, name)
		}
		h["Connection"] = []string{"Upgrade"}
	}
}

// ours reports whether a name belongs to the router's own headers.
func ours(name string) bool {
	var buf [maxFold]byte
	folded, ok := foldName(&buf, name)
	if !ok {
		return false
	}
	s := string(folded)
	return strings.HasPrefix(s, "hux") || strings.HasPrefix(s, "xhux")
}
