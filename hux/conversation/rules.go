package conversation

import "bstein.dev/hux/hux/schema"

// Rules are what the conversation's schemas can't say.
var Rules = map[string]schema.Rule{Schema: schema.RuleOf(faults)}

func faults(c *Conversation) (faults schema.Faults) {
	b := c.Branch
	switch root := b.RootID == c.ID; {
	case root && (b.ParentID != nil || b.ForkSeq != nil || b.Depth != 0):
		faults.Add("/branch", "branch_mismatch", "must have no parent, no fork and no depth where the conversation is its own root")
	case !root && (b.ParentID == nil || b.ForkSeq == nil || b.Depth == 0 || *b.ParentID == c.ID):
		faults.Add("/branch", "branch_mismatch", "must name another conversation as parent, where it forks and how deep it is")
	case !root && (b.Depth == 1) != (*b.ParentID == b.RootID):
		faults.Add("/branch/depth", "branch_mismatch", "must be 1 of a child of the root, and of no other")
	}
	if c.Ephemeral != (c.Mode.Mode == "private") {
		faults.Add("/ephemeral", "ephemeral_mismatch", "must be true in the one mode that keeps nothing, and in no other")
	}
	if c.Ephemeral && !c.Private {
		faults.Add("/private", "ephemeral_mismatch", "must be true once the conversation has been ephemeral")
	}
	if c.ExpiresAt != nil && !c.Ephemeral {
		faults.Add("/expires_at", "ephemeral_mismatch", "must be null where nothing ends by itself")
	}
	return faults
}
