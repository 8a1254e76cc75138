package api

import (
	"errors"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"warren/runs"
	"warren/store"
)

// settingSamples are values that no setting has by default, as requests bring them.
func settingSamples() map[string]string {
	return map[string]string{"name": `"n"`, "os": `"mac"`, "browserVersion": `"99"`, "tags": `["t"]`, "notes": `"n"`, "proxyId": `"p"`,
		"fallbackProxyIds": `["f"]`, "fallbackCountry": `"any"`, "startUrls": `["about:blank"]`, "timezone": `"UTC"`, "locale": `["de"]`,
		"geolocation": `"off"`, "webrtc": `"off"`, "screen": `{"width":800,"height":600}`, "headless": `true`, "idleTimeoutMs": `1000`,
		"maxRunMs": `1000`, "backgroundTraffic": `"allow"`, "allowLocal": `["localhost:1"]`, "logHosts": `true`, "localhostVia": `["1"]`,
		"allowHosts": `["a.example"]`, "denyHosts": `["b.example"]`, "consistency": `"off"`, "temporary": `true`, "snapshots": `"off"`,
		"args":            `["--mute-audio"]`,
		"passkeys":        `"ask"`,
		"startWithServer": `true`,
		"limits":          `{"memoryMb":512}`,
		"freezeAfter":     `600`,
		"placement":       `{"labels":{"zone":"a"}}`,
		"extensions":      `[{"id":"e","enabled":false}]`}
}

// notSettings are columns of a profile that no owner decides, and what computes them.
func notSettings() []string {
	return []string{"ID", "Version", "WorkspaceID", "TagsKey", "SearchKey", "ProxyMissing", "Status", "LastRun", "LastStartedAt",
		"DiskBytes", "NodeID", "HeadID", "SnapshotDue", "TemplateID", "Sources",
		"Revision", "CreatedAt", "UpdatedAt", "TrashedAt", "Trashed"}
}

// The parameters of the queries beside the settings.
func addedBeside() []string {
	return []string{"ID", "WorkspaceID", "TagsKey", "SearchKey", "ProxyMissing", "TemplateID", "Sources", "CreatedAt", "UpdatedAt"}
}

func updatedBeside() []string {
	return []string{"ID", "Revision", "TagsKey", "SearchKey", "ProxyMissing", "Sources", "UpdatedAt", "Workspaces"}
}

// jsonNames are the members of a struct in JSON.
func jsonNames[T any]() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func fieldNames[T any]() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		names = append(names, f.Name)
	}
	return names
}

// rowWith is a new profile with a request of one setting merged.
func rowWith(t *testing.T, name, sample string) store.Profile {
	t.Helper()
	var in ProfileInput
	if err := json.Unmarshal([]byte(`{"`+name+`":`+sample+`}`), &in); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	row := store.Profile{ID: "p"}
	for _, s := range settings {
		s.reset(&row)
	}
	in.merge(&row)
	return row
}

// changedColumns are the columns that differ between two rows, but where their settings are from.
func changedColumns(a, b store.Profile) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[store.Profile]()) {
		if f.Name == "Sources" {
			continue
		}
		if !reflect.DeepEqual(reflect.ValueOf(a).FieldByIndex(f.Index).Interface(), reflect.ValueOf(b).FieldByIndex(f.Index).Interface()) {
			names = append(names, f.Name)
		}
	}
	return names
}

// changedMembers are the members that differ between the answers of two rows.
func changedMembers(t *testing.T, a, b store.Profile) (names []string) {
	t.Helper()
	var answers [2]map[string]any
	for i, row := range []store.Profile{a, b} {
		p, err := profileFromRow(row)
		if err != nil {
			t.Fatal(err)
		}
		text, err := p.appendJSON(nil)
		if err = errors.Join(err, json.Unmarshal(text, &answers[i])); err != nil {
			t.Fatalf("the answer is no JSON, for profileFromRow misses a list: %v in %s", err, text)
		}
	}
	for name, value := range answers[0] {
		if !reflect.DeepEqual(value, answers[1][name]) {
			names = append(names, name)
		}
	}
	return names
}

// schemaNames are the members of a schema of the committed document.
func schemaNames(t *testing.T, schema string) []string {
	t.Helper()
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal([]byte(readText(t, "../docs/openapi.json")), &document); err != nil {
		t.Fatal(err)
	}
	return slices.Collect(maps.Keys(document.Components.Schemas[schema].Properties))
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSettings: each setting of the table is in every list that has one entry a setting, and each list has no other.
func TestSettings(t *testing.T) {
	t.Parallel()
	_, form, _ := strings.Cut(readText(t, "../web/static/profiles/form/values.js"), "\nexport function toBody(")
	form, _, _ = strings.Cut(form, "\n}\n")
	defaults := rowWith(t, "name", `""`)
	var names, columns []string
	effects := runs.Effects()
	for _, s := range settings {
		names = append(names, s.name)
		row := rowWith(t, s.name, settingSamples()[s.name])
		changed := changedColumns(row, defaults)
		if len(changed) != 1 {
			t.Fatalf("%s changes the columns %q, want one", s.name, changed)
		}
		columns = append(columns, changed[0])
		if got := changedMembers(t, row, defaults); !slices.Equal(got, []string{s.name}) {
			t.Errorf("%s changes the members %q of the answer: does profileFromRow miss it?", s.name, got)
		}
		if got := effects[s.name]; got != s.effect {
			t.Errorf("%s: package runs has it with effect %d, the table with %d", s.name, got, s.effect)
		}
		delete(effects, s.name)
		if inForm := regexp.MustCompile(`(?m)^\s+` + s.name + `:`).MatchString(form); !inForm {
			t.Errorf("%s is not in the web form", s.name)
		}
	}
	if len(effects) > 0 {
		t.Errorf("package runs has %v, which are no settings", effects)
	}
	answered := []string{"id", "workspaceId", "templateId", "proxyMissing", "nodeId", "status", "run", "lastRun", "lastStartedAt",
		"diskBytes", "createdAt", "updatedAt", "trashedAt"}
	for list, l := range map[string]struct{ has, want []string }{
		"ProfileInput":                    {jsonNames[ProfileInput](), append([]string{"workspaceId"}, names...)},
		"the document's ProfileInput":     {schemaNames(t, "ProfileInput"), append([]string{"workspaceId"}, names...)},
		"profileJSON":                     {jsonNames[profileJSON](), append(answered, names...)},
		"the document's ProfileJSON":      {schemaNames(t, "ProfileJSON"), append(answered, names...)},
		"the table profiles":              {fieldNames[store.Profile](), append(notSettings(), columns...)},
		"the parameters of AddProfile":    {fieldNames[store.AddProfileParams](), append(addedBeside(), columns...)},
		"the parameters of UpdateProfile": {fieldNames[store.UpdateProfileParams](), append(updatedBeside(), columns...)},
	} {
		if has, want := slices.Sorted(slices.Values(l.has)), slices.Sorted(slices.Values(l.want)); !slices.Equal(has, want) {
			t.Errorf("%s: has %q, want %q", list, has, want)
		}
	}
}

// TestColumnsOfARow: a query that writes a row gets every column of it, and the search keys.
func TestColumnsOfARow(t *testing.T) {
	t.Parallel()
	row := store.Profile{ID: "p", Name: "Shop", Notes: "N", Tags: `["De"]`, Revision: 3, ProxyID: new("x"), LogHosts: true, UpdatedAt: 7}
	add, update := insertOf(row), updateOf(row)
	if add.ID != "p" || *add.ProxyID != "x" || !add.LogHosts || add.UpdatedAt != 7 || add.SearchKey != store.SearchKey("Shop",
		"N") || add.TagsKey != "\nde\n" {
		t.Errorf("AddProfile gets %+v", add)
	}
	if update.Revision != 3 || update.Name != "Shop" || update.TagsKey != add.TagsKey || update.Workspaces != nil {
		t.Errorf("UpdateProfile gets %+v", update)
	}
}

// BenchmarkProfileInput measures what the table costs a create: defaults, checks, merge and the query's parameters.
func BenchmarkProfileInput(b *testing.B) {
	for b.Loop() {
		in := ProfileInput{Name: opt[string]{Set: true, Value: "Shop, Berlin"}, OS: opt[string]{Set: true, Value: "win"}}
		var f faults
		in.check(&f)
		row := newProfile("default")
		in.merge(&row)
		insertOf(row)
	}
}
