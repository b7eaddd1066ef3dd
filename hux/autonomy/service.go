package autonomy

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/store"
)

// Parts is what the card is made of.
type Parts struct {
	*record.Frame
	Closing       context.Context // ends when the router does
	Conversations *conversation.Service
	Schemas       *schema.Set
	Cursors       *api.Cursors
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
	// Report puts an event that an agent tells of into the log of c, once.
	Report func(ch *record.Change, c *conversation.Conversation, e event.Event) error
}

// Service serves the card.
type Service struct {
	Parts
	policies  *record.Collection[Policy]
	grants    *record.Collection[Grant]
	approvals *record.Collection[Approval]
	receipts  *record.Collection[Receipt]
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
	s.policies = record.In(s.Frame, record.Spec[Policy]{
		Name: PolicySchema, Prefix: "pol", Meta: func(p *Policy) *hux.Meta { return &p.Meta },
		Fill:    func(tx store.Reader, p *Policy) error { return s.fillPolicy(tx, p, time.Now()) },
		Indexes: []record.Index[Policy]{{Name: byScope, Values: func(p *Policy) []string { return []string{p.Scope} }}},
	})
	s.grants = record.In(s.Frame, record.Spec[Grant]{
		Name: GrantSchema, Prefix: "grt", Meta: func(g *Grant) *hux.Meta { return &g.Meta },
		State: func(g *Grant) *string { return &g.State }, States: GrantStates,
		Fill: func(_ store.Reader, g *Grant) error { g.State = g.StateAt(time.Now()); return nil },
		Indexes: []record.Index[Grant]{
			{Name: byMatch, Values: (*Grant).live},
			{Name: "state", Values: func(g *Grant) []string { return statesOf(g.State, GrantStates.Start) }},
		},
	})
	s.approvals = record.In(s.Frame, record.Spec[Approval]{
		Name: ApprovalSchema, Prefix: "apr", Meta: func(a *Approval) *hux.Meta { return &a.Meta },
		State: func(a *Approval) *string { return &a.Status }, States: ApprovalStates,
		Fill: func(_ store.Reader, a *Approval) error { a.Status = a.StateAt(time.Now()); return nil },
		Indexes: []record.Index[Approval]{
			{Name: pendingOf, Values: (*Approval).pendingOf},
			{Name: "conversation_id", Values: func(a *Approval) []string { return []string{a.ConversationID} }},
			{Name: "run_id", Values: func(a *Approval) []string { return []string{a.RunID} }},
			{Name: "status", Values: func(a *Approval) []string { return statesOf(a.Status, ApprovalStates.Start) }},
		},
	})
	s.receipts = record.In(s.Frame, record.Spec[Receipt]{
		Name: ReceiptSchema, Prefix: "rcp", Meta: func(r *Receipt) *hux.Meta { return &hux.Meta{ID: r.ID, Owner: r.Owner} },
		Indexes: []record.Index[Receipt]{
			{Name: "conversation_id", Values: func(r *Receipt) []string { return []string{r.ConversationID} }},
			{Name: "run_id", Values: func(r *Receipt) []string { return []string{r.RunID} }},
		},
	})
	if p.Due != nil {
		p.Due.Handle(dueApproval, s.expireApproval)
		p.Due.Handle(dueGrant, s.expireGrant)
		p.Due.Handle(dueReceipt, s.overdueReceipt)
		p.Due.Handle(dueStop, s.stopAgain)
		p.Due.Handle(dueBypass, s.judgeTold)
	}
	return s
}

// Indexes besides those of the lists' filters.
const (
	byScope   = "scope"
	byMatch   = "match"   // of grants that are active
	pendingOf = "pending" // of approvals: their run, while they are pending
)

// statesOf are the states that a record may be asked for by: what has not ended
// may have expired since it was written.
func statesOf(state, start string) []string {
	if state == start {
		return []string{state, "expired"}
	}
	return []string{state}
}

// system is a call of the router's own, for what falls due.
func (s *Service) system(db *store.Lease) *api.Call {
	return &api.Call{Actor: hux.Actor{Kind: hux.KindSystem, ID: "hux"}, Surface: hux.SurfaceWorker, Build: s.Build, DB: db}
}

// bySystem is the change in the router's own name.
func (s *Service) bySystem(ch *record.Change) *record.Change { return ch.By(s.system(ch.Call.DB)) }

// facts are an event's data.
type facts map[string]any

func (f facts) json() json.RawMessage {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // strings and numbers
	}
	return text
}

// moved wakes those who wait for an approval, once the change is durable.
func (s *Service) moved(ch *record.Change, approvalID string) {
	ch.After(func() { s.waiting.wake(approvalID) })
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
