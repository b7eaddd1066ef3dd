package blackbox_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/client"
)

// api is a program that asks a router with hux/client.
func (h *router) api(t testing.TB, base string, transport *http.Transport, credential string) *client.Client {
	t.Helper()
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.New(client.Options{BaseURL: base, Token: client.Static(credential), HTTPClient: &http.Client{Transport: transport, Timeout: 30 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// cutter passes connections on to a router, and can swallow what the router
// answers: the connection breaks after the router has done what it was asked.
type cutter struct {
	net.Listener
	to      func() string
	swallow atomic.Int64 // so many of the next answers
}

func cutterTo(t testing.TB, to func() string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: to}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { c.pass(in) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		open.Wait()
	})
	return c
}

func (c *cutter) pass(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", c.to())
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	}()
	buffer := make([]byte, 4<<10)
	for {
		n, err := out.Read(buffer)
		if err != nil {
			return
		}
		if c.swallow.Load() > 0 {
			c.swallow.Add(-1)
			return
		}
		if _, err := in.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// A write whose answer is lost is sent again and is one write; a stream that
// breaks in the middle, and one over a restart of the router, has each event
// once and in order.
func TestClientOverBrokenConnections(t *testing.T) {
	t.Parallel()
	h := start(t, setup{plain: true, slots: []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}}, config: map[string]any{"listen": freeAddr(t)}})
	writes, reads := cutterTo(t, h.addr.get), cutterTo(t, h.addr.get)
	token := h.token(t, "alice")
	writer := h.api(t, "http://"+writes.Addr().String(), &http.Transport{}, token)
	reader := h.api(t, "http://"+reads.Addr().String(), &http.Transport{}, token)
	conversation, err := writer.OpenConversation(t.Context(), client.ConversationCreate{})
	if err != nil {
		t.Fatal(err)
	}

	const each = 40
	var got []int64
	var followed sync.WaitGroup
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var lost atomic.Int64
	read := make(chan int64, 10*each)
	followed.Go(func() {
		for e, err := range reader.Follow(ctx, conversation.ID, client.StreamOptions{Lost: func(error) { lost.Add(1) }}) {
			if err != nil {
				t.Errorf("the stream ends with %v", err)
				return
			}
			if got = append(got, e.Seq); e.Summary != fmt.Sprint("event ", e.Seq) {
				t.Errorf("%d is %q", e.Seq, e.Summary)
			}
			read <- e.Seq
			if e.Seq == 2*each {
				return
			}
		}
	})
	post := func(from, to int) {
		for n := from; n <= to; n++ {
			writes.swallow.Store(int64(n % 3)) // no answer of the first one or two
			e, err := writer.PostEvent(t.Context(), conversation.ID, client.EventCreate{Kind: "run.started", Summary: fmt.Sprint("event ", n)})
			if err != nil || e.Seq != int64(n) {
				t.Fatalf("event %d: %+v %v", n, e, err)
			}
			if n%each == each/2 {
				reads.swallow.Store(1)
			}
		}
	}
	post(1, each)
	for seq := range read {
		if seq == each {
			break
		}
	}
	h.stop(t)
	h.launch(t)
	h.log.wait(t, `"sign-in provider found"`)
	eventually(t, 20*time.Second, "the router takes tokens", func() bool {
		_, err := writer.Capabilities(t.Context())
		return err == nil
	})
	post(each+1, 2*each)
	followed.Wait()
	for i, seq := range got {
		if seq != int64(i+1) {
			t.Fatalf("the stream has %d at %d: %v", seq, i+1, got)
		}
	}
	if len(got) != 2*each || lost.Load() < 3 {
		t.Errorf("%d events over %d lost connections", len(got), lost.Load())
	}
	listed, err := client.Collect(reader.Events(t.Context(), conversation.ID, 0))
	if err != nil || len(listed) != 2*each {
		t.Errorf("%d events, %v", len(listed), err)
	}

	writes.swallow.Store(1)
	answer, err := writer.Do(t.Context(), client.Request{Method: "POST", Path: "/conversations", Body: client.ConversationCreate{Title: new("one")}}, nil)
	if err != nil || !answer.Replayed() || answer.ETag() == "" {
		t.Errorf("a conversation: %+v %v", answer, err)
	}
	if all, err := client.Collect(reader.Conversations(t.Context(), nil)); err != nil || len(all) != 2 {
		t.Errorf("%d conversations, %v", len(all), err)
	}
}

// What the API says reaches the program: pages, revisions, refusals, who it is.
func TestClient(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		ctx := t.Context()
		alice := h.api(t, apiURL, h.transport(proto), h.token(t, "alice"))
		bob := h.api(t, apiURL, h.transport(proto), h.token(t, "bob"))
		credential := strings.TrimSpace(h.command(t, "", "agents", "create", "a", "an assistant"))
		h.secrets.add("agent credential", credential)
		agent := h.api(t, apiURL, h.transport(proto), credential).During("session-"+proto, "run-"+proto)

		capabilities, err := alice.Capabilities(ctx)
		if err != nil || capabilities.ContractVersion != hux.ContractVersion || capabilities.Actor.ID != h.user("alice") || !capabilities.Flags["hux.foundation"].Enabled {
			t.Fatalf("%+v %v", capabilities, err)
		}
		if manifest, err := alice.Manifest(ctx); err != nil || len(manifest.Records) == 0 {
			t.Errorf("%+v %v", manifest, err)
		}
		var ids []string
		for n := range 7 {
			c, err := alice.OpenConversation(ctx, client.ConversationCreate{Title: new(fmt.Sprint("number ", n)), Tags: []string{proto}})
			if err != nil {
				t.Fatal(err)
			}
			ids = append([]string{c.ID}, ids...)
		}
		var listed []string
		for c, err := range alice.Conversations(ctx, url.Values{"tag": {proto}, "limit": {"3"}}) {
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, c.ID)
		}
		if !slices.Equal(listed, ids) {
			t.Errorf("listed %v, made %v", listed, ids)
		}
		for n := range 205 {
			if _, err := agent.PostEvent(ctx, ids[0], client.EventCreate{Kind: "run.started", Summary: fmt.Sprint(n)}); err != nil {
				t.Fatal(err)
			}
		}
		events, err := client.Collect(alice.Events(ctx, ids[0], 1))
		if err != nil || len(events) != 204 || events[203].Seq != 205 {
			t.Fatalf("%d events, %v", len(events), err)
		}
		if p := events[0].Provenance; p.Actor.Kind != hux.KindAgent || p.SessionID == nil || *p.SessionID != "session-"+proto || p.RunID == nil || *p.RunID != "run-"+proto {
			t.Errorf("provenance %+v", p)
		}

		var wg sync.WaitGroup
		for n := range 3 { // as many as may meet, for each to win within its tries
			wg.Go(func() {
				_, err := alice.UpdateConversation(ctx, ids[1], func(c *client.Conversation) (client.ConversationPatch, error) {
					return client.ConversationPatch{Tags: append(c.Tags, fmt.Sprint(n)), ProjectID: client.Null[string]()}, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		changed, err := alice.Conversation(ctx, ids[1])
		if err != nil || changed.Revision != 4 || len(changed.Tags) != 4 {
			t.Fatalf("%+v %v", changed, err)
		}
		changed.Revision = 2
		_, stale := alice.PatchConversation(ctx, changed, client.ConversationPatch{Pinned: new(true)})
		_, foreign := bob.Conversation(ctx, ids[0])
		_, invalid := alice.OpenConversation(ctx, client.ConversationCreate{Title: new("")})
		_, unreal := alice.PostEvent(ctx, ids[0], client.EventCreate{Kind: "memory.used", Summary: "x"})
		key := client.Key("once-" + proto)
		_, first := alice.OpenConversation(ctx, client.ConversationCreate{}, key)
		_, reused := alice.OpenConversation(ctx, client.ConversationCreate{Pinned: new(true)}, key)
		_, unknown := h.api(t, apiURL, h.transport(proto), "nonsense").Capabilities(ctx)
		for name, c := range map[string]struct {
			err  error
			code hux.Code
		}{
			"stale": {stale, hux.PreconditionFailed}, "foreign": {foreign, hux.NotFound}, "invalid": {invalid, hux.SchemaInvalid}, "unreal": {unreal, hux.ReadOnlyField},
			"first": {first, ""}, "reused": {reused, hux.IdempotencyKeyReused}, "unknown": {unknown, hux.Unauthenticated},
		} {
			if client.CodeOf(c.err) != c.code {
				t.Errorf("%s: %v", name, c.err)
			}
		}
	})
}
