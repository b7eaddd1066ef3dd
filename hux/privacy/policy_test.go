package privacy_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/privacy"
	"bstein.dev/hux/hux/schema"
)

const day = 24 * time.Hour

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

var never = []string{"credentials", "minors", "location", "biometric"}

func days(n int) *int { return &n }

// The policy that ships keeps the record's rules, and says something of every
// topic and every store there is.
func TestDefaultPolicy(t *testing.T) {
	set, err := schema.Load(contract.Schemas, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := privacy.Default()
	p.Provenance = hux.Provenance{Surface: hux.SurfaceChat, Actor: hux.Actor{Kind: hux.KindHuman, ID: "usr_0123456789abcdef"}} // of who asks
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	v, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Validate(privacy.PolicySchema, v); err != nil {
		t.Error(err)
	}
	if list, err := privacy.Rules[privacy.PolicySchema](text); err != nil || len(list) > 0 {
		t.Errorf("%v %v", list, err)
	}
	var defs struct {
		Defs map[string]struct{ Enum []string } `json:"$defs"`
	}
	if err := json.Unmarshal(set.File("defs"), &defs); err != nil {
		t.Fatal(err)
	}
	for _, topic := range defs.Defs["topic"].Enum {
		if !slices.ContainsFunc(p.Topics, func(t privacy.Topic) bool { return t.Topic == topic }) {
			t.Errorf("it does not name the topic %s", topic)
		}
		if class := p.Class(topic); (class == privacy.NeverWrite) != slices.Contains(never, topic) {
			t.Errorf("%s is %s", topic, class)
		}
	}
	for _, store := range defs.Defs["store_name"].Enum {
		if !slices.ContainsFunc(p.Retention, func(r privacy.Retention) bool { return r.Store == store }) {
			t.Errorf("it has no rule for the store %s", store)
		}
	}
	if !slices.Equal(p.Controls, privacy.Controls) {
		t.Errorf("controls %v", p.Controls)
	}
}

func TestTopics(t *testing.T) {
	p := privacy.Default()
	loose := privacy.Policy{Topics: []privacy.Topic{ // which its schema refuses
		{Topic: "location", Class: privacy.Normal, Scope: "user", ShareAcrossSurfaces: true},
		{Topic: "health", Class: privacy.Sensitive, Scope: "user", ShareAcrossSurfaces: true, MaxAgeDays: days(400)},
		{Topic: "legal", Class: privacy.Sensitive, Scope: "conversation", MaxAgeDays: days(7)},
		{Topic: "work", Class: "secret", Scope: "user"},
	}}
	for name, c := range map[string]struct {
		policy *privacy.Policy
		topic  string
		class  string
		days   int // -1 for none
	}{
		"never written":                 {&p, "credentials", privacy.NeverWrite, 0},
		"sensitive":                     {&p, "health", privacy.Sensitive, 30},
		"normal":                        {&p, "work", privacy.Normal, -1},
		"unknown":                       {&p, "weather", privacy.Sensitive, 30},
		"no policy allows it":           {&loose, "location", privacy.NeverWrite, 0},
		"no policy leaves it out":       {&privacy.Policy{}, "minors", privacy.NeverWrite, 0},
		"no policy keeps it longer":     {&loose, "health", privacy.Sensitive, 30},
		"a policy may keep it shorter":  {&loose, "legal", privacy.Sensitive, 7},
		"a class of a later version is": {&loose, "work", privacy.Sensitive, 30},
	} {
		got := c.policy.Topic(c.topic)
		if got.Class != c.class || (got.MaxAgeDays == nil) != (c.days < 0) || got.MaxAgeDays != nil && *got.MaxAgeDays != c.days {
			t.Errorf("%s: %+v", name, got)
		}
		if got.Class != privacy.Normal && (got.Scope != "conversation" || got.ShareAcrossSurfaces) {
			t.Errorf("%s: reaches too far: %+v", name, got)
		}
	}
	for _, c := range []struct {
		topics []string
		want   string
	}{
		{nil, privacy.Normal},
		{[]string{"work"}, privacy.Normal},
		{[]string{"work", "health"}, privacy.Sensitive},
		{[]string{"health", "location", "work"}, privacy.NeverWrite},
	} {
		if got := p.Class(c.topics...); got != c.want {
			t.Errorf("%v are %s, want %s", c.topics, got, c.want)
		}
	}
}

func TestReaches(t *testing.T) {
	p := privacy.Default()
	p.Topics = append(p.Topics[:len(p.Topics)-2:len(p.Topics)-2],
		privacy.Topic{Topic: "tools", Class: privacy.Normal, Scope: "project"},
		privacy.Topic{Topic: "other", Class: privacy.Normal, Scope: "conversation", ShareAcrossSurfaces: true},
	)
	at := func(conversation, project string, surface hux.Surface) privacy.Place {
		return privacy.Place{Conversation: conversation, Project: project, Surface: surface}
	}
	here := at("c1", "p1", hux.SurfaceChat)
	for name, c := range map[string]struct {
		topics []string
		read   privacy.Place
		want   bool
	}{
		"normal, anywhere":                      {[]string{"work"}, at("c2", "", hux.SurfaceVoice), true},
		"about nothing":                         {nil, at("c2", "", hux.SurfaceVoice), true},
		"sensitive, here":                       {[]string{"health"}, here, true},
		"sensitive, in another conversation":    {[]string{"health"}, at("c2", "p1", hux.SurfaceChat), false},
		"sensitive, on another surface":         {[]string{"health"}, at("c1", "p1", hux.SurfaceTelegram), false},
		"sensitive among normal ones":           {[]string{"work", "health"}, at("c2", "p1", hux.SurfaceChat), false},
		"never written, even here":              {[]string{"location"}, here, false},
		"a project's, in it":                    {[]string{"tools"}, at("c2", "p1", hux.SurfaceChat), true},
		"a project's, in another":               {[]string{"tools"}, at("c2", "p2", hux.SurfaceChat), false},
		"a project's, in no project":            {[]string{"tools"}, at("c2", "", hux.SurfaceChat), false},
		"a project's, on another surface":       {[]string{"tools"}, at("c2", "p1", hux.SurfaceVoice), false},
		"a conversation's, in it":               {[]string{"other"}, at("c1", "", hux.SurfaceVoice), true},
		"a conversation's, outside of any":      {[]string{"other"}, at("", "", hux.SurfaceChat), false},
		"unknown topics count as sensitive too": {[]string{"weather"}, at("c2", "", hux.SurfaceChat), false},
	} {
		if got := p.Reaches(c.topics, here, c.read); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if p.Reaches([]string{"other"}, at("", "", hux.SurfaceChat), at("", "", hux.SurfaceChat)) {
		t.Error("what belongs to no conversation is read in none")
	}
}

func TestExpiryAndRetention(t *testing.T) {
	p := privacy.Default()
	for _, c := range []struct {
		topics []string
		want   time.Time
		ok     bool
	}{
		{[]string{"work"}, time.Time{}, false},
		{nil, time.Time{}, false},
		{[]string{"work", "health"}, noon.Add(30 * day), true},
		{[]string{"location", "health"}, noon, true},
	} {
		if at, ok := p.Expires(c.topics, noon); ok != c.ok || !at.Equal(c.want) {
			t.Errorf("%v expire %v %v, want %v", c.topics, at, ok, c.want)
		}
	}
	for name, c := range map[string]struct {
		days *int
		age  time.Duration
		want bool
	}{
		"for ever":             {nil, 10000 * day, false},
		"a moment before":      {days(30), 30*day - time.Millisecond, false},
		"at the moment":        {days(30), 30 * day, true},
		"the day after":        {days(30), 31 * day, true},
		"from the future":      {days(30), -day, false},
		"nothing may be kept":  {days(0), 0, true},
		"longer than a number": {days(1 << 40), day, false},
	} {
		if got := (privacy.Retention{MaxAgeDays: c.days}).Overdue(noon.Add(-c.age), noon); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Whatever a policy says: the four topics are never written, and what is
// sensitive leaves neither its conversation nor its surface, and is gone after
// 30 days.
func TestNoPolicyBreaksThePromises(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	topics := append([]string{"health", "work", "weather", ""}, never...)
	surfaces := []hux.Surface{hux.SurfaceChat, hux.SurfaceWorker, hux.SurfaceTelegram, hux.SurfaceVoice}
	for range 5000 {
		var p privacy.Policy
		for range r.IntN(6) {
			topic := privacy.Topic{
				Topic: pick(topics...), Class: pick(privacy.NeverWrite, privacy.Sensitive, privacy.Normal, "x"),
				Scope: pick("conversation", "project", "user", "x"), ShareAcrossSurfaces: r.IntN(2) == 0,
			}
			if r.IntN(3) > 0 {
				topic.MaxAgeDays = days(r.IntN(4000) - 100)
			}
			p.Topics = append(p.Topics, topic)
		}
		place := func() privacy.Place {
			return privacy.Place{Conversation: pick("", "c1", "c2"), Project: pick("", "p1", "p2"), Surface: surfaces[r.IntN(4)]}
		}
		about := []string{pick(topics...), pick(topics...)}
		said, read := place(), place()
		class, reaches := p.Class(about...), p.Reaches(about, said, read)
		at, ends := p.Expires(about, noon)
		switch {
		case (slices.Contains(never, about[0]) || slices.Contains(never, about[1])) && class != privacy.NeverWrite:
			t.Fatalf("%v are %s", about, class)
		case class == privacy.NeverWrite && reaches:
			t.Fatalf("%v is read somewhere", about)
		case class == privacy.Sensitive && reaches && (said.Conversation != read.Conversation || said.Surface != read.Surface):
			t.Fatalf("%v reaches from %+v to %+v", about, said, read)
		case class != privacy.Normal && (!ends || at.After(noon.Add(30*day))):
			t.Fatalf("%v stays until %v", about, at)
		}
	}
}
