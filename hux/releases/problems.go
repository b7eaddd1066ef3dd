package releases

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// What stands between a release and its next state. The codes are stable.
const (
	ProblemTransition     = "invalid_transition"   // the release can't come into that state from where it is
	ProblemStepMissing    = "step_missing"         // a step before it is not recorded
	ProblemEvidence       = "evidence_missing"     // no evidence of the kind that proves it
	ProblemCommit         = "commit_missing"       // no merge commit of 40 hex digits
	ProblemCommitMismatch = "commit_mismatch"      // the evidence is of another commit
	ProblemImage          = "image_missing"        // there is no image
	ProblemDigest         = "digest_mismatch"      // the evidence is of another image
	ProblemFlux           = "flux_missing"         // nobody looked at the kustomization
	ProblemFluxNotReady   = "flux_not_ready"       // it is not ready
	ProblemRevision       = "revision_mismatch"    // it has applied something else, or not yet what it attempts
	ProblemPods           = "pods_missing"         // no pod that is ready
	ProblemOtherDigest    = "pod_on_other_digest"  // a pod runs something else
	ProblemProbe          = "probe_missing"        // nobody probed it
	ProblemProbeNotPassed = "probe_not_passed"     // the last probe did not pass
	ProblemReason         = "reason_missing"       // nobody says why it is taken back
	ProblemToDigest       = "to_digest_missing"    // nobody says what to
	ProblemBackToItself   = "rollback_to_itself"   // what to is what it came from
	ProblemBefore         = "observed_before_step" // it was seen before the step that it follows, or at the same time
	ProblemFuture         = "observed_in_future"   // it was seen later than it was reported
)

// MaxSkew is how far the clock of whoever reports may be ahead.
const MaxSkew = time.Minute

var (
	commit = regexp.MustCompile(`^[0-9a-f]{40}$`)
	digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// proof is the kind of evidence that each state needs.
var proof = map[string]string{
	Merged: "commit", Built: "ci_build", Verified: "registry_manifest", Deployed: "flux_revision", Converged: "pod", LiveVerified: "probe", RolledBack: "pod",
}

// Problems says what stands between a release and the state that a transition
// is to bring it into: nothing if it may be said to be in it (contracts 3,
// hux.release.v1). Pointers are into the transition. What is not of that state
// in the transition does not count.
func Problems(r *Release, t *Transition, now time.Time) schema.Faults {
	e := examiner{Faults: schema.Faults{}, release: r, transition: t}
	if States.Check(r.State, t.To) != nil {
		e.Add("/to", ProblemTransition, "does not follow from the state that it is in")
		return e.Faults
	}
	if _, ok := r.Steps[r.State]; !ok {
		e.Add("/to", ProblemStepMissing, "follows a step that is not recorded")
	}
	if t.ObservedAt.After(now.Add(MaxSkew)) {
		e.Add("/observed_at", ProblemFuture, "has not come yet")
	}
	if len(e.evidence(proof[t.To])) == 0 {
		e.Add("/evidence", ProblemEvidence, "has nothing of the kind "+proof[t.To])
	}
	switch t.To {
	case Merged:
		e.merged()
	case Built:
		e.built()
	case Verified:
		e.verified()
	case Deployed:
		e.deployed()
	case Converged:
		e.after("/observed_at", t.ObservedAt)
		if e.image() {
			e.pods(slices.Concat([]string{r.Image.IndexDigest}, r.Image.PlatformDigests))
		}
	case LiveVerified:
		e.liveVerified()
	case RolledBack:
		e.rolledBack()
	}
	return e.Faults
}

// examiner gathers the problems of one transition.
type examiner struct {
	schema.Faults
	release    *Release
	transition *Transition
}

// evidence gives the references of a kind.
func (e *examiner) evidence(kind string) (list []hux.EvidenceRef) {
	for _, ref := range e.transition.Evidence {
		if ref.Kind == kind {
			list = append(list, ref)
		}
	}
	return list
}

// after wants something to have been seen after the evidence of the step
// before, and no later than the transition says.
func (e *examiner) after(pointer string, at hux.Time) {
	if before := e.release.Steps[e.release.State].ObservedAt; !at.After(before.Time) {
		e.Add(pointer, ProblemBefore, "is not after the step before was seen")
	}
	if at.After(e.transition.ObservedAt.Time) {
		e.Add(pointer, ProblemFuture, "is after the transition was seen")
	}
}

// image reports whether the release has one.
func (e *examiner) image() bool {
	i := e.release.Image
	if i == nil || !digest.MatchString(i.IndexDigest) {
		e.Add("/to", ProblemImage, "needs an image, and the release has none")
		return false
	}
	return true
}

func (e *examiner) merged() {
	c := e.transition.MergeCommit
	if c == nil || !commit.MatchString(*c) {
		e.Add("/merge_commit", ProblemCommit, "must be a commit of 40 hex digits")
		return
	}
	e.ofCommit(*c)
}

// ofCommit wants the commits among the evidence to be c.
func (e *examiner) ofCommit(c string) {
	for _, ref := range e.evidence("commit") {
		if ref.ID != c {
			e.Add("/evidence", ProblemCommitMismatch, "names another commit")
		}
	}
}

func (e *examiner) built() {
	c := e.release.Change.MergeCommit
	switch {
	case c == nil || !commit.MatchString(*c):
		e.Add("/to", ProblemCommit, "needs a merge commit, and the release has none")
	case len(e.evidence("commit")) == 0:
		e.Add("/evidence", ProblemEvidence, "does not name the commit that was built")
	default:
		e.ofCommit(*c)
	}
	i := e.transition.Image
	if i == nil || !digest.MatchString(i.IndexDigest) {
		e.Add("/image", ProblemImage, "must have the digest that was built")
		return
	}
	e.ofDigest("ci_build", i.IndexDigest)
}

// ofDigest wants all evidence of a kind to have a digest as its hash.
func (e *examiner) ofDigest(kind, want string) {
	for _, ref := range e.evidence(kind) {
		if ref.Hash == nil || *ref.Hash != want {
			e.Add("/evidence", ProblemDigest, "has another digest than the image, or none")
		}
	}
}

func (e *examiner) verified() {
	if e.image() {
		e.ofDigest("registry_manifest", e.release.Image.IndexDigest)
	}
}

func (e *examiner) deployed() {
	e.after("/observed_at", e.transition.ObservedAt)
	f := e.transition.Flux
	if f == nil {
		e.Add("/flux", ProblemFlux, "must say what was applied")
		return
	}
	e.after("/flux/observed_at", f.ObservedAt)
	if !f.Ready {
		e.Add("/flux/ready", ProblemFluxNotReady, "must be true")
	}
	if f.LastAttemptedRevision != "" && f.LastAttemptedRevision != f.LastAppliedRevision {
		e.Add("/flux/last_attempted_revision", ProblemRevision, "is not applied yet")
	}
	has := func(what *string, shape *regexp.Regexp) bool {
		return what != nil && shape.MatchString(*what) && strings.Contains(f.LastAppliedRevision, *what)
	}
	if e.image() && !has(e.release.Change.MergeCommit, commit) && !has(&e.release.Image.IndexDigest, digest) {
		e.Add("/flux/last_applied_revision", ProblemRevision, "has neither the commit nor the digest in it")
	}
}

// pods wants one pod or more to be ready, and none to run anything but digests.
func (e *examiner) pods(digests []string) {
	ready := false
	for i, p := range e.transition.Pods {
		at := "/pods/" + strconv.Itoa(i)
		ready = ready || p.Ready
		e.after(at+"/observed_at", p.ObservedAt)
		if p.ImageDigest == nil && p.Ready || p.ImageDigest != nil && !slices.Contains(digests, *p.ImageDigest) {
			e.Add(at+"/image_digest", ProblemOtherDigest, "is none of the digests that it should run")
		}
	}
	if !ready {
		e.Add("/pods", ProblemPods, "must have one that is ready")
	}
}

func (e *examiner) liveVerified() {
	e.after("/observed_at", e.transition.ObservedAt)
	var last *Check
	for i, c := range e.release.Checks {
		if c.Kind == Probe {
			last = &e.release.Checks[i]
		}
	}
	switch {
	case last == nil:
		e.Add("/to", ProblemProbe, "needs a probe, and the release has none")
	case last.Result != Passed:
		e.Add("/to", ProblemProbeNotPassed, "needs the last probe to have passed")
	default:
		e.after("/to", last.At)
	}
}

func (e *examiner) rolledBack() {
	e.after("/observed_at", e.transition.ObservedAt)
	has := e.image()
	back := e.transition.Rollback
	if back == nil {
		back = &BackTo{}
	}
	if strings.TrimSpace(back.Reason) == "" {
		e.Add("/rollback/reason", ProblemReason, "must say why")
	}
	switch {
	case !digest.MatchString(back.ToDigest):
		e.Add("/rollback/to_digest", ProblemToDigest, "must be the digest that runs instead")
	case has && (back.ToDigest == e.release.Image.IndexDigest || slices.Contains(e.release.Image.PlatformDigests, back.ToDigest)):
		e.Add("/rollback/to_digest", ProblemBackToItself, "is the release's own")
	default:
		e.pods([]string{back.ToDigest})
	}
}
