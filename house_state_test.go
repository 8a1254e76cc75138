package main_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestHouseHiddenState: nothing runs before main, and no package-level variable changes.
func TestHouseHiddenState(t *testing.T) {
	t.Parallel()
	keep(t, "hidden state", hiddenState(theHouse(t)), map[string]string{
		"version":           "set by the linker",
		"bodies":            "a pool: nothing in it outlives a request",
		"useOurErrors":      "huma's hooks are package-wide: they are set once",
		"postgresOfProcess": "of testnet: a server takes a second to make, so that all tests of a process share one",
	})
	source := func(text string) map[string]string { return map[string]string{"pool/a.go": "package pool\n" + text} }
	bite(t, hiddenState,
		example{"table", source("var words = []string{\"a\"}"), ""},
		example{"init", source("func init() {}"), "pool/a.go:2 has an init"},
		example{"empty", source("var n int"), "n begins empty"},
		example{"map", source("var seen = map[string]bool{}"), "seen is made of state"},
		example{"assigned", source("var n = 1\nfunc f() { n++ }"), "n is written to at pool/a.go:3"},
		example{"element", source("var words = []string{\"a\"}\nfunc f() { words[0] = \"b\" }"), "words is written to"},
		example{"a local one", source("var n = 1\nfunc f() { n := 2; n++; _ = n }"), ""},
	)
}

func hiddenState(h *house) (out []complaint) {
	written := map[string]map[string]token.Pos{}
	for _, f := range h.files {
		if f.test || f.generated {
			continue
		}
		if written[f.folder] == nil {
			written[f.folder] = h.written(f.folder)
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
				out = append(out, complaint{f.folder, "init", h.at(fn.Pos()) + " has an init"})
			}
			for _, v := range variables(d) {
				if why := h.mutable(f, v, written[f.folder][v.name]); why != "" {
					out = append(out, complaint{f.folder, v.name, fmt.Sprintf("%s %s %s", h.at(d.Pos()), v.name, why)})
				}
			}
		}
	}
	return out
}

// variable is a package-level variable. Its value is nil if none is given, or if the compiler embeds a file.
type variable struct {
	name  string
	value ast.Expr
	embed bool
}

func variables(d ast.Decl) (out []variable) {
	gen, ok := d.(*ast.GenDecl)
	if !ok || gen.Tok != token.VAR {
		return nil
	}
	for _, s := range gen.Specs {
		spec := s.(*ast.ValueSpec)
		for i, id := range spec.Names {
			v := variable{name: id.Name, embed: embeds(gen.Doc) || embeds(spec.Doc)}
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

func embeds(g *ast.CommentGroup) bool {
	return g != nil && slices.ContainsFunc(g.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed") })
}

// stateful matches values that change by themselves or are there to be filled.
var stateful = regexp.MustCompile(`^(&|make\(|new\(|sync\.|atomic\.)|^map\[[^{]*\{\}$|^"dev"$`)

// mutable says why a variable is state, "" if it is none. written is where its package writes to it.
func (h *house) mutable(f *goFile, v variable, written token.Pos) string {
	if v.embed {
		return ""
	}
	if v.value == nil {
		return "begins empty, so somebody fills it"
	}
	made := string(f.text[h.set.Position(v.value.Pos()).Offset:h.set.Position(v.value.End()).Offset])
	if stateful.MatchString(made) {
		return "is made of state: " + strings.SplitN(made, "\n", 2)[0]
	}
	if written != token.NoPos {
		return "is written to at " + h.at(written)
	}
	return ""
}

// written returns the package-level variables that a package writes to, or to a part of, each with a place.
func (h *house) written(folder string) map[string]token.Pos {
	out := map[string]token.Pos{}
	for _, f := range h.files {
		if f.folder != folder || f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			for _, e := range targets(n) {
				// Without an object it is declared in another file of the package.
				if id := root(e); id != nil && (id.Obj == nil || f.ast.Scope.Lookup(id.Name) == id.Obj) {
					out[id.Name] = n.Pos()
				}
			}
			return true
		})
	}
	return out
}

// targets returns what a node changes: the left sides of assignments, operands of ++ and &, and the argument of delete, clear and copy.
func targets(n ast.Node) []ast.Expr {
	switch x := n.(type) {
	case *ast.AssignStmt:
		if x.Tok != token.DEFINE {
			return x.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{x.X}
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return []ast.Expr{x.X}
		}
	case *ast.CallExpr:
		id, ok := x.Fun.(*ast.Ident)
		if ok && slices.Contains([]string{"delete", "clear", "copy"}, id.Name) && len(x.Args) > 0 {
			return x.Args[:1]
		}
	}
	return nil
}

// root returns the variable that an expression is, or is a part of.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			return x
		default:
			return nil
		}
	}
}

// TestHouseFunctionFields: calls go down and news comes up as values, so no package sets another one's field to a function.
func TestHouseFunctionFields(t *testing.T) {
	t.Parallel()
	h := theHouse(t)
	keep(t, "function fields", functionFields(h), functionFieldExceptions)
	shim := "package shim\ntype F func()\ntype Spec struct { Done func(); Named F; Name string }\ntype Outer struct { Spec }"
	user := func(text string) map[string]string {
		return map[string]string{"shim/a.go": shim, "runs/a.go": "package runs\nimport \"warren/shim\"\n" + text}
	}
	bite(t, functionFields,
		example{"keyed", user("var _ = shim.Spec{Done: func() {}}"), "runs/a.go:3 sets shim.Spec.Done to a function"},
		example{"by place", user("var _ = &shim.Spec{nil, func() {}, \"\"}"), "sets shim.Spec.Named"},
		example{"assigned", user("func f(s *shim.Spec) { s.Done = func() {} }"), "sets shim.Spec.Done"},
		example{"promoted", user("func f(s *shim.Outer) { s.Done = func() {} }"), "sets shim.Spec.Done"},
		example{"another field", user("var _ = shim.Spec{Name: \"a\"}"), ""},
		example{"inside", map[string]string{"shim/a.go": shim + "\nvar _ = Spec{Done: func() {}}"}, ""},
	)
}

// functionFieldExceptions are fields that other packages set to a function, with the reason.
var functionFieldExceptions = map[string]string{
	"browser/builds.Installation.Progress": "a download takes minutes, and the command line shows each step while Install runs",
	"proxy.Policy.DebugPorts":              "a policy is asked per connection, and which ports are open changes; proxy knows no runs",
	"proxy.Checker.Geo":                    "a table of places is optional and large: whoever configures the checker opens it",
}

func functionFields(h *house) (out []complaint) {
	owners := h.fieldOwners()
	for _, folder := range h.folders() {
		p := h.packages[folder]
		note := func(field *types.Var, at token.Pos) {
			if field == nil || field.Pkg() == p.types || owners[field.Origin()] == "" {
				return
			}
			if _, ok := field.Type().Underlying().(*types.Signature); ok {
				owner := owners[field.Origin()]
				out = append(out, complaint{folder, owner, fmt.Sprintf("%s sets %s to a function", h.at(at), owner)})
			}
		}
		for _, f := range p.files {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				switch x := n.(type) {
				case *ast.CompositeLit:
					p.eachSet(x, note)
				case *ast.AssignStmt:
					for _, e := range x.Lhs {
						note(p.field(e), e.Pos())
					}
				}
				return true
			})
		}
	}
	return out
}

// eachSet calls do with every field that a literal sets to anything but nil.
func (p *goPackage) eachSet(lit *ast.CompositeLit, do func(*types.Var, token.Pos)) {
	t := p.info.Types[lit].Type
	if t == nil {
		return
	}
	if ptr, ok := t.Underlying().(*types.Pointer); ok { // an element of []*T
		t = ptr.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && !p.info.Types[kv.Value].IsNil() {
				field, _ := p.info.Uses[key].(*types.Var)
				do(field, kv.Pos())
			}
		} else if i < st.NumFields() && !p.info.Types[e].IsNil() {
			do(st.Field(i), e.Pos())
		}
	}
}

// field returns the field that a selector names, nil if it names none.
func (p *goPackage) field(e ast.Expr) *types.Var {
	if s, ok := ast.Unparen(e).(*ast.SelectorExpr); ok {
		if v, ok := p.info.Uses[s.Sel].(*types.Var); ok && v.IsField() {
			return v
		}
	}
	return nil
}

// fieldOwners returns the fields of the module's named structs, each as folder.Type.Field.
func (h *house) fieldOwners() map[*types.Var]string {
	out := map[*types.Var]string{}
	for folder, p := range h.packages {
		for _, name := range p.types.Scope().Names() {
			tn, ok := p.types.Scope().Lookup(name).(*types.TypeName)
			if !ok || tn.IsAlias() {
				continue
			}
			if st, ok := tn.Type().Underlying().(*types.Struct); ok {
				for f := range st.Fields() {
					if out[f] == "" && f.Pkg() == p.types {
						out[f] = folder + "." + name + "." + f.Name()
					}
				}
			}
		}
	}
	return out
}

// writer says which function alone writes a field.
type writer struct {
	folder, typ, field string
	function           string
	maker              string // may also give the first value, in a literal; "" for none
}

// writers are the fields with one writer.
var writers = []writer{
	{folder: "runs", typ: "run", field: "state", function: "to", maker: "newRun"},
}

// TestHouseOneWriter: the state of a run changes in one function, which knows the transitions.
func TestHouseOneWriter(t *testing.T) {
	t.Parallel()
	for _, w := range writers {
		keep(t, "one writer", w.others(theHouse(t)), nil)
	}
	w := writer{"runs", "run", "state", "to", "newRun"}
	source := func(text string) map[string]string {
		return map[string]string{"runs/a.go": "package runs\ntype run struct { state int; name string }\ntype other struct { " +
			"state int }\n" +
			"func newRun() *run { return &run{state: 1} }\nfunc (r *run) to(n int) { r.state = n }\n" + text}
	}
	bite(t, w.others,
		example{"one", source("func f(r *run, o *other) { o.state = 1; r.name = \"a\"; _ = other{state: 2} }"), ""},
		example{"assigned", source("func f(r *run) { r.state = 2 }"), "runs/a.go:6 f writes run.state"},
		example{"counted", source("func f(r *run) { r.state++ }"), "f writes run.state"},
		example{"by address", source("func f(r *run) *int { return &r.state }"), "f writes run.state"},
		example{"made", source("func f() *run { return &run{state: 3} }"), "f writes run.state"},
		example{"a method of another", source("func (other) to(r *run) { r.state = 2 }"), "to writes run.state"},
		example{"atomic", source("type a struct{}\nfunc (a) Store(int) {}\nfunc (r *run) f() { r.state.Store(2) }"), "f writes run.state"},
		example{"no such field", map[string]string{"runs/a.go": "package runs"}, "runs has no run.state"},
		example{"no writer", map[string]string{"runs/a.go": "package runs\ntype run struct { state int }"},
			"no function to writes run.state"},
	)
}

// others complains about every function but the writer that writes the field.
func (w writer) others(h *house) (out []complaint) {
	name := w.typ + "." + w.field
	p := h.packages[w.folder]
	if p == nil {
		return []complaint{{w.folder, name, "there is no package " + w.folder}}
	}
	field := p.fieldNamed(w.typ, w.field)
	if field == nil {
		return []complaint{{w.folder, name, w.folder + " has no " + name}}
	}
	own := 0
	for _, f := range p.files {
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			set, made := p.writesOf(fn, field)
			if fn.Name.Name == w.function && fn.Recv != nil && p.receiver(fn) == w.typ {
				own += set
				continue
			}
			if set > 0 || made > 0 && fn.Name.Name != w.maker {
				out = append(out, complaint{w.folder, fn.Name.Name, fmt.Sprintf("%s %s writes %s; only %s may", h.at(fn.Pos()),
					fn.Name.Name, name, w.function)})
			}
		}
	}
	if own == 0 {
		out = append(out, complaint{w.folder, name, fmt.Sprintf("no function %s writes %s", w.function, name)})
	}
	return out
}

// writesOf counts how often a function sets a field, and how often it makes a struct with one.
func (p *goPackage) writesOf(fn *ast.FuncDecl, field *types.Var) (set, made int) {
	ast.Inspect(fn, func(n ast.Node) bool {
		for _, e := range append(targets(n), stored(n)...) {
			if p.field(e) == field {
				set++
			}
		}
		if lit, ok := n.(*ast.CompositeLit); ok {
			p.eachSet(lit, func(v *types.Var, _ token.Pos) {
				if v == field {
					made++
				}
			})
		}
		return true
	})
	return set, made
}

// stored returns the value that a method of an atomic one changes (sync/atomic).
func stored(n ast.Node) []ast.Expr {
	c, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Store", "Swap", "CompareAndSwap", "Add"}, s.Sel.Name) {
		return nil
	}
	return []ast.Expr{s.X}
}

// receiver returns the name of a method's type.
func (p *goPackage) receiver(fn *ast.FuncDecl) string {
	e := fn.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	id, _ := e.(*ast.Ident)
	if id == nil {
		return ""
	}
	return id.Name
}

func (p *goPackage) fieldNamed(typ, field string) *types.Var {
	o := p.types.Scope().Lookup(typ)
	if o == nil {
		return nil
	}
	if st, ok := o.Type().Underlying().(*types.Struct); ok {
		for f := range st.Fields() {
			if f.Name() == field {
				return f
			}
		}
	}
	return nil
}
