// Package event keeps what happened in a conversation: a durable log whose
// events are numbered from 1 without a gap, and readers that follow it. All that
// a reader has is the number that it has come to: it misses none, gets none
// twice, and holds nobody up if it is slow.
package event

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

// Event is hux.event.v1.
type Event struct {
	Schema         string            `json:"schema"`
	ID             string            `json:"id"`
	ConversationID string            `json:"conversation_id"`
	Seq            uint64            `json:"seq"`
	Kind           string            `json:"kind"`
	Status         *string           `json:"status"`
	Summary        string            `json:"summary"`
	Evidence       []hux.EvidenceRef `json:"evidence"`
	Data           json.RawMessage   `json:"data,omitempty"`
	RunID          string            `json:"run_id,omitempty"`
	Causes         []uint64          `json:"causes,omitempty"`
	Reporter       string            `json:"reported_by,omitempty"` // "page": what a person's page saw, never evidence
	Sensitivity    string            `json:"sensitivity"`
	Redaction      hux.Redaction     `json:"redaction"`
	Tombstone      *Tombstone        `json:"tombstone"`
	CreatedAt      hux.Time          `json:"created_at"`
	Provenance     hux.Provenance    `json:"provenance"`
}

// Tombstone stands where an event's content was.
type Tombstone struct {
	At     hux.Time `json:"at"`
	Reason string   `json:"reason"`
}

// Schema is the name of the record.
const Schema = "hux.event.v1"

// Bucket is where events are kept.
const Bucket = "events" // conversation id and 8 bytes of seq → event as JSON

func key(conversation string, seq uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(conversation), seq))
}

func seqOf(key string) uint64 { return binary.BigEndian.Uint64([]byte(key[len(key)-8:])) }

// Head is the number of a conversation's last event, 0 where there is none.
func Head(tx store.Reader, conversation string) (head uint64, err error) {
	whole := true
	err = tx.ScanBack(Bucket, conversation, "", func(k string, v []byte) bool {
		head = seqOf(k)
		whole = intact(v, conversation, head)
		return false
	})
	if err == nil && !whole {
		return 0, damaged(conversation, head) // a number that may be none is not counted on from
	}
	for tx.Get(Bucket, key(conversation, head+1)) != nil { // of a change that has not written it yet
		head++
	}
	return head, err
}

// Draft is an event written down but for its number, which only the
// transaction knows: so that what writers in the queue wait for is short.
type Draft struct {
	event      Event
	head, tail []byte // the JSON before and after the number
}

// NewDraft writes e down. Its Seq is the draft's to give.
func NewDraft(e Event) (*Draft, error) {
	e.Schema, e.Seq = Schema, 0
	if e.ID == "" {
		e.ID = hux.NewID("evt")
	}
	if e.Evidence == nil {
		e.Evidence = []hux.EvidenceRef{}
	}
	whole, err := json.Marshal(&e)
	if err != nil {
		return nil, err
	}
	head, tail, found := bytes.Cut(whole, []byte(`,"seq":0,`)) // no string holds this: its quotes would be escaped
	if !found {
		return nil, errors.New("an event has no number")
	}
	return &Draft{e, append(head[:len(head):len(head)], `,"seq":`...), tail}, nil
}

// Event is the event with a number that Number gave.
func (d *Draft) Event(seq uint64) *Event {
	e := d.event
	e.Seq = seq
	return &e
}

// Number gives the draft the number after head, its conversation's last, and the
// event as JSON. It may be called again where the transaction is run again.
func (d *Draft) Number(head uint64) (seq uint64, value []byte, err error) {
	for _, c := range d.event.Causes {
		if c == 0 || c > head {
			return 0, nil, hux.Errorf(hux.UnknownReference, "An event's causes are events before it.")
		}
	}
	seq = head + 1
	value = strconv.AppendUint(slices.Clip(d.head), seq, 10)
	return seq, append(append(value, ','), d.tail...), nil
}

// Buried is an event as it stands once it is forgotten: its number, kind, time and
// the surface that it came from, and nothing that it said.
func Buried(tx store.Reader, conversation string, seq uint64, t Tombstone) ([]byte, error) {
	var e Event
	if err := store.Decode(Bucket, key(conversation, seq), Get(tx, conversation, seq), &e); err != nil {
		return nil, err
	}
	from := hux.Provenance{Surface: e.Provenance.Surface, Actor: e.Provenance.Actor, Time: e.Provenance.Time, Build: e.Provenance.Build}
	return json.Marshal(&Event{
		Schema: e.Schema, ID: e.ID, ConversationID: e.ConversationID, Seq: e.Seq, Kind: e.Kind, Evidence: []hux.EvidenceRef{},
		Sensitivity: e.Sensitivity, Redaction: hux.Redaction{Level: "full"}, Tombstone: &t, CreatedAt: e.CreatedAt, Provenance: from,
	})
}

// Row is where an event is kept.
func Row(conversation string, seq uint64) (in, row string) { return Bucket, key(conversation, seq) }

// Get is one event as JSON, or nil.
func Get(tx store.Reader, conversation string, seq uint64) []byte {
	return tx.Get(Bucket, key(conversation, seq))
}

// page is a run of consecutive events.
type page struct {
	first  uint64
	events [][]byte // as JSON, on one line each
	head   uint64   // of the conversation when it was read
}

// readPage reads up to limit events after a number. Where one is damaged it
// gives those before it and the error.
func readPage(tx store.Reader, conversation string, after uint64, limit int) (p page, err error) {
	p.first = after + 1
	if p.head, err = Head(tx, conversation); err != nil || after >= p.head {
		return p, err
	}
	size, full := 0, false
	err = tx.Scan(Bucket, conversation, key(conversation, after+1), func(k string, v []byte) bool {
		next := p.first + uint64(len(p.events))
		if seqOf(k) != next || !intact(v, conversation, next) {
			return false
		}
		p.events = append(p.events, append([]byte{}, v...))
		size += len(v)
		full = len(p.events) == limit || size >= pageBytes
		return !full
	})
	if next := p.first + uint64(len(p.events)); err == nil && !full && next <= p.head {
		err = damaged(conversation, next)
	}
	return p, err
}

// intact reports whether value is the event of this number, in the one form
// that Append writes.
func intact(value []byte, conversation string, seq uint64) bool {
	own := strconv.AppendUint([]byte(`"conversation_id":"`+conversation+`","seq":`), seq, 10)
	return bytes.Contains(value, append(own, ',')) && bytes.IndexByte(value, '\n') < 0 && json.Valid(value)
}

// damaged is the error of an event that is missing or can't be read.
func damaged(conversation string, seq uint64) error {
	return &store.Unreadable{Bucket: Bucket, Key: key(conversation, seq), Cause: fmt.Errorf("the event with the number %d is missing or damaged", seq)}
}

// pageBytes bounds what one read copies out of the database.
const pageBytes = 1 << 20

// Read gives up to limit events after a number, as JSON, and the head.
func Read(tx store.Reader, conversation string, after uint64, limit int) (events []json.RawMessage, head uint64, err error) {
	p, err := readPage(tx, conversation, after, limit)
	events = make([]json.RawMessage, len(p.events))
	for i, e := range p.events {
		events[i] = e
	}
	return events, p.head, err
}

const epochs = "epochs" // conversation id → its own count; "" → the store's epoch

// Epoch names the run of a conversation's numbers. A store that was restored
// from a backup starts new epochs, since numbers after the backup were given
// out before.
func Epoch(tx store.Reader, conversation string) (string, error) {
	own := tx.Get(epochs, storeEpoch)
	if own == nil {
		return "", fmt.Errorf("the store has no epoch: %w", store.ErrCorrupt)
	}
	count := tx.Get(epochs, conversation)
	if count == nil {
		count = []byte("0")
	}
	return string(own) + "." + string(count), nil
}

const storeEpoch = "store"

// Begin gives a new store its epoch; one that has an epoch keeps it.
func Begin(db *store.DB) error {
	return db.Update(context.Background(), func(tx *store.Tx) error {
		if tx.Get(epochs, storeEpoch) != nil {
			return nil
		}
		return Renew(tx)
	})
}

// Renew starts a new epoch in a store that was put back from a backup: the
// numbers after the backup were given out before, for other events.
func Renew(tx *store.Tx) error {
	return tx.Put(epochs, storeEpoch, []byte(hux.NewID("epo")[4:]))
}

// Confirmations is where is kept what agents have confirmed.
const Confirmations = "confirmations" // conversation id and 8 bytes of seq → event as JSON: what an agent told of it later

// ConfirmationRow is where is kept what an agent tells of something that a page
// has told of before, since what a page saw is no evidence: OfRun gives it in
// the place of the page's event of the same run, whose number it has.
func ConfirmationRow(conversation string, seq uint64) (in, row string) {
	return Confirmations, key(conversation, seq)
}

// maxRun bounds how far back the events of a run are looked for.
const maxRun = 50_000

// OfRun gives a run's events, as far back as maxRun events of the conversation
// go, oldest first. A run.started is no bound: it may be told of late.
func OfRun(tx store.Reader, conversation, runID string) (events []Event, err error) {
	name, err := json.Marshal(runID)
	if err != nil {
		return nil, err
	}
	of := func(value []byte) bool { // appends the event if it is the run's
		if !bytes.Contains(value, name) { // most are of other runs, and need not be read
			return false
		}
		var e Event
		if err == nil {
			err = store.Decode(Bucket, conversation, value, &e)
		}
		if err != nil || e.RunID != runID {
			return false
		}
		events = append(events, e)
		return true
	}
	head, err := Head(tx, conversation)
	if err != nil {
		return nil, err
	}
	seen, last := 0, uint64(0)
	scanErr := tx.ScanBack(Bucket, conversation, "", func(k string, value []byte) bool {
		last = max(last, seqOf(k))
		if confirmed := tx.Get(Confirmations, k); confirmed == nil || !of(confirmed) {
			of(value)
		}
		seen++
		return err == nil && seen < maxRun
	})
	if err == nil {
		err = scanErr
	}
	slices.Reverse(events)
	for seq := last + 1; seq <= head && err == nil; seq++ {
		of(Get(tx, conversation, seq))
	}
	return events, err
}
