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
	SourceSchema:                      schema.RuleOf(func(s *Source) schema.Faults { return faultsOfLocator(s.Kind, s.Locator) }),
	"hux.source.create.v1":            schema.RuleOf(func(s *SourceCreate) schema.Faults { return faultsOfLocator(s.Kind, s.Locator) }),
	PassageSchema:                     schema.RuleOf(faultsOfPassage),
	"hux.passage.create.v1":           schema.RuleOf(func(p *PassageCreate) schema.Faults { return faultsOfSelector(p.Selector) }),
	CitationSchema:                    schema.RuleOf(faultsOfCitation),
	"hux.citation.create.v1":          schema.RuleOf(faultsOfCitations),
	NotebookSchema:                    schema.RuleOf(func(n *Notebook) schema.Faults { return faultsOfNotes(n.Notes) }),
	"hux.research_notebook.create.v1": schema.RuleOf(func(n *NotebookCreate) schema.Faults { return faultsOfNotes(n.Notes) }),
	"hux.research_notebook.patch.v1":  schema.RuleOf(func(n *NotebookPatch) schema.Faults { return faultsOfNotes(n.Notes) }),
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
func faultsOfLocator(kind, locator string) (faults schema.Faults) {
	const at = "/locator"
	switch kind {
	case "web":
	case "artifact":
		faults.AddIf(!hux.ValidID("art", locator), at, locatorInvalid, "must begin with art_, and be an id")
		return faults
	default:
		faults.AddIf(!hux.ValidForeignID(locator), at, locatorInvalid, "must be an id")
		return faults
	}
	u, err := url.Parse(locator)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		faults.Add(at, locatorInvalid, "must be an http or https URL")
	case u.User != nil:
		faults.Add(at, locatorCredentials, "must not have a name or password")
	case !publicHost(u.Hostname()):
		faults.Add(at, locatorNotPublic, "must be on a public host")
	}
	return faults
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

func faultsOfSelector(s Selector) (faults schema.Faults) {
	if s.Position != nil {
		faults = append(faults, faultsOfSpan("/selector/position", *s.Position)...)
	}
	if s.Time != nil && s.Time.EndMS < s.Time.StartMS {
		faults.Add("/selector/time", spanOrder, "ends before it starts")
	}
	return faults
}

func faultsOfSpan(pointer string, s Span) (faults schema.Faults) {
	faults.AddIf(s.Start >= s.End, pointer, spanOrder, "ends before it starts, or holds nothing")
	return faults
}

func faultsOfPassage(p *Passage) schema.Faults {
	faults := faultsOfSelector(p.Selector)
	if p.Text != p.Selector.Quote.Exact {
		faults.Add("/text", textNotQuote, "is not what the quote says")
	}
	if at := p.Selector.Position; at != nil && p.Match == Exact && p.Text != "" && at.End-at.Start != utf8.RuneCountInString(p.Text) {
		faults.Add("/selector/position", positionLength, "is not as long as the quote")
	}
	return faults
}

func faultsOfCitation(c *Citation) (faults schema.Faults) {
	if c.ClaimSpan != nil {
		faults = faultsOfSpan("/claim_span", *c.ClaimSpan)
	}
	if c.SourceNumber > c.Ordinal {
		faults.Add("/source_number", sourceNumberHigh, "is more than there are marks so far")
	}
	return faults
}

// faultsOfCitations holds a list by itself: where it begins is for
// FaultsOfOrdinals to say, which knows what the message has.
func faultsOfCitations(c *CitationCreate) schema.Faults {
	if len(c.Citations) == 0 {
		return nil
	}
	faults := FaultsOfOrdinals(c.Citations[0].Ordinal-1, c.Citations)
	for i, m := range c.Citations {
		if m.ClaimSpan != nil {
			faults = append(faults, faultsOfSpan("/citations/"+strconv.Itoa(i)+"/claim_span", *m.ClaimSpan)...)
		}
	}
	return faults
}

// FaultsOfOrdinals says which of the marks that are to be added to a message
// with that many citations do not go on with the next ordinal (contracts 3):
// ordinals_not_contiguous.
func FaultsOfOrdinals(have int, marks []Mark) (faults schema.Faults) {
	for i, m := range marks {
		if m.Ordinal != have+1+i {
			faults.Add("/citations/"+strconv.Itoa(i)+"/ordinal", string(hux.OrdinalsNotContiguous), "does not follow the one before")
		}
	}
	return faults
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

func faultsOfNotes(notes []Note) (faults schema.Faults) {
	seen := map[string]bool{}
	for i, n := range notes {
		if seen[n.ID] {
			faults.Add("/notes/"+strconv.Itoa(i)+"/id", noteTwice, "is another note's")
		}
		seen[n.ID] = true
	}
	return faults
}
