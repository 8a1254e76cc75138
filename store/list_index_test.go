package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"warren/store/index"
)

// everyProfile reads all profiles from the database itself.
func everyProfile(t interface{ Fatal(...any) }, s *Store) []Profile {
	rows, err := databaseOf(s).Query("SELECT id FROM profiles")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		ids = append(ids, "")
		if err := rows.Scan(&ids[len(ids)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	all, err := s.Read().GetProfiles(context.Background(), GetProfilesParams{Ids: *jsonText(append([]string{}, ids...))})
	if err != nil || len(all) != len(ids) {
		t.Fatal(len(all), "of", len(ids), "profiles:", err)
	}
	return all
}

// assertListsAreTheDatabase compares whole lists, in every order and of some filters, with the database.
func assertListsAreTheDatabase(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, s *Store, what string) {
	all, proxies := everyProfile(t, s), everyProxy(t, s)
	exits := map[string]string{"none": "DE"}
	for i, p := range all[:min(3, len(all))] {
		exits[p.ID] = []string{"DE", "FR", ""}[i]
	}
	never, unused := false, true
	for _, l := range []ProfileList{{}, {Order: ByUpdated, Ascending: true}, {Order: ByName}, {Order: ByStarted},
		{ProfileFilter: ProfileFilter{Search: "name 1"}}, {ProfileFilter: ProfileFilter{Tags: []string{"shop"}, OS: "win"}},
		{ProfileFilter: ProfileFilter{Status: "running"}}, {ProfileFilter: ProfileFilter{Trashed: true}},
		{ProfileFilter: ProfileFilter{WorkspaceID: "a"}}, {ProfileFilter: ProfileFilter{Country: "DE", Exits: exits}},
		{ProfileFilter: ProfileFilter{Country: "FR"}}, {ProfileFilter: ProfileFilter{ProxyStatus: "dead", OS: "win"}},
		{ProfileFilter: ProfileFilter{ProxyStatus: "dead", Country: "DE"}},
		{ProfileFilter: ProfileFilter{ProxyID: NoProxy}}, {ProfileFilter: ProfileFilter{ProxyID: MissingProxy}},
		{ProfileFilter: ProfileFilter{Started: &never}}} {
		l.Limit = len(all) + 1
		page, err := s.ListProfiles(context.Background(), l)
		if want := model(all, proxies, l); err != nil || idsOf(page.Rows) != idsOf(want) || page.Total != int64(len(want)) {
			t.Fatalf("after %s, %+v: %v, total %d, got\n%s\nwant\n%s", what, l, err, page.Total, idsOf(page.Rows), idsOf(want))
		}
	}
	without := slices.DeleteFunc(slices.Clone(proxies), func(p Proxy) bool { return p.ProfileCount > 0 })
	page, err := s.ListProxies(context.Background(), ProxyList{ProxyFilter: ProxyFilter{Unused: &unused}, Limit: -1})
	if err != nil || len(page.Rows) != len(without) {
		t.Fatalf("after %s: %d proxies are unused, want %d, %v", what, len(page.Rows), len(without), err)
	}
}

// aChange draws one change of the profiles.
func aChange(t *rapid.T, all []Profile) (what string, fn func(*Queries) error) {
	ctx := context.Background()
	p := aProfile(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "workspace"), fmt.Sprint("name ", rapid.IntRange(0, 20).Draw(t, "name")))
	p.OS = rapid.SampledFrom([]string{"win", "linux"}).Draw(t, "os")
	if rapid.Bool().Draw(t, "tagged") {
		p.Tags, p.TagsKey = `["shop","Shöp"]`, TagsKey([]string{"shop", "Shöp"})
	}
	p.CreatedAt, p.UpdatedAt = int64(rapid.IntRange(0, 5).Draw(t, "created")), int64(rapid.IntRange(0, 5).Draw(t, "updated"))
	if len(all) == 0 {
		return "insert", func(q *Queries) error { return q.AddProfile(ctx, AddProfileParams(p)) }
	}
	old := rapid.SampledFrom(all).Draw(t, "profile")
	exec := func(statement string, args ...any) func(*Queries) error {
		return func(q *Queries) error { _, err := q.db.ExecContext(ctx, statement, args...); return err }
	}
	switch what = rapid.SampledFrom([]string{"insert", "insert", "rename", "trash", "restore", "delete", "status", "all", "workspace",
		"add proxy", "use", "use", "check", "check", "delete proxies"}).Draw(t, "change"); what {
	case "add proxy":
		return what, func(q *Queries) error { _, err := q.InsertProxy(ctx, aProxy(p.WorkspaceID, newID())); return err }
	case "use":
		return what, exec(`UPDATE profiles SET proxy_missing = 0, proxy_id = (SELECT id FROM proxies
			WHERE proxies.workspace_id = profiles.workspace_id ORDER BY id LIMIT 1 OFFSET ?1) WHERE id = ?2`, p.CreatedAt%3, old.ID)
	case "check":
		return what, exec(`UPDATE proxies SET status = ?1, country = ?2
			WHERE id = (SELECT id FROM proxies ORDER BY id LIMIT 1 OFFSET ?3)`, []string{"alive", "dead", "unknown"}[p.CreatedAt%3],
			[]string{"DE", "FR", ""}[p.UpdatedAt%3], p.CreatedAt)
	case "delete proxies":
		return what, exec("DELETE FROM proxies WHERE profile_count = 0")
	case "rename":
		return what, exec("UPDATE profiles SET name = ?1, search_key = ?2, tags = ?3, tags_key = ?4, updated_at = ?5 WHERE id = ?6",
			p.Name, p.SearchKey, p.Tags, p.TagsKey, p.UpdatedAt, old.ID)
	case "trash":
		return what, exec("UPDATE profiles SET trashed_at = 1 WHERE id = ?", old.ID)
	case "restore":
		return what, exec("UPDATE profiles SET trashed_at = NULL WHERE id = ?", old.ID)
	case "delete":
		return what, exec("DELETE FROM profiles WHERE id = ?", old.ID)
	case "status":
		return what, exec("UPDATE profiles SET status = iif(status = 'running', 'failed', 'running'), last_started_at = ?1 WHERE id = ?2",
			p.CreatedAt, old.ID)
	case "all":
		return what, exec("UPDATE profiles SET updated_at = 6 - updated_at")
	case "workspace":
		return what, exec("DELETE FROM profiles WHERE workspace_id = ? AND created_at < 2", p.WorkspaceID)
	}
	return "insert", func(q *Queries) error { return q.AddProfile(ctx, AddProfileParams(p)) }
}

// After every write, an undone one, one that found the disk full, a lost connection and a restart, the lists are what the
// database has.
func TestListsEqualAModelOverWrites(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ensure(t, s, "a", "b")
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			what, fn := aChange(rt, everyProfile(rt, s))
			switch end := rapid.SampledFrom([]string{"", "", "", "", "undone", "full", "lost", "restart"}).Draw(rt, "end"); end {
			case "undone":
				_ = s.Write(ctx, func(q *Queries) error { return errors.Join(fn(q), errors.New("undone")) })
			case "full": // SQLite undoes the statement, or the whole transaction
				limit := func(pages int) {
					err := s.Write(ctx, func(q *Queries) error {
						_, err := q.db.ExecContext(ctx, fmt.Sprint("PRAGMA max_page_count = ", pages))
						return err
					})
					if err != nil {
						rt.Fatal(err)
					}
				}
				limit(1)
				_ = s.Write(ctx, fn)
				limit(1 << 30)
			case "lost": // the transaction ends, and what follows is a transaction of its own
				_ = s.Write(ctx, func(q *Queries) error {
					_, err := q.db.ExecContext(ctx, "ROLLBACK")
					return errors.Join(fn(q), err, errors.New("lost"))
				})
			case "restart":
				if err := errors.Join(s.Write(ctx, fn), s.Close()); err != nil {
					rt.Fatal(err)
				}
				if s, err = Open(ctx, dir, Options{}); err != nil {
					rt.Fatal(err)
				}
			default:
				if err := s.Write(ctx, fn); err != nil {
					rt.Fatal(err)
				}
			}
			assertListsAreTheDatabase(rt, s, what)
		}
	})
}

// Rows that change while the index is loaded, part by part, are in it as they are at the end.
func TestIndexIsLoadedWhileRowsChange(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a", "b")
	insert := func(n int) {
		mustWrite(t, s, func(q *Queries) error {
			for i := range n {
				if err := q.AddProfile(ctx, AddProfileParams(aProfile([]string{"a", "b"}[i%2], fmt.Sprint("name ", i)))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for range 3 {
		insert(loadPart)
	}
	all := everyProfile(t, s)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := w; ; i += 3 {
				select {
				case <-stop:
					return
				default:
				}
				id := all[i*7%len(all)].ID
				statement := []string{"UPDATE profiles SET updated_at = updated_at + 1 WHERE id = ?",
					"UPDATE profiles SET trashed_at = 1 WHERE id = ?",
					"UPDATE profiles SET status = 'running' WHERE id = ?", "DELETE FROM profiles WHERE id = ?"}[i%4]
				mustWrite(t, s, func(q *Queries) error { _, err := q.db.ExecContext(ctx, statement, id); return err })
				insert(1)
			}
		})
	}
	for range often(20) {
		s.ofProfiles.reset()
		if _, err := s.ListProfiles(ctx, ProfileList{Order: ByName, Limit: 10}); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	writers.Wait()
	assertListsAreTheDatabase(t, s, "loads beside writes")
}

// Whoever gets a part may change it at once.
func TestPartsBelongToTheirReader(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a")
	const want = 2*loadPart + 1
	mustWrite(t, s, func(q *Queries) error {
		for i := range want {
			if err := q.AddProfile(ctx, AddProfileParams(aProfile("a", fmt.Sprint("name ", i)))); err != nil {
				return err
			}
		}
		return nil
	})
	for range often(20) {
		parts, failed := make(chan loadedPart), make(chan error, 1)
		go func() {
			defer close(parts)
			failed <- s.ofProfiles.readParts(ctx, s, parts)
		}()
		got := 0
		for part := range parts {
			got += len(part.rows)
			clear(part.rows)
		}
		if err := <-failed; err != nil || got != want {
			t.Fatalf("%d of %d rows were read: %v", got, want, err)
		}
	}
}

// Rows that change after a part was read, and before it is in the index, are in it as they are.
func TestChangesOfAPartThatWasRead(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a")
	var ids []string
	for i := range 4 {
		ids = append(ids, putProfile(t, s, aProfile("a", fmt.Sprint("name ", i))).ID)
	}
	s.ofProfiles.rows = staleRows{change: func() {
		mustWrite(t, s, func(q *Queries) error {
			_, err1 := q.db.ExecContext(ctx, "UPDATE profiles SET name = 'other', search_key = 'other' WHERE id = ?", ids[0])
			_, err2 := q.db.ExecContext(ctx, "DELETE FROM profiles WHERE id = ?", ids[1])
			_, err3 := q.TrashProfile(ctx, TrashProfileParams{ID: ids[2], TrashedAt: 1})
			return errors.Join(err1, err2, err3, q.AddProfile(ctx, AddProfileParams(aProfile("a", "name 5"))))
		})
	}}
	px := aProxy("a", "host")
	mustWrite(t, s, func(q *Queries) error {
		_, err1 := q.InsertProxy(ctx, px)
		_, err2 := q.db.ExecContext(ctx, "UPDATE profiles SET proxy_id = ? WHERE id = ?", px.ID, ids[3])
		return errors.Join(err1, err2)
	})
	s.ofProfiles.links = func(ctx context.Context, q *Queries, after string, limit int64) ([]index.Implied, string, error) {
		implied, last, err := proxyLinks(ctx, q, after, limit)
		mustWrite(t, s, func(q *Queries) error {
			_, err := q.db.ExecContext(ctx, "UPDATE proxies SET status = 'dead', country = 'DE'")
			return err
		})
		return implied, last, err
	}
	if _, err := s.ListProfiles(ctx, ProfileList{Order: ByName, Limit: 1}); err != nil { // loads
		t.Fatal(err)
	}
	assertListsAreTheDatabase(t, s, "a change of a part that was read")
	if s.ofProxies.reset(); s.ofProfiles.current.Load() != nil {
		t.Error("proxies that changed unseen leave the index of profiles, which says where they come out")
	}
}

// staleRows are changed after they were read.
type staleRows struct {
	indexedProfiles
	change func()
}

func (r staleRows) part(ctx context.Context, q *Queries, after string, limit int64) ([]*index.Row, error) {
	rows, err := r.indexedProfiles.part(ctx, q, after, limit)
	r.change()
	return rows, err
}

// The newest profiles that the database has are those that the index has: a list must not change when that is loaded.
func TestNewestFromTheDatabase(t *testing.T) {
	s := openTest(t)
	all := crowd(t, s)
	ofA := all[slices.IndexFunc(all, func(p Profile) bool { return p.WorkspaceID == "a" })]
	for _, l := range []ProfileList{{Limit: 7}, {Limit: 7, Offset: 30}, {Limit: 200, ProfileFilter: ProfileFilter{Trashed: true}},
		{Limit: 5, After: ofA.ID}} {
		l.WorkspaceID = "a"
		at, err := l.start(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		newest, err1 := s.listNewest(context.Background(), l, at)
		found, err2 := s.ListProfiles(context.Background(), l)
		if err := errors.Join(err1, err2); err != nil || !l.newest() || idsOf(newest.Rows) != idsOf(found.Rows) ||
			newest.Total != found.Total || newest.More != found.More {
			t.Errorf("%+v: %v, the database has\n%s, %d, %v; the index has\n%s, %d, %v", l, err, idsOf(newest.Rows), newest.Total,
				newest.More, idsOf(found.Rows), found.Total, found.More)
		}
	}
}

// A load that fails is told, and the next list loads anew.
func TestLoadThatFails(t *testing.T) {
	s := openTest(t)
	ensure(t, s, "a")
	putProfile(t, s, aProfile("a", "one"))
	broken := newListIndex("profiles", brokenRows{}, profileOrders(), slog.New(slog.DiscardHandler))
	whole := s.ofProfiles
	s.ofProfiles = broken
	l := ProfileList{Order: ByName, Limit: 5}
	if _, err := s.ListProfiles(context.Background(), l); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the load's error", err)
	}
	broken.rows = whole.rows
	if page, err := s.ListProfiles(context.Background(), l); err != nil || len(page.Rows) != 1 {
		t.Errorf("after it could be read: %d rows, %v", len(page.Rows), err)
	}
	s.ofProfiles = whole
}

var errBroken = errors.New("broken")

// A filtered list is counted to its end up to countTo, and says so above.
func TestTotalsAreCountedSoFar(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a")
	fill := func(n int) {
		for left := n; left > 0; left -= 1000 {
			mustWrite(t, s, func(q *Queries) error {
				many := make([]NewProfile, min(left, 1000))
				for i, id := range NewIDs(len(many)) {
					many[i] = NewProfile{ID: id, Name: "Shop"}
				}
				p := aProfile("a", "")
				shared := InsertProfilesParams{WorkspaceID: "a", OS: p.OS, BrowserVersion: p.BrowserVersion, Tags: `["x"]`,
					TagsKey: TagsKey([]string{"x"}), StartURLs: p.StartURLs, Timezone: p.Timezone, Locale: p.Locale,
					Geolocation: p.Geolocation, WebRTC: p.WebRTC, BackgroundTraffic: p.BackgroundTraffic, AllowLocal: p.AllowLocal,
					Consistency: p.Consistency, FallbackProxyIDs: p.FallbackProxyIDs, FallbackCountry: p.FallbackCountry,
					AllowHosts: p.AllowHosts, DenyHosts: p.DenyHosts, LocalhostVia: p.LocalhostVia, Extensions: p.Extensions,
					Args: p.Args, Passkeys: p.Passkeys}
				return q.AddProfiles(ctx, shared, many)
			})
		}
	}
	total := func(f ProfileFilter) string {
		page, err := s.ListProfiles(ctx, ProfileList{ProfileFilter: f, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(page.Total, " at least: ", page.TotalAtLeast)
	}
	filters := []ProfileFilter{{}, {Tags: []string{"x"}}, {Status: "stopped"}, {Search: "shop"}, {OS: "linux"},
		{Tags: []string{"X"}, OS: "linux"}}
	var got [][]string
	for _, n := range []int{countTo, 1} {
		fill(n)
		var line []string
		for _, f := range filters {
			line = append(line, total(f))
		}
		got = append(got, line)
	}
	exact, over, least := "10000 at least: false", "10001 at least: false", "10000 at least: true"
	want := [][]string{{exact, exact, exact, exact, exact, exact}, {over, over, over, least, least, least}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// brokenRows cannot be read.
type brokenRows struct{ indexedProfiles }

func (brokenRows) part(context.Context, *Queries, string, int64) ([]*index.Row, error) {
	return nil, errBroken
}
