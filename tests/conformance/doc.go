// Package conformance holds a black-box suite for any server of /hux/v1. It
// knows the contract's text, what the server says of itself, and the worked
// examples and vectors of this repository; nothing of how a server is built.
//
// README.md says how to run it.
package conformance
