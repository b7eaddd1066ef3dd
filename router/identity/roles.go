package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// rolesAt reads the roles at path in claims, and keeps those that mean
// something here. ok is false where there is nothing at path. A claim whose
// own name is the whole path comes first: names may be URLs.
func rolesAt(claims map[string]any, path string) (roles []string, ok bool) {
	value, ok := claims[path]
	if !ok {
		value = claims
		for name := range strings.SplitSeq(path, ".") {
			members, _ := value.(map[string]any)
			if value, ok = members[name]; !ok {
				return nil, false
			}
		}
	}
	switch v := value.(type) {
	case []any:
		for _, role := range v {
			if name, ok := role.(string); ok {
				roles = append(roles, name)
			}
		}
	case string:
		roles = strings.Fields(v)
	}
	return keepRoles(roles), true
}

func keepRoles(roles []string) []string {
	kept := []string{}
	for _, role := range []string{RoleOperator, RoleWorker} {
		if slices.Contains(roles, role) {
			kept = append(kept, role)
		}
	}
	return kept
}

// roles reads the roles of a user from an access token just got from the
// provider: from the token itself if it is a JWT of this issuer for that user,
// else from the userinfo. owns says whether a subject is that user's.
func (p *provider) roles(ctx context.Context, e *endpoints, token *oauth2.Token, owns func(string) bool) ([]string, error) {
	if strings.Count(token.AccessToken, ".") == 2 {
		verified, err := checked(ctx, e.accessTokens.Verify, token.AccessToken)
		if err == nil && owns(verified.Subject) {
			var claims map[string]any
			if err := verified.Claims(&claims); err != nil {
				return nil, fmt.Errorf("%w: %w", errRefused, err)
			}
			if roles, ok := rolesAt(claims, p.o.RolesClaim); ok {
				return roles, nil
			}
		}
	}
	if e.UserInfoEndpoint() == "" {
		return []string{}, nil
	}
	info, err := e.UserInfo(oidc.ClientContext(ctx, p.client), oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, errUnavailable // never its text: it may hold the answer's body
	}
	if !owns(info.Subject) {
		return nil, fmt.Errorf("%w: the userinfo is another subject's", errRefused)
	}
	var claims map[string]any
	if err := info.Claims(&claims); err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	roles, _ := rolesAt(claims, p.o.RolesClaim)
	return keepRoles(roles), nil
}

// claimsOf is the payload of a JWT as a struct, for what go-oidc does not name.
func claimsOf[T any](token interface{ Claims(any) error }) (claims T, err error) {
	if err = token.Claims(&claims); err != nil {
		err = fmt.Errorf("%w: %w", errRefused, err)
	}
	return claims, err
}
