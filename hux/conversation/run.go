package conversation

import (
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

// Names of the gateway that belong to one conversation of the tenant, as keyed
// hashes: a run, a message.
const (
	runsBucket     = "runs"     // hash of run id → conversation id
	messagesBucket = "messages" // hash of message id → conversation id
)

// Runs says that a run is the conversation's: the first conversation that it is
// named in has it, and every other is refused with unknown_reference.
func (s *Service) Runs(tx *store.Tx, conversationID, runID string) error {
	return s.claim(tx, runsBucket, conversationID, runID, "This run belongs to another conversation.")
}

// Commits is Runs for a message.
func (s *Service) Commits(tx *store.Tx, conversationID, messageID string) error {
	return s.claim(tx, messagesBucket, conversationID, messageID, "This message belongs to another conversation.")
}

func (s *Service) claim(tx *store.Tx, bucket, conversationID, id, refusal string) error {
	key := s.keys.Short(bucket, id)
	switch owner := tx.Get(bucket, key); {
	case owner == nil:
		return tx.Put(bucket, key, []byte(conversationID))
	case string(owner) != conversationID:
		return hux.Errorf(hux.UnknownReference, "%s", refusal)
	}
	return nil
}
