package artifacts

import (
	"fmt"
	"slices"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// The card's limits (contracts 2.7).
const (
	MaxText     = 1 << 20  // bytes of a version's text
	MaxVersions = 1000     // of an artifact
	MaxBlob     = 64 << 20 // bytes
)

// Rules are what the card's schemas can't say.
var Rules = map[string]schema.Rule{
	Schema:        schema.RuleOf(faultsOfArtifact),
	VersionSchema: schema.RuleOf(faultsOfVersion),
	DiffSchema:    schema.RuleOf(faultsOfDiff),
	"hux.artifact.create.v1": schema.RuleOf(func(c *Create) schema.Faults {
		return faultsOfLinks("", c.Lineage)
	}),
	"hux.artifact_version.create.v1": schema.RuleOf(func(c *VersionCreate) schema.Faults {
		return slices.Concat(faultsOfText(c.Content), faultsOfHunks("/patch", c.Patch))
	}),
}

func faultsOfArtifact(a *Artifact) schema.Faults {
	faults := faultsOfLinks(a.ID, a.Lineage)
	if a.VersionCount != a.HeadVersion {
		faults.Add("/version_count", "versions_not_contiguous", "must be the number of the last version")
	}
	for i, p := range a.Promoted {
		if p.Version > a.HeadVersion {
			faults.Add(fmt.Sprintf("/promoted/%d/version", i), string(hux.UnknownReference), "is no version of the artifact")
		}
	}
	return faults
}

// faultsOfLinks is of the lineage of the artifact id, which is "" before it has
// one.
func faultsOfLinks(id string, links []Link) (faults schema.Faults) {
	for i, l := range links {
		pointer := fmt.Sprintf("/lineage/%d", i)
		if l.ArtifactID == id {
			faults.Add(pointer, string(hux.LineageCycle), "must not be the artifact itself")
		}
		if slices.Contains(links[:i], l) {
			faults.Add(pointer, "lineage_twice", "is there already")
		}
	}
	return faults
}

func faultsOfVersion(v *Version) schema.Faults {
	faults := faultsOfText(v.Content)
	if v.Content != nil && v.ContentHash != Hash(*v.Content) || v.Blob != nil && v.ContentHash != v.Blob.Digest {
		faults.Add("/content_hash", "content_hash_mismatch", "must be the SHA-256 of the content")
	}
	if v.N != v.BaseVersion+1 {
		faults.Add("/base_version", string(hux.VersionConflict), "must be the version before this one")
	}
	return faults
}

// faultsOfText counts bytes, where the schema counts characters.
func faultsOfText(content *string) (faults schema.Faults) {
	faults.AddIf(content != nil && len(*content) > MaxText, "/content", string(hux.TooLarge), fmt.Sprintf("must have at most %d bytes", MaxText))
	return faults
}

// Hash is the content_hash of a text.
func Hash(content string) string { return hux.Digest([]byte(content)) }

// Next is the number of a version that was made from base. Another version
// that came between is version_conflict, with the head that there is.
func (a *Artifact) Next(base int) (int, error) {
	switch {
	case a.State == Forgotten:
		return 0, hux.Errorf(hux.Gone, "This artifact was forgotten.")
	case base != a.HeadVersion:
		e := hux.Errorf(hux.VersionConflict, "The artifact is at version %d.", a.HeadVersion)
		e.Members = map[string]any{"head": a.HeadVersion}
		return 0, e
	case base >= MaxVersions:
		return 0, hux.Errorf(hux.QuotaExceeded, "An artifact has %d versions at most.", MaxVersions)
	}
	return base + 1, nil
}

// Changes says whether a version differs from the head, nil before the first.
// One that does not is no version.
func Changes(head *Version, mediaType, hash string) error {
	if head != nil && head.ContentHash == hash && head.MediaType == mediaType {
		return hux.Errorf(hux.NoChange, "This is what the artifact is already.")
	}
	return nil
}

// Origin is the origin of a version for which asked was asked, "" for nothing:
// whose it is follows from who posts it. A machine's rule, such as speech
// recognition, is no person's; anybody may bring an earlier version back.
func Origin(asked string, by hux.Kind) (string, error) {
	own := "agent"
	if by == hux.KindHuman {
		own = "human"
	}
	switch {
	case asked == "" || asked == own:
		return own, nil
	case asked == "restore", asked == "automatic" && by != hux.KindHuman:
		return asked, nil
	}
	return "", hux.Errorf(hux.ReadOnlyField, "The origin follows from who posts the version.")
}

// Promote shows a version to the readers of a target.
func (a *Artifact) Promote(target string, version int, by hux.Actor, at hux.Time) error {
	switch {
	case a.State == Forgotten:
		return hux.Errorf(hux.Gone, "This artifact was forgotten.")
	case version < 1 || version > a.HeadVersion:
		return hux.Errorf(hux.NotFound, "There is no such version.")
	case target == "project" && a.ProjectID == nil:
		return hux.Errorf(hux.UnknownReference, "The artifact is in no project.")
	case len(a.Promoted) >= MaxVersions:
		return hux.Errorf(hux.QuotaExceeded, "An artifact is promoted %d times at most.", MaxVersions)
	}
	a.Promoted = append(a.Promoted, Promotion{Target: target, Version: version, At: at, Actor: by})
	return nil
}

// Current is the version that the readers of a target see, 0 for none: the one
// that was promoted last, however many came after it.
func (a *Artifact) Current(target string) int {
	for _, p := range slices.Backward(a.Promoted) {
		if p.Target == target {
			return p.Version
		}
	}
	return 0
}

// Depth is how many generations of artifacts stand before one that has these
// links: 0 for one that was made from nothing. linksOf gives the links of
// another, none for one that is not known. A lineage that leads back to where
// it came from is lineage_cycle.
func Depth(id string, links []Link, linksOf func(id string) []Link) (int, error) {
	const open = -1
	depths := map[string]int{id: open}
	var below func(links []Link) (int, error)
	below = func(links []Link) (int, error) {
		deepest := 0
		for _, l := range links {
			depth, known := depths[l.ArtifactID]
			if depth == open {
				return 0, hux.Errorf(hux.LineageCycle, "The lineage leads back to where it came from.")
			}
			if !known {
				depths[l.ArtifactID] = open
				var err error
				if depth, err = below(linksOf(l.ArtifactID)); err != nil {
					return 0, err
				}
				depths[l.ArtifactID] = depth
			}
			deepest = max(deepest, depth+1)
		}
		return deepest, nil
	}
	return below(links)
}
