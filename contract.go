// Package contract carries the data that the HUX contract is made of, so that
// the one binary needs no files beside it.
package contract

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
)

// Flags is flags.json: each flag with its part of the contract and what it
// depends on.
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

// Switchyard is the ConfigMap of the routes that modes are mapped to.
//
//go:embed deploy/switchyard/switchyard-configmap.yaml
var Switchyard []byte

// Vectors holds tests/vectors/*.json, the rules that no schema can say as tables
// of questions and answers. The README beside them says how to read them.
//
//go:embed tests/vectors/*.json
var Vectors embed.FS

// VectorsSHA256 is the hash that the manifest has of the vectors, in hex: that of
// the lines which sha256sum prints for the files in the order of their names.
func VectorsSHA256() string {
	all := sha256.New()
	files, _ := fs.Glob(Vectors, "tests/vectors/*.json") // sorted; only a bad pattern is an error
	for _, file := range files {
		text, _ := fs.ReadFile(Vectors, file) // embedded
		fmt.Fprintf(all, "%x  %s\n", sha256.Sum256(text), path.Base(file))
	}
	return hex.EncodeToString(all.Sum(nil))
}
