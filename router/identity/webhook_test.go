package identity_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"bstein.dev/hux/hux"
)

func signature(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// A webhook is refused before its body is read wherever that can be said, and
// always with the same answer; only a good one counts as a use.
func TestSigner(t *testing.T) {
	rt := newRouter(t)
	const ten = hux.Tenant("ten_0123456789abcdef0123456789abcdef")
	c, err := rt.CreateAgent(t.Context(), ten, "a")
	if err != nil {
		t.Fatal(err)
	}
	hook, err := rt.Webhook(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"x":1}`
	good := signature(hook.Secret, body)
	refusal := func(err error) string {
		var e *hux.Error
		if !errors.As(err, &e) {
			t.Fatalf("%v", err)
		}
		return string(e.Code) + e.Error()
	}
	request := func(signatures ...string) *http.Request {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		r.Header["X-Hermes-Signature-256"] = signatures
		return r
	}
	used := func() time.Time {
		t.Helper()
		rt.restart() // writes down when it was used
		list, err := rt.ListAgents(t.Context(), ten)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0].LastUsed
	}
	signer, err := rt.Signer(request(signature("another", body)), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, _, wrong := signer.Signed(request(), []byte(body))
	for what, refused := range map[string]struct {
		id         hux.Agent
		signatures []string
	}{
		"no signature":      {c.ID, nil},
		"two of them":       {c.ID, []string{good, good}},
		"one too short":     {c.ID, []string{good[:len(good)-2]}},
		"one that is empty": {c.ID, []string{"sha256="}},
		"no hex":            {c.ID, []string{good[:len(good)-1] + "g"}},
		"no agent's id":     {"agt_x", []string{good}},
		"an unknown agent":  {"agt_00000000000000000000000000000000", []string{good}},
	} {
		signer, err := rt.Signer(request(refused.signatures...), refused.id)
		if signer != nil || refusal(err) != refusal(wrong) {
			t.Errorf("%s: %v", what, err)
		}
	}
	bearer := rt.browser()
	bearer.get(apiURL+"/who", "Authorization", "Bearer "+c.Secret[:len(c.Secret)-1]+"!")
	if at := used(); !at.IsZero() {
		t.Errorf("what was refused counts as a use at %v", at)
	}
	if signer, err = rt.Signer(request(good), c.ID); err != nil {
		t.Fatal(err)
	}
	if id, _, err := signer.Signed(request(good), []byte(body)); err != nil || id.Tenant != ten {
		t.Errorf("%+v %v", id, err)
	}
	if used().IsZero() {
		t.Error("a good webhook does not count as a use")
	}
}
