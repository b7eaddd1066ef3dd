package autonomy

import (
	"encoding/binary"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

// conversationOf is the conversation that a scope names, "" for another scope.
func conversationOf(scope string) string {
	kind, id, _ := strings.Cut(scope, ":")
	if kind != "conversation" {
		return ""
	}
	return id
}

const spentBucket = "spent" // conversation, if it is of one, policy, kind, window and which window → count, 8 bytes

// scopeOf reads the scope from a request's query.
func (s *Service) scopeOf(r *http.Request) (string, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	scope := UserScope
	if err != nil || len(q) > 1 || len(q["scope"]) != len(q) {
		return "", hux.Errorf(hux.BadRequest, "The query may have nothing but scope, and that once.")
	}
	if q.Has("scope") {
		scope = q.Get("scope")
	}
	if !isScope(scope) {
		return "", hux.Errorf(hux.BadRequest, "A scope is user, project:ID or conversation:ID.")
	}
	return scope, nil
}

// scoped says whose policy a scope names, and whether it names a conversation
// that is private now. It refuses what the caller may not see.
func (s *Service) scoped(tx store.Reader, call *api.Call, scope string) (owner hux.User, private bool, err error) {
	kind, id, _ := strings.Cut(scope, ":")
	switch kind {
	case "conversation":
		c, err := s.Conversations.Peek(tx, call, id)
		if err != nil {
			return "", false, err
		}
		return c.Owner, c.Ephemeral, nil
	case "project":
		if tx.Get("hux.project.v1", id) == nil {
			return "", false, hux.Errorf(hux.NotFound, "There is no such record.")
		}
	}
	if call.User == "" {
		return "", false, hux.Errorf(hux.HumanRequired, "This slot has several members: name a conversation.")
	}
	return call.User, false, nil
}

// policy reads the policy of a scope; nil if nobody has set one.
func (s *Service) policy(tx store.Reader, owner hux.User, scope string) (*Policy, error) {
	found, err := s.policies.Find(tx, owner, byScope, scope)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// applying is the policy that applies to a conversation, with what the run has
// spent of its budgets.
func (s *Service) applying(tx store.Reader, c *conversation.Conversation, runID string, now time.Time) (Policy, error) {
	for _, scope := range Scopes(c.ID, c.ProjectID) {
		p, err := s.policy(tx, c.Owner, scope)
		if err != nil {
			return Policy{}, err
		}
		if p != nil {
			s.readBudgets(tx, p, runID, now)
			return *p, nil
		}
	}
	return DefaultPolicy(hux.Meta{Owner: c.Owner}, UserScope, c.Ephemeral, now), nil
}

// appliesTo is the policy that applies in a scope: its own, or else that of a
// wider scope.
func (s *Service) appliesTo(tx store.Reader, owner hux.User, scope string, now time.Time) (Policy, error) {
	kind, id, _ := strings.Cut(scope, ":")
	if kind == "conversation" {
		if c, err := s.Conversations.Read(tx, id); err != nil {
			return Policy{}, err
		} else if c != nil {
			return s.applying(tx, c, "", now)
		}
	}
	for _, scope := range []string{scope, UserScope} {
		if p, err := s.policy(tx, owner, scope); err != nil {
			return Policy{}, err
		} else if p != nil {
			return *p, nil
		}
	}
	return DefaultPolicy(hux.Meta{Owner: owner}, UserScope, false, now), nil
}

// window names the open window of a budget: the day or the run.
func (s *Service) window(b Budget, runID string, now time.Time) string {
	if b.Window == PerDay {
		return now.UTC().Format(time.DateOnly)
	}
	return s.Keys.Short("budget", runID)
}

// spentKey begins with the conversation that the policy is of, if it is of one.
func spentKey(p *Policy, b Budget) string {
	return conversationOf(p.Scope) + p.ID + " " + b.Kind + " " + b.Window + " "
}

// readBudgets reads what is spent in the open windows.
func (s *Service) readBudgets(tx store.Reader, p *Policy, runID string, now time.Time) {
	p.Budgets = ResetBudgets(p.Budgets, true, now)
	for i := range p.Budgets {
		b := &p.Budgets[i]
		b.Spent = 0
		if v := tx.Get(spentBucket, spentKey(p, *b)+s.window(*b, runID, now)); len(v) == 8 {
			b.Spent = int64(binary.BigEndian.Uint64(v)) //nolint:gosec // what writeBudgets wrote
		}
	}
}

// writeBudgets saves what is spent of the budgets that differ from the policy's.
// The first spend of a day deletes the counts of earlier days.
func (s *Service) writeBudgets(ch *record.Change, p Policy, after []Budget, runID string, now time.Time) {
	for i, b := range after {
		if b.Spent == p.Budgets[i].Spent {
			continue
		}
		prefix, window := spentKey(&p, b), s.window(b, runID, now)
		if b.Window == PerDay && p.Budgets[i].Spent == 0 {
			for _, old := range ch.List(spentBucket, prefix) {
				ch.Delete(spentBucket, old.Key)
			}
		}
		ch.Put(spentBucket, prefix+window, binary.BigEndian.AppendUint64(nil, uint64(b.Spent))) //nolint:gosec // never negative
	}
}

// forgetRun deletes what a finished run had spent of a policy's budgets.
func (s *Service) forgetRun(ch *record.Change, p Policy, runID string) {
	for _, b := range p.Budgets {
		if b.Window == PerRun {
			ch.Delete(spentBucket, spentKey(&p, b)+s.window(b, runID, time.Time{}))
		}
	}
}

// fillPolicy sets the members that change without a revision.
func (s *Service) fillPolicy(tx store.Reader, p *Policy, now time.Time) error {
	kind, id, _ := strings.Cut(p.Scope, ":")
	private, run := false, ""
	if kind == "conversation" {
		run = s.Conversations.ActiveRun(tx, id)
		c, err := s.Conversations.Read(tx, id)
		if err != nil {
			return err
		}
		private = c != nil && c.Ephemeral
	}
	s.readBudgets(tx, p, run, now)
	p.Effective = EffectiveNow(*p, private, now)
	return nil
}

func (s *Service) getPolicy(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	scope, err := s.scopeOf(r)
	if err != nil {
		return err
	}
	var p *Policy
	err = call.DB.View(r.Context(), func(tx *store.Tx) error {
		owner, private, err := s.scoped(tx, call, scope)
		if err != nil {
			return err
		}
		if p, err = s.policy(tx, owner, scope); err != nil {
			return err
		}
		if p == nil {
			from := call.Provenance()
			d := DefaultPolicy(hux.Meta{Owner: owner, CreatedAt: from.Time, UpdatedAt: from.Time, Provenance: from}, scope, private, from.Time.Time)
			p = &d
			return nil
		}
		return s.fillPolicy(tx, p, time.Now())
	})
	if err != nil {
		return err
	}
	if p.Revision == 0 {
		w.Header().Set("ETag", api.ETag(scope, 0))
		return api.JSON(w, http.StatusOK, p)
	}
	return s.policies.Answer(w, r, p, true)
}

func (s *Service) putPolicy(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	scope, err := s.scopeOf(r)
	if err != nil {
		return err
	}
	in, err := api.In[PolicyPut](call)
	if err != nil {
		return err
	}
	set := func(p *Policy, end *hux.Time) {
		p.Level, p.LevelExpiresAt, p.Budgets = in.Level, end, []Budget{}
		for _, b := range in.Budgets {
			p.Budgets = append(p.Budgets, Budget{Kind: b.Kind, Limit: b.Limit, Window: b.Window})
		}
	}
	return s.policies.Write(w, r, call, time.Time{}, func(ch *record.Change) (*Policy, int, error) {
		owner, _, err := s.scoped(ch, call, scope)
		if err != nil {
			return nil, 0, err
		}
		p, err := s.policy(ch, owner, scope)
		if err != nil {
			return nil, 0, err
		}
		old := 0
		if p != nil {
			old = p.Revision
		}
		switch {
		case p == nil && call.IfMatch != nil:
			if err := call.IfMatch.Check(scope, 0); err != nil {
				return nil, 0, err
			}
		case p != nil && call.IfMatch == nil: // the caller meant to set the first policy
			return nil, 0, api.Stale(p.ID, p.Revision)
		}
		now := time.Now()
		end, err := in.end(now)
		if err != nil {
			return nil, 0, err
		}
		before, err := s.appliesTo(ch, owner, scope, now)
		if err != nil {
			return nil, 0, err
		}
		var after Policy
		set(&after, end)
		if after.loosens(before, old == 0, now) {
			if err := call.RecentSignIn(); err != nil {
				return nil, 0, err
			}
		}
		status := http.StatusOK
		if old == 0 {
			status = http.StatusCreated
			p, err = s.policies.Create(ch, owner, func(m hux.Meta) *Policy {
				p := &Policy{Meta: m, Scope: scope}
				set(p, end)
				return p
			})
		} else {
			p, err = s.policies.Update(ch, p.ID, func(p *Policy) error { set(p, end); return nil })
		}
		if err == nil && p.Revision > old {
			err = s.tellPolicy(ch, p, before.LevelAt(now))
		}
		return p, status, err
	})
}

// tellPolicy tells of a new policy in the conversation that it is for. A policy
// of a wider scope is told in the conversations with a run under way.
func (s *Service) tellPolicy(ch *record.Change, p *Policy, before Level) error {
	kind, id, _ := strings.Cut(p.Scope, ":")
	about := []string{id}
	if kind != "conversation" {
		about = s.Conversations.Active(ch)
	}
	for _, conversationID := range about {
		c, err := s.Conversations.Read(ch, conversationID)
		if err != nil {
			return err
		}
		if c == nil || c.Owner != p.Owner || kind == "project" && (c.ProjectID == nil || *c.ProjectID != id) {
			continue
		}
		if err := ch.Tell(event.Event{
			ConversationID: conversationID, Kind: "policy.changed", Summary: "The level is now " + levelName(p.Level),
			Data: facts{"policy_id": p.ID, "scope": p.Scope, "from": before, "to": p.Level}.json(),
		}); err != nil {
			return err
		}
	}
	return nil
}

func levelName(l Level) string {
	return map[Level]string{Safe: "Safe", AskFirst: "Ask First", Autonomous: "Autonomous"}[l]
}
