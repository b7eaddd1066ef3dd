package projects

import (
	"slices"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/conversation"
)

// How deep branches go, and how many a conversation may have (contracts 2.7).
const (
	MaxDepth    = 32
	MaxChildren = 200
)

// Fork says where a child of parent stands that shares parent's events up to
// seq, where parent has so many children already. parent's HeadSeq must be
// filled.
func Fork(parent *conversation.Conversation, seq uint64, children int) (conversation.Branch, error) {
	switch {
	case parent.State == conversation.Forgotten:
		return conversation.Branch{}, hux.Errorf(hux.ConversationForgotten, "This conversation was forgotten.")
	case parent.Ephemeral:
		// A child refers to its parent's events, and these are not to stay.
		return conversation.Branch{}, hux.Errorf(hux.PrivateHistory, "A private conversation has no branches.")
	case seq == 0 || seq > parent.HeadSeq:
		return conversation.Branch{}, hux.Errorf(hux.UnknownReference, "The conversation has no such event.")
	case parent.Branch.Depth >= MaxDepth:
		return conversation.Branch{}, hux.Errorf(hux.QuotaExceeded, "Branches go %d deep at most.", MaxDepth)
	case children >= MaxChildren:
		return conversation.Branch{}, hux.Errorf(hux.QuotaExceeded, "A conversation has %d branches at most.", MaxChildren)
	}
	return conversation.Branch{RootID: parent.Branch.RootID, ParentID: &parent.ID, ForkSeq: &seq, Depth: parent.Branch.Depth + 1}, nil
}

// Message is where the log has a message of the gateway.
type Message struct {
	ConversationID string
	Seq            uint64 // of the message.committed that names it
}

// ForkSeq is the seq of a message that a branch of parent names; m is nil where
// no event names it. While a run is under way it may be one that is still
// being written.
func ForkSeq(parent *conversation.Conversation, m *Message, running bool) (uint64, error) {
	switch {
	case m == nil && running:
		return 0, hux.Errorf(hux.MessageNotCommitted, "This message is not finished yet.")
	case m == nil || m.ConversationID != parent.ID:
		return 0, hux.Errorf(hux.UnknownReference, "The conversation has no such message.")
	}
	return m.Seq, nil
}

// Trace gives the conversations that self comes from, from the root to its
// parent. find gives nil for an id that is none.
func Trace(self *conversation.Conversation, find func(id string) *conversation.Conversation) ([]*conversation.Conversation, error) {
	up := []*conversation.Conversation{}
	for c := self; c.Branch.ParentID != nil; {
		if len(up) == MaxDepth {
			return nil, hux.Errorf(hux.LineageCycle, "The conversation's lineage has no end.")
		}
		if c = find(*c.Branch.ParentID); c == nil {
			return nil, hux.Errorf(hux.UnknownReference, "A conversation that this one comes from is missing.")
		}
		up = append(up, c)
	}
	slices.Reverse(up)
	return up, nil
}

// NewLineage is the answer about self, of what Trace found and self's children.
func NewLineage(self *conversation.Conversation, ancestors, children []*conversation.Conversation) Lineage {
	l := Lineage{Schema: LineageSchema, Root: nodeOf(self), Ancestors: nodesOf(ancestors), Self: nodeOf(self), Children: nodesOf(children)}
	if len(ancestors) > 0 {
		l.Root = l.Ancestors[0]
	}
	return l
}

func nodesOf(conversations []*conversation.Conversation) []Node {
	nodes := make([]Node, len(conversations))
	for i, c := range conversations {
		nodes[i] = nodeOf(c)
	}
	return nodes
}

func nodeOf(c *conversation.Conversation) Node {
	return Node{ID: c.ID, ParentID: c.Branch.ParentID, ForkSeq: c.Branch.ForkSeq, Depth: c.Branch.Depth, Title: c.Title, State: c.State}
}

// Segment is a part of a history: a conversation's events up to one of them.
type Segment struct {
	ConversationID string
	Until          uint64 // 0: all
}

// History is what self's history consists of, oldest first: of each ancestor
// the events that the next in the line shares, then self's own. They are
// referred to, not copied, so that what is forgotten there is forgotten here.
func History(self *conversation.Conversation, ancestors []*conversation.Conversation) []Segment {
	segments := make([]Segment, 0, len(ancestors)+1)
	for i, c := range ancestors {
		next := self
		if i+1 < len(ancestors) {
			next = ancestors[i+1]
		}
		if next.Branch.ForkSeq != nil && *next.Branch.ForkSeq > 0 {
			segments = append(segments, Segment{c.ID, *next.Branch.ForkSeq})
		}
	}
	return append(segments, Segment{ConversationID: self.ID})
}
