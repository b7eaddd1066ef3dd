// Package redact keeps secrets out of records. Mask and MaskText take
// secret-shaped values out before the write; Leave takes out what a record's
// redaction level says when it leaves its tenant (contracts 1, redaction).
package redact

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Masked stands where something was taken out.
const Masked = "[redacted]"

// maxDepth bounds how deep Mask looks; what lies deeper is masked whole.
const maxDepth = 128

// rules collects the ids of the rules that masked something.
type rules struct {
	found   map[string]bool
	command bool // mask strings as commands
}

func (r rules) list() []string { return slices.Sorted(maps.Keys(r.found)) }

// Mask gives v, a JSON value, with the secrets in it replaced by Masked, and
// the ids of the rules that found them, sorted. It looks at the names of
// members (token, password, api_key …), at any depth, and at the shapes of all
// strings as MaskText does. It does not change v. What is no JSON value is
// masked whole, since nobody can tell what it would be written as. Masking
// what is masked changes nothing.
func Mask(v any) (masked any, ruleIDs []string) {
	r := rules{found: map[string]bool{}}
	masked = r.value(v, plain, 0)
	return masked, r.list()
}

// MaskCommands is Mask for the arguments of what executes: in a string that is
// masked by its shape alone, whatever a shell would run stays to be seen.
// Operators, and words that are no secret by themselves or by the option or
// header just before them, are never taken out.
func MaskCommands(v any) (masked any, ruleIDs []string) {
	r := rules{found: map[string]bool{}, command: true}
	masked = r.value(v, plain, 0)
	return masked, r.list()
}

// value masks v, which stands under a name of the given strength.
func (r rules) value(v any, name strength, depth int) any {
	if depth > maxDepth {
		r.found["depth"] = true
		return Masked
	}
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return r.str(v, name)
	case json.Number, float64, float32, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		if name == secret {
			r.found["secret_name"] = true
			return Masked
		}
		return v
	case map[string]any:
		return r.object(v, name, depth)
	case []any:
		return r.array(v, name, depth)
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return r.array(list, name, depth)
	case map[string]string:
		object := make(map[string]any, len(v))
		for k := range v {
			object[k] = v[k]
		}
		return r.object(object, name, depth)
	}
	r.found["unknown_type"] = true
	return Masked
}

func (r rules) str(v string, name strength) string {
	if name == secret && v != "" || name == counted && v != "" && !isCount(v) {
		if v != Masked {
			r.found["secret_name"] = true
		}
		return Masked
	}
	if r.command {
		return r.commandText(v)
	}
	return r.text(v)
}

func (r rules) object(v map[string]any, name strength, depth int) any {
	out := make(map[string]any, len(v))
	// {"name": "API_KEY", "value": "…"} names its value in another member.
	var named strength
	for _, member := range [...]string{"name", "key", "header"} {
		if text, ok := v[member].(string); ok {
			named = max(named, strengthOf(text))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		under := max(name, strengthOf(key))
		if key == "value" || key == "values" {
			under = max(under, named)
		}
		masked := r.value(v[key], under, depth+1)
		// A name may be a secret itself; two of them must not become one.
		to := r.text(key)
		for n := 2; ; n++ {
			if _, taken := out[to]; !taken {
				break
			}
			to = Masked + " " + strconv.Itoa(n)
		}
		out[to] = masked
	}
	return out
}

func (r rules) array(v []any, name strength, depth int) any {
	out := make([]any, len(v))
	var option strength // of the argument before, as in ["--password", "…"]
	for i, item := range v {
		out[i] = r.value(item, max(name, option), depth+1)
		option = plain
		if text, ok := item.(string); ok && strings.HasPrefix(text, "-") && !strings.ContainsAny(text, "= ") {
			option = strengthOf(text)
		}
	}
	return out
}
