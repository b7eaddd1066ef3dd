package privacy

import (
	"encoding/json"
	"slices"
	"strconv"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// Rules are what the schemas can't say of one record.
var Rules = map[string]schema.Rule{
	PolicySchema: schema.RuleOf(faultsOfPolicy),
	NoticeSchema: schema.RuleOf(faultsOfNotice),
	AuditSchema:  faultsOfAudit,
}

// The rules' names, where no error code of the contract says the same.
const (
	topicTwice     = "topic_twice"
	topicMissing   = "topic_missing"
	noticeMissing  = "notice_missing"
	ruleTwice      = "rule_twice"
	countsMismatch = "counts_mismatch"
	resultMismatch = "result_mismatch"
	timeOrder      = "time_order"
)

func faultsOfPolicy(p *Policy) (faults schema.Faults) {
	seen := map[string]bool{}
	for i, t := range p.Topics {
		at := "/topics/" + strconv.Itoa(i)
		if seen[t.Topic] {
			faults.Add(at+"/topic", topicTwice, "stands before")
		}
		seen[t.Topic] = true
		if slices.Contains(hux.ForbiddenTopics, t.Topic) && t.Class != NeverWrite {
			faults.Add(at+"/class", string(hux.MemoryTopicForbidden), "must be never_write for this topic")
		}
		if t.NoticeID != nil && !slices.ContainsFunc(p.Notices, func(w Words) bool { return w.ID == *t.NoticeID }) {
			faults.Add(at+"/notice_id", noticeMissing, "is none of the notices")
		}
	}
	for _, topic := range hux.ForbiddenTopics {
		if !seen[topic] {
			faults.Add("/topics", topicMissing, "must name each topic that is never written")
			break
		}
	}
	rules := map[[2]string]bool{}
	for i, r := range p.Retention {
		if name := [2]string{r.Store, r.Rule}; rules[name] {
			faults.Add("/retention/"+strconv.Itoa(i)+"/rule", ruleTwice, "stands before, for this store")
		} else {
			rules[name] = true
		}
	}
	return faults
}

func faultsOfNotice(n *Notice) (faults schema.Faults) {
	faults.AddIf(n.Chosen != nil && !slices.Contains(n.ControlsOffered, *n.Chosen), "/chosen", string(hux.ChoiceNotAllowed), "was not offered")
	return faults
}

// State is the state of a notice by its record.
func (n *Notice) State() string {
	if n.Chosen == nil {
		return Shown
	}
	return Chosen
}

// Resolve is the notice once a person has chosen one of the controls that it
// offers. effect names what came of it, "" for dismiss. The error is an
// *hux.Error: notice_already_resolved or choice_not_allowed.
func (n Notice) Resolve(chosen string, at hux.Time, effect string) (Notice, error) {
	if n.State() != Shown {
		return n, hux.Errorf(hux.NoticeAlreadyResolved, "This notice was answered before.")
	}
	if !slices.Contains(n.ControlsOffered, chosen) {
		return n, hux.Errorf(hux.ChoiceNotAllowed, "This notice does not offer that.")
	}
	n.Chosen, n.ChosenAt = &chosen, &at
	if chosen != Dismiss {
		n.EffectRef = &effect
	}
	return n, nil
}

func faultsOfAudit(record []byte) (faults schema.Faults, err error) {
	var a Audit
	if err := json.Unmarshal(record, &a); err != nil {
		return nil, err
	}
	hash, err := Hash(record)
	if err != nil {
		return nil, err
	}
	if a.Hash != hash {
		faults.Add("/hash", wrongHash, "is not that of the record")
	}
	if (a.Seq == 1) != (a.PrevHash == nil) {
		faults.Add("/prev_hash", wrongPrev, "must be null for the first audit, and for no other")
	}
	if !a.Period.From.Before(a.Period.To.Time) {
		faults.Add("/period/to", timeOrder, "is not after from")
	}
	if a.FinishedAt.Before(a.StartedAt.Time) {
		faults.Add("/finished_at", timeOrder, "is before started_at")
	}
	rules := map[[2]string]bool{}
	for i, r := range a.Rules {
		at := "/rules/" + strconv.Itoa(i)
		if r.OverdueFound > r.Checked {
			faults.Add(at+"/overdue_found", countsMismatch, "is more than was checked")
		}
		if r.Removed+r.Remaining != r.OverdueFound {
			faults.Add(at+"/remaining", countsMismatch, "is not what was found and not removed")
		}
		if name := [2]string{r.Store, r.Rule}; rules[name] {
			faults.Add(at+"/rule", ruleTwice, "stands before, for this store")
		} else {
			rules[name] = true
		}
	}
	if a.Result != Result(a.Rules) {
		faults.Add("/result", resultMismatch, "is not what the rules say")
	}
	return faults, nil
}
