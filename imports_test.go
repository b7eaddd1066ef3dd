package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "bstein.dev/hux"

// layers is who may import whom, from the bottom up: a package imports what
// stands in a line above its own, never its siblings in the same line.
var layers = [][]string{
	{""},
	{"hux"},
	{"hux/store", "hux/schema", "hux/redact", "hux/client", "hux/schema/typegen"},
	{"hux/event", "hux/due", "hux/store/storetest"},
	{"hux/api"},
	{"hux/record"},
	{"hux/record/recordtest"},
	{"hux/conversation"},
	{"hux/timeline", "hux/memory", "hux/projects", "hux/artifacts", "hux/autonomy", "hux/modes", "hux/research", "hux/onboarding", "hux/privacy", "hux/releases"},
	{"hux/cards"},
	{"bridge/reference"},
	{"bridge"},
	{"router/config", "router/identity", "router/tenant", "router/proxy", "router/webui", "router/demo/bounded", "router/hermes"},
	{"router/demo/provider", "router/demo/standin"},
	{"router/server", "router/hook"},
	{"router"},
}

// only names packages that have one importer in the program, with its tests' helpers.
var only = map[string]string{"go.etcd.io/bbolt": "hux/store", "github.com/r3labs/sse/v2": "hux/client"}

func TestImportsPointDown(t *testing.T) {
	level := map[string]int{}
	for i, line := range layers {
		for _, pkg := range line {
			level[strings.TrimSuffix(module+"/"+pkg, "/")] = i
		}
	}
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	seen := 0
	for {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(pkg.ImportPath, module+"/tests") {
			continue // tests look at the whole
		}
		own, known := level[pkg.ImportPath]
		if !known {
			t.Errorf("%s has no place in the table of layers", pkg.ImportPath)
			continue
		}
		seen++
		for _, imported := range pkg.Imports {
			if importer, ok := only[imported]; ok && !strings.HasPrefix(pkg.ImportPath+"/", module+"/"+importer+"/") {
				t.Errorf("%s imports %s, which only %s may", pkg.ImportPath, imported, importer)
			}
			if strings.HasPrefix(imported, module+"/tests") || imported == module+"/hux/store/storetest" || imported == module+"/hux/record/recordtest" {
				t.Errorf("%s imports a test's package, %s", pkg.ImportPath, imported)
			}
			if at, ok := level[imported]; ok && at >= own {
				t.Errorf("%s imports %s, which does not stand below it", pkg.ImportPath, imported)
			}
		}
	}
	if want := len(slices.Concat(layers...)); seen != want {
		t.Errorf("saw %d packages, the table has %d", seen, want)
	}
}
