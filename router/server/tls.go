package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// tlsConfig serves the certificate in two PEM files and takes up a new one
// within seconds of its being written; one that does not load leaves the old.
func tlsConfig(certFile, keyFile string) (*tls.Config, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("tls_cert: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"h2", "http/1.1"}}, nil
}

type certificate struct {
	certFile, keyFile string

	mu        sync.Mutex
	current   *tls.Certificate
	changed   [2]time.Time
	checkedAt time.Time
}

const certificateCheckEvery = 2 * time.Second

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checkedAt) > certificateCheckEvery {
		if c.changed != c.stat() {
			if err := c.loadLocked(); err != nil {
				slog.Error("the new certificate does not load; the old one stays", "cause", err)
			}
		}
		c.checkedAt = time.Now()
	}
	return c.current, nil
}

func (c *certificate) stat() (changed [2]time.Time) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			changed[i] = info.ModTime()
		}
	}
	return changed
}

func (c *certificate) load() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loadLocked()
}

func (c *certificate) loadLocked() error {
	c.changed = c.stat() // before reading, so that a change meanwhile is seen next time
	cert, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.current = &cert
	return nil
}
