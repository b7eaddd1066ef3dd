package projects

import (
	"fmt"
	"slices"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// Rules are what the card's schemas can't say.
var Rules = map[string]schema.Rule{
	LineageSchema: schema.RuleOf(faultsOfLineage),
	SearchSchema:  schema.RuleOf(faultsOfSearch),
}

// faultsOfLineage holds each node against the one before it, from the root
// down to the children.
func faultsOfLineage(l *Lineage) (faults []schema.Fault) {
	fault := func(pointer string, code hux.Code, message string) {
		faults = append(faults, schema.Fault{Pointer: pointer, Code: string(code), Message: message})
	}
	seen := map[string]bool{}
	follows := func(pointer string, n Node, parent *Node) {
		if seen[n.ID] {
			fault(pointer+"/id", hux.LineageCycle, "stands in the lineage twice")
		}
		seen[n.ID] = true
		if parent == nil {
			if n.ParentID != nil || n.ForkSeq != nil || n.Depth != 0 {
				fault(pointer, "lineage_broken", "must be a root, which comes from nowhere")
			}
		} else if n.ParentID == nil || *n.ParentID != parent.ID || n.ForkSeq == nil || n.Depth != parent.Depth+1 {
			fault(pointer, "lineage_broken", "must come from the conversation before it")
		}
	}
	var before *Node
	for i := range l.Ancestors {
		follows(fmt.Sprintf("/ancestors/%d", i), l.Ancestors[i], before)
		before = &l.Ancestors[i]
	}
	follows("/self", l.Self, before)
	for i, n := range l.Children {
		follows(fmt.Sprintf("/children/%d", i), n, &l.Self)
	}
	if first := slices.Concat(l.Ancestors, []Node{l.Self})[0]; first.ID != l.Root.ID || l.Root.Depth != 0 {
		fault("/root", "lineage_broken", "must be where the lineage begins")
	}
	return faults
}

// prefixes are those of the ids of what may be found.
var prefixes = map[string]string{"project": "prj", "conversation": "cnv", "artifact": "art"}

func faultsOfSearch(s *Search) (faults []schema.Fault) {
	fault := func(pointer, message string) {
		faults = append(faults, schema.Fault{Pointer: pointer, Code: "search_mismatch", Message: message})
	}
	for i, hit := range s.Items {
		if !hux.ValidID(prefixes[hit.Type], hit.ID) {
			fault(fmt.Sprintf("/items/%d/id", i), "must be an id of the item's type")
		}
		of, _, qualified := strings.Cut(hit.Field, ".")
		if !slices.Contains(s.Indexed, hit.Field) || qualified && of != hit.Type {
			fault(fmt.Sprintf("/items/%d/field", i), "must be an indexed field of the item's type")
		}
	}
	for i, field := range s.NotIndexed {
		if slices.Contains(s.Indexed, field) {
			fault(fmt.Sprintf("/not_indexed/%d", i), "must not be indexed as well")
		}
	}
	return faults
}
