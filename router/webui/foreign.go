package webui

import (
	"cmp"
	"maps"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/redact"
)

// asked makes the call that an approval of the WebUI is about. Of most calls
// the WebUI knows only the command that its agent runs in a shell, and names
// the call by the pattern that it found in the command. Where it gives
// arguments too, the person is asked about command and arguments.
func asked(session string, p *pending) autonomy.Foreign {
	f := autonomy.Foreign{Session: refOf(session), ID: idOf(p.ID), Tool: p.Tool, Args: map[string]any{}, Why: p.Description, Unfit: p.Unfit}
	if p.ID == "" { // the WebUI takes an answer without an id for whatever waits first
		f.ID = hux.Digest([]byte(strings.Join([]string{"without an id", p.Tool, p.Command, p.Description}, "\n")))
		f.Unfit = cmp.Or(f.Unfit, "the WebUI gives it no id")
	}
	args, isObject := p.Args.(map[string]any)
	list, isList := p.Args.([]any)
	unnamed := p.Args != nil && !isObject && (!isList || len(list) > 0)
	known := autonomy.Known(p.Tool)
	if isObject {
		f.Args = maps.Clone(args)
	} else if unnamed {
		f.Args["args"] = p.Args
	}
	said, there := f.Args["command"]
	switch {
	case p.Command == "":
		if _, there := f.Args["description"]; !there && (!known || len(args) == 0) && p.Description != "" {
			f.Args["description"] = p.Description
		}
	case !known || len(f.Args) == 0:
		f.Tool = "terminal"
		if f.Args = map[string]any{"command": p.Command}; len(args) > 0 || unnamed {
			f.Args["args"] = p.Args
		}
	case !there:
		f.Args["command"], f.Command = p.Command, p.Command
	case said != p.Command:
		f.Unfit = "it names two commands"
	}
	if !hux.ValidForeignID(f.Tool) {
		f.Tool = "unknown"
	}
	return f
}

func refOf(session string) conversation.Ref {
	return conversation.Ref{System: "webui", ID: idOf(session)}
}

// idOf is the id under which hux keeps a name of the WebUI's. A name that has
// not the form of an id, or looks like a secret, becomes its hash.
func idOf(id string) string {
	if masked, _ := redact.MaskText(id); masked != id {
		return hux.Digest([]byte(id))
	}
	return hux.ForeignID(id)
}
