package main_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// settingsTable is the variable of package api with a row for every setting of a profile. A row begins with the setting's JSON name.
const settingsTable = "settings"

// bookkeeping are the columns of profiles that no user sets.
var bookkeeping = map[string]string{
	"id":              "given by the server",
	"version":         "counted by a trigger",
	"workspace_id":    "set once, when the profile is created",
	"tags_key":        "follows from tags",
	"search_key":      "follows from name and notes",
	"proxy_missing":   "set when the proxy is deleted",
	"status":          "of the run",
	"last_run":        "of the run",
	"node_id":         "set at the first start",
	"last_started_at": "of the run",
	"disk_bytes":      "of the run",
	"head_id":         "of the last snapshot, roll-back or clone",
	"snapshot_due":    "of the run",
	"template_id":     "set once, when the profile is created",
	"sources":         "follows from the requests that set settings",
	"revision":        "counted by UpdateProfile",
	"created_at":      "a time of the server's",
	"updated_at":      "a time of the server's",
	"trashed_at":      "set by the trash",
	"trashed":         "follows from trashed_at",
}

// settingExceptions are settings that a list may miss, as "list: setting".
var settingExceptions = map[string]string{
	"the web form's fields: proxyId": "its field is ProxyField (proxychoice.js)",
}

// settingSources are the texts that name the settings.
type settingSources struct {
	schema   string // schema.sql
	queries  string // queries/profiles.sql
	form     string // web/static/profiles/form: values.js and fields.js
	document string // docs/openapi.json
	house    *house
}

// TestHouseSettings: every setting of a profile, which is a column of its table, is in every list of them.
func TestHouseSettings(t *testing.T) {
	t.Parallel()
	s := readSettingSources(t)
	if n := len(s.settings()); n < 24 {
		t.Fatalf("%d settings in schema.sql: does this test still see them?", n)
	}
	keep(t, "settings", missingSettings(s), settingExceptions)

	// A column more must be missing in every list.
	more := *s
	more.schema = strings.Replace(s.schema, "CREATE TABLE profiles (\n", "CREATE TABLE profiles (\n    one_more TEXT NOT NULL,\n", 1)
	if lists, want := without("oneMore", missingSettings(&more)), len(s.lists()); len(lists) != want {
		t.Errorf("a new column is missing in %v, want all %d lists", lists, want)
	}
	// A setting that is gone from a text must be missing in every list of that text.
	for place, text := range map[string]*string{"queries": &more.queries, "web": &more.form, "docs": &more.document} {
		more = *s
		*text = strings.NewReplacer("deny_hosts", "x", "denyHosts", "x").Replace(*text)
		lists := without("denyHosts", missingSettings(&more))
		for _, list := range s.lists() {
			if list.place == place && !slices.Contains(lists, list.name) {
				t.Errorf("without denyHosts in %s: got no complaint about %s", place, list.name)
			}
		}
	}
	table := exampleHouse(t, map[string]string{"api/a.go": "package api\nvar settings = []setting{{\"name\", 1}, {column: 2, " +
		"name: \"os\"}, list(3, \"tags\")}"})
	if got := (&settingSources{house: table}).rows(); !slices.Equal(got, []string{"name", "os", "tags"}) {
		t.Errorf("the rows of a table: got %v", got)
	}
	params := "package store\ntype AddProfileParams struct { A, B int }\n"
	bite(t, partialParams,
		example{"whole", map[string]string{"store/a.go": params + "var _ = AddProfileParams{A: 1, B: 2}"}, ""},
		example{"partial", map[string]string{"store/a.go": params + "var _ = AddProfileParams{A: 1}"},
			"sets 1 of the 2 fields of AddProfileParams"},
	)
}

// without returns the lists that miss a setting.
func without(setting string, found []complaint) (lists []string) {
	for _, c := range found {
		if list, ok := strings.CutSuffix(c.key, ": "+setting); ok {
			lists = append(lists, list)
		}
	}
	return lists
}

func readSettingSources(t *testing.T) *settingSources {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return &settingSources{read("schema.sql"), read("queries/profiles.sql"),
		read("web/static/profiles/form/values.js") + read("web/static/profiles/form/fields.js"), read("docs/openapi.json"), theHouse(t)}
}

var (
	profilesTable = regexp.MustCompile(`(?s)CREATE TABLE profiles \((.*?)\n\) STRICT;`)
	columnLine    = regexp.MustCompile(`(?m)^    ([a-z_]+)\s+(?:TEXT|INTEGER|BLOB|REAL)\b`)
)

// settings returns the JSON names of all settings: of the columns but the bookkeeping.
func (s *settingSources) settings() (out []string) {
	table := profilesTable.FindStringSubmatch(s.schema)
	if table == nil {
		return nil
	}
	for _, m := range columnLine.FindAllStringSubmatch(table[1], -1) {
		if bookkeeping[m[1]] == "" {
			out = append(out, camel(m[1]))
		}
	}
	return out
}

// camel converts a column's name to JSON's: start_urls to startUrls.
func camel(column string) string {
	words := strings.Split(column, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// settingList is one of the lists. It is complete if it names each setting; names that are no settings are free.
type settingList struct {
	name  string
	place string // the folder, or what the list is
	names []string
}

func (s *settingSources) lists() []settingList {
	return []settingList{
		{"the columns of InsertProfile", "queries", s.query("InsertProfile", 1)},
		{"the values of InsertProfile", "queries", s.query("InsertProfile", 2)},
		{"the columns of AddProfile", "queries", s.query("AddProfile", 1)},
		{"the values of AddProfile", "queries", s.query("AddProfile", 2)},
		{"the columns of UpdateProfile", "queries", s.updated()},
		{"the members of profileJSON", "api", s.members("profileJSON")},
		{"the members of ProfileInput", "api", s.members("ProfileInput")},
		{"the document's ProfileJSON", "docs", s.documented("ProfileJSON")},
		{"the document's ProfileInput", "docs", s.documented("ProfileInput")},
		{"the web form's values", "web", functionKeys(s.form, "toValues")},
		{"the web form's body", "web", functionKeys(s.form, "toBody")},
		{"the web form's fields", "web", formFields(s.form)},
		{"the table of settings", "api table", s.rows()},
	}
}

func missingSettings(s *settingSources) (out []complaint) {
	settings := s.settings()
	for _, list := range s.lists() {
		for _, name := range settings {
			if !slices.Contains(list.names, name) {
				out = append(out, complaint{list.place, list.name + ": " + name, fmt.Sprintf("%s: %s is missing", list.name, name)})
			}
		}
	}
	for _, name := range s.members("ProfileInput") { // the other way round: nothing is taken that no column keeps
		if name != "workspaceId" && !slices.Contains(settings, name) {
			out = append(out, complaint{"api", "columns: " + name, "ProfileInput takes " + name + ", which is no column of profiles"})
		}
	}
	return append(out, partialParams(s.house)...)
}

var (
	insertColumns = regexp.MustCompile(`(?s)INSERT INTO profiles \((.*?)\) VALUES \((.*)\)`)
	columnName    = regexp.MustCompile(`[a-z_]+`)
	parameter     = regexp.MustCompile(`(?:@|sqlc\.narg\()([a-z_]+)`)
	assignment    = regexp.MustCompile(`([a-z_]+) = (?:@|sqlc\.narg\()([a-z_]+)`)
)

// query returns the columns (part 1) or the parameters (part 2) of a query that inserts.
func (s *settingSources) query(name string, part int) (out []string) {
	m := insertColumns.FindStringSubmatch(s.text(name))
	if m == nil {
		return nil
	}
	if part == 1 {
		for _, column := range columnName.FindAllString(m[1], -1) {
			out = append(out, camel(column))
		}
		return out
	}
	for _, p := range parameter.FindAllStringSubmatch(m[2], -1) {
		out = append(out, camel(p[1]))
	}
	return out
}

// updated returns the columns that UpdateProfile sets to the parameter of the same name.
func (s *settingSources) updated() (out []string) {
	set, _, _ := strings.Cut(s.text("UpdateProfile"), "WHERE")
	for _, m := range assignment.FindAllStringSubmatch(set, -1) {
		if m[1] == m[2] {
			out = append(out, camel(m[1]))
		}
	}
	return out
}

// text returns the SQL of a query.
func (s *settingSources) text(name string) string {
	_, after, _ := strings.Cut(s.queries, "-- name: "+name+" ")
	before, _, _ := strings.Cut(after, ";")
	return before
}

// members returns the JSON names of a struct of package api, or of main, whatever the case of its name.
func (s *settingSources) members(typ string) (out []string) {
	for _, f := range s.house.files {
		if f.test || f.folder != "api" && f.folder != "main" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			ts, ok := n.(*ast.TypeSpec)
			if !ok || !strings.EqualFold(ts.Name.Name, typ) {
				return true
			}
			if st, ok := ts.Type.(*ast.StructType); ok {
				for _, field := range st.Fields.List {
					if field.Tag != nil {
						tag, _ := strconv.Unquote(field.Tag.Value) //nolint:errcheck // the parser has accepted it
						name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
						out = append(out, name)
					}
				}
			}
			return true
		})
	}
	return out
}

// documented returns the properties of a schema of the OpenAPI document.
func (s *settingSources) documented(schema string) (out []string) {
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if json.Unmarshal([]byte(s.document), &doc) != nil {
		return nil
	}
	for name := range doc.Components.Schemas[schema].Properties {
		out = append(out, name)
	}
	return out
}

var objectKey = regexp.MustCompile(`(?m)^    ([a-zA-Z]+):`)

// functionKeys returns the members of the object that a function of the form returns.
func functionKeys(form, function string) (out []string) {
	_, after, _ := strings.Cut(form, "\nexport function "+function+"(")
	body, _, _ := strings.Cut(after, "\n}\n")
	for _, m := range objectKey.FindAllStringSubmatch(body, -1) {
		out = append(out, m[1])
	}
	return out
}

var fieldName = regexp.MustCompile(`\bname="([a-zA-Z]+)"`)

func formFields(form string) (out []string) {
	for _, m := range fieldName.FindAllStringSubmatch(form, -1) {
		out = append(out, m[1])
	}
	return out
}

// rows returns the first string of every row of the table of settings.
func (s *settingSources) rows() (out []string) {
	for _, f := range s.house.files {
		if f.test || f.folder != "api" && f.folder != "main" {
			continue
		}
		for _, d := range f.ast.Decls {
			for _, v := range variables(d) {
				if lit, ok := v.value.(*ast.CompositeLit); ok && v.name == settingsTable {
					for _, row := range lit.Elts {
						out = append(out, firstString(row))
					}
				}
			}
		}
	}
	return out
}

// firstString returns the first string literal of a node.
func firstString(n ast.Node) (out string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && out == "" {
			out, _ = strconv.Unquote(lit.Value) //nolint:errcheck // a number gives ""
		}
		return out == ""
	})
	return out
}

// partialParams complains about parameters of a profile's queries that are made without some of their fields. A setting that is left
// out there would be stored as its zero value.
func partialParams(h *house) (out []complaint) {
	for _, p := range h.packages {
		for e, tv := range p.info.Types {
			lit, ok := e.(*ast.CompositeLit)
			if !ok || tv.Type == nil || len(lit.Elts) == 0 {
				continue
			}
			named, ok := tv.Type.(*types.Named)
			if !ok || !slices.Contains([]string{"InsertProfileParams", "AddProfileParams", "UpdateProfileParams"}, named.Obj().Name()) {
				continue
			}
			if st, ok := named.Underlying().(*types.Struct); ok && len(lit.Elts) < st.NumFields() {
				out = append(out, complaint{p.folder, named.Obj().Name(),
					fmt.Sprintf("%s sets %d of the %d fields of %s", h.at(lit.Pos()), len(lit.Elts), st.NumFields(), named.Obj().Name())})
			}
		}
	}
	return out
}
