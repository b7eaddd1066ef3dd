package proxy

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestEndingStreamStopsBehindAnEvent: what follows the event under way when
// the stream is to end is left out, however the bytes are cut.
func TestEndingStreamStopsBehindAnEvent(t *testing.T) {
	for _, nl := range []string{"\n", "\r\n", "\r"} {
		unit := func(s string) string { return strings.ReplaceAll(s, "\n", nl) }
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader,
		} {
			p := &Proxy{}
			s := &eventStream{body: io.NopCloser(wrap(strings.NewReader(unit(" 1\ndata: 2\n\ndata: 3\n\n")))), proxy: p}
			s.remember([]byte("data:"))
			s.ending = true
			b, err := io.ReadAll(s)
			if err != nil || string(b) != unit(" 1\ndata: 2\n\n")+": closing\n\n" {
				t.Errorf("%q, %s: %q, %v", nl, name, b, err)
			}
		}
	}
}
