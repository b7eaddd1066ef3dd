package blackbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each rule is one: what the API refuses of a body by itself, hux validate
// refuses too, with the same pointer and code, and takes what the API takes.
func TestOneRuleAtTheDoorAndInValidate(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice, agent := h.person(t, "h2", "alice"), h.agent(t, "h2", "a")
	id := alice.conversation(t)
	event := func(members string) string { return `{"kind":"tool.finished","summary":"s",` + members + `}` }
	evidence := func(id string) string {
		return event(fmt.Sprintf(`"evidence":[{"kind":"ci_build","id":%q,"owner":"ci"}]`, id))
	}
	data := func(n int) string { return event(`"data":{"a":"` + strings.Repeat("<", n-len(`{"a":""}`)) + `"}`) }
	route := func(name string) string {
		return event(`"provenance":{"route":{"requested":"` + name + `","locality":"hosted"}}`)
	}
	decision := func(members string) string {
		return `{"conversation_id":"` + id + `","run_id":"r","tool":"web_extract","args":{"urls":["https://example.org/"]},"tool_call_id":"c",` + members + `}`
	}
	grant := func(match string) string {
		return `{"capability":"network","effect":"deny","duration":"always","match":{"tool":"web_extract"` + match + `}}`
	}
	const secret = "ghp_0123456789abcdefghijklmnopqrst"
	events := "/conversations/" + id + "/events"
	for name, c := range map[string]struct {
		who                *caller
		path, schema, body string
		want               string // a fault as pointer and code; "" where it is taken
	}{
		"8 KiB of data":             {alice, events, "hux.event.create.v1", data(8192), ""},
		"a byte more":               {alice, events, "hux.event.create.v1", data(8193), "/data too_large"},
		"evidence that is an id":    {alice, events, "hux.event.create.v1", evidence("build-7"), ""},
		"evidence that is a URL":    {alice, events, "hux.event.create.v1", evidence("https://ci.example.org/7?a=b#c"), ""},
		"evidence in prose":         {alice, events, "hux.event.create.v1", evidence("the build of today"), "/evidence/0/id pattern"},
		"evidence with a password":  {alice, events, "hux.event.create.v1", evidence("https://u:p@ci.example.org/7"), "/evidence/0/id pattern"},
		"a route":                   {alice, events, "hux.event.create.v1", route("atlas/manual/near"), ""},
		"a route of a vendor":       {alice, events, "hux.event.create.v1", route("atlas/manual/gpt-near"), "/provenance/route/requested vendor_name"},
		"a run of dots":             {alice, events, "hux.event.create.v1", event(`"run_id":".."`), "/run_id pattern"},
		"a run that is a secret":    {alice, events, "hux.event.create.v1", event(`"run_id":"` + secret + `"`), "/run_id looks_secret"},
		"a message of dots":         {alice, events, "hux.event.create.v1", `{"kind":"message.committed","summary":"s","data":{"message_id":".."}}`, "/data/message_id message_id"},
		"a kind of the router's":    {alice, events, "hux.event.create.v1", `{"kind":"policy.bypassed","summary":"s"}`, "/kind read_only_field"},
		"a leap second":             {alice, "/policy?scope=conversation:" + id, "hux.policy.put.v1", `{"level":"autonomous","level_expires_at":"2026-12-31T23:59:60.000Z"}`, "/level_expires_at format"},
		"an end said twice":         {alice, "/policy?scope=conversation:" + id, "hux.policy.put.v1", `{"level":"autonomous","level_expires_at":"2126-12-31T23:59:59.000Z","level_expires_in_ms":1000}`, "/level_expires_at invalid"},
		"a budget twice":            {alice, "/policy?scope=conversation:" + id, "hux.policy.put.v1", `{"level":"safe","budgets":[{"kind":"seconds","limit":1,"window":"day"},{"kind":"seconds","limit":2,"window":"day"}]}`, "/budgets/1 budget_twice"},
		"a denial of a tool alone":  {alice, "/grants", "hux.grant.create.v1", grant(""), ""},
		"a host that is none":       {alice, "/grants", "hux.grant.create.v1", grant(`,"target":"évil.example"`), "/match/target no_target"},
		"an allowance of all":       {alice, "/grants", "hux.grant.create.v1", strings.Replace(grant(""), "deny", "allow", 1), "/match match_one"},
		"another target":            {agent, "/decisions", "hux.decision.create.v1", decision(`"target":"example.com"`), "/target target_mismatch"},
		"its target":                {agent, "/decisions", "hux.decision.create.v1", decision(`"target":"example.org"`), ""},
		"a turn that is a secret":   {agent, "/decisions", "hux.decision.create.v1", strings.Replace(decision(`"summary":"s"`), `"conversation_id":"`+id+`","run_id":"r"`, `"session":{"system":"pheby","id":"s"},"turn_id":"`+secret+`"`, 1), "/turn_id looks_secret"},
		"a system of its own name":  {alice, "/conversations", "hux.conversation.create.v1", `{"external_ref":{"system":"pheby","id":"s"}}`, ""},
		"a system in capitals":      {alice, "/conversations", "hux.conversation.create.v1", `{"external_ref":{"system":"Pheby","id":"s"}}`, "/external_ref/system pattern"},
		"a title of 201 characters": {alice, "/conversations", "hux.conversation.create.v1", `{"title":"` + strings.Repeat("x", 201) + `"}`, "/title format"},
		"a title of 200":            {alice, "/conversations", "hux.conversation.create.v1", `{"title":"` + strings.Repeat("x", 200) + `"}`, ""},
	} {
		method, header := "POST", []string{newKey()}
		if c.schema == "hux.policy.put.v1" {
			method, header = "PUT", append(header, "If-None-Match: *")
		}
		a := c.who.call(t, method, c.path, c.body, header...)
		var problem struct {
			Errors []struct{ Pointer, Code string }
		}
		_, _, status := command(t, c.body, "validate", "--as", c.schema)
		stdout, _, _ := command(t, c.body, "validate", "--as", c.schema, "--json")
		if c.want == "" {
			if a.StatusCode/100 != 2 || status != 0 {
				t.Errorf("%s: %d %s, validate %d %s", name, a.StatusCode, a.body, status, stdout)
			}
			continue
		}
		a.into(t, &problem)
		pointer, code, _ := strings.Cut(c.want, " ")
		if a.StatusCode/100 != 4 || !slices.Contains(problem.Errors, struct{ Pointer, Code string }{pointer, code}) {
			t.Errorf("%s: the API says %d %s, want %s", name, a.StatusCode, a.body, c.want)
		}
		if said := fmt.Sprintf(`"pointer":%q,"code":%q`, pointer, code); status != 1 || !strings.Contains(stdout, said) {
			t.Errorf("%s: validate ends with %d and says %s, want %s", name, status, stdout, said)
		}
	}
	for name, c := range map[string][2]string{ // records, which nobody posts
		"a cause after its event":    {`"causes": [41]`, `"causes": [42]`},
		"created in a leap second":   {`"created_at": "2026-03-02T09:15:04.218Z"`, `"created_at": "2026-12-31T23:59:60.000Z"`},
		"evidence that is two words": {`"id": "call_8Qd2"`, `"id": "call 8Qd2"`},
	} {
		good := workedExample(t, "hux.event.v1")
		bad := strings.Replace(good, c[0], c[1], 1)
		if bad == good {
			t.Fatalf("%s: the example has no %s", name, c[0])
		}
		if stdout, stderr, status := command(t, bad, "validate"); status != 1 {
			t.Errorf("%s: %d %s %s", name, status, stdout, stderr)
		}
	}
}
