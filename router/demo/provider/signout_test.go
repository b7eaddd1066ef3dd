package provider_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
)

func TestEndSession(t *testing.T) {
	p := newParty(t)
	end := p.issuer + "/end-session?"
	after := "http://console.test/signed-out?x=1"

	token := p.signIn("alice")
	hint := token.Extra("id_token").(string)
	sid := p.accessClaims(token.AccessToken).Session
	status, q := p.location(http.MethodGet, end+url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {after}, "state": {"z"}}.Encode(), nil)
	if status != http.StatusSeeOther || q.Get("state") != "z" || q.Get("x") != "1" {
		t.Errorf("sign-out with a hint was answered %d, %v", status, q)
	}
	if len(p.Sessions("alice")) != 0 {
		t.Error("the session is still there")
	}
	_, err := p.refresh(token)
	wantOAuthError(t, err, "invalid_grant")
	tokens := p.logoutTokens()
	if len(tokens) != 1 {
		t.Fatalf("%d logout tokens were sent, want 1", len(tokens))
	}
	logout, err := p.oidc.Verifier(&oidc.Config{ClientID: "hux", Now: p.now}).VerifyLogout(t.Context(), tokens[0])
	if err != nil {
		t.Fatal(err)
	}
	if logout.SessionID != sid || logout.Subject != p.Subject("alice") {
		t.Errorf("the logout token names %q of %q", logout.SessionID, logout.Subject)
	}

	token = p.signIn("alice")
	if status, _ := p.location(http.MethodGet, end, nil); status != http.StatusOK || len(p.Sessions("alice")) != 1 {
		t.Errorf("sign-out without a hint was answered %d without asking", status)
	}
	if status, _ := p.location(http.MethodGet, end+"confirm=yes", nil); status != http.StatusOK || len(p.Sessions("alice")) != 1 {
		t.Error("a GET counts as the answer to the question")
	}
	foreign := url.Values{"post_logout_redirect_uri": {"http://evil.test/"}, "client_id": {"hux"}}
	if status, q := p.location(http.MethodPost, end+foreign.Encode(), url.Values{"confirm": {"yes"}}); status != http.StatusOK || q != nil || len(p.Sessions("alice")) != 0 {
		t.Errorf("after the question: %d, %v", status, q)
	}
	if status, _ := p.location(http.MethodGet, end+"id_token_hint="+token.AccessToken, nil); status != http.StatusBadRequest {
		t.Errorf("an access token as the hint was answered %d", status)
	}

	p.signIn("bob")
	if err := p.EndSessions(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	if n := len(p.logoutTokens()); n != 3 {
		t.Errorf("%d logout tokens, want 3", n)
	}
}
