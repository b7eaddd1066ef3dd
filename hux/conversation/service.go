package conversation

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/redact"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/store"
)

// Service keeps conversations.
type Service struct {
	records *record.Collection[Conversation]
	frame   *record.Frame
	cursors *api.Cursors
	flags   hux.Flags
}

// New makes a Service.
func New(frame *record.Frame, cursors *api.Cursors, flags hux.Flags) *Service {
	frame.OfConversation(activeBucket, turnsBucket)
	return &Service{
		records: record.In(frame, record.Spec[Conversation]{
			Name:   Schema,
			Prefix: "cnv",
			Meta:   func(c *Conversation) *hux.Meta { return &c.Meta },
			State:  func(c *Conversation) *string { return &c.State },
			States: States,
			Fill:   fill,
			Indexes: []record.Index[Conversation]{
				{Name: "state", Values: func(c *Conversation) []string { return []string{c.State} }},
				{Name: "tag", Values: func(c *Conversation) []string { return c.Tags }},
				{Name: "project_id", Values: func(c *Conversation) []string { return record.Value(c.ProjectID) }},
				{Name: byRef, Tenant: true, Values: func(c *Conversation) (refs []string) {
					for _, ref := range c.ExternalRefs {
						refs = append(refs, ref.IDHash)
					}
					return refs
				}},
			},
		}),
		frame: frame, cursors: cursors, flags: flags,
	}
}

const byRef = "external_ref"

// Peek gives a conversation that the caller may see, to look at alone.
func (s *Service) Peek(tx store.Reader, call *api.Call, id string) (*Conversation, error) {
	return s.records.Peek(tx, call, id)
}

// Read reads a conversation, whoever owns it, or nil.
func (s *Service) Read(tx store.Reader, id string) (*Conversation, error) {
	return s.records.Read(tx, id)
}

// Routes are the conversation's lines of /hux/v1.
func (s *Service) Routes() []api.Route {
	scoped := []string{"hux.activity_timeline", "hux.memory_control", "hux.projects", "hux.artifacts", "hux.autonomy", "hux.friendly_modes", "hux.research", "hux.privacy"}
	return []api.Route{
		{
			Method: "GET", Path: "/conversations", Summary: "The caller's conversations, newest first",
			Flags: scoped, Query: slices.Concat([]string{"cursor", "limit"}, filters), Record: Schema, Answer: api.Page, Handler: s.records.Lists(s.cursors, filters, matches),
		},
		{
			Method: "POST", Path: "/conversations", Summary: "Opens a conversation; with an external_ref gives the one that has it",
			Flags: scoped, Request: "hux.conversation.create.v1", Status: []int{http.StatusOK, http.StatusCreated}, Record: Schema, Handler: s.create,
		},
		{Method: "GET", Path: "/conversations/{id}", Summary: "A conversation", Flags: scoped, Record: Schema, Handler: s.records.Get},
		{
			Method: "PATCH", Path: "/conversations/{id}", Summary: "Changes what a person may change, as a merge patch (RFC 7396)",
			Flags: scoped, Request: "hux.conversation.patch.v1", IfMatch: true, Record: Schema, Handler: s.patch,
		},
	}
}

// filters are what a list can be asked for.
var filters = []string{"state", "project_id", "tag"}

func matches(c *Conversation, filters map[string]string) bool {
	return record.Passes(filters, "state", c.State) && record.Passes(filters, "project_id", record.Value(c.ProjectID)...) && record.Passes(filters, "tag", c.Tags...)
}

// fill reads the members that move without a revision.
func fill(tx store.Reader, c *Conversation) error {
	c.LastActivityAt = c.UpdatedAt
	head, err := event.Head(tx, c.ID)
	if damage := (*store.Unreadable)(nil); errors.As(err, &damage) {
		return nil // whoever reads its events is told; its record, and those beside it, are whole
	}
	if err != nil || head == 0 {
		return err
	}
	c.HeadSeq = head
	var last struct {
		CreatedAt time.Time `json:"created_at"`
	}
	if err := store.Decode("events", c.ID, event.Get(tx, c.ID, head), &last); err != nil {
		return err
	}
	if last.CreatedAt.After(c.UpdatedAt.Time) {
		c.LastActivityAt = hux.Time{Time: last.CreatedAt}
	}
	return nil
}

// Create is hux.conversation.create.v1.
type Create struct {
	Title       string   `json:"title"`
	ProjectID   *string  `json:"project_id"`
	Tags        []string `json:"tags"`
	Pinned      bool     `json:"pinned"`
	ExternalRef *Ref     `json:"external_ref"`
}

// Ref is a session of another system.
type Ref struct {
	System string `json:"system"` // such as hermes_session, webui or telegram
	ID     string `json:"id"`
}

// create makes a conversation; with an external reference it gives the one
// that there is.
func (s *Service) create(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[Create](call)
	if err != nil {
		return err
	}
	if err := s.checkProjects(in.ProjectID, in.Tags); err != nil {
		return err
	}
	if in.Title == "" {
		in.Title = "New conversation"
	}
	in.Title = redact.Name(in.Title, schema.MaxName)
	return s.records.Write(w, r, call, time.Time{}, func(ch *record.Change) (*Conversation, int, error) { return s.open(ch, in) })
}

// Open gives the conversation that another system's session has, and makes one
// where it has none yet.
func (s *Service) Open(ch *record.Change, ref Ref) (*Conversation, error) {
	c, _, err := s.open(ch, Create{Title: "New conversation", ExternalRef: &ref})
	return c, err
}

// OfSession is Open for the router's own calls: the conversation that a session
// has may be anybody's.
func (s *Service) OfSession(ch *record.Change, ref Ref) (*Conversation, error) {
	if c, err := s.ofRef(ch, ref); err != nil || c != nil {
		return c, err
	}
	return s.Open(ch, ref)
}

// ofRef is the conversation that a session has, whoever owns it, or nil.
func (s *Service) ofRef(tx store.Reader, ref Ref) (*Conversation, error) {
	found, err := s.records.Find(tx, "", byRef, s.refKey(ref))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

func (s *Service) open(ch *record.Change, in Create) (c *Conversation, status int, err error) {
	var names []Ref
	if in.ExternalRef != nil {
		names = in.ExternalRef.names()
		if c, err := s.ofRef(ch, names[0]); err != nil || c != nil {
			if err == nil && !ch.Call.Sees(c.Owner) {
				err = hux.Errorf(hux.NotFound, "There is no such record.")
			}
			return c, http.StatusOK, err
		}
	}
	if ch.Call.User == "" {
		return nil, 0, hux.Errorf(hux.HumanRequired, "This slot has several members: one of them must open the conversation.")
	}
	if err := s.inProject(ch, in.ProjectID); err != nil {
		return nil, 0, err
	}
	c, err = s.records.Create(ch, ch.Call.User, func(m hux.Meta) *Conversation {
		c := &Conversation{
			Meta: m, Title: in.Title, ProjectID: in.ProjectID, Tags: append([]string{}, in.Tags...), Pinned: in.Pinned,
			State: Active, Branch: Branch{RootID: m.ID}, Mode: Mode{Mode: "thoughtful"},
			Memory: Memory{Read: true, Write: true}, ExternalRefs: []ExternalRef{}, LastActivityAt: m.CreatedAt,
		}
		for _, ref := range names {
			c.ExternalRefs = append(c.ExternalRefs, ExternalRef{ref.System, s.refKey(ref)})
		}
		return c
	})
	return c, http.StatusCreated, err
}

// Forget leaves a stub of a conversation, and begins to take all else of it away.
// The change lets something fall due at once.
func (s *Service) Forget(ch *record.Change, id string) (*Conversation, error) {
	c, err := s.records.Update(ch, id, func(c *Conversation) error {
		c.Title, c.ProjectID, c.Tags, c.Pinned, c.State = "Forgotten", nil, []string{}, false, Forgotten
		c.ExternalRefs = []ExternalRef{}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, s.frame.Forget(ch, id)
}

// names are all that a session is known by, what it was called first. The
// WebUI runs its sessions at the agent under their own ids, so that the page
// and the agent's hooks mean the same by one id.
func (r Ref) names() []Ref {
	switch r.System {
	case "webui":
		return []Ref{r, {"hermes_session", r.ID}}
	case "hermes_session":
		return []Ref{r, {"webui", r.ID}}
	}
	return []Ref{r}
}

func (s *Service) refKey(r Ref) string { return s.frame.Keys.Hash("external_ref", r.System, r.ID) }

// inProject says whether a conversation may be in a project that a body names.
func (s *Service) inProject(ch *record.Change, id *string) error {
	if id == nil {
		return nil
	}
	_, err := s.frame.Refer(ch, ch.Call, "hux.project.v1", *id, "project")
	return err
}

func (s *Service) checkProjects(projectID *string, tags []string) error {
	if (projectID != nil || tags != nil) && !s.flags.Enabled("hux.projects") {
		return hux.Errorf(hux.FeatureDisabled, "Projects and tags need hux.projects, which is not switched on.")
	}
	return nil
}

// Patch is hux.conversation.patch.v1, a merge patch (RFC 7396).
type Patch struct {
	Title     *string              `json:"title"`
	Pinned    *bool                `json:"pinned"`
	State     *string              `json:"state"`
	ProjectID api.Nullable[string] `json:"project_id"` // null takes it out of its project
	Tags      []string             `json:"tags"`
}

func (s *Service) patch(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[Patch](call)
	if err != nil {
		return err
	}
	if in.ProjectID.There || in.Tags != nil {
		if err := s.checkProjects(new(string), in.Tags); err != nil {
			return err
		}
	}
	return s.records.Write(w, r, call, time.Time{}, func(ch *record.Change) (*Conversation, int, error) {
		c, err := s.records.Update(ch, r.PathValue("id"), func(c *Conversation) error {
			if c.State == Forgotten {
				return hux.Errorf(hux.ConversationForgotten, "This conversation was forgotten.")
			}
			if err := s.inProject(ch, in.ProjectID.Value); err != nil {
				return err
			}
			if in.Title != nil {
				c.Title = redact.Name(*in.Title, schema.MaxName)
			}
			api.Set(&c.Pinned, in.Pinned)
			api.Set(&c.State, in.State)
			if in.ProjectID.There {
				c.ProjectID = in.ProjectID.Value
			}
			if in.Tags != nil {
				c.Tags = in.Tags
			}
			return nil
		})
		return c, http.StatusOK, err
	})
}
