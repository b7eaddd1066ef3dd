package contract_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// lockFile holds the contract as it was accepted last.
const lockFile = "contract.lock.json"

var accept = flag.Bool("accept", false, "accept how the contract has changed, and write "+lockFile)

// lock is the contract, in a form in which two states of it can be compared.
type lock struct {
	Contract  string                  `json:"contract"`
	Served    []string                `json:"served"` // flags that were served at some time: what they need is kept
	Routes    map[string]lockedRoute  `json:"routes"` // by method and path
	Codes     map[hux.Code]int        `json:"codes"`  // with their status
	Schemas   map[string]lockedSchema `json:"schemas"`
	Changelog []string                `json:"changelog"` // hashes of the entries that were there
}

// lockedRoute is what callers rely on of an api.Route.
type lockedRoute struct {
	Flags    []string   `json:"flags"`
	Kinds    []hux.Kind `json:"kinds,omitempty"` // who may call it; none for everybody
	Operator bool       `json:"operator,omitempty"`
	Signed   bool       `json:"signed,omitempty"`
	Query    []string   `json:"query,omitempty"`
	Request  string     `json:"request,omitempty"`
	IfMatch  bool       `json:"if_match,omitempty"`
	Status   []int      `json:"status,omitempty"`
	Record   string     `json:"record,omitempty"`
	Answer   string     `json:"answer,omitempty"`
	Waits    bool       `json:"waits,omitempty"`
}

// forms are the words for how a route answers, "" for with the record itself.
var forms = map[api.Answer]string{api.Page: "page", api.Stream: "stream", api.Bytes: "bytes"}

type lockedSchema struct {
	SHA256  string            `json:"sha256"`
	Members map[string]string `json:"members"` // rules by place, see flatten
}

// lockNow is the contract as it is.
func lockNow(t *testing.T) *lock {
	t.Helper()
	now := &lock{
		Contract: hux.ContractVersion, Served: []string{}, Routes: map[string]lockedRoute{}, Codes: map[hux.Code]int{},
		Schemas: map[string]lockedSchema{}, Changelog: []string{},
	}
	all := routes(t)
	for flag, served := range api.Served(all) {
		if served {
			now.Served = append(now.Served, flag)
		}
	}
	slices.Sort(now.Served)
	for _, rt := range all {
		now.Routes[rt.Method+" "+rt.Path] = lockedRoute{
			Flags: rt.Flags, Kinds: rt.Kinds, Operator: rt.Operator, Signed: rt.Signed, Query: rt.Query, Request: rt.Request, IfMatch: rt.IfMatch,
			Status: rt.Statuses(), Record: rt.Record, Answer: forms[rt.Answer], Waits: rt.Waits,
		}
	}
	for _, code := range hux.Codes() {
		now.Codes[code] = code.Status()
	}
	set := schemas(t)
	defs := object(t, set.File("defs"))["$defs"].(map[string]any)
	for _, name := range names(set) {
		sum := sha256.Sum256(set.File(name))
		now.Schemas[name] = lockedSchema{hex.EncodeToString(sum[:]), flatten(object(t, set.File(name)), defs)}
	}
	for _, entry := range unreleased(t) {
		now.Changelog = append(now.Changelog, hashOf(entry))
	}
	return now
}

func object(t *testing.T, text []byte) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

var entries = regexp.MustCompile(`(?m)^- .*(\n  .*)*`)

// unreleased gives the changelog's entries under Unreleased.
func unreleased(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## Unreleased\n")
	if !ok {
		t.Fatal("CHANGELOG.md has no section Unreleased")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return entries.FindAllString(section, -1)
}

func hashOf(entry string) string {
	sum := sha256.Sum256([]byte(entry))
	return hex.EncodeToString(sum[:8])
}

// The contract is what was accepted last. What a client may build on is never
// taken away, and what is added is accepted by make contract-accept.
func TestContractIsKept(t *testing.T) {
	now := lockNow(t)
	text, err := os.ReadFile(lockFile)
	if err != nil {
		t.Fatal(err)
	}
	var before lock
	if err := json.Unmarshal(text, &before); err != nil {
		t.Fatal(err)
	}
	changes := compare(&before, now)
	for _, c := range changes {
		if c.breaks {
			t.Errorf("%s: %s. Clients rely on it: leave it as it is, and make a v2 beside the v1", c.name, c.what)
		} else if !*accept {
			t.Errorf("%s: %s. If that is meant, say so in CHANGELOG.md and run make contract-accept", c.name, c.what)
		}
	}
	if !*accept || t.Failed() {
		return
	}
	for _, name := range unnamed(changes, unreleased(t), before.Changelog) {
		t.Errorf("%s has changed, and no new entry under Unreleased in CHANGELOG.md names it", name)
	}
	if !t.Failed() {
		for _, flag := range before.Served {
			if !slices.Contains(now.Served, flag) {
				now.Served = append(now.Served, flag)
			}
		}
		slices.Sort(now.Served)
		write(t, now)
	}
}

func write(t *testing.T, l *lock) {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(l); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lockFile, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unnamed lists what has changed and is not named by a new entry.
func unnamed(changes []change, entries, before []string) []string {
	news := strings.Join(slices.DeleteFunc(slices.Clone(entries), func(e string) bool { return slices.Contains(before, hashOf(e)) }), "\n")
	missing := map[string]bool{}
	for _, c := range changes {
		if !strings.Contains(news, "`"+c.name+"`") {
			missing[c.name] = true
		}
	}
	return slices.Sorted(maps.Keys(missing))
}
