package mirror

import (
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/conversation"
)

// asked makes of an approval of the WebUI the call that it is about. The WebUI
// knows of most calls only the command, which its agent runs in a shell, and
// names them by the pattern that was found in it.
func asked(session string, p *pending) autonomy.Foreign {
	f := autonomy.Foreign{Session: refOf(session), ID: hux.ForeignID(p.ID), Tool: p.Tool}
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
	if !hux.ValidForeignID(f.Tool) {
		f.Tool = "unknown"
	}
	return f
}

func refOf(session string) conversation.Ref { return conversation.Ref{System: "webui", ID: session} }
