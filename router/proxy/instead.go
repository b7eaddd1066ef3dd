package proxy

import (
	"errors"
	"fmt"
	"net/http"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Instead answers in the upstream's place while a flag of the router's is on,
// for what the router then does itself. It beats deny and allow, and its paths
// are written and matched as those of Deny.
type Instead struct {
	Flag    string         `json:"flag"`
	Methods []string       `json:"methods"` // empty: every method
	Paths   []string       `json:"paths"`
	Reason  string         `json:"reason"` // for people who read the file and the log
	Refuse  string         `json:"refuse"` // what a person is told: 403 policy_denied; or
	Answer  map[string]any `json:"answer"` // the JSON that a GET is answered with
}

// Switch puts the instead entries of those flags into effect that are on. It
// is called before the rules are used.
func (r *Rules) Switch(on func(flag string) bool) error {
	r.instead, r.switched = tree{}, map[string]bool{}
	for i, n := range r.Instead {
		if err := r.addInstead(n, on); err != nil {
			return fmt.Errorf("instead[%d]: %w", i, err)
		}
	}
	return nil
}

// Switched reports whether entries of a flag are in effect.
func (r *Rules) Switched(flag string) bool { return r.switched[flag] }

func (r *Rules) addInstead(n *Instead, on func(flag string) bool) error {
	switch {
	case n == nil || n.Flag == "" || n.Reason == "":
		return errors.New("flag and reason are needed")
	case (n.Refuse == "") == (n.Answer == nil):
		return errors.New("one of refuse and answer is needed")
	case n.Answer != nil && (len(n.Methods) != 1 || n.Methods[0] != http.MethodGet):
		return errors.New("answer is for GET alone")
	case !on(n.Flag):
		return nil
	}
	r.switched[n.Flag] = true
	return r.instead.addFolded(n.Methods, n.Paths, entry{instead: n})
}

// answerInstead says what the rules say in the upstream's place.
func (x *exchange) answerInstead() {
	if x.proxy.onInstead != nil {
		x.proxy.onInstead(x.target, x.url)
	}
	if x.instead.Answer == nil {
		x.logDenied(x.instead.Flag + ": " + x.instead.Reason)
		x.refuse(hux.Errorf(hux.PolicyDenied, "%s", x.instead.Refuse))
		return
	}
	x.status = http.StatusOK
	_ = api.JSON(x.w, x.status, x.instead.Answer)
}
