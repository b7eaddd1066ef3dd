package conformance_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	repository "bstein.dev/hux"
)

// worked is the worked example of a schema, or nil.
func worked(name string) object {
	text, err := fs.ReadFile(repository.Examples, "examples/"+name+".json")
	var v object
	if err != nil || json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}

// made are the records that the suite has made to refer to, by the prefix of
// their ids.
var made struct {
	sync.Mutex
	ids map[string]string
}

// idOf gives the id of a record of the caller's, of the kind that prefix says,
// and makes it if need be. why says why there can be none.
func idOf(t testing.TB, prefix string) (id, why string) {
	t.Helper()
	made.Lock()
	id = made.ids[prefix]
	made.Unlock()
	if id != "" {
		return id, ""
	}
	o := creator(prefix)
	if o == nil {
		return "", "no route that makes a " + prefix + "_… is served"
	}
	a, why := create(t, o)
	if why != "" {
		return "", why
	}
	id = a.text(t, "id")
	made.Lock()
	defer made.Unlock()
	if made.ids == nil {
		made.ids = map[string]string{}
	}
	made.ids[prefix] = id
	return id, ""
}

// creator is the served POST that makes records with ids of a prefix.
func creator(prefix string) *operation {
	var best *operation
	for _, o := range server.operations {
		if o.method != "POST" || !o.served() || !strings.HasSuffix(o.request, ".create.v1") {
			continue
		}
		if id, _ := worked(o.record)["id"].(string); strings.HasPrefix(id, prefix+"_") && (best == nil || len(o.path) < len(best.path)) {
			best = o
		}
	}
	return best
}

// create makes a new record with its worked example.
func create(t testing.TB, o *operation) (a *answer, why string) {
	t.Helper()
	body, values, who, why := prepared(t, o)
	if why != "" {
		return nil, why
	}
	a = who.call(t, o.method, o.path, encoded(body), values, newKey())
	if a.status/100 != 2 {
		t.Fatalf("%s: the worked example of %s is refused: %d %.600s\nsent: %s", a.what, o.request, a.status, a.body, encoded(body))
	}
	return a, ""
}

// prepared is what a request to o needs: its worked example with ids that
// exist, values for its path, and a caller who may.
func prepared(t testing.TB, o *operation) (body object, values []string, who caller, why string) {
	t.Helper()
	if who, why = may(o); why != "" {
		return
	}
	if values, why = pathValues(t, o); why != "" {
		return
	}
	if o.request == "" {
		return
	}
	if body = worked(o.request); body == nil {
		return nil, nil, who, "this repository has no worked example of " + o.request
	}
	if why = refer(t, o.request, body); why != "" {
		return
	}
	for _, member := range []string{"title", "summary", "name"} {
		if text, ok := body[member].(string); ok {
			body[member] = mark + ": " + text
		}
	}
	if adapt := adaptations[o.request]; adapt != nil {
		adapt(t, body, values)
	}
	return
}

// adaptations fit worked examples to what there is on the server.
var adaptations = map[string]func(t testing.TB, body object, values []string){
	"hux.conversation.create.v1": func(_ testing.TB, body object, _ []string) {
		body["external_ref"] = object{"system": "webui", "id": unique()}
		withoutProjects(body)
	},
	"hux.conversation.patch.v1": func(_ testing.TB, body object, _ []string) { withoutProjects(body) },
	"hux.event.create.v1": func(t testing.TB, body object, values []string) {
		first := human().call(t, "POST", "/conversations/{id}/events", `{"kind":"run.started","summary":"`+mark+`: a cause"}`, values, newKey())
		body["causes"] = []any{first.object(t)["seq"]}
	},
}

// withoutProjects takes out what only hux.projects knows (contracts 7).
func withoutProjects(body object) {
	if !server.capabilities.Flags["hux.projects"].Enabled {
		delete(body, "tags")
		delete(body, "project_id")
	}
}

// may is a caller who may call o.
func may(o *operation) (who caller, why string) {
	for _, c := range []caller{human(), agent(), worker()} {
		if (o.actors == nil || slices.Contains(o.actors, c.kind)) && c.token != "" {
			return c, ""
		}
	}
	return caller{}, "no credential was given of " + strings.Join(o.actors, " or ")
}

var (
	recordID = regexp.MustCompile(`^([a-z]{3})_[0-9a-f]{32}$`)
	segment  = regexp.MustCompile(`([a-z_]+)/\{([a-z_]+)\}`)
)

// pathValues are values for the variables of a path, of records that exist.
func pathValues(t testing.TB, o *operation) (values []string, why string) {
	t.Helper()
	for _, m := range segment.FindAllStringSubmatch(o.path, -1) {
		collection, name := m[1], m[2]
		switch name {
		case "n":
			values = append(values, "1")
		case "run_id":
			values = append(values, unique())
		case "name":
			values = append(values, "hux.event.v1")
		default:
			at := server.find("POST", "/"+collection)
			if at == nil {
				return nil, "nothing makes an id for " + m[0]
			}
			id, _ := worked(at.record)["id"].(string)
			if id, why = idOf(t, id[:min(3, len(id))]); why != "" {
				return nil, why
			}
			values = append(values, id)
		}
	}
	return values, ""
}

// refer puts ids that exist in the place of a worked example's. Where there can
// be none, it takes the member out if the schema lets it.
func refer(t testing.TB, schema string, body object) (why string) {
	t.Helper()
	var walk func(v any) (any, bool)
	walk = func(v any) (any, bool) {
		switch v := v.(type) {
		case string:
			m := recordID.FindStringSubmatch(v)
			if m == nil {
				return v, true
			}
			id, none := idOf(t, m[1])
			if none != "" {
				why = none
			}
			return id, none == ""
		case []any:
			list := []any{}
			for _, item := range v {
				if item, ok := walk(item); ok {
					list = append(list, item)
				}
			}
			return list, true
		case object:
			for _, name := range sorted(v) {
				if member, ok := walk(v[name]); ok {
					v[name] = member
				} else {
					delete(v, name)
				}
			}
		}
		return v, true
	}
	walk(body)
	if why != "" && validate(schema, []byte(encoded(body))) != nil {
		return why
	}
	return ""
}

// invalid is one example that must be refused.
type invalid struct {
	name    string
	pointer string
	rule    string
	value   any
	put     bool // value takes the place of what is at pointer, or else that goes
}

func invalids(t testing.TB, schema string) []invalid {
	t.Helper()
	files, err := fs.Glob(repository.Examples, "examples/invalid/"+schema+"/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []invalid
	for _, file := range files {
		text, err := fs.ReadFile(repository.Examples, file)
		if err != nil {
			t.Fatal(err)
		}
		var o object
		if err := json.Unmarshal(text, &o); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		v := invalid{name: strings.TrimSuffix(path.Base(file), ".json")}
		v.pointer, _ = o["pointer"].(string)
		v.rule, _ = o["rule"].(string)
		v.value, v.put = o["value"]
		list = append(list, v)
	}
	return list
}

// in gives a body with the fault in it.
func (v invalid) in(body any) (any, error) {
	if v.pointer == "" {
		return v.value, nil
	}
	tokens := strings.Split(v.pointer[1:], "/")
	return v.place(body, tokens)
}

func (v invalid) place(at any, tokens []string) (any, error) {
	if len(tokens) == 0 {
		return v.value, nil
	}
	switch at := at.(type) {
	case object:
		if len(tokens) == 1 && !v.put {
			delete(at, tokens[0])
			return at, nil
		}
		if _, ok := at[tokens[0]]; !ok && len(tokens) > 1 {
			return nil, fmt.Errorf("%s leads nowhere", v.pointer)
		}
		member, err := v.place(at[tokens[0]], tokens[1:])
		at[tokens[0]] = member
		return at, err
	case []any:
		i, err := strconv.Atoi(tokens[0])
		if err != nil || i > len(at) || i == len(at) && len(tokens) > 1 {
			return nil, fmt.Errorf("%s leads nowhere", v.pointer)
		}
		if i == len(at) {
			at = append(at, nil)
		}
		item, err := v.place(at[i], tokens[1:])
		at[i] = item
		return at, err
	}
	return nil, fmt.Errorf("%s leads nowhere", v.pointer)
}
