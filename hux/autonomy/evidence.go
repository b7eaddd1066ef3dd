package autonomy

import (
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// EvidenceHash names exactly what will run: "sha256:" and the SHA-256, in hex,
// of the canonical JSON (RFC 8785) of {tool, args, target}, whose args are the
// effective ones and whose target is null where it is "". What only describes
// the call is no part of it. The error is that of schema.Canonical: the
// arguments hold a number that has no one form.
func EvidenceHash(tool string, args map[string]any, target string) (string, error) {
	call := map[string]any{"tool": tool, "args": args, "target": nil}
	if args == nil {
		call["args"] = map[string]any{}
	}
	if target != "" {
		call["target"] = target
	}
	text, err := schema.Canonical(call)
	if err != nil {
		return "", err
	}
	return hux.Digest(text), nil
}
