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

// Options are what New needs.
type Options struct {
	*record.Frame
	Closing       context.Context // ends when the router does
	Conversations *conversation.Service
	Schemas       *schema.Set
	Cursors       *api.Cursors
	Build         hux.Build
	// Stop asks the tenant's WebUI to stop a run. It returns nil once the WebUI
	// says that the run has ended, and else why it has not. Where the WebUI does
	// not know the run by this name, it stops what runs in the session, unless
	// sessionID is "". A nil Stop: nobody can be asked.
	Stop func(ctx context.Context, t hux.Tenant, owner hux.User, runID, sessionID string) error
	// StopBypassed: a run is stopped if a call of it ran that nothing had
	// allowed.
	StopBypassed bool
	// Alarmed is told of a tenant's new alarms, and of its oversight when that
	// has changed, once both are durable. It may be nil.
	Alarmed func(t hux.Tenant, now Oversight, alarms []Bypass)
	// Report puts an event that an agent reports into the log of c, once.
	Report func(ch *record.Change, c *conversation.Conversation, e event.Event) error
}

// Service serves the card.
type Service struct {
	Options
	policies  *record.Collection[Policy]
	grants    *record.Collection[Grant]
	approvals *record.Collection[Approval]
	receipts  *record.Collection[Receipt]
	waiting   waiting

	mu       sync.Mutex
	stopping map[string]bool // the runs that the WebUI is being asked to stop, by stopKey
}

// What falls due, by kind.
const (
	dueApproval = "approval"
	dueGrant    = "grant"
	dueReceipt  = "receipt"
	dueStop     = "stop"
	dueBypass   = "bypass"
)

// New makes the card's Service. The zero Options make one to look at, whose
// routes nobody may call.
func New(o Options) *Service {
	s := &Service{Options: o, waiting: waiting{by: map[string]chan struct{}{}}, stopping: map[string]bool{}}
	s.policies = record.In(s.Frame, record.Spec[Policy]{
		Name: PolicySchema, Prefix: "pol", Meta: func(p *Policy) *hux.Meta { return &p.Meta },
		Fill:         func(tx store.Reader, p *Policy) error { return s.fillPolicy(tx, p, time.Now()) },
		Conversation: func(p *Policy) string { return conversationOf(p.Scope) },
		Indexes:      []record.Index[Policy]{{Name: byScope, Values: func(p *Policy) []string { return []string{p.Scope} }}},
	})
	s.grants = record.In(s.Frame, record.Spec[Grant]{
		Name: GrantSchema, Prefix: "grt", Meta: func(g *Grant) *hux.Meta { return &g.Meta },
		State: func(g *Grant) *string { return &g.State }, States: GrantStates,
		Conversation: func(g *Grant) string { return g.Scope.ConversationID }, Due: (*Grant).due,
		Fill: func(_ store.Reader, g *Grant) error { g.State = g.StateAt(time.Now()); return nil },
		Indexes: []record.Index[Grant]{
			{Name: byMatch, Values: (*Grant).live},
			{Name: "state", Values: func(g *Grant) []string { return statesOf(g.State, GrantStates.Start) }},
		},
	})
	s.approvals = record.In(s.Frame, record.Spec[Approval]{
		Name: ApprovalSchema, Prefix: "apr", Meta: func(a *Approval) *hux.Meta { return &a.Meta },
		State: func(a *Approval) *string { return &a.Status }, States: ApprovalStates,
		Conversation: func(a *Approval) string { return a.ConversationID }, Due: (*Approval).due,
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
		Conversation: func(r *Receipt) string { return r.ConversationID },
		Indexes: []record.Index[Receipt]{
			{Name: "conversation_id", Values: func(r *Receipt) []string { return []string{r.ConversationID} }},
			{Name: "run_id", Values: func(r *Receipt) []string { return []string{r.RunID} }},
		},
	})
	o.OfConversation(string(calls), string(toldCalls), string(bypasses), string(stops), spentBucket)
	if o.Due != nil {
		o.Due.Handle(dueApproval, s.expireApproval)
		o.Due.Handle(dueGrant, s.expireGrant)
		o.Due.Handle(dueReceipt, s.overdueReceipt)
		o.Due.Handle(dueStop, s.stopAgain)
		o.Due.Handle(dueBypass, s.judgeTold)
	}
	return s
}

// Indexes besides those of the lists' filters.
const (
	byScope   = "scope"
	byMatch   = "match"   // of grants that are active
	pendingOf = "pending" // of approvals: their run, while they are pending
)

// statesOf are the states under which a list finds a record. One that is written
// in its start state may have expired since, so it stands under both.
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

// bySystem is the same change, made by the router itself.
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
