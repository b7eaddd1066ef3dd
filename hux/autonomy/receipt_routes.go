package autonomy

import (
	"encoding/json"
	"net/http"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

const maxEffects = 200 // that a receipt names

// writeReceipt ends a stop, and the run with it: nothing of the run is taken
// after the receipt.
func (s *Service) writeReceipt(tx *store.Tx, call *api.Call, conv *conversation.Conversation, st *stop, outcome string, effects []SideEffect, coverage string, c *changes) error {
	p, count := call.Provenance(), len(effects)
	if count > maxEffects {
		effects, coverage = gravestEffects(effects, maxEffects), "partial"
	}
	receipt := Receipt{
		Schema: ReceiptSchema, ID: hux.NewID("rcp"), Owner: conv.Owner, Kind: "cancellation", ConversationID: conv.ID, RunID: st.RunID,
		RequestedAt: st.RequestedAt, RequestedBy: st.RequestedBy, Outcome: outcome, SideEffects: append([]SideEffect{}, effects...), Coverage: coverage,
		CompletedAt: p.Time, CreatedAt: p.Time, Provenance: p,
	}
	value, err := json.Marshal(receipt)
	if err != nil {
		return err
	}
	if err := tx.Put(ReceiptSchema, receipt.ID, value); err != nil {
		return err
	}
	item := st.due(conv.ID)
	st.ReceiptID = receipt.ID
	if err := s.writeStop(tx, conv.ID, st); err != nil {
		return err
	}
	if err := due.Done(tx, item); err != nil {
		return err
	}
	status := "completed"
	if outcome == FailedToStop || outcome == Unknown {
		status = "failed"
	}
	if err := c.tell(tx, call, event.Event{
		ConversationID: conv.ID, RunID: st.RunID, Kind: "run.receipt", Status: &status, Summary: outcomeText(outcome, count),
		Evidence: []hux.EvidenceRef{{Kind: "receipt", ID: receipt.ID, Owner: "hux"}},
		Data:     facts{"receipt_id": receipt.ID, "outcome": outcome, "side_effects": count, "coverage": coverage}.json(),
	}); err != nil {
		return err
	}
	if err := s.Conversations.FinishRun(tx, conv.ID, st.RunID); err != nil {
		return err
	}
	return s.Conversations.EndRun(tx, conv.ID, st.RunID)
}

func (s *Service) receipt(tx *store.Tx, id string) (*Receipt, error) {
	value := tx.Get(ReceiptSchema, id)
	if value == nil || !hux.ValidID("rcp", id) {
		return nil, nil
	}
	r := new(Receipt)
	return r, store.Decode(ReceiptSchema, id, value, r)
}

func (s *Service) listReceipts(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	l, err := s.Cursors.List(r, call.Tenant(), "conversation_id", "run_id")
	if err != nil {
		return err
	}
	page := record.Page[*Receipt]{Items: []*Receipt{}}
	err = call.DB.View(r.Context(), func(tx *store.Tx) error {
		var failed error
		size := 0
		err := tx.ScanBack(ReceiptSchema, "", l.After, func(id string, value []byte) bool {
			receipt := new(Receipt)
			if failed = store.Decode(ReceiptSchema, id, value, receipt); failed != nil {
				return false
			}
			if !call.Sees(receipt.Owner) || !passes(l.Filters, "conversation_id", receipt.ConversationID) || !passes(l.Filters, "run_id", receipt.RunID) {
				return true
			}
			if size += len(value); len(page.Items) == l.Limit || len(page.Items) > 0 && size > record.PageBytes {
				cursor := l.Next(page.Items[len(page.Items)-1].ID)
				page.Next = &cursor
				return false
			}
			page.Items = append(page.Items, receipt)
			return true
		})
		if failed != nil {
			return failed
		}
		return err
	})
	if err != nil {
		return err
	}
	return api.JSON(w, http.StatusOK, page)
}

func (s *Service) getReceipt(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	var receipt *Receipt
	err := call.DB.View(r.Context(), func(tx *store.Tx) (err error) {
		receipt, err = s.receipt(tx, r.PathValue("id"))
		return err
	})
	if err != nil {
		return err
	}
	if receipt == nil || !call.Sees(receipt.Owner) {
		return hux.Errorf(hux.NotFound, "There is no such record.")
	}
	return api.JSON(w, http.StatusOK, receipt)
}

// postReceipt takes an agent's own word on how its run ended. The first
// receipt counts, whoever wrote it.
func (s *Service) postReceipt(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	var in ReceiptCreate
	text, err := s.Door.Read(w, r, "hux.receipt.create.v1", &in)
	if err != nil {
		return err
	}
	if _, err := s.Keys.Of(r, call, text); err != nil {
		return err
	}
	mask(in.SideEffects)
	var c changes
	var receipt *Receipt
	status := http.StatusCreated
	err = call.DB.Update(r.Context(), func(tx *store.Tx) error {
		c, status = changes{}, http.StatusCreated
		conv, runID, err := s.runOf(tx, call, in.Run)
		if err != nil {
			return err
		}
		st, err := s.readStop(tx, conv.ID, runID)
		if err != nil {
			return err
		}
		if st == nil {
			return hux.Errorf(hux.UnknownReference, "Nobody has asked this run to stop.")
		}
		if st.ReceiptID != "" {
			status = http.StatusOK
		} else if err := s.writeReceipt(tx, call, conv, st, in.Outcome, in.SideEffects, in.Coverage, &c); err != nil {
			return err
		}
		receipt, err = s.receipt(tx, st.ReceiptID)
		return err
	})
	if err != nil {
		return err
	}
	s.wake(call.Tenant(), c)
	if status == http.StatusOK {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	return api.JSON(w, status, receipt)
}
