package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/cards"
	"bstein.dev/hux/hux/releases"
	"bstein.dev/hux/hux/schema"
)

const rulesHelp = `Usage:

  hux rules decide LEVEL CAPABILITY      may an agent do this? allow, ask or deny, and why
      --allow-grant, --deny-grant        there is a grant that allows or denies it
      --private                          the conversation is Private
      --no-budget                        a budget is spent
  hux rules move MACHINE FROM TO         may a record go from one state to the other?
  hux rules machines [MACHINE]           the states, and where each may go

  hux rules release-problems RELEASE TRANSITION
                                         what keeps a release from the state that a transition is
                                         to bring it into: both are files with JSON as the API has
                                         it, and - is standard input
      --at TIME                          the moment that it is asked for, as in 2026-03-02T09:15:04Z;
                                         now, if nothing is said

What the contract's rules say; nothing is asked of a running router. --json gives
the answer as one JSON document.

It ends with status 0 for yes (allow; a legal move; no problems), 1 for no (ask
and deny alike; an illegal move; problems), and 2 when the question is not
understood, or a file can't be read or is not what it should be.
`

func rules(_ context.Context, args []string, stdout, stderr io.Writer) error {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	q := question{stdout: stdout}
	set := flag.NewFlagSet("hux rules "+verb, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.BoolVar(&q.json, "json", false, "")
	var least, most int // words that it takes
	var answer func(words []string) error
	switch verb {
	case "decide":
		least, most, answer = 2, 2, q.decide
		set.BoolVar(&q.situation.AllowGrant, "allow-grant", false, "")
		set.BoolVar(&q.situation.DenyGrant, "deny-grant", false, "")
		set.BoolVar(&q.situation.Private, "private", false, "")
		set.BoolVar(&q.spent, "no-budget", false, "")
	case "move":
		least, most, answer = 3, 3, q.move
	case "machines":
		least, most, answer = 0, 1, q.machines
	case "release-problems":
		least, most, answer = 2, 2, q.releaseProblems
		set.StringVar(&q.at, "at", "", "")
	case "help", "-h", "--help":
		fmt.Fprint(stdout, rulesHelp)
		return errHelped
	default:
		return noVerb("hux rules", verb, "decide, move, machines, release-problems")
	}
	words, err := parseMixed(set, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, rulesHelp)
		return errHelped
	}
	if err != nil || len(words) < least || len(words) > most {
		return misread("hux rules", err)
	}
	err = answer(words)
	if status := exit(0); err != nil && !errors.As(err, &status) {
		fmt.Fprintln(stderr, "hux:", err)
		return exit(2)
	}
	return err
}

// question is one of hux rules, and where the answer goes.
type question struct {
	stdout    io.Writer
	json      bool
	situation autonomy.Situation
	spent     bool   // --no-budget
	at        string // --at
}

// say gives the answer, as JSON where that is asked for, and the status that
// goes with yes or no.
func (q *question) say(yes bool, text string, document any) error {
	if q.json {
		if err := json.NewEncoder(q.stdout).Encode(document); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(q.stdout, text)
	}
	if !yes {
		return exit(1)
	}
	return nil
}

func (q *question) decide(words []string) error {
	q.situation.Level, q.situation.Capability, q.situation.BudgetLeft = autonomy.Level(words[0]), autonomy.Capability(words[1]), !q.spent
	levels := []autonomy.Level{autonomy.Safe, autonomy.AskFirst, autonomy.Autonomous}
	if !slices.Contains(levels, q.situation.Level) {
		return none("level", levels)
	}
	if !slices.Contains(autonomy.AllCapabilities, q.situation.Capability) {
		return none("capability", autonomy.AllCapabilities)
	}
	d := autonomy.Decide(q.situation)
	return q.say(d.Effect == autonomy.Allow, fmt.Sprintf("%s (%s)", d.Effect, d.Reason), d)
}

// none is the error of a word that names nothing of its kind.
func none[S ~string](kind string, all []S) error {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = string(s)
	}
	return fmt.Errorf("there is no such %s; there are %s", kind, strings.Join(names, ", "))
}

// machine finds a state machine by its name.
func machine(name string) (hux.Machine, error) {
	all := cards.Machines()
	i := slices.IndexFunc(all, func(m hux.Machine) bool { return m.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
	}
	return hux.Machine{}, none("machine", names)
}

func (q *question) move(words []string) error {
	m, err := machine(words[0])
	if err != nil {
		return err
	}
	from, to := words[1], words[2]
	for _, state := range []string{from, to} {
		if _, ok := m.Moves[state]; !ok {
			return fmt.Errorf("%s: %w", m.Name, none("state", slices.Sorted(maps.Keys(m.Moves))))
		}
	}
	text, legal := "legal", m.Check(from, to) == nil
	if !legal {
		text = "illegal; from " + from + " it may go " + destinations(m, from)
	}
	return q.say(legal, text, map[string]any{"legal": legal, "from": from, "to": to, "allowed": append([]string{}, m.Moves[from]...)})
}

func destinations(m hux.Machine, from string) string {
	if m.Terminal(from) {
		return "nowhere"
	}
	return "to " + strings.Join(m.Moves[from], ", ")
}

func (q *question) machines(words []string) error {
	list := cards.Machines()
	if len(words) == 1 {
		m, err := machine(words[0])
		if err != nil {
			return err
		}
		list = []hux.Machine{m}
	}
	var lines []string
	document := map[string]map[string][]string{}
	for _, m := range list {
		document[m.Name] = m.Moves
		lines = append(lines, m.Name+", which begins as "+m.Start)
		for _, from := range slices.Sorted(maps.Keys(m.Moves)) {
			lines = append(lines, "  "+from+" → "+destinations(m, from))
		}
	}
	return q.say(true, strings.Join(lines, "\n"), document)
}

// releaseProblems takes a release and a transition that keep to the contract.
func (q *question) releaseProblems(words []string) error {
	now := time.Now()
	if q.at != "" {
		var err error
		if now, err = time.Parse(time.RFC3339, q.at); err != nil {
			return errors.New("--at must be like 2026-03-02T09:15:04Z")
		}
	}
	var release releases.Release
	if err := readRecord(words[0], releases.Schema, &release); err != nil {
		return err
	}
	var transition releases.Transition
	if err := readRecord(words[1], releases.TransitionSchema, &transition); err != nil {
		return err
	}
	problems := releases.Problems(&release, &transition, now)
	lines := []string{hux.Count(len(problems), "problem")}
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("%s: %s: %s", p.Pointer, p.Code, p.Message))
	}
	return q.say(len(problems) == 0, strings.Join(lines, "\n"), map[string]any{"problems": problems})
}

// readRecord reads a file that has to be of a schema.
func readRecord(file, name string, into any) error {
	text, err := readDocument(file)
	if err != nil {
		return err
	}
	schemas, err := schema.Load(contract.Schemas, cards.Rules())
	if err != nil {
		return err
	}
	found, _, err := schemas.Inspect(name, text)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		f := found[0]
		return fmt.Errorf("%s:%d: %s: %s: %s; it must be %s", hux.Plain(file), f.Line, dash(f.Pointer), f.Code, f.Message, name)
	}
	return json.Unmarshal(text, into)
}
