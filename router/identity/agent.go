package identity

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

const (
	agentBucket = "agents" // agent id → agentRecord
	agentPrefix = "hux_"   // of a credential: hux_<agt id>_<secret>
	maxName     = 200      // characters (contracts 1, names)
)

// AgentInfo is what may be known of an agent credential: not its secret.
type AgentInfo struct {
	ID        hux.Agent  `json:"id"`
	Tenant    hux.Tenant `json:"tenant"`
	Name      string     `json:"name"`
	CreatedAt time.Time  `json:"created_at"`
	RotatedAt time.Time  `json:"rotated_at,omitzero"`
	LastUsed  time.Time  `json:"last_used,omitzero"` // to the minute or so
	Revoked   bool       `json:"revoked,omitempty"`
}

// Credential is a new agent credential. Secret is the whole of it, as it goes
// behind "Authorization: Bearer"; it is shown this once and stored nowhere.
type Credential struct {
	AgentInfo
	Secret string `json:"secret"`
}

type agentRecord struct {
	AgentInfo
	Hash       string `json:"hash"`                 // SHA-256 of the secret
	Generation int    `json:"generation,omitempty"` // how often it was rotated
}

// liveAgents keeps the agents in use in memory. One lock orders reading a
// record against changing it, so that no stale one can come back.
type liveAgents struct {
	sync.Mutex
	byID map[hux.Agent]*liveAgent
}

type liveAgent struct {
	hash     string      // of the secret; never changes: another secret is another liveAgent
	webhook  string      // what its webhooks are signed with; nor does this
	record   agentRecord // under the lock of liveAgents, as used is
	identity *Identity
	life     lifeline // of the requests under it
	used     time.Time
}

func (l *liveAgents) init() { l.byID = map[hux.Agent]*liveAgent{} }

// CreateAgent makes a credential for an agent of tenant. Name is for people:
// one to 200 characters.
func (s *Service) CreateAgent(ctx context.Context, tenant hux.Tenant, name string) (Credential, error) {
	if !tenant.Valid() {
		return Credential{}, hux.Errorf(hux.BadRequest, "An agent belongs to a tenant; this is no tenant id.")
	}
	if n := len([]rune(name)); n == 0 || n > maxName || strings.ContainsFunc(name, isControl) {
		return Credential{}, hux.Errorf(hux.BadRequest, "A name has one to %d characters and no control characters.", maxName)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Credential{}, err
	}
	secret := newSecret()
	record := agentRecord{AgentInfo{
		ID: hux.Agent("agt_" + hex.EncodeToString(id[:])), Tenant: tenant, Name: name, CreatedAt: s.now().UTC(),
	}, secretHash(secret), 0}
	if err := s.db.Update(ctx, func(tx *store.Tx) error { return putJSON(tx, agentBucket, string(record.ID), record) }); err != nil {
		return Credential{}, err
	}
	return record.credential(secret), nil
}

func (a agentRecord) credential(secret string) Credential {
	return Credential{a.AgentInfo, agentPrefix + string(a.ID) + "_" + secret}
}

// ListAgents lists the credentials of tenant, or of all tenants for "", the
// oldest first; revoked ones too.
func (s *Service) ListAgents(ctx context.Context, tenant hux.Tenant) ([]AgentInfo, error) {
	agents := []AgentInfo{}
	err := s.db.View(ctx, func(tx *store.Tx) error {
		for _, e := range tx.List(agentBucket, "") {
			var a agentRecord
			if err := json.Unmarshal(e.Value, &a); err != nil {
				return err
			}
			if tenant == "" || a.Tenant == tenant {
				agents = append(agents, a.AgentInfo)
			}
		}
		return nil
	})
	sort.Slice(agents, func(i, j int) bool { return agents[i].ID < agents[j].ID }) // UUIDv7: by time
	return agents, err
}

// RotateAgent gives an agent a new secret, and its webhooks another. The old
// ones stop at once, and so do the requests that they opened.
func (s *Service) RotateAgent(ctx context.Context, id hux.Agent) (Credential, error) {
	secret := newSecret()
	record, err := s.changeAgent(ctx, id, func(a *agentRecord) {
		a.Hash, a.RotatedAt = secretHash(secret), s.now().UTC()
		a.Generation++
	})
	if err != nil {
		return Credential{}, err
	}
	return record.credential(secret), nil
}

// RevokeAgent ends a credential for good, and the requests that it opened.
func (s *Service) RevokeAgent(ctx context.Context, id hux.Agent) error {
	_, err := s.changeAgent(ctx, id, func(a *agentRecord) { a.Hash, a.Revoked = "", true })
	return err
}

// changeAgent changes the record of an agent that is not revoked, and ends the
// requests under the old one.
func (s *Service) changeAgent(ctx context.Context, id hux.Agent, change func(*agentRecord)) (agentRecord, error) {
	s.agents.Lock()
	defer s.agents.Unlock()
	var a agentRecord
	err := s.db.Update(ctx, func(tx *store.Tx) error {
		found, err := getJSON(tx, agentBucket, string(id), &a)
		if err != nil {
			return err
		}
		if !found || a.Revoked {
			return hux.Errorf(hux.NotFound, "There is no such agent, or it is revoked.")
		}
		change(&a)
		return putJSON(tx, agentBucket, string(id), a)
	})
	if err != nil {
		return a, err
	}
	if live := s.agents.byID[id]; live != nil {
		live.life.end()
		delete(s.agents.byID, id)
	}
	return a, nil
}

// byAgent authenticates a request by an agent credential.
func (s *Service) byAgent(r *http.Request, credential string) (*Identity, context.Context, error) {
	// "agt_" and 32 digits, then the secret: the id's length is fixed.
	id, secret, ok := cutAt(strings.TrimPrefix(credential, agentPrefix), len("agt_")+32)
	if !ok || !hux.Agent(id).Valid() || !strings.HasPrefix(secret, "_") {
		return nil, r.Context(), errInvalidToken
	}
	live, err := s.liveAgent(r.Context(), hux.Agent(id))
	if err != nil {
		return nil, r.Context(), err
	}
	if live == nil || subtle.ConstantTimeCompare([]byte(secretHash(secret[1:])), []byte(live.hash)) != 1 {
		return nil, r.Context(), errInvalidToken
	}
	s.useAgent(live)
	return live.identity, live.life.join(r.Context()), nil
}

// liveAgent is the agent of that id, from memory if it can be; nil for none.
func (s *Service) liveAgent(ctx context.Context, id hux.Agent) (*liveAgent, error) {
	s.agents.Lock()
	defer s.agents.Unlock()
	live := s.agents.byID[id]
	if live == nil {
		var a agentRecord
		var found bool
		err := s.db.View(ctx, func(tx *store.Tx) (err error) {
			found, err = getJSON(tx, agentBucket, string(id), &a)
			return err
		})
		if err != nil || !found || a.Revoked {
			return nil, err
		}
		live = &liveAgent{hash: a.Hash, webhook: s.webhookSecret(id, a.Generation), record: a, identity: &Identity{
			Name: a.Name, Actor: hux.Actor{Kind: hux.KindAgent, ID: string(a.ID)}, Tenant: a.Tenant, Method: Agent,
		}}
		s.agents.byID[id] = live
	}
	return live, nil
}

// useAgent notes that an agent has shown that it is one.
func (s *Service) useAgent(live *liveAgent) {
	s.agents.Lock()
	defer s.agents.Unlock()
	live.used = s.now()
}

// seenAgents writes down when agents were last used.
func (s *Service) seenAgents(ctx context.Context) error {
	s.agents.Lock()
	defer s.agents.Unlock()
	var due []*liveAgent
	for _, live := range s.agents.byID {
		if live.used.Sub(live.record.LastUsed) >= seenInterval {
			due = append(due, live)
		}
	}
	if len(due) == 0 {
		return nil
	}
	return s.db.Update(ctx, func(tx *store.Tx) error {
		for _, live := range due {
			a := live.record
			a.LastUsed = live.used.UTC()
			if err := putJSON(tx, agentBucket, string(a.ID), a); err != nil {
				return err
			}
			live.record = a
		}
		return nil
	})
}

func cutAt(s string, n int) (before, after string, ok bool) {
	if len(s) < n {
		return "", "", false
	}
	return s[:n], s[n:], true
}

func isControl(r rune) bool {
	return r < 0x20 || r == 0x7f || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069)
}
