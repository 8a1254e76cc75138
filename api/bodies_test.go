package api

import (
	"fmt"
	"strings"
	"testing"
)

// TestOddNames: a member name with a dot or bracket does not lengthen the paths of the faults behind it. Otherwise 100,000 of them
// would take tens of gigabytes.
func TestOddNames(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	body := `{"aa.":0,"bb.":0,"cc[":0,"dd[]":0,"` + strings.Repeat("e", 500) + `":0,"f.f":{"g.":0},"plain":0}`
	want := []string{"body.aa_", "body.bb_", "body.cc_", "body.dd_]", "body." + strings.Repeat("e", 115) + "…", "body.f_f", "body.path",
		"body.plain"}
	a.do(t, "POST", "/tickets", body).invalid(t, want...)
	a.do(t, "POST", "/proxies/import", `{"proxies":[{"aa.":0,"bb.":0,"host":"h.test","port":1}]}`).want(t, 200)
	line := a.do(t, "POST", "/proxies/import", `{"proxies":[{"aa.":0,"bb.":0,"cc.":0,"host":"h.test","port":1}]}`).want(t,
		200).text("results.0.reason")
	for _, name := range []string{"aa_", "bb_", "cc_"} {
		if !strings.Contains(line, name+": Unknown member.") || strings.Contains(line, "aa.") {
			t.Errorf("a line of an import tells %q", line)
		}
	}
}

// TestManyValues: a body with more values than any list needs is refused before it is checked.
func TestManyValues(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	many := strings.Repeat("0,", maxValues) + "0"
	for path, body := range map[string]string{
		"/profiles/batch":        `{"action":"start","ids":[` + many + `]}`,
		"/profiles/batch-create": `{"count":1,"name":"x","proxies":[` + many + `]}`,
		"/proxies/check-all":     `{"ids":[` + many + `]}`,
		"/profiles":              `{"name":"x","tags":[` + many + `]}`,
	} {
		a.do(t, "POST", path, body).refused(t, 400, "malformed_json").equal(t, "errors.0.message",
			fmt.Sprintf("The body holds more than %d values.", maxValues))
	}
	lines := strings.Repeat(`"",`, importValues) + `""`
	a.do(t, "POST", "/proxies/import", `{"proxies":[`+lines+`]}`).invalid(t, "body")
	a.do(t, "POST", "/proxies/import", `{"proxies":[{"tags":[`+strings.Repeat("0,", proxyValues)+`0]}]}`).want(t, 200).equal(t,
		"results.0.reason", fmt.Sprintf("The body holds more than %d values.", proxyValues))
}
