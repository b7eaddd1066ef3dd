package artifacts_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/artifacts"
)

var alice = hux.Actor{Kind: hux.KindHuman, ID: "usr_4f1d2c9a7be03658d1c24f7a90b3e6581d2c4f7a"}

func code(err error) hux.Code {
	var e *hux.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// example is a worked example.
func example[T any](t *testing.T, name string) *T {
	t.Helper()
	text, err := contract.Examples.ReadFile("examples/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	v := new(T)
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
	return v
}

// judge gives what the card's rules say of v.
func judge(t *testing.T, name string, v any) (got []string) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	faults, err := artifacts.Rules[name](text)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		got = append(got, f.Pointer+" "+f.Code)
	}
	return got
}

func TestRulesOfArtifacts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*artifacts.Artifact)
		want   []string
	}{
		"as it is":          {func(*artifacts.Artifact) {}, nil},
		"without a version": {func(a *artifacts.Artifact) { a.HeadVersion, a.VersionCount, a.Promoted = 0, 0, nil }, nil},
		"a gap":             {func(a *artifacts.Artifact) { a.HeadVersion++ }, []string{"/version_count versions_not_contiguous"}},
		"promoted ahead":    {func(a *artifacts.Artifact) { a.Promoted[0].Version = 3 }, []string{"/promoted/0/version unknown_reference"}},
		"made of itself":    {func(a *artifacts.Artifact) { a.Lineage[0].ArtifactID = a.ID }, []string{"/lineage/0 lineage_cycle"}},
		"two relations": {func(a *artifacts.Artifact) {
			a.Lineage = append(a.Lineage, artifacts.Link{Relation: "variant_of", ArtifactID: a.Lineage[0].ArtifactID, Version: 1})
		}, nil},
		"a relation twice": {func(a *artifacts.Artifact) { a.Lineage = append(a.Lineage, a.Lineage[0]) }, []string{"/lineage/1 lineage_twice"}},
	} {
		a := example[artifacts.Artifact](t, artifacts.Schema)
		c.change(a)
		if got := judge(t, artifacts.Schema, a); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRulesOfVersions(t *testing.T) {
	long := strings.Repeat("é", artifacts.MaxText/2+1) // fewer characters than bytes
	for name, c := range map[string]struct {
		change func(*artifacts.Version)
		want   []string
	}{
		"as it is":      {func(*artifacts.Version) {}, nil},
		"other content": {func(v *artifacts.Version) { *v.Content += " " }, []string{"/content_hash content_hash_mismatch"}},
		"empty": {func(v *artifacts.Version) {
			*v.Content, v.ContentHash = "", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
		}, nil},
		"bytes": {func(v *artifacts.Version) {
			v.Content, v.Blob = nil, &artifacts.BlobRef{Digest: v.ContentHash, Size: 9}
		}, nil},
		"other bytes": {
			func(v *artifacts.Version) {
				v.Content, v.Blob = nil, &artifacts.BlobRef{Digest: artifacts.Hash("x"), Size: 9}
			},
			[]string{"/content_hash content_hash_mismatch"},
		},
		"too long":  {func(v *artifacts.Version) { v.Content, v.ContentHash = &long, artifacts.Hash(long) }, []string{"/content too_large"}},
		"the first": {func(v *artifacts.Version) { v.N, v.BaseVersion = 1, 0 }, nil},
		"a gap":     {func(v *artifacts.Version) { v.N = 4 }, []string{"/base_version version_conflict"}},
		"backwards": {func(v *artifacts.Version) { v.N = 1 }, []string{"/base_version version_conflict"}},
	} {
		v := example[artifacts.Version](t, artifacts.VersionSchema)
		c.change(v)
		if got := judge(t, artifacts.VersionSchema, v); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := judge(t, "hux.artifact_version.create.v1", artifacts.VersionCreate{Content: &long}); !slices.Equal(got, []string{"/content too_large"}) {
		t.Errorf("too long, posted: %q", got)
	}
}

// Whoever posts, versions are numbered from 1 without a gap, and the second of
// two writers with one base is told the head.
func TestVersionsAreContiguous(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1000))
	for range 50 {
		a := &artifacts.Artifact{State: artifacts.Active}
		var numbers []int
		for range 200 {
			base := a.HeadVersion - r.IntN(3) + 1
			n, err := a.Next(base)
			if base != a.HeadVersion {
				var e *hux.Error
				if !errors.As(err, &e) || e.Code != hux.VersionConflict || e.Members["head"] != a.HeadVersion {
					t.Fatalf("base %d of %d: %v", base, a.HeadVersion, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, n)
			a.HeadVersion, a.VersionCount = n, a.VersionCount+1
		}
		for i, n := range numbers {
			if n != i+1 {
				t.Fatalf("version %d is number %d", i+1, n)
			}
		}
		if got := judge(t, artifacts.Schema, a); got != nil {
			t.Fatal(got)
		}
	}
	for name, c := range map[string]struct {
		a    artifacts.Artifact
		base int
		want hux.Code
	}{
		"the last":  {artifacts.Artifact{HeadVersion: 999}, 999, ""},
		"one more":  {artifacts.Artifact{HeadVersion: 1000}, 1000, hux.QuotaExceeded},
		"forgotten": {artifacts.Artifact{State: artifacts.Forgotten}, 0, hux.Gone},
		"archived":  {artifacts.Artifact{State: artifacts.Archived}, 0, ""},
		"negative":  {artifacts.Artifact{}, -1, hux.VersionConflict},
	} {
		if _, err := c.a.Next(c.base); code(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChanges(t *testing.T) {
	head := &artifacts.Version{ContentHash: artifacts.Hash("a"), MediaType: "text/plain"}
	for name, c := range map[string]struct {
		head    *artifacts.Version
		content string
		media   string
		want    hux.Code
	}{
		"the first":        {nil, "a", "text/plain", ""},
		"the same":         {head, "a", "text/plain", hux.NoChange},
		"another text":     {head, "b", "text/plain", ""},
		"of another media": {head, "a", "text/markdown", ""},
	} {
		if err := artifacts.Changes(c.head, c.media, artifacts.Hash(c.content)); code(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nobody's version passes for a person's but a person's.
func TestOrigin(t *testing.T) {
	for _, by := range []hux.Kind{hux.KindHuman, hux.KindAgent, hux.KindWorker, hux.KindSystem} {
		for _, asked := range []string{"", "human", "agent", "automatic", "restore", "nonsense"} {
			person := by == hux.KindHuman
			want := map[bool]map[string]string{
				true:  {"": "human", "human": "human", "restore": "restore"},
				false: {"": "agent", "agent": "agent", "restore": "restore", "automatic": "automatic"},
			}[person][asked]
			got, err := artifacts.Origin(asked, by)
			if got != want || (err == nil) != (want != "") || err != nil && code(err) != hux.ReadOnlyField {
				t.Errorf("%q by %s: %q, %v", asked, by, got, err)
			}
		}
	}
}

func TestPromote(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*artifacts.Artifact)
		target  string
		version int
		want    hux.Code
	}{
		"to the project":     {nil, "project", 2, ""},
		"to an export":       {nil, "export", 1, ""},
		"missing":            {nil, "project", 3, hux.NotFound},
		"the empty one":      {nil, "project", 0, hux.NotFound},
		"less than that":     {nil, "export", -1, hux.NotFound},
		"of no project":      {func(a *artifacts.Artifact) { a.ProjectID = nil }, "project", 2, hux.UnknownReference},
		"export, no project": {func(a *artifacts.Artifact) { a.ProjectID = nil }, "export", 2, ""},
		"archived":           {func(a *artifacts.Artifact) { a.State = artifacts.Archived }, "project", 2, ""},
		"forgotten":          {func(a *artifacts.Artifact) { a.State = artifacts.Forgotten }, "project", 2, hux.Gone},
		"often enough":       {func(a *artifacts.Artifact) { a.Promoted = make([]artifacts.Promotion, 1000) }, "project", 2, hux.QuotaExceeded},
	} {
		a := example[artifacts.Artifact](t, artifacts.Schema)
		if c.change != nil {
			c.change(a)
		}
		before := *a
		err := a.Promote(c.target, c.version, alice, hux.Time{})
		if code(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && !reflect.DeepEqual(*a, before) {
			t.Errorf("%s: refused and changed", name)
		}
	}
}

// What the readers of a target see is the version promoted last to them,
// whatever is added or promoted elsewhere; nothing that was promoted is undone.
func TestPromotionPins(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for range 200 {
		project := "prj_0198f39f10b27c44a6b7c8d9e0f10213"
		a := &artifacts.Artifact{State: artifacts.Active, ProjectID: &project}
		shown, promotions := map[string]int{}, 0
		for range 60 {
			switch target := []string{"project", "export"}[r.IntN(2)]; r.IntN(2) {
			case 0:
				n, err := a.Next(a.HeadVersion)
				if err != nil {
					t.Fatal(err)
				}
				a.HeadVersion, a.VersionCount = n, n
			case 1:
				version := r.IntN(a.HeadVersion + 2)
				if a.Promote(target, version, alice, hux.Time{}) == nil {
					shown[target] = version
					promotions++
				} else if version >= 1 && version <= a.HeadVersion {
					t.Fatalf("version %d of %d was not promoted", version, a.HeadVersion)
				}
			}
			if len(a.Promoted) != promotions || a.Current("project") != shown["project"] || a.Current("export") != shown["export"] {
				t.Fatalf("after %d promotions %+v, shown %v", promotions, a.Promoted, shown)
			}
		}
	}
	if (&artifacts.Artifact{}).Current("project") != 0 {
		t.Error("something is shown that nobody promoted")
	}
}

// Depth finds every cycle and no other, and the longest way up.
func TestDepth(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 500 {
		n := 2 + r.IntN(12)
		links := make([][]artifacts.Link, n)
		for i := range links {
			for range r.IntN(3) {
				links[i] = append(links[i], artifacts.Link{Relation: "derived_from", ArtifactID: strconv.Itoa(r.IntN(n)), Version: 1})
			}
		}
		linksOf := func(id string) []artifacts.Link {
			i, _ := strconv.Atoi(id)
			return links[i]
		}
		// The longest walk from each; one of n steps goes in a circle.
		longest := make([]int, n)
		for range n + 1 {
			for i := range links {
				for _, l := range links[i] {
					parent, _ := strconv.Atoi(l.ArtifactID)
					longest[i] = min(max(longest[i], longest[parent]+1), n)
				}
			}
		}
		for i := range links {
			depth, err := artifacts.Depth(strconv.Itoa(i), links[i], linksOf)
			if cyclic := longest[i] == n; cyclic != (code(err) == hux.LineageCycle) || err == nil && depth != longest[i] {
				t.Fatalf("%v from %d: %d, %v, want %d of %d", links, i, depth, err, longest[i], n)
			}
		}
	}
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		from, to string
		legal    bool
	}{
		{"active", "archived", true}, {"archived", "active", true}, {"active", "forgotten", true}, {"archived", "forgotten", true},
		{"forgotten", "active", false}, {"forgotten", "archived", false}, {"active", "active", false},
	} {
		if err := artifacts.States.Check(c.from, c.to); (err == nil) != c.legal {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
	}
}
