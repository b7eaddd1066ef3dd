// Package schema guards the door of the API: it reads a body as strict JSON,
// checks it against the contract's schemas, and says in the contract's words
// what is wrong with it.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/unicode/norm"

	"bstein.dev/hux/hux"
)

// Base is where the schemas' identifiers stand: Base + name + ".json".
const Base = "https://bstein.dev/hux/schemas/"

// Set is the contract's schemas with the rules that no schema can say. Each is
// compiled when it is first asked for. It is safe for concurrent use.
type Set struct {
	rules map[string]Rule
	files map[string][]byte

	mu       sync.Mutex // guards the following
	compiler *jsonschema.Compiler
	schemas  map[string]*compiled
	shapes   map[*jsonschema.Schema]*shape
	checks   map[*jsonschema.Schema]*check
}

// compiled is a schema that has been asked for.
type compiled struct {
	schema *jsonschema.Schema
	shape  *shape
	check  *check
}

// Load reads the schemas in files, schemas/<name>.json, and takes the rules of
// some of them, by name. It refuses what JSON Schema would pass over in
// silence: keywords, formats and types that it does not know, identifiers that
// are not Base + name, and any reference that leaves files.
func Load(files fs.FS, rules map[string]Rule) (*Set, error) {
	compiler := jsonschema.NewCompiler()
	s := &Set{
		rules: rules, files: map[string][]byte{}, compiler: compiler,
		schemas: map[string]*compiled{}, shapes: map[*jsonschema.Schema]*shape{}, checks: map[*jsonschema.Schema]*check{},
	}
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.RegisterFormat(&jsonschema.Format{Name: "hux-name", Validate: validName})
	compiler.RegisterFormat(&jsonschema.Format{Name: routeFormat, Validate: validRoute})
	compiler.RegisterFormat(&jsonschema.Format{Name: "date-time", Validate: validTime})
	compiler.UseLoader(nothing{})

	found, err := fs.Glob(files, "schemas/*.json")
	if err != nil {
		return nil, err
	}
	for _, file := range found {
		name := strings.TrimSuffix(path.Base(file), ".json")
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, err
		}
		doc, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		if err := lint(name, doc); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		if err := compiler.AddResource(Base+name+".json", doc); err != nil {
			return nil, err
		}
		s.files[name] = text
	}
	return s, nil
}

// Compile compiles all schemas. The error is the first that does not.
func (s *Set) Compile() error {
	for _, name := range s.Names() {
		if _, err := s.compile(name); err != nil {
			return err
		}
	}
	return nil
}

// compile gives a schema, compiled; nil where there is none of that name.
func (s *Set) compile(name string) (*compiled, error) {
	if s.files[name] == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.schemas[name]; c != nil {
		return c, nil
	}
	schema, err := s.compiler.Compile(Base + name + ".json")
	if err != nil {
		return nil, err
	}
	c := &compiled{schema, shapeOf(schema, s.shapes), checkOf(schema, s.checks)}
	s.schemas[name] = c
	return c, nil
}

// need is compile of a schema that must be there.
func (s *Set) need(name string) (*compiled, error) {
	c, err := s.compile(name)
	if c == nil && err == nil {
		err = fmt.Errorf("no schema %q", name)
	}
	return c, err
}

// nothing is a loader without files: every schema is given to the compiler
// beforehand.
type nothing struct{}

func (nothing) Load(string) (any, error) { return nil, errors.New("no such schema") }

// Names lists the schemas, defs among them, in order.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.files)) }

// File is the text of a schema as it is published, or nil.
func (s *Set) File(name string) []byte { return s.files[name] }

// Validate holds a value, as Parse gives it, against the schema name and then
// against its rule. The error is that of Refused.
func (s *Set) Validate(name string, value any) error {
	if err := s.fits(name, value); err != nil {
		return err
	}
	return s.obeys(name, encode(nil, value))
}

// obeys holds a value that fits its schema, as JSON, against the schema's rule.
func (s *Set) obeys(name string, text []byte) error {
	list, err := s.broken(name, text)
	if err != nil {
		return err
	}
	return Refused(list)
}

// broken gives what the schema's rule finds.
func (s *Set) broken(name string, text []byte) ([]Fault, error) {
	rule := s.rules[name]
	if rule == nil {
		return nil, nil
	}
	list, err := rule(text)
	if err != nil {
		return nil, fmt.Errorf("rule of %s: %w", name, err)
	}
	return list, nil
}

// fits holds a value against the schema alone.
func (s *Set) fits(name string, value any) error {
	c, err := s.need(name)
	if err != nil {
		return err
	}
	if c.check.accepts(value) {
		return nil
	}
	var failed *jsonschema.ValidationError
	if err := c.schema.Validate(value); err == nil {
		return nil
	} else if !errors.As(err, &failed) {
		return err
	}
	return Refused(faults(failed))
}

// Request is a request body that has passed the door.
type Request struct {
	// Value is the body without the members that its schema does not know.
	Value map[string]any
	// Ignored names those members, for HUX-Ignored-Fields: at most 20, each
	// ^[a-z_]{1,64}$.
	Ignored []string
	// Text is Value in one layout, in which a request that is sent again is
	// known as the same. That is not the form of RFC 8785 that Canonical writes,
	// and no hash that others compute is made of it: numbers keep the digits that
	// they came with, so that none is rounded or refused.
	Text []byte
}

// Decode reads a request body against the schema name. Members that the schema
// does not know are taken out and named; those that only the server may set,
// as the record's own schema says by readOnly, are refused. The error is a
// *hux.Error: invalid_json, too_large, read_only_field or that of Refused.
func (s *Set) Decode(name string, body []byte) (*Request, error) {
	if _, err := s.need(name); err != nil {
		return nil, err
	}
	value, _, err := parse(body, ofBody(name))
	if err != nil {
		return nil, err
	}
	in, err := s.admit(name, value, len(body))
	if err != nil {
		return nil, err
	}
	return in, s.obeys(name, in.Text)
}

// admit is Decode of a body of that many bytes that was parsed, without the rule.
func (s *Set) admit(name string, value any, size int) (*Request, error) {
	sieve := sieve{}
	own, err := s.need(name)
	if err != nil {
		return nil, err
	}
	of, _ := RecordOf(name)
	record, err := s.compile(of)
	if err != nil {
		return nil, err
	}
	var whole *shape // of the record that the body makes, if it makes one
	if record != nil {
		whole = record.shape
	}
	sieve.sift(value, own.shape, whole, nil)
	if len(sieve.readOnly) > 0 {
		return nil, refusal(hux.ReadOnlyField, "The body sets what only the server may.", sieve.readOnly)
	}
	if len(sieve.tooLong) > 0 {
		return nil, refusal(hux.SchemaInvalid, "The body breaks a rule; errors says which and where.", sieve.tooLong)
	}
	if err := s.fits(name, value); err != nil {
		return nil, asReadOnly(record, value, err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("schema %q is not of an object", name)
	}
	return &Request{Value: object, Ignored: sieve.ignored, Text: encode(make([]byte, 0, size), object)}, nil
}

// Into puts the request into v, a pointer to a struct. It goes by way of Value,
// since encoding/json matches names in any case and would let {"SUMMARY":…} past
// the schema; numbers of free members stay json.Number.
func (r *Request) Into(v any) error {
	decoder := json.NewDecoder(bytes.NewReader(r.Text))
	decoder.UseNumber()
	return decoder.Decode(v)
}

// RecordOf is the record that a request's schema is about, and what the request
// does: hux.event.create.v1 is to create a hux.event.v1. Any other name is a
// record's own, and verb is "".
func RecordOf(name string) (record, verb string) {
	if parts := strings.Split(name, "."); len(parts) == 4 {
		return parts[0] + "." + parts[1] + "." + parts[3], parts[2]
	}
	return name, ""
}

// Mutable reports whether records of a schema change: they have revisions, and
// so ETags.
func (s *Set) Mutable(name string) bool {
	c, err := s.compile(name)
	return err == nil && c != nil && c.shape.members["revision"] != nil
}

// asReadOnly turns a refused enum into read_only_field where the record allows
// the value: then it is one that the server alone may set.
func asReadOnly(record *compiled, value any, err error) error {
	var refused *hux.Error
	if !errors.As(err, &refused) {
		return err
	}
	list, _ := refused.Members["errors"].([]Fault)
	object, _ := value.(map[string]any)
	if record == nil {
		return err
	}
	var own []Fault
	for _, f := range list {
		member := strings.TrimPrefix(f.Pointer, "/")
		if property, v := record.schema.Properties[member], object[member]; f.Code == "enum" && property != nil && property.Validate(v) == nil {
			own = append(own, readOnly(f.Pointer))
		}
	}
	if len(own) == 0 {
		return err
	}
	return refusal(hux.ReadOnlyField, "The body sets what only the server may.", own)
}

const routeFormat = "hux-route"

// validRoute is the format hux-route: no vendor's or model's name is in it.
func validRoute(v any) error {
	if text, ok := v.(string); ok && hux.NamesVendor(text) {
		return errors.New("names a vendor")
	}
	return nil
}

// validTime is the format date-time: what records' own type of time reads, which
// has no leap seconds.
func validTime(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	return new(time.Time).UnmarshalText([]byte(text))
}

// validName is the format hux-name: 1 to 200 characters after NFC, without
// control characters and bidirectional overrides (contracts 1).
func validName(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	for _, r := range text {
		if unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x2029 {
			return errors.New("a character that a name can't have")
		}
	}
	if len(text) > maxNameBytes {
		return errors.New("too long")
	}
	if !norm.NFC.IsNormalString(text) {
		text = norm.NFC.String(text)
	}
	n := utf8.RuneCountInString(text)
	if n < 1 || n > MaxName {
		return errors.New("not 1 to 200 characters long")
	}
	return nil
}

// MaxName bounds a name, in characters after NFC (contracts 2.7).
const MaxName = 200

// MaxDescription bounds a description, in characters (contracts 2.7).
const MaxDescription = 2000

// maxNameBytes is what a name may take before NFC, which makes one character
// of several.
const maxNameBytes = 16 * MaxName
