package privacy_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/privacy"
	"bstein.dev/hux/hux/schema"
)

// chain makes n audits, one a day, and their head.
func chain(t *testing.T, n int) ([]json.RawMessage, privacy.Head) {
	t.Helper()
	var list []json.RawMessage
	var head privacy.Head
	for i := range n {
		from := noon.Add(time.Duration(i) * day)
		a := privacy.Audit{
			Schema: privacy.AuditSchema, ID: hux.NewID("aud"), Seq: i + 1, PolicyVersion: 1, Result: privacy.Pass,
			Period: privacy.Period{From: hux.Time{Time: from}, To: hux.Time{Time: from.Add(day)}},
			Rules:  []privacy.Checked{{Rule: "sensitive_topics", Store: "memory", Checked: i + 3, OverdueFound: 1, Removed: 1}},
		}
		if i > 0 {
			before := head.Hash
			a.PrevHash = &before
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if a.Hash, err = privacy.Hash(text); err != nil {
			t.Fatal(err)
		}
		if text, err = json.Marshal(a); err != nil {
			t.Fatal(err)
		}
		list, head = append(list, text), privacy.Head{Seq: a.Seq, Hash: a.Hash}
	}
	return list, head
}

func codesOf(faults []schema.Fault) []string {
	codes := []string{}
	for _, f := range faults {
		codes = append(codes, f.Pointer+" "+f.Code)
	}
	return codes
}

func TestVerify(t *testing.T) {
	edit := func(text json.RawMessage, old, with string) json.RawMessage {
		if !bytes.Contains(text, []byte(old)) {
			t.Fatalf("there is no %s in %s", old, text)
		}
		return bytes.Replace(text, []byte(old), []byte(with), 1)
	}
	for name, c := range map[string]struct {
		change func(list []json.RawMessage, head privacy.Head) ([]json.RawMessage, privacy.Head)
		want   []string
	}{
		"whole": {func(l []json.RawMessage, h privacy.Head) ([]json.RawMessage, privacy.Head) { return l, h }, []string{}},
		"none":  {func([]json.RawMessage, privacy.Head) ([]json.RawMessage, privacy.Head) { return nil, privacy.Head{} }, []string{}},
		"other spelling, same content": {func(l []json.RawMessage, h privacy.Head) ([]json.RawMessage, privacy.Head) {
			l[1] = edit(l[1], `"policy_version":1`, ` "policy_version" : 1 `)
			return l, h
		}, []string{}},
		"no longer of its form": {func(l []json.RawMessage, h privacy.Head) ([]json.RawMessage, privacy.Head) {
			l[1] = edit(l[1], `"policy_version":1`, `"policy_version":"1"`)
			return l, h
		}, []string{"/1 audit_unreadable", "/2/prev_hash audit_prev_hash", "/2/period/from audit_gap"}},
		"edited": {func(l []json.RawMessage, h privacy.Head) ([]json.RawMessage, privacy.Head) {
			l[1] = edit(l[1], `"checked":4`, `"checked":5`)
			return l, h
		}, []string{"/1/hash audit_hash"}},
		"with a member more": {func(l []json.RawMessage, h privacy.Head) ([]json.RawMessage, privacy.Head) {
			l[1] = edit(l[1], `"policy_version":1`, `"policy_version":1,"note":"x"`)
			return l, h
		}, []string{"/1/hash audit_hash"}},
		"the last taken away": {func(l []json.RawMessage, h privacy.Head) ([]json.RawMessage, privacy.Head) { return l[:3], h }, []string{" audit_head"}},
		"the first taken away": {func(l []json.RawMessage, h privacy.Head) ([]json.RawMessage, privacy.Head) { return l[1:], h },
			[]string{"/0/seq audit_seq", "/0/prev_hash audit_prev_hash"}},
		"one taken out": {func(l []json.RawMessage, h privacy.Head) ([]json.RawMessage, privacy.Head) {
			return slices.Delete(l, 1, 2), h
		},
			[]string{"/1/seq audit_seq", "/1/prev_hash audit_prev_hash", "/1/period/from audit_gap"}},
		"one twice": {func(l []json.RawMessage, h privacy.Head) ([]json.RawMessage, privacy.Head) {
			return slices.Insert(l, 1, l[0]), h
		}, []string{"/1/seq audit_seq", "/1/prev_hash audit_prev_hash", "/1/period/from audit_gap"}},
		"no audit": {func(l []json.RawMessage, h privacy.Head) ([]json.RawMessage, privacy.Head) {
			l[3] = json.RawMessage(`[]`)
			return l, h
		}, []string{"/3 audit_unreadable", " audit_head"}},
		"another head": {func(l []json.RawMessage, h privacy.Head) ([]json.RawMessage, privacy.Head) {
			return l, privacy.Head{Seq: h.Seq, Hash: "sha256:" + strings.Repeat("0", 64)}
		}, []string{" audit_head"}},
	} {
		list, head := chain(t, 4)
		list, head = c.change(list, head)
		if got := codesOf(privacy.Verify(list, head)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Who changes a single digit of an audit, or the order or number of them, is
// found out.
func TestVerifyFindsEveryChange(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 2))
	for range 300 {
		list, head := chain(t, 2+r.IntN(5))
		i := r.IntN(len(list))
		switch r.IntN(3) {
		case 0:
			var digits []int
			for at, c := range list[i] {
				if '0' <= c && c <= '9' {
					digits = append(digits, at)
				}
			}
			at := digits[r.IntN(len(digits))]
			list[i][at] = '0' + (list[i][at]-'0'+byte(1+r.IntN(8)))%10
		case 1:
			list = slices.Delete(list, i, i+1)
		case 2:
			j := (i + 1) % len(list)
			list[i], list[j] = list[j], list[i]
		}
		if len(privacy.Verify(list, head)) == 0 {
			t.Fatalf("nothing is wrong with %s", list)
		}
	}
}

// The worked example has the hash that other implementations find too.
func TestHashOfTheExample(t *testing.T) {
	text, err := fs.ReadFile(contract.Examples, "examples/hux.retention_audit.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var a privacy.Audit
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	if hash, err := privacy.Hash(text); err != nil || hash != a.Hash {
		t.Errorf("%s %v, want %s", hash, err, a.Hash)
	}
	for _, text := range []string{``, `[]`, `{"a":1e999}`} {
		if hash, err := privacy.Hash([]byte(text)); err == nil {
			t.Errorf("%q has the hash %s", text, hash)
		}
	}
}

func TestResultAndStale(t *testing.T) {
	checked := func(removed, remaining int) privacy.Checked {
		return privacy.Checked{Checked: 9, OverdueFound: removed + remaining, Removed: removed, Remaining: remaining}
	}
	for _, c := range []struct {
		rules []privacy.Checked
		want  string
	}{
		{nil, privacy.Pass},
		{[]privacy.Checked{checked(0, 0)}, privacy.Pass},
		{[]privacy.Checked{checked(3, 0), checked(0, 0)}, privacy.Pass},
		{[]privacy.Checked{checked(3, 0), checked(0, 1)}, privacy.Partial},
		{[]privacy.Checked{checked(3, 1)}, privacy.Partial},
		{[]privacy.Checked{checked(0, 1), checked(0, 0)}, privacy.Fail},
	} {
		if got := privacy.Result(c.rules); got != c.want {
			t.Errorf("%v: %s, want %s", c.rules, got, c.want)
		}
	}
	if !privacy.Stale(nil, noon) || privacy.Stale(&noon, noon.Add(26*time.Hour)) || !privacy.Stale(&noon, noon.Add(26*time.Hour+time.Millisecond)) || privacy.Stale(&noon, noon.Add(-day)) {
		t.Error("an audit is stale after 26 hours, and where there is none")
	}
}
