package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"bstein.dev/hux/hux/autonomy"
)

// endWithin is how long the parts have to end once they are told to.
const endWithin = 5 * time.Second

// Run serves on listener, and operators on the socket in the data directory,
// until ctx ends; then it tells open streams, lets requests end within the
// grace time, and returns. Where a part fails it ends all others at once and
// says why.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	defer s.shut()
	web, err := s.webDoor(listener)
	defer web.close()
	if err != nil {
		return err
	}
	admin, err := s.adminDoor()
	if err != nil {
		return err
	}
	defer admin.close()
	metrics, err := s.metricsDoor()
	if err != nil {
		return err
	}
	defer metrics.close()

	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	parts, alive := errgroup.WithContext(life)
	web.server.BaseContext = func(net.Listener) context.Context { return alive }
	s.begin(alive, parts)
	for _, d := range []*door{web, admin, metrics} {
		parts.Go(d.serve)
	}
	select {
	case <-ctx.Done():
		s.leave(alive, web.server)
	case <-alive.Done(): // a part has failed
	}
	s.shut()
	end()
	for _, d := range []*door{web, admin, metrics} {
		d.close()
	}
	ended := make(chan error, 1)
	go func() { ended <- parts.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(endWithin):
		return fmt.Errorf("not all of hux ended within %v of being told to: %w", endWithin, context.Cause(alive))
	}
}

// begin starts what runs beside the requests, until ctx ends.
func (s *Server) begin(ctx context.Context, parts *errgroup.Group) {
	for _, run := range []func(context.Context){s.tenants.Run, s.stores.Run, s.sweep, s.due.Run, s.runSelfCheck, s.loadOversight} {
		parts.Go(func() error {
			run(ctx)
			return nil
		})
	}
	parts.Go(func() error { return s.identity.Run(ctx) })
	if s.rules.Switched(autonomy.Flag) {
		parts.Go(func() error {
			s.webui.Run(s.closing)
			return nil
		})
	}
}

// leave lets balancers see that this router goes, tells open streams, and
// waits for requests to end, for the grace time at most.
func (s *Server) leave(alive context.Context, web *http.Server) {
	s.draining.Store(true)
	slog.Info("shutting down", "drain", s.config.Drain.String(), "grace", s.config.Grace.String())
	select {
	case <-time.After(s.config.Drain):
	case <-alive.Done():
	}
	s.shut()
	s.proxy.Drain()
	graceful, cancel := context.WithTimeout(alive, s.config.Grace)
	defer cancel()
	if err := web.Shutdown(graceful); err != nil {
		slog.Warn("requests were cut at the end of the grace time")
	}
}

// door is a listener with what is served on it; nil serves nothing.
type door struct {
	server   *http.Server
	listener net.Listener
	tls      bool
}

func newDoor(l net.Listener, h http.Handler) *door {
	return &door{server: &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}, listener: l}
}

// serve returns at the door's end, with an error where it was not closed.
func (d *door) serve() (err error) {
	switch {
	case d == nil:
		return nil
	case d.tls:
		err = d.server.ServeTLS(d.listener, "", "")
	default:
		err = d.server.Serve(d.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("%s: %w", d.listener.Addr(), err)
}

// close ends the door, open requests included. It may be called again.
func (d *door) close() {
	if d != nil {
		_ = d.server.Close()
		_ = d.listener.Close() // one that was never served on
	}
}

// webDoor serves people and programs.
func (s *Server) webDoor(l net.Listener) (*door, error) {
	d := &door{listener: l, server: &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}}
	if s.config.TLSCert == "" {
		return d, nil
	}
	d.tls = true
	var err error
	d.server.TLSConfig, err = tlsConfig(s.config.TLSCert, s.config.TLSKey)
	return d, err
}

// metricsDoor serves Prometheus; nil where nobody asked for it.
func (s *Server) metricsDoor() (*door, error) {
	if s.config.MetricsListen == "" {
		return nil, nil //nolint:nilnil // no door serves nothing, by its methods
	}
	l, err := net.Listen("tcp", s.config.MetricsListen)
	if err != nil {
		return nil, fmt.Errorf("metrics_listen: %w", err)
	}
	m := http.NewServeMux()
	m.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	return newDoor(l, m), nil
}
