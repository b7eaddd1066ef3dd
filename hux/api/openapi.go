package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

type object = map[string]any

// OpenAPI describes routes as an OpenAPI 3.1 document that refers to nothing
// outside itself: the contract's schemas are its components.
func OpenAPI(routes []Route, schemas *schema.Set) (json.RawMessage, error) {
	d := describer{schemas: schemas, served: Served(routes), components: object{}, examples: object{}}
	if err := d.addSchemas(); err != nil {
		return nil, err
	}
	tags, err := tagsOf(routes)
	if err != nil {
		return nil, err
	}
	paths := object{}
	for _, rt := range routes {
		item, ok := paths[Prefix+rt.Path].(object)
		if !ok {
			item = object{}
			paths[Prefix+rt.Path] = item
		}
		operation, err := d.operation(rt)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", rt.Method, rt.Path, err)
		}
		item[strings.ToLower(rt.Method)] = operation
	}
	return json.Marshal(object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info": object{
			"title": "HUX", "version": hux.ContractVersion,
			"description": "What an assistant's people, agents and surfaces share. A route is served while one of the flags in its x-hux-flags is on; GET " + Prefix + "/capabilities says which are.",
		},
		"servers":  []any{object{"url": "/"}},
		"security": []any{object{"bearer": []any{}}, object{"session": []any{}}},
		"tags":     tags,
		"paths":    paths,
		"components": object{
			"schemas":  d.components,
			"examples": d.examples,
			"responses": object{"problem": object{
				"description": "Why not: the code says it for programs, the detail for people.",
				"headers":     headersOf("HUX-Contract", "HUX-Request-Id", "Retry-After", "ETag"),
				"content":     object{"application/problem+json": object{"schema": Component("hux.error.v1")}},
			}},
			"securitySchemes": object{
				"bearer":    object{"type": "http", "scheme": "bearer", "description": "A token of the sign-in provider, or an agent's credential."},
				"signature": object{"type": "apiKey", "in": "header", "name": "X-Hermes-Signature-256", "description": "sha256= and the HMAC-SHA-256 of the body in hex, with the agent's webhook secret."},
				"session":   object{"type": "apiKey", "in": "cookie", "name": "__Host-hux_console", "description": "A browser that signed in; unsafe methods need the site's own Origin."},
			},
		},
	})
}

// Tag is what a route's operation is listed under: the flag of its card, or the
// noun of its path where several cards serve it.
func (rt Route) Tag() string {
	if len(rt.Flags) == 1 {
		return rt.Flags[0]
	}
	noun, _, _ := strings.Cut(strings.TrimPrefix(rt.Path, "/"), "/")
	return noun
}

// ID names a route's operation: its method and the words of its path, joined by
// underscores.
func (rt Route) ID() string {
	words := strings.FieldsFunc(rt.Path, func(r rune) bool { return strings.ContainsRune("/{}.", r) })
	return strings.ToLower(rt.Method) + "_" + strings.Join(words, "_")
}

// tagsOf describes the tags of the routes, in the order of the flags.
func tagsOf(routes []Route) ([]any, error) {
	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		return nil, err
	}
	described := []any{}
	seen := map[string]bool{}
	add := func(name, description string) {
		if !seen[name] {
			described = append(described, object{"name": name, "description": description})
		}
		seen[name] = true
	}
	for _, f := range registry {
		for _, rt := range routes {
			if rt.Tag() == f.Name {
				add(f.Name, f.Card+": "+f.Description+".")
			}
		}
	}
	for _, rt := range routes {
		add(rt.Tag(), "Served while any of these is on: "+strings.Join(rt.Flags, ", ")+".")
	}
	return described, nil
}

type describer struct {
	schemas    *schema.Set
	served     map[string]bool // by flag
	components object          // its schemas
	examples   object          // those that it refers to
}

// Component refers to a schema of the document: one of the contract's, or a
// definition that they share.
func Component(name string) map[string]any { return object{"$ref": "#/components/schemas/" + name} }

// addSchemas makes components of the contract's schemas and of what they
// share.
func (d *describer) addSchemas() error {
	for _, name := range d.schemas.Names() {
		var doc object
		if err := json.Unmarshal(d.schemas.File(name), &doc); err != nil {
			return fmt.Errorf("schema %s: %w", name, err)
		}
		shared, _ := doc["$defs"].(object)
		if name == "defs" {
			for def, s := range shared {
				d.components[def] = inside(s)
			}
			continue
		}
		if shared != nil {
			return fmt.Errorf("schema %s has definitions of its own; they belong into defs", name)
		}
		delete(doc, "$schema")
		delete(doc, "$id")
		d.components[name] = inside(doc)
	}
	return nil
}

// inside turns references between the schemas' files into references between
// components.
func inside(v any) any {
	switch v := v.(type) {
	case object:
		for name, member := range v {
			if ref, ok := member.(string); ok && name == "$ref" {
				_, def, _ := strings.Cut(ref, "#/$defs/")
				v[name] = Component(def)["$ref"]
			} else {
				v[name] = inside(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = inside(v[i])
		}
	}
	return v
}

func (d *describer) operation(rt Route) (object, error) {
	for _, name := range []string{rt.Record, rt.Request} {
		if name != "" && d.components[name] == nil {
			return nil, fmt.Errorf("there is no schema %s", name)
		}
	}
	parameters, err := parametersOf(rt)
	if err != nil {
		return nil, err
	}
	responses, err := d.responses(rt)
	if err != nil {
		return nil, err
	}
	o := object{
		"operationId":  rt.ID(),
		"summary":      rt.Summary,
		"tags":         []any{rt.Tag()},
		"parameters":   parameters,
		"responses":    responses,
		"x-hux-flags":  rt.Flags,
		"x-hux-errors": rt.Codes(),
		"x-hux-served": rt.ServedBy(d.served),
	}
	if rt.Kinds != nil {
		o["x-hux-actors"] = rt.Kinds
	}
	if rt.Operator {
		o["x-hux-operator"] = true
	}
	if rt.Signed {
		o["security"] = []any{object{"signature": []any{}}}
	}
	if rt.Request != "" || rt.Raw {
		body, err := d.body(rt)
		if err != nil {
			return nil, err
		}
		o["requestBody"] = body
	}
	return o, nil
}

// body describes a request's body.
func (d *describer) body(rt Route) (object, error) {
	body := object{"required": true, "description": fmt.Sprintf("At most %d bytes.", rt.BodyLimit())}
	if rt.Raw {
		body["content"] = object{"*/*": object{"schema": object{
			"type": "string", "format": "binary", "maxLength": rt.BodyLimit(),
			"description": "The bytes themselves. Content-Type says what they are; never text/plain, multipart or urlencoded, which a page of another site could send.",
		}}}
		return body, nil
	}
	examples, err := d.example(rt.Request, One)
	body["content"] = object{"application/json": object{"schema": Component(rt.Request), "examples": examples}}
	return body, err
}

func (d *describer) responses(rt Route) (object, error) {
	responses := object{}
	names := append([]string{"HUX-Contract", "HUX-Request-Id"}, rt.Headers...)
	if rt.Request != "" {
		names = append(names, "HUX-Ignored-Fields")
	}
	if rt.Idempotent() {
		names = append(names, "Idempotency-Replayed")
	}
	if rt.Answer == One && d.schemas.Mutable(rt.Record) {
		names = append(names, "ETag")
	}
	for _, name := range names {
		if headers[name] == "" {
			return nil, fmt.Errorf("the header %s is not described", name)
		}
	}
	for _, status := range rt.Statuses() {
		response := object{"description": http.StatusText(status), "headers": headersOf(names...)}
		if status != http.StatusNoContent {
			content, err := d.content(rt)
			if err != nil {
				return nil, err
			}
			response["content"] = content
		}
		responses[strconv.Itoa(status)] = response
	}
	maps.Copy(responses, rt.refusals())
	return responses, nil
}

func (d *describer) content(rt Route) (object, error) {
	if rt.Answer == Bytes {
		return object{"*/*": object{"schema": object{"type": "string", "format": "binary", "description": "The bytes themselves, in their own media type."}}}, nil
	}
	if rt.Record == "" {
		return object{"application/json": object{"schema": object{"type": "object"}}}, nil
	}
	if rt.Answer == Stream {
		stream, err := d.stream(rt.Record)
		return object{"text/event-stream": stream}, err
	}
	s := Component(rt.Record)
	if rt.Answer == Page {
		properties := object{
			"items": object{"type": "array", "items": s},
			"next":  object{"type": []any{"string", "null"}, "description": "Where the next page begins; null at the end."},
		}
		maps.Copy(properties, rt.Besides)
		s = object{"type": "object", "properties": properties, "required": []any{"items", "next"}}
	}
	examples, err := d.example(rt.Record, rt.Answer)
	return object{"application/json": object{"schema": s, "examples": examples}}, err
}

// headers says what each header of an answer is.
var headers = map[string]string{
	"ETag":                 "The record and its revision, for If-Match.",
	"HUX-Audit-Last":       "When the last retention audit finished; left out before the first.",
	"HUX-Audit-Stale":      "true: the last retention audit is too old, or there is none.",
	"HUX-Contract":         "The version of the contract.",
	"HUX-Epoch":            "The run of the conversation's numbers; another one means that they start over.",
	"HUX-Head-Seq":         "The number of the conversation's last event.",
	"HUX-Ignored-Fields":   "Members of the body that are not known and were not stored.",
	"HUX-Replay-After":     "The number before that of the first event to come.",
	"HUX-Request-Id":       "Names the request in the log.",
	"Idempotency-Replayed": "true: an earlier request with the same key did this.",
	"Retry-After":          "Seconds after which trying again may help.",
}

func headersOf(names ...string) object {
	o := object{}
	for _, name := range names {
		o[name] = object{"description": headers[name], "schema": object{"type": "string"}}
	}
	return o
}

// queryParameters says what each name in a query is.
var queryParameters = map[string]object{
	"service":         {"description": "Only those of this service.", "schema": Component("service_name")},
	"context":         {"description": "The moment that a person is in.", "schema": Component("suggestion_context")},
	"after_seq":       {"description": "Events after this number; none where it is past the last.", "schema": object{"type": "integer", "minimum": 0}},
	"cursor":          {"description": "The next of an earlier page.", "schema": object{"type": "string"}},
	"epoch":           {"description": "The epoch that after_seq is of; from another one the numbers start over.", "schema": object{"type": "string"}},
	"limit":           {"description": fmt.Sprintf("How many at most; more than %d are %[1]d.", maxLimit), "schema": object{"type": "integer", "minimum": 1, "default": defaultLimit}},
	"project_id":      {"description": "Only those of this project; none where there is no such project.", "schema": object{"type": "string"}},
	"state":           {"description": "Only those in this state.", "schema": object{"type": "string"}},
	"tag":             {"description": "Only those with this tag.", "schema": object{"type": "string"}},
	"conversation_id": {"description": "Only what is of, or for, this conversation.", "schema": object{"type": "string"}},
	"run_id":          {"description": "Only those of this run.", "schema": object{"type": "string"}},
	"scope":           {"description": "Which policy; the user's unless it is said.", "schema": Component("policy_scope")},
	"status":          {"description": "Only those with this status.", "schema": object{"type": "string"}},
	"wait":            {"description": fmt.Sprintf("Seconds to wait for the record's end before answering with it as it is; more than %d are %[1]d.", int(MaxWait.Seconds())), "schema": object{"type": "integer", "minimum": 0}},
	"for":             {"description": "prompt: only what the assistant may be given.", "schema": object{"type": "string", "enum": []any{"prompt"}}},
	"from":            {"description": "The version to compare with; the one before where it is left out, 0 for the empty one.", "schema": Component("artifact_base")},
	"q":               {"description": "The words to look for.", "schema": object{"type": "string", "minLength": 1, "maxLength": 256}},
	"topic":           {"description": "Only those about this.", "schema": Component("topic")},
	"type":            {"description": "Only those of this type.", "schema": Component("artifact_type")},
}

// pathParameters says what a variable is by the segment before it.
var pathParameters = map[string]object{
	"conversations/{id}": Component("conversation_id"),
	"releases/{id}":      Component("release_id"),
	"suggestions/{id}":   Component("suggestion_id"),
	"messages/{id}":      Component("foreign_id"),
	"notebooks/{id}":     Component("notebook_id"),
	"sources/{id}":       Component("source_id"),
	"schemas/{name}":     {"type": "string", "pattern": `^[a-z_0-9]+(\.[a-z_0-9]+)*$`, "maxLength": 100},
	"approvals/{id}":     Component("approval_id"),
	"grants/{id}":        Component("grant_id"),
	"receipts/{id}":      Component("receipt_id"),
	"runs/{run_id}":      Component("foreign_id"),
	"hermes/{agent_id}":  Component("agent_id"),
	"artifacts/{id}":     Component("artifact_id"),
	"memory/{id}":        Component("memory_id"),
	"projects/{id}":      Component("project_id"),
	"versions/{n}":       Component("artifact_n"),
}

// ifMatch is what IfMatch takes, but for the * of some routes.
const ifMatch = `^(W/)?"[^"]+:[0-9]{1,9}(-gzip|-br|-zstd|;gzip)?"$`

var variable = regexp.MustCompile(`[a-z_]+/\{([a-z_]+)\}`)

func parametersOf(rt Route) ([]any, error) {
	parameters := []any{}
	for _, m := range variable.FindAllStringSubmatch(rt.Path, -1) {
		if pathParameters[m[0]] == nil {
			return nil, fmt.Errorf("the variable of %s is not described", m[0])
		}
		parameters = append(parameters, object{"name": m[1], "in": "path", "required": true, "schema": pathParameters[m[0]]})
	}
	for _, name := range rt.Query {
		p := queryParameters[name]
		if p == nil {
			return nil, fmt.Errorf("the query's %s is not described", name)
		}
		parameters = append(parameters, object{"name": name, "in": "query", "description": p["description"], "schema": p["schema"]})
	}
	header := func(name, description string, required bool, s object) {
		parameters = append(parameters, object{"name": name, "in": "header", "description": description, "required": required, "schema": s})
	}
	header("HUX-Request-Id", "Names the request in the log and in its answer: 1 to 64 visible ASCII characters, or else it gets another name.", false, object{"type": "string"})
	if rt.Idempotent() {
		header("Idempotency-Key", "Makes a retry do nothing twice; agents and workers must send it.", false, object{"type": "string", "pattern": "^[!-~]{1,255}$"})
		header("HUX-Surface", "Where it happens, if the credential is of several surfaces.", false, Component("surface"))
		header("HUX-Session", "The session it belongs to, for its provenance.", false, Component("foreign_id"))
		header("HUX-Run", "The run it belongs to, for its provenance.", false, Component("foreign_id"))
	}
	switch {
	case rt.IfMatch:
		header("If-Match", "The ETag of the record that the change was made for.", true, object{"type": "string", "pattern": ifMatch})
	case slices.Contains(rt.Errors, hux.PreconditionFailed):
		header("If-Match", "The ETag of the record that was looked at: refused where it has changed since.", false, object{"type": "string", "pattern": ifMatch})
	}
	if rt.Answer == Stream {
		header("Last-Event-ID", "The number of the last event seen; wins over after_seq.", false, Component("count"))
	}
	return parameters, nil
}
