package schema_test

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// Whatever is sent as whichever request, it is refused in our words, or what is
// left of it is valid, and stays as it is when it is sent again.
func FuzzDecode(f *testing.F) {
	set := load(f)
	requests := slices.DeleteFunc(names(set), func(n string) bool { return !isRequest(n) })
	for i, name := range requests {
		f.Add(uint8(i), example(f, name)) //nolint:gosec // fewer than that
		cases, err := fs.Glob(contract.Examples, "examples/invalid/"+name+"/*.json")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range cases {
			text, err := fs.ReadFile(contract.Examples, file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), text) //nolint:gosec // fewer than that
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		name := requests[int(which)%len(requests)]
		in, err := set.Decode(name, body)
		if err != nil {
			var e *hux.Error
			if !errors.As(err, &e) || e.Code.Status() >= 500 {
				t.Fatalf("%s: %v", name, err)
			}
			if list, ok := e.Members["errors"].([]schema.Fault); ok && (len(list) == 0 || len(list) > 20) {
				t.Errorf("%s: %d faults", name, len(list))
			}
			return
		}
		if err := set.Validate(name, in.Value); err != nil {
			t.Errorf("%s: what was let in is not valid: %v", name, err)
		}
		var v map[string]any
		if err := in.Into(&v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := in.Text
		if len(text) > schema.BodyLimit(name) {
			return // escapes can be longer than what they stand for
		}
		again, err := set.Decode(name, text)
		if err != nil || len(again.Ignored) > 0 {
			t.Fatalf("%s: the text is refused or loses members: %v", name, err)
		}
		if !bytes.Equal(again.Text, text) {
			t.Errorf("%s: %q and then %q", name, text, again.Text)
		}
	})
}
