package schema_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/schema"
)

// What the router answers keeps to the schemas that it publishes.
func TestServedRecordsKeepToTheirSchemas(t *testing.T) {
	set := load(t)
	check := func(what, name string, body []byte) {
		t.Helper()
		v, err := schema.Parse(body)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := set.Validate(name, v); err != nil {
			var e *hux.Error
			errors.As(err, &e)
			t.Errorf("%s: %v, %v\n%s", what, err, e.Members, body)
		}
	}

	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range []string{"", "hux.foundation", "hux.multimodal", "all"} {
		for _, digest := range []string{"", "sha256:" + strings.Repeat("3c5e", 16)} {
			body, err := json.Marshal(api.NewCapabilities(hux.ResolveFlags(registry, []string{listed}), nil, &api.Call{
				Actor: hux.Actor{Kind: hux.KindHuman, ID: "usr_4f1d2c9a7be03658d1c24f7a90b3e6581d2c4f7a"}, Surface: hux.SurfaceChat, Build: api.ThisBuild(digest),
			}))
			if err != nil {
				t.Fatal(err)
			}
			check("capabilities with "+listed, "hux.capabilities.v1", body)
		}
	}

	_, refused := set.Decode("hux.event.create.v1", []byte(`{"kind":"grant.created","id":1}`))
	for what, err := range map[string]error{
		"plain": hux.Errorf(hux.NotFound, "There is nothing here."), "later": hux.Errorf(hux.RateLimited, "Slower, please.").After(time.Second),
		"unknown": errors.New("boom"), "refused by a schema": refused,
	} {
		r := httptest.NewRequest("GET", "/hux/v1/capabilities", nil)
		r = r.WithContext(api.WithRequestID(r.Context(), "0198f3a2d1e07c33"))
		w := httptest.NewRecorder()
		api.WriteError(w, r, err)
		check("error, "+what, "hux.error.v1", w.Body.Bytes())
	}
}
