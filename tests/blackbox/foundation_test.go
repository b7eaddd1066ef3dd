package blackbox_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	contract "bstein.dev/hux"
)

// What looks like a secret is masked before anything is written. It is
// in no answer, stream, error, log or file, and redaction says what was done.
func TestOneRedactor(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice, agent := h.person(t, proto, "alice"), h.agent(t, proto, "a")
		var planted []string
		sentinel := func(form string) string {
			secret := rand.Text()
			h.secrets.add("sentinel in "+form, secret)
			planted = append(planted, secret)
			return strings.Replace(form, "%", secret, 1)
		}
		clean := func(where, text string) {
			t.Helper()
			for _, s := range planted {
				if strings.Contains(text, s) {
					t.Errorf("%s has a sentinel: %.600s", where, text)
				}
			}
		}
		quoted := func(form string) string {
			b, _ := json.Marshal(sentinel(form)) // a string
			return string(b)
		}
		shapes := []string{
			"sk-%", "use sk-% here", "https://user:%@example.org/x", "curl -H 'Authorization: Bearer %' https://example.org", "export API_KEY=%", "password: %",
			"ghp_%abcdefghij", "psql postgres://admin:%@db/x", "-----BEGIN PRIVATE KEY-----\n%\n-----END PRIVATE KEY-----", `{"client_secret":"%"}`, "mysql --password=%", "AWS_SECRET_ACCESS_KEY='%'",
		}
		id := ""
		for i, shape := range shapes {
			title := "title"
			if !strings.Contains(shape, "\n") {
				title = shape
			}
			a := alice.call(t, "POST", "/conversations", `{"title":`+quoted(title)+`}`)
			a.want(t, 201, "")
			clean("a conversation", a.body)
			id, _ = a.object(t)["id"].(string)
			a = alice.call(t, "PATCH", "/conversations/"+id, `{"title":`+quoted(title)+`}`, "If-Match: "+a.Header.Get("ETag"))
			a.want(t, 200, "")
			clean("a changed conversation", a.body)

			token := shape
			if strings.ContainsAny(shape, " \n@") { // which evidence can't be
				token = "ghp_%abcdefghij"
			}
			body := `{"kind":"tool.finished","summary":` + quoted(shape) + `,"evidence":[{"kind":"source","id":` + quoted(token) + `,"owner":"gateway"}],
				"data":{"auth":{"token":` + quoted("%") + `},"deep":[{"x":[{"password":` + quoted("%") + `}]}],"args":["--token",` + quoted("%") + `],"command":` + quoted(shape) +
				`,"tool_call_id":` + quoted(shape) + `,` + quoted(shape) + `:1}}`
			key := newKey()
			for _, c := range []*caller{agent, agent} { // the second is a replay
				a = c.call(t, "POST", "/conversations/"+id+"/events", body, key)
				a.want(t, 201, "")
				clean("an event", a.body)
			}
			var e struct {
				Redaction struct {
					Level     string
					Rules     []string
					AppliedAt string `json:"applied_at"`
				}
			}
			if a.into(t, &e); len(e.Redaction.Rules) == 0 || e.Redaction.AppliedAt == "" || !strings.Contains(a.body, "[redacted]") {
				t.Errorf("shape %d: redaction says %+v: %s", i, e.Redaction, a.body)
			}
			clean("the list", alice.call(t, "GET", "/conversations/"+id+"/events", "").body)
			clean("the conversation", alice.call(t, "GET", "/conversations/"+id, "").body)
			f := alice.follow(t, id, "")
			for {
				fr, ok := f.frame()
				if !ok {
					t.Error("the stream ends")
				}
				clean("the stream", fr.data)
				if fr.id == "1" || !ok {
					break
				}
			}
			f.close()
		}
		// Nothing of what was refused or not known is told back, logged or kept.
		path := "/conversations/" + id
		events := path + "/events"
		for _, q := range []struct{ method, path, body, header string }{
			{"POST", events, `{"summary":` + quoted("%") + `,"kind":`, ""}, {"POST", events, quoted("%"), ""}, {"POST", events, sentinel("%"), ""},
			{"POST", events, `{"kind":` + quoted("%") + `,"summary":"x"}`, ""}, {"POST", events, `{"kind":"tool.started","summary":[` + quoted("%") + `]}`, ""},
			{"POST", events, `{"kind":"tool.started","summary":"x",` + quoted("%") + `:1,"data":{` + quoted("password=%") + `:1}}`, ""},
			{"POST", events, `{"kind":"tool.started","summary":"x","run_id":` + quoted("% %") + `}`, ""},
			{"POST", events, `{"kind":"tool.started","summary":"x","evidence":[{"kind":"event","id":` + quoted("%"+strings.Repeat("x", 200)) + `,"owner":"hux"}]}`, ""},
			{"POST", events, `{"kind":"tool.started","summary":"x","data":{"password":` + quoted("%") + `,"x":1e400}}`, ""},
			{"POST", events, note("x"), "Idempotency-Key: " + sentinel("%")}, {"POST", events, note("x"), "Content-Type: text/" + sentinel("%")},
			{"POST", events, note("x"), "HUX-Surface: " + sentinel("%")}, {"POST", events, note("x"), "HUX-Session: " + sentinel("% %")},
			{"GET", events + "?after_seq=" + sentinel("%"), "", ""}, {"GET", events + "/stream", "", "Last-Event-ID: " + sentinel("%")}, {"GET", "/conversations?cursor=" + sentinel("%"), "", ""},
			{"GET", "/conversations?" + sentinel("%") + "=1", "", ""}, {"GET", "/conversations?limit=" + sentinel("%"), "", ""}, {"GET", events + "?epoch=" + sentinel("%"), "", ""},
			{"PATCH", path, `{"title":1}`, "If-Match: " + sentinel("%")}, {"PATCH", path, `{"state":` + quoted("%") + `}`, `If-Match: "x:1"`},
			{"POST", "/conversations", `{"external_ref":{"system":"webui","id":` + quoted("%") + `}}`, ""}, {"POST", "/conversations", `{"external_ref":{"system":` + quoted("%") + `,"id":"x"}}`, ""},
		} {
			var header []string
			if q.header != "" {
				header = append(header, q.header)
			}
			a := alice.call(t, q.method, q.path, q.body, header...)
			clean(q.method+" "+q.header+q.body, a.body)
			for name, values := range a.Header {
				clean("header "+name, strings.Join(values, " "))
			}
		}
		clean("the list of conversations", alice.call(t, "GET", "/conversations?limit=200", "").body)
	})
	h.stop(t) // and looks at the log and at all files
	h.relaunch(t)
}

// A route is served if one of its flags is on with all that it depends
// on; with the foundation off there is nothing at all, whoever asks.
func TestRoutesNeedTheirFlags(t *testing.T) {
	t.Parallel()
	var registry struct {
		Flags []struct {
			Name      string
			DependsOn []string `json:"depends_on"`
		}
	}
	if err := json.Unmarshal(contract.Flags, &registry); err != nil || len(registry.Flags) != 12 {
		t.Fatalf("%d flags, %v", len(registry.Flags), err)
	}
	subsets := [][]string{{}, {"hux.foundation"}, {"hux.activity_timeline"}, {"hux.foundation", "hux.activity_timeline"}, {"hux.foundation", "hux.memory_control"}, {"hux.foundation", "hux.multimodal", "hux.artifacts"}}
	random := mathrand.New(mathrand.NewPCG(6, 20))
	for len(subsets) < 20 {
		var names []string
		for _, f := range registry.Flags {
			if random.IntN(2) == 0 || f.Name == "hux.foundation" && random.IntN(3) > 0 {
				names = append(names, f.Name)
			}
		}
		subsets = append(subsets, names)
	}
	scoped := []string{"hux.activity_timeline", "hux.autonomy"} // those of its flags that are served
	areas := []struct {
		path  string
		flags []string // any of them; nil where nothing is served whatever is on
	}{
		{"/capabilities", []string{"hux.foundation"}}, {"/manifest", []string{"hux.foundation"}}, {"/openapi.json", []string{"hux.foundation"}}, {"/schemas/hux.event.v1", []string{"hux.foundation"}},
		{"/conversations", scoped}, {"/conversations/cnv_0123456789ab7def8123456789abcdef/events", []string{"hux.activity_timeline"}},
		{"/conversations/cnv_0123456789ab7def8123456789abcdef/events/stream", []string{"hux.activity_timeline"}},
		{"/nothing", nil}, {"/", nil},
	}
	for i, names := range subsets {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			h := house(t, map[string]any{"flags": strings.Join(append(names, "hux.unheard_of"), ","), "slot_health_every": "1h"})
			listed := map[string]bool{}
			for _, n := range names {
				listed[n] = true
			}
			closed := map[string]bool{}
			for _, f := range registry.Flags { // dependencies stand first
				closed[f.Name] = listed[f.Name] && !slices.ContainsFunc(f.DependsOn, func(d string) bool { return !closed[d] })
			}
			if !strings.Contains(h.log.String(), "hux.unheard_of") {
				t.Error("an unknown flag is not reported at start")
			}
			b, auth := h.browser(t, "h1"), bearer(h.token(t, "alice"))
			if !closed["hux.foundation"] {
				first := b.do(t, "GET", apiURL+"/hux/v1/nothing", nil)
				for _, area := range areas {
					for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "OPTIONS", "PATCH"} {
						for _, header := range [][]string{nil, {auth}, {auth, "Content-Type: text/plain", "If-Match: x"}} {
							a := b.do(t, method, apiURL+"/hux/v1"+area.path, nil, header...)
							if a.StatusCode != 404 || method != "HEAD" && requestIDs.ReplaceAllString(a.body, "") != requestIDs.ReplaceAllString(first.body, "") || a.Header.Get("HUX-Contract") != "" || a.Header.Get("Allow") != "" {
								t.Errorf("%s %s with %v: %d %v %s", method, area.path, names, a.StatusCode, a.Header, a.body)
							}
						}
					}
				}
				return
			}
			alice := &caller{b, auth}
			for _, area := range areas {
				a := alice.call(t, "GET", area.path, "")
				code := ""
				if a.StatusCode >= 400 {
					code = a.code(t)
				}
				served := slices.ContainsFunc(area.flags, func(f string) bool { return closed[f] })
				switch {
				case area.flags == nil && code != "not_found",
					area.flags != nil && !served && (a.StatusCode != 404 || code != "feature_disabled"),
					served && (code == "feature_disabled" || a.StatusCode != 200 && code != "not_found"):
					t.Errorf("GET %s with %v: %d %s", area.path, names, a.StatusCode, code)
				}
			}
			var c struct {
				Flags map[string]struct {
					Enabled, Listed bool
					BlockedBy       []string `json:"blocked_by"`
				}
			}
			alice.call(t, "GET", "/capabilities", "").into(t, &c)
			if len(c.Flags) != 12 {
				t.Errorf("%d flags in capabilities", len(c.Flags))
			}
			for name, s := range c.Flags {
				if s.Listed != listed[name] || s.Enabled && !closed[name] || (name == "hux.foundation" || name == "hux.activity_timeline") && s.Enabled != closed[name] {
					t.Errorf("%s with %v: %+v", name, names, s)
				}
			}
		})
	}
}

// Who somebody is comes from their credential alone.
func TestIdentityCannotBeForged(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice := h.person(t, proto, "alice")
		browser := h.signIn(t, proto, "alice")
		bobs := h.person(t, proto, "bob").conversation(t)
		id := alice.conversation(t)
		for _, forged := range [][]string{
			{"HUX-User: " + h.user("bob")}, {"HUX-User: " + h.user("bob"), "HUX-User: " + h.user("alice")}, {"Hux_User: " + h.user("bob")},
			{"X-Forwarded-User: bob", "X-Forwarded-User: bob"}, {"X-Hux-User: " + h.user("bob")}, {"HUX-Actor: agent"}, {"X-Auth-Request-User: bob", "X-Auth-Request-Email: bob@people.example"},
			{"HUX-Tenant: b"}, {"X-Forwarded-For: 10.0.0.1"}, {"X-Http-Method-Override: DELETE"},
		} {
			answers := []*answer{
				alice.call(t, "POST", "/conversations/"+id+"/events", note("x"), forged...),
				browser.fetch(t, "POST", chatURL+"/hux/v1/conversations/"+id+"/events", note("x"), forged...),
			}
			for _, a := range answers {
				if a.StatusCode == http.StatusBadRequest && a.code(t) == "bad_identity" {
					continue
				}
				a.want(t, 201, "")
				if p := a.object(t)["provenance"].(map[string]any)["actor"].(map[string]any); p["id"] != h.user("alice") || p["kind"] != "human" {
					t.Errorf("%v: the actor is %v", forged, p)
				}
			}
			if a := alice.call(t, "GET", "/conversations/"+bobs, "", forged...); a.StatusCode != 404 && a.StatusCode != 400 {
				t.Errorf("%v: bob's conversation: %d", forged, a.StatusCode)
			}
		}
		for _, member := range []string{`"tenant":"b"`, `"tenant_id":"b"`, `"user":"` + h.user("bob") + `"`, `"owner":"` + h.user("bob") + `"`, `"provenance":{"actor":{"kind":"human","id":"` + h.user("bob") + `"}}`} {
			alice.call(t, "POST", "/conversations", `{`+member+`}`).want(t, 422, "read_only_field")
			alice.call(t, "POST", "/conversations/"+id+"/events", `{"kind":"tool.started","summary":"x",`+member+`}`).want(t, 422, "read_only_field")
		}
		for _, name := range []string{"tenant", "user", "owner", "slot"} {
			alice.call(t, "GET", "/conversations?"+name+"="+url.QueryEscape(h.user("bob")), "").want(t, 400, "bad_request")
			alice.call(t, "GET", "/conversations/"+id+"/events?"+name+"=b", "").want(t, 400, "bad_request")
		}
		for _, system := range []string{"telegram", "webui", "hermes_session"} {
			number := fmt.Sprint(1_000_000_000_000_000+mathrand.Int64N(1_000_000_000_000_000), proto[1:])
			h.secrets.add("id at "+system, number)
			a := alice.call(t, "POST", "/conversations", `{"external_ref":{"system":"`+system+`","id":"`+number+`"}}`)
			a.want(t, 201, "")
			again := alice.call(t, "POST", "/conversations", `{"external_ref":{"system":"`+system+`","id":"`+number+`"}}`)
			again.want(t, 200, "")
			if strings.Contains(a.body, number) || a.object(t)["id"] != again.object(t)["id"] {
				t.Errorf("an external id: %s", a.body)
			}
		}
	})
}

// A tenant's quota is its own: what goes beyond is refused, and others write on.
func TestQuotaIsTheTenantsOwn(t *testing.T) {
	t.Parallel()
	h := house(t, map[string]any{"tenant_quota": "3MiB"})
	protocols(t, func(t *testing.T, proto string) {
		alice, bob := h.person(t, proto, "alice"), h.person(t, proto, "bob")
		id := ""
		if l := alice.list(t, "/conversations"); len(l.Items) > 0 {
			id, _ = l.Items[0]["id"].(string)
		} else {
			id = alice.conversation(t)
		}
		head := alice.list(t, "/conversations/"+id+"/events?limit=1").HeadSeq
		body := `{"kind":"tool.started","summary":"x","data":{"x":"` + strings.Repeat("x", 8000) + `"}}`
		var a *answer
		for range 1000 {
			if a = alice.call(t, "POST", "/conversations/"+id+"/events", body); a.StatusCode != http.StatusCreated {
				break
			}
			head++
		}
		a.want(t, 507, "quota_exceeded")
		if l := alice.list(t, "/conversations/"+id+"/events?limit=1"); l.HeadSeq != head || head == 0 {
			t.Errorf("head %d after %d were acknowledged", l.HeadSeq, head)
		}
		bob.post(t, bob.conversation(t), body)
	})
}

// A damaged file is its tenant's misfortune alone.
func TestDamagedTenantIsAlone(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice, bob := h.person(t, "h1", "alice"), h.person(t, "h1", "bob")
	id, bobs := alice.conversation(t), bob.conversation(t)
	for range 50 {
		alice.post(t, id, note("x"))
	}
	tenant := alice.b.me(t, apiURL, alice.auth).Tenant.ID
	h.stop(t)
	file := filepath.Join(h.data, "tenants", tenant, "tenant.db")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const meta = 16 << 10 // bytes: two pages
	for name, damaged := range map[string][]byte{
		"cut": content[:meta+4<<10], "no database": []byte(strings.Repeat("not a database ", 1000)), "no metadata": append(make([]byte, meta), content[meta:]...),
		"pages of nothing": append(slices.Clone(content[:meta]), make([]byte, len(content)-meta)...),
	} {
		writeFile(t, file, string(damaged))
		h.relaunch(t)
		for _, q := range []struct{ method, path, body string }{{"GET", "/conversations/" + id + "/events", ""}, {"GET", "/conversations", ""}, {"POST", "/conversations", "{}"}, {"GET", "/conversations/" + id + "/events/stream", ""}} {
			if a := alice.call(t, q.method, q.path, q.body); a.StatusCode != 500 || a.code(t) != "store_corrupt" || strings.Contains(a.body, "tenant.db") {
				t.Errorf("%s, %s %s: %d %s", name, q.method, q.path, a.StatusCode, a.body)
			}
		}
		bob.post(t, bobs, note(name))
		if now, err := os.ReadFile(file); err != nil || string(now) != string(damaged) {
			t.Errorf("%s: the damaged file was changed", name)
		}
		h.stop(t)
	}
	writeFile(t, file, string(content))
	h.relaunch(t)
	if l := alice.list(t, "/conversations/"+id+"/events?limit=1"); l.HeadSeq != 50 {
		t.Errorf("the restored file has %d events", l.HeadSeq)
	}
}
