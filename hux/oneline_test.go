package hux_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
)

// What OneLine writes means the same and has no break in any reader's eyes.
func FuzzOneLine(f *testing.F) {
	for _, s := range []string{"", "plain", "a\u0085b", "\ufeffa", "a\u2028\u2029", "\u0080\u009f", "ü€😀", "\xff\xc2", "\\\u0085"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(map[string]string{"text": s}); err != nil {
			t.Fatal(err)
		}
		line := hux.OneLine(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
		if strings.ContainsFunc(string(line), func(r rune) bool {
			return r < ' ' || 0x80 <= r && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff
		}) {
			t.Errorf("%q", line)
		}
		var want, got map[string]string
		if json.Unmarshal(b.Bytes(), &want) != nil || json.Unmarshal(line, &got) != nil || want["text"] != got["text"] {
			t.Errorf("%q is not %q", line, b.Bytes())
		}
	})
}
