package proxy

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"bstein.dev/hux/hux/schema"
)

//go:embed hermes-webui.json
var defaultRules []byte

// Rules says what of an upstream may be reached. It is data: a rules file
// names the upstream it was made for, what is never reached and what is.
// Anything that no entry allows is refused, and a deny entry beats every
// allow entry.
type Rules struct {
	Format      int        `json:"format"` // 1
	Upstream    Upstream   `json:"upstream"`
	QueryDenied []string   `json:"query_denied"` // query keys refused on every path
	Instead     []*Instead `json:"instead"`
	Deny        []*Deny    `json:"deny"`
	Allow       []*Allow   `json:"allow"`

	instead     tree            // of the flags that are on; see Switch
	switched    map[string]bool // those flags
	deny, allow tree
}

// Upstream is what a rules file was made for; SelfCheck compares a running
// server with it.
type Upstream struct {
	Name      string     `json:"name"`
	Snapshot  string     `json:"snapshot"` // the sources the file was made from, for people
	Version   Version    `json:"version"`
	Login     string     `json:"login"` // path of its own sign-in page, which nobody behind the router may be sent to
	Landmarks []Landmark `json:"landmarks"`
}

// Version says where a server tells its version: in the resource at Path,
// between the texts Before and After.
type Version struct {
	Path   string   `json:"path"`
	Before string   `json:"before"`
	After  string   `json:"after"`
	Tested []string `json:"tested"` // versions the rules were tried with
}

// Landmark is a text that a public resource must contain for the router and
// the bridge to work.
type Landmark struct {
	Path     string   `json:"path"`
	Contains []string `json:"contains"`
	Why      string   `json:"why"`
}

// Deny refuses paths, for some methods or for all. GET stands for HEAD too.
// Its paths are written as in Allow, in lower case, and match any case, any
// encoding and a slash at the end.
type Deny struct {
	Methods []string `json:"methods"` // empty: every method
	Paths   []string `json:"paths"`
	Reason  string   `json:"reason"` // for people who read the file and the log
}

// Allow lets methods on paths through. GET stands for HEAD too.
//
// A path is exact ("/api/session"), has segments that stand for any one
// segment ("/api/sessions/{session}/events"), or ends in "/*", which stands
// for everything below. It is compared with the raw path as it is sent.
type Allow struct {
	Methods   []string          `json:"methods"`
	Paths     []string          `json:"paths"`
	Inject    bool              `json:"inject"`    // a page of the app: the bridge goes into it, and links may lead to it
	Stream    bool              `json:"stream"`    // passed on byte by byte
	Slow      bool              `json:"slow"`      // may take minutes to answer
	WebSocket bool              `json:"websocket"` // handshakes pass
	Health    bool              `json:"health"`    // answered by the router; the upstream's own answer is not shown
	Body      map[string]Member `json:"body"`      // what members of a JSON body may hold

	kind kind
}

// Member says which values a member of a JSON object may have.
type Member struct {
	Required bool  `json:"required"`
	In       []any `json:"in"` // strings, booleans or null
}

// kind groups requests in the metrics.
type kind int

const (
	kindNone kind = iota // refused before a rule was found
	kindPage
	kindStream
	kindSlow
	kindWebSocket
	kindHealth
	kindPlain
	kindInstead
	kinds
)

var kindNames = [kinds]string{"none", "page", "stream", "slow", "websocket", "health", "plain", "instead"}

// DefaultRules is the list for the Hermes WebUI that ships with the router.
func DefaultRules() *Rules {
	r, err := LoadRules(bytes.NewReader(defaultRules))
	if err != nil {
		panic(err) // the file is embedded and tested
	}
	return r
}

// OpenRules reads the rules file at path, or DefaultRules where path is "".
func OpenRules(path string) (*Rules, error) {
	if path == "" {
		return DefaultRules(), nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if line, err := schema.Strict(content); err != nil { // of a member that stands twice encoding/json takes the last
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return LoadRules(bytes.NewReader(content))
}

// LoadRules reads a rules file. It is strict: an unknown member, a bad
// pattern or a contradiction is an error that names the entry.
func LoadRules(from io.Reader) (*Rules, error) {
	dec := json.NewDecoder(from)
	dec.DisallowUnknownFields()
	r := new(Rules)
	if err := dec.Decode(r); err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	if r.Format != 1 {
		return nil, fmt.Errorf("format %d, this router reads format 1", r.Format)
	}
	if err := r.checkUpstream(); err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	for i, k := range r.QueryDenied {
		if k == "" || k != strings.ToLower(k) {
			return nil, fmt.Errorf("query_denied[%d]: %q is not a lower-case key", i, k)
		}
	}
	for _, on := range []bool{true, false} { // read whole, and none in effect yet
		if err := r.Switch(func(string) bool { return on }); err != nil {
			return nil, err
		}
	}
	for i, d := range r.Deny {
		if err := r.addDeny(d); err != nil {
			return nil, fmt.Errorf("deny[%d]: %w", i, err)
		}
	}
	for i, a := range r.Allow {
		if err := r.addAllow(a); err != nil {
			return nil, fmt.Errorf("allow[%d]: %w", i, err)
		}
	}
	if len(r.Allow) == 0 {
		return nil, errors.New("allow is empty")
	}
	return r, nil
}

func (r *Rules) checkUpstream() error {
	u := &r.Upstream
	if u.Name == "" {
		return errors.New("name is missing")
	}
	if u.Login != "" {
		if _, err := CheckTarget(u.Login); err != nil {
			return fmt.Errorf("login: %q is not a plain path", u.Login)
		}
	}
	if v := u.Version; v.Path != "" || v.Before != "" || v.After != "" {
		if _, err := CheckTarget(v.Path); err != nil || v.Before == "" || v.After == "" {
			return errors.New("version: path, before and after are needed")
		}
	}
	for i, l := range u.Landmarks {
		if _, err := CheckTarget(l.Path); err != nil || len(l.Contains) == 0 || l.Why == "" || slices.Contains(l.Contains, "") {
			return fmt.Errorf("landmarks[%d]: path, contains and why are needed", i)
		}
	}
	return nil
}

func (r *Rules) addDeny(d *Deny) error {
	if d == nil || d.Reason == "" {
		return errors.New("reason is missing")
	}
	return r.deny.addFolded(d.Methods, d.Paths, entry{deny: d})
}

// addFolded adds an entry whose paths match any spelling.
func (t *tree) addFolded(methods, paths []string, e entry) error {
	if err := checkMethods(methods); err != nil {
		return err
	}
	if len(paths) == 0 {
		return errors.New("paths is empty")
	}
	e.methods = withHead(methods)
	for _, p := range paths {
		if p != strings.ToLower(p) {
			return fmt.Errorf("path %q: denied paths are written in lower case and match any", p)
		}
		if err := t.add(p, e); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rules) addAllow(a *Allow) error {
	if a == nil || len(a.Methods) == 0 {
		return errors.New("methods is empty")
	}
	if err := checkMethods(a.Methods); err != nil {
		return err
	}
	if len(a.Paths) == 0 {
		return errors.New("paths is empty")
	}
	reads := !slices.ContainsFunc(a.Methods, func(m string) bool { return m != http.MethodGet && m != http.MethodHead })
	if (a.Inject || a.WebSocket || a.Health) && !reads {
		return errors.New("inject, websocket and health are for GET alone")
	}
	if a.Body != nil && slices.ContainsFunc(a.Methods, bodiless) {
		return errors.New("body is for methods that have one")
	}
	set := 0
	for _, attr := range []struct {
		on   bool
		kind kind
	}{{a.Inject, kindPage}, {a.Stream, kindStream}, {a.Slow, kindSlow}, {a.WebSocket, kindWebSocket}, {a.Health, kindHealth}} {
		if attr.on {
			a.kind = attr.kind
			set++
		}
	}
	switch set {
	case 0:
		a.kind = kindPlain
	case 1:
	default:
		return errors.New("more than one of inject, stream, slow, websocket and health")
	}
	for name, m := range a.Body {
		for _, v := range m.In {
			switch v.(type) {
			case string, bool, nil:
			default:
				return fmt.Errorf("body member %q: values are strings, booleans or null", name)
			}
		}
		if len(m.In) == 0 {
			return fmt.Errorf("body member %q: in is empty", name)
		}
	}
	for _, p := range a.Paths {
		if err := r.allow.add(p, entry{methods: withHead(a.Methods), allow: a}); err != nil {
			return err
		}
	}
	return nil
}

// withHead adds HEAD to methods with GET.
func withHead(methods []string) []string {
	if slices.Contains(methods, http.MethodGet) && !slices.Contains(methods, http.MethodHead) {
		return append(slices.Clone(methods), http.MethodHead)
	}
	return methods
}

func checkMethods(methods []string) error {
	for i, m := range methods {
		switch m {
		case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		default:
			return fmt.Errorf("method %q", m)
		}
		if slices.Contains(methods[:i], m) {
			return fmt.Errorf("method %q twice", m)
		}
	}
	return nil
}

// bodiless reports whether a body has no meaning with a method. The upstream
// may leave such a body unread and take it for the next request.
func bodiless(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// decision is what the rules say to a request: allow is set when it may pass,
// deny when an entry refuses it, methods when only the method is wrong.
type decision struct {
	instead *Instead
	allow   *Allow
	deny    *Deny
	pattern string
	methods []string
}

// decide looks a raw path up, which CheckTarget let pass.
func (r *Rules) decide(method, path string) decision {
	folded := foldPath(path)
	if e := r.instead.findFolded(folded, method); e != nil {
		return decision{instead: e.instead, pattern: e.pattern}
	}
	if e := r.deny.findFolded(folded, method); e != nil {
		return decision{deny: e.deny, pattern: e.pattern}
	}
	e, methods := r.allow.find(path, method)
	if e == nil {
		return decision{methods: methods}
	}
	return decision{allow: e.allow, pattern: e.pattern}
}

// findFolded finds the entry for a folded path, with or without slashes at its
// end.
func (t *tree) findFolded(path, method string) *entry {
	e, _ := t.find(path, method)
	if trimmed := strings.TrimRight(path, "/"); e == nil && trimmed != path && trimmed != "" {
		e, _ = t.find(trimmed, method)
	}
	return e
}

// foldPath is path as the most lenient reader could understand it: decoded,
// and in lower case. Only deny entries meet it.
func foldPath(path string) string {
	plain := true
	for i := range len(path) {
		if c := path[i]; c == '%' || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	if !plain {
		for range maxDecode {
			p, err := url.PathUnescape(path)
			if err != nil || p == path {
				break
			}
			path = p
		}
		path = strings.ToLower(path)
	}
	return path
}

// deniesQuery reports whether a raw query has a key that is refused, in any
// case and in any encoding.
func (r *Rules) deniesQuery(query string) bool {
	if len(r.QueryDenied) == 0 {
		return false
	}
	for query != "" {
		part := query
		if i := strings.IndexAny(query, "&;"); i >= 0 {
			part, query = query[:i], query[i+1:]
		} else {
			query = ""
		}
		key, _, _ := strings.Cut(part, "=")
		for range maxDecode {
			k, err := url.QueryUnescape(key)
			if err != nil || k == key {
				break
			}
			key = k
		}
		for _, denied := range r.QueryDenied {
			if strings.EqualFold(strings.TrimSpace(key), denied) {
				return true
			}
		}
	}
	return false
}
