package event

import (
	"sync"
	"time"
)

// attachedFor is how long somebody counts as there after their last look
// (contracts 5).
const attachedFor = 60 * time.Second

// presence is who looks at the log: a request for which nobody is there to
// decide need not wait.
type presence struct {
	mu   sync.Mutex
	open map[string]int       // streams, by reader
	last map[string]time.Time // look, by reader
}

// maxLooks is how many readers' looks are kept before old ones are dropped.
const maxLooks = 4096

func newPresence() presence { return presence{open: map[string]int{}, last: map[string]time.Time{}} }

func (p *presence) look(reader string) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) >= maxLooks {
		for r, at := range p.last {
			if now.Sub(at) > attachedFor {
				delete(p.last, r)
			}
		}
	}
	p.last[reader] = now
}

// Looked notes that a reader asked for what is new, without a stream.
func (l *Log) Looked(reader string) { l.present.look(reader) }

// Present reports whether a reader follows a stream, or has asked for what is
// new within the last minute.
func (l *Log) Present(reader string) bool {
	l.present.mu.Lock()
	defer l.present.mu.Unlock()
	at, ok := l.present.last[reader]
	return l.present.open[reader] > 0 || ok && time.Since(at) <= attachedFor
}
