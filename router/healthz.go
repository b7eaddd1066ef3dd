package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"bstein.dev/hux/hux"
)

const healthzHelp = `Usage: hux healthz [--config FILE] [--name value …]

Asks the router on this machine whether it is alive; for an image's health
check, which has no other program to ask with. It takes the settings that
"hux serve --help" lists, and needs listen and tls_cert of them.
`

func healthz(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, _, err := loadConfig(args, healthzHelp, stdout, stderr, "listen", "tls_cert")
	if err != nil {
		return err
	}
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://localhost/hux/healthz", nil)
	if err != nil {
		return err
	}
	transport := hux.NewTransport()
	// Where the router listens, whatever that is: for an address of none in particular the dialer takes this machine's own.
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, c.Listen)
	}
	// The certificate names the public host; this asks the socket beside us whether it answers.
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // our own socket, nothing is sent or believed
	client := &http.Client{Timeout: 2 * time.Second, Transport: transport}
	res, err := client.Do(req)
	if err != nil {
		return errors.New("the router does not answer")
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the router answers with status %d", res.StatusCode)
	}
	return nil
}
