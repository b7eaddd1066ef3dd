package artifacts_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/artifacts"
	"bstein.dev/hux/hux/projects"
	"bstein.dev/hux/hux/record/recordtest"
)

func newRig(t *testing.T) *recordtest.Rig {
	t.Helper()
	r := recordtest.New(t, artifacts.Rules)
	r.Serve(projects.New(r.Frame, r.Cursors).Routes())
	r.Serve(artifacts.New(r.Frame, r.Cursors).Routes())
	return r
}

// Versions are added to the one that they were made from, are read back byte for
// byte, and a retry adds none.
func TestVersions(t *testing.T) {
	r := newRig(t)
	alice := r.Person(recordtest.Alice)
	id := r.Do(alice, "POST /artifacts", `{"title":"Notes","type":"document"}`).Text("id")
	add := func(body string, header ...string) recordtest.Answer {
		return r.Do(alice, "POST /artifacts/{id}/versions id="+id, body, header...)
	}
	long := strings.Repeat("words and words\n", 40<<10) // larger than a body is elsewhere
	text, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body string
		want hux.Code // "" where it is added
	}{
		{`{"base_version":0,"media_type":"text/plain","content":"a\nb\n"}`, ""},
		{`{"base_version":0,"media_type":"text/plain","content":"c"}`, hux.VersionConflict},
		{`{"base_version":1,"media_type":"text/plain","content":"a\nb\n"}`, hux.NoChange},
		{`{"base_version":1,"media_type":"text/plain","patch":[{"from_start":2,"from_lines":1,"to_start":2,"to_lines":1,"lines":["-b","+c"]}],"change_summary":"password=hunter22"}`, ""},
		{`{"base_version":2,"media_type":"text/plain","patch":[{"from_start":2,"from_lines":1,"to_start":2,"to_lines":1,"lines":["-b","+c"]}]}`, hux.PatchDoesNotApply},
		{`{"base_version":2,"media_type":"text/plain","content":` + string(text) + `}`, ""},
		{`{"base_version":3,"media_type":"text/plain","content":"` + strings.Repeat("x", artifacts.MaxText+1) + `"}`, hux.SchemaInvalid},
	} {
		if a := add(c.body); a.Code != c.want || (c.want == "") != (a.Status == http.StatusCreated) {
			t.Errorf("%.90s: %d %s, want %q", c.body, a.Status, a.Code, c.want)
		}
	}
	for n, want := range []string{"a\nb\n", "a\nc\n", long} {
		a := r.Do(alice, "GET /artifacts/{id}/versions/{n} id="+id+" n="+strconv.Itoa(n+1), "")
		if a.Text("content") != want || a.Text("content_hash") != artifacts.Hash(want) || strings.Contains(string(a.Body), "hunter22") {
			t.Errorf("version %d: %d %.100s", n+1, a.Status, a.Body)
		}
	}
	for _, n := range []string{"0", "4", "01", "-1", "x"} {
		if a := r.Do(alice, "GET /artifacts/{id}/versions/{n} id="+id+" n="+n, ""); a.Code != hux.NotFound {
			t.Errorf("version %s: %d %s", n, a.Status, a.Code)
		}
	}
	const body, key = `{"base_version":3,"media_type":"text/plain","content":"last"}`, "Idempotency-Key: once"
	first, again := add(body, key), add(body, key)
	if again.Header.Get("Idempotency-Replayed") != "true" || string(first.Body) != string(again.Body) {
		t.Errorf("a retry: %d %.100s", again.Status, again.Body)
	}
	if a := r.Do(alice, "GET /artifacts/{id} id="+id, ""); a.Object["head_version"] != 4.0 || a.Object["version_count"] != 4.0 {
		t.Errorf("the artifact: %s", a.Body)
	}
	var numbers []any
	for cursor := ""; ; {
		a := r.Do(alice, "GET /artifacts/{id}/versions id="+id+" limit=3"+cursor, "")
		for _, item := range a.Object["items"].([]any) {
			numbers = append(numbers, item.(map[string]any)["n"])
		}
		if a.Object["next"] == nil {
			break
		}
		cursor = " cursor=" + a.Text("next")
	}
	if text, _ := json.Marshal(numbers); string(text) != "[4,3,2,1]" {
		t.Errorf("the list: %s", text)
	}
}

// An artifact is its maker's until a person puts it into a project; another
// member learns nothing of it before.
func TestWhoseAnArtifactIs(t *testing.T) {
	r := newRig(t)
	alice, bob, agent := r.Person(recordtest.Alice), r.Person(recordtest.Bob), r.Agent("")
	made := r.Do(alice, "POST /artifacts", `{"title":"Mine","type":"document"}`)
	id := made.Text("id")
	project := r.Do(bob, "POST /projects", `{"title":"Ours"}`).Text("id")
	unseen := func() {
		t.Helper()
		if a := r.Do(bob, "GET /artifacts/{id} id="+id, ""); a.Code != hux.NotFound {
			t.Errorf("bob reads it: %d", a.Status)
		}
		if ids := r.Do(bob, "GET /artifacts", "").IDs(); len(ids) != 0 {
			t.Errorf("bob's list has %v", ids)
		}
		if a := r.Do(bob, "POST /artifacts", `{"title":"x","type":"document","lineage":[{"relation":"derived_from","artifact_id":"`+id+`","version":1}]}`); a.Code != hux.UnknownReference {
			t.Errorf("bob's lineage names it: %d %s", a.Status, a.Code)
		}
	}
	unseen()
	into := `{"project_id":"` + project + `"}`
	if a := r.Do(agent, "PATCH /artifacts/{id} id="+id, into, "If-Match: "+made.Header.Get("ETag")); a.Code != hux.HumanRequired {
		t.Errorf("an agent shows it: %d %s", a.Status, a.Code)
	}
	moved := r.Do(alice, "PATCH /artifacts/{id} id="+id, into, "If-Match: "+made.Header.Get("ETag"))
	if moved.Status != http.StatusOK || moved.Object["owner"] != nil {
		t.Fatalf("%d %s", moved.Status, moved.Body)
	}
	for _, query := range []string{"", " project_id=" + project, " type=document", " state=active"} {
		if ids := r.Do(bob, "GET /artifacts"+query, "").IDs(); len(ids) != 1 || ids[0] != id {
			t.Errorf("bob's list%s has %v", query, ids)
		}
	}
	out := r.Do(alice, "PATCH /artifacts/{id} id="+id, `{"project_id":null}`, "If-Match: "+moved.Header.Get("ETag"))
	if out.Status != http.StatusOK || out.Text("owner") != string(recordtest.Alice) {
		t.Errorf("%d %s", out.Status, out.Body)
	}
	unseen()
	if a := r.Do(agent, "POST /artifacts", `{"title":"x","type":"document"}`); a.Code != hux.HumanRequired {
		t.Errorf("an agent of several members makes one: %d %s", a.Status, a.Code)
	}
}
