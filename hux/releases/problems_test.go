package releases_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/releases"
)

var (
	commit   = strings.Repeat("a1", 20)
	index    = "sha256:" + strings.Repeat("1", 64)
	platform = "sha256:" + strings.Repeat("2", 64)
	other    = "sha256:" + strings.Repeat("9", 64)
	line     = []string{releases.InReview, releases.Merged, releases.Built, releases.Verified, releases.Deployed, releases.Converged, releases.LiveVerified}
)

// minute is a moment of the story: the step number n is seen at minute 10n.
func minute(n int) hux.Time {
	return hux.Time{Time: time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)}
}

func ref(kind, id, hash string) hux.EvidenceRef {
	e := hux.EvidenceRef{Kind: kind, ID: id, Owner: "ci"}
	if hash != "" {
		e.Hash = &hash
	}
	return e
}

func pod(name, runs string, ready bool, seen int) releases.Pod {
	p := releases.Pod{Name: name, Container: "router", Ready: ready, ObservedAt: minute(seen)}
	if runs != "" {
		p.ImageDigest = &runs
	}
	return p
}

// in is a release in a state, with all that leads there.
func in(state string) *releases.Release {
	reached := slices.Index(line, state)
	back := state == releases.RolledBack
	if back {
		reached = 6
	}
	r := &releases.Release{State: state, Steps: map[string]releases.Step{}}
	for i := range reached + 1 {
		r.Steps[line[i]] = releases.Step{ObservedAt: minute(10 * i)}
	}
	if reached >= 1 {
		r.Change.MergeCommit = &commit
	}
	if reached >= 2 {
		r.Image = &releases.Image{IndexDigest: index, PlatformDigests: []string{platform}}
	}
	if reached >= 5 {
		r.Checks = []releases.Check{{Kind: releases.Probe, Result: releases.Passed, At: minute(55)}}
	}
	if back {
		r.Steps[releases.RolledBack] = releases.Step{ObservedAt: minute(70)}
		r.Rollback = &releases.Rollback{FromState: releases.LiveVerified}
	}
	return r
}

// into is a transition that has everything that its state needs, seen at its
// time in the story.
func into(state string) *releases.Transition {
	seen := 10 * slices.Index(line, state)
	t := &releases.Transition{To: state}
	switch state {
	case releases.Merged:
		t.MergeCommit, t.Evidence = &commit, []hux.EvidenceRef{ref("commit", commit, "")}
	case releases.Built:
		t.Image = &releases.Image{IndexDigest: index, PlatformDigests: []string{platform}}
		t.Evidence = []hux.EvidenceRef{ref("ci_build", "build-1", index), ref("commit", commit, "")}
	case releases.Verified:
		t.Evidence = []hux.EvidenceRef{ref("registry_manifest", "hux/router", index)}
	case releases.Deployed:
		t.Flux = &releases.Flux{LastAppliedRevision: "main@sha1:" + commit, Ready: true, ObservedAt: minute(seen)}
		t.Evidence = []hux.EvidenceRef{ref("flux_revision", "main@sha1:"+commit, "")}
	case releases.Converged:
		t.Pods = []releases.Pod{pod("a", index, true, seen), pod("b", platform, true, seen)}
		t.Evidence = []hux.EvidenceRef{ref("pod", "a", index)}
	case releases.LiveVerified:
		t.Evidence = []hux.EvidenceRef{ref("probe", "readyz", "")}
	case releases.RolledBack:
		seen = 70
		t.Rollback = &releases.BackTo{ToDigest: other, Reason: "Sign-in fails"}
		t.Pods = []releases.Pod{pod("a", other, true, seen)}
		t.Evidence = []hux.EvidenceRef{ref("pod", "a", other)}
	}
	t.ObservedAt = minute(seen)
	return t
}

func problems(r *releases.Release, t *releases.Transition) []string {
	codes := []string{}
	for _, f := range releases.Problems(r, t, minute(100).Time) {
		codes = append(codes, f.Pointer+" "+f.Code)
	}
	return codes
}

// All 64 ordered pairs: the eleven legal ones have no problem when everything
// is there, all others have the one that they are not legal.
func TestOnlyElevenMovesAreLegal(t *testing.T) {
	states := append(slices.Clone(line), releases.RolledBack)
	legal := 0
	for _, from := range states {
		for _, to := range states {
			got := problems(in(from), into(to))
			if releases.States.Check(from, to) == nil {
				legal++
				if len(got) > 0 {
					t.Errorf("%s to %s: %q", from, to, got)
				}
			} else if !slices.Equal(got, []string{"/to invalid_transition"}) {
				t.Errorf("%s to %s: %q", from, to, got)
			}
		}
	}
	if legal != 11 {
		t.Errorf("%d legal moves", legal)
	}
}

func TestProblems(t *testing.T) {
	type change func(*releases.Release, *releases.Transition)
	for _, c := range []struct {
		name, from, to string
		change         change
		want           []string
	}{
		{"no commit", "reviewed", "merged", func(_ *releases.Release, t *releases.Transition) { t.MergeCommit = nil }, []string{"/merge_commit commit_missing"}},
		{"a short commit", "reviewed", "merged", func(_ *releases.Release, t *releases.Transition) {
			t.MergeCommit = new(string)
			*t.MergeCommit = commit[:7]
		}, []string{"/merge_commit commit_missing"}},
		{"evidence of another commit", "reviewed", "merged", func(_ *releases.Release, t *releases.Transition) { t.Evidence[0].ID = "x" }, []string{"/evidence commit_mismatch"}},
		{"no evidence", "reviewed", "merged", func(_ *releases.Release, t *releases.Transition) { t.Evidence = nil }, []string{"/evidence evidence_missing"}},
		{"evidence of another kind", "reviewed", "merged", func(_ *releases.Release, t *releases.Transition) { t.Evidence[0].Kind = "message" }, []string{"/evidence evidence_missing"}},

		{"no build", "merged", "built", func(_ *releases.Release, t *releases.Transition) { t.Evidence = t.Evidence[1:] }, []string{"/evidence evidence_missing"}},
		{"a build of nobody knows what", "merged", "built", func(_ *releases.Release, t *releases.Transition) { t.Evidence = t.Evidence[:1] }, []string{"/evidence evidence_missing"}},
		{"a build of another commit", "merged", "built", func(_ *releases.Release, t *releases.Transition) { t.Evidence[1].ID = "x" }, []string{"/evidence commit_mismatch"}},
		{"a build of another image", "merged", "built", func(_ *releases.Release, t *releases.Transition) { t.Evidence[0].Hash = &other }, []string{"/evidence digest_mismatch"}},
		{"a build without a digest", "merged", "built", func(_ *releases.Release, t *releases.Transition) { t.Evidence[0].Hash = nil }, []string{"/evidence digest_mismatch"}},
		{"no image", "merged", "built", func(_ *releases.Release, t *releases.Transition) { t.Image = nil }, []string{"/image image_missing"}},
		{"an image by its tag", "merged", "built", func(_ *releases.Release, t *releases.Transition) { t.Image.IndexDigest = "latest" }, []string{"/image image_missing"}},
		{"merged without a commit", "merged", "built", func(r *releases.Release, _ *releases.Transition) { r.Change.MergeCommit = nil }, []string{"/to commit_missing"}},

		{"another manifest", "built", "verified", func(_ *releases.Release, t *releases.Transition) { t.Evidence[0].Hash = &other }, []string{"/evidence digest_mismatch"}},
		{"the manifest of a platform", "built", "verified", func(_ *releases.Release, t *releases.Transition) { t.Evidence[0].Hash = &platform }, []string{"/evidence digest_mismatch"}},
		{"no manifest", "built", "verified", func(_ *releases.Release, t *releases.Transition) { t.Evidence = nil }, []string{"/evidence evidence_missing"}},
		{"built without an image", "built", "verified", func(r *releases.Release, _ *releases.Transition) { r.Image = nil }, []string{"/to image_missing"}},

		{"no flux", "verified", "deployed", func(_ *releases.Release, t *releases.Transition) { t.Flux = nil }, []string{"/flux flux_missing"}},
		{"not ready", "verified", "deployed", func(_ *releases.Release, t *releases.Transition) { t.Flux.Ready = false }, []string{"/flux/ready flux_not_ready"}},
		{"ready, for an older revision", "verified", "deployed", func(_ *releases.Release, t *releases.Transition) {
			t.Flux.LastAppliedRevision = "main@sha1:" + strings.Repeat("0", 40)
		}, []string{"/flux/last_applied_revision revision_mismatch"}},
		{"attempted, not applied", "verified", "deployed", func(_ *releases.Release, t *releases.Transition) {
			t.Flux.LastAttemptedRevision = "main@sha1:" + strings.Repeat("0", 40)
		}, []string{"/flux/last_attempted_revision revision_mismatch"}},
		{"by digest", "verified", "deployed", func(_ *releases.Release, t *releases.Transition) { t.Flux.LastAppliedRevision = "latest@" + index }, nil},
		{"by the start of the commit", "verified", "deployed", func(_ *releases.Release, t *releases.Transition) {
			t.Flux.LastAppliedRevision = "main@sha1:" + commit[:12]
		}, []string{"/flux/last_applied_revision revision_mismatch"}},
		{"without commit and digest", "verified", "deployed", func(r *releases.Release, _ *releases.Transition) { r.Change.MergeCommit = new(string) }, []string{"/flux/last_applied_revision revision_mismatch"}},
		{"flux seen before", "verified", "deployed", func(_ *releases.Release, t *releases.Transition) { t.Flux.ObservedAt = minute(29) }, []string{"/flux/observed_at observed_before_step"}},
		{"flux seen at the same moment", "verified", "deployed", func(_ *releases.Release, t *releases.Transition) { t.Flux.ObservedAt = minute(30) }, []string{"/flux/observed_at observed_before_step"}},
		{"flux seen after it was told", "verified", "deployed", func(_ *releases.Release, t *releases.Transition) { t.Flux.ObservedAt = minute(45) }, []string{"/flux/observed_at observed_in_future"}},

		{"no pods", "deployed", "converged", func(_ *releases.Release, t *releases.Transition) { t.Pods = nil }, []string{"/pods pods_missing"}},
		{"none ready", "deployed", "converged", func(_ *releases.Release, t *releases.Transition) { t.Pods[0].Ready, t.Pods[1].Ready = false, false }, []string{"/pods pods_missing"}},
		{"one still starts", "deployed", "converged", func(_ *releases.Release, t *releases.Transition) { t.Pods[1] = pod("b", "", false, 50) }, nil},
		{"ready, running nobody knows what", "deployed", "converged", func(_ *releases.Release, t *releases.Transition) { t.Pods[1].ImageDigest = nil }, []string{"/pods/1/image_digest pod_on_other_digest"}},
		{"one still runs the old", "deployed", "converged", func(_ *releases.Release, t *releases.Transition) { t.Pods[1].ImageDigest = &other }, []string{"/pods/1/image_digest pod_on_other_digest"}},
		{"even if it is not ready", "deployed", "converged", func(_ *releases.Release, t *releases.Transition) { t.Pods[1] = pod("b", other, false, 50) }, []string{"/pods/1/image_digest pod_on_other_digest"}},
		{"pods seen before", "deployed", "converged", func(_ *releases.Release, t *releases.Transition) { t.Pods[0].ObservedAt = minute(39) }, []string{"/pods/0/observed_at observed_before_step"}},
		{"all seen before", "deployed", "converged", func(_ *releases.Release, t *releases.Transition) {
			t.ObservedAt, t.Pods[0].ObservedAt, t.Pods[1].ObservedAt = minute(39), minute(39), minute(39)
		}, []string{"/observed_at observed_before_step", "/pods/0/observed_at observed_before_step", "/pods/1/observed_at observed_before_step"}},

		{"no probe", "converged", "live_verified", func(r *releases.Release, _ *releases.Transition) { r.Checks = nil }, []string{"/to probe_missing"}},
		{"other checks are no probe", "converged", "live_verified", func(r *releases.Release, _ *releases.Transition) { r.Checks[0].Kind = "attestation" }, []string{"/to probe_missing"}},
		{"the probe failed", "converged", "live_verified", func(r *releases.Release, _ *releases.Transition) { r.Checks[0].Result = "failed" }, []string{"/to probe_not_passed"}},
		{"the last probe failed", "converged", "live_verified", func(r *releases.Release, _ *releases.Transition) {
			r.Checks = append(r.Checks, releases.Check{Kind: releases.Probe, Result: "inconclusive", At: minute(58)})
		}, []string{"/to probe_not_passed"}},
		{"an old probe", "converged", "live_verified", func(r *releases.Release, _ *releases.Transition) { r.Checks[0].At = minute(45) }, []string{"/to observed_before_step"}},
		{"a probe to come", "converged", "live_verified", func(r *releases.Release, _ *releases.Transition) { r.Checks[0].At = minute(65) }, []string{"/to observed_in_future"}},
		{"nobody names the probe", "converged", "live_verified", func(_ *releases.Release, t *releases.Transition) { t.Evidence = nil }, []string{"/evidence evidence_missing"}},

		{"no why and no whereto", "deployed", "rolled_back", func(_ *releases.Release, t *releases.Transition) { t.Rollback = nil }, []string{"/rollback/reason reason_missing", "/rollback/to_digest to_digest_missing"}},
		{"an empty reason", "deployed", "rolled_back", func(_ *releases.Release, t *releases.Transition) { t.Rollback.Reason = " \n" }, []string{"/rollback/reason reason_missing"}},
		{"back to a tag", "deployed", "rolled_back", func(_ *releases.Release, t *releases.Transition) { t.Rollback.ToDigest = "latest" }, []string{"/rollback/to_digest to_digest_missing"}},
		{"back to itself", "deployed", "rolled_back", func(_ *releases.Release, t *releases.Transition) { t.Rollback.ToDigest = platform }, []string{"/rollback/to_digest rollback_to_itself"}},
		{"nobody looked what runs", "deployed", "rolled_back", func(_ *releases.Release, t *releases.Transition) { t.Pods, t.Evidence = nil, nil }, []string{"/evidence evidence_missing", "/pods pods_missing"}},
		{"it runs on", "deployed", "rolled_back", func(_ *releases.Release, t *releases.Transition) { t.Pods[0].ImageDigest = &index }, []string{"/pods/0/image_digest pod_on_other_digest"}},
		{"no image to take back", "built", "rolled_back", func(r *releases.Release, _ *releases.Transition) { r.Image = nil }, []string{"/to image_missing"}},

		{"a step that nobody recorded", "verified", "deployed", func(r *releases.Release, _ *releases.Transition) { delete(r.Steps, "verified") }, []string{"/to step_missing"}},
		{"a clock a little ahead", "reviewed", "merged", func(_ *releases.Release, t *releases.Transition) { t.ObservedAt = minute(101) }, nil},
		{"from the future", "reviewed", "merged", func(_ *releases.Release, t *releases.Transition) { t.ObservedAt = minute(102) }, []string{"/observed_at observed_in_future"}},
	} {
		r, tr := in(c.from), into(c.to)
		c.change(r, tr)
		if got := problems(r, tr); !slices.Equal(got, append([]string{}, c.want...)) {
			t.Errorf("%s, into %s: %q, want %q", c.name, c.to, got, c.want)
		}
	}
}

// Any release and any transition have an answer, and whatever one leaves out of
// what a state needs is a problem.
func TestProblemsAreTotal(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	states := append(slices.Clone(line), releases.RolledBack, "", "nonsense")
	for range 5000 {
		from, to := states[r.IntN(len(states))], states[r.IntN(len(states))]
		release, transition := in(from), into(to)
		left := false
		drop := func(needed bool, remove func()) {
			if r.IntN(3) == 0 {
				remove()
				left = left || needed
			}
		}
		drop(true, func() { transition.Evidence = nil })
		drop(to == releases.Merged, func() { transition.MergeCommit = nil })
		drop(to == releases.Built, func() { transition.Image = nil })
		drop(to == releases.Deployed, func() { transition.Flux = nil })
		drop(to == releases.Converged || to == releases.RolledBack, func() { transition.Pods = nil })
		drop(to == releases.RolledBack, func() { transition.Rollback = nil })
		drop(!slices.Contains([]string{releases.Merged, releases.Built, releases.LiveVerified}, to), func() { release.Image = nil })
		drop(to == releases.Built || to == releases.Deployed, func() { release.Change.MergeCommit = nil })
		drop(true, func() { release.Steps = nil })
		if got := problems(release, transition); (left || releases.States.Check(from, to) != nil) != (len(got) > 0) {
			t.Fatalf("%s to %s: %q, something left out: %v", from, to, got, left)
		}
	}
	problems(&releases.Release{}, &releases.Transition{})
}
