package conversation

import (
	"bytes"
	"context"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

// Names of the gateway that belong to one conversation of a person, as keyed
// hashes. Another member of the slot may use the same name and learns nothing
// of it.
const (
	runsBucket     = "runs"      // hash of owner and run id → conversation id, and what marks its end
	messagesBucket = "messages"  // hash of owner and message id → conversation id
	activeBucket   = "active"    // conversation id → id of the run that started last and has not finished
	turnsBucket    = "turns"     // conversation id and hash of turn id → turn
	endMark        = " ended"    // it has its receipt
	finishMark     = " finished" // its agent has told of its end
)

// ClaimRun says that a run is the conversation's: the first of its owner's
// conversations that names it has it, and every other is refused with
// unknown_reference. A run that has ended for good is run_ended.
func (s *Service) ClaimRun(ch *record.Change, conversationID, runID string) error {
	return s.claim(ch, runsBucket, conversationID, runID, "This run belongs to another conversation.")
}

// SetActive notes that a run is under way in its conversation.
func (s *Service) SetActive(ch *record.Change, conversationID, runID string) {
	ch.Put(activeBucket, conversationID, []byte(runID))
}

// ClearActive notes that a run is no longer under way.
func (s *Service) ClearActive(ch *record.Change, conversationID, runID string) {
	if s.ActiveRun(ch, conversationID) == runID {
		ch.Delete(activeBucket, conversationID)
	}
}

// ActiveRun is the run that is under way in a conversation, or "".
func (s *Service) ActiveRun(tx store.Reader, conversationID string) string {
	return string(tx.Get(activeBucket, conversationID))
}

// Active lists the conversations in which a run is under way.
func (s *Service) Active(tx store.Reader) (ids []string) {
	for _, e := range tx.List(activeBucket, "") {
		ids = append(ids, e.Key)
	}
	return ids
}

// RunOfTurn is the run that the gateway's turn is: the one that is under way in
// the conversation when the turn is first heard of, since a page names a run
// otherwise than a hook does; else the turn names the run, unless another
// conversation has a run of that name.
//
// heard is when that was.
func (s *Service) RunOfTurn(ch *record.Change, conversationID, turnID string) (run string, heard time.Time) {
	key := conversationID + s.frame.Keys.Short(turnsBucket, conversationID, turnID)
	if value := ch.Get(turnsBucket, key); value != nil {
		run, heard = readTurn(value)
		return run, heard
	}
	run = s.ActiveRun(ch, conversationID)
	if run == "" {
		if run = turnID; !slices.Contains([]string{"", conversationID}, s.RunOf(ch, conversationID, run)) {
			run = "turn:" + hex.EncodeToString([]byte(key[len(conversationID):]))
		}
	}
	heard = ch.At.Time
	ch.Put(turnsBucket, key, strconv.AppendInt([]byte(run+turnMark), heard.UnixMilli(), 10))
	return run, heard
}

const (
	turnMark     = "\n" // stands in a turn between the run's id and when it was heard of
	turnLifetime = 48 * time.Hour
)

// readTurn reads a turn; one that was kept without its time is as old as can be.
func readTurn(value []byte) (run string, heard time.Time) {
	run, at, _ := strings.Cut(string(value), turnMark)
	ms, _ := strconv.ParseInt(at, 10, 64)
	return run, time.UnixMilli(ms)
}

// Sweep takes away the turns that were heard of first more than two days ago.
func Sweep(ctx context.Context, db *store.Lease) error {
	return record.SweepBucket(ctx, db, turnsBucket, func(_ store.Reader, _ string, value []byte) bool {
		_, heard := readTurn(value)
		return time.Since(heard) > turnLifetime
	})
}

// MarkFinished notes that the agent of a run has told of its end. What it tells
// late is taken still, but it may ask nothing any more.
func (s *Service) MarkFinished(ch *record.Change, conversationID, runID string) {
	key := s.nameKey(ch, runsBucket, conversationID, runID)
	if string(ch.Get(runsBucket, key)) == conversationID { // else it has its receipt, or this was noted
		ch.Put(runsBucket, key, []byte(conversationID+finishMark))
	}
}

// HasFinished reports whether MarkFinished was called for a run.
func (s *Service) HasFinished(tx store.Reader, conversationID, runID string) bool {
	return bytes.HasSuffix(tx.Get(runsBucket, s.nameKey(tx, runsBucket, conversationID, runID)), []byte(finishMark))
}

// MarkEnded ends a run for good: nothing of it is taken any more.
func (s *Service) MarkEnded(ch *record.Change, conversationID, runID string) {
	ch.Put(runsBucket, s.nameKey(ch, runsBucket, conversationID, runID), []byte(conversationID+endMark))
}

// RunOf is the conversation that a run belongs to, of those of the owner of the
// one that is given; "" for a run that none of them has named.
func (s *Service) RunOf(tx store.Reader, conversationID, runID string) string {
	of, _, _ := strings.Cut(string(tx.Get(runsBucket, s.nameKey(tx, runsBucket, conversationID, runID))), " ")
	return of
}

// nameKey is the key of a gateway's name among those of the conversation's
// owner. Whoever asks has read the conversation.
func (s *Service) nameKey(tx store.Reader, bucket, conversationID, name string) string {
	owner := hux.User("")
	if c, err := s.records.Glance(tx, conversationID); err == nil && c != nil {
		owner = c.Owner
	}
	return s.frame.Keys.Short(bucket, string(owner), name)
}

// ClaimMessage is ClaimRun for a message.
func (s *Service) ClaimMessage(ch *record.Change, conversationID, messageID string) error {
	return s.claim(ch, messagesBucket, conversationID, messageID, "This message belongs to another conversation.")
}

func (s *Service) claim(ch *record.Change, bucket, conversationID, id, refusal string) error {
	key := s.nameKey(ch, bucket, conversationID, id)
	value := ch.Get(bucket, key)
	if value == nil {
		ch.Put(bucket, key, []byte(conversationID))
		ch.Belongs(conversationID, bucket, key)
		return nil
	}
	owner, _, _ := strings.Cut(string(value), " ")
	switch ended := bytes.HasSuffix(value, []byte(endMark)); {
	case owner != conversationID:
		return hux.Errorf(hux.UnknownReference, "%s", refusal)
	case ended:
		return hux.Errorf(hux.RunEnded, "This run was cancelled and has its receipt; nothing of it is taken any more.")
	}
	return nil
}
