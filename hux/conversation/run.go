package conversation

import (
	"encoding/hex"
	"slices"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

// Names of the gateway that belong to one conversation of the tenant, as keyed
// hashes.
const (
	runsBucket     = "runs"     // hash of run id → conversation id, and endMark once it has its receipt
	messagesBucket = "messages" // hash of message id → conversation id
	activeBucket   = "active"   // conversation id → id of the run that started last and has not finished
	turnsBucket    = "turns"    // hash of turn id → run id
	endMark        = " ended"
)

// Runs says that a run is the conversation's: the first conversation that it is
// named in has it, and every other is refused with unknown_reference. A run
// that has ended for good is run_ended.
func (s *Service) Runs(tx *store.Tx, conversationID, runID string) error {
	return s.claim(tx, runsBucket, conversationID, runID, "This run belongs to another conversation.")
}

// StartRun notes that a run is under way in its conversation.
func (s *Service) StartRun(tx *store.Tx, conversationID, runID string) error {
	return tx.Put(activeBucket, conversationID, []byte(runID))
}

// FinishRun notes that a run is no longer under way.
func (s *Service) FinishRun(tx *store.Tx, conversationID, runID string) error {
	if s.ActiveRun(tx, conversationID) != runID {
		return nil
	}
	return tx.Delete(activeBucket, conversationID)
}

// ActiveRun is the run that is under way in a conversation, or "".
func (s *Service) ActiveRun(tx *store.Tx, conversationID string) string {
	return string(tx.Get(activeBucket, conversationID))
}

// Active lists the conversations in which a run is under way.
func (s *Service) Active(tx *store.Tx) (ids []string) {
	for _, e := range tx.List(activeBucket, "") {
		ids = append(ids, e.Key)
	}
	return ids
}

// RunOfTurn is the run that the gateway's turn is: the one that is under way in
// the conversation when the turn is first heard of, since a page names a run
// otherwise than a hook does; else the turn names the run, unless another
// conversation has a run of that name.
func (s *Service) RunOfTurn(tx *store.Tx, conversationID, turnID string) (string, error) {
	key := s.keys.Short(turnsBucket, conversationID, turnID)
	if run := tx.Get(turnsBucket, key); run != nil {
		return string(run), nil
	}
	run := s.ActiveRun(tx, conversationID)
	if run == "" {
		if run = turnID; !slices.Contains([]string{"", conversationID}, s.RunOf(tx, run)) {
			run = "turn:" + hex.EncodeToString([]byte(key))
		}
	}
	return run, tx.Put(turnsBucket, key, []byte(run))
}

// EndRun ends a run for good: nothing of it is taken any more.
func (s *Service) EndRun(tx *store.Tx, conversationID, runID string) error {
	return tx.Put(runsBucket, s.keys.Short(runsBucket, runID), []byte(conversationID+endMark))
}

// RunOf is the conversation that a run belongs to, "" for a run that nobody has
// named.
func (s *Service) RunOf(tx *store.Tx, runID string) string {
	owner, _, _ := strings.Cut(string(tx.Get(runsBucket, s.keys.Short(runsBucket, runID))), endMark)
	return owner
}

// Commits is Runs for a message.
func (s *Service) Commits(tx *store.Tx, conversationID, messageID string) error {
	return s.claim(tx, messagesBucket, conversationID, messageID, "This message belongs to another conversation.")
}

func (s *Service) claim(tx *store.Tx, bucket, conversationID, id, refusal string) error {
	key := s.keys.Short(bucket, id)
	value := tx.Get(bucket, key)
	if value == nil {
		return tx.Put(bucket, key, []byte(conversationID))
	}
	switch owner, _, ended := strings.Cut(string(value), endMark); {
	case owner != conversationID:
		return hux.Errorf(hux.UnknownReference, "%s", refusal)
	case ended:
		return hux.Errorf(hux.RunEnded, "This run was cancelled and has its receipt; nothing of it is taken any more.")
	}
	return nil
}
