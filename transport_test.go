package contract_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Every request of the program begins at hux.NewTransport, which heeds no
// HTTP_PROXY; nothing uses what net/http has ready.
func TestOneTransport(t *testing.T) {
	t.Parallel()
	banned := map[string]bool{
		"DefaultTransport": true, "DefaultClient": true, "ProxyFromEnvironment": true,
		"Get": true, "Head": true, "Post": true, "PostForm": true,
	}
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (path == "tests" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, path, nil, 0)
		if err != nil {
			return err
		}
		ofHTTP := func(e ast.Expr) string {
			if s, ok := e.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "http" {
					return s.Sel.Name
				}
			}
			return ""
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if name := ofHTTP(n); banned[name] {
					t.Errorf("%s: http.%s goes where the environment says", positions.Position(n.Pos()), name)
				}
			case *ast.CompositeLit:
				switch ofHTTP(n.Type) {
				case "Transport":
					if filepath.ToSlash(path) != "hux/transport.go" {
						t.Errorf("%s: begin with hux.NewTransport", positions.Position(n.Pos()))
					}
				case "Client":
					for _, e := range n.Elts {
						if kv, ok := e.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == "Transport" {
							return true
						}
					}
					t.Errorf("%s: a client without Transport goes where the environment says", positions.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 100 {
		t.Fatal(files, err)
	}
}
