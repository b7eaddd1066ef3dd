package reference

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// Whatever the graph, its picture has every node once, inside the frame and
// beside no other's place, a stroke that ends in an arrowhead for what leads to
// each, and is the same every time.
func TestPicturesOfAnyGraph(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for range 500 {
		g := graph{dot: r.IntN(2) == 0, class: func(string) string { return "" }}
		for i := range 1 + r.IntN(9) {
			g.nodes = append(g.nodes, fmt.Sprint("n", i, strings.Repeat("x", r.IntN(9))))
		}
		seen := map[[2]string]bool{}
		for range r.IntN(2 * len(g.nodes)) {
			e := [2]string{g.nodes[r.IntN(len(g.nodes))], g.nodes[r.IntN(len(g.nodes))]}
			if e[0] != e[1] && !seen[e] {
				seen[e] = true
				g.edges = append(g.edges, e)
			}
		}
		p := draw(g)
		if again := draw(g); !reflect.DeepEqual(p, again) {
			t.Fatalf("%v: two pictures", g.edges)
		}
		if len(p.Nodes) != len(g.nodes) {
			t.Fatalf("%v: %d nodes of %d", g.edges, len(p.Nodes), len(g.nodes))
		}
		for i, a := range p.Nodes {
			if a.X < 0 || a.Y < 0 || a.X+a.W > p.Width || a.Y+a.H > p.Height {
				t.Errorf("%v: %s is outside", g.edges, a.Name)
			}
			for _, b := range p.Nodes[:i] {
				if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
					t.Errorf("%v: %s is over %s", g.edges, a.Name, b.Name)
				}
			}
		}
		heads := map[string]bool{}
		for _, l := range p.Lines {
			if l.Head != "" {
				heads[l.Head] = true
			}
		}
		for _, a := range p.Nodes {
			led := g.dot && a.Name == g.nodes[0]
			for e := range seen {
				led = led || e[1] == a.Name
			}
			has := heads[pointing(a.X, a.MidY, "right")] || heads[pointing(a.MidX, a.Y, "down")]
			if led != has {
				t.Errorf("%v: %s is led to: %v, has an arrowhead: %v", g.edges, a.Name, led, has)
			}
		}
	}
}

// Columns follow the longest way; what leads past a column has a row of its
// own there, which all that leads to the same node shares.
func TestPictureOfALine(t *testing.T) {
	p := draw(graph{
		nodes: []string{"a", "b", "c", "d", "undone"},
		edges: [][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"b", "undone"}, {"c", "undone"}, {"d", "undone"}},
		class: func(string) string { return "" },
	})
	at := map[string]Node{}
	for _, n := range p.Nodes {
		at[n.Name] = n
	}
	for i, name := range []string{"b", "c", "d"} {
		before := at[[]string{"a", "b", "c"}[i]]
		if at[name].Y != before.Y || at[name].X <= before.X {
			t.Errorf("%s is at %+v, after %+v", name, at[name], before)
		}
	}
	if undone := at["undone"]; undone.X <= at["d"].X || undone.Y <= at["d"].Y {
		t.Errorf("undone is at %+v, d at %+v", undone, at["d"])
	}
}
