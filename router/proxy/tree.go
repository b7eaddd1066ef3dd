package proxy

import (
	"fmt"
	"slices"
	"strings"
)

// tree finds the entries whose patterns match a path: exact ones by one map
// look-up, the others segment by segment. The more exact pattern wins, unless
// it does not know the method.
type tree struct {
	exact map[string][]entry
	root  node
}

type node struct {
	literal map[string]*node
	any     *node
	here    []entry // patterns that end here
	below   []entry // patterns that end in "/*" here
}

type entry struct {
	pattern string
	methods []string // empty: every method
	instead *Instead
	allow   *Allow
	deny    *Deny
}

func (e *entry) serves(method string) bool {
	return len(e.methods) == 0 || slices.Contains(e.methods, method)
}

// add puts e under a pattern.
func (t *tree) add(pattern string, e entry) error {
	if !strings.HasPrefix(pattern, "/") {
		return fmt.Errorf("path %q: must begin with a slash", pattern)
	}
	e.pattern = pattern
	body, below := strings.CutSuffix(pattern, "/*")
	wild := false
	var segments []string
	if body != "" {
		segments = strings.Split(body[1:], "/")
	}
	for i, s := range segments {
		name, ok := strings.CutPrefix(s, "{")
		if ok {
			name, ok = strings.CutSuffix(name, "}")
			if !ok || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
				return fmt.Errorf("path %q: bad segment %q", pattern, s)
			}
			wild = true
			continue
		}
		root := s == "" && i == 0 && len(segments) == 1 && !below
		if !root && (s == "" || strings.ContainsFunc(s, func(c rune) bool { return !literal(c) }) || s[len(s)-1] == '.') {
			return fmt.Errorf("path %q: bad segment %q", pattern, s)
		}
	}
	if !wild && !below {
		if err := conflict(t.exact[pattern], e); err != nil {
			return err
		}
		if t.exact == nil {
			t.exact = make(map[string][]entry)
		}
		t.exact[pattern] = append(t.exact[pattern], e)
		return nil
	}
	n := &t.root
	for _, s := range segments {
		n = n.child(s)
	}
	at := &n.here
	if below {
		at = &n.below
	}
	if err := conflict(*at, e); err != nil {
		return err
	}
	*at = append(*at, e)
	return nil
}

func literal(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-._~", c)
}

func conflict(there []entry, e entry) error {
	for i := range there {
		if len(e.methods) == 0 || len(there[i].methods) == 0 {
			return fmt.Errorf("path %q: is there twice", e.pattern)
		}
		for _, m := range e.methods {
			if there[i].serves(m) {
				return fmt.Errorf("path %q: %s is there twice", e.pattern, m)
			}
		}
	}
	return nil
}

func (n *node) child(segment string) *node {
	if strings.HasPrefix(segment, "{") {
		if n.any == nil {
			n.any = new(node)
		}
		return n.any
	}
	if n.literal == nil {
		n.literal = make(map[string]*node)
	}
	c := n.literal[segment]
	if c == nil {
		c = new(node)
		n.literal[segment] = c
	}
	return c
}

// find gives the entry for a path and method, or the methods that the path
// is known with.
func (t *tree) find(path, method string) (*entry, []string) {
	var known []string
	if e := pick(t.exact[path], method, &known); e != nil {
		return e, nil
	}
	if e := t.root.find(path, method, &known); e != nil {
		return e, nil
	}
	return nil, known
}

// find matches rest, which begins with a slash or is empty.
func (n *node) find(rest, method string, known *[]string) *entry {
	if rest == "" {
		return pick(n.here, method, known)
	}
	segment, after := rest[1:], ""
	if i := strings.IndexByte(segment, '/'); i >= 0 {
		segment, after = segment[:i], segment[i:]
	}
	if c := n.literal[segment]; c != nil {
		if e := c.find(after, method, known); e != nil {
			return e
		}
	}
	if n.any != nil && segment != "" {
		if e := n.any.find(after, method, known); e != nil {
			return e
		}
	}
	return pick(n.below, method, known)
}

func pick(entries []entry, method string, known *[]string) *entry {
	for i := range entries {
		if entries[i].serves(method) {
			return &entries[i]
		}
		*known = append(*known, entries[i].methods...)
	}
	return nil
}
