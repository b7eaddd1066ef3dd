// Typegen writes the types of records and request bodies that are made from
// schemas/: in TypeScript for the scripts in bridge/, and in Go for
// hux/client. With -check it writes nothing, and fails where a file is not
// what it would write.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"

	contract "bstein.dev/hux"
)

func main() {
	check := flag.Bool("check", false, "only look whether the files are fresh")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "typegen:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	schemas, err := fs.Sub(contract.Schemas, "schemas")
	if err != nil {
		return err
	}
	types, err := load(schemas)
	if err != nil {
		return err
	}
	inGo, err := golang(types)
	if err != nil {
		return err
	}
	files := map[string][]byte{"hux/client/records.go": inGo, "hux/client/records_test.go": table(types), "bridge/hux.d.ts": typescript(types)}
	for name, content := range files {
		if check {
			if there, err := os.ReadFile(name); err != nil || !bytes.Equal(there, content) {
				return fmt.Errorf("%s is not what schemas/ say: make types-generate", name)
			}
			continue
		}
		if err := os.WriteFile(name, content, 0o644); err != nil { //nolint:gosec // a source file
			return err
		}
	}
	return nil
}
