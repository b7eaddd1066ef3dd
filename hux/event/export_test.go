package event

import "bstein.dev/hux/hux/store"

// Append writes an event as a change of records does, and gives it its number.
func Append(tx *store.Tx, e *Event) error {
	d, err := NewDraft(*e)
	if err != nil {
		return err
	}
	head, err := Head(tx, e.ConversationID)
	if err != nil {
		return err
	}
	seq, value, err := d.Number(head)
	if err != nil {
		return err
	}
	*e = *d.Event(seq)
	return tx.Put(Bucket, key(e.ConversationID, seq), value)
}
