package cards_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/schema"
)

func TestCanonicalVectors(t *testing.T) {
	var want struct {
		Canonical []struct{ JSON, Canonical, SHA256 string }
		Refused   []string
		Evidence  []struct {
			Tool   string
			Args   map[string]any
			Target *string
			Hash   string
		}
	}
	vectors(t, "canonical.json", &want)
	for _, v := range want.Canonical {
		got, err := schema.Canonical(json.RawMessage(v.JSON))
		if sum := sha256.Sum256(got); string(got) != v.Canonical || hex.EncodeToString(sum[:]) != v.SHA256 || err != nil {
			t.Errorf("%s: %s, %v", v.JSON, got, err)
		}
	}
	for _, text := range want.Refused {
		if got, err := schema.Canonical(json.RawMessage(text)); err == nil {
			t.Errorf("%s: %s", text, got)
		}
	}
	for _, v := range want.Evidence {
		target := ""
		if v.Target != nil {
			target = *v.Target
		}
		if got, err := autonomy.EvidenceHash(v.Tool, v.Args, target); got != v.Hash || err != nil {
			t.Errorf("%+v: %s, %v", v, got, err)
		}
	}
	if len(want.Canonical) == 0 || len(want.Refused) == 0 || len(want.Evidence) == 0 {
		t.Error("a list is empty")
	}
}
