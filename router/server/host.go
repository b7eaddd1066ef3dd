package server

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
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

// clientAddr is the address a request comes from, as far as that can be told:
// the peer's, or what trusted proxies say.
func (s *Server) clientAddr(r *http.Request) netip.Addr {
	addr, _ := s.forwarded(r)
	return addr
}

// limitAddr is the address that a request counts for where addresses are
// limited: none where a proxy says something that can't be read, since its own
// would stand for everybody behind it.
func (s *Server) limitAddr(r *http.Request) netip.Addr {
	addr, ok := s.forwarded(r)
	if !ok {
		s.unreadHop.Do(func() {
			slog.Warn("a trusted proxy sends an X-Forwarded-For that holds no address; who comes by it is not limited by address", "proxy", addr.String())
		})
		return netip.Addr{}
	}
	return addr
}

// forwarded reads what trusted proxies say from the right, up to the first
// address that is not trusted. ok is false where it meets something else than
// an address; what stands before that can't be believed.
func (s *Server) forwarded(r *http.Request) (addr netip.Addr, ok bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}, true
	}
	addr = peer.Addr().Unmap()
	if !s.trusted(addr) {
		return addr, true
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, said := range slices.Backward(hops) {
		if said = strings.Trim(said, " \t"); said == "" {
			continue
		}
		hop, ok := readHop(said)
		if !ok {
			return addr, false
		}
		if addr = hop; !s.trusted(addr) {
			return addr, true
		}
	}
	return addr, true
}

// readHop reads an address as proxies write it: some put the port behind it,
// and some brackets round one of IPv6.
func readHop(said string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(said)
	if err != nil {
		var withPort netip.AddrPort
		withPort, err = netip.ParseAddrPort(said)
		addr = withPort.Addr()
	}
	if inner, ok := strings.CutPrefix(said, "["); ok && err != nil {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			addr, err = netip.ParseAddr(inner)
		}
	}
	return addr.WithZone("").Unmap(), err == nil
}

func (s *Server) trusted(addr netip.Addr) bool {
	for _, p := range s.config.TrustedProxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
