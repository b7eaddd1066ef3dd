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
func faultsOfLineage(l *Lineage) (faults schema.Faults) {
	seen := map[string]bool{}
	follows := func(pointer string, n Node, parent *Node) {
		if seen[n.ID] {
			faults.Add(pointer+"/id", string(hux.LineageCycle), "stands in the lineage twice")
		}
		seen[n.ID] = true
		if parent == nil {
			if n.ParentID != nil || n.ForkSeq != nil || n.Depth != 0 {
				faults.Add(pointer, "lineage_broken", "must be a root, which comes from nowhere")
			}
		} else if n.ParentID == nil || *n.ParentID != parent.ID || n.ForkSeq == nil || n.Depth != parent.Depth+1 {
			faults.Add(pointer, "lineage_broken", "must come from the conversation before it")
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
		faults.Add("/root", "lineage_broken", "must be where the lineage begins")
	}
	return faults
}

// prefixes are those of the ids of what may be found.
var prefixes = map[string]string{"project": "prj", "conversation": "cnv", "artifact": "art"} // a message has the id of its reporter

func faultsOfSearch(s *Search) (faults schema.Faults) {
	const mismatch = "search_mismatch"
	for i, hit := range s.Items {
		if prefix, ours := prefixes[hit.Type]; ours && !hux.ValidID(prefix, hit.ID) {
			faults.Add(fmt.Sprintf("/items/%d/id", i), mismatch, "must be an id of the item's type")
		}
		of, _, qualified := strings.Cut(hit.Field, ".")
		if !slices.Contains(s.Indexed, hit.Field) || qualified && of != hit.Type {
			faults.Add(fmt.Sprintf("/items/%d/field", i), mismatch, "must be an indexed field of the item's type")
		}
	}
	for i, field := range s.NotIndexed {
		if slices.Contains(s.Indexed, field) {
			faults.Add(fmt.Sprintf("/not_indexed/%d", i), mismatch, "must not be indexed as well")
		}
	}
	return faults
}
