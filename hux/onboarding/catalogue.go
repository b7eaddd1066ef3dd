package onboarding

import (
	_ "embed" // for the catalogue
	"encoding/json"
	"fmt"
)

// Contexts are the moments that a surface may report.
var Contexts = []string{
	"new_conversation", // an empty conversation is open
	"run_started",      // the assistant has begun to work
	"approval_asked",   // it waits for a decision
	"memory_proposed",  // it wants to remember something
	"artifact_changed", // something that was made has a new version
	"answer_cited",     // an answer has citations
	"many_chats",       // there are more conversations than fit the list
}

//go:embed catalogue.json
var catalogue []byte

// Catalogue is the list of all suggestions there are, in the order in which
// they are offered. An entry that changes keeps its id; a new meaning gets a
// new one, since who has stopped the old one has not stopped the other.
func Catalogue() []Suggestion {
	var list []Suggestion
	if err := json.Unmarshal(catalogue, &list); err != nil {
		panic(fmt.Sprintf("onboarding: catalogue.json: %v", err)) // embedded, and tested
	}
	return list
}
