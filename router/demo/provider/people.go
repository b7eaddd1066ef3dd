package provider

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// Person is somebody who can sign in at the provider. Names and passwords are
// demo data: the sign-in page shows both.
type Person struct {
	Name     string   // what they type, preferred_username in tokens
	Subject  string   // sub in tokens; "" for one that follows from the name
	Password string   // "" for the name itself
	FullName string   // name in tokens; "" for Name
	Roles    []string // realm_access.roles in tokens
}

// DefaultPeople are the demo's people: alice and bob, olga who operates the
// router, and a worker, who is a program. Each password is the name.
func DefaultPeople() []Person {
	return []Person{
		{Name: "alice", FullName: "Alice"},
		{Name: "bob", FullName: "Bob"},
		{Name: "olga", FullName: "Olga", Roles: []string{"hux-operator"}},
		{Name: "worker", FullName: "Worker", Roles: []string{"hux-worker"}},
	}
}

// subjects is the namespace that a person's subject is derived in (RFC 9562
// section 5.5), so that a demo started again with its old data knows them.
var subjects = uuid.MustParse("7f1d0c52-3a57-4b0e-9d0b-2f4f5d0e6a11")

// AddPerson adds somebody. A name that was removed before comes back with a
// new random subject, as at any provider, unless who.Subject names one.
func (p *Provider) AddPerson(who Person) error {
	if who.Name == "" {
		return fmt.Errorf("demo: a person needs a name")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.person(who.Name) != nil {
		return fmt.Errorf("demo: there is a person %q already", who.Name)
	}
	if who.Subject == "" {
		if p.removed[who.Name] {
			who.Subject = uuid.NewString()
		} else {
			who.Subject = uuid.NewSHA1(subjects, []byte(who.Name)).String()
		}
	}
	if who.Password == "" {
		who.Password = who.Name
	}
	if who.FullName == "" {
		who.FullName = who.Name
	}
	who.Roles = slices.Clone(who.Roles)
	p.people = append(p.people, &who)
	return nil
}

// RemovePerson deletes somebody with their sessions and refresh tokens.
// Clients are not told; they notice at their next refresh.
func (p *Provider) RemovePerson(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	who := p.person(name)
	if who == nil {
		return unknownPerson(name)
	}
	p.people = slices.DeleteFunc(p.people, func(o *Person) bool { return o == who })
	p.removed[name] = true
	p.sessions.RemoveIf(func(s *session) bool { return s.subject == who.Subject })
	p.grants.RemoveIf(func(g *grant) bool { return g.subject == who.Subject })
	return nil
}

// SetRoles replaces somebody's roles. Tokens made from now on carry them.
func (p *Provider) SetRoles(name string, roles ...string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	who := p.person(name)
	if who == nil {
		return unknownPerson(name)
	}
	who.Roles = slices.Clone(roles)
	return nil
}

// Subject is somebody's sub, or "" for a stranger.
func (p *Provider) Subject(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if who := p.person(name); who != nil {
		return who.Subject
	}
	return ""
}

// person finds somebody by name; the caller holds mu.
func (p *Provider) person(name string) *Person {
	for _, who := range p.people {
		if who.Name == name {
			return who
		}
	}
	return nil
}

// bySubject finds somebody by subject; the caller holds mu.
func (p *Provider) bySubject(subject string) *Person {
	for _, who := range p.people {
		if who.Subject == subject {
			return who
		}
	}
	return nil
}

func unknownPerson(name string) error { return fmt.Errorf("demo: no person %q", name) }
