package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/conversation"
)

// foreignID is the shape of ids that belong to the gateway (contracts 1).
var foreignID = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,128}$`)

// asked makes of an approval of the WebUI the call that it is about. The WebUI
// knows of most calls only the command, which its agent runs in a shell, and
// names them by the pattern that was found in it.
func asked(session string, p *pending) autonomy.Foreign {
	f := autonomy.Foreign{Session: refOf(session), ID: nameOf(p.ID), Tool: p.Tool}
	args, _ := p.Args.(map[string]any)
	switch {
	case autonomy.Known(p.Tool) && len(args) > 0:
		f.Args = args
	case p.Command != "":
		f.Tool, f.Args = "terminal", map[string]any{"command": p.Command}
	default:
		f.Args = map[string]any{}
		if len(args) > 0 {
			f.Args = args
		}
		if p.Description != "" {
			f.Args["description"] = p.Description
		}
	}
	if !foreignID.MatchString(f.Tool) {
		f.Tool = "unknown"
	}
	return f
}

// nameOf is an id of the WebUI as a record may hold it.
func nameOf(id string) string {
	if id == "" || foreignID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func refOf(session string) conversation.Ref { return conversation.Ref{System: "webui", ID: session} }
