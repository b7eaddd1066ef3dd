package conformance_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	repository "bstein.dev/hux"
)

func into(t testing.TB, a *answer, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Errorf("%s: %v: %.300s", a.what, err, a.body)
	}
}

// Capabilities name the contract, all flags with what they depend on, and the
// limits that the contract has.
func TestCapabilities(t *testing.T) {
	a := human().call(t, "GET", "/capabilities", "", nil)
	a.want(t, "capabilities", 200, "")
	c := server.capabilities
	if c.ContractVersion != "1.1.0" {
		t.Errorf("contract_version is %q", c.ContractVersion)
	}
	if c.Actor.Kind != "human" || !strings.HasPrefix(c.Actor.ID, "usr_") {
		t.Errorf("-token is of %+v, want a person's", c.Actor)
	}
	var registry struct {
		Flags []struct {
			Name      string
			DependsOn []string `json:"depends_on"`
		}
	}
	if err := json.Unmarshal(repository.Flags, &registry); err != nil {
		t.Fatal(err)
	}
	for _, f := range registry.Flags {
		state, ok := c.Flags[f.Name]
		if !ok {
			t.Errorf("flags lack %s", f.Name)
			continue
		}
		if state.Enabled && !state.Listed {
			t.Errorf("%s is enabled and not listed", f.Name)
		}
		for _, d := range f.DependsOn {
			if !slices.Contains(state.DependsOn, d) {
				t.Errorf("%s does not say that it depends on %s", f.Name, d)
			}
			if state.Enabled && !c.Flags[d].Enabled {
				t.Errorf("%s is enabled and %s, which it depends on, is not", f.Name, d)
			}
			if !c.Flags[d].Listed && !slices.Contains(state.BlockedBy, d) {
				t.Errorf("%s does not say that it is blocked by %s", f.Name, d)
			}
		}
		if own && !state.Listed {
			t.Errorf("the demo does not list %s", f.Name)
		}
	}
	if own {
		for _, name := range []string{"hux.foundation", "hux.activity_timeline"} {
			if !c.Flags[name].Enabled {
				t.Errorf("the demo does not serve %s", name)
			}
		}
	}
	for _, limit := range []string{"json_body_bytes", "event_summary_chars", "event_data_bytes", "evidence_refs", "name_chars", "list_default", "list_limit", "streams_per_user"} {
		if c.Limits[limit] <= 0 {
			t.Errorf("limits lack %s (contracts 2.7)", limit)
		}
	}
	checked("capabilities")
}

// The manifest's hashes are those of the schemas as they are given, which are
// those of this repository; it names the routes that the OpenAPI document does.
func TestManifest(t *testing.T) {
	for _, r := range server.manifest.Records {
		sum := sha256.Sum256(server.files[r.Schema])
		if hex.EncodeToString(sum[:]) != r.SHA256 {
			t.Errorf("the manifest's hash of %s is not that of GET /schemas/%s", r.Schema, r.Schema)
		}
		file, err := fs.ReadFile(repository.Schemas, "schemas/"+r.Schema+".json")
		if errors.Is(err, fs.ErrNotExist) {
			off(t, "schema "+r.Schema, "this repository does not have it")
			continue
		}
		if !bytes.Equal(compact(t, file), compact(t, server.files[r.Schema])) {
			t.Errorf("%s is not the schema that this repository has", r.Schema)
		}
		if a := human().call(t, "GET", "/schemas/{name}", "", []string{r.Schema + ".json"}); a.status != 200 || !bytes.Equal(a.body, server.files[r.Schema]) {
			t.Errorf("%s.json, which references between schemas lead to: %d", r.Schema, a.status)
		}
		checked("schema " + r.Schema)
	}
	human().call(t, "GET", "/schemas/{name}", "", []string{"hux.nothing.v1"}).want(t, "no such schema", 404, "not_found")
	var openAPI document
	into(t, human().call(t, "GET", "/openapi.json", "", nil), &openAPI)
	described := map[string]bool{}
	for path, item := range openAPI.Paths {
		for method := range item {
			described[strings.ToUpper(method)+" "+path] = true
		}
	}
	for _, rt := range server.manifest.Routes {
		if !described[rt.Method+" "+rt.Path] {
			t.Errorf("the OpenAPI document lacks %s %s, which the manifest has", rt.Method, rt.Path)
		}
	}
	for _, o := range server.operations {
		delete(described, o.method+" "+prefix+o.path)
	}
	for line := range described {
		t.Errorf("the manifest lacks %s, which the OpenAPI document has", line)
	}
	checked("manifest and OpenAPI document")
}

func compact(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Error(err)
	}
	return b.Bytes()
}

// A route of a capability that is off is 404 feature_disabled for everybody
// who is signed in, and one that nobody has is 404 not_found.
func TestRoutesThatAreOff(t *testing.T) {
	for _, o := range server.operations {
		if o.served() {
			checked(o.name())
			continue
		}
		body, header := "", []string(nil)
		if o.method != "GET" {
			body, header = "{}", []string{newKey()}
		}
		a := human().call(t, o.method, o.path, body, placeholders(o.path), header...)
		a.want(t, o.why(), 404, "feature_disabled")
		off(t, o.name(), o.why()+"; it answers 404 feature_disabled")
	}
	human().call(t, "GET", "/nothing-of-the-kind", "", nil).want(t, "no such route", 404, "not_found")
}

// placeholders are values of the right form for a path's variables.
func placeholders(path string) []string {
	var values []string
	for _, m := range segment.FindAllStringSubmatch(path, -1) {
		value := "cnv_0123456789ab7def8123456789abcdef"
		for _, o := range server.operations {
			if id, _ := worked(o.record)["id"].(string); o.path == "/"+m[1]+"/{"+m[2]+"}" && recordID.MatchString(id) {
				value = id[:4] + value[4:]
			}
		}
		switch m[2] {
		case "n":
			value = "1"
		case "run_id":
			value = "run-1"
		case "name":
			value = "hux.event.v1"
		}
		values = append(values, value)
	}
	return values
}

// Nobody gets anything without a credential that holds.
func TestCredentials(t *testing.T) {
	for what, credential := range map[string]string{"none": "", "nonsense": "nonsense", "a cut one": human().token[:len(human().token)-1]} {
		for _, o := range server.operations {
			if !o.served() || o.signed {
				continue
			}
			body := ""
			if o.method != "GET" {
				body = "{}"
			}
			caller{"nobody", credential}.call(t, o.method, o.path, body, placeholders(o.path)).want(t, "credential: "+what, 401, "unauthenticated")
		}
	}
	checked("credentials")
}

// Methods that a path has not are 405 with those that it has.
func TestMethods(t *testing.T) {
	paths := map[string][]string{}
	for _, o := range server.operations {
		if o.served() {
			paths[o.path] = append(paths[o.path], o.method)
		}
	}
	for _, path := range sorted(paths) {
		for _, method := range []string{"GET", "PUT", "PATCH", "POST", "DELETE"} {
			if slices.Contains(paths[path], method) {
				continue
			}
			a := human().call(t, method, path, "", placeholders(path))
			a.want(t, "not a method of it", 405, "method_not_allowed")
			for _, has := range paths[path] {
				if !slices.Contains(strings.Split(a.header.Get("Allow"), ", "), has) {
					t.Errorf("%s: Allow is %q, want %s in it", a.what, a.header.Get("Allow"), has)
				}
			}
		}
	}
	checked("methods")
}

// What is for one kind of caller is refused to the others.
func TestKinds(t *testing.T) {
	for _, o := range server.operations {
		if !o.served() || o.actors == nil {
			continue
		}
		for _, c := range []caller{human(), agent(), worker()} {
			if slices.Contains(o.actors, c.kind) || c.token == "" {
				continue
			}
			body, header := "", []string(nil)
			if o.method != "GET" {
				body, header = "{}", []string{newKey()}
			}
			a := c.call(t, o.method, o.path, body, placeholders(o.path), header...)
			if a.code() == "not_found" && (c.kind == "worker" || o.actors[0] == "worker") {
				continue // the two live apart: to one the other's routes do not exist
			}
			code := "agent_required"
			if slices.Contains(o.actors, "human") {
				code = "human_required"
			}
			a.want(t, "as "+c.kind, 403, code)
			checked("who may call " + o.name())
		}
	}
}

// What another tenant has is what does not exist, to the byte.
func TestForeignRecords(t *testing.T) {
	if other().token == "" {
		off(t, "records of other tenants", "no -other-token was given")
		return
	}
	for _, o := range server.operations {
		if !o.served() || !strings.Contains(o.path, "{id}") {
			continue
		}
		x, why := prepare(t, o)
		if why != "" {
			lacking(t, o.name()+" by another tenant", why)
			continue
		}
		if x.who.kind != "human" {
			off(t, o.name()+" by another tenant", "it is for "+x.who.kind)
			continue
		}
		text := ""
		if x.body != nil {
			text = encoded(x.body)
		}
		header := append(x.current(t), newKey())
		foreign := other().call(t, o.method, o.path, text, x.values, header...)
		header[len(header)-1] = newKey()
		unknown := other().call(t, o.method, o.path, text, placeholders(o.path), header...)
		foreign.want(t, "another tenant's", 404, "not_found")
		if foreign.apart() != unknown.apart() || foreign.status != unknown.status {
			t.Errorf("%s: another tenant's record is told from none:\n%s\n%s", o.name(), foreign.body, unknown.body)
		}
	}
	checked("records of other tenants")
}
