package store

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plainScans are the queries that may scan a table or sort, each with its reason.
var plainScans = map[string]string{
	"countKeys":             "keys are few",
	"countUsableKeys":       "keys are few",
	"hasOwnKeys":            "keys are few",
	"trimSessions":          "sorts the session keys of one key, 100 at most",
	"countWorkspaces":       "workspaces are few",
	"countTemplates":        "templates are few",
	"countInWorkspace":      "keys are few",
	"countSchedules":        "schedules are few",
	"countWebhooks":         "webhooks are few",
	"listAllWebhooks":       "webhooks are few",
	"webhooksState":         "webhooks are few",
	"listWebhooksDue":       "webhooks are few",
	"listNodes":             "nodes are few",
	"countBusyProfiles":     "counts the profiles that run or have failed, which are few",
	"countRunningElsewhere": "counts the profiles that run or have failed, which are few",
	"listOpenRunsOfNode":    "sorts the runs of a server that is removed",
	"interruptSchedules":    "schedules are few, and it is done once, at the boot",
	"countKept":             "a backup reads everything anyway",
	"listMissingHeads":      "the check reads everything anyway",
	"listWorkspaceIDs":      "workspaces are few",
	"totals":                "adds up the counters of the workspaces, which are few",

	"deleteUnfinishedIdempotency": "once, at boot",
	"listIdempotencyOfOldForm":    "once, after an upgrade",

	"listProxiesToCheck": "a check of all reads all; what it does with them takes a thousand times longer",
}

var generatedQuery = regexp.MustCompile("(?s)const (\\w+) = `(.*?)`")

// plan returns SQLite's query plan.
func plan(t *testing.T, s *Store, query string) string {
	t.Helper()
	args := make([]any, strings.Count(query, "?")) // at least as many as there are parameters
	highest := 0
	for _, number := range regexp.MustCompile(`\?(\d+)`).FindAllStringSubmatch(query, -1) {
		var n int
		if _, err := fmt.Sscan(number[1], &n); err != nil {
			t.Fatal(err)
		}
		highest = max(highest, n)
	}
	rows, err := sqliteOf(t, s).readers.Query("EXPLAIN QUERY PLAN "+query, args[:highest]...)
	if err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "; ")
}

// queriesByName reads the generated code, so that no query is missed.
func queriesByName(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.sql.go")
	if err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range generatedQuery.FindAllStringSubmatch(string(text), -1) {
			queries[m[1]] = m[2]
		}
	}
	if len(queries) < 70 {
		t.Fatalf("%d queries in %v", len(queries), files)
	}
	return queries
}

var badStep = regexp.MustCompile(`SCAN (profiles|proxies|proxy_checks|runs|keys|workspaces|templates|schedules|idempotency|snapshots|` +
	`webhooks|webhook_deliveries|packs|snapshot_packs|nodes)(?: USING (?:COVERING )?INDEX (\w+))?|USE TEMP B-TREE`)

// walksItsPartialIndex are the queries that may walk a whole index, because it holds few rows.
var walksItsPartialIndex = map[string]string{
	"listOpenRuns": "runs_open", "listOpenRunsVisible": "runs_open", "countOpenRunsVisible": "runs_open",
	"listOpenRunsElsewhere": "runs_open", "listProxiesOfRunsElsewhere": "runs_open",
	"listProfilesNotStopped": "profiles_not_stopped", "listSnapshotsDue": "profiles_snapshot_due",
	"listProfilesToStart": "profiles_with_server", "countRunningBeside": "profiles_not_stopped",
}

func TestNoQueryScansOrSorts(t *testing.T) {
	s := openTest(t)
	for name, query := range queriesByName(t) {
		steps := plan(t, s, query)
		bad := badStep.FindStringSubmatch(steps)
		switch {
		case bad == nil && plainScans[name] != "":
			t.Errorf("%s needs no exception: %s", name, steps)
		case bad != nil && plainScans[name] == "" && (bad[2] == "" || walksItsPartialIndex[name] != bad[2]):
			t.Errorf("%s: %s", name, steps)
		}
	}
}

// Queries that clients wait for use the index that is made for them.
func TestQueriesUseTheirIndex(t *testing.T) {
	s := openTest(t)
	queries := queriesByName(t)
	for name, want := range map[string]string{
		"listNewestProfiles": "SEARCH profiles USING INDEX profiles_of_workspace_created (workspace_id=? AND trashed=? AND " +
			"(created_at,id)<(?,?))",
		"listIndexedProfiles":    "SEARCH profiles USING INDEX sqlite_autoindex_profiles_1 (id>?)",
		"getIndexedProfiles":     "SEARCH profiles USING INDEX sqlite_autoindex_profiles_1 (id=?)",
		"listIndexedProxies":     "SEARCH proxies USING INDEX sqlite_autoindex_proxies_1 (id>?)",
		"listProfilesNotStopped": "SCAN profiles USING INDEX profiles_not_stopped",
		"listProfilesOfProxy":    "SEARCH profiles USING INDEX profiles_of_proxy (proxy_id=?)",
		"listRunsOfProfile":      "SEARCH runs USING INDEX runs_of_profile (profile_id=? AND (started_at,id)<(?,?))",
		"getLastGoodProxyCheck":  "SEARCH proxy_checks USING INDEX proxy_checks_of_proxy (proxy_id=?)",
		"getKeyByHash":           "SEARCH keys USING INDEX sqlite_autoindex_keys_2 (hash=?)",
	} {
		if got := plan(t, s, queries[name]); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
