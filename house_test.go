package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// This file holds the house to its own rules: who may know whom, how large a thing may be, and that nothing hides state.

// sourceFile is one Go file of the module.
type sourceFile struct {
	path, folder string // folder is "" for the root
	test         bool
	generated    bool
	text         []byte
	set          *token.FileSet
	ast          *ast.File
}

// source reads every Go file of the module.
func source(t testing.TB) (out []sourceFile) {
	t.Helper()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "vendor" || name == "node_modules" || name == "testdata" || strings.HasPrefix(name, ".") && name != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f := sourceFile{path: filepath.ToSlash(p), test: strings.HasSuffix(p, "_test.go"), text: text, set: token.NewFileSet()}
		if f.folder = path.Dir(f.path); f.folder == "." {
			f.folder = ""
		}
		if f.ast, err = parser.ParseFile(f.set, p, text, parser.ParseComments); err != nil {
			return err
		}
		f.generated = ast.IsGenerated(f.ast)
		out = append(out, f)
		return nil
	})
	if err != nil || len(out) < 80 {
		t.Fatalf("%d files, %v", len(out), err)
	}
	return out
}

// TestWhoKnowsWhom: main knows shim, store, proxy, web and leaks; shim knows browser with its live view and builds, and proxy; these two
// know browser alone; the leaves know nobody. What lies beside them (bench) may look at any, and nobody looks at it. testnet knows nobody
// either, and only tests of browser, browser/live, shim and main know it.
func TestWhoKnowsWhom(t *testing.T) {
	t.Parallel()
	allowed := map[string][]string{"": {"api", "runs", "pool", "identity", "events", "problem", "shim", "store", "proxy", "web", "leaks"},
		"problem": {}, "events": {}, "identity": {}, "shim": {"browser", "browser/live", "browser/builds", "proxy"},
		"browser/live": {"browser"}, "browser/builds": {"browser"}, "store": {}, "browser": {}, "proxy": {}, "web": {}, "leaks": {}, "testnet": {}}
	seen := map[string]bool{}
	for _, f := range source(t) {
		known, ours := allowed[f.folder]
		if f.test && slices.Contains([]string{"", "browser", "browser/live", "shim"}, f.folder) {
			known = append(slices.Clone(known), "testnet")
		}
		for _, spec := range f.ast.Imports {
			p := strings.Trim(spec.Path.Value, `"`)
			other, inside := strings.CutPrefix(p, "warren/")
			if other == "testnet" && !f.test {
				t.Errorf("%s imports testnet, which is for tests", f.path)
			}
			if !ours || !inside && p != "warren" || other == f.folder {
				continue
			}
			seen[f.folder+"→"+other] = true
			if !slices.Contains(known, other) {
				t.Errorf("%s imports %s: %q may know %v alone", f.path, p, f.folder, known)
			}
		}
	}
	for _, must := range []string{"→shim", "→store", "→proxy", "→web", "→leaks", "shim→browser", "shim→browser/live", "shim→browser/builds",
		"shim→proxy", "browser/live→browser", "browser/builds→browser"} {
		if !seen[must] {
			t.Errorf("%s is gone: is the test blind?", must)
		}
	}
}

// TestOneFileKnowsChromedp: chromedp is imported in one file of browser, and in no other.
func TestOneFileKnowsChromedp(t *testing.T) {
	t.Parallel()
	var users []string
	for _, f := range source(t) {
		for _, spec := range f.ast.Imports {
			if strings.HasPrefix(strings.Trim(spec.Path.Value, `"`), "github.com/chromedp/chromedp") && !f.test {
				users = append(users, f.path)
			}
		}
	}
	if users = slices.Compact(users); len(users) != 1 || path.Dir(users[0]) != "browser" {
		t.Errorf("chromedp is imported by %v, want one file of browser", users)
	}
}

// TestSizes: a file fits in one sitting, a function on one screen.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, f := range source(t) {
		if f.generated {
			continue
		}
		if n := strings.Count(string(f.text), "\n"); n > 600 {
			t.Errorf("%s has %d lines, want 600 at most", f.path, n)
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1; n > 80 {
				t.Errorf("%s: %s has %d lines, want 80 at most", f.path, fn.Name.Name, n)
			}
		}
	}
}

// TestNoHiddenState: nothing runs before main, and no package-level variable changes. What is listed is state of the library or of
// the build, with its reason.
func TestNoHiddenState(t *testing.T) {
	t.Parallel()
	allowed := map[string]string{
		"main.go version":        "set by the linker",
		"json.go bodies":         "a pool: nothing in it outlives a request",
		"server.go useOurErrors": "huma's hooks are package-wide: they are set once",
	}
	used := map[string]bool{}
	files := source(t)
	for _, f := range files {
		if f.test || f.generated {
			continue
		}
		for _, d := range f.ast.Decls {
			switch x := d.(type) {
			case *ast.FuncDecl:
				if x.Name.Name == "init" && x.Recv == nil {
					t.Errorf("%s has an init", f.path)
				}
			case *ast.GenDecl:
				for _, v := range variables(x) {
					name := f.path + " " + v.name
					if why := v.mutable(f, files); why != "" {
						used[name] = true
						if allowed[name] == "" {
							t.Errorf("%s: %s", name, why)
						}
					}
				}
			}
		}
	}
	for name := range allowed {
		if !used[name] {
			t.Errorf("%s is listed, and is no state: take it off the list", name)
		}
	}
}

// variable is a package-level variable.
type variable struct {
	name  string
	value ast.Expr
	embed bool
	kind  ast.Expr
}

func variables(d *ast.GenDecl) (out []variable) {
	if d.Tok != token.VAR {
		return nil
	}
	for _, s := range d.Specs {
		spec := s.(*ast.ValueSpec)
		embed := strings.Contains(raw(d.Doc), "go:embed") || strings.Contains(raw(spec.Doc), "go:embed")
		for i, id := range spec.Names {
			v := variable{name: id.Name, embed: embed, kind: spec.Type}
			if i < len(spec.Values) {
				v.value = spec.Values[i]
			}
			if id.Name != "_" {
				out = append(out, v)
			}
		}
	}
	return out
}

func raw(g *ast.CommentGroup) (text string) {
	if g != nil {
		for _, c := range g.List {
			text += c.Text + "\n"
		}
	}
	return text
}

// mutable says why a variable is state: what it is made of changes by itself, or somebody writes to it.
func (v variable) mutable(f sourceFile, files []sourceFile) string {
	if v.embed {
		return ""
	}
	if v.value == nil {
		return "begins empty, so somebody fills it"
	}
	made := string(f.text[f.set.Position(v.value.Pos()).Offset:f.set.Position(v.value.End()).Offset])
	stateful := regexp.MustCompile(`^(&|make\(|new\(|sync\.|atomic\.)|^map\[[^{]*\{\}$|^"dev"$`)
	if stateful.MatchString(made) {
		return "is made of state: " + strings.SplitN(made, "\n", 2)[0]
	}
	for _, other := range files {
		if other.folder != f.folder || other.test {
			continue
		}
		if at := writes(other, v.name); at != "" {
			return "is written to at " + at
		}
	}
	return ""
}

// writes finds a place that assigns to the package's variable, or to a part of it.
func writes(f sourceFile, name string) (at string) {
	isIt := func(e ast.Expr) bool {
		for {
			switch x := e.(type) {
			case *ast.IndexExpr:
				e = x.X
			case *ast.SelectorExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			case *ast.Ident:
				if x.Name != name {
					return false
				}
				if x.Obj == nil { // declared in another file of the package
					return true
				}
				_, isVar := x.Obj.Decl.(*ast.ValueSpec)
				return isVar && f.ast.Scope.Lookup(name) == x.Obj
			default:
				return false
			}
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		var targets []ast.Expr
		switch x := n.(type) {
		case *ast.AssignStmt:
			if x.Tok != token.DEFINE {
				targets = x.Lhs
			}
		case *ast.IncDecStmt:
			targets = []ast.Expr{x.X}
		case *ast.UnaryExpr:
			if x.Op == token.AND {
				targets = []ast.Expr{x.X}
			}
		case *ast.CallExpr:
			if id, ok := x.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear" || id.Name == "copy") && len(x.Args) > 0 {
				targets = x.Args[:1]
			}
		}
		if slices.ContainsFunc(targets, isIt) {
			at = fmt.Sprint(f.path, ":", f.set.Position(n.Pos()).Line)
		}
		return true
	})
	return at
}

// TestWords: nothing is put off, and no test waits for the clock.
func TestWords(t *testing.T) {
	t.Parallel()
	putOff := regexp.MustCompile(`(?i)\b(` + strings.Join([]string{"to" + "do", "fix" + "me", "x" + "xx", "ha" + "ck", "not " + "implemented", "st" + "ub"}, "|") + `)\b`)
	for _, f := range source(t) {
		for i, line := range strings.Split(string(f.text), "\n") {
			if m := putOff.FindString(line); m != "" {
				t.Errorf("%s:%d says %q", f.path, i+1, m)
			}
			if f.test && f.folder == "" && strings.Contains(line, "time."+"Sleep(") {
				t.Errorf("%s:%d sleeps: wait for what it waits for", f.path, i+1)
			}
		}
	}
}

// TestOneTable: each route is one line of one table: nobody else talks to the mux or to huma.
func TestOneTable(t *testing.T) {
	t.Parallel()
	routes := regexp.MustCompile(`huma\.(Register|Get|Post|Put|Patch|Delete)\(|mux\.Handle(Func)?\(`)
	for _, f := range source(t) {
		if f.folder != "" || f.test {
			continue
		}
		if n := len(routes.FindAll(f.text, -1)); n > 0 && f.path != "server.go" {
			t.Errorf("%s registers %d routes; the table is in server.go", f.path, n)
		}
	}
	if n := len(registered(t)); n < 25 {
		t.Errorf("%d routes in the table", n)
	}
}
