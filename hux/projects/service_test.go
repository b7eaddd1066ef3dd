package projects_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/projects"
	"bstein.dev/hux/hux/record/recordtest"
)

func newRig(t *testing.T) *recordtest.Rig {
	t.Helper()
	r := recordtest.New(t, projects.Rules)
	r.Serve(projects.New(r.Frame, r.Cursors).Routes())
	return r
}

// A project is the tenant's: who has made it does not matter, and it says so to
// nobody.
func TestAProjectIsEverybodys(t *testing.T) {
	r := newRig(t)
	alice, bob := r.Person(recordtest.Alice), r.Person(recordtest.Bob)
	made := r.Do(alice, "POST /projects", `{"title":"Cafe\u0301, password=hunter22","tags":["b","a"]}`)
	if made.Status != http.StatusCreated || made.Text("title") != "Café, password=[redacted]" || made.Text("memory_scope") != "shared" || made.Object["owner"] != nil {
		t.Fatalf("%d %s", made.Status, made.Body)
	}
	id := made.Text("id")
	changed := r.Do(bob, "PATCH /projects/{id} id="+id, `{"description":"two\nlines","default_mode":"thoughtful"}`, "If-Match: "+made.Header.Get("ETag"))
	if changed.Status != http.StatusOK || changed.Text("description") != "two\nlines" {
		t.Fatalf("%d %s %s", changed.Status, changed.Code, changed.Body)
	}
	again := r.Do(alice, "PATCH /projects/{id} id="+id, `{"description":null,"default_mode":null}`, "If-Match: "+changed.Header.Get("ETag"))
	if again.Status != http.StatusOK || again.Object["description"] != nil || again.Object["default_mode"] != nil || again.Object["revision"] != 3.0 {
		t.Errorf("%d %s %s", again.Status, again.Code, again.Body)
	}
	if stale := r.Do(alice, "PATCH /projects/{id} id="+id, `{"pinned":true}`, "If-Match: "+made.Header.Get("ETag")); stale.Code != hux.PreconditionFailed {
		t.Errorf("a stale change: %d %s", stale.Status, stale.Code)
	}
	if got := r.Do(bob, "GET /projects/{id} id="+id, ""); got.Status != http.StatusOK || string(got.Body) != string(again.Body) {
		t.Errorf("bob sees %d %s", got.Status, got.Body)
	}
	if unknown := r.Do(alice, "POST /projects", `{"title":"x","instructions_ref":"art_0123456789abcdef0123456789abcdef"}`); unknown.Code != hux.UnknownReference {
		t.Errorf("an artifact that is none: %d %s", unknown.Status, unknown.Code)
	}
}

// Lists are filtered by state and by tag, and archiving moves a project from one
// list to the other.
func TestProjectsAreListed(t *testing.T) {
	r := newRig(t)
	alice := r.Person(recordtest.Alice)
	ids := map[string][]string{}
	for i := range 6 {
		tag := []string{"even", "odd"}[i%2]
		a := r.Do(alice, "POST /projects", fmt.Sprintf(`{"title":"p%d","tags":[%q]}`, i, tag))
		ids[tag] = append([]string{a.Text("id")}, ids[tag]...)
		ids["active"] = append([]string{a.Text("id")}, ids["active"]...)
	}
	first := ids["active"][5]
	if a := r.Do(alice, "PATCH /projects/{id} id="+first, `{"state":"archived"}`, `If-Match: "`+first+`:1"`); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Code)
	}
	for query, want := range map[string][]string{
		"": ids["active"], "state=active": ids["active"][:5], "state=archived": {first}, "tag=odd": ids["odd"],
		"tag=even state=active": ids["even"][:2], "tag=none": nil,
	} {
		var got []string
		for cursor := ""; ; {
			a := r.Do(r.Person(recordtest.Bob), "GET /projects limit=2 "+query+cursor, "")
			got = append(got, a.IDs()...)
			if a.Object["next"] == nil {
				break
			}
			cursor = " cursor=" + a.Text("next")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
}
