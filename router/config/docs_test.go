package config_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"bstein.dev/hux/router/config"
)

var update = flag.Bool("update", false, "write the table of settings into the documentation")

const (
	docsFile  = "../../docs/configuration.md"
	docsBegin = "<!-- settings: begin -->\n"
	docsEnd   = "<!-- settings: end -->\n"
)

// The table of settings in the documentation is made from the table in the
// code: go test ./router/config -update
func TestDocumentedSettingsAreTheSettings(t *testing.T) {
	content, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), docsBegin)
	_, after, ok2 := strings.Cut(rest, docsEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", docsFile)
	}
	var table strings.Builder
	table.WriteString("| Setting | Default | What it is for |\n| --- | --- | --- |\n")
	for _, o := range config.Options {
		name := "`" + o.Key + "`"
		if o.Secret {
			name += " (secret)"
		}
		def := "–"
		if o.Default != "" {
			def = "`" + o.Default + "`"
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", name, def, strings.ReplaceAll(o.Usage, "|", `\|`))
	}
	want := before + docsBegin + table.String() + docsEnd + after
	if *update {
		if err := os.WriteFile(docsFile, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(content) != want {
		t.Errorf("%s is stale; run: go test ./router/config -run Documented -update", docsFile)
	}
}
