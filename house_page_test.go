package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// pageWords are the texts of the page that must know what the server knows.
type pageWords struct {
	audited  string // web/static/settings/audited.js: the actions of the audit log
	entry    string // web/static/settings/entry.js: the codes of what failed
	webhooks string // web/static/settings/webhookform.js: the kinds of events
	document string // docs/openapi.json
	kinds    string // webhooks/patterns.go
}

// TestHousePage: the page has a sentence and a filter for every action of the audit log, tells failures from refusals, and offers every
// kind of event to a webhook.
func TestHousePage(t *testing.T) {
	t.Parallel()
	h, p := theHouse(t), readPageWords(t)
	if n := len(auditedActions(h)); n < 70 {
		t.Fatalf("%d actions of the audit log: does this test still see them?", n)
	}
	keep(t, "page", slices.Concat(p.actions(h), p.failures(t), p.eventKinds()), nil)

	const row = "    ['profile.start', 'Started', 'start', 'started', profile],\n"
	for name, x := range map[string]struct{ source, rows, want string }{
		"sentence": {`package api; var _ = map[string]string{"POST /profiles/{id}/start": "profile.start"}`, row, ""},
		"none": {`package api; var _ = map[string]string{"POST /profiles/{id}/start": "profile.start"}`, "",
			`the page has no sentence for "profile.start"`},
		"by the server": {`package api; var _ = store.ByServer("profile.start", "", "", nil)`, "", `no sentence for "profile.start"`},
		"a handler's":   {`package api; var _ = s.audit(ctx, "profile.start", "", "", nil)`, "", `no sentence for "profile.start"`},
		"of nothing":    {`package api`, row, `"profile.start" is no action`},
		"without words": {`package api; var _ = s.audit(ctx, "profile.start", "", "", nil)`,
			"    ['profile.start', '', 'start', '', profile],\n", `no sentence for "profile.start"`},
	} {
		bite(t, (&pageWords{audited: x.rows}).actions, example{name, map[string]string{"api/audit_actions.go": x.source}, x.want})
	}
}

func readPageWords(t *testing.T) *pageWords {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, name := range []string{"web/static/settings/audited.js", "web/static/settings/entry.js", "web/static/settings/webhookform.js",
		"docs/openapi.json", "webhooks/patterns.go"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return &pageWords{texts[0], texts[1], texts[2], texts[3], texts[4]}
}

// recorded match the places that name an action: the table of operations, entries of handlers, and those of the server itself.
var recorded = map[string]*regexp.Regexp{
	"api/audit_actions.go": regexp.MustCompile(`:\s+"([a-z_]+\.[a-z_]+)"`),
	"api/audited.go":       regexp.MustCompile(`a\.action, a\.detail = "([a-z_]+\.[a-z_]+)"`),
	"api/workspaces.go":    regexp.MustCompile(`\badd\("(workspace\.[a-z_]+)"`),
	"":                     regexp.MustCompile(`(?:\bByServer\(|\.audit\((?:ctx|r\.Context\(\)), )"([a-z_]+\.[a-z_]+)"`),
}

// auditedActions returns every action that the server records, and where.
func auditedActions(h *house) map[string]string {
	found := map[string]string{}
	for _, f := range h.files {
		if f.test {
			continue
		}
		for _, where := range []string{"", f.path} {
			if recorded[where] == nil {
				continue
			}
			for _, m := range recorded[where].FindAllSubmatch(f.text, -1) {
				found[string(m[1])] = f.path
			}
		}
	}
	return found
}

// auditRow matches a row of the page's table: action, words of the filter, verb, what was done, and what it is about.
var auditRow = regexp.MustCompile(`(?m)^    \['([a-z_]+\.[a-z_]+)', '[^']+', '[^']*', '[^']+', \S`)

func (p *pageWords) actions(h *house) (out []complaint) {
	known := map[string]bool{}
	for _, m := range auditRow.FindAllStringSubmatch(p.audited, -1) {
		known[m[1]] = true
	}
	actions := auditedActions(h)
	for _, action := range slices.Sorted(maps.Keys(actions)) {
		if !known[action] {
			out = append(out, complaint{"web", action, fmt.Sprintf("the page has no sentence for %q of %s: add a row to GROUPS in "+
				"web/static/settings/audited.js", action, actions[action])})
		}
	}
	for _, action := range slices.Sorted(maps.Keys(known)) {
		if actions[action] == "" {
			out = append(out, complaint{"web", action, fmt.Sprintf("%q is no action of the audit log: remove it from GROUPS in "+
				"web/static/settings/audited.js", action)})
		}
	}
	return out
}

var quoted = regexp.MustCompile(`['"]([a-z_]+)['"]`)

// failures compares the codes that entry.js calls failures with those whose status is 5xx.
func (p *pageWords) failures(t *testing.T) []complaint {
	t.Helper()
	var document struct {
		Components struct {
			Examples map[string]struct{ Value json.RawMessage }
		}
	}
	if err := json.Unmarshal([]byte(p.document), &document); err != nil {
		t.Fatal(err)
	}
	var want []string
	for code, example := range document.Components.Examples {
		var problem struct{ Status int }
		if json.Unmarshal(example.Value, &problem) == nil && problem.Status >= 500 {
			want = append(want, code)
		}
	}
	list := regexp.MustCompile(`(?m)^const FAILED = \[(.*)\];$`).FindStringSubmatch(p.entry)
	return sameWords("FAILED in web/static/settings/entry.js", list, want)
}

// eventKinds compares the kinds of events that the form offers with those that a webhook may have.
func (p *pageWords) eventKinds() []complaint {
	kinds := regexp.MustCompile(`(?s)func Kinds\(\) \[\]string \{\s*return \[\]string\{(.*?)\}`).FindStringSubmatch(p.kinds)
	var want []string
	for _, m := range quoted.FindAllStringSubmatch(fmt.Sprint(kinds[min(len(kinds), 1):]), -1) {
		want = append(want, m[1])
	}
	list := regexp.MustCompile(`(?m)^export const EVENT_KINDS = \[(.*)\];$`).FindStringSubmatch(p.webhooks)
	return sameWords("EVENT_KINDS in web/static/settings/webhookform.js", list, want)
}

// sameWords compares the quoted words of a list with those that it must have. A word of people has a capital, so it is not one of them.
func sameWords(what string, list, want []string) []complaint {
	var got []string
	for _, m := range quoted.FindAllStringSubmatch(fmt.Sprint(list[min(len(list), 1):]), -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	slices.Sort(want)
	if len(want) == 0 || !slices.Equal(got, want) {
		return []complaint{{"web", what, fmt.Sprintf("%s has %q, the server %q", what, got, want)}}
	}
	return nil
}
