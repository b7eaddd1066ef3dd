package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"bstein.dev/hux/router/identity"
)

// siteOf decides by the Host header, port included, which site a request is
// for; API hosts are matched without their port, since they are reached
// through whatever forwards them. "" is none of ours.
func (s *Server) siteOf(r *http.Request) identity.Site {
	host := strings.ToLower(r.Host)
	if site, ok := s.sites[host]; ok {
		return site
	}
	if s.sites[hostOnly(host)] == identity.API {
		return identity.API
	}
	return ""
}

// hostOnly is host without its port, and without the brackets of an IPv6
// address.
func hostOnly(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.Trim(host, "[]")
}

// clientAddr is the address a request really comes from: the peer's, or what
// trusted proxies say, read from the right up to the first that is not
// trusted.
func (s *Server) clientAddr(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := peer.Addr().Unmap()
	if !s.trusted(addr) {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			return addr // what stands before it can't be believed
		}
		if addr = hop.Unmap(); !s.trusted(addr) {
			return addr
		}
	}
	return addr
}

func (s *Server) trusted(addr netip.Addr) bool {
	for _, p := range s.config.TrustedProxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
