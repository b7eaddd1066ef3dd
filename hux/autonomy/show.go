package autonomy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/redact"
)

// Shown is how a person sees a call: a summary of one line, and all arguments
// with their secrets masked. Rules names the rules that masked them.
type Shown struct {
	Summary string
	Args    map[string]any
	Rules   []string
	Hidden  int // how many characters are masked, if the call executes something: nobody can judge those
}

// telling are the arguments that say most about a call, the best first.
var telling = []string{"command", "code", "path", "url", "query", "target", "message", "prompt"}

// maxSummary is the length of a summary at most, in characters (contracts 2.7).
const maxSummary = 280

// Show makes what a person is shown of a call.
func Show(tool string, args map[string]any) Shown {
	return show(tool, args, slices.Contains(Capabilities(tool, nil), Execute))
}

// show is Show; executes says whether the call executes something.
func show(tool string, args map[string]any, executes bool) Shown {
	if args == nil {
		args = map[string]any{}
	}
	mask := redact.Mask
	if executes {
		mask = redact.MaskCommands
	}
	masked, rules := mask(args)
	shown, _ := masked.(map[string]any)
	summary, hidden := tool, 0
	if executes && len(rules) > 0 {
		hidden = max(1, characters(args)-characters(shown))
	}
	for _, name := range telling {
		if text, ok := shown[name].(string); ok && text != "" {
			summary += ": " + text
			break
		}
	}
	return Shown{oneLine(summary), shown, rules, hidden}
}

// request is the summary of an approval's request. It says who asks if that is
// not the hook (see question.gate), and how much of what would run is hidden.
func (s Shown) request(gate string) string {
	note := ""
	if gate != "" {
		note = " (" + gate + ")"
	}
	if s.Hidden > 0 {
		note += fmt.Sprintf(" (%d characters hidden)", s.Hidden)
	}
	return within(s.Summary, maxSummary-utf8.RuneCountInString(note)) + note
}

// characters counts the characters of all strings in v, without the marks that
// stand for masked text.
func characters(v any) (n int) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(strings.ReplaceAll(v, redact.Masked, ""))
	case json.Number:
		return len(v)
	case []any:
		for _, item := range v {
			n += characters(item)
		}
	case map[string]any:
		for name, member := range v {
			n += characters(name) + characters(member)
		}
	}
	return n
}

// oneLine writes text in one line and writes invisible characters out. It cuts
// text off at maxSummary characters, with a mark.
func oneLine(text string) string { return within(text, maxSummary) }

func within(text string, most int) string {
	text = strings.Join(strings.Fields(hux.Plain(strings.ToValidUTF8(text, "\ufffd"))), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
