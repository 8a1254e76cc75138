// Package main_test holds the rules of the house as tests ("walls"): what each package may import, how large things may be, who writes
// what, and how comments are written. It reads the source of the whole module and uses no name of package main.
//
// Every wall is a function from parsed source to complaints, so that a test can also show it source that breaks the rule.
package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// modulePath is the first part of the import path of every package of ours.
const modulePath = "warren"

// goFile is one Go file.
type goFile struct {
	path   string // from the module's root, with slashes
	folder string // of its package; "main" for the root
	test   bool
	text   []byte
	ast    *ast.File

	generated bool
	here      bool // this platform builds it, and not for tests alone
}

// house is the source of a module.
type house struct {
	set   *token.FileSet
	files []*goFile // for every platform, sorted by path

	outside  types.Importer
	packages map[string]*goPackage // by folder
}

// goPackage is a package as this platform builds it, without its tests.
type goPackage struct {
	folder string
	files  []*goFile
	types  *types.Package
	info   *types.Info
}

// complaint is a place that breaks a rule.
type complaint struct {
	place string // the folder
	key   string // what an exception names
	text  string
}

// theHouse returns this module. It is read once.
func theHouse(t testing.TB) *house {
	t.Helper()
	h, err := loadHouse()
	if err != nil || len(h.files) < 300 {
		t.Fatalf("the module's source cannot be read: %v", err)
	}
	return h
}

var loadHouse = sync.OnceValues(func() (*house, error) {
	h := &house{set: token.NewFileSet(), packages: map[string]*goPackage{}}
	root, err := moduleRoot()
	if err != nil {
		return h, err
	}
	if err := h.parse(root); err != nil {
		return h, err
	}
	exports, err := exportFiles(root, h.importsFromOutside())
	if err != nil {
		return h, err
	}
	h.outside = importer.ForCompiler(h.set, "gc", func(p string) (io.ReadCloser, error) { return os.Open(exports[p]) })
	return h, h.check(func(err error) error { return err })
})

// moduleRoot returns the closest folder above the working directory with a go.mod.
func moduleRoot() (string, error) {
	at, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(at, "go.mod")); missing == nil {
			return at, nil
		}
		if filepath.Dir(at) == at {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
		at = filepath.Dir(at)
	}
	return "", err
}

// skipped reports whether a folder holds no source of ours.
func skipped(name string) bool {
	return slices.Contains([]string{"vendor", "node_modules", "testdata"}, name) || strings.HasPrefix(name, ".")
}

// parse reads every Go file below root.
func (h *house) parse(root string) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != root && skipped(d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		short, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		here, err := build.Default.MatchFile(filepath.Dir(p), d.Name())
		if err != nil {
			return err
		}
		return h.add(filepath.ToSlash(short), text, here)
	})
}

// add parses one file.
func (h *house) add(name string, text []byte, here bool) (err error) {
	f := &goFile{path: name, folder: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), text: text}
	if f.folder == "." {
		f.folder = "main"
	}
	if f.ast, err = parser.ParseFile(h.set, name, text, parser.ParseComments); err != nil {
		return err
	}
	f.generated, f.here = ast.IsGenerated(f.ast), here && !f.test
	h.files = append(h.files, f)
	return nil
}

// importsFromOutside returns the import paths outside the module that this platform's packages name.
func (h *house) importsFromOutside() (out []string) {
	for _, f := range h.files {
		for _, p := range f.imports() {
			if _, ours := folderOf(p); !ours && f.here && p != "unsafe" {
				out = append(out, p)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// exportFiles returns, by import path, the compiler's export data. The go command takes it from its cache.
func exportFiles(dir string, paths []string) (map[string]string, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-json=ImportPath,Export"}, paths...)...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.Bytes())
	}
	exports := map[string]string{}
	for in := json.NewDecoder(bytes.NewReader(out)); in.More(); {
		var p struct{ ImportPath, Export string }
		if err := in.Decode(&p); err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
	}
	return exports, nil
}

// check type-checks all packages. failed decides about each error.
func (h *house) check(failed func(error) error) error {
	for _, f := range h.files {
		if !f.here {
			continue
		}
		if h.packages[f.folder] == nil {
			h.packages[f.folder] = &goPackage{folder: f.folder}
		}
		h.packages[f.folder].files = append(h.packages[f.folder].files, f)
	}
	for _, folder := range h.folders() {
		if _, err := h.checked(folder); failed(err) != nil {
			return err
		}
	}
	return nil
}

// folders returns the folders of the packages that this platform builds, sorted.
func (h *house) folders() (out []string) {
	for folder := range h.packages {
		out = append(out, folder)
	}
	slices.Sort(out)
	return out
}

// checked type-checks a package once, and those that it imports before.
func (h *house) checked(folder string) (*types.Package, error) {
	p := h.packages[folder]
	if p.types != nil {
		return p.types, nil
	}
	if p.info != nil {
		return nil, fmt.Errorf("%s imports itself through others", folder)
	}
	p.info = &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	var files []*ast.File
	for _, f := range p.files {
		files = append(files, f.ast)
	}
	var first error
	config := types.Config{Importer: h, Error: func(err error) {
		if first == nil {
			first = err
		}
	}}
	p.types, _ = config.Check(path.Join(modulePath, strings.TrimPrefix(folder, "main")), h.set, files, p.info) //nolint:errcheck // first
	return p.types, first
}

// Import makes a house an importer (go/types): packages of the module come from its source, so that their objects are the same ones.
func (h *house) Import(p string) (*types.Package, error) {
	if p == "unsafe" {
		return types.Unsafe, nil
	}
	if folder, ours := folderOf(p); ours && h.packages[folder] != nil {
		return h.checked(folder)
	}
	return h.outside.Import(p)
}

// folderOf returns the folder of a package of the module.
func folderOf(importPath string) (folder string, ours bool) {
	if importPath == modulePath {
		return "main", true
	}
	return strings.CutPrefix(importPath, modulePath+"/")
}

func (f *goFile) imports() (out []string) {
	for _, spec := range f.ast.Imports {
		out = append(out, strings.Trim(spec.Path.Value, "`\""))
	}
	return out
}

// selectors returns the names that the file uses of an imported package, with the place of each.
func (f *goFile) selectors(importPath string) map[string]token.Pos {
	local := ""
	for _, spec := range f.ast.Imports {
		if strings.Trim(spec.Path.Value, "`\"") == importPath {
			local = path.Base(importPath)
			if spec.Name != nil {
				local = spec.Name.Name
			}
		}
	}
	out := map[string]token.Pos{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && local != "" {
			if id, ok := s.X.(*ast.Ident); ok && id.Name == local && id.Obj == nil && out[s.Sel.Name] == token.NoPos {
				out[s.Sel.Name] = s.Pos()
			}
		}
		return true
	})
	return out
}

// at writes a position as path:line.
func (h *house) at(p token.Pos) string {
	where := h.set.Position(p)
	return fmt.Sprintf("%s:%d", where.Filename, where.Line)
}

// keep fails the test for every complaint without an exception (key → reason), and for exceptions that cover no complaint.
func keep(t *testing.T, wall string, found []complaint, exceptions map[string]string) {
	t.Helper()
	used := map[string]bool{}
	for _, c := range found {
		if exceptions[c.key] != "" {
			used[c.key] = true
		} else {
			t.Errorf("%s: %s", wall, c.text)
		}
	}
	for key := range exceptions {
		if !used[key] {
			t.Errorf("%s: the exception %q is not needed: delete it", wall, key)
		}
	}
}

// example is source that a wall must complain about with want, or must accept if want is "".
type example struct {
	name  string
	files map[string]string // path → source
	want  string
}

// bite shows a wall the examples. It proves that the wall sees what it is for.
func bite(t *testing.T, wall func(*house) []complaint, examples ...example) {
	t.Helper()
	for _, x := range examples {
		t.Run(x.name, func(t *testing.T) {
			found := wall(exampleHouse(t, x.files))
			switch {
			case x.want == "" && len(found) > 0:
				t.Errorf("complains about good source: %v", found)
			case x.want != "" && (len(found) != 1 || !strings.Contains(found[0].text, x.want)):
				t.Errorf("got %v, want one complaint with %q", found, x.want)
			}
		})
	}
}

// exampleHouse is a module of a few files. What they import from elsewhere is unknown but for its name.
func exampleHouse(t testing.TB, files map[string]string) *house {
	t.Helper()
	h := &house{set: token.NewFileSet(), packages: map[string]*goPackage{}, outside: unknownPackages{}}
	for name, text := range files {
		if err := h.add(name, []byte(text), true); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(h.files, func(a, b *goFile) int { return strings.Compare(a.path, b.path) })
	if err := h.check(func(error) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return h
}

// unknownPackages imports empty packages, and context with its interface.
type unknownPackages struct{}

// Import satisfies types.Importer.
func (unknownPackages) Import(p string) (*types.Package, error) {
	pkg := types.NewPackage(p, path.Base(p))
	if p == "context" {
		key := types.NewVar(token.NoPos, pkg, "key", types.Universe.Lookup("any").Type())
		value := types.NewFunc(token.NoPos, pkg, "Value", types.NewSignatureType(nil, nil, nil, types.NewTuple(key), nil, false))
		name := types.NewTypeName(token.NoPos, pkg, "Context", nil)
		types.NewNamed(name, types.NewInterfaceType([]*types.Func{value}, nil).Complete(), nil)
		pkg.Scope().Insert(name)
	}
	pkg.MarkComplete()
	return pkg, nil
}
