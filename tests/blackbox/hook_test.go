package blackbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hooking is a running hux hook, started as Hermes starts one.
type hooking struct {
	cmd         *exec.Cmd
	stdin       io.WriteCloser
	out, errors bytes.Buffer
	exited      chan struct{}
	status      int
}

// startHook starts a hook; with an input of nil its standard input stays open.
func startHook(t testing.TB, env []string, input *string, args ...string) *hooking {
	t.Helper()
	p := &hooking{cmd: exec.Command(binary, append([]string{"hook"}, args...)...), exited: make(chan struct{})}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errors
	if input != nil {
		p.cmd.Stdin = strings.NewReader(*input)
	} else {
		var err error
		if p.stdin, err = p.cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		err := p.cmd.Wait()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			p.status = exit.ExitCode()
		} else if err != nil {
			p.status = -1
		}
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// says waits for the end and gives what Hermes makes of it: "allow", or the
// reason why the call is blocked.
func (p *hooking) says(t testing.TB, within time.Duration) string {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(within):
		t.Fatalf("the hook does not end within %v", within)
	}
	if strings.Contains(p.errors.String(), "DATA RACE") || strings.Contains(p.errors.String(), "goroutine ") {
		t.Errorf("the hook: %s", &p.errors)
	}
	var answer map[string]string
	if err := json.Unmarshal(p.out.Bytes(), &answer); err != nil {
		t.Fatalf("the hook prints %q and %q", &p.out, &p.errors)
	}
	switch {
	case p.status == 0 && len(answer) == 0:
		return "allow"
	case (p.status == 0 || p.status == 2) && answer["decision"] == "block" && len(answer) == 2 && len(answer["reason"]) > 40:
		if p.status == 2 && !strings.Contains(p.errors.String(), answer["reason"]) {
			t.Errorf("status 2, and on standard error %q", &p.errors)
		}
		return answer["reason"]
	}
	t.Fatalf("the hook ends with %d and prints %q", p.status, &p.out)
	return ""
}

// stdin is what Hermes gives to a pre_tool_call hook.
func stdin(session, turn, call, tool, args string) *string {
	text := fmt.Sprintf(`{"hook_event_name":"pre_tool_call","tool_name":%q,"tool_input":%s,"session_id":%q,"cwd":"/home/agent","profile":"default",`+
		`"extra":{"task_id":"t","tool_call_id":%q,"turn_id":%q,"api_request_id":"x","user":"somebody"}}`, tool, args, session, call, turn)
	return &text
}

// hookEnv is what the agent's process has in its environment.
func (a *hooked) hookEnv(t *testing.T) []string {
	t.Helper()
	return []string{
		trusting(t), "HUX_URL=https://" + a.h.addr.get(), "HUX_AGENT_CREDENTIAL=" + strings.TrimPrefix(a.auth, "Authorization: Bearer "), "HUX_HOOK_SECRET=" + a.secret,
	}
}

// The way of a call: let through, forbidden, asked about, and what the person
// says.
func TestHook(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice, agent := h.person(t, "h2", "alice"), h.hooked(t, "h2", "a")
	env := agent.hookEnv(t)
	const session, secret, callOf = "s.hook", "sentinel-of-an-argument", "call.of.the.test."
	run := func(call, tool, args string, flags ...string) *hooking {
		return startHook(t, env, stdin(session, "turn.hook", callOf+call, tool, args), flags...)
	}
	pending := func(call string) approval {
		t.Helper()
		var found approval
		eventually(t, 20*time.Second, "the approval of "+call, func() bool {
			a := alice.call(t, "GET", "/approvals?status=pending", "")
			var page struct {
				Items []struct {
					approval
					Request struct{ Evidence []struct{ ID, Hash string } }
				}
			}
			a.into(t, &page)
			for _, item := range page.Items {
				if item.Request.Evidence[0].ID == callOf+call {
					found = item.approval
					return true
				}
			}
			return false
		})
		return found
	}
	decide := func(id, body string) {
		t.Helper()
		hash := alice.approval(t, id).Request.Evidence[0].Hash
		alice.call(t, "POST", "/approvals/"+id, fmt.Sprintf(body, hash)).want(t, 200, "")
	}
	command := func(n int) string { return fmt.Sprintf(`{"command":"make test-%d PASSWORD=%s"}`, n, secret) }

	if said := run("c.read", "read_file", `{"path":"a"}`).says(t, 20*time.Second); said != "allow" {
		t.Errorf("reading: %s", said)
	}
	alice.here(t)
	p := run("c.once", "terminal", command(1))
	decide(pending("c.once").ID, `{"choice":"once","evidence_hash":%q}`)
	if said := p.says(t, 5*time.Second); said != "allow" {
		t.Errorf("allowed once: %s", said)
	}
	if said := run("c.once", "terminal", command(1)).says(t, 20*time.Second); said != "allow" { // the same call, asked about again
		t.Errorf("the same call again: %s", said)
	}
	alice.here(t)
	p = run("c.deny", "terminal", command(1))
	decide(pending("c.deny").ID, `{"choice":"deny","evidence_hash":%q,"reason":"Use the \u001b[31mother folder"}`)
	if said := p.says(t, 5*time.Second); !strings.Contains(said, "denied") || !strings.Contains(said, "other folder") || !strings.Contains(said, "not try it again") || strings.Contains(said, "\x1b") {
		t.Errorf("denied: %s", said)
	}
	if said := run("c.deny", "terminal", command(1)).says(t, 20*time.Second); !strings.Contains(said, "denied") {
		t.Errorf("denied, and asked again: %s", said)
	}
	alice.here(t)
	const plain = `{"command":"make test"}` // with nothing hidden, which is offered for once alone
	p = run("c.session", "terminal", plain)
	decide(pending("c.session").ID, `{"choice":"session","evidence_hash":%q}`)
	if said := p.says(t, 5*time.Second); said != "allow" {
		t.Errorf("allowed for the session: %s", said)
	}
	if said := run("c.session.2", "terminal", plain).says(t, 20*time.Second); said != "allow" {
		t.Errorf("the same in the same session: %s", said)
	}
	alice.here(t)
	start := time.Now()
	p = run("c.expired", "terminal", command(3), "--timeout", "21s")
	id := pending("c.expired").ID
	said := p.says(t, 30*time.Second)
	if took := time.Since(start); !strings.Contains(said, "answered in time") || took > 21*time.Second || p.status != 0 {
		t.Errorf("not decided, after %v: %s", took, said)
	}
	if a := alice.approval(t, id); a.Status != "expired" {
		t.Errorf("the hook has gone and its approval is %s", a.Status)
	}
	alice.here(t)
	p = run("c.sigterm", "terminal", command(4))
	pending("c.sigterm")
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if said := p.says(t, 5*time.Second); !strings.Contains(said, "stopped") || p.status != 2 {
		t.Errorf("SIGTERM: status %d, %s", p.status, said)
	}
	alice.here(t)
	p = run("c.stop", "terminal", command(5))
	pending("c.stop")
	cnv := alice.ofSession(t, session)
	alice.call(t, "POST", "/conversations/"+cnv+"/runs/turn.hook/cancel", "").want(t, 202, "")
	if said := p.says(t, 5*time.Second); !strings.Contains(said, "stopped this run") {
		t.Errorf("of a run that is stopped: %s", said)
	}
	if said := run("c.after", "read_file", `{"path":"a"}`).says(t, 20*time.Second); !strings.Contains(said, "stopped this run") {
		t.Errorf("after the stop: %s", said)
	}

	// A call without ids of its own is asked about each time.
	alice.here(t)
	for range 2 {
		p = startHook(t, env, stdin("s.noid", "", "", "terminal", command(6)))
		eventually(t, 20*time.Second, "an approval", func() bool {
			var page struct{ Items []approval }
			alice.call(t, "GET", "/approvals?status=pending&conversation_id="+cnvOf(alice, t, "s.noid"), "").into(t, &page)
			if len(page.Items) == 1 {
				decide(page.Items[0].ID, `{"choice":"once","evidence_hash":%q}`)
			}
			return len(page.Items) == 1
		})
		if said := p.says(t, 5*time.Second); said != "allow" {
			t.Errorf("without ids: %s", said)
		}
	}

	// Safe says no without asking, and so does a person who is away.
	alice.call(t, "PUT", "/policy?scope=user", `{"level":"safe","budgets":[]}`, `If-None-Match: *`).want(t, 201, "")
	safe := startHook(t, env, stdin("s.safe", "t.safe", "c", "web_search", `{"query":"`+secret+`"}`))
	if said := safe.says(t, 20*time.Second); !strings.Contains(said, "level") || !strings.Contains(said, "not try it again") || safe.status != 0 {
		t.Errorf("safe: %s", said)
	}
	bob := h.hooked(t, "h2", "b")
	alone := startHook(t, bob.hookEnv(t), stdin("s.alone", "t", "c", "terminal", command(1)))
	if said := alone.says(t, 20*time.Second); !strings.Contains(said, "answered in time") {
		t.Errorf("with nobody there: %s", said)
	}
	if other := startHook(t, bob.hookEnv(t), stdin(session, "turn.hook", callOf+"c.once", "terminal", command(1))); other.says(t, 20*time.Second) == "allow" {
		t.Error("what alice has allowed is allowed for bob's agent")
	}
}

// cnvOf is the conversation of a session, whether or not it has one yet.
func cnvOf(c *caller, t testing.TB, session string) string {
	t.Helper()
	a := c.call(t, "POST", "/conversations", fmt.Sprintf(`{"external_ref":{"system":"hermes_session","id":%q}}`, session), newKey())
	return a.object(t)["id"].(string)
}

// Whatever goes wrong blocks, in time, and tells neither arguments nor secrets.
func TestHookFailsClosed(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	agent := h.hooked(t, "h2", "a")
	good := agent.hookEnv(t)
	const secret = "sentinel-of-an-argument"
	call := stdin("s", "t", "c", "terminal", `{"command":"echo `+secret+`"}`)
	text := func(s string) *string { return &s }
	answering := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	zero := strings.Repeat("0", 64)
	decision := func(effect, hash, approval string) string {
		return fmt.Sprintf(`{"schema":"hux.decision.v1","effect":%q,"reason":"matrix","capabilities":[],"evidence_hash":"sha256:%s","grant_id":null,"approval_id":%s}`, effect, hash, approval)
	}
	const wrong = "HUX_AGENT_CREDENTIAL=hux_agt_0198f3a1c2d47b6e8f90a1b2c3d4e5f6_SENTINELOFACREDENTIAL23456"
	for name, c := range map[string]struct {
		env   []string
		args  []string
		input *string
		says  string
	}{
		"nobody listens":            {[]string{"HUX_URL=http://" + freeAddr(t), wrong}, []string{"--timeout", "2s"}, call, "does not answer"},
		"silence":                   {[]string{"HUX_URL=http://" + silent.Addr().String(), wrong}, []string{"--timeout", "2s"}, call, "does not answer"},
		"no such host":              {[]string{"HUX_URL=http://nowhere.invalid", wrong}, []string{"--timeout", "2s"}, call, "does not answer"},
		"a certificate of nobody":   {append([]string{"HUX_URL=https://" + h.addr.get()}, good[2:]...), nil, call, "does not answer"},
		"500":                       {[]string{"HUX_URL=" + answering(500, "oops"), wrong}, nil, call, "is not hux: status 500"},
		"503":                       {[]string{"HUX_URL=" + answering(503, "{}"), wrong}, []string{"--timeout", "2s"}, call, "is not hux: status 503"},
		"302":                       {[]string{"HUX_URL=" + answering(302, ""), wrong}, nil, call, "is not hux: status 302"},
		"garbage":                   {[]string{"HUX_URL=" + answering(200, "<html>"), wrong}, nil, call, "does not answer"},
		"nothing":                   {[]string{"HUX_URL=" + answering(200, ""), wrong}, nil, call, "another call"},
		"null":                      {[]string{"HUX_URL=" + answering(200, "null"), wrong}, nil, call, "another call"},
		"allowed for another call":  {[]string{"HUX_URL=" + answering(200, decision("allow", zero, "null")), wrong}, nil, call, "another call"},
		"the credential is wrong":   {append([]string{wrong}, good[:2]...), nil, call, "credential"},
		"no credential":             {good[:2], nil, call, "credential"},
		"an empty credential":       {append([]string{"HUX_AGENT_CREDENTIAL= "}, good[:2]...), nil, call, "credential"},
		"a credential of lines":     {append([]string{"HUX_AGENT_CREDENTIAL=a\nb"}, good[:2]...), nil, call, "credential"},
		"no such credential file":   {good, []string{"--credential-file", "/nonexistent/" + secret}, call, "credential"},
		"an address that is none":   {append([]string{"HUX_URL=hux.example.org"}, good[2:]...), nil, call, "address"},
		"an unknown flag":           {good, []string{"--" + secret}, call, "command line"},
		"an unknown word":           {good, []string{secret}, call, "command line"},
		"no time":                   {good, []string{"--timeout", "0s"}, call, "command line"},
		"a time that is none":       {good, []string{"--timeout", secret}, call, "command line"},
		"nothing on standard input": {good, nil, text(""), "call"},
		"garbage input":             {good, nil, text("\x00\xff" + secret), "call"},
		"input cut off":             {good, nil, text((*call)[:len(*call)-1]), "call"},
		"null input":                {good, nil, text("null"), "call"},
		"a list":                    {good, nil, text("[" + *call + "]"), "call"},
		"two calls":                 {good, nil, text(*call + *call), "call"},
		"no tool":                   {good, nil, text(strings.Replace(*call, `"terminal"`, "null", 1)), "call"},
		"another event":             {good, nil, text(strings.Replace(*call, "pre_tool_call", "post_tool_call", 1)), "call"},
		"no session":                {good, nil, text(strings.Replace(*call, `"session_id":"s"`, `"session_id":null`, 1)), "session"},
		"arguments that are text":   {good, nil, stdin("s", "t", "c", "terminal", `"`+secret+`"`), "call"},
		"an argument twice":         {good, nil, stdin("s", "t", "c", "terminal", `{"command":"true","command":"`+secret+`"}`), "call"},
		"a hostile number":          {good, nil, stdin("s", "t", "c", "terminal", `{"n":1e999999}`), "call"},
		"arguments that are large":  {good, nil, stdin("s", "t", "c", "write_file", `{"path":"a","content":"`+strings.Repeat(secret, 3000)+`"}`), "smaller"},
		"many arguments":            {good, nil, stdin("s", "t", "c", "terminal", `{"a":[`+strings.Repeat("1,", 5000)+`1]}`), "smaller"},
		"input without end":         {good, nil, text(strings.Repeat(" ", 9<<20)), "call"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startHook(t, c.env, c.input, c.args...)
			said := p.says(t, 20*time.Second)
			if said == "allow" || !strings.Contains(said, c.says) {
				t.Errorf("it says %q", said)
			}
			if c.says != "smaller" && p.status != 2 {
				t.Errorf("a failure ends with %d", p.status)
			}
			if all := p.out.String() + p.errors.String(); strings.Contains(strings.ToLower(all), "sentinel") || strings.Contains(all, strings.TrimPrefix(good[2], "HUX_AGENT_CREDENTIAL=")) {
				t.Errorf("it tells what it should not: %s", all)
			}
		})
	}
	t.Run("standard input that stays open", func(t *testing.T) {
		t.Parallel()
		if said := startHook(t, good, nil, "--timeout", "1s").says(t, 10*time.Second); !strings.Contains(said, "not told") {
			t.Errorf("it says %q", said)
		}
	})
	t.Run("a router that goes while it waits", func(t *testing.T) {
		t.Parallel()
		h := house(t, nil)
		alice, agent := h.person(t, "h2", "alice"), h.hooked(t, "h2", "a")
		alice.here(t)
		p := startHook(t, agent.hookEnv(t), stdin("s", "t", "c", "terminal", makeTest), "--timeout", "25s")
		eventually(t, 20*time.Second, "the approval", func() bool { return len(alice.list(t, "/approvals?status=pending").Items) == 1 })
		h.stop(t)
		if said := p.says(t, 30*time.Second); !strings.Contains(said, "not answer") && !strings.Contains(said, "answered in time") {
			t.Errorf("it says %q", said)
		}
	})
}

// A router that comes back finds the hook still waiting.
func TestHookOutlastsARestart(t *testing.T) {
	t.Parallel()
	h := house(t, map[string]any{"listen": freeAddr(t)})
	alice, agent := h.person(t, "h2", "alice"), h.hooked(t, "h2", "a")
	alice.here(t)
	p := startHook(t, agent.hookEnv(t), stdin("s", "t", "c", "terminal", makeTest))
	var id string
	eventually(t, 20*time.Second, "the approval", func() bool {
		l := alice.list(t, "/approvals?status=pending")
		if len(l.Items) == 1 {
			id = l.Items[0]["id"].(string)
		}
		return id != ""
	})
	h.crash(t)
	h.relaunch(t)
	alice = h.person(t, "h2", "alice")
	alice.decides(t, id, "once").want(t, 200, "")
	if said := p.says(t, 20*time.Second); said != "allow" {
		t.Errorf("after a restart: %s", said)
	}
}

// What has run is told, and not telling it is no failure.
func TestHookEvent(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice, agent := h.person(t, "h2", "alice"), h.hooked(t, "h2", "a")
	env := agent.hookEnv(t)
	post := strings.NewReplacer(`"pre_tool_call"`, `"post_tool_call"`, `"api_request_id":"x"`, `"duration_ms":12,"status":"error","error_message":"sentinel","result":"`+strings.Repeat("sentinel ", 100_000)+`"`)
	input := post.Replace(*stdin("s.event", "t.event", "c.event", "terminal", `{"command":"make test PASSWORD=sentinel"}`))
	for range 2 {
		if p := startHook(t, env, &input, "event"); p.says(t, 20*time.Second) != "allow" || p.errors.Len() > 0 {
			t.Errorf("%s %s", &p.out, &p.errors)
		}
	}
	l := alice.told(t, "/conversations/"+alice.ofSession(t, "s.event")+"/events")
	if len(l.Items) != 1 || l.Items[0]["kind"] != "tool.finished" || l.Items[0]["status"] != "failed" || l.Items[0]["run_id"] != "t.event" ||
		fmt.Sprint(l.Items[0]["data"]) != "map[duration_ms:12 tool:terminal tool_call_id:t.event.c.event]" || strings.Contains(fmt.Sprint(l.Items), "sentinel") {
		t.Errorf("%v", l.Items)
	}
	garbage := "sentinel"
	for name, c := range map[string]struct {
		env   []string
		args  []string
		input *string
	}{
		"nobody listens": {append([]string{"HUX_URL=http://" + freeAddr(t)}, env[2:]...), nil, &input},
		"a wrong secret": {append([]string{"HUX_HOOK_SECRET=x"}, env[:3]...), nil, &input},
		"no secret":      {env[:3], nil, &input},
		"no credential":  {append([]string{}, env[0], env[1], env[3]), nil, &input},
		"garbage":        {env, nil, &garbage},
		"an odd flag":    {env, []string{"--sentinel"}, &input},
	} {
		start := time.Now()
		p := startHook(t, c.env, c.input, append([]string{"event"}, c.args...)...)
		if p.says(t, 20*time.Second) != "allow" || p.errors.Len() == 0 || strings.Contains(p.errors.String(), "sentinel") || time.Since(start) > 8*time.Second {
			t.Errorf("%s: %s %s after %v", name, &p.out, &p.errors, time.Since(start))
		}
	}
}
