package blackbox_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	contract "bstein.dev/hux"
)

var variable = regexp.MustCompile(`\{[a-z_]+\}`)

// openAPI reads the document that the router gives.
func (c *caller) openAPI(t testing.TB) *openapi3.T {
	t.Helper()
	a := c.call(t, "GET", "/openapi.json", "")
	a.want(t, http.StatusOK, "")
	loader := openapi3.NewLoader() // reads nothing outside the document
	doc, err := loader.LoadFromData([]byte(a.body))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(loader.Context); err != nil || !doc.IsOpenAPI31OrLater() {
		t.Fatalf("not a good OpenAPI 3.1 document: %v", err)
	}
	return doc
}

// keeps holds an answer against what the document says of it: its status, its
// headers and its body.
func (a *answer) keeps(t *testing.T, doc *openapi3.T, method, path string) {
	t.Helper()
	item := doc.Paths.Value("/hux/v1" + path)
	if item == nil || item.GetOperation(method) == nil {
		t.Errorf("%s %s is not described", method, path)
		return
	}
	response := item.GetOperation(method).Responses.Status(a.StatusCode)
	if response == nil {
		t.Errorf("%s %s answers %d, which is not described", method, path, a.StatusCode)
		return
	}
	if a.StatusCode >= 400 {
		if codes, _ := item.GetOperation(method).Extensions["x-hux-errors"].([]any); !slices.Contains(codes, any(a.code(t))) {
			t.Errorf("%s %s refuses with %s, which is not described", method, path, a.code(t))
		}
	}
	media, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	content := response.Value.Content[media]
	if content == nil {
		t.Errorf("%s %s answers %d as %q, which is not described", method, path, a.StatusCode, media)
		return
	}
	var body any
	a.into(t, &body)
	if err := doc.ValidateSchemaJSON(content.Schema.Value, body, openapi3.EnableJSONSchema2020()); err != nil {
		t.Errorf("%s %s answers against its description: %v\n%.500s", method, path, err, a.body)
	}
	optional := []string{"Etag", "Retry-After", "Idempotency-Replayed", "Hux-Ignored-Fields"}
	for name := range response.Value.Headers {
		name = http.CanonicalHeaderKey(name)
		if a.Header.Get(name) == "" && (!slices.Contains(optional, name) || name == "Etag" && a.StatusCode < 300) {
			t.Errorf("%s %s answers %d without %s", method, path, a.StatusCode, name)
		}
	}
	for name := range a.Header {
		if strings.HasPrefix(name, "Hux-") || name == "Etag" || name == "Retry-After" || name == "Idempotency-Replayed" {
			if !slices.ContainsFunc(headerNames(response.Value), func(n string) bool { return http.CanonicalHeaderKey(n) == name }) {
				t.Errorf("%s %s answers %d with %s, which is not described", method, path, a.StatusCode, name)
			}
		}
	}
}

func headerNames(r *openapi3.Response) []string {
	var names []string
	for name := range r.Headers {
		names = append(names, name)
	}
	return names
}

// The document is of the router as it is: each of its routes is there with the
// methods it says and no other, and takes the names in the query that it says.
func TestOpenAPIIsOfThisRouter(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice, nobody := h.person(t, "h2", "alice"), h.browser(t, "h2")
	doc := alice.openAPI(t)
	conversation := alice.conversation(t)
	for path, item := range doc.Paths.Map() {
		below, ok := strings.CutPrefix(path, "/hux/v1")
		if !ok {
			t.Errorf("%s is outside", path)
			continue
		}
		below = strings.NewReplacer("conversations/{id}", "conversations/"+conversation, "{name}", "hux.event.v1").Replace(below)
		whole := variable.ReplaceAllString(below, "any")
		isThere := whole == below // all that it names
		below = whole
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			a := nobody.do(t, method, apiURL+"/hux/v1"+below, nil)
			want := http.StatusMethodNotAllowed
			if operation := item.GetOperation(method); operation != nil {
				want = http.StatusUnauthorized
				if operation.Security != nil { // signed: nobody learns whether there is such an agent
					want = http.StatusNotFound
				}
			}
			if a.StatusCode != want {
				t.Errorf("%s %s: status %d, want %d", method, path, a.StatusCode, want)
			}
		}
		for method, operation := range item.Operations() {
			if operation.Extensions["x-hux-served"] != true && operation.Security == nil {
				alice.call(t, method, below, "").want(t, http.StatusNotFound, "feature_disabled")
			}
		}
		get := item.GetOperation("GET")
		if get == nil || !isThere || get.Extensions["x-hux-served"] != true || get.Parameters.GetByInAndName("header", "Last-Event-ID") != nil {
			continue
		}
		values := map[string]string{"limit": "7", "after_seq": "0", "epoch": "x", "cursor": "", "state": "active", "status": "pending", "scope": "user", "conversation_id": conversation, "run_id": "run-1", "project_id": "prj_" + strings.Repeat("0", 32), "tag": "a"}
		for _, p := range get.Parameters {
			if p.Value.In != "query" {
				continue
			}
			value, known := values[p.Value.Name]
			if !known {
				t.Errorf("%s: this test has no value for %s", path, p.Value.Name)
			}
			if a := alice.call(t, "GET", below+"?"+p.Value.Name+"="+value, ""); value != "" {
				a.want(t, http.StatusOK, "")
				a.keeps(t, doc, "GET", strings.TrimPrefix(path, "/hux/v1"))
			}
			alice.call(t, "GET", below+"?"+p.Value.Name+"x="+value, "").want(t, http.StatusBadRequest, "bad_request")
		}
	}
}

// Answers, good ones and refusals, are as the document says.
func TestAnswersKeepToOpenAPI(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice := h.person(t, "h2", "alice")
	doc := alice.openAPI(t)
	const all, one, events = "/conversations", "/conversations/{id}", "/conversations/{id}/events"
	for _, path := range []string{"/capabilities", "/manifest"} {
		alice.call(t, "GET", path, "").keeps(t, doc, "GET", path)
	}
	alice.call(t, "GET", "/schemas/none", "").keeps(t, doc, "GET", "/schemas/{name}")
	made := alice.call(t, "POST", all, `{"title":"One","nonsense":1,"external_ref":{"system":"webui","id":"s1"}}`, "Idempotency-Key: one")
	made.want(t, http.StatusCreated, "")
	made.keeps(t, doc, "POST", all)
	alice.call(t, "POST", all, `{"title":"One","nonsense":1,"external_ref":{"system":"webui","id":"s1"}}`, "Idempotency-Key: one").keeps(t, doc, "POST", all)
	again := alice.call(t, "POST", all, `{"external_ref":{"system":"webui","id":"s1"}}`)
	again.want(t, http.StatusOK, "")
	again.keeps(t, doc, "POST", all)
	alice.call(t, "POST", all, `{"title":""}`).keeps(t, doc, "POST", all)
	alice.call(t, "POST", all, `{"title":`).keeps(t, doc, "POST", all)
	alice.call(t, "POST", all, `x`, "Content-Type: text/plain").keeps(t, doc, "POST", all)
	alice.call(t, "GET", all, "").keeps(t, doc, "GET", all)

	id := made.object(t)["id"].(string)
	tag := made.Header.Get("ETag")
	here := "/conversations/" + id
	alice.call(t, "GET", here, "").keeps(t, doc, "GET", one)
	alice.call(t, "GET", here+"0", "").keeps(t, doc, "GET", one)
	changed := alice.call(t, "PATCH", here, `{"pinned":true}`, "If-Match: "+tag)
	changed.want(t, http.StatusOK, "")
	changed.keeps(t, doc, "PATCH", one)
	alice.call(t, "PATCH", here, `{"pinned":true}`, "If-Match: "+tag).keeps(t, doc, "PATCH", one)
	alice.call(t, "PATCH", here, `{"pinned":true}`).keeps(t, doc, "PATCH", one)

	posted := alice.call(t, "POST", here+"/events", `{"kind":"tool.started","summary":"s","provenance":{"route":{"requested":"fast","locality":"local"}}}`)
	posted.want(t, http.StatusCreated, "")
	posted.keeps(t, doc, "POST", events)
	if p, _ := posted.object(t)["provenance"].(map[string]any); p["route"] == nil {
		t.Errorf("the route it was posted with is lost: %s", posted.body)
	}
	alice.call(t, "POST", here+"/events", `{"kind":"grant.created","summary":"s"}`).keeps(t, doc, "POST", events)
	alice.call(t, "GET", here+"/events?limit=1", "").keeps(t, doc, "GET", events)

	stream := alice.follow(t, id, "")
	described := doc.Paths.Value("/hux/v1" + events + "/stream").Get.Responses.Status(http.StatusOK).Value
	if described.Content["text/event-stream"] == nil {
		t.Error("the stream is not described as one")
	}
	for name := range described.Headers {
		if stream.res.Header.Get(name) == "" {
			t.Errorf("the stream has no %s", name)
		}
	}
	bad := alice.call(t, "GET", here+"/events/stream?after_seq=-1", "")
	bad.want(t, http.StatusBadRequest, "invalid_cursor")
	bad.keeps(t, doc, "GET", events+"/stream")
}

// The manifest names every schema with the hash of its file, which the router
// gives byte for byte, and the routes that the document describes.
func TestManifest(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice := h.person(t, "h1", "alice")
	var manifest struct {
		Records []struct {
			Schema string `json:"schema"`
			SHA256 string `json:"json_schema_sha256"`
		} `json:"records"`
		Routes []struct{ Method, Path, Flag string } `json:"routes"`
	}
	alice.call(t, "GET", "/manifest", "").into(t, &manifest)
	named := map[string]bool{"defs": true}
	for _, r := range manifest.Records {
		named[r.Schema] = true
		for _, suffix := range []string{"", ".json"} {
			a := alice.call(t, "GET", "/schemas/"+r.Schema+suffix, "")
			sum := sha256.Sum256([]byte(a.body))
			if a.StatusCode != http.StatusOK || hex.EncodeToString(sum[:]) != r.SHA256 || a.Header.Get("Content-Type") != "application/schema+json" {
				t.Errorf("%s%s: %d %v", r.Schema, suffix, a.StatusCode, a.Header)
			}
		}
	}
	files, err := fs.Glob(contract.Schemas, "schemas/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "schemas/"), ".json")
		if !named[name] {
			t.Errorf("the manifest does not name %s", name)
		}
		text, err := fs.ReadFile(contract.Schemas, file)
		if err != nil {
			t.Fatal(err)
		}
		if a := alice.call(t, "GET", "/schemas/"+name, ""); a.body != string(text) {
			t.Errorf("%s is not the file that the contract has", name)
		}
	}
	for _, name := range []string{"none", "hux.event", "..%2Fflags", "defs.json.json", "x%00"} {
		if a := alice.anywhere(t, "/schemas/"+name); a.StatusCode < 400 || a.StatusCode > 404 {
			t.Errorf("%s: status %d", name, a.StatusCode)
		}
	}
	served := map[string]bool{}
	for _, rt := range manifest.Routes {
		served[rt.Method+" "+rt.Path] = true
	}
	for path, item := range alice.openAPI(t).Paths.Map() {
		for method := range item.Operations() {
			if !served[method+" "+path] {
				t.Errorf("the manifest has no %s %s", method, path)
			}
			delete(served, method+" "+path)
		}
	}
	for line := range served {
		t.Errorf("the document has no %s", line)
	}
}

// anywhere is a call whose answer may come from before the API.
func (c *caller) anywhere(t testing.TB, path string) *answer {
	t.Helper()
	a, err := c.try(t, t.Context(), "GET", path, "")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Whoever is signed in may read what the contract is, with a slot or without.
func TestFoundationIsForEverybody(t *testing.T) {
	t.Parallel()
	h := start(t, setup{config: map[string]any{"flags": "hux.foundation"}})
	for _, name := range []string{"alice", "olga", "worker"} {
		c := h.person(t, "h2", name)
		for _, path := range []string{"/capabilities", "/manifest", "/openapi.json", "/schemas/hux.event.v1"} {
			c.call(t, "GET", path, "").want(t, http.StatusOK, "")
		}
		c.call(t, "GET", "/conversations", "").want(t, http.StatusNotFound, "feature_disabled")
		var capabilities struct {
			Limits   map[string]int
			Features map[string]bool
			Flags    map[string]struct{ Enabled bool }
		}
		if err := json.Unmarshal([]byte(c.call(t, "GET", "/capabilities", "").body), &capabilities); err != nil {
			t.Fatal(err)
		}
		if capabilities.Limits["streams_per_user"] != 32 || capabilities.Features["sse"] || !capabilities.Flags["hux.foundation"].Enabled {
			t.Errorf("%s: %+v", name, capabilities)
		}
	}
}
