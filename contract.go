// Package contract carries the data that the HUX contract is made of, so that
// the one binary needs no files beside it.
package contract

import "embed"

// Flags is flags.json, the registry of the twelve flags.
//
//go:embed flags.json
var Flags []byte

// Schemas holds schemas/<name>.json: JSON Schema 2020-12 for each record and
// each request body, and defs.json with what they share.
//
//go:embed schemas
var Schemas embed.FS

// Examples holds examples/<name>.json, a worked example of each schema, and
// examples/invalid/<name>/*.json: {pointer, rule, value} says that the example
// with value put at pointer (RFC 6901; taken away where there is no value)
// must be refused by rule, a keyword of JSON Schema or an error code.
//
//go:embed examples
var Examples embed.FS
