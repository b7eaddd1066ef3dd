package research

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// MaxCitations is how many citations a message may have (contracts 2.7).
const MaxCitations = 100

// Rules are what the schemas can't say of one record or one body.
var Rules = map[string]schema.Rule{
	SourceSchema:                      schema.RuleOf(func(s *Source) []schema.Fault { return faultsOfLocator(s.Kind, s.Locator) }),
	"hux.source.create.v1":            schema.RuleOf(func(s *SourceCreate) []schema.Fault { return faultsOfLocator(s.Kind, s.Locator) }),
	PassageSchema:                     schema.RuleOf(faultsOfPassage),
	"hux.passage.create.v1":           schema.RuleOf(func(p *PassageCreate) []schema.Fault { return faultsOfSelector(p.Selector) }),
	CitationSchema:                    schema.RuleOf(faultsOfCitation),
	"hux.citation.create.v1":          schema.RuleOf(faultsOfCitations),
	NotebookSchema:                    schema.RuleOf(func(n *Notebook) []schema.Fault { return faultsOfNotes(n.Notes) }),
	"hux.research_notebook.create.v1": schema.RuleOf(func(n *NotebookCreate) []schema.Fault { return faultsOfNotes(n.Notes) }),
	"hux.research_notebook.patch.v1":  schema.RuleOf(func(n *NotebookPatch) []schema.Fault { return faultsOfNotes(n.Notes) }),
}

// The rules' names, where no error code of the contract says the same.
const (
	locatorInvalid     = "locator_invalid"
	locatorCredentials = "locator_credentials"
	locatorNotPublic   = "locator_not_public"
	spanOrder          = "span_order"
	positionLength     = "position_length"
	textNotQuote       = "text_not_quote"
	sourceNumberHigh   = "source_number_high"
	noteTwice          = "note_twice"
)

// faultsOfLocator says what a source may not be at. A page's URL is public as
// far as its host's name can tell: what the name leads to is for whoever reads
// the page to check.
func faultsOfLocator(kind, locator string) []schema.Fault {
	fault := func(code, message string) []schema.Fault {
		return []schema.Fault{{Pointer: "/locator", Code: code, Message: message}}
	}
	switch {
	case kind == "artifact" && !hux.ValidID("art", locator):
		return fault(locatorInvalid, "must begin with art_, and be an id")
	case kind != "web" && !hux.ValidForeignID(locator):
		return fault(locatorInvalid, "must be an id")
	case kind != "web":
		return nil
	}
	u, err := url.Parse(locator)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return fault(locatorInvalid, "must be an http or https URL")
	case u.User != nil:
		return fault(locatorCredentials, "must not have a name or password")
	case !publicHost(u.Hostname()):
		return fault(locatorNotPublic, "must be on a public host")
	}
	return nil
}

// publicHost refuses what names or is an address of the router's own machine
// or network. A last label in digits is an IPv4 address in one of its odd
// spellings, such as 2130706433 or 127.1.
func publicHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if address, err := netip.ParseAddr(host); err == nil {
		address = address.Unmap()
		return address.IsGlobalUnicast() && !address.IsPrivate() && address.Zone() == ""
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || !strings.Contains(host, ".") {
		return false
	}
	return last != "" && last != "localhost" && last != "local" && last != "internal"
}

func faultsOfSelector(s Selector) (list []schema.Fault) {
	if s.Position != nil {
		list = append(list, faultsOfSpan("/selector/position", *s.Position)...)
	}
	if s.Time != nil && s.Time.EndMS < s.Time.StartMS {
		list = append(list, schema.Fault{Pointer: "/selector/time", Code: spanOrder, Message: "ends before it starts"})
	}
	return list
}

func faultsOfSpan(pointer string, s Span) []schema.Fault {
	if s.Start < s.End {
		return nil
	}
	return []schema.Fault{{Pointer: pointer, Code: spanOrder, Message: "ends before it starts, or holds nothing"}}
}

func faultsOfPassage(p *Passage) []schema.Fault {
	list := faultsOfSelector(p.Selector)
	if p.Text != p.Selector.Quote.Exact {
		list = append(list, schema.Fault{Pointer: "/text", Code: textNotQuote, Message: "is not what the quote says"})
	}
	if at := p.Selector.Position; at != nil && p.Match == Exact && p.Text != "" && at.End-at.Start != utf8.RuneCountInString(p.Text) {
		list = append(list, schema.Fault{Pointer: "/selector/position", Code: positionLength, Message: "is not as long as the quote"})
	}
	return list
}

func faultsOfCitation(c *Citation) (list []schema.Fault) {
	if c.ClaimSpan != nil {
		list = faultsOfSpan("/claim_span", *c.ClaimSpan)
	}
	if c.SourceNumber > c.Ordinal {
		list = append(list, schema.Fault{Pointer: "/source_number", Code: sourceNumberHigh, Message: "is more than there are marks so far"})
	}
	return list
}

// faultsOfCitations holds a list by itself: where it begins is for
// FaultsOfOrdinals to say, which knows what the message has.
func faultsOfCitations(c *CitationCreate) []schema.Fault {
	if len(c.Citations) == 0 {
		return nil
	}
	list := FaultsOfOrdinals(c.Citations[0].Ordinal-1, c.Citations)
	for i, m := range c.Citations {
		if m.ClaimSpan != nil {
			list = append(list, faultsOfSpan("/citations/"+strconv.Itoa(i)+"/claim_span", *m.ClaimSpan)...)
		}
	}
	return list
}

// FaultsOfOrdinals says which of the marks that are to be added to a message
// with that many citations do not go on with the next ordinal (contracts 3):
// ordinals_not_contiguous.
func FaultsOfOrdinals(have int, marks []Mark) (list []schema.Fault) {
	for i, m := range marks {
		if m.Ordinal != have+1+i {
			list = append(list, schema.Fault{
				Pointer: "/citations/" + strconv.Itoa(i) + "/ordinal", Code: string(hux.OrdinalsNotContiguous), Message: "does not follow the one before",
			})
		}
	}
	return list
}

// SourceNumbers numbers the sources of a message's citations, given in the
// order of their ordinals: from 1 on by first appearance, one number for each.
func SourceNumbers(sources []string) []int {
	numbers := make([]int, len(sources))
	known := map[string]int{}
	for i, s := range sources {
		if known[s] == 0 {
			known[s] = len(known) + 1
		}
		numbers[i] = known[s]
	}
	return numbers
}

// PassageState is the state that a passage is in by what has become of its
// source, nil for one that was forgotten. A source that was read again and
// says the same changes nothing.
func PassageState(p *Passage, s *Source) string {
	switch {
	case s == nil || s.Status == Gone:
		return SourceGone
	case p.Text == "":
		return Redacted
	case s.ContentHash == nil || *s.ContentHash != p.ContentHash:
		return SourceChanged
	}
	return Valid
}

func faultsOfNotes(notes []Note) (list []schema.Fault) {
	seen := map[string]bool{}
	for i, n := range notes {
		if seen[n.ID] {
			list = append(list, schema.Fault{Pointer: "/notes/" + strconv.Itoa(i) + "/id", Code: noteTwice, Message: "is another note's"})
		}
		seen[n.ID] = true
	}
	return list
}
