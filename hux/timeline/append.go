package timeline

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/redact"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/store"
)

// Create is hux.event.create.v1.
type Create struct {
	Kind        string            `json:"kind"`
	Status      *string           `json:"status"`
	Summary     string            `json:"summary"`
	Evidence    []hux.EvidenceRef `json:"evidence"`
	Data        map[string]any    `json:"data"`
	RunID       string            `json:"run_id"`
	Causes      []uint64          `json:"causes"`
	Sensitivity string            `json:"sensitivity"`
	Redaction   *hux.Redaction    `json:"redaction"`
	Provenance  struct {
		Route *hux.Route `json:"route"`
	} `json:"provenance"`
}

// append writes an event and answers once it is durable.
func (s *Service) append(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[Create](call)
	if err != nil {
		return err
	}
	conversationID := r.PathValue("id")
	reported := reportOf(&in)
	draft, err := s.draft(call, conversationID, &in)
	if err != nil {
		return err
	}
	plan := record.Plan{Key: s.frame.Keys.Of(r, call)}
	for _, o := range s.observers {
		if at := o.Earliest(in.Kind); !at.IsZero() && (plan.Due.IsZero() || at.Before(plan.Due)) {
			plan.Due = at
		}
	}
	var a added
	err = s.frame.Change(r.Context(), call, plan, func(ch *record.Change) error {
		c, err := s.conversations.Peek(ch, call, conversationID)
		if err != nil {
			return err
		}
		if before := ch.Replayed(); before != nil {
			seq, err := strconv.ParseUint(before.IDs[0], 10, 64)
			a = added{seq: seq, value: event.Get(ch, c.ID, seq), known: true}
			return err
		}
		if a, err = s.add(ch, c, draft, reported); err != nil {
			return err
		}
		ch.Outcome(http.StatusCreated, strconv.FormatUint(a.seq, 10))
		return nil
	})
	if err != nil {
		return err
	}
	if a.known {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	api.RawJSON(w, http.StatusCreated, a.value)
	return nil
}

// added says where an event is in the log. An earlier report of the same may
// have put it there.
type added struct {
	seq   uint64
	value []byte // the event in the log
	known bool   // it had been told before
}

// add puts an event into the log of its conversation, unless somebody has
// reported the same before.
func (s *Service) add(ch *record.Change, c *conversation.Conversation, draft *event.Draft, r report) (a added, err error) {
	if c.State == conversation.Forgotten {
		return a, hux.Errorf(hux.ConversationForgotten, "This conversation was forgotten.")
	}
	if a.seq, a.known, err = s.firstReport(ch, c.ID, r); err != nil {
		return a, err
	}
	if a.known {
		a.value = event.Get(ch, c.ID, a.seq)
		return a, s.confirm(ch, c, draft.Event(a.seq), a.value, r)
	}
	if err := s.claim(ch, c.ID, draft.Event(0).RunID, r); err != nil {
		return a, err
	}
	if a.seq, a.value, err = ch.Append(draft); err != nil {
		return a, err
	}
	s.noteReport(ch, c.ID, r, a.seq)
	return a, s.follow(ch, c, draft.Event(a.seq))
}

// confirm notes that an agent reports what only a page had reported, and does
// what follows from it. The page's event stays in the log.
func (s *Service) confirm(ch *record.Change, c *conversation.Conversation, e *event.Event, before []byte, r report) error {
	var by struct {
		Reporter string `json:"reported_by"`
	}
	if e.RunID == "" || e.Reporter != "" || r.kind == "message.committed" {
		return nil
	}
	if err := store.Decode("events", c.ID, before, &by); err != nil || by.Reporter == "" {
		return err
	}
	if err := s.claim(ch, c.ID, e.RunID, r); err != nil {
		return err
	}
	bucket, row := event.ConfirmationRow(c.ID, e.Seq)
	if ch.Get(bucket, row) != nil {
		return nil
	}
	value, err := json.Marshal(e)
	if err != nil {
		return err
	}
	ch.Put(bucket, row, value)
	if e.Kind == "run.started" { // another may be under way by now
		return nil
	}
	return s.follow(ch, c, e)
}

// Report adds an event that a program reports otherwise than by posting it, in
// the caller's change. If the same has been reported before, nothing happens.
// Of e it takes kind, status, summary, data, evidence and run, and masks the
// secrets in them.
func (s *Service) Report(ch *record.Change, c *conversation.Conversation, e event.Event) error {
	in := Create{Kind: e.Kind, Status: e.Status, Summary: e.Summary, Evidence: e.Evidence, RunID: e.RunID}
	if len(e.Data) > 0 {
		if err := json.Unmarshal(e.Data, &in.Data); err != nil {
			return err
		}
	}
	if redact.Secretive(in.RunID) {
		return hux.Errorf(hux.SchemaInvalid, "The run's id looks like a secret.")
	}
	reported := reportOf(&in)
	draft, err := s.draft(ch.Call, c.ID, &in)
	if err != nil {
		return err
	}
	_, err = s.add(ch, c, draft, reported)
	return err
}

// follow does what follows from an event: it notes which run is under way, and
// tells the observer.
func (s *Service) follow(ch *record.Change, c *conversation.Conversation, e *event.Event) error {
	switch {
	case e.RunID == "":
	case e.Kind == "run.started":
		s.conversations.SetActive(ch, e.ConversationID, e.RunID)
	case e.Kind == "run.finished":
		s.conversations.ClearActive(ch, e.ConversationID, e.RunID)
	}
	for _, o := range s.observers {
		if err := o.Observe(ch, c, e); err != nil {
			return err
		}
	}
	return nil
}

// draft makes the event that a client posts, without the secrets in it.
func (s *Service) draft(call *api.Call, conversationID string, in *Create) (*event.Draft, error) {
	masked, err := mask(in)
	if err != nil {
		return nil, err
	}
	p := call.Provenance()
	p.Route = in.Provenance.Route
	e := event.Event{
		ConversationID: conversationID, Kind: in.Kind, Status: in.Status, Summary: in.Summary, Evidence: in.Evidence, Data: masked.data,
		RunID: in.RunID, Causes: in.Causes, Sensitivity: in.Sensitivity, Redaction: masked.redaction, CreatedAt: p.Time, Provenance: p,
	}
	if call.Actor.Kind == hux.KindHuman {
		e.Reporter = "page"
	}
	return event.NewDraft(e)
}

// maskedParts are the masked parts of an event that are no texts.
type maskedParts struct {
	data      json.RawMessage
	redaction hux.Redaction
}

// maxSummary is the length of a summary at most, in characters (contracts 2.7).
// A masked summary may be longer than before, since a mask may be longer than
// what it hides.
const maxSummary = 280

// mask masks what looks like a secret in what a client wrote, before anything
// else sees it.
func mask(in *Create) (m maskedParts, err error) {
	text := func(s string) string {
		masked, found := redact.MaskText(s)
		m.redaction.Rules = append(m.redaction.Rules, found...)
		return masked
	}
	if in.Summary = text(in.Summary); utf8.RuneCountInString(in.Summary) > maxSummary {
		in.Summary = string([]rune(in.Summary)[:maxSummary])
	}
	for i := range in.Evidence {
		in.Evidence[i].ID = text(in.Evidence[i].ID)
	}
	if in.Data != nil {
		data, found := redact.Mask(in.Data)
		m.redaction.Rules = append(m.redaction.Rules, found...)
		m.data = schema.Encode(data)
		if err := schema.Refused(faultsOfData(m.data)); err != nil {
			return m, err
		}
	}
	if in.Sensitivity == "" {
		in.Sensitivity = "normal"
	}
	m.redaction.Level = "none"
	if in.Redaction != nil {
		m.redaction.Level = in.Redaction.Level
	}
	if in.Sensitivity == "restricted" {
		m.redaction.Level = "full"
	}
	if len(m.redaction.Rules) > 0 {
		slices.Sort(m.redaction.Rules)
		now := hux.Now()
		m.redaction.Rules, m.redaction.AppliedAt = slices.Compact(m.redaction.Rules), &now
	}
	return m, nil
}

const reportsBucket = "reports" // conversation, and hash of kind and subject → seq of the first report

// report names what an event reports, for events that two may report.
type report struct{ kind, subject string }

// reportOf reads what an event reports. It does so before the event is masked,
// since an id may look like a secret.
func reportOf(in *Create) report {
	member := "tool_call_id"
	switch in.Kind {
	case "run.started", "run.finished":
		return report{in.Kind, in.RunID}
	case "message.committed":
		member = "message_id"
	}
	subject, _ := in.Data[member].(string)
	return report{in.Kind, subject}
}

func (s *Service) reportKey(conversationID string, r report) string {
	return conversationID + s.frame.Keys.Short("report", r.kind, r.subject) // the conversation stands before, so that its reports are found with it
}

// firstReport gives the number of an earlier event that reports the same: an
// agent's hook and a person's page may both see it. The first one counts.
func (s *Service) firstReport(tx store.Reader, conversationID string, r report) (seq uint64, found bool, err error) {
	if r.subject == "" {
		return 0, false, nil
	}
	value := tx.Get(reportsBucket, s.reportKey(conversationID, r))
	if value == nil {
		return 0, false, nil
	}
	seq, err = strconv.ParseUint(string(value), 10, 64)
	return seq, true, err
}

func (s *Service) noteReport(ch *record.Change, conversationID string, r report, seq uint64) {
	if r.subject != "" {
		ch.Put(reportsBucket, s.reportKey(conversationID, r), strconv.AppendUint(nil, seq, 10))
	}
}

// claim ties the run and the message that an event names to its conversation
// (contracts 2.1 and 3, conversation): neither is in two.
func (s *Service) claim(ch *record.Change, conversationID, runID string, r report) error {
	for _, run := range []string{runID, deref(ch.Call.Run)} {
		if run != "" {
			if err := s.conversations.ClaimRun(ch, conversationID, run); err != nil {
				return err
			}
		}
	}
	if r.kind == "message.committed" && r.subject != "" {
		return s.conversations.ClaimMessage(ch, conversationID, r.subject)
	}
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
