package autonomy

import (
	"context"
	"net/http"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

const liveBucket = "live_grants" // hash of owner and match, and grant id → nothing, while the grant is active

// liveKey is found by what the grant matches; a denial by its tool, so that all
// of a tool's are held against each call.
func (s *Service) liveKey(g *Grant) string {
	if g.Effect != Allow {
		return s.matchKey(g.Owner, Match{Tool: g.Match.Tool}) + g.ID
	}
	return s.matchKey(g.Owner, g.Match) + g.ID
}

// matchKey names what a grant is for, so that a call reads the grants that may
// be about it and none of the owner's others.
func (s *Service) matchKey(owner hux.User, m Match) string {
	return s.Keys.Short("grant", string(owner), m.Tool, m.ArgsHash, m.Target)
}

// grantsFor are the grants of a person that are active and may be about a call:
// for its arguments, for its target, or for the tool.
func (s *Service) grantsFor(tx *store.Tx, owner hux.User, q *question) (grants []Grant, err error) {
	matches := []Match{{Tool: q.tool}, {Tool: q.tool, ArgsHash: q.hash}}
	if q.target != "" {
		matches = append(matches, Match{Tool: q.tool, Target: q.target})
	}
	for _, m := range matches {
		prefix := s.matchKey(owner, m)
		for _, e := range tx.List(liveBucket, prefix) {
			g, err := s.grants.Read(tx, strings.TrimPrefix(e.Key, prefix))
			if err != nil {
				return nil, err
			}
			if g != nil {
				grants = append(grants, *g)
			}
		}
	}
	return grants, nil
}

// grantOf makes the grant that a decision brings with it, and gives its id; nil
// where it brings none.
func (s *Service) grantOf(tx *store.Tx, call *api.Call, a *Approval, choice Choice, c *changes) (*string, error) {
	session := ""
	if a.Provenance.SessionID != nil {
		session = *a.Provenance.SessionID
	}
	g, ok := a.Granted(choice, session, time.Now())
	if !ok {
		return nil, nil
	}
	made, err := s.makeGrant(tx, call, a.Owner, g)
	if err != nil {
		return nil, err
	}
	return &made.ID, c.tell(tx, call, made.event(a.ConversationID, a.RunID, "grant.created", "Granted"))
}

// makeGrant writes a new grant, whose envelope is still to come.
func (s *Service) makeGrant(tx *store.Tx, call *api.Call, owner hux.User, g Grant) (*Grant, error) {
	made, err := s.grants.Create(tx, call, owner, func(m hux.Meta) *Grant {
		g.Meta = m
		return &g
	})
	if err != nil {
		return nil, err
	}
	if err := tx.Put(liveBucket, s.liveKey(made), []byte{}); err != nil {
		return nil, err
	}
	return made, due.Put(tx, made.due())
}

func (g *Grant) due() due.Item { return due.Item{At: g.ExpiresAt.Time, Kind: dueGrant, ID: g.ID} }

// event tells of the grant in a conversation.
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

// useGrant counts a use of a grant. It makes no revision, as uses do not.
func (s *Service) useGrant(tx *store.Tx, id string, now time.Time) error {
	g, err := s.grants.Read(tx, id)
	if err != nil || g == nil {
		return err
	}
	used := g.Used(now)
	if g.Uses = used.Uses; used.State != "active" {
		return s.retire(tx, g, used.State)
	}
	return s.grants.Keep(tx, g)
}

// retire moves a grant out of what is active.
func (s *Service) retire(tx *store.Tx, g *Grant, state string) error {
	if err := s.grants.Alter(tx, g, func(g *Grant) error { g.State = state; return nil }); err != nil {
		return err
	}
	if err := tx.Delete(liveBucket, s.liveKey(g)); err != nil {
		return err
	}
	return due.Done(tx, g.due())
}

// expireGrant is what falls due at the end of a grant's life.
func (s *Service) expireGrant(ctx context.Context, db *store.Lease, i due.Item) error {
	return db.Update(ctx, func(tx *store.Tx) error {
		g, err := s.grants.Read(tx, i.ID)
		if err != nil {
			return err
		}
		if g == nil || g.State != "active" {
			return due.Done(tx, i)
		}
		return s.retire(tx, g, "expired")
	})
}

func (s *Service) listGrants(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	l, err := s.Cursors.List(r, call.Tenant(), "state")
	if err != nil {
		return err
	}
	now := time.Now()
	var page record.Page[*Grant]
	err = call.DB.View(r.Context(), func(tx *store.Tx) (err error) {
		page.Items, page.Next, err = s.grants.List(tx, call, l, func(g *Grant) bool {
			g.State = g.StateAt(now)
			return passes(l.Filters, "state", g.State)
		})
		return err
	})
	if err != nil {
		return err
	}
	return api.JSON(w, http.StatusOK, page)
}

// createGrant answers POST /grants: a person grants or forbids something that
// no approval asked about.
func (s *Service) createGrant(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	var in GrantCreate
	text, err := s.Door.Read(w, r, "hux.grant.create.v1", &in)
	if err != nil {
		return err
	}
	if in.Effect == Allow && in.Duration == Always {
		if err := call.RecentSignIn(); err != nil {
			return err
		}
	}
	key, err := s.Keys.Of(r, call, text)
	if err != nil {
		return err
	}
	expires := hux.Time{Time: hux.Now().Add(GrantLifetime(in.Duration, time.Duration(in.ExpiresInMS)*time.Millisecond))}
	release, err := s.Due.Hold(r.Context(), call.Tenant(), expires.Time)
	if err != nil {
		return err
	}
	defer release()
	in.Match.Target, _ = grantTarget(in.Match)
	g := Grant{
		Capability: in.Capability, Capabilities: in.Capabilities, Effect: in.Effect, Duration: in.Duration, Match: in.Match, Scope: in.Scope,
		Origin: Origin{Manual: true}, ExpiresAt: expires, State: GrantStates.Start,
	}
	if in.Duration == Once {
		one := int64(1)
		g.Uses.Max = &one
	}
	var c changes
	err = s.grants.Write(w, r, call, key, func(tx *store.Tx) (*Grant, int, []*event.Event, error) {
		c = changes{}
		if id := in.Scope.ConversationID; id != "" {
			if _, err := s.Conversations.Peek(tx, call, id); err != nil {
				return nil, 0, nil, hux.Errorf(hux.UnknownReference, "There is no such conversation.")
			}
		}
		made, err := s.makeGrant(tx, call, call.User, g)
		if err != nil || in.Scope.ConversationID == "" {
			return made, http.StatusCreated, nil, err
		}
		return made, http.StatusCreated, nil, c.tell(tx, call, made.event(in.Scope.ConversationID, "", "grant.created", "Set by hand"))
	})
	s.wake(call.Tenant(), c)
	return err
}

// revokeGrant answers POST /grants/{id}/revoke.
func (s *Service) revokeGrant(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	var precondition *api.Precondition
	if len(r.Header["If-Match"]) > 0 {
		p, err := api.IfMatch(r, false)
		if err != nil {
			return err
		}
		precondition = &p
	}
	key, err := s.Keys.Of(r, call, nil)
	if err != nil {
		return err
	}
	var c changes
	err = s.grants.Write(w, r, call, key, func(tx *store.Tx) (*Grant, int, []*event.Event, error) {
		c = changes{}
		g, err := s.grants.Change(tx, call, r.PathValue("id"), precondition, func(g *Grant) error {
			g.State = g.StateAt(time.Now())
			if err := GrantStates.Check(g.State, "revoked"); err != nil {
				return err
			}
			g.State = "revoked"
			if g.Effect != Allow {
				return call.RecentSignIn() // more is allowed without it
			}
			return nil
		})
		if err != nil {
			return nil, 0, nil, err
		}
		if err := tx.Delete(liveBucket, s.liveKey(g)); err != nil {
			return nil, 0, nil, err
		}
		if err := due.Done(tx, g.due()); err != nil {
			return nil, 0, nil, err
		}
		if g.Scope.ConversationID != "" {
			err = c.tell(tx, call, g.event(g.Scope.ConversationID, "", "grant.revoked", "Revoked"))
		}
		return g, http.StatusOK, nil, err
	})
	s.wake(call.Tenant(), c)
	return err
}
