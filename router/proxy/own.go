package proxy

import (
	"net/http"

	"bstein.dev/hux/hux"
)

// Own is a way to a tenant's upstream for requests of the router's own, which
// carry the identity of t.User. Each has a connection to itself, behind the
// same breaker as those of people. Path and query alone count of a request's
// URL.
func (p *Proxy) Own(t Target) http.RoundTripper { return own{p, t} }

type own struct {
	proxy  *Proxy
	target Target
}

func (o own) RoundTrip(r *http.Request) (*http.Response, error) {
	p := o.proxy
	s := p.slots.get(o.target, p.headerTimeout)
	done, err := s.breaker.Allow()
	if err != nil {
		return nil, hux.Errorf(hux.SlotBusy, "The workspace does not answer; it is tried again in a moment.").After(openFor)
	}
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = s.upstream.Scheme, s.upstream.Host
	out.Host = p.host
	out.Header[p.identityHeader] = []string{string(o.target.User)}
	out.Header["X-Forwarded-Proto"], out.Header["X-Forwarded-Host"] = p.forwardedProto, p.forwardedHost
	resp, err := s.single.RoundTrip(out)
	if r.Context().Err() != nil {
		done(r.Context().Err()) // the router's own patience says nothing of the upstream
	} else {
		done(err)
	}
	return resp, err
}
