package identity_test

import (
	"strings"
	"testing"
	"time"

	"bstein.dev/hux/hux"
)

func TestAgents(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	ctx := t.Context()
	const ten = hux.Tenant("ten_0123456789abcdef0123456789abcdef")
	who := func(secret string) answer { t.Helper(); return b.get(apiURL+"/who", "Authorization", "Bearer "+secret) }

	c, err := rt.CreateAgent(ctx, ten, "assistant")
	if err != nil {
		t.Fatal(err)
	}
	if !c.ID.Valid() || !strings.HasPrefix(c.Secret, "hux_"+string(c.ID)+"_") {
		t.Fatalf("%+v", c.AgentInfo)
	}
	if a := who(c.Secret); a.StatusCode != 200 || !strings.Contains(a.body, `"kind":"agent"`) || !strings.Contains(a.body, string(ten)) || !strings.Contains(a.body, `"User":""`) {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	for _, secret := range []string{
		c.Secret + "x", c.Secret[:len(c.Secret)-1], "hux_" + string(c.ID), "hux_" + string(c.ID) + "_", "hux_", "hux_agt_",
		"hux_agt_00000000000000000000000000000000_" + strings.Repeat("A", 26),
	} {
		if a := who(secret); a.StatusCode != 401 || a.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("a wrong credential: %d", a.StatusCode)
		}
	}
	for tenant, name := range map[hux.Tenant]string{"ten_x": "a", ten: ""} {
		if _, err := rt.CreateAgent(ctx, tenant, name); err == nil {
			t.Errorf("an agent of %q called %q", tenant, name)
		}
	}

	stream := b.stream(apiURL+"/stream", "Authorization", "Bearer "+c.Secret)
	second, err := rt.RotateAgent(ctx, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	ends(t, stream)
	if who(c.Secret).StatusCode != 401 || who(second.Secret).StatusCode != 200 {
		t.Error("the old secret did not make way for the new one")
	}
	rt.clock.Advance(2 * time.Minute)
	who(second.Secret)
	rt.restart() // writes down when it was used
	if got := who(second.Secret).StatusCode; got != 200 {
		t.Errorf("after a restart: %d", got)
	}
	list, err := rt.ListAgents(ctx, ten)
	if err != nil || len(list) != 1 || list[0].Name != "assistant" || list[0].LastUsed.IsZero() || list[0].RotatedAt.IsZero() {
		t.Errorf("%+v %v", list, err)
	}
	if other, err := rt.ListAgents(ctx, "ten_00000000000000000000000000000000"); err != nil || len(other) != 0 {
		t.Errorf("another tenant's: %v %v", other, err)
	}

	stream = b.stream(apiURL+"/stream", "Authorization", "Bearer "+second.Secret)
	if err := rt.RevokeAgent(ctx, c.ID); err != nil {
		t.Fatal(err)
	}
	ends(t, stream)
	if got := who(second.Secret).StatusCode; got != 401 {
		t.Errorf("revoked: %d", got)
	}
	if _, err := rt.RotateAgent(ctx, c.ID); err == nil {
		t.Error("a revoked agent was rotated")
	}
	if list, _ := rt.ListAgents(ctx, ""); len(list) != 1 || !list[0].Revoked {
		t.Errorf("%+v", list)
	}
	if strings.Contains(rt.log.String(), c.Secret[41:]) {
		t.Error("the log has a secret")
	}
}
