package projects

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

// Service keeps projects.
type Service struct {
	frame    *record.Frame
	projects *record.Collection[Project]
	cursors  *api.Cursors
}

// New makes a Service.
func New(frame *record.Frame, cursors *api.Cursors) *Service {
	return &Service{frame: frame, cursors: cursors, projects: record.In(frame, record.Spec[Project]{
		Name: Schema, Prefix: "prj", Meta: func(p *Project) *hux.Meta { return &p.Meta },
		State: func(p *Project) *string { return &p.State }, States: States,
		Indexes: []record.Index[Project]{
			{Name: "state", Values: func(p *Project) []string { return []string{p.State} }},
			{Name: "tag", Values: func(p *Project) []string { return p.Tags }},
		},
	})}
}

var filters = []string{"state", "tag"}

func passes(p *Project, filters map[string]string) bool {
	return record.Passes(filters, "state", p.State) && record.Passes(filters, "tag", p.Tags...)
}

// refer holds the artifact that says how to work in a project.
func (s *Service) refer(ch *record.Change, id string) error {
	if id == "" {
		return nil
	}
	_, err := s.frame.Refer(ch, ch.Call, "hux.artifact.v1", id, "artifact")
	return err
}

// create makes a project, which is the tenant's.
func (s *Service) create(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[Create](call)
	if err != nil {
		return err
	}
	return s.projects.Write(w, r, call, time.Time{}, func(ch *record.Change) (*Project, int, error) {
		if err := s.refer(ch, in.InstructionsRef); err != nil {
			return nil, 0, err
		}
		p, err := s.projects.Create(ch, "", func(m hux.Meta) *Project {
			p := &Project{
				Meta: m, Title: redact.Name(in.Title, schema.MaxName), Description: redact.Name(in.Description, schema.MaxDescription), State: Active,
				Tags: append([]string{}, in.Tags...), Pinned: in.Pinned, MemoryScope: "shared", DefaultMode: in.DefaultMode, InstructionsRef: in.InstructionsRef,
			}
			if in.MemoryScope != "" {
				p.MemoryScope = in.MemoryScope
			}
			return p
		})
		return p, http.StatusCreated, err
	})
}

func (s *Service) patch(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[Patch](call)
	if err != nil {
		return err
	}
	return s.projects.Write(w, r, call, time.Time{}, func(ch *record.Change) (*Project, int, error) {
		p, err := s.projects.Update(ch, r.PathValue("id"), func(p *Project) error {
			if p.State == Forgotten {
				return hux.Errorf(hux.Gone, "This project was forgotten.")
			}
			if in.Title != nil {
				p.Title = redact.Name(*in.Title, schema.MaxName)
			}
			in.Description.Set(&p.Description)
			p.Description = redact.Name(p.Description, schema.MaxDescription)
			api.Set(&p.State, in.State)
			if in.Tags != nil {
				p.Tags = slices.Clone(in.Tags)
			}
			api.Set(&p.Pinned, in.Pinned)
			api.Set(&p.MemoryScope, in.MemoryScope)
			in.DefaultMode.Set(&p.DefaultMode)
			in.InstructionsRef.Set(&p.InstructionsRef)
			if in.InstructionsRef.There {
				return s.refer(ch, p.InstructionsRef)
			}
			return nil
		})
		return p, http.StatusOK, err
	})
}
