package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/router/identity"
	"bstein.dev/hux/router/tenant"
)

// AdminSocket is where a running router takes operators' commands: a Unix
// socket in the data directory, which only the router's own user can open.
func AdminSocket(data string) string { return filepath.Join(data, "admin.sock") }

// AdminRequest is an operator's command: which members it needs depends on
// its path.
type AdminRequest struct {
	Slot  string    `json:"slot,omitempty"`
	User  hux.User  `json:"user,omitempty"`
	Share bool      `json:"share,omitempty"` // join a slot that others have
	Wiped bool      `json:"wiped,omitempty"` // the slot's WebUI was emptied
	Agent hux.Agent `json:"agent,omitempty"`
	Name  string    `json:"name,omitempty"`
}

// ServeAdmin takes operators' commands until stop is called. Run does so too.
func (s *Server) ServeAdmin() (stop func(), err error) {
	d, err := s.adminDoor()
	if err != nil {
		return nil, err
	}
	go func() { _ = d.serve() }()
	return func() { _ = d.server.Close() }, nil
}

// adminDoor takes the operators' socket.
func (s *Server) adminDoor() (*door, error) {
	path := AdminSocket(s.config.Data)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a crash: the database's lock is ours, so nobody serves it
		return nil, fmt.Errorf("operators' socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("operators' socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("operators' socket: %w", err), l.Close())
	}
	return newDoor(l, s.adminHandler()), nil
}

// adminHandler answers operators' commands. It authenticates nobody: whoever
// can reach it is the operator.
func (s *Server) adminHandler() http.Handler {
	m := http.NewServeMux()
	command := func(path string, run func(context.Context, AdminRequest) (any, error)) {
		m.Handle("POST "+path, api.Handler(func(w http.ResponseWriter, r *http.Request) error {
			var req AdminRequest
			decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, api.MaxBody))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&req); err != nil {
				return hux.Errorf(hux.InvalidJSON, "This command is not understood.").Because(err)
			}
			answer, err := run(r.Context(), req)
			if err != nil {
				return err
			}
			slog.InfoContext(r.Context(), "operator's command", "command", path, "slot", req.Slot, "user", req.User, "agent", req.Agent)
			return api.JSON(w, http.StatusOK, answer)
		}))
	}
	command("/slots/list", func(context.Context, AdminRequest) (any, error) { return s.tenants.List(), nil })
	command("/slots/assign", func(ctx context.Context, q AdminRequest) (any, error) {
		return struct{}{}, s.tenants.Assign(ctx, q.Slot, q.User, q.Share)
	})
	command("/slots/free", func(ctx context.Context, q AdminRequest) (any, error) {
		return struct{}{}, s.free(ctx, q.Slot, q.Wiped)
	})
	command("/slots/remove", func(ctx context.Context, q AdminRequest) (any, error) {
		if err := s.tenants.Remove(ctx, q.Slot, q.User); err != nil {
			return nil, err
		}
		return struct{}{}, s.identity.EndAll(ctx, q.User)
	})
	command("/slots/restored", func(ctx context.Context, q AdminRequest) (any, error) {
		t, err := s.tenantOfSlot(q.Slot)
		if err != nil {
			return nil, err
		}
		if err := s.stores.Lease(t).Update(ctx, event.Renew); err != nil {
			return nil, err
		}
		return struct{}{}, s.stores.Trust(t)
	})
	command("/agents/create", func(ctx context.Context, q AdminRequest) (any, error) {
		t, err := s.tenantOfSlot(q.Slot)
		if err != nil {
			return nil, err
		}
		return s.identity.CreateAgent(ctx, t, q.Name)
	})
	command("/agents/list", func(ctx context.Context, q AdminRequest) (any, error) { return s.listAgents(ctx, q.Slot) })
	command("/agents/rotate", func(ctx context.Context, q AdminRequest) (any, error) {
		return s.identity.RotateAgent(ctx, q.Agent)
	})
	command("/agents/hook", func(ctx context.Context, q AdminRequest) (any, error) { return s.agentHook(ctx, q) })
	command("/agents/revoke", func(ctx context.Context, q AdminRequest) (any, error) {
		return struct{}{}, s.identity.RevokeAgent(ctx, q.Agent)
	})
	return m
}

// free takes a slot from its members, ends their sessions, so that what they
// have open ends too, and revokes the tenant's agents.
func (s *Server) free(ctx context.Context, slot string, wiped bool) error {
	var members []hux.User
	var buried hux.Tenant
	for _, st := range s.tenants.List() {
		if st.ID == slot {
			members, buried = st.Members, st.Tenant
		}
	}
	if err := s.tenants.Free(ctx, slot, wiped); err != nil {
		return err
	}
	var errs error
	for _, u := range members {
		errs = errors.Join(errs, s.identity.EndAll(ctx, u))
	}
	agents, err := s.identity.ListAgents(ctx, buried)
	errs = errors.Join(errs, err)
	for _, a := range agents {
		if !a.Revoked {
			errs = errors.Join(errs, s.identity.RevokeAgent(ctx, a.ID))
		}
	}
	return errs
}

func (s *Server) tenantOfSlot(slot string) (hux.Tenant, error) {
	for _, st := range s.tenants.List() {
		switch {
		case st.ID != slot:
		case st.Assignment == tenant.Assigned:
			return st.Tenant, nil
		default:
			return "", hux.Errorf(hux.NotFound, "Slot %s is nobody's yet, and an agent belongs to the tenant of a slot. Let the person open the chat once, or give them the slot: hux slots assign %s USER", slot, slot)
		}
	}
	return "", hux.Errorf(hux.NotFound, "There is no slot %s; those that there are: hux slots list", slot)
}

// AgentView is an agent as an operator sees it.
type AgentView struct {
	Slot string `json:"slot"`
	identity.AgentInfo
	autonomy.Heard
}

// AgentHook is what an agent's Hermes has to be told: where to report to, and
// the secret of its webhooks.
type AgentHook struct {
	Slot string `json:"slot"`
	URL  string `json:"url"` // where people chat, which programs reach too
	identity.Webhook
}

// agentHook tells of an agent.
func (s *Server) agentHook(ctx context.Context, q AdminRequest) (AgentHook, error) {
	agents, err := s.listAgents(ctx, "")
	if err != nil {
		return AgentHook{}, err
	}
	i := slices.IndexFunc(agents, func(a AgentView) bool { return a.ID == q.Agent && !a.Revoked })
	if i < 0 {
		return AgentHook{}, hux.Errorf(hux.NotFound, "There is no such agent, or it is revoked.")
	}
	w, err := s.identity.Webhook(ctx, q.Agent)
	return AgentHook{agents[i].Slot, api.Origin(s.config.PublicURL), w}, err
}

func (s *Server) listAgents(ctx context.Context, slot string) ([]AgentView, error) {
	views := []AgentView{}
	for _, st := range s.tenants.List() {
		if st.Tenant == "" || (slot != "" && st.ID != slot) {
			continue
		}
		agents, err := s.identity.ListAgents(ctx, st.Tenant)
		if err != nil {
			return nil, err
		}
		heard, err := autonomy.ReadHeard(ctx, s.stores.Lease(st.Tenant))
		if err != nil {
			return nil, err
		}
		for _, a := range agents {
			views = append(views, AgentView{st.ID, a, heard[a.ID]})
		}
	}
	return views, nil
}
