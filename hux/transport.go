package hux

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// NewTransport is where every request of hux's own begins. Unlike
// http.DefaultTransport it does not heed HTTP_PROXY and its like: what goes out
// has credentials, arguments of tools and codes of sign-ins in it, and a
// variable that somebody set for another program must not choose who reads
// them. Whoever wants a proxy sets Proxy.
func NewTransport() *http.Transport {
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   10 * time.Second,
		ForceAttemptHTTP2:     true, // else a dialer of one's own means HTTP/1
		MaxIdleConns:          100,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}
