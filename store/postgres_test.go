package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"warren/testnet"
)

// twoServers opens a new database of PostgreSQL twice, as two servers that share a secret key.
func twoServers(t *testing.T) (a, b *Store) {
	t.Helper()
	url, dir := testnet.Postgres(t), t.TempDir()
	a = openIn(t, dir, Options{Database: url})
	return a, openIn(t, t.TempDir(), Options{Database: url, SecretKeyFile: filepath.Join(dir, secretKeyName)})
}

// What one server has written, another shows at once: rows and lists, though both keep them in memory.
func TestServersSeeEachOther(t *testing.T) {
	t.Parallel()
	a, b := twoServers(t)
	ensure(t, a, "w")
	ctx := context.Background()
	servers := []*Store{a, b}
	var group errgroup.Group
	for n := range 4 {
		group.Go(func() error {
			for i := range 40 {
				writes, reads := servers[(n+i)%2], servers[(n+i+1)%2]
				if err := seenElsewhere(ctx, writes, reads, fmt.Sprint(n, "-", i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	assertCounters(t, a)
	var pages [2]Page[Profile]
	for i, s := range servers {
		var err error
		if pages[i], err = s.ListProfiles(ctx, ProfileList{Order: ByName, Limit: 200}); err != nil || len(pages[i].Rows) < 40 {
			t.Errorf("%d profiles, %v", len(pages[i].Rows), err)
		}
	}
	if *jsonText(pages[0]) != *jsonText(pages[1]) {
		t.Errorf("the servers list %d and %d profiles, or not the same", pages[0].Total, pages[1].Total)
	}
}

// seenElsewhere makes, renames and mostly deletes a profile on one server, and looks at it on another after each step.
func seenElsewhere(ctx context.Context, writes, reads *Store, name string) error {
	p := aProfile("w", name)
	write := func(fn func(*Queries) error) func() error { return func() error { return writes.Write(ctx, fn) } }
	look := func(want string) error {
		row, err := reads.Profile(ctx, All(), p.ID, false)
		page, failed := reads.ListProfiles(ctx, ProfileList{ProfileFilter: ProfileFilter{Search: name + " "}, Limit: 9})
		listed := ""
		for _, found := range page.Rows {
			if found.ID == p.ID {
				listed = found.Name
			}
		}
		if errors.Is(err, ErrNoRow) {
			err = nil
		}
		if row.Name != want || listed != want || err != nil || failed != nil {
			return fmt.Errorf("%s: the other server has %q and lists %q (%v, %v); want %q", name, row.Name, listed, err, failed, want)
		}
		return nil
	}
	rename := func(to string) func() error {
		return write(func(q *Queries) error {
			return ErrorOf(q.db.ExecContext(ctx, "UPDATE profiles SET name = ?, search_key = ? WHERE id = ?", to, SearchKey(to, ""), p.ID))
		})
	}
	steps := []struct {
		do   func() error
		want string
	}{
		{write(func(q *Queries) error { return q.AddProfile(ctx, AddProfileParams(p)) }), ""},
		{rename(name + " one"), name + " one"},
		{rename(name + " two"), name + " two"},
		{write(func(q *Queries) error { return ErrorOf(q.DeleteProfile(ctx, DeleteProfileParams{ID: p.ID})) }), ""},
	}
	for i, step := range steps {
		if i == 3 && strings.HasSuffix(name, "0") || i == 3 && len(name)%2 == 0 {
			continue
		}
		if err := step.do(); err != nil {
			return err
		}
		if i > 0 {
			if err := look(step.want); err != nil {
				return err
			}
		}
	}
	return nil
}

// Functions that read and write the same row on two servers have an order: no change is lost.
func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	a, b := twoServers(t)
	ctx := context.Background()
	const callers, each = 8, 25
	calls := atomic.Int64{}
	count := func(q *Queries) error {
		calls.Add(1)
		text, err := q.GetSetting(ctx, "count")
		if err != nil && !errors.Is(err, ErrNoRow) {
			return err
		}
		n, _ := strconv.Atoi(text)
		return q.SetSetting(ctx, SetSettingParams{Name: "count", Value: strconv.Itoa(n + 1)})
	}
	var group errgroup.Group
	for n := range callers {
		s := []*Store{a, b}[n%2]
		group.Go(func() error {
			for range each {
				if err := s.Write(ctx, count); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if text, err := a.Read().GetSetting(ctx, "count"); err != nil || text != strconv.Itoa(callers*each) {
		t.Errorf("%s changes are there (%v), want %d", text, err, callers*each)
	}
	if calls.Load() == callers*each {
		t.Error("no function was called twice: did they meet?")
	}
}

// The entries of two servers make one chain, also while its beginning is removed.
func TestAuditOfTwoServers(t *testing.T) {
	t.Parallel()
	a, b := twoServers(t)
	var group errgroup.Group
	for n, s := range []*Store{a, b, a, b} {
		group.Go(func() error {
			for i := range 50 {
				err := s.Write(context.Background(), func(q *Queries) error { return q.Record(entryOf(100*n + i)) })
				if err != nil {
					return err
				}
				if i%10 == 0 {
					if _, err := s.ListAudit(context.Background(), AuditList{Limit: 1}); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{a, b} {
		if n, fault, err := s.CheckAudit(context.Background()); n != 200 || fault != "" || err != nil {
			t.Errorf("%d entries, %q, %v; want 200 in order", n, fault, err)
		}
	}
	if err := b.RemoveAudit(context.Background(), time.UnixMilli(150)); err != nil {
		t.Fatal(err)
	}
	if _, fault, err := a.CheckAudit(context.Background()); fault != "" || err != nil {
		t.Errorf("after the removal: %q, %v", fault, err)
	}
}

// A function that passes over the failure of a statement fails: PostgreSQL has refused everything after that.
func TestFailureIsNotPassedOver(t *testing.T) {
	t.Parallel()
	s := openOnPostgres(t, Options{})
	ctx := context.Background()
	ensure(t, s, "w")
	err := s.Write(ctx, func(q *Queries) error {
		if err := q.AddProfile(ctx, AddProfileParams(aProfile("w", "first"))); err != nil {
			return err
		}
		_ = q.AddProfile(ctx, AddProfileParams(aProfile("unknown", "second")))
		return nil
	})
	if !errors.Is(err, ErrReference) {
		t.Errorf("got %v, want ErrReference", err)
	}
	if n, err := s.Read().Totals(ctx, nil); err != nil || n.Profiles != 0 {
		t.Errorf("%d profiles, %v; want none", n.Profiles, err)
	}
	if err := s.Write(ctx, func(*Queries) error { return nil }); err != nil {
		t.Errorf("the next write: %v", err)
	}
}

// A server whose secret key does not fit is refused, and has written nothing. So are a newer schema and tables of another program.
func TestPostgresIsRefused(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), testnet.Postgres(t)
	s := openIn(t, dir, Options{Database: url, Warren: "1.0"})
	ensure(t, s, "w")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.key")
	if err := os.WriteFile(wrong, []byte(strings.Repeat("ab", masterLength)), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse := func(what, url string, o Options, want error, says string) {
		t.Helper()
		before := testnet.DumpOf(t, url)
		o.Database, o.Warren = url, "2.0"
		empty := t.TempDir()
		s, err := Open(context.Background(), empty, o)
		said := fmt.Sprint(err)
		if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(said, says) || strings.Contains(said, "@") {
			t.Errorf("%s: got %v", what, err)
		}
		if s != nil {
			_ = s.Close()
		}
		if string(testnet.DumpOf(t, url)) != string(before) {
			t.Errorf("%s: the database was changed", what)
		}
		if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
			t.Errorf("%s: the data folder has %v, %v", what, left, err)
		}
	}
	refuse("a wrong key", url, Options{SecretKeyFile: wrong}, ErrSecretKey, "put back the key")
	refuse("no key", url, Options{}, ErrSecretKey, "secret.key is gone")

	db := testnet.OpenURL(t, url)
	defer db.Close()
	testnet.Rewrite(t, db, "INSERT INTO schema_versions (version, at, since) VALUES (999, 1, 999)")
	refuse("a newer schema", url, Options{SecretKeyFile: filepath.Join(dir, secretKeyName)}, ErrNewer, "run the newer warren")
	other := testnet.Postgres(t)
	strange := testnet.OpenURL(t, other)
	defer strange.Close()
	testnet.Rewrite(t, strange, "CREATE TABLE mine (a INT)")
	refuse("another program's", other, Options{}, ErrDamaged, "another program")
	refuse("no database", strings.Replace(other, "?", "gone?", 1), Options{}, nil, "does not exist")
}

// A server that loses its database answers ErrBusy, and goes on by itself when it is back. What was acknowledged is there.
func TestPostgresDies(t *testing.T) {
	t.Parallel()
	server := testnet.OwnPostgres(t)
	s := openIn(t, t.TempDir(), Options{Database: server.NewDatabase()})
	ensure(t, s, "w")
	ctx := context.Background()
	for round := range 3 {
		var acknowledged sync.Map
		var group errgroup.Group
		stop := make(chan struct{})
		for range 4 {
			group.Go(func() error {
				for {
					select {
					case <-stop:
						return nil
					default:
					}
					p := aProfile("w", "x")
					err := s.Write(ctx, func(q *Queries) error { return q.AddProfile(ctx, AddProfileParams(p)) })
					if err == nil {
						acknowledged.Store(p.ID, true)
					} else if !errors.Is(err, ErrBusy) {
						return err
					}
				}
			})
		}
		testnet.Eventually(t, "writes", func() bool {
			n := 0
			acknowledged.Range(func(any, any) bool { n++; return true })
			return n >= 20
		})
		if round == 2 {
			server.Stop(testnet.PostgresImmediate)
		} else {
			server.Kill()
		}
		if err := s.Write(ctx, func(q *Queries) error { return nil }); !errors.Is(err, ErrBusy) {
			t.Errorf("a write without the database: %v, want ErrBusy", err)
		}
		if _, err := s.ListProfiles(ctx, ProfileList{Limit: 1}); !errors.Is(err, ErrBusy) {
			t.Errorf("a list without the database: %v, want ErrBusy", err)
		}
		if _, err := s.Read().GetSetting(ctx, "x"); !errors.Is(Typed(err), ErrBusy) {
			t.Errorf("a read without the database: %v, want ErrBusy", err)
		}
		server.Start()
		testnet.Eventually(t, "a write", func() bool { return s.Ready(ctx) == nil })
		close(stop)
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		acknowledged.Range(func(id, _ any) bool {
			if _, err := s.Profile(ctx, All(), id.(string), false); err != nil {
				t.Errorf("an acknowledged profile: %v", err)
			}
			return true
		})
		assertCounters(t, s)
	}
}

// A server that was away for longer than changes are kept reads everything anew.
func TestChangesAreForgotten(t *testing.T) {
	t.Parallel()
	a, b := twoServers(t)
	ctx := context.Background()
	ensure(t, a, "w")
	p := putProfile(t, a, aProfile("w", "before"))
	for _, s := range []*Store{a, b} {
		if _, err := s.ListProfiles(ctx, ProfileList{ProfileFilter: ProfileFilter{Search: "before"}, Limit: 1}); err != nil {
			t.Fatal(err)
		}
	}
	follow := b.engine.(*pgEngine).follow
	follow.asking.Lock() // b is away
	mustWrite(t, a, func(q *Queries) error {
		return ErrorOf(q.db.ExecContext(ctx, "UPDATE profiles SET name = 'after', search_key = 'after' WHERE id = ?", p.ID))
	})
	putProfile(t, a, aProfile("w", "newest"))
	mustWrite(t, a, func(q *Queries) error { return ErrorOf(q.db.ExecContext(ctx, "UPDATE changes SET at = 0")) })
	testnet.Eventually(t, "the newest change alone is left", func() bool { // once no older transaction runs on this server of PostgreSQL
		var left int
		err := errors.Join(a.engine.(*pgEngine).follow.purge(ctx), databaseOf(a).QueryRow("SELECT count(*) FROM changes").Scan(&left))
		return err == nil && left == 1
	})
	follow.asking.Unlock()
	row, err := b.Profile(ctx, All(), p.ID, false)
	page, failed := b.ListProfiles(ctx, ProfileList{ProfileFilter: ProfileFilter{Search: "after"}, Limit: 1})
	if err != nil || failed != nil || row.Name != "after" || page.Total != 1 {
		t.Errorf("%q, %d found, %v %v; want it as it is now", row.Name, page.Total, err, failed)
	}
}

// A server without connections left, and a database that only reads, are busy.
func TestPostgresTakesNothing(t *testing.T) {
	t.Parallel()
	server := testnet.OwnPostgres(t, "max_connections=4", "superuser_reserved_connections=0")
	url := server.NewDatabase()
	held := testnet.OpenURL(t, url)
	defer held.Close()
	var conns []func()
	for range 4 {
		c, err := held.Conn(t.Context())
		if err != nil {
			break
		}
		conns = append(conns, func() { _ = c.Close() })
	}
	_, err := Open(t.Context(), t.TempDir(), Options{Database: url})
	if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "connections") {
		t.Errorf("without connections: %v, want ErrBusy", err)
	}
	for _, end := range conns {
		end()
	}
}
