package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// rows runs a query that returns a number of rows, in a write that must succeed.
func rows(t *testing.T, s *Store, fn func(*Queries) (int64, error)) (n int64) {
	t.Helper()
	mustWrite(t, s, func(q *Queries) (err error) { n, err = fn(q); return err })
	return n
}

func TestProfileLife(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "default")
	p := aProfile("default", "first")
	p.Headless, p.IdleTimeoutMs, p.Screen = ptr(true), ptr(int64(5)), ptr(`{"width":1}`)
	made := putProfile(t, s, p)
	if made.Status != "stopped" || made.Revision != 1 || made.LastStartedAt != 0 || made.TrashedAt != nil || made.Trashed ||
		made.ProxyMissing || !*made.Headless {
		t.Errorf("as made: %+v", made)
	}
	update := UpdateProfileParams{ID: p.ID, Revision: 1, Name: "second", OS: "mac", BrowserVersion: "1", Tags: `["x"]`,
		TagsKey: TagsKey([]string{"x"}), SearchKey: SearchKey("second", ""), StartURLs: "[]", Timezone: "auto", Locale: `["de"]`,
		Geolocation: "off", WebRTC: "off", BackgroundTraffic: "allow", AllowLocal: `["localhost:3000"]`, Consistency: "block",
		FallbackProxyIDs: "[]", FallbackCountry: "any", AllowHosts: `["a.example"]`, DenyHosts: "[]", LocalhostVia: "[]", Args: "[]",
		Passkeys: "off",
		LogHosts: true, Temporary: true, Extensions: `[{"id":"e"}]`, Snapshots: ptr("off"), UpdatedAt: 7}
	var updated Profile
	mustWrite(t, s, func(q *Queries) (err error) { updated, err = q.UpdateProfile(ctx, update); return err })
	if updated.Revision != 2 || updated.Name != "second" || updated.UpdatedAt != 7 || !updated.Temporary || *updated.Snapshots != "off" ||
		updated.Extensions != update.Extensions ||
		updated.Headless != nil || updated.CreatedAt != 1 {
		t.Errorf("updated: %+v", updated)
	}
	if err := s.Write(ctx, func(q *Queries) error { _, err := q.UpdateProfile(ctx, update); return err }); !errors.Is(err, ErrNoRow) {
		t.Errorf("update of an old revision: got %v, want ErrNoRow", err)
	}
	status := SetProfileStatusParams{ID: p.ID, Status: "running", LastStartedAt: ptr(int64(9)), DiskBytes: ptr(int64(11))}
	if n := rows(t, s, func(q *Queries) (int64, error) { return q.SetProfileStatus(ctx, status) }); n != 1 {
		t.Errorf("status: %d rows", n)
	}
	rows(t, s, func(q *Queries) (int64, error) {
		return q.SetProfileStatus(ctx, SetProfileStatusParams{ID: p.ID, Status: "failed", LastRun: ptr("{}")})
	})
	got, err := s.Read().GetProfile(ctx, GetProfileParams{ID: p.ID})
	if err != nil || got.Revision != 2 || got.UpdatedAt != 7 || got.LastStartedAt != 9 || got.DiskBytes != 11 ||
		got.Status != "failed" || *got.LastRun != "{}" {
		t.Errorf("after runs: %+v, %v", got, err)
	}
	if list, err := s.Read().ListProfilesNotStopped(ctx); err != nil || len(list) != 1 {
		t.Errorf("not stopped: %d, %v", len(list), err)
	}
	if n := rows(t, s, func(q *Queries) (int64, error) {
		return q.ResetStatus(ctx, ResetStatusParams{FromStatus: "failed", ToStatus: "stopped"})
	}); n != 1 {
		t.Errorf("reset: %d rows", n)
	}
	mustWrite(t, s, func(q *Queries) error {
		_, err := q.TrashProfile(ctx, TrashProfileParams{ID: p.ID, TrashedAt: 100})
		return err
	})
	if _, err := s.Read().GetProfile(ctx, GetProfileParams{ID: p.ID}); !errors.Is(err, ErrNoRow) {
		t.Errorf("in the trash: got %v, want ErrNoRow", err)
	}
	if got, err := s.Read().GetProfileAny(ctx, GetProfileAnyParams{ID: p.ID}); err != nil || !got.Trashed || *got.TrashedAt != 100 {
		t.Errorf("in the trash, asked for: %+v, %v", got, err)
	}
	for before, want := range map[int64]int{100: 0, 101: 1} {
		if list, err := s.Read().ListTrashedBefore(ctx, ListTrashedBeforeParams{Before: before, Limit: 10}); err != nil ||
			len(list) != want {
			t.Errorf("trashed before %d: %d, %v; want %d", before, len(list), err, want)
		}
	}
	mustWrite(t, s, func(q *Queries) error {
		_, err := q.RestoreProfile(ctx, RestoreProfileParams{ID: p.ID})
		return err
	})
	if n := rows(t, s, func(q *Queries) (int64, error) { return q.DeleteProfile(ctx, DeleteProfileParams{ID: p.ID}) }); n != 1 {
		t.Errorf("deleted %d rows", n)
	}
}

func TestProxyThatIsUsed(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a", "b")
	proxy, live, trashed := aProxy("a", "host"), aProfile("a", "live"), aProfile("a", "trashed")
	live.ProxyID, trashed.ProxyID = &proxy.ID, &proxy.ID
	mustWrite(t, s, func(q *Queries) error { _, err := q.InsertProxy(ctx, proxy); return err })
	putProfile(t, s, live)
	putProfile(t, s, trashed)
	mustWrite(t, s, func(q *Queries) error { _, err := q.TrashProfile(ctx, TrashProfileParams{ID: trashed.ID}); return err })

	again := aProxy("a", "host")
	if err := s.Write(ctx, func(q *Queries) error { _, err := q.InsertProxy(ctx, again); return err }); !errors.Is(err, ErrUnique) {
		t.Errorf("the same proxy again: got %v, want ErrUnique", err)
	}
	first, err := s.Read().GetProxyByAddress(ctx, GetProxyByAddressParams{WorkspaceID: "a", Type: "socks5", Host: "host", Port: 1080})
	if err != nil || first.ID != proxy.ID {
		t.Errorf("the first of its address: %v, %v", first.ID, err)
	}
	foreign := aProfile("b", "foreign")
	foreign.ProxyID = &proxy.ID
	if err := s.Write(ctx, func(q *Queries) error { _, err := q.InsertProfile(ctx, foreign); return err }); !errors.Is(err, ErrReference) {
		t.Errorf("a proxy of another workspace: got %v, want ErrReference", err)
	}

	remove := func(q *Queries) (int64, error) { return q.DeleteProxy(ctx, DeleteProxyParams{ID: proxy.ID}) }
	if n := rows(t, s, remove); n != 0 {
		t.Error("a proxy in use was deleted")
	}
	if ids, err := s.Read().ListProfilesOfProxy(ctx, ListProfilesOfProxyParams{ProxyID: proxy.ID, Limit: 10}); err != nil ||
		len(ids) != 1 || ids[0] != live.ID {
		t.Errorf("users of the proxy: %v, %v; want %v", ids, err, live.ID)
	}
	rows(t, s, func(q *Queries) (int64, error) { return q.DeleteProfile(ctx, DeleteProfileParams{ID: live.ID}) })
	if n := rows(t, s, remove); n != 1 {
		t.Error("a proxy that only the trash refers to was not deleted")
	}
	var restored Profile
	mustWrite(t, s, func(q *Queries) (err error) {
		restored, err = q.RestoreProfile(ctx, RestoreProfileParams{ID: trashed.ID})
		return err
	})
	if restored.ProxyID != nil || !restored.ProxyMissing {
		t.Errorf("restored: proxy %v, missing %v; want nil, true", restored.ProxyID, restored.ProxyMissing)
	}
	assertCounters(t, s)
}

func TestProxyChecks(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a")
	p := aProxy("a", "host")
	mustWrite(t, s, func(q *Queries) error { _, err := q.InsertProxy(ctx, p); return err })
	mustWrite(t, s, func(q *Queries) error {
		for i := range 250 {
			if _, err := q.InsertProxyCheck(ctx, InsertProxyCheckParams{ProxyID: p.ID, At: int64(i), Ok: int64(min(i/200, 1)),
				Result: "{}"}); err != nil {
				return err
			}
		}
		return nil
	})
	row, err := s.Read().GetProxy(ctx, GetProxyParams{ID: p.ID})
	if err != nil || row.ChecksTotal != 100 || row.ChecksOk != 50 {
		t.Errorf("checks %d, ok %d, %v; want 100, 50", row.ChecksTotal, row.ChecksOk, err)
	}
	list, err := s.Read().ListProxyChecks(ctx, ListProxyChecksParams{ProxyID: p.ID, Limit: 1000})
	if err != nil || len(list) != 100 || list[0].At != 249 || list[99].At != 150 || !list[0].Ok {
		t.Errorf("history: %d checks, %v", len(list), err)
	}
	if _, err := s.Read().GetLastGoodProxyCheck(ctx, "gone"); !errors.Is(err, ErrNoRow) {
		t.Errorf("the last good check of a proxy that is gone: %v, want no row", err)
	}
	for result, ok := range map[string]int64{`"good"`: 1, `"bad"`: 0} { // in either order
		rows(t, s, func(q *Queries) (int64, error) {
			return q.InsertProxyCheck(ctx, InsertProxyCheckParams{ProxyID: p.ID, At: 250, Ok: ok, Result: result})
		})
	}
	if text, err := s.Read().GetLastGoodProxyCheck(ctx, p.ID); err != nil || text != `"good"` {
		t.Errorf("the last good check is %s, %v", text, err)
	}
	if n := rows(t, s, func(q *Queries) (int64, error) {
		return q.InsertProxyCheck(ctx, InsertProxyCheckParams{ProxyID: "gone", Result: "{}"})
	}); n != 0 {
		t.Error("a check of a proxy that is gone was kept")
	}
	set := SetProxyCheckParams{ID: p.ID, Revision: 1, Status: "alive", LastCheck: "{}"}
	for revision, want := range map[int64]int64{1: 1, 2: 0} { // a check of another revision is for another address
		set.Revision = revision
		if n := rows(t, s, func(q *Queries) (int64, error) { return q.SetProxyCheck(ctx, set) }); n != want {
			t.Errorf("a check of revision %d: %d rows, want %d", revision, n, want)
		}
	}
	rows(t, s, func(q *Queries) (int64, error) { return q.ClearProxyCheck(ctx, ClearProxyCheckParams{ID: p.ID}) })
	rows(t, s, func(q *Queries) (int64, error) { return q.DeleteProxyChecks(ctx, p.ID) })
	row, err = s.Read().GetProxy(ctx, GetProxyParams{ID: p.ID})
	if err != nil || row.Status != "unknown" || row.LastCheck != nil || row.ChecksTotal != 0 {
		t.Errorf("after clearing: %+v, %v", row, err)
	}
}

func TestKeys(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	for i := range 3 {
		mustWrite(t, s, func(q *Queries) error {
			_, err := q.InsertKey(ctx, InsertKeyParams{ID: fmt.Sprint("k", i),
				Hash: []byte(strings.Repeat(fmt.Sprint(i), 32)), Scopes: `["read"]`, Workspaces: Only([]string{"a"}).Filter(),
				ExpiresAt: ptr(int64(100 * i)), CreatedAt: int64(i)})
			return err
		})
	}
	if k, err := s.Read().GetKeyByHash(ctx, []byte(strings.Repeat("1", 32))); err != nil || k.ID != "k1" || *k.Workspaces != `["a"]` {
		t.Errorf("by hash: %+v, %v", k, err)
	}
	for _, touch := range [][2]int64{{5, 1}, {3, 0}, {6, 1}} { // the time never goes back
		if n := rows(t, s, func(q *Queries) (int64, error) {
			return q.TouchKey(ctx, TouchKeyParams{ID: "k2", At: touch[0]})
		}); n != touch[1] {
			t.Errorf("last use at %d: %d rows, want %d", touch[0], n, touch[1])
		}
	}
	for i, want := range []int64{1, 0} {
		if n := rows(t, s, func(q *Queries) (int64, error) {
			return q.RevokeKey(ctx, RevokeKeyParams{ID: "k2", RevokedAt: 9})
		}); n != want {
			t.Errorf("revoked the %d. time: %d rows, want %d", i+1, n, want)
		}
	}
	if n, err := s.Read().CountKeys(ctx, nil); err != nil || n != 3 {
		t.Errorf("keys: %d, %v", n, err)
	}
	if n, err := s.Read().CountUsableKeys(ctx, 50); err != nil || n != 1 { // k0 has expired, k2 is revoked
		t.Errorf("usable keys: %d, %v; want 1", n, err)
	}
	list, err := s.Read().ListKeys(ctx, ListKeysParams{AfterKey: math.MaxInt64, Limit: 2, Offset: 1})
	if err != nil || len(list) != 2 || list[0].ID != "k1" {
		t.Errorf("list: %+v, %v", list, err)
	}
}

// Session keys expire a while after their last use, but not after their parent, and end with it.
func TestSessionKeys(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	put := func(id string, parent *string, expires *int64) {
		mustWrite(t, s, func(q *Queries) error {
			_, err := q.InsertKey(ctx, InsertKeyParams{ID: id, Hash: []byte(fmt.Sprintf("%32s", id)), Scopes: `["read"]`,
				ExpiresAt: expires, CreatedAt: 1, Parent: parent})
			return err
		})
	}
	put("brief", nil, ptr(int64(150)))
	put("s1", ptr("brief"), ptr(int64(2)))
	put("s2", ptr("environment-x"), ptr(int64(2)))
	put("s3", ptr("environment-y"), ptr(int64(2)))
	for id, want := range map[string]int64{"brief": 150, "s1": 150, "s2": 200} {
		rows(t, s, func(q *Queries) (int64, error) { return q.TouchKey(ctx, TouchKeyParams{ID: id, At: 100, Idle: 100}) })
		if k, err := s.Read().GetKey(ctx, GetKeyParams{ID: id}); err != nil || *k.ExpiresAt != want {
			t.Errorf("%s: %+v, %v; want it to expire at %d", id, k, err, want)
		}
	}
	if n := rows(t, s, func(q *Queries) (int64, error) {
		return q.RevokeOtherEnvironments(ctx, RevokeOtherEnvironmentsParams{Mark: "environment-x", RevokedAt: 9})
	}); n != 1 {
		t.Errorf("of another environment: %d rows, want s3", n)
	}
	var ended, trimmed []string
	mustWrite(t, s, func(q *Queries) (err error) {
		ended, err = q.RevokeSessionsOf(ctx, RevokeSessionsOfParams{Parent: "brief", RevokedAt: 9})
		return err
	})
	if !slices.Equal(ended, []string{"s1"}) {
		t.Errorf("with its parent: %v", ended)
	}
	put("s4", ptr("brief"), nil)
	mustWrite(t, s, func(q *Queries) (err error) {
		trimmed, err = q.TrimSessions(ctx, TrimSessionsParams{Parent: "brief", Keep: 1})
		return err
	})
	if !slices.Equal(trimmed, []string{"s1"}) {
		t.Errorf("trimmed: %v, want the one that has ended", trimmed)
	}
	if gone, err := s.Read().WasDeleted(ctx, WasDeletedParams{ID: "s1", Kind: "key"}); err != nil || gone != 1 {
		t.Errorf("a walk behind it: %d, %v", gone, err)
	}
}

func TestWorkspaces(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a", "a", "b")
	if err := s.Write(ctx, func(q *Queries) error {
		_, err := q.InsertWorkspace(ctx, InsertWorkspaceParams{ID: "a"})
		return err
	}); !errors.Is(err, ErrUnique) {
		t.Errorf("the same again: got %v, want ErrUnique", err)
	}
	putProfile(t, s, aProfile("a", "p"))
	mustWrite(t, s, func(q *Queries) error { _, err := q.InsertProxy(ctx, aProxy("b", "host")); return err })
	for id, want := range map[string]int64{"a": 0, "b": 0, "none": 0} {
		if n := rows(t, s, func(q *Queries) (int64, error) {
			return q.DeleteEmptyWorkspace(ctx, DeleteEmptyWorkspaceParams{ID: id})
		}); n != want {
			t.Errorf("%s deleted: %d rows", id, n)
		}
	}
	ensure(t, s, "empty")
	if n := rows(t, s, func(q *Queries) (int64, error) {
		return q.DeleteEmptyWorkspace(ctx, DeleteEmptyWorkspaceParams{ID: "empty"})
	}); n != 1 {
		t.Error("an empty workspace was not deleted")
	}
	for ids, want := range map[string]TotalsRow{"": {Profiles: 1, Proxies: 1}, "a": {Profiles: 1}, "b": {Proxies: 1}, "none": {}} {
		var see *string
		if ids != "" {
			see = Only([]string{ids}).Filter()
		}
		if got, err := s.Read().Totals(ctx, see); err != nil || got != want {
			t.Errorf("totals of %q: %+v, %v; want %+v", ids, got, err, want)
		}
	}
}

func TestRuns(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a")
	p := putProfile(t, s, aProfile("a", "p"))
	for i := range 5 {
		mustWrite(t, s, func(q *Queries) error {
			return q.InsertRun(ctx, InsertRunParams{ID: fmt.Sprint("r", i), ProfileID: p.ID, StartedAt: int64(i), Record: "{}"})
		})
	}
	if err := s.Write(ctx, func(q *Queries) error {
		return q.InsertRun(ctx, InsertRunParams{ID: "r", ProfileID: "none", Record: "{}"})
	}); err == nil {
		t.Error("a run of no profile was accepted")
	}
	end := EndRunParams{ID: "r1", EndedAt: 9, Outcome: "stopped", Record: `{"x":1}`}
	for i, want := range []int64{1, 0} {
		if n := rows(t, s, func(q *Queries) (int64, error) { return q.EndRun(ctx, end) }); n != want {
			t.Errorf("ended the %d. time: %d rows, want %d", i+1, n, want)
		}
	}
	if open, err := s.Read().ListOpenRuns(ctx, ""); err != nil || len(open) != 4 || open[0].ID != "r0" || open[0].WorkspaceID != "a" {
		t.Errorf("open: %+v, %v", open, err)
	}
	list, err := s.Read().ListRunsOfProfile(ctx, ListRunsOfProfileParams{ProfileID: p.ID, AfterKey: 3, AfterID: "r3", Limit: 2})
	if err != nil || len(list) != 2 || list[0].ID != "r2" || list[1].Record != `{"x":1}` {
		t.Errorf("history after r3: %+v, %v", list, err)
	}
	if n := rows(t, s, func(q *Queries) (int64, error) {
		return q.TrimRunsOfProfile(ctx, TrimRunsOfProfileParams{ProfileID: p.ID, Keep: 2})
	}); n != 1 { // r4 and r3 are kept; r2 is removed and r0 is still open
		t.Errorf("trimmed %d, want 1", n)
	}
	rows(t, s, func(q *Queries) (int64, error) { return q.DeleteProfile(ctx, DeleteProfileParams{ID: p.ID}) })
	if n, err := s.Read().CountOpenRunsVisible(ctx, nil); err != nil || n != 0 {
		t.Errorf("runs of a deleted profile: %d, %v; want 0", n, err)
	}
}

func TestIdempotencyAndSettings(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	place := GetIdempotencyParams{KeyID: "k", IdemKey: "i", Target: "POST /profiles"}
	begin := BeginIdempotencyParams{KeyID: "k", IdemKey: "i", Target: "POST /profiles", BodyHash: []byte{1}, CreatedAt: 5}
	for i, want := range []int64{1, 0} {
		if n := rows(t, s, func(q *Queries) (int64, error) { return q.BeginIdempotency(ctx, begin) }); n != want {
			t.Errorf("begun the %d. time: %d rows, want %d", i+1, n, want)
		}
	}
	finish := FinishIdempotencyParams{KeyID: "k", IdemKey: "i", Target: "POST /profiles", Status: 201, Headers: "{}", Answer: []byte{2}}
	foreign := finish
	foreign.NodeID = "another server"
	if n := rows(t, s, func(q *Queries) (int64, error) { return q.FinishIdempotency(ctx, foreign) }); n != 0 {
		t.Errorf("another server has finished %d rows", n)
	}
	for i, want := range []int64{1, 0} {
		if n := rows(t, s, func(q *Queries) (int64, error) { return q.FinishIdempotency(ctx, finish) }); n != want {
			t.Errorf("finished the %d. time: %d rows, want %d", i+1, n, want)
		}
	}
	if got, err := s.Read().GetIdempotency(ctx, place); err != nil || got.Status != 201 || got.Answer[0] != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	begin.IdemKey = "under way"
	rows(t, s, func(q *Queries) (int64, error) { return q.BeginIdempotency(ctx, begin) })
	begin.IdemKey = "made something"
	rows(t, s, func(q *Queries) (int64, error) { return q.BeginIdempotency(ctx, begin) })
	note := NoteIdempotencyParams{KeyID: "k", IdemKey: "made something", Target: "POST /profiles", Object: "p"}
	if n := rows(t, s, func(q *Queries) (int64, error) { return q.NoteIdempotency(ctx, note) }); n != 1 {
		t.Errorf("noted: %d, want 1", n)
	}
	if n := rows(t, s, func(q *Queries) (int64, error) { return q.DeleteUnfinishedIdempotency(ctx, "n") }); n != 1 {
		t.Errorf("unfinished: %d, want 1: what made something stays", n)
	}
	for _, gone := range []DeleteIdempotencyParams{{KeyID: "k", IdemKey: "under way", Target: "POST /profiles"},
		{KeyID: "k", IdemKey: "made something", Target: "POST /profiles"}} {
		if n := rows(t, s, func(q *Queries) (int64, error) { return q.DeleteIdempotency(ctx, gone) }); n != 0 {
			t.Errorf("freed %s: %d, want 0", gone.IdemKey, n)
		}
	}
	for _, purge := range [][2]int64{{5, 0}, {6, 2}} {
		if n := rows(t, s, func(q *Queries) (int64, error) { return q.PurgeIdempotency(ctx, purge[0]) }); n != purge[1] {
			t.Errorf("purged before %d: %d, want %d", purge[0], n, purge[1])
		}
	}
	for _, value := range []string{"one", "two"} {
		mustWrite(t, s, func(q *Queries) error { return q.SetSetting(ctx, SetSettingParams{Name: "n", Value: value}) })
		if got, err := s.Read().GetSetting(ctx, "n"); err != nil || got != value {
			t.Errorf("setting: %q, %v; want %q", got, err, value)
		}
	}
}
