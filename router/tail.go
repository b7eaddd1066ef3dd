package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/r3labs/sse/v2"
	"gopkg.in/cenkalti/backoff.v1"

	"bstein.dev/hux/hux"
)

const tailHelp = `Usage: hux tail CONVERSATION [--url URL] [--token-file FILE] [--after SEQ] [--json]

Follows what happens in a conversation, cnv_…: all of it so far, or what comes
after the event with the number SEQ, and then each event as it happens, one a
line. A lost connection is taken up again where it ended.

  --url          where hux answers programs (http://127.0.0.1:8080)
  --token-file   holds a token of the sign-in provider or an agent's credential,
                 and is read again for each connection; without it HUX_TOKEN
  --json         each event as the JSON that hux sent

It ends with status 1 when the token or the conversation is refused.
`

// Times of hux tail.
const (
	tailRetry    = 2 * time.Second // between two connections, until the router names another
	tailRetryMax = 30 * time.Second
)

// tailFrame bounds one frame of the stream; the largest event is far smaller.
const tailFrame = 1 << 20

func tail(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	set := flag.NewFlagSet("hux tail", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	base := set.String("url", "http://127.0.0.1:8080", "")
	tokenFile := set.String("token-file", "", "")
	after := set.Uint64("after", 0, "")
	asJSON := set.Bool("json", false, "")
	words, err := parseMixed(set, args)
	if errors.Is(err, flag.ErrHelp) || err == nil && len(words) == 0 {
		fmt.Fprint(stdout, tailHelp)
		return errHelped
	}
	if err != nil || len(words) != 1 {
		fmt.Fprint(stderr, tailHelp)
		return errors.New("that command is not understood")
	}
	if !hux.ValidID("cnv", words[0]) {
		return errors.New("a conversation is named by its id, cnv_ and 32 hex digits")
	}
	u, err := url.Parse(*base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("--url must be like https://hux.example.org")
	}
	f := &follower{
		url: u.JoinPath("hux/v1/conversations", words[0], "events/stream"), cursor: *after, retry: tailRetry,
		token: func() (string, error) { return tokenFrom(*tokenFile) }, stderr: stderr, print: printLine(stdout),
	}
	if *asJSON {
		f.print = func(raw []byte) error { _, err := fmt.Fprintf(stdout, "%s\n", raw); return err }
	}
	return f.run(ctx)
}

func tokenFrom(file string) (string, error) {
	token := os.Getenv("HUX_TOKEN")
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token = string(content)
	}
	if token = strings.TrimSpace(token); token == "" {
		return "", errors.New("who asks? Give a token in HUX_TOKEN or with --token-file")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("that is no token: it has spaces or characters that none has")
	}
	return token, nil
}

// follower follows one conversation over as many connections as it takes.
type follower struct {
	url    *url.URL
	token  func() (string, error)
	print  func(raw []byte) error // shows one event
	stderr io.Writer

	cursor uint64 // number of the last event that was shown
	epoch  string
	retry  time.Duration // what the router asks for between two connections
	failed error         // why there is no use in going on
	heard  bool          // anything on this connection
}

// errEnded is an end that is none of the connection's: the conversation has no
// more to tell.
var errEnded = errors.New("ended")

// run keeps to its own cursor instead of the library's last id: a connection
// that is cut in the middle of a frame hands the library an event that is not
// whole, and its id is taken for seen. The library tries each connection once,
// since its own waiting heeds neither ctx nor what the router asks for.
func (f *follower) run(ctx context.Context) error {
	for wait := f.retry; ; wait = min(2*wait, tailRetryMax) {
		token, err := f.token()
		if err != nil {
			return err
		}
		f.heard = false
		query := url.Values{"after_seq": {strconv.FormatUint(f.cursor, 10)}}
		if f.epoch != "" {
			query.Set("epoch", f.epoch)
		}
		f.url.RawQuery = query.Encode()
		client := sse.NewClient(f.url.String(), sse.ClientMaxBufferSize(tailFrame))
		client.ReconnectStrategy = &backoff.StopBackOff{}
		client.Headers["Authorization"] = "Bearer " + token
		client.Connection = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		client.ResponseValidator = func(_ *sse.Client, res *http.Response) error { return f.check(res) }
		connection, cut := context.WithCancel(ctx)
		err = client.SubscribeWithContext(connection, "", func(e *sse.Event) {
			if f.take(e); f.failed != nil {
				cut()
			}
		})
		cut()
		if errors.Is(f.failed, errEnded) {
			return nil
		}
		if f.failed != nil {
			return f.failed
		}
		if f.heard {
			wait = f.retry
		}
		if err != nil && ctx.Err() == nil { // a clean end is nil: the router was restarted, or this reader was too slow
			fmt.Fprintf(f.stderr, "hux: %s; trying again\n", inert(err.Error()))
		}
		timer := time.NewTimer(wait/2 + rand.N(wait/2+1)) // spreads readers
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// check looks at the answer's status: nil for a stream, an error for one to try
// again, and f.failed set where that is no use.
func (f *follower) check(res *http.Response) error {
	media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if res.StatusCode == http.StatusOK && media == "text/event-stream" {
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	var problem struct {
		Schema string `json:"schema"`
		Detail string `json:"detail"`
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	ours := json.Unmarshal(body, &problem) == nil && problem.Schema == "hux.error.v1"
	reason := inert(problem.Detail)
	switch {
	case res.StatusCode == http.StatusNoContent:
		f.failed = errEnded
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500:
		return fmt.Errorf("status %d", res.StatusCode)
	case !ours:
		f.failed = fmt.Errorf("%s is not hux's API: status %d", f.url.Host, res.StatusCode)
	case res.StatusCode == http.StatusUnauthorized:
		f.failed = errors.New("the token is not accepted: it is wrong, or its time is over")
	case res.StatusCode == http.StatusNotFound:
		f.failed = fmt.Errorf("no such conversation for this token: %s", reason)
	default:
		f.failed = fmt.Errorf("refused with status %d: %s", res.StatusCode, reason)
	}
	return f.failed
}

// take handles one frame.
func (f *follower) take(e *sse.Event) {
	if ms, err := strconv.Atoi(string(e.Retry)); err == nil && ms > 0 {
		f.retry = min(time.Duration(ms)*time.Millisecond, tailRetryMax)
	}
	if len(e.Data) == 0 {
		return
	}
	switch string(e.Event) {
	case "":
		var event struct {
			Seq uint64 `json:"seq"`
		}
		if json.Unmarshal(e.Data, &event) != nil || event.Seq <= f.cursor {
			return // not whole: it comes again
		}
		if f.failed = f.print(e.Data); f.failed == nil {
			f.cursor, f.heard = event.Seq, true
		}
	case "hux.hello":
		var hello struct {
			Epoch string `json:"epoch"`
		}
		if json.Unmarshal(e.Data, &hello) == nil {
			f.epoch, f.heard = hello.Epoch, true
		}
	case "hux.reset":
		f.cursor = 0
		fmt.Fprintln(f.stderr, "hux: the log's numbers start over; here it is from the beginning")
	}
}

// printLine shows events to people.
func printLine(w io.Writer) func(raw []byte) error {
	return func(raw []byte) error {
		var e struct {
			Seq        uint64    `json:"seq"`
			Kind       string    `json:"kind"`
			Status     *string   `json:"status"`
			Summary    string    `json:"summary"`
			RunID      string    `json:"run_id"`
			Reporter   string    `json:"reported_by"`
			Tombstone  any       `json:"tombstone"`
			CreatedAt  time.Time `json:"created_at"`
			Provenance struct {
				Actor hux.Actor `json:"actor"`
			} `json:"provenance"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("an event that can't be read: %w", err)
		}
		status, who := "-", string(e.Provenance.Actor.Kind)
		if e.Status != nil {
			status = *e.Status
		}
		if e.Reporter != "" {
			who += "'s " + e.Reporter
		}
		if e.RunID != "" {
			who += ", run " + e.RunID
		}
		if e.Tombstone != nil {
			e.Summary = "(forgotten)"
		}
		_, err := fmt.Fprintf(w, "%s %5d  %-18s %-9s  %s  [%s]\n", e.CreatedAt.Local().Format("15:04:05"), e.Seq, inert(e.Kind), inert(status), inert(e.Summary), inert(who))
		return err
	}
}

// inert takes out of foreign text what a terminal would obey.
func inert(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}
