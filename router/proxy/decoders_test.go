package proxy_test

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"bstein.dev/hux/router/proxy"
)

// stalled is a client that reads much of a page and then no more.
type stalled struct {
	header  http.Header
	left    int
	reached chan<- bool // says whether the page is decoded
	resume  <-chan struct{}
}

func (s *stalled) Header() http.Header { return s.header }
func (s *stalled) WriteHeader(int)     {}
func (s *stalled) Write(b []byte) (int, error) {
	if s.left > 0 && s.left <= len(b) || s.header.Get("Content-Encoding") != "" {
		s.left = 0
		select {
		case <-s.resume:
		default:
			s.reached <- s.header.Get("Content-Encoding") == ""
			<-s.resume
		}
	}
	s.left -= min(s.left, len(b))
	return len(b), nil
}

// A decoder keeps its window while a client reads; so there are few, and the
// pages of all others pass as they came.
func TestEncodedPagesOfStalledClients(t *testing.T) {
	const clients, decoders, window = 24, 8, 4 << 20
	page := "<!doctype html><head><title>x</title></head>" + strings.Repeat("<p>much of the same</p>", window/16)
	var br, zs bytes.Buffer
	b := brotli.NewWriterOptions(&br, brotli.WriterOptions{Quality: 2, LGWin: 22})
	z, err := zstd.NewWriter(&zs, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{b, z} {
		_, _ = io.WriteString(w, page)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for encoding, content := range map[string][]byte{"br": br.Bytes(), "zstd": zs.Bytes()} {
		up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", encoding)
			_, _ = w.Write(content)
		})
		p, err := proxy.New(proxy.Options{Rules: rules(t, testRules), PublicURL: mustURL(origin), ConsoleURL: mustURL(console), Head: head})
		if err != nil {
			t.Fatal(err)
		}
		target := proxy.Target{Tenant: tenantA, Slot: "a", Upstream: mustURL(up), User: alice}
		before := heap()
		reached, resume, done := make(chan bool), make(chan struct{}), make(chan struct{}, clients)
		for range clients {
			go func() {
				serveSafely(p, &stalled{http.Header{}, window, reached, resume}, newRequest("GET", "/"), target)
				done <- struct{}{}
			}()
		}
		decoded := 0
		for range clients {
			if <-reached {
				decoded++
			}
		}
		grown := heap() - before
		if decoded != decoders || grown > decoders*window+clients<<20 {
			t.Errorf("%s: %d of %d pages are decoded and %d MiB are taken", encoding, decoded, clients, grown>>20)
		}
		close(resume)
		for range clients {
			<-done
		}
		// They are given back, and a page without an encoding needs none.
		w := newDiscard()
		serveSafely(p, w, newRequest("GET", "/"), target)
		if !strings.Contains(w.Body.String(), plain) {
			t.Errorf("%s: a later page has no snippet", encoding)
		}
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools keep for one more turn
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
