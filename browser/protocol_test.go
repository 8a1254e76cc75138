package browser

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write protocol.json anew")

type protocolDomain struct {
	Domain   string           `json:"domain"`
	Commands []protocolMember `json:"commands"`
	Events   []protocolMember `json:"events,omitempty"`
}

type protocolMember struct {
	Name       string              `json:"name"`
	Parameters []protocolParameter `json:"parameters,omitempty"`
}

type protocolParameter struct {
	Name     string `json:"name"`
	Optional bool   `json:"optional,omitempty"`
}

// TestProtocolIsCdprotos checks that protocol.json lists what the cdproto module in go.mod lists. With -update it writes the file.
func TestProtocolIsCdprotos(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/chromedp/cdproto").Output()
	if err != nil {
		t.Fatalf("find cdproto: %v", err)
	}
	packages, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*"))
	if err != nil {
		t.Fatal(err)
	}
	var domains []protocolDomain
	for _, dir := range packages {
		if d := readDomain(t, dir); d.Domain != "" {
			domains = append(domains, d)
		}
	}
	slices.SortFunc(domains, func(a, b protocolDomain) int { return strings.Compare(a.Domain, b.Domain) })
	want, err := json.Marshal(map[string]any{"version": map[string]string{"major": "1", "minor": "3"}, "domains": domains})
	if err != nil {
		t.Fatal(err)
	}
	want = append(bytes.ReplaceAll(want, []byte(`{"domain"`), []byte("\n"+`{"domain"`)), '\n')
	if *update {
		if err := os.WriteFile("protocol.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("protocol.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("protocol.json is not what cdproto has; write it with: go test ./browser -run TestProtocolIsCdprotos -update")
	}
}

// readDomain reads one package of cdproto: Command… constants, Event… structures, …Params structures.
func readDomain(t *testing.T, dir string) (d protocolDomain) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	structs := map[string]*ast.StructType{}
	methods := map[string]string{} // Go name → CDP method
	events := map[string]string{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					structs[n.Name.Name] = s
				}
			case *ast.ValueSpec:
				noteNames(n, methods, events)
			}
			return true
		})
	}
	for name, method := range methods {
		d.Domain, method, _ = strings.Cut(method, ".")
		d.Commands = append(d.Commands, protocolMember{method, parameters(structs[name+"Params"])})
	}
	for name, method := range events {
		d.Domain, method, _ = strings.Cut(method, ".")
		d.Events = append(d.Events, protocolMember{method, parameters(structs["Event"+name])})
	}
	byName := func(a, b protocolMember) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(d.Commands, byName)
	slices.SortFunc(d.Events, byName)
	return d
}

// noteNames collects `CommandX = "Domain.x"` and `X = cdp.Event[EventX]{Method: "Domain.x"}`.
func noteNames(v *ast.ValueSpec, methods, events map[string]string) {
	for i, name := range v.Names {
		if i >= len(v.Values) {
			return
		}
		if lit, ok := v.Values[i].(*ast.BasicLit); ok && strings.HasPrefix(name.Name, "Command") {
			methods[strings.TrimPrefix(name.Name, "Command")] = strings.Trim(lit.Value, `"`)
		}
		composite, ok := v.Values[i].(*ast.CompositeLit)
		if !ok || len(composite.Elts) != 1 {
			continue
		}
		index, ok := composite.Type.(*ast.IndexExpr)
		if !ok {
			continue
		}
		if sel, ok := index.X.(*ast.SelectorExpr); !ok || sel.Sel.Name != "Event" {
			continue
		}
		if kv, ok := composite.Elts[0].(*ast.KeyValueExpr); ok {
			if lit, ok := kv.Value.(*ast.BasicLit); ok {
				events[name.Name] = strings.Trim(lit.Value, `"`)
			}
		}
	}
}

func parameters(s *ast.StructType) (all []protocolParameter) {
	if s == nil {
		return nil
	}
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		name, rest, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if name != "" && name != "-" {
			all = append(all, protocolParameter{name, strings.Contains(rest, "omitempty")})
		}
	}
	return all
}
