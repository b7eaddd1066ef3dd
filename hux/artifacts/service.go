package artifacts

import (
	"net/http"
	"slices"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/redact"
	"bstein.dev/hux/hux/schema"
)

// Service keeps artifacts.
type Service struct {
	frame     *record.Frame
	artifacts *record.Collection[Artifact]
	cursors   *api.Cursors
}

// New makes a Service.
func New(frame *record.Frame, cursors *api.Cursors) *Service {
	return &Service{frame: frame, cursors: cursors, artifacts: record.In(frame, record.Spec[Artifact]{
		Name: Schema, Prefix: "art", Meta: func(a *Artifact) *hux.Meta { return &a.Meta },
		State: func(a *Artifact) *string { return &a.State }, States: States,
		Indexes: []record.Index[Artifact]{
			{Name: "state", Values: func(a *Artifact) []string { return []string{a.State} }},
			{Name: "type", Values: func(a *Artifact) []string { return []string{a.Type} }},
			{Name: "project_id", Values: func(a *Artifact) []string { return record.Value(a.ProjectID) }},
			{Name: "conversation_id", Values: func(a *Artifact) []string { return record.Value(a.ConversationID) }},
		},
	})}
}

var filters = []string{"conversation_id", "project_id", "type", "state"}

func passes(a *Artifact, filters map[string]string) bool {
	return record.Passes(filters, "conversation_id", record.Value(a.ConversationID)...) && record.Passes(filters, "project_id", record.Value(a.ProjectID)...) &&
		record.Passes(filters, "type", a.Type) && record.Passes(filters, "state", a.State)
}

// create makes an artifact. In a project it is the tenant's, which a person
// decides; else it is its maker's, or its conversation's owner's.
func (s *Service) create(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[Create](call)
	if err != nil {
		return err
	}
	return s.artifacts.Write(w, r, call, time.Time{}, func(ch *record.Change) (*Artifact, int, error) {
		owner := call.User
		if in.ConversationID != nil {
			if owner, err = s.frame.Refer(ch, call, "hux.conversation.v1", *in.ConversationID, "conversation"); err != nil {
				return nil, 0, err
			}
		}
		if owner == "" {
			return nil, 0, hux.Errorf(hux.HumanRequired, "This slot has several members: name a conversation.")
		}
		for _, l := range in.Lineage {
			if err := s.checkLink(ch, call, l); err != nil {
				return nil, 0, err
			}
		}
		if in.ProjectID != nil {
			if err := s.enter(ch, *in.ProjectID); err != nil {
				return nil, 0, err
			}
			owner = ""
		}
		a, err := s.artifacts.Create(ch, owner, func(m hux.Meta) *Artifact {
			a := &Artifact{
				Meta: m, Title: redact.Name(in.Title, schema.MaxName), Type: in.Type, ProjectID: in.ProjectID, ConversationID: in.ConversationID,
				Lineage: append([]Link{}, in.Lineage...), Promoted: []Promotion{}, State: Active, Sensitivity: "normal", Redaction: hux.Redaction{Level: "none"},
			}
			if in.Sensitivity != "" {
				a.Sensitivity = in.Sensitivity
			}
			api.Set(&a.Redaction, in.Redaction)
			return a
		})
		return a, http.StatusCreated, err
	})
}

// enter holds whether an artifact may go into a project, where it is the
// tenant's: a person decides that.
func (s *Service) enter(ch *record.Change, projectID string) error {
	if ch.Call.Actor.Kind != hux.KindHuman {
		return hux.Errorf(hux.HumanRequired, "Only a person shows an artifact to the members of a project.")
	}
	_, err := s.frame.Refer(ch, ch.Call, "hux.project.v1", projectID, "project")
	return err
}

// checkLink holds a version that an artifact was made from. Lineage is set once,
// at the start, so no circle can come of it.
func (s *Service) checkLink(ch *record.Change, call *api.Call, l Link) error {
	from, err := s.artifacts.Read(ch, l.ArtifactID)
	if err == nil && (from == nil || !call.Sees(from.Owner) || l.Version < 1 || l.Version > from.HeadVersion) {
		err = hux.Errorf(hux.UnknownReference, "The lineage names no version that there is.")
	}
	return err
}

func (s *Service) patch(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[Patch](call)
	if err != nil {
		return err
	}
	return s.artifacts.Write(w, r, call, time.Time{}, func(ch *record.Change) (*Artifact, int, error) {
		a, err := s.artifacts.Update(ch, r.PathValue("id"), func(a *Artifact) error {
			if a.State == Forgotten {
				return hux.Errorf(hux.Gone, "This artifact was forgotten.")
			}
			if in.Title != nil {
				a.Title = redact.Name(*in.Title, schema.MaxName)
			}
			api.Set(&a.State, in.State)
			api.Set(&a.Sensitivity, in.Sensitivity)
			api.Set(&a.Redaction, in.Redaction)
			return s.move(ch, a, in.ProjectID)
		})
		return a, http.StatusOK, err
	})
}

// move puts an artifact into a project, or takes it out: then it is whose who
// takes it.
func (s *Service) move(ch *record.Change, a *Artifact, to api.Nullable[string]) error {
	switch {
	case !to.There || slices.Equal(record.Value(to.Value), record.Value(a.ProjectID)):
		return nil
	case to.Value != nil:
		if err := s.enter(ch, *to.Value); err != nil {
			return err
		}
		a.Owner = ""
	case ch.Call.Actor.Kind != hux.KindHuman:
		return hux.Errorf(hux.HumanRequired, "Only a person takes an artifact out of its project.")
	default:
		a.Owner = ch.Call.User
	}
	a.ProjectID = to.Value
	return nil
}
