package artifacts

import (
	"fmt"
	"net/http"
	"strconv"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/redact"
	"bstein.dev/hux/hux/store"
)

// versions are kept by artifact and number, and never change.
const versions = record.Table[Version](VersionSchema)

func versionKey(artifactID string, n int) string { return artifactID + fmt.Sprintf("%06d", n) }

// addVersion adds a version to the one that it was made from.
func (s *Service) addVersion(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[VersionCreate](call)
	if err != nil {
		return err
	}
	origin, err := Origin(in.Origin, call.Actor.Kind)
	if err != nil {
		return err
	}
	var v *Version
	var replayed bool
	err = s.frame.Change(r.Context(), call, record.Plan{Key: s.frame.Keys.Of(r, call)}, func(ch *record.Change) error {
		a, err := s.artifacts.Load(ch, call, r.PathValue("id"))
		if err != nil {
			return err
		}
		if before := ch.Replayed(); before != nil {
			replayed = true
			v, err = versions.Get(ch, before.IDs[0])
			return err
		}
		replayed = false
		v, err = s.version(ch, a, in, origin)
		return err
	})
	if err != nil {
		return err
	}
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	return api.JSON(w, http.StatusCreated, v)
}

// version writes a version of an artifact, and the artifact with it.
func (s *Service) version(ch *record.Change, a *Artifact, in VersionCreate, origin string) (*Version, error) {
	n, err := a.Next(in.BaseVersion)
	if err != nil {
		return nil, err
	}
	head, err := versions.Get(ch, versionKey(a.ID, a.HeadVersion)) // nil before the first
	if err != nil {
		return nil, err
	}
	v := &Version{
		Schema: VersionSchema, ArtifactID: a.ID, N: n, MediaType: in.MediaType, Content: in.Content, BaseVersion: in.BaseVersion, Origin: origin,
		CreatedAt: ch.At, Provenance: ch.Provenance(),
	}
	switch {
	case in.Blob != nil:
		return nil, hux.Errorf(hux.UnknownReference, "There are no such bytes: upload them first.")
	case in.Patch != nil:
		base := ""
		if head != nil && head.Content != nil {
			base = *head.Content
		}
		text, err := Apply(base, in.Patch)
		if err != nil {
			return nil, err
		}
		if len(text) > MaxText {
			return nil, hux.Errorf(hux.TooLarge, "A version's text may have %d bytes.", MaxText)
		}
		v.Content = &text
	}
	v.ContentHash = Hash(*v.Content)
	if err := Changes(head, v.MediaType, v.ContentHash); err != nil {
		return nil, err
	}
	var masked []string
	if v.ChangeSummary, masked = redact.MaskText(in.ChangeSummary); len(masked) > 0 {
		v.Redaction = &hux.Redaction{Level: "none", Rules: masked, AppliedAt: &ch.At}
	}
	if err := s.artifacts.Revise(ch, a, func(a *Artifact) error {
		a.HeadVersion, a.VersionCount = n, n
		return nil
	}); err != nil {
		return nil, err
	}
	key := versionKey(a.ID, n)
	ch.Outcome(http.StatusCreated, key)
	return v, versions.Put(ch, key, v)
}

func (s *Service) listVersions(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	l, err := s.cursors.List(r, call.Tenant())
	if err != nil {
		return err
	}
	var page record.Page[*Version]
	err = call.DB.View(r.Context(), func(tx *store.Tx) error {
		a, err := s.artifacts.Load(tx, call, r.PathValue("id"))
		if err != nil {
			return err
		}
		page, err = versions.Page(tx, a.ID, l)
		return err
	})
	if err != nil {
		return err
	}
	return api.JSON(w, http.StatusOK, page)
}

// one reads the version that the path names.
func (s *Service) one(r *http.Request, call *api.Call) (v *Version, err error) {
	err = call.DB.View(r.Context(), func(tx *store.Tx) error {
		a, err := s.artifacts.Load(tx, call, r.PathValue("id"))
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(r.PathValue("n"))
		if err != nil || n < 1 || n > a.HeadVersion || strconv.Itoa(n) != r.PathValue("n") {
			return hux.Errorf(hux.NotFound, "There is no such version.")
		}
		v, err = versions.Get(tx, versionKey(a.ID, n))
		return err
	})
	return v, err
}

func (s *Service) getVersion(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	v, err := s.one(r, call)
	if err != nil {
		return err
	}
	return api.JSON(w, http.StatusOK, v)
}
