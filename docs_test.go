package contract_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
)

var (
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	fence    = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	section  = regexp.MustCompile(`(?m)^#+ (\d(?:\.\d)?) `)
	cited    = regexp.MustCompile(`contracts (\d(?:\.\d)?(?:, \d(?:\.\d)?)*)`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// What one page says about another has to be there: each relative link names
// a file, and its fragment a heading of it.
func TestDocumentedLinksResolve(t *testing.T) {
	root := os.DirFS(".")
	read := func(name string) string {
		content, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		return fence.ReplaceAllString(string(content), "")
	}
	seen := 0
	err := fs.WalkDir(root, ".", func(page string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && page != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(page) != ".md":
			return nil
		}
		for _, found := range link.FindAllStringSubmatch(read(page), -1) {
			to, err := url.Parse(found[1])
			if err != nil {
				t.Errorf("%s: %s is no link", page, found[1])
				continue
			}
			if to.IsAbs() {
				continue
			}
			seen++
			target := page
			if to.Path != "" {
				target = path.Join(path.Dir(page), to.Path)
			}
			if _, err := fs.Stat(root, target); err != nil {
				t.Errorf("%s: there is no %s", page, found[1])
				continue
			}
			if to.Fragment != "" && !hasAnchor(read(target), to.Fragment) {
				t.Errorf("%s: %s has no heading for #%s", page, target, to.Fragment)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Error("no page has a link")
	}
}

// hasAnchor reports whether a heading of page has that anchor, as GitHub
// makes it: in lower case, without punctuation, with dashes for spaces.
func hasAnchor(page, anchor string) bool {
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		if strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}

// A comment that cites the contract, such as "contracts 2.4", names a section
// of docs/contract.
func TestCitedSectionsOfTheContractAreThere(t *testing.T) {
	sections := map[string]bool{}
	pages, err := filepath.Glob("docs/contract/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range section.FindAllStringSubmatch(string(text), -1) {
			sections[found[1]] = true
		}
	}
	seen := 0
	err = fs.WalkDir(os.DirFS("."), ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || !slices.Contains([]string{".go", ".js", ".mjs"}, path.Ext(file)):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, found := range cited.FindAllStringSubmatch(string(text), -1) {
			for _, number := range strings.Split(found[1], ", ") {
				seen++
				if !sections[number] {
					t.Errorf("%s cites contracts %s, and docs/contract has no such section", file, number)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 50 {
		t.Errorf("only %d citations were found", seen)
	}
}

// The table of errors has each code with its status and what it means.
func TestDocumentedErrorsAreTheErrors(t *testing.T) {
	source, err := os.ReadFile("hux/error.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := hux.Codes()
	for _, code := range codes {
		if row := fmt.Sprintf("| `%s` | %d | %s |", code, code.Status(), code.Meaning()); !strings.Contains(string(page), row) {
			t.Errorf("docs/api.md has no row %s", row)
		}
	}
	rows := strings.Count(string(page), "` | 4") + strings.Count(string(page), "` | 5")
	if named := strings.Count(string(source), ` Code = "`); rows != len(codes) || named != len(codes) {
		t.Errorf("docs/api.md has %d codes, hux/error.go names %d, %d have a status", rows, named, len(codes))
	}
}
