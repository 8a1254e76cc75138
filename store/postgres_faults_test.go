package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warren/testnet"
)

func rename(t *testing.T, s *Store, id, name string) error {
	t.Helper()
	return s.Write(context.Background(), func(q *Queries) error {
		return ErrorOf(q.db.ExecContext(context.Background(), "UPDATE profiles SET name = ?, search_key = ? WHERE id = ?", name,
			SearchKey(name, ""), id))
	})
}

// shows compares what a server shows of the only profile: the row, and the list.
func shows(t *testing.T, s *Store, id, name string) {
	t.Helper()
	row, err := s.Profile(context.Background(), All(), id, false)
	page, failed := s.ListProfiles(context.Background(), ProfileList{Limit: 9})
	if err != nil || failed != nil || row.Name != name || page.Total != 1 || len(page.Rows) != 1 || page.Rows[0].Name != name {
		t.Errorf("%q, %d listed (%v), %v %v; want %q alone", row.Name, page.Total, page.Rows, err, failed, name)
	}
}

// TestStandby: a server is not started on a standby, and writes nothing to one that it meets while it runs. Reads work. It goes on when the
// standby is promoted.
func TestStandby(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	primary := testnet.OwnPostgres(t)
	link := testnet.NewLink(t, primary.Address())
	database := primary.NewDatabase()
	dir := t.TempDir()
	s := openIn(t, dir, Options{Database: link.Through(t, database)})
	ensure(t, s, "w")
	p := putProfile(t, s, aProfile("w", "kept"))
	standby := primary.Standby()
	primary.AwaitStandby(standby)
	onStandby := testnet.NewLink(t, standby.Address())
	_, err := Open(ctx, t.TempDir(), Options{Database: onStandby.Through(t, database), SecretKeyFile: filepath.Join(dir, secretKeyName)})
	if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "is no standby") {
		t.Errorf("a start on a standby: %v", err)
	}
	link.To(standby.Address())
	primary.Kill()
	if err := rename(t, s, p.ID, "changed"); !errors.Is(err, ErrBusy) {
		t.Errorf("a write to a standby: %v", err)
	}
	testnet.Eventually(t, "it is not ready", func() bool { return errors.Is(s.Ready(ctx), ErrBusy) })
	shows(t, s, p.ID, "kept")
	standby.Promote()
	testnet.Eventually(t, "writes", func() bool { return s.Ready(ctx) == nil })
	if err := rename(t, s, p.ID, "changed"); err != nil {
		t.Error(err)
	}
	shows(t, s, p.ID, "changed")
	assertCounters(t, s)
}

// TestFailOverLosesCommits: a standby that lacks the last transactions takes over. The server shows what that one has, though it had
// newer rows in memory, and sees changes whose transactions have the numbers of lost ones.
func TestFailOverLosesCommits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	primary := testnet.OwnPostgres(t)
	database, dir := primary.NewDatabase(), t.TempDir()
	standby := primary.Standby()
	both, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	both.Host = primary.Address() + "," + standby.Address()
	both.RawQuery += "&target_session_attrs=read-write"
	s := openIn(t, dir, Options{Database: both.String()})
	ensure(t, s, "w")
	p := putProfile(t, s, aProfile("w", "kept"))
	shows(t, s, p.ID, "kept")
	primary.AwaitStandby(standby)
	standby.Forsake()
	if err := rename(t, s, p.ID, "lost"); err != nil {
		t.Fatal(err)
	}
	var lost []string
	for i := range 20 {
		lost = append(lost, putProfile(t, s, aProfile("w", fmt.Sprint("lost ", i))).ID)
	}
	if page, err := s.ListProfiles(ctx, ProfileList{Limit: 100}); err != nil || page.Total != 21 {
		t.Fatalf("%d profiles, %v", page.Total, err)
	}
	primary.Kill()
	standby.Promote()
	testnet.Eventually(t, "the server finds the new primary", func() bool { return s.Ready(ctx) == nil })
	shows(t, s, p.ID, "kept")
	for _, id := range lost {
		if _, err := s.Profile(ctx, All(), id, false); !errors.Is(err, ErrNoRow) {
			t.Errorf("a profile that the database does not have: %v", err)
		}
	}
	other := openIn(t, t.TempDir(), Options{Database: both.String(), SecretKeyFile: filepath.Join(dir, secretKeyName)})
	for i := range 5 {
		if err := rename(t, other, p.ID, fmt.Sprint("again ", i)); err != nil {
			t.Fatal(err)
		}
		shows(t, s, p.ID, fmt.Sprint("again ", i))
	}
	assertCounters(t, s)
}

// TestPartition: a network that holds everything back, also what connections under way wait for. Each answer comes within the limit, and
// the server goes on by itself when the network is back.
func TestPartition(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := testnet.OwnPostgres(t)
	link := testnet.NewLink(t, server.Address())
	const silence = 2 * time.Second
	s := openIn(t, t.TempDir(), Options{Database: link.Through(t, server.NewDatabase()) + "&connect_timeout=2", silence: silence})
	ensure(t, s, "w")
	p := putProfile(t, s, aProfile("w", "before"))
	shows(t, s, p.ID, "before")
	link.Silence(true)
	type answer struct {
		what string
		err  error
		took time.Duration
	}
	bus := s.Bus()
	wake := bus.Follow()
	<-wake // it listens
	const callers = 80
	answers, began := make(chan answer), time.Now()
	ask := func(what string, fn func() error) {
		go func() {
			err := fn()
			answers <- answer{what, err, time.Since(began)}
		}()
	}
	for i := range callers / 4 {
		ask("an event", func() error { return bus.Append(ctx, []EventRow{eventRow(fmt.Sprint("meanwhile ", i))}) })
		ask("a write", func() error { return rename(t, s, p.ID, "meanwhile") })
		ask("a read", func() error { return ErrorOf(s.Profile(ctx, All(), p.ID, false)) })
		ask("a list", func() error { return ErrorOf(s.ListProfiles(ctx, ProfileList{Limit: 1})) })
	}
	longest := map[string]time.Duration{}
	for range callers {
		a := <-answers
		if !errors.Is(a.err, ErrBusy) {
			t.Errorf("%s without a network: %v, want ErrBusy", a.what, a.err)
		}
		longest[a.what] = max(longest[a.what], a.took)
	}
	t.Logf("answered within %v", longest)
	for what, took := range longest {
		if took > 5*silence {
			t.Errorf("%s took %v", what, took)
		}
	}
	link.Silence(false)
	testnet.Eventually(t, "the server works again", func() bool {
		return errors.Join(s.Ready(ctx), ErrorOf(s.Profile(ctx, All(), p.ID, false))) == nil
	})
	if err := rename(t, s, p.ID, "after"); err != nil {
		t.Error(err)
	}
	shows(t, s, p.ID, "after")
	assertCounters(t, s)
	testnet.Eventually(t, "an event", func() bool { return bus.Append(ctx, []EventRow{eventRow("after")}) == nil })
}

// TestForsakenLocks: a server is lost in the middle of a transaction. Its locks keep others waiting for some seconds alone.
func TestForsakenLocks(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	ctx, database, dir := context.Background(), testnet.Postgres(t), t.TempDir()
	link := testnet.LinkTo(t, database)
	lost := openIn(t, dir, Options{Database: link.Through(t, database)})
	other := openIn(t, t.TempDir(), Options{Database: database, SecretKeyFile: filepath.Join(dir, secretKeyName)})
	set := func(q *Queries) error { return q.SetSetting(ctx, SetSettingParams{Name: "row", Value: "v"}) }
	ended := make(chan error)
	silent := make(chan struct{})
	go func() {
		again := false
		ended <- lost.Write(ctx, func(q *Queries) error {
			err := set(q)
			if !again && err == nil {
				again = true
				link.Silence(true)
				close(silent)
			}
			return errors.Join(err, set(q))
		})
	}()
	<-silent
	began := time.Now()
	testnet.Eventually(t, "another server changes the row", func() bool { return other.Write(ctx, set) == nil })
	took := time.Since(began)
	t.Logf("a row was free after %v", took.Round(100*time.Millisecond))
	if took < time.Second || took > 2*forsakenFor+forsakenFor/2 {
		t.Errorf("a row was free after %v", took)
	}
	link.Silence(false)
	if err := <-ended; err != nil {
		t.Errorf("the write that was lost in between: %v", err)
	}
}

// TestSlowLink: 50 ms each way. The log has the round trips of each.
func TestSlowLink(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := testnet.OwnPostgres(t)
	link := testnet.NewLink(t, server.Address())
	s := openIn(t, t.TempDir(), Options{Database: link.Through(t, server.NewDatabase())})
	ensure(t, s, "w")
	p := putProfile(t, s, aProfile("w", "far"))
	measure := func(what string, most int, fn func() error) {
		if practises { // each function of a write runs twice
			most *= 2
		}
		trips := math.MaxInt
		for range 20 { // each connection prepares the statements once, and the server's own questions count too
			before := link.Trips()
			if err := fn(); err != nil {
				t.Fatal(err)
			}
			trips = min(trips, link.Trips()-before)
		}
		link.Delay(50 * time.Millisecond)
		defer link.Delay(0)
		began := time.Now()
		if err := fn(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d round trips, %v", what, trips, time.Since(began).Round(time.Millisecond))
		if trips > most {
			t.Errorf("%s: %d round trips, want %d at most", what, trips, most)
		}
	}
	measure("a read by id", 2, func() error { return ErrorOf(s.Profile(ctx, All(), p.ID, false)) })
	measure("a list", 2, func() error { return ErrorOf(s.ListProfiles(ctx, ProfileList{Limit: 50})) })
	measure("a write of nothing", 2, func() error { return s.Write(ctx, func(*Queries) error { return nil }) })
	measure("a create", 3, func() error {
		return s.Write(ctx, func(q *Queries) error { return q.AddProfile(ctx, AddProfileParams(aProfile("w", "new"))) })
	})
}
