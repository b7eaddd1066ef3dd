package reference

import (
	"fmt"
	"math"
	"slices"
)

// Picture is a directed graph, laid out to be drawn as SVG: columns from left
// to right, so that each edge that can leads to the right. Lengths are pixels.
type Picture struct {
	ID, Title, Says string // what it shows, for who can't see it
	Width, Height   int
	Nodes           []Node
	Lines           []Line
	Dot             *Point // the mark of where it begins; nil for none
}

// Node is a box with a name.
type Node struct {
	X, Y, W, H  int // of the upper left corner; width and height
	MidX, MidY  int
	Name, Class string
}

// Line is one stroke of an edge: a path of SVG, and its arrowhead, "" where
// the stroke leads into another.
type Line struct{ Path, Head string }

// Point is a place in a picture.
type Point struct{ X, Y int }

// graph is what a picture is made of. Its picture depends on nothing else, the
// order of nodes and edges included.
type graph struct {
	nodes []string
	edges [][2]string
	class func(node string) string
	dot   bool // mark the first node as where it begins
}

// Measures of a picture. Names are set in a font of 13 pixels.
const (
	perLetter, besideName = 7.4, 24
	boxHeight, rowPitch   = 34, 50
	columnGap             = 44
	margin                = 8
	dotRoom               = 34
	arcRoom               = 30
)

// place is a node in the grid, or where a long edge to target crosses a column.
type place struct {
	name        string // "" for a crossing
	target      string
	column, row int
	from        []*place // of the column before
}

// layout puts a graph into a grid.
type layout struct {
	graph
	back    map[[2]string]bool // edges that would close a circle
	columns [][]*place
	at      map[string]*place
}

// draw lays g out. Each node stands one column right of the last that leads to
// it. What leads further crosses the columns between on a line of its own,
// which all edges to the same node share.
func draw(g graph) Picture {
	l := &layout{graph: g, back: map[[2]string]bool{}, at: map[string]*place{}}
	l.findBack()
	l.fillColumns()
	l.fillRows()
	return l.picture()
}

// forward are the nodes that n leads to without closing a circle.
func (l *layout) forward(n string) []string {
	var to []string
	for _, e := range l.edges {
		if e[0] == n && !l.back[e] {
			to = append(to, e[1])
		}
	}
	return to
}

func (l *layout) findBack() {
	const under, done = 1, 2
	state := map[string]int{}
	var visit func(n string)
	visit = func(n string) {
		state[n] = under
		for _, e := range l.edges {
			switch {
			case e[0] != n:
			case state[e[1]] == under:
				l.back[e] = true
			case state[e[1]] == 0:
				visit(e[1])
			}
		}
		state[n] = done
	}
	for _, n := range l.nodes {
		if state[n] == 0 {
			visit(n)
		}
	}
}

func (l *layout) fillColumns() {
	column := map[string]int{}
	var push func(n string, least int)
	push = func(n string, least int) {
		column[n] = max(column[n], least)
		for _, to := range l.forward(n) {
			if column[to] <= column[n] {
				push(to, column[n]+1)
			}
		}
	}
	for _, n := range l.nodes {
		push(n, 0)
	}
	put := func(p *place) *place {
		for len(l.columns) <= p.column {
			l.columns = append(l.columns, nil)
		}
		l.columns[p.column] = append(l.columns[p.column], p)
		return p
	}
	for _, ends := range []bool{false, true} { // what goes on before what ends
		for _, n := range l.nodes {
			if (len(l.forward(n)) == 0) == ends {
				l.at[n] = put(&place{name: n, column: column[n]})
			}
		}
	}
	crossings := map[string]*place{} // by target and column
	for _, e := range l.edges {
		if l.back[e] {
			continue
		}
		from, to := l.at[e[0]], l.at[e[1]]
		for c := from.column + 1; c < to.column; c++ {
			key := fmt.Sprint(c, " ", e[1])
			if crossings[key] == nil {
				crossings[key] = put(&place{target: e[1], column: c})
			}
			link(from, crossings[key])
			from = crossings[key]
		}
		link(from, to)
	}
}

func link(from, to *place) {
	if !slices.Contains(to.from, from) {
		to.from = append(to.from, from)
	}
}

// fillRows puts each place as near as it can be to the middle of what leads to
// it, and the first column in the middle of what it leads to.
func (l *layout) fillRows() {
	for i, column := range l.columns {
		if i == 0 {
			continue
		}
		wanted := map[*place]int{}
		for _, p := range column {
			wanted[p] = int(math.Floor(mean(p.from) + .5))
		}
		slices.SortStableFunc(column, func(a, b *place) int { return wanted[a] - wanted[b] })
		for j, p := range column {
			p.row = max(0, wanted[p])
			if j > 0 {
				p.row = max(p.row, column[j-1].row+1)
			}
		}
	}
	for j, p := range l.columns[0] {
		var next []*place
		if len(l.columns) > 1 {
			for _, q := range l.columns[1] {
				if slices.Contains(q.from, p) {
					next = append(next, q)
				}
			}
		}
		p.row = int(math.Floor(mean(next)))
		if j > 0 {
			p.row = max(p.row, l.columns[0][j-1].row+1)
		}
	}
}

// mean is the middle row of places, 0 of none.
func mean(places []*place) float64 {
	sum := 0
	for _, p := range places {
		sum += p.row
	}
	return float64(sum) / float64(max(1, len(places)))
}

func (l *layout) picture() Picture {
	p := Picture{}
	left, top, rows := margin, margin, 0
	if l.dot {
		left += dotRoom
	}
	if len(l.back) > 0 {
		top += arcRoom
	}
	boxes := map[*place]Node{}
	for _, column := range l.columns {
		width := 0
		for _, at := range column {
			width = max(width, int(perLetter*float64(len(at.name)))+besideName)
			rows = max(rows, at.row+1)
		}
		for _, at := range column {
			y := top + at.row*rowPitch
			box := Node{X: left, Y: y, W: width, H: boxHeight, MidX: left + width/2, MidY: y + boxHeight/2, Name: at.name}
			if at.name != "" {
				box.Class = l.class(at.name)
				p.Nodes = append(p.Nodes, box)
			}
			boxes[at] = box
		}
		left += width + columnGap
	}
	p.Width, p.Height = left-columnGap+margin, top+(rows-1)*rowPitch+boxHeight+margin
	for _, column := range l.columns {
		for _, at := range column {
			to := boxes[at]
			for _, from := range at.from {
				p.Lines = append(p.Lines, across(boxes[from], to))
			}
			if at.name == "" {
				p.Lines = append(p.Lines, Line{Path: fmt.Sprintf("M%d %dH%d", to.X, to.MidY, to.X+to.W)})
			}
		}
	}
	for _, e := range l.edges {
		if l.back[e] {
			p.Lines = append(p.Lines, over(boxes[l.at[e[0]]], boxes[l.at[e[1]]]))
		}
	}
	if l.dot {
		first := boxes[l.at[l.nodes[0]]]
		p.Dot = &Point{first.X - dotRoom + 8, first.MidY}
		p.Lines = append(p.Lines, Line{fmt.Sprintf("M%d %dH%d", p.Dot.X, first.MidY, first.X-6), pointing(first.X, first.MidY, "right")})
	}
	return p
}

// across is the stroke from one box to one of the next column.
func across(from, to Node) Line {
	x, end, middle := from.X+from.W, to.X, (from.X+from.W+to.X)/2
	var head string
	if to.Name != "" {
		head = pointing(end, to.MidY, "right")
		end -= 6
	}
	return Line{fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x, from.MidY, middle, from.MidY, middle, to.MidY, end, to.MidY), head}
}

// over is the arc of an edge that leads back.
func over(from, to Node) Line {
	high := min(from.Y, to.Y) - arcRoom
	return Line{
		fmt.Sprintf("M%d %dC%d %d %d %d %d %d", from.MidX, from.Y, from.MidX, high, to.MidX, high, to.MidX, to.Y-6),
		pointing(to.MidX, to.Y, "down"),
	}
}

// pointing is an arrowhead whose point is at x, y.
func pointing(x, y int, direction string) string {
	if direction == "down" {
		return fmt.Sprintf("M%d %dL%d %dL%d %dZ", x-4, y-7, x, y, x+4, y-7)
	}
	return fmt.Sprintf("M%d %dL%d %dL%d %dZ", x-7, y-4, x, y, x-7, y+4)
}
