package standin

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// message is one line of a conversation.
type message struct {
	ID        int     `json:"id"` // counts from 1 in each conversation
	Role      string  `json:"role"`
	Content   string  `json:"content"`
	Timestamp float64 `json:"timestamp"` // seconds since 1970
}

// toolCall is a tool that the agent used, with its whole result.
type toolCall struct {
	Name    string         `json:"name"`
	Args    map[string]any `json:"args"`
	Preview string         `json:"preview"`
	Result  string         `json:"result"`
	IsError bool           `json:"is_error"`
	ID      string         `json:"tid"`
	Message int            `json:"assistant_message_id"` // the answer it belongs to
}

// conversation is a session in the real WebUI's words.
type conversation struct {
	id, title string
	created   time.Time
	updated   time.Time
	messages  []message
	tools     []toolCall
	draft     json.RawMessage
	nextID    int
	run       *run // the turn under way, or nil
}

// summary is the conversation in a list.
func (c *conversation) summary() map[string]any {
	s := map[string]any{
		"session_id": c.id, "title": c.title, "message_count": len(c.messages),
		"created_at": seconds(c.created), "updated_at": seconds(c.updated), "pinned": false, "archived": false,
		"model": "scripted", "profile": "default", "project_id": nil, "active_stream_id": nil, "attention": nil,
	}
	if c.run != nil {
		s["active_stream_id"] = c.run.id
		if c.run.pending != nil {
			s["attention"] = map[string]any{"kind": "approval", "count": 1, "severity": "critical"}
		}
	}
	return s
}

// whole is the conversation with its messages, safe to use without the lock.
func (c *conversation) whole() map[string]any {
	s := c.summary()
	s["messages"] = append([]message{}, c.messages...)
	s["tool_calls"] = append([]toolCall{}, c.tools...)
	s["composer_draft"] = c.draft
	return s
}

// add appends a message and gives its id.
func (c *conversation) add(role, content string, now time.Time) int {
	c.nextID++
	c.messages = append(c.messages, message{c.nextID, role, content, seconds(now)})
	if extra := len(c.messages) - maxMessages; extra > 0 {
		first := c.messages[extra].ID
		c.messages = append([]message(nil), c.messages[extra:]...)
		kept := c.tools[:0:0]
		for _, t := range c.tools {
			if t.Message >= first {
				kept = append(kept, t)
			}
		}
		c.tools = kept
	}
	c.updated = now
	return c.nextID
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// titleOf makes a title of a conversation's first message.
func titleOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > 48 {
		return string(r[:47]) + "…"
	}
	return line
}

const untitled = "New chat"

// chatRequest is the union of the bodies that the chat routes take.
type chatRequest struct {
	SessionID  string          `json:"session_id"`
	Title      string          `json:"title"`
	Message    string          `json:"message"`
	Draft      json.RawMessage `json:"draft"`
	ApprovalID string          `json:"approval_id"`
	Choice     string          `json:"choice"`
}

// body reads a request's JSON; if it answers false it has answered.
func (u *WebUI) body(w http.ResponseWriter, r *http.Request) (chatRequest, bool) {
	var req chatRequest
	err := json.NewDecoder(r.Body).Decode(&req)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		u.fail(w, r, http.StatusRequestEntityTooLarge, "the body is too large")
		return req, false
	case err != nil && !errors.Is(err, io.EOF):
		u.fail(w, r, http.StatusBadRequest, "the body is not JSON")
		return req, false
	}
	return req, true
}

func (u *WebUI) serveSessions(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	list := []map[string]any{}
	for _, c := range u.conversations.NewestFirst() {
		list = append(list, c.summary())
	}
	u.mu.Unlock()
	u.json(w, r, http.StatusOK, map[string]any{"sessions": list, "total": len(list)})
}

// with answers with what f says of a conversation, under the lock.
func (u *WebUI) with(w http.ResponseWriter, r *http.Request, id string, f func(*conversation) map[string]any) {
	u.mu.Lock()
	c, ok := u.conversations.Get(id)
	var answer map[string]any
	if ok {
		answer = f(c)
	}
	u.mu.Unlock()
	if !ok {
		u.fail(w, r, http.StatusNotFound, "Session not found")
		return
	}
	u.json(w, r, http.StatusOK, answer)
}

func (u *WebUI) serveSession(w http.ResponseWriter, r *http.Request) {
	u.with(w, r, r.URL.Query().Get("session_id"), func(c *conversation) map[string]any {
		return map[string]any{"session": c.whole()}
	})
}

func (u *WebUI) serveSessionStatus(w http.ResponseWriter, r *http.Request) {
	u.with(w, r, r.URL.Query().Get("session_id"), func(c *conversation) map[string]any { return c.summary() })
}

func (u *WebUI) serveNew(w http.ResponseWriter, r *http.Request) {
	if _, ok := u.body(w, r); !ok {
		return
	}
	now := time.Now()
	c := &conversation{id: newID(12), title: untitled, created: now, updated: now}
	u.mu.Lock()
	for _, old := range u.conversations.Put(c.id, c) {
		old.end()
	}
	u.changes.add(c.id, "session_created")
	answer := map[string]any{"session": c.whole()}
	u.mu.Unlock()
	u.json(w, r, http.StatusOK, answer)
}

// end stops the turn of a conversation that goes away.
func (c *conversation) end() {
	if c.run != nil {
		c.run.cancel()
	}
}

func (u *WebUI) serveRename(w http.ResponseWriter, r *http.Request) {
	req, ok := u.body(w, r)
	if !ok {
		return
	}
	u.with(w, r, req.SessionID, func(c *conversation) map[string]any {
		if title := titleOf(req.Title); title != "" {
			c.title = title
		}
		u.changes.add(c.id, "session_renamed")
		return map[string]any{"session": c.summary()}
	})
}

func (u *WebUI) serveDelete(w http.ResponseWriter, r *http.Request) {
	req, ok := u.body(w, r)
	if !ok {
		return
	}
	u.with(w, r, req.SessionID, func(c *conversation) map[string]any {
		c.end()
		u.conversations.Remove(c.id)
		u.changes.add(c.id, "session_deleted")
		return map[string]any{"ok": true}
	})
}

func (u *WebUI) serveDraft(w http.ResponseWriter, r *http.Request) {
	req, ok := u.body(w, r)
	if !ok {
		return
	}
	if len(req.Draft) > 2*maxMessageSize {
		u.fail(w, r, http.StatusRequestEntityTooLarge, "the draft is too large")
		return
	}
	u.with(w, r, req.SessionID, func(c *conversation) map[string]any {
		c.draft = req.Draft
		return map[string]any{"ok": true, "draft": c.draft}
	})
}

// serveUpload takes a file, counts it and keeps nothing.
func (u *WebUI) serveUpload(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		u.fail(w, r, http.StatusBadRequest, "the body is not a form with a file")
		return
	}
	for {
		part, err := parts.NextPart()
		if err == nil && part.FileName() == "" {
			continue
		}
		var size int64
		if err == nil {
			size, err = io.Copy(io.Discard, part)
		}
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			u.fail(w, r, http.StatusRequestEntityTooLarge, "the file is too large")
		case err != nil:
			u.fail(w, r, http.StatusBadRequest, "the form has no whole file")
		default:
			name := part.FileName()
			u.json(w, r, http.StatusOK, map[string]any{
				"ok": true, "filename": name, "path": "uploads/" + name, "size": size, "mime": part.Header.Get("Content-Type"),
			})
		}
		return
	}
}

// serveStart takes a message and sets the agent to work on it.
func (u *WebUI) serveStart(w http.ResponseWriter, r *http.Request) {
	req, ok := u.body(w, r)
	if !ok {
		return
	}
	text := strings.TrimSpace(req.Message)
	if text == "" || len(text) > maxMessageSize {
		u.fail(w, r, http.StatusBadRequest, "a message is required, of 16 KB at most")
		return
	}
	status, answer := u.start(req.SessionID, text)
	u.json(w, r, status, answer)
}

func (u *WebUI) start(session, text string) (status int, answer map[string]any) {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	c, ok := u.conversations.Get(session)
	if !ok {
		return http.StatusNotFound, map[string]any{"error": "Session not found"}
	}
	if c.run != nil {
		return http.StatusConflict, map[string]any{"error": "the session has a turn under way", "active_stream_id": c.run.id}
	}
	message := c.add("user", text, now)
	c.draft = nil
	if c.title == untitled {
		c.title = titleOf(text)
	}
	run := u.begin(c, text, message, now)
	return http.StatusOK, map[string]any{
		"stream_id": run.id, "session_id": c.id, "turn_id": run.turn, "pending_started_at": seconds(now), "title": c.title,
	}
}

func (u *WebUI) serveCancel(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("stream_id")
	if id == "" {
		u.fail(w, r, http.StatusBadRequest, "stream_id required")
		return
	}
	u.mu.Lock()
	run, ok := u.runs.Get(id)
	live := ok && !run.done
	if live {
		run.cancel()
	}
	u.mu.Unlock()
	u.json(w, r, http.StatusOK, map[string]any{"ok": true, "cancelled": live, "stream_id": id})
}

func (u *WebUI) serveStreamStatus(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("stream_id")
	u.mu.Lock()
	run, ok := u.runs.Get(id)
	active := ok && !run.done
	u.mu.Unlock()
	u.json(w, r, http.StatusOK, map[string]any{"active": active, "stream_id": id, "replay_available": ok})
}

// servePending tells whether the agent waits for a decision.
func (u *WebUI) servePending(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	var pending map[string]any
	if c, ok := u.conversations.Get(r.URL.Query().Get("session_id")); ok && c.run != nil {
		pending = c.run.pending
	}
	u.mu.Unlock()
	count := 0
	if pending != nil {
		count = 1
	}
	u.json(w, r, http.StatusOK, map[string]any{"pending": pending, "pending_count": count})
}

// serveRespond gives the agent the decision it waits for.
func (u *WebUI) serveRespond(w http.ResponseWriter, r *http.Request) {
	req, ok := u.body(w, r)
	if !ok {
		return
	}
	switch req.Choice {
	case "once", "session", "always", "deny":
	default:
		u.fail(w, r, http.StatusBadRequest, "choice is once, session, always or deny")
		return
	}
	u.mu.Lock()
	c, found := u.conversations.Get(req.SessionID)
	waits := found && c.run != nil && c.run.pending != nil
	decided := waits && c.run.pending["approval_id"] == req.ApprovalID
	if decided {
		c.run.pending = nil
		c.run.decision <- req.Choice // holds one, and pending was the leave to send it
		u.changes.add(c.id, "attention_resolved")
	}
	u.mu.Unlock()
	answer := map[string]any{"ok": decided, "choice": req.Choice}
	if !waits { // the card was a stale one, and is done with
		answer["ok"], answer["stale_cleared"] = true, true
	}
	u.json(w, r, http.StatusOK, answer)
}
