package autonomy

import (
	"net/http"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

const maxEffects = 200 // effects that a receipt names at most

// writeReceipt ends a stop, and the run with it. After the receipt hux takes no
// question and no report of the run.
func (s *Service) writeReceipt(ch *record.Change, conv *conversation.Conversation, st *stop, outcome string, effects []SideEffect, coverage string) error {
	count := len(effects)
	if count > maxEffects {
		effects, coverage = gravestEffects(effects, maxEffects), "partial"
	}
	receipt := &Receipt{
		Schema: ReceiptSchema, ID: ch.NewID("rcp"), Owner: conv.Owner, Kind: "cancellation", ConversationID: conv.ID, RunID: st.RunID,
		RequestedAt: st.RequestedAt, RequestedBy: st.RequestedBy, Outcome: outcome, SideEffects: append([]SideEffect{}, effects...), Coverage: coverage,
		CompletedAt: ch.At, CreatedAt: ch.At, Provenance: ch.Provenance(),
	}
	if err := s.receipts.Save(ch, receipt); err != nil {
		return err
	}
	ch.NoLongerDue(st.due(conv.ID))
	st.ReceiptID = receipt.ID
	if err := s.writeStop(ch, conv.ID, st); err != nil {
		return err
	}
	s.Conversations.ClearActive(ch, conv.ID, st.RunID)
	s.Conversations.MarkEnded(ch, conv.ID, st.RunID)
	status := "completed"
	if outcome == FailedToStop || outcome == Unknown {
		status = "failed"
	}
	return ch.Tell(event.Event{
		ConversationID: conv.ID, RunID: st.RunID, Kind: "run.receipt", Status: &status, Summary: outcomeText(outcome, count),
		Evidence: []hux.EvidenceRef{{Kind: "receipt", ID: receipt.ID, Owner: "hux"}},
		Data:     facts{"receipt_id": receipt.ID, "outcome": outcome, "side_effects": count, "coverage": coverage}.json(),
	})
}

func (s *Service) listReceipts() func(http.ResponseWriter, *http.Request, *api.Call) error {
	return s.receipts.Lists(s.Cursors, []string{"conversation_id", "run_id"}, func(r *Receipt, filters map[string]string) bool {
		return record.Passes(filters, "conversation_id", r.ConversationID) && record.Passes(filters, "run_id", r.RunID)
	})
}

func (s *Service) getReceipt(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	var receipt *Receipt
	err := call.DB.View(r.Context(), func(tx *store.Tx) (err error) {
		receipt, err = s.receipts.Load(tx, call, r.PathValue("id"))
		return err
	})
	if err != nil {
		return err
	}
	return api.JSON(w, http.StatusOK, receipt)
}

// postReceipt takes an agent's report of how its run ended. The first receipt
// counts, whether the agent or the router wrote it.
func (s *Service) postReceipt(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[ReceiptCreate](call)
	if err != nil {
		return err
	}
	mask(in.SideEffects)
	var receipt *Receipt
	status := http.StatusCreated
	err = s.Change(r.Context(), call, record.Plan{}, func(ch *record.Change) error {
		status = http.StatusCreated
		conv, runID, err := s.runOf(ch, in.Run)
		if err != nil {
			return err
		}
		st, err := s.readStop(ch, conv.ID, runID)
		if err != nil {
			return err
		}
		if st == nil {
			return hux.Errorf(hux.UnknownReference, "Nobody has asked this run to stop.")
		}
		if st.ReceiptID != "" {
			status = http.StatusOK
		} else if err := s.writeReceipt(ch, conv, st, in.Outcome, in.SideEffects, in.Coverage); err != nil {
			return err
		}
		receipt, err = s.receipts.Read(ch, st.ReceiptID)
		return err
	})
	if err != nil {
		return err
	}
	if status == http.StatusOK {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	return api.JSON(w, status, receipt)
}
