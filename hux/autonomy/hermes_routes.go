package autonomy

import (
	"io"
	"net/http"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/redact"
	"bstein.dev/hux/hux/schema"
)

const staleAfter = 5 * time.Minute

// ingest takes a webhook of Hermes whose signature has been verified. A webhook
// may be lost or come twice, so nothing is decided by it: what it reports of a
// tool goes into the log, once, and the rest is ignored.
func (s *Service) ingest(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(schema.BodyLimit("hux.ingest.hermes.v1"))))
	if err != nil {
		return hux.Errorf(hux.BadRequest, "The body could not be read.").Because(err)
	}
	e, err := s.readHermes(body)
	if err != nil {
		return err
	}
	sent, err := time.Parse(time.RFC3339, e.Timestamp)
	if err != nil || time.Since(sent).Abs() > staleAfter {
		return hux.Errorf(hux.BadRequest, "The timestamp is more than %d minutes from now.", int(staleAfter.Minutes()))
	}
	if _, ok := e.Told(""); ok && e.SessionID != nil && *e.SessionID != "" {
		if err := s.hear(r, call, e); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// readHermes reads a webhook's body; the error is a *hux.Error, invalid_json or
// schema_invalid.
func (s *Service) readHermes(body []byte) (*HermesEvent, error) {
	picked, err := pickHermes(body, false)
	if err != nil {
		return nil, err
	}
	if err := s.Schemas.Validate("hux.ingest.hermes.v1", picked); err != nil {
		return nil, err
	}
	return eventOf(picked)
}

// hear puts what Hermes reports of a tool into the log of the session's
// conversation.
func (s *Service) hear(r *http.Request, call *api.Call, e *HermesEvent) error {
	key := s.Keys.Delivery(call, e.DeliveryID)
	session := conversation.Ref{System: "hermes_session", ID: *e.SessionID}
	way := func(h *Heard) **hux.Time { return &h.Webhook }
	if hux.ValidID("hook", e.DeliveryID) { // only hux hook event gives its deliveries such ids
		way = func(h *Heard) **hux.Time { return &h.Events }
	}
	plan := record.Plan{Key: key, Due: s.Earliest(toolStarted)}
	return s.Change(r.Context(), call, plan, func(ch *record.Change) error {
		if ch.Replayed() != nil {
			return nil
		}
		c, err := s.Conversations.Open(ch, session)
		if err != nil {
			return err
		}
		run := s.runOfTurn(ch, c.ID, e.Detail("turn_id"))
		if err := s.noteHeard(ch, hux.Agent(call.Actor.ID), way); err != nil {
			return err
		}
		told, _ := e.Told(run)
		of := *call
		of.Session, of.Run = presentable(session.ID), presentable(run)
		ch.Outcome(http.StatusNoContent)
		return s.Report(ch.By(&of), c, told)
	})
}

// runOfTurn is the run of a turn; where no turn is named, the run that is under
// way, if there is one.
func (s *Service) runOfTurn(ch *record.Change, conversationID, turnID string) string {
	if turnID == "" {
		return s.Conversations.ActiveRun(ch, conversationID)
	}
	run, _ := s.Conversations.RunOfTurn(ch, conversationID, turnID)
	return run
}

// presentable is an id as a provenance may show it; nil for "", and for one that
// looks like a secret.
func presentable(id string) *string {
	if masked, _ := redact.MaskText(id); id == "" || masked != id {
		return nil
	}
	return &id
}
