package blackbox_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tenantFile is the one tenant's database of a router.
func (h *router) tenantFile(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.data, "tenants", "*", "tenant.db"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0]
}

// spoil changes every place of a file that has the text.
func spoil(t *testing.T, file string, text []byte, change func(found []byte)) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for at := 0; ; n++ {
		i := bytes.Index(content[at:], text)
		if i < 0 {
			break
		}
		at += i
		change(content[at : at+len(text)])
		at += len(text)
	}
	if n == 0 {
		t.Fatal("the file does not hold what is to be spoiled")
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// One event that is damaged is said of its conversation and of no other.
func TestDamagedEvent(t *testing.T) {
	t.Parallel()
	eventKey := func(conversation string, seq byte) []byte {
		return append([]byte(conversation), 0, 0, 0, 0, 0, 0, 0, seq)
	}
	for name, damage := range map[string]func(t *testing.T, file, conversation string){
		"a bit of a number": func(t *testing.T, file, conversation string) {
			key := eventKey(conversation, 50)
			spoil(t, file, key, func(b []byte) { b[len(b)-1] ^= 0x40 })
		},
		"a bit of an id": func(t *testing.T, file, conversation string) {
			spoil(t, file, eventKey(conversation, 50), func(b []byte) { b[10] ^= 0x01 })
		},
		"a value that is no JSON": func(t *testing.T, file, _ string) {
			spoil(t, file, []byte(`"summary":"step 50"`), func(b []byte) { b[len(b)-1] = 0 })
		},
		"a value with another's number": func(t *testing.T, file, conversation string) {
			spoil(t, file, []byte(`"conversation_id":"`+conversation+`","seq":50,`), func(b []byte) { b[len(b)-2] = '1' })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			metrics := freeAddr(t)
			h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}}, config: map[string]any{"metrics_listen": metrics}})
			alice := h.person(t, "h2", "alice")
			broken, whole := alice.conversation(t), alice.conversation(t)
			for i := range 60 {
				alice.post(t, broken, note(fmt.Sprintf("step %d", i+1)))
			}
			alice.post(t, whole, note("another"))
			h.stop(t)
			damage(t, h.tenantFile(t), broken)
			h.launch(t)
			h.log.wait(t, `"sign-in provider found"`)

			alice.call(t, "GET", "/conversations/"+broken+"/events?limit=100", "").want(t, 500, "store_corrupt")
			alice.call(t, "GET", "/conversations/"+broken+"/events?limit=100", "").want(t, 500, "store_corrupt")
			alice.call(t, "GET", "/conversations/"+broken+"/events?after_seq=49&limit=1", "").want(t, 500, "store_corrupt")
			alice.call(t, "GET", "/conversations/"+broken+"/events?limit=49", "").want(t, 200, "")
			alice.call(t, "GET", "/conversations/"+whole+"/events", "").want(t, 200, "")
			alice.call(t, "GET", "/conversations", "").want(t, 200, "")
			alice.post(t, whole, note("one more"))

			within(t, 10*time.Second, "the stream ends", func() {
				a := alice.call(t, "GET", "/conversations/"+broken+"/events/stream", "")
				if last := `"seq":49,`; !strings.Contains(a.body, last) || strings.Contains(a.body, "step 50") || strings.Contains(a.body, "step 51") ||
					!strings.HasSuffix(a.body, "event: hux.closing\ndata: {\"reason\":\"store_corrupt\"}\n\n") {
					t.Errorf("the stream ends with %q", a.body[max(0, len(a.body)-300):])
				}
			})
			tail := startTail(t, []string{trusting(t), "HUX_TOKEN=" + h.token(t, "alice")}, broken, "--url", "https://"+h.addr.get())
			if err := tail.ends(t); err == nil || !strings.Contains(tail.errors.String(), "can't be read") {
				t.Errorf("tail ends with %v: %s", err, tail.errors)
			}
			if n := strings.Count(h.log.String(), "a record of a tenant can't be read"); n != 1 || !strings.Contains(h.log.String(), "tenant.db") {
				t.Errorf("the log tells of it %d times", n)
			}
			if n := metric(t, metrics, "hux_store_damages_total", `kind="record"`); n != 1 {
				t.Errorf("%v damages are counted", n)
			}
		})
	}
}

// A database that was emptied or put back is told of until an operator says
// that it is as it should be.
func TestLostAndOlderDatabase(t *testing.T) {
	t.Parallel()
	for kind, replace := range map[string]func(old []byte) []byte{
		"lost":  func([]byte) []byte { return nil },
		"older": func(old []byte) []byte { return old },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			metrics := freeAddr(t)
			h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}}, config: map[string]any{"metrics_listen": metrics}})
			alice, olga := h.person(t, "h2", "alice"), h.signIn(t, "h2", "olga")
			alice.conversation(t)
			again := func() {
				t.Helper()
				h.launch(t)
				h.log.wait(t, `"sign-in provider found"`)
				alice.call(t, "GET", "/conversations", "").want(t, 200, "")
			}
			tells := func(want bool) {
				t.Helper()
				a := olga.do(t, "GET", consoleURL+"/hux/api/status", nil)
				if a.StatusCode != http.StatusOK || strings.Contains(a.body, "its database") != want {
					t.Errorf("status: %d %s", a.StatusCode, a.body)
				}
				if n := metric(t, metrics, "hux_store_damages_total", `kind="`+kind+`"`); (n == 1) != want {
					t.Errorf("%v are counted", n)
				}
			}
			h.stop(t)
			old, err := os.ReadFile(h.tenantFile(t))
			if err != nil {
				t.Fatal(err)
			}
			again()
			tells(false)
			for range 5 {
				alice.conversation(t)
			}
			h.stop(t)
			if err := os.WriteFile(h.tenantFile(t), replace(old), 0o600); err != nil {
				t.Fatal(err)
			}
			again()
			tells(true)
			if !strings.Contains(h.log.String(), `"level":"ERROR","msg":"a tenant's database`) {
				t.Error("the log does not tell of it")
			}
			h.stop(t)
			again()
			tells(true) // until somebody says otherwise
			if _, stderr, ok := h.run(t, "slots", "restored", "a"); !ok {
				t.Fatal(stderr)
			}
			h.stop(t)
			again()
			tells(false)
		})
	}
}
