//go:build linux

package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
	"warren/testnet"
)

// TestIdentityTable: every context in a browser, and every request to a site, shows the declared identity. It prints the table of contexts
// and properties. WARREN_TABLE=1 covers all identities, over http too, with windows, with a second client, and changed while it runs.
// WARREN_TABLE_OUT names a file for the table.
func TestIdentityTable(t *testing.T) {
	testnet.Long(t)
	if testing.Short() {
		t.Skip("is about what browsers show, not about our goroutines: the race detector's run leaves it out, make test-long has it")
	}
	whole := os.Getenv("WARREN_TABLE") != ""
	found := installed(t)
	used, missed := map[int]bool{}, 0
	var out strings.Builder
	for i, d := range declaredIdentities(found.Major) {
		rounds := []*tableRound{{identity: d, scheme: "https"}}
		if whole {
			rounds = append(rounds, &tableRound{identity: d, scheme: "http"}, &tableRound{identity: d, scheme: "https", headed: true},
				&tableRound{identity: d, scheme: "https", second: true})
		} else if i > 1 {
			continue
		}
		if i == 1 || whole {
			rounds = append(rounds, &tableRound{identity: d, scheme: "https", warm: true})
		}
		if whole && !d.own() {
			rounds = append(rounds, &tableRound{identity: d, scheme: "https", follows: true})
		}
		for _, r := range rounds {
			missed++
			t.Run(r.name(), func(t *testing.T) {
				missed-- // one that -run leaves out stays missed
				began := time.Now()
				r.t, r.browser = t, found
				r.run()
				text := r.judge().print(r, used)
				fmt.Fprintf(&out, "%s, %v\n%s\n", r.name(), time.Since(began).Round(time.Millisecond), text)
				t.Logf("%v\n%s", time.Since(began).Round(time.Millisecond), text)
			})
		}
	}
	if whole {
		t.Run("teeth", func(t *testing.T) { testTeeth(t, found) })
	}
	for i, x := range known() {
		if whole && missed == 0 && !used[i] {
			t.Errorf("no cell differs any more as is known of %s in %s: %s", x.properties, x.contexts, x.why)
		}
	}
	if name := os.Getenv("WARREN_TABLE_OUT"); name != "" {
		if err := os.WriteFile(name, []byte(out.String()), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// testTeeth: the table shows workers without an identity. Dedicated workers inherit their page's.
func testTeeth(t *testing.T, found Installed) {
	r := &tableRound{t: t, browser: found, identity: declaredIdentities(found.Major)[1], scheme: "https"}
	r.spoil = func(b *Browser) {
		b.overridesFor = func(target TargetInfo) []override {
			if strings.Contains(target.Type, "worker") {
				return nil
			}
			return b.emulation.targetOverrides(target)
		}
	}
	r.run()
	for _, row := range r.judge().rows {
		for _, x := range row {
			if (x.property == "low" || x.property == "high") && matches("worker-shared worker-service extension-worker", x.context.name) &&
				x.want == "" {
				t.Errorf("%s was not told who it is, and its %s is %s", x.context.name, x.property, x.got)
			}
		}
	}
}

// tableProperties returns the columns of the table.
func tableProperties() []string {
	all := []string{"ua", "platform", "low", "high", "language", "languages", "cores", "locale", "zone", "dates", "position", "screen",
		"sizes", "dpr", "webrtc"}
	for _, kind := range requestKinds() {
		all = append(all, kind+":ua", kind+":ch", kind+":al")
	}
	return all
}

// cell is one cell of the table. A lack is why it is empty.
type cell struct {
	context   tableContext
	property  string
	want, got string // want is "" if got is right
	lack      string
}

type table struct{ rows [][]cell }

// judge makes the table of the site's sightings.
func (r *tableRound) judge() table {
	r.t.Helper()
	r.site.mu.Lock()
	defer r.site.mu.Unlock()
	page := r.site.seen["page"]
	if page == nil || page.Told == nil {
		r.t.Fatal("the page itself did not tell anything")
	}
	w := wants(r.t, r.identity, r.browser, page)
	w.namespace = r.b.Isolation().Network == InNamespace
	if text, err := json.Marshal(page.Told); err == nil {
		r.t.Logf("the page: %s", text)
	}
	var all table
	for _, c := range tableContexts() {
		var row []cell
		seen := r.site.seen[c.name]
		for _, p := range tableProperties() {
			x := cell{context: c, property: p, lack: c.lacks(p, r.scheme)}
			if r.absent[c.name] != "" {
				x.lack = r.absent[c.name]
			}
			switch kind, of, isHead := strings.Cut(p, ":"); {
			case x.lack != "":
			case seen == nil:
				x.want, x.got = "to be seen", "was not"
			case isHead:
				x.want, x.got = w.head(c, r.scheme, kind, of, seen.Heads[kind])
			default:
				x.want, x.got = w.value(c, p, seen.Told)
			}
			row = append(row, x)
		}
		all.rows = append(all.rows, row)
	}
	return all
}

// print writes the table, and fails the test for cells that differ and are not known to. used gets the known ones.
func (all table) print(r *tableRound, used map[int]bool) string {
	r.t.Helper()
	var rows, list strings.Builder
	for i, p := range tableProperties() {
		fmt.Fprintf(&rows, "%s%s\n", strings.Repeat("│", i), "┌ "+p)
	}
	cells, differ, unknown := 0, 0, 0
	alike := map[string][]string{} // cells that differ in the same way
	for _, row := range all.rows {
		for _, x := range row {
			switch why := r.excuse(x, used); {
			case x.lack != "":
				rows.WriteByte('-')
				continue
			case x.want == "":
				rows.WriteByte('.')
			default:
				differ++
				rows.WriteByte('x')
				if why == "" {
					unknown++
					why = "NOT KNOWN"
				}
				how := fmt.Sprintf("want %s\n got %s\n (%s)", x.want, x.got, why)
				alike[how] = append(alike[how], x.context.name+" "+x.property)
			}
			cells++
		}
		fmt.Fprintf(&rows, " %s", row[0].context.name)
		if why := r.absent[row[0].context.name]; why != "" {
			rows.WriteString(": " + why)
		}
		rows.WriteByte('\n')
	}
	for _, how := range slices.Sorted(maps.Keys(alike)) {
		fmt.Fprintf(&list, "%s\n %d: %s\n", how, len(alike[how]), strings.Join(alike[how], ", "))
	}
	if unknown > 0 {
		r.t.Errorf("%d cells differ that are not known to", unknown)
	}
	return fmt.Sprintf("%s%s%d contexts, %d cells, %d differ, %d of them known\n", rows.String(), list.String(),
		len(all.rows)-len(r.absent), cells, differ, differ-unknown)
}

// excuse returns why a cell may differ, "" if it may not.
func (r *tableRound) excuse(x cell, used map[int]bool) string {
	if x.want == "" || x.lack != "" {
		return ""
	}
	for i, k := range known() {
		if matches(k.properties, x.property) && matches(k.contexts, x.context.name) && k.when(r) {
			used[i] = true
			return k.why
		}
	}
	return ""
}

// matches reports whether one of the patterns fits.
func matches(patterns, name string) bool {
	for pattern := range strings.FieldsSeq(patterns) {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}
