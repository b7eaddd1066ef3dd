package hux_test

import (
	"regexp"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
)

// An id of the gateway in another form has one name here, and no two have the
// same.
func TestForeignID(t *testing.T) {
	form := regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,128}$`)
	seen := map[string]string{}
	for _, id := range []string{"a", "a b", "a\nb", "a\n", strings.Repeat("x", 128), strings.Repeat("x", 129), "ä", "agent:main:telegram:dm:1", "a/b", "Z-9_."} {
		got := hux.ForeignID(id)
		if hux.ValidForeignID(id) != form.MatchString(id) || !hux.ValidForeignID(got) || form.MatchString(id) && got != id {
			t.Errorf("%q is %q", id, got)
		}
		if before, ok := seen[got]; ok {
			t.Errorf("%q and %q are both %q", id, before, got)
		}
		seen[got] = id
	}
	if hux.ForeignID("") != "" || hux.ValidForeignID("") {
		t.Error("no id is an id")
	}
}

func TestDigest(t *testing.T) {
	// FIPS 180-4, of "abc".
	if got := hux.Digest([]byte("abc")); got != "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Error(got)
	}
}
