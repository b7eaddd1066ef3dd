package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/unicode/norm"
)

const (
	prefix     = "/hux/v1"
	schemaBase = "https://bstein.dev/hux/schemas/"
)

// contract is what a server says of itself: capabilities, manifest, OpenAPI
// document and schemas.
type contract struct {
	capabilities capabilities
	manifest     manifest
	files        map[string][]byte // schemas as they were given, defs among them
	schemas      map[string]*jsonschema.Schema
	operations   []*operation
}

// capabilities is what the suite reads of hux.capabilities.v1.
type capabilities struct {
	ContractVersion string `json:"contract_version"`
	Flags           map[string]struct {
		Enabled, Listed bool
		DependsOn       []string `json:"depends_on"`
		BlockedBy       []string `json:"blocked_by"`
	}
	Surfaces   []string
	EventKinds []string `json:"event_kinds"`
	Actor      struct{ Kind, ID string }
	Limits     map[string]int64
}

// manifest is what the suite reads of hux.manifest.v1.
type manifest struct {
	Records []struct {
		Schema  string
		SHA256  string `json:"json_schema_sha256"`
		Mutable bool
	}
	Routes []struct{ Method, Path, Flag string }
	Rules  struct {
		VectorsSHA256 *string `json:"vectors_sha256"`
	}
}

// operation is a route as manifest and OpenAPI document describe it.
type operation struct {
	method, path string   // path below /hux/v1, such as /conversations/{id}
	flags        []string // any of them serves it
	actors       []string // who may call it; nil for everybody
	request      string   // schema of its body
	record       string   // schema of what it answers with
	page, stream bool     // in a list, in a stream
	ifMatch      bool     // needs If-Match
	signed       bool     // by a signature, not a bearer token
	query        []string
	statuses     []string // of success
}

func (o *operation) name() string { return o.method + " " + o.path }

// served reports whether a flag of the operation is on.
func (o *operation) served() bool {
	return slices.ContainsFunc(o.flags, func(f string) bool { return server.capabilities.Flags[f].Enabled })
}

// why says why the operation is not served.
func (o *operation) why() string {
	if len(o.flags) == 1 {
		if blocked := server.capabilities.Flags[o.flags[0]].BlockedBy; len(blocked) > 0 {
			return o.flags[0] + " is blocked by " + strings.Join(blocked, ", ")
		}
	}
	return strings.Join(o.flags, ", ") + " is off"
}

// find gives an operation that the server has and serves, or nil.
func (c *contract) find(method, path string) *operation {
	for _, o := range c.operations {
		if o.method == method && o.path == path && o.served() {
			return o
		}
	}
	return nil
}

func (c *contract) mutable(record string) bool {
	for _, r := range c.manifest.Records {
		if r.Schema == record {
			return r.Mutable
		}
	}
	return false
}

// get reads what stands at a URL.
func get(ctx context.Context, url, token string) ([]byte, http.Header, error) {
	a, err := request(ctx, "GET", url, token, "", nil)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("GET %s answers %d: %.300s", url, a.status, a.body)
	}
	return a.body, a.header, err
}

func loadContract(ctx context.Context) (*contract, error) {
	c := &contract{files: map[string][]byte{}, schemas: map[string]*jsonschema.Schema{}}
	read := func(path string, v any) error {
		text, _, err := get(ctx, *baseURL+prefix+path, *token)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, v); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	}
	var openAPI document
	if err := errors.Join(read("/capabilities", &c.capabilities), read("/manifest", &c.manifest), read("/openapi.json", &openAPI)); err != nil {
		return nil, err
	}
	names := []string{"defs"}
	for _, r := range c.manifest.Records {
		names = append(names, r.Schema)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.RegisterFormat(&jsonschema.Format{Name: "hux-name", Validate: validName})
	compiler.UseLoader(noLoader{})
	for _, name := range names {
		text, _, err := get(ctx, *baseURL+prefix+"/schemas/"+name, *token)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			err = compiler.AddResource(schemaBase+name+".json", doc)
		}
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		c.files[name] = text
	}
	for _, name := range names {
		var err error
		if c.schemas[name], err = compiler.Compile(schemaBase + name + ".json"); err != nil {
			return nil, err
		}
	}
	c.operations = openAPI.operations(c)
	return c, nil
}

// noLoader keeps the compiler to the schemas that the server gave.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not served", url) }

// validName is the format hux-name (contracts 1, names).
func validName(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	bad := func(r rune) bool {
		return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x2029
	}
	if n := utf8.RuneCountInString(norm.NFC.String(text)); n < 1 || n > 200 || strings.ContainsFunc(text, bad) {
		return errors.New("is no name")
	}
	return nil
}

// document is what the suite reads of an OpenAPI document.
type document struct {
	Paths map[string]map[string]struct {
		Flags      []string `json:"x-hux-flags"`
		Actors     []string `json:"x-hux-actors"`
		Security   []map[string]any
		Parameters []struct {
			Name, In string
			Required bool
		}
		RequestBody struct{ Content map[string]media }
		Responses   map[string]struct{ Content map[string]media }
	}
}

type media struct {
	Schema struct {
		Ref        string `json:"$ref"`
		Properties map[string]struct {
			Items struct {
				Ref string `json:"$ref"`
			}
		}
	}
}

// component is the name that a reference between components has.
func component(ref string) string { return strings.TrimPrefix(ref, "#/components/schemas/") }

// operations joins what the manifest and the OpenAPI document say of routes.
func (d *document) operations(c *contract) []*operation {
	known := map[string]*operation{}
	var list []*operation
	for _, line := range c.manifest.Routes {
		o := known[line.Method+line.Path]
		if o == nil {
			o = &operation{method: line.Method, path: strings.TrimPrefix(line.Path, prefix)}
			d.describe(o, line.Path)
			known[line.Method+line.Path] = o
			list = append(list, o)
		}
		o.flags = append(o.flags, line.Flag)
	}
	return list
}

func (d *document) describe(o *operation, path string) {
	described, ok := d.Paths[path][strings.ToLower(o.method)]
	if !ok {
		return // TestManifest says so
	}
	o.actors = described.Actors
	for _, way := range described.Security {
		_, bearer := way["bearer"]
		o.signed = o.signed || !bearer
	}
	o.request = component(described.RequestBody.Content["application/json"].Schema.Ref)
	for _, p := range described.Parameters {
		switch {
		case p.In == "query":
			o.query = append(o.query, p.Name)
		case p.In == "header" && p.Name == "If-Match":
			o.ifMatch = p.Required
		}
	}
	for status, response := range described.Responses {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		o.statuses = append(o.statuses, status)
		if _, ok := response.Content["text/event-stream"]; ok {
			o.stream = true
		}
		schema := response.Content["application/json"].Schema
		if schema.Ref != "" {
			o.record = component(schema.Ref)
		}
		if ref := schema.Properties["items"].Items.Ref; ref != "" {
			o.record, o.page = component(ref), true
		}
	}
}
