package autonomy

import (
	"context"
	"net/http"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

// live is an active grant's value in the index byMatch: what it matches. A
// denial stands under its tool, so that each call of the tool is compared with
// it.
func (g *Grant) live() []string {
	switch {
	case g.State != GrantStates.Start:
		return nil
	case g.Effect != Allow:
		return []string{Match{Tool: g.Match.Tool}.value()}
	}
	return []string{g.Match.value()}
}

// value is a value in the index byMatch. Through it a call reads the grants that
// may be about it, and no others of the owner.
func (m Match) value() string { return m.Tool + "\n" + m.ArgsHash + "\n" + m.Target }

// grantsFor are a person's active grants that may be about a call: for its
// arguments, for its target, or for its tool.
func (s *Service) grantsFor(tx store.Reader, owner hux.User, q *question) (grants []Grant, err error) {
	matches := []Match{{Tool: q.tool}, {Tool: q.tool, ArgsHash: q.hash}}
	if q.target != "" {
		matches = append(matches, Match{Tool: q.tool, Target: q.target})
	}
	for _, m := range matches {
		found, err := s.grants.Find(tx, owner, byMatch, m.value())
		if err != nil {
			return nil, err
		}
		for _, g := range found {
			grants = append(grants, *g)
		}
	}
	return grants, nil
}

// grantOf makes the grant that a choice makes, and gives its id; nil if the
// choice makes none.
func (s *Service) grantOf(ch *record.Change, a *Approval, choice Choice) (*string, error) {
	session := ""
	if a.Provenance.SessionID != nil {
		session = *a.Provenance.SessionID
	}
	g, ok := a.Granted(choice, session, time.Now())
	if !ok {
		return nil, nil
	}
	made, err := s.makeGrant(ch, a.Owner, g)
	if err != nil {
		return nil, err
	}
	return &made.ID, ch.Tell(made.event(a.ConversationID, a.RunID, "grant.created", "Granted"))
}

// makeGrant gives a grant its envelope and saves it.
func (s *Service) makeGrant(ch *record.Change, owner hux.User, g Grant) (*Grant, error) {
	return s.grants.Create(ch, owner, func(m hux.Meta) *Grant {
		g.Meta = m
		return &g
	})
}

// due is the end of a grant that is active.
func (g *Grant) due() *due.Item {
	if g.State != GrantStates.Start {
		return nil
	}
	return &due.Item{At: g.ExpiresAt.Time, Kind: dueGrant, ID: g.ID}
}

// event is an event that tells of the grant in a conversation.
func (g *Grant) event(conversationID, runID, kind, what string) event.Event {
	data := facts{"grant_id": g.ID, "tool": g.Match.Tool, "capability": g.Capability, "effect": g.Effect, "duration": g.Duration, "expires_at": g.ExpiresAt}
	if g.Match.Target != "" {
		data["target"] = g.Match.Target
	}
	e := event.Event{
		ConversationID: conversationID, RunID: runID, Kind: kind, Data: data.json(),
		Summary: oneLine(what + ": " + g.Match.Tool + " (" + string(g.Duration) + ")"),
	}
	if g.Origin.ApprovalID != "" {
		e.Evidence = []hux.EvidenceRef{{Kind: "approval", ID: g.Origin.ApprovalID, Owner: "hux"}}
	}
	return e
}

// useGrant counts a use of a grant. That makes no revision unless it is the last
// use.
func (s *Service) useGrant(ch *record.Change, id string, now time.Time) error {
	g, err := s.grants.Read(ch, id)
	if err != nil || g == nil {
		return err
	}
	used := g.Used(now)
	if g.Uses = used.Uses; used.State != GrantStates.Start {
		return s.retire(ch, g, used.State)
	}
	return s.grants.Save(ch, g)
}

// retire ends an active grant.
func (s *Service) retire(ch *record.Change, g *Grant, state string) error {
	return s.grants.Revise(ch, g, func(g *Grant) error { g.State = state; return nil })
}

// expireGrant ends a grant whose time is over.
func (s *Service) expireGrant(ctx context.Context, db *store.Lease, i due.Item) error {
	return s.Change(ctx, s.system(db), record.Plan{}, func(ch *record.Change) error {
		ch.NoLongerDue(i)
		g, err := s.grants.Read(ch, i.ID)
		if err != nil || g == nil || g.State != GrantStates.Start {
			return err
		}
		return s.retire(ch, g, "expired")
	})
}

func (s *Service) listGrants() func(http.ResponseWriter, *http.Request, *api.Call) error {
	return s.grants.Lists(s.Cursors, []string{"state"}, func(g *Grant, filters map[string]string) bool {
		return record.Passes(filters, "state", g.StateAt(time.Now()))
	})
}

// createGrant answers POST /grants: a person grants or forbids something that
// no approval asked about.
func (s *Service) createGrant(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[GrantCreate](call)
	if err != nil {
		return err
	}
	if in.Effect == Allow && in.Duration == Always {
		if err := call.RecentSignIn(); err != nil {
			return err
		}
	}
	expires := hux.Time{Time: hux.Now().Add(GrantLifetime(in.Duration, time.Duration(in.ExpiresInMS)*time.Millisecond))}
	in.Match.Target, _ = grantTarget(in.Match)
	g := Grant{
		Capability: in.Capability, Capabilities: in.Capabilities, Effect: in.Effect, Duration: in.Duration, Match: in.Match, Scope: in.Scope,
		Origin: Origin{Manual: true}, ExpiresAt: expires, State: GrantStates.Start,
	}
	if in.Duration == Once {
		one := int64(1)
		g.Uses.Max = &one
	}
	return s.grants.Write(w, r, call, expires.Time, func(ch *record.Change) (*Grant, int, error) {
		if id := in.Scope.ConversationID; id != "" {
			if _, err := s.Conversations.Peek(ch, call, id); err != nil {
				return nil, 0, hux.Errorf(hux.UnknownReference, "There is no such conversation.")
			}
		}
		made, err := s.makeGrant(ch, call.User, g)
		if err == nil && in.Scope.ConversationID != "" {
			err = ch.Tell(made.event(in.Scope.ConversationID, "", "grant.created", "Set by hand"))
		}
		return made, http.StatusCreated, err
	})
}

// revokeGrant answers POST /grants/{id}/revoke.
func (s *Service) revokeGrant(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	return s.grants.Write(w, r, call, time.Time{}, func(ch *record.Change) (*Grant, int, error) {
		g, err := s.grants.Update(ch, r.PathValue("id"), func(g *Grant) error {
			g.State = g.StateAt(time.Now())
			if err := GrantStates.Check(g.State, "revoked"); err != nil {
				return err
			}
			g.State = "revoked"
			if g.Effect != Allow {
				return call.RecentSignIn() // to revoke a denial allows more
			}
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
		if g.Scope.ConversationID != "" {
			err = ch.Tell(g.event(g.Scope.ConversationID, "", "grant.revoked", "Revoked"))
		}
		return g, http.StatusOK, err
	})
}
