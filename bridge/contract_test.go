package bridge_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/bridge"
	"bstein.dev/hux/bridge/reference"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/cards"
	"bstein.dev/hux/hux/schema"
)

// whole is the contract of this build with all flags.
func whole(t *testing.T) *reference.Contract {
	t.Helper()
	set, err := schema.Load(contract.Schemas, cards.Rules())
	if err != nil {
		t.Fatal(err)
	}
	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		t.Fatal(err)
	}
	routes, err := api.Foundation{Schemas: set}.Routes(cards.Routes(cards.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	c, err := reference.New(reference.Sources{
		Schemas: set, Examples: contract.Examples, Registry: registry, Flags: hux.ResolveFlags(registry, []string{"all"}),
		Machines: cards.Machines(), Routes: routes,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Every page of the contract keeps to the policy, and each of its links leads
// to a page and a place on it.
func TestContractPagesLinkToEachOther(t *testing.T) {
	const root = "/hux/api/ui/contract"
	c := whole(t)
	hrefs, ids := regexp.MustCompile(` href="([^"]*)"`), regexp.MustCompile(` id="([^"]*)"`)
	pages := map[string]string{}
	var open func(at string)
	open = func(at string) {
		if _, seen := pages[at]; seen {
			return
		}
		page := c.Page(at, "")
		if page == nil {
			pages[at] = ""
			return
		}
		pages[at] = text(t, write(t, "https://hux.example.org", 200, bridge.Contract, bridge.Facts{Contract: page}))
		for _, m := range hrefs.FindAllStringSubmatch(pages[at], -1) {
			if below, ok := strings.CutPrefix(m[1], root+"/"); ok {
				next, _, _ := strings.Cut(below, "#")
				open(next)
			}
		}
	}
	open("overview")
	if len(pages) != c.Count()+len(c.Places()) {
		t.Errorf("%d pages can be reached, there are %d", len(pages), c.Count()+len(c.Places()))
	}
	for at, page := range pages {
		if page == "" {
			t.Errorf("there is no page %s, which one links to", at)
			continue
		}
		if m := inline.FindString(page); m != "" {
			t.Errorf("%s: inline %q", at, m)
		}
		seen := map[string]bool{}
		for _, m := range ids.FindAllStringSubmatch(page, -1) {
			if seen[m[1]] {
				t.Errorf("%s: the id %s stands twice", at, m[1])
			}
			seen[m[1]] = true
		}
		for _, m := range hrefs.FindAllStringSubmatch(page, -1) {
			link := html.UnescapeString(m[1])
			to, fragment, has := strings.Cut(link, "#")
			if !has || !strings.HasPrefix(to, root) && to != "" {
				continue
			}
			target := strings.TrimPrefix(strings.TrimPrefix(to, root), "/")
			switch {
			case to == "":
				target = at
			case target == "":
				target = "overview"
			}
			if !strings.Contains(pages[target], ` id="`+fragment+`"`) {
				t.Errorf("%s: %s leads to no place", at, link)
			}
		}
	}
}

func TestContractSearchIsText(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	page := text(t, write(t, "https://hux.example.org", 200, bridge.Contract, bridge.Facts{Contract: whole(t).Page("overview", evil)}))
	if strings.Contains(page, "<script>alert") || !strings.Contains(page, "0 of ") {
		t.Error("what is searched for is not text, or something was found")
	}
}
