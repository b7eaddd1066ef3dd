package autonomy

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

// Parts is what the card is made of.
type Parts struct {
	Closing       context.Context // ends when the router does
	Log           *event.Log
	Conversations *conversation.Service
	Door          *api.Door
	Keys          *record.Keys
	Cursors       *api.Cursors
	Due           *due.Index
	Build         hux.Build
	// Stop asks whatever runs a run to stop it. It returns once the run is at
	// its end there, or with why it is not; nil where nothing can be asked. Where
	// the run has no such name there, it is what runs in the session, if that is
	// not "".
	Stop func(ctx context.Context, t hux.Tenant, owner hux.User, runID, sessionID string) error
	// StopBypassed has a run stopped in which a call ran that nothing had allowed.
	StopBypassed bool
	// Alarmed is told of new alarms and of what has changed in a tenant's
	// oversight, once that is durable; nil where nobody is to know.
	Alarmed func(t hux.Tenant, now Oversight, alarms []Bypass)
	// Report puts an event that an agent tells of into the log of c, once; after
	// is to be called once the transaction is durable.
	Report func(tx *store.Tx, call *api.Call, c *conversation.Conversation, e event.Event) (after func(), err error)
}

// Service serves the card.
type Service struct {
	Parts
	policies  *record.Collection[Policy]
	grants    *record.Collection[Grant]
	approvals *record.Collection[Approval]
	waiting   waiting

	mu       sync.Mutex
	stopping map[string]bool // runs that whatever runs them is asked to stop now, as stopKey has them
}

// What falls due, by kind.
const (
	dueApproval = "approval"
	dueGrant    = "grant"
	dueReceipt  = "receipt"
	dueStop     = "stop"
	dueBypass   = "bypass"
)

// New makes the card's Service. The zero Parts make one to look at, whose
// routes nobody may call.
func New(p Parts) *Service {
	s := &Service{Parts: p, waiting: waiting{by: map[string]chan struct{}{}}, stopping: map[string]bool{}}
	s.policies = record.New(record.Spec[Policy]{
		Name: PolicySchema, Prefix: "pol", Meta: func(p *Policy) *hux.Meta { return &p.Meta },
		Fill: func(tx *store.Tx, p *Policy) error { return s.fillPolicy(tx, p, time.Now()) },
	}, p.Log)
	s.grants = record.New(record.Spec[Grant]{
		Name: GrantSchema, Prefix: "grt", Meta: func(g *Grant) *hux.Meta { return &g.Meta },
		State: func(g *Grant) *string { return &g.State }, States: GrantStates,
		Fill: func(_ *store.Tx, g *Grant) error { g.State = g.StateAt(time.Now()); return nil },
	}, p.Log)
	s.approvals = record.New(record.Spec[Approval]{
		Name: ApprovalSchema, Prefix: "apr", Meta: func(a *Approval) *hux.Meta { return &a.Meta },
		State: func(a *Approval) *string { return &a.Status }, States: ApprovalStates,
		Fill: func(_ *store.Tx, a *Approval) error { a.Status = a.StateAt(time.Now()); return nil },
	}, p.Log)
	if p.Due != nil {
		p.Due.Handle(dueApproval, s.expireApproval)
		p.Due.Handle(dueGrant, s.expireGrant)
		p.Due.Handle(dueReceipt, s.overdueReceipt)
		p.Due.Handle(dueStop, s.stopAgain)
		p.Due.Handle(dueBypass, s.judgeTold)
	}
	return s
}

// system is a call of the router's own, for what falls due.
func (s *Service) system(db *store.Lease) *api.Call {
	return &api.Call{Actor: hux.Actor{Kind: hux.KindSystem, ID: "hux"}, Surface: hux.SurfaceWorker, Build: s.Build, DB: db}
}

// told is an event of the router's own, with what all of them have.
func told(call *api.Call, e event.Event) event.Event {
	p := call.Provenance()
	e.CreatedAt, e.Provenance, e.Sensitivity, e.Redaction.Level = p.Time, p, "normal", "none"
	return e
}

// facts are an event's data.
type facts map[string]any

func (f facts) json() json.RawMessage {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // strings and numbers
	}
	return text
}

// changes is what a transaction brings about besides the record that it is
// for: events, and approvals that somebody may wait for. A transaction that
// runs again starts anew.
type changes struct {
	conversations []string
	approvals     []string
	alarms        []Bypass
	oversight     *Oversight // nil where it has not changed
}

// tell appends an event in the transaction that it tells of.
func (c *changes) tell(tx *store.Tx, call *api.Call, e event.Event) error {
	e = told(call, e)
	if err := event.Append(tx, &e); err != nil {
		return err
	}
	c.conversations = append(c.conversations, e.ConversationID)
	return nil
}

// wake tells those who follow or wait, after the commit.
func (s *Service) wake(t hux.Tenant, c changes) {
	for _, id := range c.conversations {
		s.Log.Committed(t, id)
	}
	for _, id := range c.approvals {
		s.waiting.wake(id)
	}
	if c.oversight != nil && s.Alarmed != nil {
		s.Alarmed(t, *c.oversight, c.alarms)
	}
}

// waiting is who waits for an approval.
type waiting struct {
	mu sync.Mutex
	by map[string]chan struct{} // closed when the approval has moved
}

// of gives what is closed when the approval moves after this call.
func (w *waiting) of(approvalID string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	ch := w.by[approvalID]
	if ch == nil {
		ch = make(chan struct{})
		w.by[approvalID] = ch
	}
	return ch
}

func (w *waiting) wake(approvalID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ch := w.by[approvalID]; ch != nil {
		close(ch)
		delete(w.by, approvalID)
	}
}
