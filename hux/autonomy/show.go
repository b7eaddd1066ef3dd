package autonomy

import (
	"strings"
	"unicode"

	"bstein.dev/hux/hux/redact"
)

// Shown is how a person sees a call: the summary in one line, and all of its
// arguments with the secrets in them masked by the rules named.
type Shown struct {
	Summary string
	Args    map[string]any
	Rules   []string
}

// telling are the arguments that tell most of a call, the best first.
var telling = []string{"command", "code", "path", "url", "query", "target", "message", "prompt"}

// maxSummary bounds a summary, in characters (contracts 2.7).
const maxSummary = 280

// Show makes of a call what a person is shown of it.
func Show(tool string, args map[string]any) Shown {
	if args == nil {
		args = map[string]any{}
	}
	masked, rules := redact.Mask(args)
	shown, _ := masked.(map[string]any)
	summary := tool
	for _, name := range telling {
		if text, ok := shown[name].(string); ok && text != "" {
			summary += ": " + text
			break
		}
	}
	return Shown{oneLine(summary), shown, rules}
}

// oneLine writes text without line breaks and whatever else moves what is
// seen, and cuts it off with a mark.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\ufffd"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}), " ")
	if runes := []rune(text); len(runes) > maxSummary {
		return string(runes[:maxSummary-1]) + "…"
	}
	return text
}
