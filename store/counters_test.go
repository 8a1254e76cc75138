package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// assertCounters compares every counter with a count.
func assertCounters(t testing.TB, s *Store) {
	t.Helper()
	if err := compareCounters(databaseOf(s)); err != nil {
		t.Error(err)
	}
}

// compareCounters returns an error that names the first wrong counter.
func compareCounters(db DBTX) error {
	for what, query := range map[string]string{
		"workspaces": `SELECT id, 'profiles ' || profile_count || ' trashed ' || trashed_count || ' proxies ' || proxy_count ||
			' bytes ' || data_bytes,
			'profiles ' || (SELECT count(*) FROM profiles WHERE workspace_id = workspaces.id AND trashed_at IS NULL) ||
			' trashed ' || (SELECT count(*) FROM profiles WHERE workspace_id = workspaces.id AND trashed_at IS NOT NULL) ||
			' proxies ' || (SELECT count(*) FROM proxies WHERE workspace_id = workspaces.id) ||
			' bytes ' || ((SELECT coalesce(sum(disk_bytes), 0) FROM profiles WHERE workspace_id = workspaces.id) +
			(SELECT coalesce(sum(bytes), 0) FROM packs WHERE workspace_id = workspaces.id)) FROM workspaces`,
		"proxies": `SELECT id, 'profiles ' || profile_count || ' checks ' || checks_total || ' ok ' || checks_ok,
			'profiles ' || (SELECT count(*) FROM profiles WHERE proxy_id = proxies.id AND trashed_at IS NULL) ||
			' checks ' || (SELECT count(*) FROM proxy_checks WHERE proxy_id = proxies.id) ||
			' ok ' || (SELECT count(*) FROM proxy_checks WHERE proxy_id = proxies.id AND ok = 1) FROM proxies`,
	} {
		rows, err := db.QueryContext(context.Background(), query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, counter, count string
			if err := rows.Scan(&id, &counter, &count); err != nil {
				return err
			}
			if counter != count {
				return fmt.Errorf("%s %s: the counters say %s, a count says %s", what, id, counter, count)
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
	}
	return nil
}

// walk is a random walk over all operations that change a counter.
type walk struct {
	*rapid.T
	q          *Queries
	workspaces []string
	profiles   []string // ids, also of deleted profiles, which every operation must tolerate
	proxies    map[string][]string
	n          int
	err        error // the first one that no caller can run into
}

func (w *walk) draw(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return rapid.SampledFrom(list).Draw(w.T, "of")
}

// must accepts only the errors that a caller can run into. Another one ends the walk.
func (w *walk) must(err error) error {
	if err = Typed(err); err != nil && !errors.Is(err, ErrReference) && !errors.Is(err, ErrNoRow) {
		w.err = cmp.Or(w.err, err)
	}
	return err
}

// proxyFor returns nil, or a random proxy of the workspace, which may be deleted.
func (w *walk) proxyFor(workspace string) *string {
	if len(w.proxies[workspace]) == 0 || rapid.Bool().Draw(w.T, "direct") {
		return nil
	}
	return ptr(w.draw(w.proxies[workspace]))
}

func (w *walk) insertProfile() error {
	w.n++
	p := aProfile(w.draw(w.workspaces), fmt.Sprint("profile ", w.n))
	p.ProxyID = w.proxyFor(p.WorkspaceID)
	_, err := w.q.InsertProfile(context.Background(), p)
	if w.must(err) == nil {
		w.profiles = append(w.profiles, p.ID)
	}
	return err
}

func (w *walk) insertProxy() error {
	w.n++
	p := aProxy(w.draw(w.workspaces), fmt.Sprint("host", w.n))
	_, err := w.q.InsertProxy(context.Background(), p)
	w.proxies[p.WorkspaceID] = append(w.proxies[p.WorkspaceID], p.ID)
	return w.must(err)
}

func (w *walk) anyProxy() string { return w.draw(w.proxies[w.draw(w.workspaces)]) }

func (w *walk) changeProxy() error {
	ctx := context.Background()
	p, err := w.q.GetProfile(ctx, GetProfileParams{ID: w.draw(w.profiles)})
	if w.must(err) != nil {
		return err
	}
	_, err = w.q.UpdateProfile(ctx, UpdateProfileParams{ID: p.ID, Revision: p.Revision, Name: p.Name, OS: p.OS,
		BrowserVersion: p.BrowserVersion, Tags: p.Tags, TagsKey: p.TagsKey, Notes: p.Notes, SearchKey: p.SearchKey,
		ProxyID: w.proxyFor(p.WorkspaceID), StartURLs: p.StartURLs, Timezone: p.Timezone, Locale: p.Locale, Geolocation: p.Geolocation,
		WebRTC: p.WebRTC, BackgroundTraffic: p.BackgroundTraffic, AllowLocal: p.AllowLocal, Consistency: p.Consistency,
		FallbackProxyIDs: p.FallbackProxyIDs, FallbackCountry: p.FallbackCountry, AllowHosts: p.AllowHosts, DenyHosts: p.DenyHosts,
		LocalhostVia: p.LocalhostVia, LogHosts: p.LogHosts, Extensions: p.Extensions, Args: p.Args, Passkeys: p.Passkeys})
	return w.must(err)
}

// trashAndChange changes both columns that the triggers watch in one statement, which no query does today.
func (w *walk) trashAndChange() error {
	_, err := w.q.db.ExecContext(context.Background(),
		`UPDATE profiles SET proxy_id = NULL, trashed_at = CASE WHEN trashed_at IS NULL THEN 1 END WHERE id = ?`, w.draw(w.profiles))
	return w.must(err)
}

func (w *walk) check() error {
	n := rapid.SampledFrom([]int{1, 1, 150}).Draw(w.T, "checks")
	id := w.anyProxy()
	for i := range n {
		_, err := w.q.InsertProxyCheck(context.Background(), InsertProxyCheckParams{ProxyID: id, At: 1, Ok: int64(i % 3 % 2), Result: "{}"})
		if w.must(err) != nil {
			return err
		}
	}
	return nil
}

func (w *walk) step() error {
	ctx := context.Background()
	var err error
	switch rapid.IntRange(0, 11).Draw(w.T, "step") {
	case 0, 1, 2:
		err = w.insertProfile()
	case 3, 4:
		err = w.insertProxy()
	case 5:
		err = w.changeProxy()
	case 6:
		_, err = w.q.TrashProfile(ctx, TrashProfileParams{ID: w.draw(w.profiles), TrashedAt: 1})
	case 7:
		_, err = w.q.RestoreProfile(ctx, RestoreProfileParams{ID: w.draw(w.profiles)})
	case 8:
		_, err = w.q.DeleteProfile(ctx, DeleteProfileParams{ID: w.draw(w.profiles)})
	case 9:
		_, err = w.q.DeleteProxy(ctx, DeleteProxyParams{ID: w.anyProxy()})
	case 10:
		err = w.check()
	case 11:
		err = w.trashAndChange()
	}
	return w.must(err)
}

var errUndo = errors.New("undo")

func TestCountersEqualCounts(t *testing.T) {
	s := openTest(t)
	ensure(t, s, "a", "b", "c")
	rapid.Check(t, func(rt *rapid.T) {
		err := s.Write(context.Background(), func(q *Queries) error {
			w := &walk{T: rt, q: q, workspaces: []string{"a", "b", "c"}, proxies: map[string][]string{}}
			for range rapid.IntRange(1, 60).Draw(rt, "steps") {
				_ = try(q, w.step) // what a caller can run into
				if err := cmp.Or(w.err, compareCounters(q.db)); err != nil {
					return err
				}
			}
			return errUndo // each walk begins with an empty database
		})
		var panicked *PanicError
		if errors.As(err, &panicked) {
			panic(panicked.Value) // rapid ends a case with this panic
		}
		if !errors.Is(err, errUndo) {
			rt.Fatal(err)
		}
	})
}

// The comparison detects each missing trigger.
func TestCountersTestHasTeeth(t *testing.T) {
	s := openTest(t)
	_ = sqliteOf(t, s) // its triggers, by their names
	ensure(t, s, "a")
	lives := func(breakIt string) error {
		return s.Write(context.Background(), func(q *Queries) error {
			return cmp.Or(countedLife(q, breakIt), errUndo)
		})
	}
	for _, trigger := range []string{"profiles_inserted", "profiles_deleted", "profiles_trashed_or_restored", "profiles_proxy_changed",
		"proxies_inserted", "proxies_deleted", "proxy_checks_inserted", "proxy_checks_deleted"} {
		if err := lives("DROP TRIGGER " + trigger); err == nil || errors.Is(err, errUndo) {
			t.Errorf("without %s the counters still agree", trigger)
		}
	}
	if err := lives("SELECT 1"); !errors.Is(err, errUndo) {
		t.Error(err)
	}
}

// countedLife changes every counter once, after a statement that may break them.
func countedLife(q *Queries, breakIt string) error {
	ctx := context.Background()
	proxy, used := aProxy("a", "one"), aProxy("a", "two")
	profile := aProfile("a", "p")
	profile.ProxyID = &used.ID
	gone := aProfile("a", "gone")
	steps := []func() error{
		func() error { _, err := q.db.ExecContext(ctx, breakIt); return err },
		func() error { _, err := q.InsertProxy(ctx, proxy); return err },
		func() error { _, err := q.InsertProxy(ctx, used); return err },
		func() error { _, err := q.InsertProfile(ctx, profile); return err },
		func() error { _, err := q.InsertProfile(ctx, gone); return err },
		func() error { _, err := q.TrashProfile(ctx, TrashProfileParams{ID: profile.ID}); return err },
		func() error { _, err := q.DeleteProfile(ctx, DeleteProfileParams{ID: gone.ID}); return err },
		func() error { _, err := q.DeleteProxy(ctx, DeleteProxyParams{ID: proxy.ID}); return err },
		func() error {
			_, err := q.InsertProxyCheck(ctx, InsertProxyCheckParams{ProxyID: used.ID, Ok: 1, Result: "{}"})
			return err
		},
		func() error { _, err := q.DeleteProxyChecks(ctx, used.ID); return err },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
		if err := compareCounters(q.db); err != nil {
			return err
		}
	}
	return nil
}
