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
	var in Create
	text, err := s.door.Read(w, r, "hux.event.create.v1", &in)
	if err != nil {
		return err
	}
	key, err := s.keys.Of(r, call, text)
	if err != nil {
		return err
	}
	conversationID := r.PathValue("id")
	reported := reportOf(&in)
	draft, err := s.draft(call, conversationID, &in)
	if err != nil {
		return err
	}
	if s.observer != nil {
		release, err := s.observer.Expect(r.Context(), call.Tenant(), in.Kind)
		if err != nil {
			return err
		}
		defer release()
	}
	var value []byte
	var after func()
	replayed := false
	err = call.DB.Update(r.Context(), func(tx *store.Tx) error {
		value, replayed, after = nil, false, nil
		c, err := s.conversations.Peek(tx, call, conversationID)
		if err != nil {
			return err
		}
		if before, err := key.Replay(tx); err != nil {
			return err
		} else if before != nil {
			seq, err := strconv.ParseUint(before.ID, 10, 64)
			value, replayed = event.Get(tx, c.ID, seq), true
			return err
		}
		a, err := s.add(tx, call, c, draft, reported)
		if err != nil {
			return err
		}
		value, replayed, after = a.value, a.known, a.after
		return key.Save(tx, record.Outcome{Status: http.StatusCreated, ID: strconv.FormatUint(a.seq, 10)})
	})
	if err != nil {
		return err
	}
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	} else {
		s.log.Committed(call.Tenant(), conversationID)
	}
	if after != nil {
		after()
	}
	api.RawJSON(w, http.StatusCreated, value)
	return nil
}

// added is what became of an event: it is in the log, be it by an earlier
// report of the same.
type added struct {
	seq   uint64
	value []byte // the event in the log
	known bool   // it had been told before
	after func() // may be nil
}

// add puts an event into the log of its conversation, unless somebody has told
// the same before.
func (s *Service) add(tx *store.Tx, call *api.Call, c *conversation.Conversation, draft *event.Draft, r report) (a added, err error) {
	if c.State == conversation.Forgotten {
		return a, hux.Errorf(hux.ConversationForgotten, "This conversation was forgotten.")
	}
	if a.seq, a.known, err = s.firstReport(tx, c.ID, r); err != nil {
		return a, err
	}
	if a.known {
		a.value = event.Get(tx, c.ID, a.seq)
		a.after, err = s.confirm(tx, call, c, draft.Event(a.seq), a.value, r)
		return a, err
	}
	if err := s.claim(tx, c.ID, call, draft.Event(0).RunID, r); err != nil {
		return a, err
	}
	if a.seq, a.value, err = draft.Append(tx); err != nil {
		return a, err
	}
	if err := s.noteReport(tx, c.ID, r, a.seq); err != nil {
		return a, err
	}
	a.after, err = s.follow(tx, call, c, draft.Event(a.seq))
	return a, err
}

// confirm keeps what an agent tells of what only a page has told of before, and
// does what that brings with it. The log has the page's event still.
func (s *Service) confirm(tx *store.Tx, call *api.Call, c *conversation.Conversation, e *event.Event, before []byte, r report) (after func(), err error) {
	var by struct {
		Reporter string `json:"reported_by"`
	}
	if e.RunID == "" || e.Reporter != "" || r.kind == "message.committed" {
		return nil, nil
	}
	if err := store.Decode("events", c.ID, before, &by); err != nil || by.Reporter == "" {
		return nil, err
	}
	if err := s.claim(tx, c.ID, call, e.RunID, r); err != nil {
		return nil, err
	}
	if first, err := event.Confirm(tx, e); err != nil || !first || e.Kind == "run.started" { // another may be under way by now
		return nil, err
	}
	return s.follow(tx, call, c, e)
}

// Report adds what a program tells by another way than a POST of its own, in a
// transaction of the caller's; where it has been told before, nothing happens.
// Of e the kind, status, summary, data, evidence and run count, and its
// secrets are masked. after is to be called once the transaction is durable.
func (s *Service) Report(tx *store.Tx, call *api.Call, c *conversation.Conversation, e event.Event) (after func(), err error) {
	in := Create{Kind: e.Kind, Status: e.Status, Summary: e.Summary, Evidence: e.Evidence, RunID: e.RunID}
	if len(e.Data) > 0 {
		if err := json.Unmarshal(e.Data, &in.Data); err != nil {
			return nil, err
		}
	}
	if redact.Secretive(in.RunID) {
		return nil, hux.Errorf(hux.SchemaInvalid, "The run's id looks like a secret.")
	}
	reported := reportOf(&in)
	draft, err := s.draft(call, c.ID, &in)
	if err != nil {
		return nil, err
	}
	a, err := s.add(tx, call, c, draft, reported)
	if err != nil {
		return nil, err
	}
	return func() {
		if !a.known {
			s.log.Committed(call.Tenant(), c.ID)
		}
		if a.after != nil {
			a.after()
		}
	}, nil
}

// follow does what an event brings with it: it is known which run is under way,
// and who observes is told.
func (s *Service) follow(tx *store.Tx, call *api.Call, c *conversation.Conversation, e *event.Event) (after func(), err error) {
	switch {
	case e.RunID == "":
	case e.Kind == "run.started":
		err = s.conversations.StartRun(tx, e.ConversationID, e.RunID)
	case e.Kind == "run.finished":
		err = s.conversations.FinishRun(tx, e.ConversationID, e.RunID)
	}
	if err != nil || s.observer == nil {
		return nil, err
	}
	return s.observer.Observe(tx, call, c, e)
}

// draft makes the event of what a client says, without the secrets in it.
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

// maskedParts is what mask leaves of an event beside its texts.
type maskedParts struct {
	data      json.RawMessage
	redaction hux.Redaction
}

// maxSummary bounds a summary, in characters (contracts 2.7). Masking could
// cross it, since a mask may be longer than what it hides.
const maxSummary = 280

// mask takes secret-shaped values out of what a client wrote, before anything
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

// report is what an event tells of, where two may tell of the same.
type report struct{ kind, subject string }

// reportOf reads what an event tells of before its secrets are masked: an id is
// the same whatever it looks like.
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
	return conversationID + s.keys.Short("report", r.kind, r.subject) // the conversation stands before, so that its reports are found with it
}

// firstReport gives the number of the event that already tells the same, since
// an agent's hook and a person's page may both see it. The first wins.
func (s *Service) firstReport(tx *store.Tx, conversationID string, r report) (seq uint64, found bool, err error) {
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

func (s *Service) noteReport(tx *store.Tx, conversationID string, r report, seq uint64) error {
	if r.subject == "" {
		return nil
	}
	return tx.Put(reportsBucket, s.reportKey(conversationID, r), strconv.AppendUint(nil, seq, 10))
}

// claim ties the run and the message that an event names to its conversation
// (contracts 2.1 and 3, conversation): neither is in two.
func (s *Service) claim(tx *store.Tx, conversationID string, call *api.Call, runID string, r report) error {
	for _, run := range []string{runID, deref(call.Run)} {
		if run != "" {
			if err := s.conversations.Runs(tx, conversationID, run); err != nil {
				return err
			}
		}
	}
	if r.kind == "message.committed" && r.subject != "" {
		return s.conversations.Commits(tx, conversationID, r.subject)
	}
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
