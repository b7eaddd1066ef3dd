package identity

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How often something may happen for one address or user. The bursts leave
// room for an office behind one address; the rates stop a loop.
const (
	startRate, startBurst   = rate.Limit(5), 300  // sign-ins begun, by client address
	userRate, userBurst     = rate.Limit(0.5), 30 // sign-ins finished, by user
	logoutRate, logoutBurst = rate.Limit(50), 500 // back-channel logouts, by client address: one provider ends many

	handoverRate, handoverBurst = rate.Limit(2), 200 // hand-overs to the chat host, by user

	webhookRate, webhookBurst = rate.Limit(100), 1000 // webhooks, by agent
)

const (
	limitShards    = 16
	limitPerShard  = 4096             // buckets; what a botnet can take of memory
	limitRetention = 10 * time.Minute // by then every bucket is full again
)

// limiter is a token bucket for each key. Shards keep one lock from being
// everybody's.
type limiter struct {
	rate  rate.Limit
	burst int
	now   func() time.Time
	seed  maphash.Seed
	shard [limitShards]struct {
		sync.Mutex
		buckets map[string]*bucket
	}
}

type bucket struct {
	tokens *rate.Limiter
	seen   time.Time
}

func newLimiter(r rate.Limit, burst int, now func() time.Time) *limiter {
	l := &limiter{rate: r, burst: burst, now: now, seed: maphash.MakeSeed()}
	for i := range l.shard {
		l.shard[i].buckets = map[string]*bucket{}
	}
	return l
}

// take spends one token of key, or says how long until there is one.
func (l *limiter) take(key string) (wait time.Duration, ok bool) {
	now := l.now()
	s := &l.shard[maphash.String(l.seed, key)%limitShards]
	s.Lock()
	defer s.Unlock()
	b := s.buckets[key]
	if b == nil {
		if len(s.buckets) >= limitPerShard {
			evict(s.buckets, now)
		}
		b = &bucket{tokens: rate.NewLimiter(l.rate, l.burst)}
		s.buckets[key] = b
	}
	b.seen = now
	if b.tokens.AllowN(now, 1) {
		return 0, true
	}
	return time.Duration((1 - b.tokens.TokensAt(now)) / float64(l.rate) * float64(time.Second)), false
}

// evict makes room by dropping, of a few buckets, those not seen for long, and
// if there are none the one seen longest ago. All of them would be a long walk
// under a lock that an attacker chooses when to take.
func evict(buckets map[string]*bucket, now time.Time) {
	var oldest *bucket
	var oldestKey string
	looked := 0
	for key, b := range buckets {
		if now.Sub(b.seen) > limitRetention {
			delete(buckets, key)
		} else if oldest == nil || b.seen.Before(oldest.seen) {
			oldest, oldestKey = b, key
		}
		if looked++; looked == 16 {
			break
		}
	}
	if len(buckets) >= limitPerShard {
		delete(buckets, oldestKey)
	}
}

// takeAddr spends one token of the client at a. A client without an address,
// as on a Unix socket, is not counted: it would share with all its like.
func (l *limiter) takeAddr(a netip.Addr) (wait time.Duration, ok bool) {
	if !a.IsValid() {
		return 0, true
	}
	return l.take(addrKey(a))
}

// nat64 are IPv4 clients as a translator writes them (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// addrKey is the address as a limiter counts it: an IPv6 client owns its /64,
// and one behind a translator is who the last four bytes say.
func addrKey(a netip.Addr) string {
	a = a.WithZone("").Unmap()
	switch {
	case nat64.Contains(a):
		b := a.As16()
		return netip.AddrFrom4([4]byte(b[12:])).String()
	case a.Is6():
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
