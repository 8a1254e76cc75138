package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// internalQueries use tables of workspaces without the key's workspaces, each with its reason. No other may.
var internalQueries = map[string]string{
	"InsertProfile":           "the row names its workspace, which the caller has checked against the key",
	"AddProfile":              "the row names its workspace, which the caller has checked against the key",
	"InsertProfiles":          "the rows are of a workspace that the caller has checked against the key",
	"InsertProxy":             "the row names its workspace, which the caller has checked against the key",
	"InsertProxies":           "the rows are of a workspace that the caller has checked against the key",
	"InsertTemplate":          "the row names its workspace, which the caller has checked against the key",
	"InsertSchedule":          "the row names its workspace, which the caller has checked against the key",
	"ListSchedulesDue":        "what is due, of every workspace; each acts in its own",
	"ListSchedulesAhead":      "what is due, of every workspace; each acts in its own",
	"NextScheduled":           "what is due, of every workspace; it is only a time",
	"PlanSchedule":            "written by the loop that runs schedules, of every workspace",
	"SetScheduleRun":          "written by the loop that runs schedules, of every workspace",
	"InterruptSchedules":      "the boot, of every workspace",
	"InsertWebhook":           "the row names its workspace, which the caller has checked against the key",
	"ListAllWebhooks":         "the sender of webhooks, of every workspace; each is told of its own",
	"WebhooksState":           "the sender of webhooks, of every workspace; it is only numbers and an id",
	"ListWebhooksDue":         "what is due, of every workspace; each goes to its own webhook",
	"SetWebhookFailing":       "written by the sender of webhooks, of every workspace",
	"TurnWebhookOff":          "written by the sender of webhooks, of every workspace",
	"CountDropped":            "written by the sender of webhooks, of every workspace",
	"InsertDeliveries":        "written by the sender of webhooks, of every workspace",
	"ListDeliveriesDue":       "what is due, of every workspace; each goes to its own webhook",
	"NextDelivery":            "what is due, of every workspace; it is only a time",
	"ReplanDeliveries":        "written by the sender of webhooks, of every workspace",
	"RecordDelivery":          "written by the sender of webhooks, of every workspace",
	"FailPending":             "written by the sender of webhooks, of every workspace",
	"InsertTestDelivery":      "of a webhook that was read under the key's workspaces",
	"GetDelivery":             "of a webhook that was read under the key's workspaces",
	"ListDeliveries":          "of a webhook that was read under the key's workspaces",
	"CountDeliveries":         "of a webhook that was read under the key's workspaces",
	"ReplayDelivery":          "of a webhook that was read under the key's workspaces",
	"CountPending":            "the limit of what is pending, of every workspace",
	"ListOldestPending":       "the limit of what is pending, of every workspace",
	"ListOldestFinished":      "the sweep, of every workspace",
	"DeleteDeliveries":        "the sweep, of every workspace",
	"ListProfilesToStart":     "the boot, of every workspace; each starts in its own",
	"GetDefaults":             "of a workspace that the caller has checked against the key, or of a row that the key sees",
	"InsertWorkspace":         "for keys of the scope admin",
	"EnsureWorkspace":         "for keys of all workspaces",
	"SetProfileStatus":        "written by the owner of a run, which was started under the key's workspaces",
	"ListTrashedBefore":       "the purge, of every workspace",
	"PurgeProfile":            "the purge, of every workspace",
	"ListProfilesNotStopped":  "the boot, of every workspace",
	"ResetStatus":             "the boot, of every workspace",
	"SetProxyCheck":           "the result of a check, whose proxy was read under the key's workspaces",
	"InsertProxyCheck":        "the result of a check, whose proxy was read under the key's workspaces",
	"GetProxyChecked":         "for a check, whose proxy was read under the key's workspaces",
	"ListProfilesAtExit":      "for a check, whose proxy was read under the key's workspaces; it is of that workspace",
	"ListWorkspaceIDs":        "checks over time, of every workspace",
	"SetPicked":               "by a start, whose proxy was read under the key's workspaces",
	"GetPick":                 "by a start, whose profile was read under the key's workspaces",
	"ListIndexedProfiles":     "the index of lists, of every workspace; a query of it takes the key's workspaces",
	"GetIndexedProfiles":      "the index of lists, of every workspace; a query of it takes the key's workspaces",
	"ListIndexedProxies":      "the index of lists, of every workspace; a query of it takes the key's workspaces",
	"GetIndexedProxies":       "the index of lists, of every workspace; a query of it takes the key's workspaces",
	"ListProxyStates":         "the index of lists, of every workspace; a query of it takes the key's workspaces",
	"KeepPick":                "by a start, whose profile and proxy were read under the key's workspaces",
	"ListProxiesDue":          "checks over time, of every workspace",
	"ListProxiesCheckedAhead": "checks over time, of every workspace",
	"GetLastGoodProxyCheck":   "for a check, whose proxy was read under the key's workspaces",
	"DeleteProxyChecks":       "after UpdateProxy, which has the key's workspaces",
	"InsertRun":               "written by the owner of a run, whose profile was read under the key's workspaces",
	"SetRunRecord":            "written by the owner of a run",
	"EndRun":                  "written by the owner of a run",
	"TrimRunsOfProfile":       "written by the owner of a run",
	"ListOpenRuns":            "the boot, of every workspace",
	"UpsertTraffic":           "written by the owner of a run, with the run's workspace",
	"PurgeTraffic":            "the purge, of every workspace",
	"InsertRunHosts":          "written by the owner of a run",
	"GetRunHosts":             "of a run that was read under the key's workspaces",
	"ListPlainRotateURLs":     "once, after an upgrade, of every workspace",
	"ForgetDeleted":           "the purge, of every workspace",
	"SealRotateURLOfProxy":    "once, after an upgrade, of every workspace",
	"SetHead":                 "written by the holder of a profile, which was read under the key's workspaces",
	"DropHead":                "written after a snapshot was deleted under the key's workspaces",
	"ListMissingHeads":        "the check of all snapshots, of every workspace",
	"CountKept":               "a backup, of every workspace",
	"ClearSnapshotDue":        "written by the holder of a profile, which was read under the key's workspaces",
	"ListSnapshotsDue":        "snapshots after stops, of every workspace",
	"ListTemporaryEnded":      "the deletion of temporary profiles, of every workspace",
	"GetPackSecret":           "for the snapshots of a profile, which was read under the key's workspaces",
	"SetPackSecret":           "for the snapshots of a profile, which was read under the key's workspaces",
	"InsertSnapshot":          "written by the holder of a profile, which was read under the key's workspaces",
	"ListSnapshotIDs":         "the collection, of every workspace",
	"ListSnapshotsAfter":      "the check of all snapshots, of every workspace",
	"ListUnplacedSnapshots":   "the boot, of every workspace",
	"InsertExtension":         "the row names its workspace, which the caller has checked against the key",
	"ListExtensionsOfProfile": "for a profile, which was read under the key's workspaces; they are of its workspace",
	"ListPackages":            "the sweep at the boot, of every workspace",
	"PlaceProfile":            "by a start, whose profile was read under the key's workspaces",
	"PlaceProfiles":           "the boot, of every workspace",
	"CountProfilesOfNode":     "for keys of the scope admin and of all workspaces",
	"CountBusyProfiles":       "the choice of a server, of every workspace; it is only numbers",
	"CountRunningBeside":      "by a start, whose profile was read under the key's workspaces; it is only a number",
	"CountRunningElsewhere":   "for workspaces that were read under the key's workspaces; it is only numbers",
	"HasProfilesElsewhere":    "the check of all packages, of every workspace; it is only yes or no",
	"UnplaceProfiles":         "for keys of the scope admin and of all workspaces",
	"DeleteSnapshotsOfNode":   "for keys of the scope admin and of all workspaces",
	"SettleProfilesOfNode":    "for keys of the scope admin and of all workspaces",
	"ListOpenRunsOfNode":      "for keys of the scope admin and of all workspaces",
	"ListOpenRunsOfProfiles":  "of profiles that were read under the key's workspaces",
	"HasPackage":              "after DeleteExtension, which has the key's workspaces",

	"ListProxiesOfRunsElsewhere": "by a start, whose profile was read under the key's workspaces; it is of that workspace",
}

var (
	tenantTables = regexp.MustCompile(`(?i)\b(FROM|JOIN|INTO|UPDATE)\s+(profiles|proxies|proxy_checks|runs|run_hosts|traffic|picks|` +
		`snapshots|extensions|templates|schedules|webhooks|webhook_deliveries|workspaces|deleted)\b`)
	queryHead = regexp.MustCompile(`(?m)^-- name: (\w+) :\w+$`)
	// The condition must stand at the top level: after WHERE, or after AND at the beginning of a line.
	tenancy = regexp.MustCompile(`(?m)^(?:  AND |WHERE )\(CAST\(sqlc\.narg\(workspaces\) AS TEXT\) IS NULL OR ` +
		`(?:proxies\.|workspaces\.|runs\.)?(?:workspace_id|id) IN \(SELECT value FROM json_each\(sqlc\.narg\(workspaces\)\)\)\)`)
)

// untenanted returns the queries of a text that use a tenant's table without the key's workspaces.
func untenanted(text string) []string {
	var out []string
	heads := queryHead.FindAllStringSubmatchIndex(text, -1)
	for i, head := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		body := comments.ReplaceAllString(text[head[1]:end], "")
		if tenantTables.MatchString(body) && !tenancy.MatchString(body) {
			out = append(out, text[head[2]:head[3]])
		}
	}
	return out
}

func TestEveryQueryTakesTheKeysWorkspaces(t *testing.T) {
	files, err := filepath.Glob("../queries/*.sql")
	if err != nil || len(files) < 8 {
		t.Fatalf("queries: %v, %v", files, err)
	}
	found := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range untenanted(string(text)) {
			found[name] = true
			if internalQueries[name] == "" {
				t.Errorf("%s: %s does not take the key's workspaces; if no caller of the API reaches it, name it in internalQueries "+
					"with the reason", file, name)
			}
		}
	}
	for name := range internalQueries {
		if !found[name] {
			t.Errorf("internalQueries names %s, which needs no exception", name)
		}
	}
	for _, leaky := range []string{
		"-- name: A :one\nSELECT * FROM profiles WHERE id = @id;",
		"-- name: A :exec\nDELETE FROM proxies\nWHERE id = @id;",
		"-- name: A :one\nSELECT * FROM runs\nWHERE id = @id\n  OR (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR workspace_id IN " +
			"(SELECT value FROM json_each(sqlc.narg(workspaces))));",
		"-- name: A :one\nSELECT * FROM profiles\nWHERE id = @id\n  AND (CAST(sqlc.narg(workspaces) AS TEXT) IS NULL OR " +
			"workspace_id <> '');",
	} {
		if untenanted(leaky) == nil {
			t.Errorf("not seen: %s", leaky)
		}
	}
}

// TestForeignKeySeesNothing calls every generated query that takes workspaces, on existing rows. With the right
// workspaces it must find them. With others it must find and change nothing.
func TestForeignKeySeesNothing(t *testing.T) {
	s := openTest(t)
	ensure(t, s, "mine", "empty")
	called := 0
	for i := range reflect.TypeFor[*Queries]().NumMethod() {
		method := reflect.TypeFor[*Queries]().Method(i)
		if method.Type.NumIn() != 3 {
			continue
		}
		for _, workspaces := range []struct {
			ids  *string
			seen bool
		}{{nil, true}, {Only([]string{"theirs", "mine", "empty"}).Filter(), true}, {Only([]string{"theirs"}).Filter(), false},
			{Only([]string{}).Filter(), false}, {Only([]string{"MINE", "mine "}).Filter(), false}} {
			var results []reflect.Value // none: the query takes no workspaces
			err := s.Write(context.Background(), func(q *Queries) error {
				argument, ok, err := argumentOf(q, method, workspaces.ids)
				if !ok {
					return cmp.Or(err, errUndo)
				}
				results = reflect.ValueOf(q).MethodByName(method.Name).Call([]reflect.Value{reflect.ValueOf(context.Background()),
					argument})
				if err, _ := results[1].Interface().(error); err != nil && !errors.Is(err, sql.ErrNoRows) {
					return err
				}
				return errUndo
			})
			if !errors.Is(err, errUndo) {
				t.Errorf("%s: %v", method.Name, err)
			}
			if results == nil {
				continue
			}
			called++
			if seen := results[1].IsNil() && !nothing(results[0]); seen != workspaces.seen {
				t.Errorf("%s with workspaces %v: seen %v, want %v (%v)", method.Name, text(workspaces.ids), seen, workspaces.seen, results)
			}
		}
	}
	if called < 5*35 {
		t.Errorf("%d calls, want more: the test has lost its way to the queries", called)
	}
}

func text(s *string) string {
	if s == nil {
		return "all"
	}
	return *s
}

// nothing reports whether a result is an empty list, 0, or a row of zeros.
func nothing(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

// argumentOf creates one row per table and an argument that finds it. ok is false for a query without workspaces.
func argumentOf(q *Queries, method reflect.Method, workspaces *string) (arg reflect.Value, ok bool, err error) {
	in := method.Type.In(2)
	if in == reflect.TypeFor[*string]() {
		_, err := madeWorld(q, method.Name)
		return reflect.ValueOf(workspaces), err == nil, err
	}
	if in.Kind() != reflect.Struct {
		return reflect.Value{}, false, nil
	}
	if field, ok := in.FieldByName("Workspaces"); !ok || method.Name == "InsertKey" || field.Type != reflect.TypeFor[*string]() {
		return reflect.Value{}, false, nil
	}
	world, err := madeWorld(q, method.Name)
	if err != nil {
		return reflect.Value{}, false, err
	}
	arg = reflect.New(in).Elem()
	for name, value := range world {
		if f := arg.FieldByName(name); f.IsValid() && reflect.TypeOf(value).AssignableTo(f.Type()) {
			f.Set(reflect.ValueOf(value))
		}
	}
	arg.FieldByName("Workspaces").Set(reflect.ValueOf(workspaces))
	return arg, true, nil
}

// madeWorld returns the members of every parameter struct by name, with the exceptions of single queries.
func madeWorld(q *Queries, query string) (map[string]any, error) {
	ctx := context.Background()
	proxy, profile := aProxy("mine", "host"), aProfile("mine", "p")
	if query == "ListProfilesWithExtension" {
		profile.Extensions = `[{"id":"extension","enabled":true}]`
	}
	if query == "DeleteProxy" || query == "ListUnusedProxies" {
		proxy.Host = "unused"
	} else {
		profile.ProxyID, profile.FallbackProxyIDs = &proxy.ID, *jsonText([]string{proxy.ID})
	}
	_, err1 := q.InsertProxy(ctx, proxy)
	_, err2 := q.InsertProfile(ctx, profile)
	_, placed := q.PlaceProfile(ctx, PlaceProfileParams{ID: profile.ID, NodeID: "node"})
	err3 := errors.Join(placed, q.InsertRun(ctx, InsertRunParams{ID: "run", ProfileID: profile.ID, StartedAt: 1, Record: "{}"}))
	_, err4 := q.InsertProxyCheck(ctx, InsertProxyCheckParams{ProxyID: proxy.ID, Ok: 1, Result: "{}"})
	_, err5 := q.InsertKey(ctx, InsertKeyParams{ID: "key", Name: "k", Hash: make([]byte, 32), Scopes: "[]",
		Workspaces: Only([]string{"mine"}).Filter(), CreatedAt: 1})
	err6 := q.AppendAudit(ctx, AppendAuditParams{Seq: 1, ID: "audit", WorkspaceID: "mine", Detail: "{}", Hash: []byte{}})
	err4 = errors.Join(err4, err5, err6)
	err4 = errors.Join(err4, q.UpsertTraffic(ctx, UpsertTrafficParams{RunID: "run", ProxyID: proxy.ID, Day: 7, ProfileID: profile.ID,
		WorkspaceID: "mine", BytesUp: 1}))
	err4 = errors.Join(err4, q.InsertSnapshot(ctx, InsertSnapshotParams{ID: "snapshot", ProfileID: profile.ID, WorkspaceID: "mine",
		Reason: "stop", CreatedAt: 1}))
	_, err7 := q.InsertTemplate(ctx, InsertTemplateParams{ID: "template", WorkspaceID: "mine", Name: "p", SearchKey: "p", Settings: "{}"})
	_, err8 := q.InsertSchedule(ctx, InsertScheduleParams{ID: "schedule", WorkspaceID: "mine", Name: "p", SearchKey: "p", Action: "stop",
		EveryMs: new(int64(1000)), Tag: new("t")})
	err4 = errors.Join(err4, err7, err8, addWebhook(q, "mine", "webhook"))
	err4 = errors.Join(err4, q.InsertExtension(ctx, anExtension("mine", "extension")))
	if query == "RestoreProfile" {
		_, err := q.TrashProfile(ctx, TrashProfileParams{ID: profile.ID, TrashedAt: 1})
		err4 = errors.Join(err4, err)
	}
	if query == "WasDeleted" {
		_, err := q.EndRun(ctx, EndRunParams{ID: "run", EndedAt: 2, Outcome: "stopped", Record: "{}"})
		_, trimmed := q.TrimRunsOfProfile(ctx, TrimRunsOfProfileParams{ProfileID: profile.ID})
		err4 = errors.Join(err4, err, trimmed)
	}
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	id, last := profile.ID, beforeAll()
	switch {
	case query == "DeleteEmptyWorkspace":
		id = "empty"
	case strings.Contains(query, "Workspace"):
		id = "mine"
	case strings.Contains(query, "Proxy") && query != "ListProfilesOfProxy" && query != "ListProfilesWithFallback":
		id = proxy.ID
	case query == "GetAudit", query == "GetOldAudit":
		id = "audit"
	case query == "GetRun", query == "WasDeleted":
		id = "run"
	case strings.HasSuffix(query, "Extension") && query != "ListProfilesWithExtension":
		id = "extension"
	}
	for _, object := range []string{"Snapshot", "Key", "Template", "Schedule", "Webhook"} {
		if strings.HasSuffix(query, object) {
			id = strings.ToLower(object)
		}
	}
	world := map[string]any{"ID": id, "ProfileID": profile.ID, "ProxyID": proxy.ID, "WorkspaceID": "mine", "Kind": "run",
		"Ids": *jsonText([]string{profile.ID, proxy.ID, "audit"}), "Status": "running", "Revision": int64(1), "Limit": int64(10),
		"FromDay": int64(7), "ToDay": int64(7), "Name": "p", "OS": "linux", "BrowserVersion": "1", "Tags": "[]", "SearchKey": "p",
		"StartURLs": "[]", "Timezone": "auto", "Locale": "auto", "Geolocation": "auto", "WebRTC": "off", "BackgroundTraffic": "refuse",
		"AllowLocal": "[]", "Consistency": "warn", "FallbackProxyIDs": "[]", "FallbackCountry": "same", "AllowHosts": "[]",
		"Addresses": fmt.Sprintf(`[["%s","%s",%d,"%s"]]`, proxy.Type, proxy.Host, proxy.Port, proxy.Username), "DenyHosts": "[]",
		"Defaults": "{}", "Settings": "{}", "Args": "[]", "Passkeys": "off", "Action": "stop", "EveryMs": new(int64(1000)), "Tag": new("t"),
		"LocalhostVia": "[]", "Extensions": "[]", "Extension": "extension", "Sha256": strings.Repeat("0", 64),
		"First": profile.ID, "Last": profile.ID, "Except": "[]",
		"Type": proxy.Type, "Host": proxy.Host, "Port": proxy.Port, "Username": proxy.Username}
	world["URL"], world["Secret"], world["Events"] = []byte("u"), []byte("s"), "[]"
	world["Numbers"], world["Seq"] = "[1]", int64(1)
	world["AfterKey"], world["AfterID"] = last.Number, last.ID
	return world, nil
}

// addWebhook makes a webhook.
func addWebhook(q *Queries, workspace, id string) error {
	return ErrorOf(q.InsertWebhook(context.Background(), InsertWebhookParams{ID: id, WorkspaceID: &workspace, URL: []byte("u"),
		Secret: []byte("s"), Events: "[]"}))
}
