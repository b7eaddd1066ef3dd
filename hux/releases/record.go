package releases

import "bstein.dev/hux/hux"

// Release is hux.release.v1: a change on its way from review to where people
// use it. It is nobody's: operators and the worker see all of them.
type Release struct {
	hux.Meta
	Service      string          `json:"service"`
	State        string          `json:"state"`
	Change       Change          `json:"change"`
	Image        *Image          `json:"image"` // nil before it is built
	Steps        map[string]Step `json:"steps"` // one for each state that it has reached
	Flux         *Flux           `json:"flux"`
	Pods         []Pod           `json:"pods"`
	Checks       []Check         `json:"checks"`        // the last ten, oldest first
	CurrentCheck *string         `json:"current_check"` // as CurrentCheck says
	ClaimAllowed bool            `json:"claim_allowed"` // as ClaimAllowed says
	Rollback     *Rollback       `json:"rollback"`
}

// Change is what is released.
type Change struct {
	ReviewRef   string  `json:"review_ref"`
	MergeCommit *string `json:"merge_commit"` // 40 hex digits
}

// Image is what was built: the digest of its index, and those of the images
// for single platforms.
type Image struct {
	Repository      string   `json:"repository"`
	IndexDigest     string   `json:"index_digest"`
	PlatformDigests []string `json:"platform_digests"`
}

// Step is how a release came into a state.
type Step struct {
	At         hux.Time          `json:"at"`
	Actor      hux.Actor         `json:"actor"`
	Evidence   []hux.EvidenceRef `json:"evidence"`
	ObservedAt hux.Time          `json:"observed_at"` // when the evidence was seen
}

// Flux is what a kustomization says of itself.
type Flux struct {
	Kustomization         string   `json:"kustomization"`
	LastAppliedRevision   string   `json:"last_applied_revision"`
	LastAttemptedRevision string   `json:"last_attempted_revision,omitempty"`
	Ready                 bool     `json:"ready"`
	ObservedAt            hux.Time `json:"observed_at"`
}

// Pod is what a container of a pod runs.
type Pod struct {
	Name        string   `json:"name"`
	Container   string   `json:"container"`    // the service's, by name
	ImageDigest *string  `json:"image_digest"` // nil while it is not known yet
	Ready       bool     `json:"ready"`
	ObservedAt  hux.Time `json:"observed_at"`
}

// Check is a probe, an attestation or the end of a soak, and how it came out.
type Check struct {
	Kind     string            `json:"kind"`
	Result   string            `json:"result"` // passed, failed, error, inconclusive or aborted
	At       hux.Time          `json:"at"`
	Evidence []hux.EvidenceRef `json:"evidence"`
}

// Rollback is how a release ended that was taken back.
type Rollback struct {
	FromState string   `json:"from_state"`
	ToDigest  string   `json:"to_digest"`
	Reason    string   `json:"reason"`
	At        hux.Time `json:"at"`
}

// Create is hux.release.create.v1.
type Create struct {
	Service    string            `json:"service"`
	Change     Reviewed          `json:"change"`
	ObservedAt hux.Time          `json:"observed_at"`
	Evidence   []hux.EvidenceRef `json:"evidence"`
}

// Reviewed is a change that is not merged yet.
type Reviewed struct {
	ReviewRef string `json:"review_ref"`
}

// Transition is hux.release.transition.v1: the state that a release is to come
// into, and what was seen.
type Transition struct {
	To          string            `json:"to"`
	ObservedAt  hux.Time          `json:"observed_at"`
	Evidence    []hux.EvidenceRef `json:"evidence"`
	MergeCommit *string           `json:"merge_commit,omitempty"`
	Image       *Image            `json:"image,omitempty"`
	Flux        *Flux             `json:"flux,omitempty"`
	Pods        []Pod             `json:"pods,omitempty"`
	Rollback    *BackTo           `json:"rollback,omitempty"`
}

// BackTo is what a release is taken back to.
type BackTo struct {
	ToDigest string `json:"to_digest"`
	Reason   string `json:"reason"`
}

// The names of the record and of its requests.
const (
	Schema           = "hux.release.v1"
	CreateSchema     = "hux.release.create.v1"
	TransitionSchema = "hux.release.transition.v1"
	CheckSchema      = "hux.release.check.v1"
)

// The states, in the order in which a release comes into them.
const (
	InReview     = "reviewed"
	Merged       = "merged"
	Built        = "built"
	Verified     = "verified"
	Deployed     = "deployed"
	Converged    = "converged"
	LiveVerified = "live_verified"
	RolledBack   = "rolled_back"
)

// line is the way from review to live.
var line = []string{InReview, Merged, Built, Verified, Deployed, Converged, LiveVerified}

// States is the state machine of a release: one step after the other, and back
// from wherever there is an image.
var States = hux.Machine{Name: "release", Start: InReview, Moves: map[string][]string{
	InReview: {Merged}, Merged: {Built},
	Built: {Verified, RolledBack}, Verified: {Deployed, RolledBack}, Deployed: {Converged, RolledBack},
	Converged: {LiveVerified, RolledBack}, LiveVerified: {RolledBack}, RolledBack: {},
}}
