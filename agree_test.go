package contract_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/artifacts"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/cards"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/memory"
	"bstein.dev/hux/hux/modes"
	"bstein.dev/hux/hux/onboarding"
	"bstein.dev/hux/hux/privacy"
	"bstein.dev/hux/hux/projects"
	"bstein.dev/hux/hux/releases"
	"bstein.dev/hux/hux/research"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/timeline"
)

// problem is hux.error.v1; the router makes it member by member.
type problem struct {
	Schema          string           `json:"schema"`
	Type            string           `json:"type"`
	Title           string           `json:"title"`
	Status          int              `json:"status"`
	Code            hux.Code         `json:"code"`
	Detail          string           `json:"detail,omitempty"`
	RequestID       string           `json:"request_id"`
	Retryable       bool             `json:"retryable"`
	RetryAfterMS    *int64           `json:"retry_after_ms,omitempty"`
	Errors          []schema.Fault   `json:"errors,omitempty"`
	CurrentRevision int              `json:"current_revision,omitempty"`
	From            string           `json:"from,omitempty"`
	To              string           `json:"to,omitempty"`
	Allowed         []string         `json:"allowed,omitempty"`
	Decision        *autonomy.Answer `json:"decision,omitempty"`
	Head            int              `json:"head,omitempty"`
	Problems        []schema.Fault   `json:"problems,omitempty"`
	User            hux.User         `json:"user,omitempty"`
	Error           string           `json:"error,omitempty"`
}

// types are the Go types of the contract's schemas.
var types = map[string]any{
	"hux.release.v1":                  releases.Release{},
	"hux.release.create.v1":           releases.Create{},
	"hux.release.transition.v1":       releases.Transition{},
	"hux.release.check.v1":            releases.Check{},
	"hux.approval.create.v1":          autonomy.ApprovalCreate{},
	"hux.approval.decide.v1":          autonomy.ApprovalDecide{},
	"hux.approval.v1":                 autonomy.Approval{},
	"hux.artifact.create.v1":          artifacts.Create{},
	"hux.artifact.patch.v1":           artifacts.Patch{},
	"hux.artifact.promote.v1":         artifacts.Promote{},
	"hux.artifact.transcribe.v1":      artifacts.Transcribe{},
	"hux.artifact.v1":                 artifacts.Artifact{},
	"hux.artifact_diff.v1":            artifacts.Diff{},
	"hux.artifact_version.create.v1":  artifacts.VersionCreate{},
	"hux.artifact_version.v1":         artifacts.Version{},
	"hux.blob.v1":                     artifacts.Blob{},
	"hux.cancel.v1":                   autonomy.Cancellation{},
	"hux.capabilities.v1":             api.Capabilities{},
	"hux.citation.create.v1":          research.CitationCreate{},
	"hux.citation.v1":                 research.Citation{},
	"hux.conversation.branch.v1":      projects.Branch{},
	"hux.conversation.create.v1":      conversation.Create{},
	"hux.conversation.patch.v1":       conversation.Patch{},
	"hux.conversation.v1":             conversation.Conversation{},
	"hux.decision.create.v1":          autonomy.DecisionCreate{},
	"hux.decision.v1":                 autonomy.Decision{},
	"hux.error.v1":                    problem{},
	"hux.event.create.v1":             timeline.Create{},
	"hux.event.v1":                    event.Event{},
	"hux.forget.v1":                   privacy.Forget{},
	"hux.grant.create.v1":             autonomy.GrantCreate{},
	"hux.grant.v1":                    autonomy.Grant{},
	"hux.ingest.hermes.v1":            autonomy.HermesEvent{},
	"hux.lineage.v1":                  projects.Lineage{},
	"hux.manifest.v1":                 api.Manifest{},
	"hux.memory.create.v1":            memory.Create{},
	"hux.memory.edit.v1":              memory.Edit{},
	"hux.memory.import.v1":            memory.Import{},
	"hux.memory.prompt.v1":            memory.Prompt{},
	"hux.memory.v1":                   memory.Memory{},
	"hux.memory_export.v1":            memory.Export{},
	"hux.mode.put.v1":                 modes.Put{},
	"hux.mode.v1":                     modes.Mode{},
	"hux.passage.create.v1":           research.PassageCreate{},
	"hux.passage.v1":                  research.Passage{},
	"hux.policy.put.v1":               autonomy.PolicyPut{},
	"hux.policy.v1":                   autonomy.Policy{},
	"hux.privacy_notice.create.v1":    privacy.NoticeCreate{},
	"hux.privacy_notice.v1":           privacy.Notice{},
	"hux.privacy_policy.v1":           privacy.Policy{},
	"hux.project.create.v1":           projects.Create{},
	"hux.project.patch.v1":            projects.Patch{},
	"hux.project.v1":                  projects.Project{},
	"hux.receipt.create.v1":           autonomy.ReceiptCreate{},
	"hux.receipt.v1":                  autonomy.Receipt{},
	"hux.research_notebook.create.v1": research.NotebookCreate{},
	"hux.research_notebook.patch.v1":  research.NotebookPatch{},
	"hux.research_notebook.v1":        research.Notebook{},
	"hux.retention_audit.v1":          privacy.Audit{},
	"hux.search.v1":                   projects.Search{},
	"hux.source.create.v1":            research.SourceCreate{},
	"hux.source.snapshot.v1":          research.SourceSnapshot{},
	"hux.source.v1":                   research.Source{},
	"hux.suggestion.v1":               onboarding.Suggestion{},
	"hux.suggestion_state.v1":         onboarding.State{},
}

func schemas(t *testing.T) *schema.Set {
	t.Helper()
	set, err := schema.Load(contract.Schemas, cards.Rules())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func names(set *schema.Set) []string {
	return slices.DeleteFunc(set.Names(), func(name string) bool { return name == "defs" })
}

// routes are all of /hux/v1; nobody calls them here.
func routes(t *testing.T) []api.Route {
	t.Helper()
	switchyard, err := modes.ReadSwitchyard(contract.Switchyard)
	if err != nil {
		t.Fatal(err)
	}
	all, err := api.Foundation{Schemas: schemas(t), StreamsPerUser: 32, Modes: switchyard.Manifest()}.Routes(cards.Routes(cards.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Each schema has one worked example, which its Go type holds whole: nothing
// in it is unknown to the type, and nothing gets lost on the way back.
func TestExamplesAndTypesAgreeWithSchemas(t *testing.T) {
	set := schemas(t)
	files, err := fs.Glob(contract.Examples, "examples/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, file := range files {
		examples = append(examples, strings.TrimSuffix(path.Base(file), ".json"))
	}
	if slices.Sort(examples); !slices.Equal(examples, names(set)) {
		t.Errorf("schemas %v, examples %v", names(set), examples)
	}
	for _, name := range names(set) {
		if types[name] == nil {
			t.Errorf("%s has no Go type", name)
			continue
		}
		text, err := fs.ReadFile(contract.Examples, "examples/"+name+".json")
		if err != nil {
			t.Fatal(err)
		}
		value := reflect.New(reflect.TypeOf(types[name]))
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(value.Interface()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		back, err := json.Marshal(value.Interface())
		if err != nil {
			t.Fatal(err)
		}
		var before, after map[string]any
		if json.Unmarshal(text, &before) != nil || json.Unmarshal(back, &after) != nil {
			t.Fatalf("%s: not an object", name)
		}
		for member, want := range before {
			if got := after[member]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s comes back as %v, was %v", name, member, got, want)
			}
		}
		checked, err := schema.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Validate(name, checked); err != nil {
			t.Errorf("%s: the example breaks its schema: %v", name, err)
		}
	}
}

// The kinds of event that the schema gives as examples are all there are, and
// those that a body may have are those that a client may post.
func TestEventKindsAgreeWithSchemas(t *testing.T) {
	set := schemas(t)
	kind := object(t, set.File("defs"))["$defs"].(map[string]any)["event_kind"].(map[string]any)
	posted := object(t, set.File("hux.event.create.v1"))["properties"].(map[string]any)["kind"].(map[string]any)
	for what, c := range map[string]struct {
		kinds []string
		said  any
	}{"all": {event.Kinds, kind["examples"]}, "posted": {event.ClientKinds, posted["enum"]}} {
		said := map[string]bool{}
		for _, k := range c.said.([]any) {
			said[k.(string)] = true
		}
		for _, k := range c.kinds {
			if !said[k] {
				t.Errorf("%s: the schema has no %s", what, k)
			}
			delete(said, k)
		}
		for k := range said {
			t.Errorf("%s: the router has no %s", what, k)
		}
	}
}

// A record's Go type has just the members that its schema has: one that the
// type lacks is only allowed where the router never writes it. The envelope's
// owner is left out of the records that are the tenant's.
func TestTypesHaveTheMembersOfTheirSchemas(t *testing.T) {
	unwritten := map[string][]string{
		"hux.event.v1": {"updated_at"},
		"hux.error.v1": {"instance"},
	}
	tenants := []string{"hux.release.v1", "hux.project.v1"}
	set := schemas(t)
	for _, name := range names(set) {
		var s struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		}
		if err := json.Unmarshal(set.File(name), &s); err != nil {
			t.Fatal(err)
		}
		if types[name] == nil {
			continue // TestExamplesAndTypesAgreeWithSchemas says so
		}
		has := map[string]bool{}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(types[name])) {
			if tag := strings.Split(f.Tag.Get("json"), ",")[0]; tag != "" && len(f.Index) <= 2 && (!f.Anonymous) {
				has[tag] = true
			}
		}
		for member := range s.Properties {
			if !has[member] && !slices.Contains(unwritten[name], member) {
				t.Errorf("%s: the type has no %s", name, member)
			}
		}
		for member := range has {
			if s.Properties[member] == nil && !(member == "owner" && slices.Contains(tenants, name)) {
				t.Errorf("%s: the schema has no %s", name, member)
			}
		}
	}
}

func document(t *testing.T) *openapi3.T {
	t.Helper()
	text, err := api.OpenAPI(routes(t), schemas(t))
	if err != nil {
		t.Fatal(err)
	}
	loader := openapi3.NewLoader() // reads nothing outside the document
	doc, err := loader.LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(loader.Context); err != nil {
		t.Fatalf("not a good OpenAPI document: %v", err)
	}
	return doc
}

// The document is OpenAPI 3.1, has every route and no other, and its
// components accept what the contract's schemas accept.
func TestOpenAPIDescribesTheRoutes(t *testing.T) {
	doc := document(t)
	if !doc.IsOpenAPI31OrLater() {
		t.Errorf("it is of version %s", doc.OpenAPI)
	}
	described := map[string]bool{}
	for p, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described[method+" "+p] = true
		}
	}
	set := schemas(t)
	for _, rt := range routes(t) {
		line := rt.Method + " " + api.Prefix + rt.Path
		if !described[line] {
			t.Errorf("%s is not described", line)
		}
		delete(described, line)
		for _, name := range []string{rt.Record, rt.Request} {
			if name != "" && set.File(name) == nil {
				t.Errorf("%s names %s, which is no schema", line, name)
			}
		}
		if rt.Summary == "" {
			t.Errorf("%s does not say what it does", line)
		}
		operation := doc.Paths.Value(api.Prefix + rt.Path).GetOperation(rt.Method)
		if body := operation.RequestBody; (body != nil) != (rt.Request != "" || rt.Raw) {
			t.Errorf("%s: has a body is %v", line, body != nil)
		}
		if idempotent := operation.Parameters.GetByInAndName("header", "Idempotency-Key") != nil; idempotent != rt.Idempotent() {
			t.Errorf("%s: takes an Idempotency-Key is %v", line, idempotent)
		}
	}
	for line := range described {
		t.Errorf("%s is described, and is no route", line)
	}
}

func TestOpenAPIComponentsAcceptTheExamples(t *testing.T) {
	doc := document(t)
	for _, name := range names(schemas(t)) {
		text, err := fs.ReadFile(contract.Examples, "examples/"+name+".json")
		if err != nil {
			t.Fatal(err)
		}
		var example map[string]any
		if err := json.Unmarshal(text, &example); err != nil {
			t.Fatal(err)
		}
		if err := doc.ValidateSchemaJSON(doc.Components.Schemas[name].Value, example, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: the component refuses the example: %v", name, err)
		}
		for member := range example {
			example[member] = []any{map[string]any{}}
		}
		if err := doc.ValidateSchemaJSON(doc.Components.Schemas[name].Value, example, openapi3.EnableJSONSchema2020()); err == nil {
			t.Errorf("%s: the component accepts anything", name)
		}
	}
}
