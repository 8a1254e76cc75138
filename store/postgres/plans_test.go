package postgres

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// plainScans are the queries that may read a whole table, each with its reason. In a SERIALIZABLE transaction they conflict with every
// change of the table.
var plainScans = map[string]string{
	"CountKeys":          "keys are few",
	"CountUsableKeys":    "keys are few",
	"HasOwnKeys":         "keys are few",
	"CountInWorkspace":   "keys are few",
	"CountSchedules":     "schedules are few",
	"CountTemplates":     "templates are few",
	"ListAllWebhooks":    "webhooks are few",
	"WebhooksState":      "webhooks are few",
	"ListNodes":          "nodes are few",
	"Totals":             "workspaces are few",
	"CountKept":          "a backup reads everything anyway",
	"ListMissingHeads":   "the check reads everything anyway",
	"ListProxiesToCheck": "a check of all reads all",
	"InterruptSchedules": "once, at boot",
	"DeleteDealsOfNode":  "once, at boot",

	"DeleteUnfinishedIdempotency": "once, at boot",
}

// TestNoTextScans: the plan of each text finds rows by an index, also where a table is small.
func TestNoTextScans(t *testing.T) {
	t.Parallel()
	db := newDatabase(t, Settings{})
	texts, err := ReadTexts()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	run(t, conn, "SET plan_cache_mode = force_generic_plan") // one for any values
	scan := regexp.MustCompile(`Seq Scan on \w+`)
	for name, text := range texts {
		run(t, conn, "PREPARE \""+name+"\" AS "+withoutComments(text))
		var nulls string
		if n := parameters(text); n > 0 {
			nulls = "(" + strings.TrimSuffix(strings.Repeat("NULL,", n), ",") + ")"
		}
		plan := strings.Join(rows(t, conn, "EXPLAIN (COSTS off) EXECUTE \""+name+"\""+nulls), "\n")
		found := scan.FindString(plan)
		switch {
		case found == "" && plainScans[name] != "":
			t.Errorf("%s needs no exception: %s", name, plan)
		case found != "" && plainScans[name] == "":
			t.Errorf("%s: %s", name, plan)
		}
	}
}

// parameters returns the highest number of a parameter.
func parameters(text string) (highest int) {
	for n := 1; n < 100; n++ {
		if regexp.MustCompile(`\$` + strconv.Itoa(n) + `\b`).MatchString(text) {
			highest = n
		}
	}
	return highest
}
