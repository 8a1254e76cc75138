package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// operations reads the operations of docs/openapi.json: the method and the address by the id, and the names of the query.
func operations(t *testing.T) (where map[string]string, queries map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	where, queries = map[string]string{}, map[string][]string{}
	for address, methods := range doc.Paths {
		for method, value := range methods {
			o, ok := value.(map[string]any)
			if !ok {
				continue
			}
			id := o["operationId"].(string)
			where[id] = strings.ToUpper(method) + " " + address
			parameters, _ := o["parameters"].([]any)
			for _, p := range parameters {
				queries[id] = append(queries[id], p.(map[string]any)["name"].(string))
			}
		}
	}
	return where, queries
}

// TestEveryOperation: each operation of the API has a command, or a written reason why not. What a command calls exists, with its address
// and its parameters, and the arguments are those of the address.
func TestEveryOperation(t *testing.T) {
	t.Parallel()
	where, queries := operations(t)
	if len(where) < 110 {
		t.Fatalf("%d operations: does this test still see them?", len(where))
	}
	for _, fault := range faults(table(), where, queries) {
		t.Error(fault)
	}
	where["newOperation"] = "GET /new"
	if got := faults(table(), where, queries); !slices.Equal(got, []string{"newOperation has no command, and no reason in without"}) {
		t.Errorf("a new operation: %q", got)
	}
	delete(where, "newOperation")
	gone := append(table(), command{name: "x", op: "goneOperation GET /gone"}, command{name: "y", op: "listKeys POST /keys"},
		command{name: "z", op: "listKeys GET /keys", flags: []flag{q("colour", "")}})
	if got := faults(gone, where, queries); len(got) != 3 {
		t.Errorf("commands of what is not there: %q", got)
	}
}

func faults(commands []command, where map[string]string, queries map[string][]string) (out []string) {
	have := map[string]bool{}
	for _, c := range commands {
		id, method, address := c.operation()
		for _, id := range append(strings.Fields(c.also), id) {
			if have[id] = true; id != "" && where[id] == "" {
				out = append(out, c.name+" calls "+id+", which the API does not have")
			}
		}
		if id == "" || where[id] == "" {
			continue
		}
		// A change may go as PATCH where the document has PUT too.
		if want := where[id]; want != method+" "+address {
			out = append(out, c.name+" calls "+method+" "+address+", and "+id+" is "+want)
		}
		for _, f := range c.flags {
			if f.where == query && !slices.Contains(queries[id], f.member) {
				out = append(out, c.name+": "+id+" has no parameter "+f.member)
			}
		}
	}
	for id := range where {
		if !have[id] && without[id] == "" {
			out = append(out, id+" has no command, and no reason in without")
		}
		if have[id] && without[id] != "" {
			out = append(out, id+" has a command and a reason why not")
		}
	}
	return out
}

// TestTable: names are unique, no name is a group too, every command has help and an example of itself, and kong takes each.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range table() {
		if seen[c.name] {
			t.Errorf("%s is there twice", c.name)
		}
		seen[c.name] = true
		if _, _, err := c.parser(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if !c.hidden && (!strings.HasPrefix(c.sample, "warren "+c.name) || !strings.HasSuffix(c.help, ".")) {
			t.Errorf("%s: example %q, help %q", c.name, c.sample, c.help)
		}
		if first, _, group := strings.Cut(c.name, " "); group && summaries[first] == "" {
			t.Errorf("group %s has no summary", first)
		}
		for _, f := range c.all() {
			if !strings.HasSuffix(f.help, ".") {
				t.Errorf("%s --%s: help %q", c.name, f.name, f.help)
			}
		}
	}
	for _, c := range table() {
		if first, _, group := strings.Cut(c.name, " "); group && seen[first] {
			t.Errorf("%s is a command and a group", first)
		}
	}
	var listedWords []string
	for _, s := range sections {
		listedWords = append(listedWords, s.words...)
	}
	for name := range seen {
		if first, _, _ := strings.Cut(name, " "); !strings.HasPrefix(first, "__") && !slices.Contains(listedWords, first) {
			t.Errorf("%s is in no section of the help", first)
		}
	}
}

// TestPages: the man pages have every command, and no line of text is a request of troff by accident.
func TestPages(t *testing.T) {
	t.Parallel()
	pages := New(testProgram{}).pages()
	if len(pages) < 90 || !strings.Contains(pages["warren"], "profile list") || !strings.Contains(pages["warren"], "3 refused for safety") {
		t.Errorf("%d pages: %.200s", len(pages), pages["warren"])
	}
	request := regexp.MustCompile(`^\.(TH|SH|TP|B|BR|I|PP|RS|RE)\b`)
	for name, text := range pages {
		for line := range strings.Lines(text) {
			if line[0] == '.' && !request.MatchString(line) || line[0] == '\'' {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}
