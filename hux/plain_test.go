package hux_test

import (
	"strings"
	"testing"
	"testing/quick"

	"bstein.dev/hux/hux"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"ls -la | grep ä 日本 e\u0301 👍": "ls -la | grep ä 日本 e\u0301 👍",
		"a\u2800b\u034fc\ufe0fd\U000e0100e\u17b4f\U0001d159g\ufffch\u00a0i\u2003j": "a⟨U+2800⟩b⟨U+034F⟩c⟨U+FE0F⟩d⟨U+E0100⟩e⟨U+17B4⟩f⟨U+1D159⟩g⟨U+FFFC⟩h⟨U+00A0⟩i⟨U+2003⟩j",
		"\u202egnp.exe\u200b\u2066\u2028\u2029\u061c":                              "⟨U+202E⟩gnp.exe⟨U+200B⟩⟨U+2066⟩⟨U+2028⟩⟨U+2029⟩⟨U+061C⟩",
		"\x1b[2J\x00\x7f\u0085\ufeff\u3164\uffa0\ue000\U000e0041":                  "⟨U+001B⟩[2J⟨U+0000⟩⟨U+007F⟩⟨U+0085⟩⟨U+FEFF⟩⟨U+3164⟩⟨U+FFA0⟩⟨U+E000⟩⟨U+E0041⟩",
		"one\r\n\ttwo": "one   two",
	} {
		if got := hux.Plain(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
	if err := quick.Check(func(text string) bool { return !strings.ContainsFunc(hux.Plain(text), hux.Hidden) }, nil); err != nil {
		t.Error(err)
	}
}
