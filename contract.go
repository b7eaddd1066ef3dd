// Package contract carries the data that the HUX contract is made of, so that
// the one binary needs no files beside it.
package contract

import _ "embed"

// Flags is flags.json, the registry of the twelve flags.
//
//go:embed flags.json
var Flags []byte
