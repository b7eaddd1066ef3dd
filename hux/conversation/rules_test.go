package conversation_test

import (
	"encoding/json"
	"slices"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/conversation"
)

func TestRules(t *testing.T) {
	text, err := contract.Examples.ReadFile("examples/hux.conversation.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	const root, parent = "cnv_0198f3a00000700080000000000000a1", "cnv_0198f3a00000700080000000000000a2"
	branch := func(root, parent string, seq uint64, depth int) func(*conversation.Conversation) {
		return func(c *conversation.Conversation) {
			c.Branch = conversation.Branch{RootID: root, Depth: depth}
			if root == "" {
				c.Branch.RootID = c.ID
			}
			if parent == "self" {
				parent = c.ID
			}
			if parent != "" {
				c.Branch.ParentID = &parent
			}
			if seq > 0 {
				c.Branch.ForkSeq = &seq
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*conversation.Conversation)
		want   []string
	}{
		"a root":               {func(*conversation.Conversation) {}, nil},
		"a child":              {branch(root, root, 7, 1), nil},
		"a grandchild":         {branch(root, parent, 7, 2), nil},
		"a root with a parent": {branch("", parent, 0, 0), []string{"/branch"}},
		"a root with a fork":   {branch("", "", 3, 0), []string{"/branch"}},
		"a root with a depth":  {branch("", "", 0, 1), []string{"/branch"}},
		"no parent":            {branch(root, "", 7, 1), []string{"/branch"}},
		"no fork":              {branch(root, root, 0, 1), []string{"/branch"}},
		"no depth":             {branch(root, root, 7, 0), []string{"/branch"}},
		"its own parent":       {branch(root, "self", 7, 1), []string{"/branch"}},
		"depth of a child":     {branch(root, root, 7, 2), []string{"/branch/depth"}},
		"depth of none":        {branch(root, parent, 7, 1), []string{"/branch/depth"}},
		"private": {func(c *conversation.Conversation) {
			c.Mode.Mode, c.Private, c.Ephemeral, c.ExpiresAt = "private", true, true, &hux.Time{}
		}, nil},
		"was private":           {func(c *conversation.Conversation) { c.Private = true }, nil},
		"ephemeral, not so now": {func(c *conversation.Conversation) { c.Ephemeral, c.Private = true, true }, []string{"/ephemeral"}},
		"private and kept":      {func(c *conversation.Conversation) { c.Mode.Mode, c.Private = "private", true }, []string{"/ephemeral"}},
		"ephemeral, never private": {
			func(c *conversation.Conversation) { c.Mode.Mode, c.Ephemeral = "private", true }, []string{"/private"},
		},
		"ends by itself": {func(c *conversation.Conversation) { c.ExpiresAt = &hux.Time{} }, []string{"/expires_at"}},
		"nothing":        {func(c *conversation.Conversation) { *c = conversation.Conversation{} }, nil},
	} {
		var v conversation.Conversation
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		c.change(&v)
		changed, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		faults, err := conversation.Rules[conversation.Schema](changed)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range faults {
			got = append(got, f.Pointer)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
