package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// listed returns every profile by id, as the lists show it.
func listed(t *testing.T, s *Store) map[string]Profile {
	t.Helper()
	out := map[string]Profile{}
	for _, trashed := range []bool{false, true} {
		for _, status := range []string{"", "running"} { // both ways to list
			page, err := s.ListProfiles(context.Background(), ProfileList{ProfileFilter: ProfileFilter{Trashed: trashed, Status: status},
				Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range page.Rows {
				out[row.ID] = row
			}
		}
	}
	return out
}

// assertListed compares the lists with the database.
func assertListed(t *testing.T, s *Store, after string) {
	t.Helper()
	shown := listed(t, s)
	var n int
	if err := databaseOf(s).QueryRow("SELECT count(*) FROM profiles").Scan(&n); err != nil || n != len(shown) {
		t.Errorf("after %s: %d profiles are listed, want %d (%v)", after, len(shown), n, err)
	}
	for id, row := range shown {
		want, err := s.Read().GetProfileAny(context.Background(), GetProfileAnyParams{ID: id})
		if err != nil || !reflect.DeepEqual(row, want) {
			t.Errorf("after %s: listed %+v, want %+v (%v)", after, row, want, err)
		}
	}
}

// Every change of a profile shows in the next list.
func TestListsShowEveryChange(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a")
	proxy := aProxy("a", "host")
	mustWrite(t, s, func(q *Queries) error { _, err := q.InsertProxy(ctx, proxy); return err })
	var ids []string
	for i := range 4 {
		p := aProfile("a", fmt.Sprint("profile ", i))
		p.ProxyID = &proxy.ID
		ids = append(ids, putProfile(t, s, p).ID)
	}
	update := UpdateProfileParams{ID: ids[0], Revision: 1, Name: "new", OS: "mac", BrowserVersion: "1", Tags: "[]",
		SearchKey: "new", StartURLs: "[]", Timezone: "auto", Locale: "auto", Geolocation: "auto", WebRTC: "off",
		BackgroundTraffic: "allow", AllowLocal: "[]", Consistency: "block", FallbackProxyIDs: "[]", FallbackCountry: "same",
		AllowHosts: "[]", DenyHosts: "[]", LocalhostVia: "[]", Extensions: "[]", Args: "[]", Passkeys: "off"}
	for _, step := range []struct {
		what string
		do   func(*Queries) error
	}{
		{"nothing", func(*Queries) error { return nil }},
		{"UpdateProfile", func(q *Queries) error { _, err := q.UpdateProfile(ctx, update); return err }},
		{"SetProfileStatus", func(q *Queries) error {
			_, err := q.SetProfileStatus(ctx, SetProfileStatusParams{ID: ids[1], Status: "running"})
			return err
		}},
		{"ResetStatus", func(q *Queries) error {
			_, err := q.ResetStatus(ctx, ResetStatusParams{FromStatus: "running", ToStatus: "failed"})
			return err
		}},
		{"TrashProfile", func(q *Queries) error {
			_, err := q.TrashProfile(ctx, TrashProfileParams{ID: ids[2], TrashedAt: 5})
			return err
		}},
		{"DeleteProfile", func(q *Queries) error { _, err := q.DeleteProfile(ctx, DeleteProfileParams{ID: ids[3]}); return err }},
		{"DeleteProfile of a second", func(q *Queries) error {
			_, err := q.DeleteProfile(ctx, DeleteProfileParams{ID: ids[1]})
			return err
		}},
		{"DeleteProxy, which the trash lets go", func(q *Queries) error {
			n, err := q.DeleteProxy(ctx, DeleteProxyParams{ID: proxy.ID})
			if n != 1 {
				err = errors.Join(err, errors.New("the proxy was not deleted"))
			}
			return err
		}},
		{"RestoreProfile", func(q *Queries) error { _, err := q.RestoreProfile(ctx, RestoreProfileParams{ID: ids[2]}); return err }},
		{"a statement of no query", func(q *Queries) error {
			_, err := q.db.ExecContext(ctx, "UPDATE profiles SET notes = 'other'")
			return err
		}},
	} {
		mustWrite(t, s, step.do)
		assertListed(t, s, step.what)
	}
}

// A list reads places first and rows after. A row that changes in between is shown in its old position or left out.
func TestRowsThatMoveMeanwhile(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a")
	stays, moves, goes := putProfile(t, s, aProfile("a", "stays")), putProfile(t, s, aProfile("a", "moves")),
		putProfile(t, s, aProfile("a", "goes"))
	look := func(what string, wanted []string, trashed bool, want ...string) {
		if err := s.engine.catchUp(ctx); err != nil {
			t.Fatal(err)
		}
		rows, err := s.profilesAt(ctx, wanted, trashed)
		names := []string{}
		for _, row := range rows {
			names = append(names, row.Name)
		}
		if err != nil || fmt.Sprint(names) != fmt.Sprint(want) {
			t.Errorf("%s: %v, %v; want %v", what, names, err, want)
		}
	}
	at := []string{stays.ID, moves.ID, goes.ID}
	look("before", at, false, "stays", "moves", "goes")
	mustWrite(t, s, func(q *Queries) error {
		_, err1 := q.TrashProfile(ctx, TrashProfileParams{ID: moves.ID, TrashedAt: 5})
		_, err2 := q.TrashProfile(ctx, TrashProfileParams{ID: goes.ID, TrashedAt: 5})
		_, err3 := q.DeleteProfile(ctx, DeleteProfileParams{ID: goes.ID})
		return errors.Join(err1, err2, err3)
	})
	look("two in the trash or gone", at, false, "stays")
	look("of the trash", at, true, "moves")
	mustWrite(t, s, func(q *Queries) error {
		_, err := q.RestoreProfile(ctx, RestoreProfileParams{ID: moves.ID})
		return err
	})
	look("of the trash, one restored", []string{moves.ID}, true)
}

// A list contains every write that was acknowledged before it, also under concurrent writes and lists.
func TestListsAreNeverBehind(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a")
	var all sync.WaitGroup
	var profiles []Profile
	for range 4 {
		profiles = append(profiles, putProfile(t, s, aProfile("a", "p")))
	}
	for _, p := range profiles {
		all.Go(func() {
			for n := range int64(50) {
				mustWrite(t, s, func(q *Queries) error {
					_, err := q.SetProfileStatus(ctx, SetProfileStatusParams{ID: p.ID, Status: "stopped", DiskBytes: &n})
					return err
				})
				page, err := s.ListProfiles(ctx, ProfileList{Limit: 10})
				if err != nil || len(page.Rows) != 4 {
					t.Errorf("%d rows, %v", len(page.Rows), err)
				}
				for _, row := range page.Rows {
					if row.ID == p.ID && row.DiskBytes != n {
						t.Errorf("listed %d, want %d, which was acknowledged before", row.DiskBytes, n)
					}
				}
			}
		})
	}
	all.Wait()
}

// Cached rows are bounded by their bytes, and rows in use stay cached.
func TestRowsInMemoryAreBounded(t *testing.T) {
	c := newCache(describeProfile)
	c.done(c.read(), &Profile{ID: "asked for"})
	most := 0
	for i := range 20_000 {
		c.done(c.read(), &Profile{ID: fmt.Sprint(i), Notes: strings.Repeat("x", 10_000)})
		if c.get("asked for") == nil {
			t.Fatalf("lost after %d rows", i)
		}
		most = max(most, len(c.younger)+len(c.older))
	}
	if limit := cacheBytes/11_000 + 10; most > limit || most < limit/2 {
		t.Errorf("up to %d rows of 11 kB are kept, want about %d", most, limit)
	}
}

// A row that is read before a write and cached after it would be shown as it was for ever.
func TestRowReadBeforeAWriteIsNotCached(t *testing.T) {
	c := newCache(describeProfile)
	read := c.read()
	c.drop(map[string]struct{}{"changed": {}})
	c.done(read, &Profile{ID: "changed"}, &Profile{ID: "as it was"})
	if c.get("changed") != nil || c.get("as it was") == nil {
		t.Errorf("cached: %v, %v; want only the row that did not change", c.get("changed"), c.get("as it was"))
	}
}

// Every statement that changes a row drops it from memory: also one that fails later, is undone, or is a trigger's.
func TestUndoneWritesShowNothing(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a")
	p := putProfile(t, s, aProfile("a", "before"))
	assertListed(t, s, "the start")
	failed := errors.New("failed")
	for what, fn := range map[string]func(*Queries) error{
		"an update that fails later": func(q *Queries) error {
			_, err := q.TrashProfile(ctx, TrashProfileParams{ID: p.ID, TrashedAt: 5})
			return errors.Join(err, failed)
		},
		"an insert that fails later": func(q *Queries) error {
			_, err := q.InsertProfile(ctx, aProfile("a", "other"))
			return errors.Join(err, failed)
		},
		"a delete that panics later": func(q *Queries) error {
			_, _ = q.DeleteProfile(ctx, DeleteProfileParams{ID: p.ID})
			panic("after it")
		},
	} {
		if err := s.Write(ctx, fn); err == nil {
			t.Fatal(what, "has not failed")
		}
		assertListed(t, s, what)
	}
}

// TestSizeOfARow: every column that can be long counts, since the cache would exceed its size otherwise.
func TestSizeOfARow(t *testing.T) {
	t.Parallel()
	const long = 100_000
	text := strings.Repeat("x", long)
	fields := reflect.TypeFor[Profile]()
	for i := range fields.NumField() {
		row := Profile{}
		switch v := reflect.ValueOf(&row).Elem().Field(i); {
		case slices.Contains([]string{"ID", "WorkspaceID", "OS", "BrowserVersion", "Status", "ProxyID", "Timezone", "Geolocation",
			"Screen", "WebRTC", "BackgroundTraffic", "Consistency", "FallbackCountry", "Snapshots", "HeadID", "Passkeys",
			"TemplateID", "Limits", "NodeID"}, fields.Field(i).Name):
			continue // bounded by validation
		case v.Kind() == reflect.String:
			v.SetString(text)
		case v.Type() == reflect.TypeFor[*string]():
			v.Set(reflect.ValueOf(&text))
		default:
			continue
		}
		if _, size := describeProfile(&row); size < long {
			t.Errorf("%s does not count", fields.Field(i).Name)
		}
	}
}
