package main_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
)

// anything marks a package that may import all others but those for tests.
const anything = "anything"

// mayImport is the table of docs/architecture.md: a package may import those beside it, and no others of ours.
var mayImport = map[string][]string{
	"main": {"api", "userdata", "compat", "schedules", "runs", "snapshots", "packs", "pool", "identity", "events", "problem",
		"store", "proxy", "shim", "web", "leaks", "configfile", "logs", "webhooks", "nodes", "cli", "service", "metrics", "tally",
		"traces", "demonet"},
	"api": {"comeover", "userdata", "schedules", "nodes", "runs", "snapshots", "pool", "identity", "events", "problem", "state",
		"store", "extensions", "proxy", "web", "logs", "disk", "webhooks"},
	"runs": {"snapshots", "pool", "identity", "events", "problem", "state", "store", "extensions", "shim", "leaks", "disk",
		"cgroup", "tally"},
	"snapshots":      {"archive", "packs", "events", "problem", "store", "disk"},
	"schedules":      {"runs", "snapshots", "pool", "events", "problem", "store"},
	"nodes":          {"runs", "problem", "store"},
	"webhooks":       {"pool", "events", "problem", "store", "proxy"},
	"pool":           {"events", "problem", "store", "proxy", "tally"},
	"shim/shimtest":  {"shim"},
	"shim":           {"browser", "browser/live", "browser/builds", "proxy", "state", "disk", "cgroup"},
	"store":          {"store/index", "store/postgres", "disk", "tally"},
	"browser/live":   {"browser"},
	"browser/builds": {"browser"},
	"browser":        {"state"},
	"archive":        {"packs"},
	"comeover":       {"state", "proxy"},
	"userdata":       {"snapshots"},
	"bench":          {anything}, // measures each of them by itself
	"tests":          {anything}, // drives the product from outside, and reads its files
	"metrics":        {"runs", "pool", "store", "events", "tally"},
	"traces":         {"logs", "tally"},
	"identity":       {}, "events": {}, "problem": {}, "state": {}, "store/index": {}, "store/postgres": {},
	"proxy": {}, "web": {}, "leaks": {},
	"packs": {}, "extensions": {}, "logs": {}, "disk": {}, "compat": {}, "configfile": {}, "testnet": {}, "cli": {},
	"cgroup": {}, "service": {}, "tally": {}, "deploy/manifests": {}, "demonet": {},
	"deploy/demo-cluster": {"demonet"},
}

// notImported are packages that nothing imports.
var notImported = []string{"main", "bench", "tests", "deploy/manifests", "deploy/demo-cluster"}

// testsImport is what the tests of a package may import beside that.
var testsImport = map[string][]string{
	"api":       {"archive", "shim", "shim/shimtest"}, // archives of strangers; a run without a browser
	"runs":      {"proxy", "shim/shimtest"},
	"cli":       {"api"},            // the list of its operations
	"schedules": {"proxy", "nodes"}, // the checker of its pool, and the labels of servers
	"snapshots": {"browser"},        // what is kept is proved by a browser that starts with it
}

// testnetUsers are the packages whose tests may import testnet. No other source may.
var testnetUsers = []string{"main", "api", "runs", "snapshots", "store", "store/postgres", "shim", "browser", "browser/live",
	"browser/builds", "archive", "packs", "schedules", "webhooks", "nodes", "cli", "cgroup", "tests"}

// TestHouseImports holds every package, with its tests, to the table of imports.
func TestHouseImports(t *testing.T) {
	t.Parallel()
	h := theHouse(t)
	keep(t, "imports", wrongImports(h), nil)
	for _, edge := range []string{"main→shim", "main→store", "shim→browser", "shim→browser/live", "shim→proxy", "pool→proxy",
		"browser/live→browser"} {
		from, to, _ := strings.Cut(edge, "→")
		if !slices.ContainsFunc(h.files, func(f *goFile) bool {
			return f.folder == from &&
				slices.Contains(f.imports(), modulePath+"/"+to)
		}) {
			t.Errorf("%s is gone: does this test still see imports?", edge)
		}
	}
	bite(t, wrongImports,
		example{"down", map[string]string{"api/a.go": `package api; import _ "warren/runs"`}, ""},
		example{"up", map[string]string{"runs/a.go": `package runs; import _ "warren/api"`}, "runs/a.go imports api"},
		example{"in a test", map[string]string{"events/a_test.go": `package events; import _ "warren/store"`},
			"events/a_test.go imports store"},
		example{"main", map[string]string{"tests/a_test.go": `package tests; import _ "warren"`}, "tests/a_test.go imports main"},
		example{"testnet in a test", map[string]string{"browser/a_test.go": `package browser; import _ "warren/testnet"`}, ""},
		example{"shimtest in a test", map[string]string{"runs/a_test.go": `package runs; import _ "warren/shim/shimtest"`}, ""},
		example{"shimtest", map[string]string{"runs/a.go": `package runs; import _ "warren/shim/shimtest"`},
			"runs/a.go imports shim/shimtest"},
		example{"testnet", map[string]string{"browser/a.go": `package browser; import _ "warren/testnet"`}, "imports testnet"},
		example{"testnet in bench", map[string]string{"bench/a.go": `package main; import _ "warren/testnet"`}, "imports testnet"},
		example{"unlisted", map[string]string{"util/a.go": `package util`}, "util is not in the table"},
	)
}

func wrongImports(h *house) (out []complaint) {
	unlisted := map[string]bool{}
	for _, f := range h.files {
		allowed, listed := mayImport[f.folder]
		if !listed && !unlisted[f.folder] {
			unlisted[f.folder] = true
			out = append(out, complaint{f.folder, f.folder, f.folder + " is not in the table of imports"})
		}
		for _, p := range f.imports() {
			to, ours := folderOf(p)
			if !ours || to == f.folder { // a package's own name: its external tests
				continue
			}
			ok := slices.Contains(allowed, to) || slices.Contains(allowed, anything) && to != "testnet" && !slices.Contains(notImported, to)
			if f.test && slices.Contains(testsImport[f.folder], to) {
				ok = true
			}
			if to == "testnet" {
				ok = f.test && slices.Contains(testnetUsers, f.folder)
			}
			if !ok {
				out = append(out, complaint{f.folder, f.folder + " → " + to, fmt.Sprintf("%s imports %s: %s may import %v", f.path,
					to, f.folder, allowed)})
			}
		}
	}
	return out
}

// servers are the packages that serve HTTP.
var servers = []string{"api", "shim", "web", "leaks", "compat", "metrics"}

// homes says which packages may use what. A library or a part of one is at home where it is understood; elsewhere it would leak.
var homes = []home{
	{"huma", func(f *goFile) bool { return f.importsBelow("github.com/danielgtaylor/huma") }, []string{"api"}},
	{"chromedp", func(f *goFile) bool { return f.importsBelow("github.com/chromedp/chromedp") }, []string{"browser"}},
	{"prometheus", func(f *goFile) bool { return f.importsBelow("github.com/prometheus") }, []string{"metrics"}},
	{"opentelemetry", func(f *goFile) bool { return f.importsBelow("go.opentelemetry.io") }, []string{"traces"}},
	{"minio", func(f *goFile) bool { return f.importsBelow("github.com/minio/minio-go") }, []string{"packs"}},
	{"http.Server", func(f *goFile) bool { return f.uses("net/http", "Server", "ListenAndServe", "ListenAndServeTLS") }, servers},
	{"http.Serve", func(f *goFile) bool { return f.uses("net/http", "Serve", "ServeTLS") }, servers},
	{"an HTTP status", func(f *goFile) bool { return f.uses("net/http", "Status*") },
		[]string{"api", "shim", "web", "leaks", "compat", "proxy", "browser", "browser/live", "browser/builds", "packs", "bench",
			"testnet", "webhooks", "cli", "metrics", "nodes"}},
	{"context.WithValue", func(f *goFile) bool { return f.uses("context", "WithValue") }, []string{"api"}},
}

type home struct {
	what   string
	used   func(*goFile) bool
	allows []string // folders
}

// homeExceptions are uses elsewhere, as "folder: what".
var homeExceptions = map[string]string{
	"testnet: http.Server":          "the sites of the test network; no product code imports testnet",
	"shim/shimtest: http.Server":    "stands in for the process of a run; no product code imports it",
	"shim/shimtest: an HTTP status": "the same",
	"bench: http.Serve":             "the floor that the API is measured against: a bare server",
	"demonet: http.Serve":           "the demonstrations' own site, which their browsers visit",
}

// importsBelow reports whether the file imports a path or one below it.
func (f *goFile) importsBelow(root string) bool {
	return slices.ContainsFunc(f.imports(), func(p string) bool { return p == root || strings.HasPrefix(p, root+"/") })
}

// uses reports whether the file uses one of the names of an imported package. A name with a star stands for all that begin so.
func (f *goFile) uses(importPath string, names ...string) bool {
	for used := range f.selectors(importPath) {
		for _, name := range names {
			if used == name || strings.HasSuffix(name, "*") && strings.HasPrefix(used, name[:len(name)-1]) {
				return true
			}
		}
	}
	return false
}

// TestHouseHomes: libraries, HTTP servers, status codes and values in contexts are used where homes says. Tests are free.
func TestHouseHomes(t *testing.T) {
	t.Parallel()
	h := theHouse(t)
	keep(t, "homes", strangers(h), homeExceptions)
	for _, x := range homes {
		if !slices.ContainsFunc(h.files, func(f *goFile) bool { return x.used(f) }) {
			t.Errorf("nobody uses %s: does this test still see it?", x.what)
		}
	}
	bite(t, strangers,
		example{"huma", map[string]string{"runs/a.go": `package runs; import "github.com/danielgtaylor/huma/v2"; var _ huma.API`},
			"uses huma"},
		example{"huma at home", map[string]string{"api/a.go": `package api; import "github.com/danielgtaylor/huma/v2"; var _ huma.API`},
			""},
		example{"chromedp", map[string]string{"shim/a.go": `package shim; import _ "github.com/chromedp/chromedp/device"`},
			"uses chromedp"},
		example{"server", map[string]string{"runs/a.go": `package runs; import "net/http"; var _ = &http.Server{}`}, "uses http.Server"},
		example{"renamed", map[string]string{"proxy/a.go": `package proxy; import web "net/http"; var _ = web.ListenAndServe`},
			"uses http.Server"},
		example{"status", map[string]string{"problem/a.go": `package problem; import "net/http"; var _ = http.StatusNotFound`},
			"an HTTP status"},
		example{"client", map[string]string{"pool/a.go": `package pool; import "net/http"; var _ http.Client`}, ""},
		example{"with value", map[string]string{"runs/a.go": `package runs; import "context"; var _ = context.WithValue`},
			"uses context.WithValue"},
		example{"in a test", map[string]string{"runs/a_test.go": `package runs; import "net/http"; var _ = http.StatusOK`}, ""},
	)
}

func strangers(h *house) (out []complaint) {
	for _, f := range h.files {
		for _, x := range homes {
			if !f.test && !slices.Contains(x.allows, f.folder) && x.used(f) {
				out = append(out, complaint{f.folder, f.folder + ": " + x.what, fmt.Sprintf("%s uses %s, which is for %v", f.path,
					x.what, x.allows)})
			}
		}
	}
	return out
}

// TestHouseContextValues: only api reads values out of contexts. What the others need they get as arguments.
func TestHouseContextValues(t *testing.T) {
	t.Parallel()
	keep(t, "context values", contextValues(theHouse(t)), nil)
	reads := func(folder string) map[string]string {
		return map[string]string{folder + "/a.go": "package " + folder +
			"\nimport \"context\"\nfunc f(ctx context.Context) { _ = ctx.Value(1) }"}
	}
	bite(t, contextValues,
		example{"in api", reads("api"), ""},
		example{"in runs", reads("runs"), "runs/a.go:3 reads a value out of a context"},
		example{"another Value", map[string]string{"runs/a.go": `package runs; type v int; func (v) Value() int { return v(0).Value() }`},
			""},
	)
}

func contextValues(h *house) (out []complaint) {
	for _, p := range h.packages {
		for id, o := range p.info.Uses {
			f, ok := o.(*types.Func)
			if ok && p.folder != "api" && f.Name() == "Value" && f.Pkg() != nil && f.Pkg().Path() == "context" {
				out = append(out, complaint{p.folder, p.folder, h.at(id.Pos()) + " reads a value out of a context"})
			}
		}
	}
	return out
}

// TestHouseOneFile: one file of browser imports chromedp, one of packs the client of S3, and one file registers the API's routes.
func TestHouseOneFile(t *testing.T) {
	t.Parallel()
	h := theHouse(t)
	for _, library := range []string{"github.com/chromedp/chromedp", "github.com/minio/minio-go"} {
		var users []string
		for _, f := range h.files {
			if !f.test && f.importsBelow(library) {
				users = append(users, f.path)
			}
		}
		if len(users) != 1 {
			t.Errorf("%s is imported by %v, want one file", library, users)
		}
	}
	if len(registrars(h)) == 0 {
		t.Error("no file registers routes: does this test still see them?")
	}
	keep(t, "routes", secondRegistrar(h), nil)
	huma := "package api\nimport \"github.com/danielgtaylor/huma/v2\"\nfunc f() { huma.Register() }"
	bite(t, secondRegistrar,
		example{"one", map[string]string{"api/routes.go": huma, "api/b.go": "package api"}, ""},
		example{"two", map[string]string{"api/routes.go": huma,
			"api/b.go": "package api\nfunc g(mux interface{ Handle() }) { mux.Handle() }"}, "[api/b.go api/routes.go]"},
	)
}

// secondRegistrar complains if more than one file registers routes: the table of routes is one.
func secondRegistrar(h *house) []complaint {
	if files := registrars(h); len(files) > 1 {
		return []complaint{{path.Dir(files[0]), "routes", fmt.Sprintf("routes are registered in %v, want one file", files)}}
	}
	return nil
}

// registrars returns the files that register routes in a package that knows huma.
func registrars(h *house) (out []string) {
	calls := []string{"huma.Register", "huma.Get", "huma.Post", "huma.Put", "huma.Patch", "huma.Delete", "mux.Handle", "mux.HandleFunc"}
	knows := map[string]bool{}
	for _, f := range h.files {
		knows[f.folder] = knows[f.folder] || !f.test && f.importsBelow("github.com/danielgtaylor/huma")
	}
	for _, f := range h.files {
		found := false
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				found = found || slices.Contains(calls, lastTwo(c.Fun))
			}
			return true
		})
		if found && knows[f.folder] && !f.test {
			out = append(out, f.path)
		}
	}
	return out
}

// lastTwo returns the last two names of a selector: "mux.Handle" for s.mux.Handle.
func lastTwo(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch x := s.X.(type) {
	case *ast.Ident:
		return x.Name + "." + s.Sel.Name
	case *ast.SelectorExpr:
		return x.Sel.Name + "." + s.Sel.Name
	}
	return ""
}

// maxComponent is how many files of a package may use each other in circles.
const maxComponent = 20

// central are the names of a package that nearly every file uses: its main types and its tables. Uses of them count for no circle.
var central = map[string][]string{
	"api":     {"API"},
	"runs":    {"Manager", "run", "plan"},
	"browser": {"Browser"},
	"bench":   {"bench"},
	"cli":     {"session", "command", "table"},
	"store":   {"Store"},
}

// TestHouseCircles: the files of a package that use each other, directly or through others, are at most maxComponent.
func TestHouseCircles(t *testing.T) {
	t.Parallel()
	h := theHouse(t)
	keep(t, "circles", circles(h, maxComponent), nil)
	for folder, names := range central {
		for _, name := range names {
			if p := h.packages[folder]; p != nil && p.types.Scope().Lookup(name) == nil {
				t.Errorf("%s has no %s: take it off the table of central names", folder, name)
			}
		}
	}
	two := func(h *house) []complaint { return circles(h, 2) }
	bite(t, two,
		example{"two", map[string]string{"pool/a.go": "package pool\nfunc a() { b() }", "pool/b.go": "package pool\nfunc b() { a() }"}, ""},
		example{"three", map[string]string{"pool/a.go": "package pool\nfunc a() { b() }", "pool/b.go": "package pool\nfunc b() { c() }",
			"pool/c.go": "package pool\ntype t struct{}\nfunc (t) m() { a() }\nfunc c() { t{}.m() }"}, "[a.go b.go c.go]"},
		example{"central", map[string]string{"api/a.go": "package api\ntype API struct{ n int }\nfunc a() { b() }",
			"api/b.go": "package api\nfunc b() { c() }", "api/c.go": "package api\nfunc c(x API) int { return x.n }"}, ""},
	)
}

func circles(h *house, limit int) (out []complaint) {
	for _, folder := range h.folders() {
		p := h.packages[folder]
		for _, c := range components(h.fileGraph(p)) {
			if len(c) > limit {
				out = append(out, complaint{folder, folder, fmt.Sprintf("%s has %d files that use each other in circles: %v",
					folder, len(c), c)})
			}
		}
	}
	return out
}

// fileGraph returns, by file, the files of the package whose names it uses.
func (h *house) fileGraph(p *goPackage) map[string][]string {
	left := map[types.Object]bool{}
	for _, name := range central[p.folder] {
		if o := p.types.Scope().Lookup(name); o != nil {
			left[o] = true
			if s, ok := o.Type().Underlying().(*types.Struct); ok {
				for f := range s.Fields() {
					left[f] = true
				}
			}
		}
	}
	file := func(at token.Pos) string { return path.Base(h.set.Position(at).Filename) }
	graph := map[string][]string{}
	for id, o := range p.info.Uses {
		from, to := file(id.Pos()), file(o.Pos())
		if o.Pkg() == p.types && !left[o] && wide(o, p.types) && from != to && !slices.Contains(graph[from], to) {
			graph[from] = append(graph[from], to)
		}
	}
	return graph
}

// wide reports whether an object is known in the whole package: a package-level name, a method or a field.
func wide(o types.Object, p *types.Package) bool {
	switch x := o.(type) {
	case *types.PkgName:
		return false
	case *types.Var:
		return x.IsField() || x.Parent() == p.Scope()
	case *types.Func:
		return true
	}
	return o.Parent() == p.Scope()
}

// components returns the strongly connected components of a graph (Tarjan), each sorted.
func components(graph map[string][]string) (out [][]string) {
	index, low, open := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var visit func(string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack, open[v] = append(stack, v), true
		for _, w := range graph[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if open[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		at := slices.Index(stack, v)
		c := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, w := range c {
			open[w] = false
		}
		slices.Sort(c)
		out = append(out, c)
	}
	for v := range graph {
		if index[v] == 0 {
			visit(v)
		}
	}
	return out
}
