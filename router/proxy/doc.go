// Package proxy stands between a signed-in browser and its tenant's web UI.
// It decides on the exact request target that is sent, lets through what a
// rules file allows, sets the identity header that the upstream trusts, keeps
// the cookies of tenants apart and puts the bridge into pages.
//
// The order of a request is in Proxy.Serve: method, target, rule, origin,
// slot, body, transport, answer.
package proxy
