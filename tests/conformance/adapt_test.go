package conformance_test

import "testing"

// adaptations fit worked examples to what there is on the server, by their
// schema.
var adaptations = map[string]func(t testing.TB, x *exchange){
	"hux.conversation.create.v1": func(_ testing.TB, x *exchange) {
		x.body["external_ref"] = object{"system": "webui", "id": unique()}
		withoutProjects(x.body)
	},
	"hux.conversation.patch.v1": func(_ testing.TB, x *exchange) { withoutProjects(x.body) },
	"hux.event.create.v1": func(t testing.TB, x *exchange) {
		body := `{"kind":"run.started","summary":"` + mark + `: a cause"}`
		first := human().call(t, "POST", events, body, x.values, newKey())
		x.body["causes"] = []any{first.object(t)["seq"]}
		x.body["run_id"] = unique() // a run belongs to one conversation
	},
	"hux.policy.put.v1": func(t testing.TB, x *exchange) {
		x.query = "?scope=conversation:" + openConversation(t)
		x.body["level"] = "safe" // what is more asks for a recent sign-in
		delete(x.body, "level_expires_in_ms")
	},
	"hux.decision.create.v1": func(t testing.TB, x *exchange) {
		ofRun(t, x)
		x.body["tool_call_id"] = unique()
	},
	"hux.approval.create.v1": func(t testing.TB, x *exchange) {
		attend(t, ofRun(t, x))
		request, _ := x.body["request"].(object)
		evidence, _ := request["evidence"].([]any)
		call, _ := evidence[0].(object)
		call["id"] = unique() // one call of a run is asked about once
	},
	"hux.approval.decide.v1": func(t testing.TB, x *exchange) {
		var approval struct {
			Request struct{ Evidence []struct{ Hash string } }
		}
		into(t, human().call(t, "GET", "/approvals/{id}", "", x.values), &approval)
		x.body["evidence_hash"] = approval.Request.Evidence[0].Hash
	},
	"hux.receipt.create.v1": func(t testing.TB, x *exchange) { // only a run that is to stop has one
		id := ofRun(t, x)
		run, _ := x.body["run_id"].(string)
		human().call(t, "POST", "/conversations/{id}/runs/{run_id}/cancel", "", []string{id, run}, newKey()).want(t, "a stop", 202, "")
	},
}

// attend has the person look at a conversation, since what is asked of nobody
// expires at once (contracts 5).
func attend(t testing.TB, id string) {
	t.Helper()
	f := (&conversation{t, human(), []string{id}}).follow("")
	f.hello()
	f.close()
}

// withoutProjects takes out what only hux.projects knows (contracts 7).
func withoutProjects(body object) {
	if !server.capabilities.Flags["hux.projects"].Enabled {
		delete(body, "tags")
		delete(body, "project_id")
	}
}

// openConversation makes a conversation.
func openConversation(t testing.TB) (id string) {
	t.Helper()
	a := human().call(t, "POST", "/conversations", `{"title":"`+mark+`"}`, nil, newKey())
	a.want(t, "a conversation", 201, "")
	return a.text(t, "id")
}

// ofRun says that a request is about a new run of a new conversation, rather
// than a session of the gateway's, and gives the conversation.
func ofRun(t testing.TB, x *exchange) (id string) {
	t.Helper()
	id = openConversation(t)
	delete(x.body, "session")
	delete(x.body, "turn_id")
	x.body["conversation_id"], x.body["run_id"] = id, newRun(t, id)
	return id
}
