package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/cards"
	"bstein.dev/hux/hux/schema"
)

const validateHelp = `Usage: hux validate [FILE …] [--as NAME] [--json]

Holds records of the contract against their schemas and against the rules that
no schema can say. A file has one record as JSON, or one record a line; - or no
file at all is standard input. Each fault is one line:

  FILE:LINE: POINTER: RULE: MESSAGE

POINTER leads to what is at fault (RFC 6901), and is - for the record as a
whole. RULE is a keyword of JSON Schema or the name of a rule. No value is ever
shown.

  --as      the schema that all of them are of, such as hux.event.create.v1;
            records say theirs in "schema", the bodies of requests do not
  --json    one JSON document: {records, faulty, faults, ignored}

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
		fmt.Fprint(stderr, validateHelp)
		return exit(2)
	}
	schemas, err := schema.Load(contract.Schemas)
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
	v := validation{schemas: schemas, rules: cards.Rules(), as: *as, Faults: []located{}, Ignored: []ignoredMembers{}}
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
		v.print(stdout)
	}
	switch {
	case unread:
		return exit(2)
	case v.Faulty > 0:
		return exit(1)
	}
	return nil
}

// validation is what came of the files so far.
type validation struct {
	schemas *schema.Set
	rules   map[string]schema.Rule
	as      string // the schema of all records, or ""

	Records int              `json:"records"`
	Faulty  int              `json:"faulty"`
	Faults  []located        `json:"faults"`
	Ignored []ignoredMembers `json:"ignored"`
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
	text, err := readFile(name)
	if err != nil {
		return err
	}
	if name == "-" {
		name = "stdin"
	}
	line := 1
	for _, record := range records(text) {
		if len(bytes.TrimSpace(record)) > 0 || len(bytes.TrimSpace(text)) == 0 {
			found, ignored, err := v.schemas.Inspect(v.as, bytes.TrimRight(record, " \t\r\n"), v.rules)
			if err != nil {
				return err
			}
			v.Records++
			if len(found) > 0 {
				v.Faulty++
			}
			for _, f := range found {
				f.Line += line - 1
				v.Faults = append(v.Faults, located{name, f})
			}
			if len(ignored) > 0 {
				v.Ignored = append(v.Ignored, ignoredMembers{name, line, ignored})
			}
		}
		line += bytes.Count(record, []byte("\n"))
	}
	return nil
}

func readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(name)
}

// records takes a text apart that is one record, or one record a line. A text
// that is not JSON as a whole is taken for the latter where its first line
// looks like a whole record.
func records(text []byte) [][]byte {
	first, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	first = bytes.TrimSpace(first)
	if json.Valid(text) || !bytes.HasPrefix(first, []byte("{")) || !bytes.HasSuffix(first, []byte("}")) {
		return [][]byte{text}
	}
	return bytes.SplitAfter(text, []byte("\n"))
}

func (v *validation) print(w io.Writer) {
	for _, i := range v.Ignored {
		fmt.Fprintf(w, "%s:%d: not stored: %s\n", inert(i.File), i.Line, strings.Join(i.Names, ", "))
	}
	for _, f := range v.Faults {
		fmt.Fprintf(w, "%s:%d: %s: %s: %s\n", inert(f.File), f.Line, dash(f.Pointer), f.Code, f.Message)
	}
	fmt.Fprintf(w, "%s, %d faulty\n", hux.Count(v.Records, "record"), v.Faulty)
}
