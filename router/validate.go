package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/cards"
	"bstein.dev/hux/hux/schema"
)

const validateHelp = `Usage: hux validate [FILE …] [--as NAME] [--json]

Holds records of the contract against their schemas and against the rules that
no schema can say. A file has one record as JSON, or one record a line; - or no
file at all is standard input. A record has 64 MiB at most; what is longer is not
read. Each fault is one line:

  FILE:LINE: POINTER: RULE: MESSAGE

POINTER leads to what is at fault (RFC 6901), and is - for the record as a
whole. RULE is a keyword of JSON Schema or the name of a rule. No value is ever
shown. After 1,000 lines the rest is counted alone.

  --as      the schema that all of them are of, such as hux.event.create.v1;
            records say theirs in "schema", the bodies of requests do not
  --json    one JSON document: {records, faulty, faults, ignored, more}

It ends with status 0 when all is good, 1 when there are faults, and 2 when
something could not be read.
`

func validate(_ context.Context, args []string, stdout, stderr io.Writer) error {
	set := flag.NewFlagSet("hux validate", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	as := set.String("as", "", "")
	asJSON := set.Bool("json", false, "")
	files, err := parseMixed(set, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, validateHelp)
		return errHelped
	}
	if err != nil {
		return misread("hux validate", err)
	}
	schemas, err := schema.Load(contract.Schemas, cards.Rules())
	if err != nil {
		return err
	}
	if *as != "" && (schemas.File(*as) == nil || *as == "defs") {
		fmt.Fprintln(stderr, "hux: --as names no schema of the contract; they are", strings.Join(schemas.Names(), ", "))
		return exit(2)
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	v := validation{schemas: schemas, as: *as, Faults: []located{}, Ignored: []ignoredMembers{}}
	if !*asJSON {
		v.stdout = stdout
	}
	unread := false
	for _, file := range files {
		if err := v.file(file); err != nil {
			fmt.Fprintln(stderr, "hux:", err)
			unread = true
		}
	}
	if *asJSON {
		if err := json.NewEncoder(stdout).Encode(v); err != nil {
			return err
		}
	} else {
		v.sum(stdout)
	}
	switch {
	case unread:
		return exit(2)
	case v.Faulty > 0:
		return exit(1)
	}
	return nil
}

// maxShown is how many faults and ignored members are shown of one run.
const maxShown = 1000

// validation is what came of the files so far.
type validation struct {
	schemas *schema.Set
	as      string    // the schema of all records, or ""
	stdout  io.Writer // where each fault is printed when it is found; nil to keep them
	shown   int

	Records int              `json:"records"`
	Faulty  int              `json:"faulty"`
	Faults  []located        `json:"faults"`
	Ignored []ignoredMembers `json:"ignored"`
	More    int              `json:"more"` // of both, beyond maxShown
}

// located is a finding and the file that it is in.
type located struct {
	File string `json:"file"`
	schema.Finding
}

// ignoredMembers are those of a request's body that its schema does not know.
type ignoredMembers struct {
	File  string   `json:"file"`
	Line  int      `json:"line"`
	Names []string `json:"names"`
}

func (v *validation) file(name string) error {
	f, err := openFile(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if name == "-" {
		name = "stdin"
	}
	d := newDocuments(f)
	if d.marked() {
		return fmt.Errorf("%s:1: it begins with a byte order mark, which JSON does not have; save it without one", hux.Plain(name))
	}
	for {
		text, line, err := d.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, errTooLong) {
			return fmt.Errorf("%s:%d: %w", hux.Plain(name), line, err)
		}
		if err != nil {
			return err
		}
		if err := v.inspect(name, line, text); err != nil {
			return err
		}
	}
}

// inspect takes the record that begins in that line of a file.
func (v *validation) inspect(name string, line int, text []byte) error {
	found, ignored, err := v.schemas.Inspect(v.as, bytes.TrimRight(text, " \t\r\n"))
	if err != nil {
		return err
	}
	v.Records++
	if len(found) > 0 {
		v.Faulty++
	}
	if len(ignored) > 0 && v.show("%s:%d: not stored: %s\n", hux.Plain(name), line, strings.Join(ignored, ", ")) {
		v.Ignored = append(v.Ignored, ignoredMembers{name, line, ignored})
	}
	for _, f := range found {
		f.Line += line - 1
		if v.as == "" && f.Pointer == "/schema" && f.Code == "required" {
			f.Message += "; a request's body? name it with --as NAME"
		}
		if v.show("%s:%d: %s: %s: %s\n", hux.Plain(name), f.Line, dash(f.Pointer), f.Code, f.Message) {
			v.Faults = append(v.Faults, located{name, f})
		}
	}
	return nil
}

// show prints a line, and reports whether it is to be kept instead.
func (v *validation) show(format string, args ...any) (keep bool) {
	if v.shown == maxShown {
		v.More++
		return false
	}
	v.shown++
	if v.stdout != nil {
		fmt.Fprintf(v.stdout, format, args...)
	}
	return v.stdout == nil
}

func (v *validation) sum(w io.Writer) {
	if v.More > 0 {
		fmt.Fprintf(w, "… and %d more\n", v.More)
	}
	fmt.Fprintf(w, "%s, %d faulty\n", hux.Count(v.Records, "record"), v.Faulty)
}
