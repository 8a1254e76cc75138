package schedules

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/pool"
	"warren/proxy"
	"warren/runs"
	"warren/store"
	"warren/testnet"
)

// rig is a scheduler on a real database, with runs and proxies. Its browser only prints a version. The tests give it the time.
type rig struct {
	*Scheduler
	t    testing.TB
	log  *testnet.Buffer
	told *events.Subscription

	alone bool // the other servers of the database count as gone
}

// emptyDatabase makes the files of a database that has no rows.
var emptyDatabase = testnet.Template(func(dir string) error {
	st, err := store.Open(context.Background(), dir, store.Options{})
	if err != nil {
		return err
	}
	return st.Close()
})

func newRig(t testing.TB, change ...func(*runs.Config)) *rig {
	t.Helper()
	return newRigOn(t, store.Options{}, change...)
}

// newRigOn is newRig with the database that o names, or with one of its own.
func newRigOn(t testing.TB, o store.Options, change ...func(*runs.Config)) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "warren-schedules-") // sockets in it have short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cfg := runs.Config{Data: filepath.Join(dir, "data"), Executable: filepath.Join(dir, "no-shim"),
		Browser: testnet.FakeBrowser(t, "Chromium 156.0.8078.79", dir, "chromium"), Headless: "always", AllowPrivate: true,
		MaxStarting: 1, MaxQueue: 1000, QueueTimeout: time.Minute, StartTimeout: time.Minute, TrashDays: 30}
	for _, fn := range change {
		fn(&cfg)
	}
	for _, sub := range []string{"profiles", "run"} {
		if err := os.MkdirAll(filepath.Join(cfg.Data, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r := &rig{t: t, log: new(testnet.Buffer)}
	log := slog.New(slog.NewJSONHandler(r.log, nil))
	o.Logger, o.Database = log, cmp.Or(o.Database, testnet.DatabaseOf(t, cfg.Data))
	if o.Database == "" {
		emptyDatabase(t, cfg.Data)
	}
	st, err := store.Open(t.Context(), cfg.Data, o)
	if err != nil {
		t.Fatal(err)
	}
	ev := events.New()
	t.Cleanup(func() { ev.Close(); st.Close() })
	checker := &proxy.Checker{URLs: []string{"http://where.example/json"}, Timeout: time.Minute, Policy: proxy.Policy{AllowPrivate: true}}
	px := pool.New(t.Context(), pool.Config{}, log, st, ev, checker)
	manager, err := runs.New(t.Context(), cfg, log, st, ev, px)
	if err != nil {
		t.Fatal(err)
	}
	r.Scheduler = New(Config{Node: cfg.Node, Nodes: r}, log, st, ev, px, manager)
	t.Cleanup(r.occurrences.Wait)
	r.told = ev.Subscribe(func(string, string) bool { return true }, "")
	return r
}

// Lives implements Nodes.
func (r *rig) Lives(context.Context, string) (bool, error) { return !r.alone, nil }

func (r *rig) write(fn func(q *store.Queries) error) {
	r.t.Helper()
	if err := r.store.Write(r.t.Context(), fn); err != nil {
		r.t.Fatal(err)
	}
}

// add stores a schedule that is due at next, and returns its id.
func (r *rig) add(next time.Time, p store.InsertScheduleParams) string {
	r.t.Helper()
	p.ID, p.Name, p.SearchKey, p.Enabled, p.NextAt, p.PlannedAt = store.NewID(), "s", "s", true, Millis(next), next.UnixMilli()-1
	if p.WorkspaceID == "" {
		p.WorkspaceID = "default"
	}
	if p.Cron == "" && p.EveryMs == nil {
		p.EveryMs = new(int64(1000))
	}
	r.write(func(q *store.Queries) error {
		if _, err := q.EnsureWorkspace(r.t.Context(), store.EnsureWorkspaceParams{ID: p.WorkspaceID, Now: 1}); err != nil {
			return err
		}
		_, err := q.InsertSchedule(r.t.Context(), p)
		return err
	})
	return p.ID
}

func (r *rig) newProfile(change ...func(*store.InsertProfileParams)) string {
	r.t.Helper()
	p := store.InsertProfileParams{ID: store.NewID(), WorkspaceID: "default", Name: "p", SearchKey: "p", OS: "linux", BrowserVersion: "156",
		Tags: "[]", StartURLs: "[]", Timezone: "system", Locale: "system", Geolocation: "off", WebRTC: "proxy_only",
		BackgroundTraffic: "refuse", AllowLocal: "[]", Consistency: "warn", FallbackProxyIDs: "[]", FallbackCountry: "same",
		AllowHosts: "[]", DenyHosts: "[]", LocalhostVia: "[]", Args: "[]", Extensions: "[]", Passkeys: "off", CreatedAt: 1, UpdatedAt: 1}
	for _, fn := range change {
		fn(&p)
	}
	r.write(func(q *store.Queries) error {
		if _, err := q.EnsureWorkspace(r.t.Context(), store.EnsureWorkspaceParams{ID: p.WorkspaceID, Now: 1}); err != nil {
			return err
		}
		_, err := q.InsertProfile(r.t.Context(), p)
		return err
	})
	return p.ID
}

// newProxy stores a proxy of the default workspace.
func (r *rig) newProxy(port int) string {
	r.t.Helper()
	row := store.InsertProxyParams{ID: store.NewID(), WorkspaceID: "default", Type: "socks5", Host: "127.0.0.1", Port: int64(port),
		Tags: `["t"]`, CreatedAt: 1, UpdatedAt: 1}
	r.write(func(q *store.Queries) error {
		if _, err := q.EnsureWorkspace(r.t.Context(), store.EnsureWorkspaceParams{ID: "default", Now: 1}); err != nil {
			return err
		}
		_, err := q.InsertProxy(r.t.Context(), row)
		return err
	})
	return row.ID
}

// get reads a schedule and its last outcome.
func (r *rig) get(id string) (store.Schedule, Occurrence) {
	r.t.Helper()
	row, err := r.store.Read().GetSchedule(r.t.Context(), store.GetScheduleParams{ID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	var o Occurrence
	if row.LastRun != nil {
		if err := json.Unmarshal([]byte(*row.LastRun), &o); err != nil {
			r.t.Fatal(err)
		}
	}
	return row, o
}

// at runs what is due at a time to its end.
func (r *rig) at(now time.Time) {
	r.t.Helper()
	r.tick(r.t.Context(), now)
	r.occurrences.Wait()
}

// goesOn reports whether an occurrence of a schedule goes on.
func (r *rig) goesOn(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.underway[id] != nil
}

// types returns the events of schedules and starts that were published since the last call, and counts each.
func (r *rig) types() string {
	n := map[string]int{}
	for {
		select {
		case e := <-r.told.C:
			if strings.HasPrefix(e.Type, "schedule.") || e.Type == "profile.start_failed" {
				n[e.Type]++
			}
			continue
		default:
		}
		return fmt.Sprint(n)
	}
}

// silent is a proxy that takes connections and says nothing until it is let go.
func silent(t testing.TB) (port int, letGo func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { <-over; c.Close() }()
		}
	}()
	letGo = func() { l.Close(); close(over) }
	return l.Addr().(*net.TCPAddr).Port, letGo
}

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// TestNoOverlap: while an occurrence goes on, later ones are skipped and told of once. Then the schedule goes on.
func TestNoOverlap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	port, letGo := silent(t)
	id := r.add(noon, store.InsertScheduleParams{Action: Check, ProxyIDs: new(fmt.Sprintf("[%q]", r.newProxy(port)))})
	for i := range 3 {
		r.tick(t.Context(), noon.Add(time.Duration(i)*time.Second))
	}
	row, o := r.get(id)
	if row.Skipped != 2 || row.Missed != 0 || o.Status != Running || !r.goesOn(id) ||
		!time.UnixMilli(*row.NextAt).Equal(noon.Add(3*time.Second)) {
		t.Errorf("while it goes on: %+v, %+v", row, o)
	}
	letGo()
	r.occurrences.Wait()
	row, o = r.get(id)
	if o.Status != Done || o.Targets != 1 || o.Done != 1 || o.Message != "1 of 1 proxies are dead." ||
		!o.DueAt.Equal(noon) || r.goesOn(id) {
		t.Errorf("after it: %+v, %+v", row, o)
	}
	if got, want := r.types(), "map[schedule.ended:1 schedule.skipped:1 schedule.started:1]"; got != want {
		t.Errorf("events: got %s, want %s", got, want)
	}
	r.at(noon.Add(3 * time.Second))
	if _, o = r.get(id); !o.DueAt.Equal(noon.Add(3 * time.Second)) {
		t.Errorf("the next one is %+v", o)
	}
}

// TestMissed: what was due while nothing ran is told and not made up for, unless the schedule says so: then once. A clock that
// jumps runs nothing twice and does not stop a schedule.
func TestMissed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		catchUp         bool
		planned, now    time.Time
		missed          int64
		runs            bool
		next            time.Time
		everyHour, warn bool
	}{
		{name: "in time", now: noon.Add(30 * time.Second), runs: true, next: noon.Add(time.Hour)},
		{name: "down", now: noon.Add(150 * time.Minute), missed: 3, next: noon.Add(3 * time.Hour)},
		{name: "down, up in time for the next", now: noon.Add(2 * time.Hour), missed: 2, runs: true, next: noon.Add(3 * time.Hour)},
		{name: "caught up", catchUp: true, now: noon.Add(150 * time.Minute), missed: 3, runs: true, next: noon.Add(3 * time.Hour)},
		{name: "70 years later", catchUp: true, now: noon.AddDate(70, 0, 0).Add(time.Minute * 30), missed: maxCounted, runs: true,
			next: noon.AddDate(70, 0, 0).Add(time.Hour)},
		{name: "an interval, 70 years later", everyHour: true, now: noon.AddDate(70, 0, 0).Add(time.Minute * 30), missed: maxCounted,
			next: noon.AddDate(70, 0, 0).Add(time.Hour)},
		{name: "the clock is set back a little", planned: noon.Add(-time.Minute), now: noon.Add(-20 * time.Minute), next: noon},
		{name: "the clock is set back", planned: noon.Add(-time.Minute), now: noon.AddDate(-10, 0, 0), next: noon.AddDate(-10, 0, 0).
			Add(time.Hour)},
		{name: "an interval, the clock is set back a little", everyHour: true, planned: noon.Add(-time.Minute), now: noon.Add(-2 *
			time.Hour), next: noon.Add(-time.Hour)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			p := store.InsertScheduleParams{Action: Stop, Tag: new("t"), CatchUp: c.catchUp}
			if p.Cron, p.TimeZone = "0 * * * *", "UTC"; c.everyHour {
				p.Cron, p.TimeZone, p.EveryMs = "", "", new(time.Hour.Milliseconds())
			}
			id := r.add(noon, p)
			if !c.planned.IsZero() {
				r.write(func(q *store.Queries) error {
					return store.ErrorOf(q.PlanSchedule(t.Context(), store.PlanScheduleParams{ID: id, Revision: 1, Due: noon.UnixMilli(),
						NextAt: Millis(noon), PlannedAt: c.planned.UnixMilli()}))
				})
			}
			r.at(c.now)
			row, o := r.get(id)
			if ran := row.LastRun != nil; row.Missed != c.missed || ran != c.runs || o.CaughtUp != c.catchUp || row.Skipped != 0 {
				t.Errorf("%+v, %+v", row, o)
			}
			if row.NextAt == nil || *row.NextAt != c.next.UnixMilli() {
				t.Errorf("it goes on at %v, want %v", time.UnixMilli(*row.NextAt).UTC(), c.next)
			}
			if told := strings.Contains(r.types(), "schedule.missed:1"); told != (c.missed > 0) {
				t.Errorf("an event tells of it: %v", told)
			}
			r.at(c.now)
			if again, _ := r.get(id); again.Missed != row.Missed || again.LastRun != nil && *again.LastRun != *row.LastRun {
				t.Errorf("at the same time again: %+v", again)
			}
		})
	}
}

// TestTargets: a schedule acts on what there is then, in its workspace alone, and tells of what is gone.
func TestTargets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tagged := func(p *store.InsertProfileParams) { p.Tags, p.TagsKey = `["Shop"]`, store.TagsKey([]string{"Shop"}) }
	mine := r.newProfile(tagged)
	theirs := r.newProfile(tagged, func(p *store.InsertProfileParams) { p.WorkspaceID = "other" })
	proxy := r.newProxy(1)
	stop := r.add(noon, store.InsertScheduleParams{Action: Stop, ProfileIDs: new(fmt.Sprintf("[%q,%q,%q]", mine, theirs, "gone"))})
	byTag := r.add(noon, store.InsertScheduleParams{Action: Stop, Tag: new("shop")})
	snapshot := r.add(noon, store.InsertScheduleParams{Action: Snapshot, ProfileIDs: new(fmt.Sprintf("[%q]", mine))})
	rotate := r.add(noon, store.InsertScheduleParams{Action: Rotate, Tag: new("t")})
	check := r.add(noon, store.InsertScheduleParams{Action: Check, ProxyIDs: new(fmt.Sprintf("[%q,%q]", proxy, "gone"))})
	none := r.add(noon, store.InsertScheduleParams{Action: Start, Tag: new("nobody")})
	r.at(noon)

	// A start comes after the stops, which would end it.
	start := r.add(noon, store.InsertScheduleParams{Action: Start, Tag: new("SHOP"), MaxRunMs: new(int64(1000))}) // its browser cannot run
	r.at(noon)
	for _, c := range []struct {
		id, status, message      string
		targets, done, unchanged int
		codes                    []string
	}{
		{stop, Partial, "It failed for 2 of 3 profiles: There is no profile with this id.", 3, 1, 1,
			[]string{"profile_not_found", "profile_not_found"}},
		{byTag, Done, "1 of 1 profiles did not run.", 1, 1, 1, nil},
		{snapshot, Done, "1 of 1 profiles have no data yet.", 1, 1, 1, nil},
		{rotate, Failed, "", 1, 0, 0, []string{"no_rotate_url"}},
		{check, Partial, "", 2, 1, 0, []string{"proxy_not_found"}},
		{none, Done, "No profiles have the tag.", 0, 0, 0, nil},
		{start, Failed, "", 1, 0, 0, []string{"internal"}},
	} {
		row, o := r.get(c.id)
		var codes []string
		for _, f := range o.Errors {
			codes = append(codes, f.Code)
		}
		if o.Status != c.status || o.Targets != c.targets || o.Done != c.done || o.Unchanged != c.unchanged || o.EndedAt == nil ||
			c.message != "" && o.Message != c.message || !slices.Equal(codes, c.codes) {
			t.Errorf("%s: %+v", row.Action, o)
		}
	}
	logged := r.log.String()
	if n := strings.Count(logged, `"a schedule failed for a target"`); n != 1 || !strings.Contains(logged, start) {
		t.Errorf("the log has %d failures, want that of the server alone:\n%s", n, logged)
	}
	if _, o := r.get(start); len(o.Errors) != 1 || strings.Contains(o.Errors[0].Message, "request") {
		t.Errorf("%+v", o.Errors)
	}
}

// TestInterrupted: an occurrence that the end of its server cuts off is told, by that server or by the next one.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	port, letGo := silent(t)
	defer letGo()
	cut := r.add(noon, store.InsertScheduleParams{Action: Check, EveryMs: new(int64(1 << 40)), // it does not come again
		ProxyIDs: new(fmt.Sprintf("[%q]", r.newProxy(port)))})
	ctx, end := context.WithCancel(t.Context())
	r.tick(ctx, noon)
	end()
	r.occurrences.Wait()
	crashed := r.add(time.Now().Add(time.Hour), store.InsertScheduleParams{Action: Stop, Tag: new("t")})
	r.write(func(q *store.Queries) error {
		return store.ErrorOf(q.SetScheduleRun(t.Context(), store.SetScheduleRunParams{ID: crashed,
			LastRun: Occurrence{Status: Running}.text()}))
	})
	over, stop := context.WithCancel(t.Context())
	defer stop()
	go r.Keep(over)
	testnet.Eventually(t, "the next server sees what crashed", func() bool {
		_, o := r.get(crashed)
		return o.Status == Interrupted
	})
	if r.goesOn(cut) {
		t.Error("it goes on")
	}
	stop()
	r.runs.Shutdown(t.Context())
	late := r.add(noon, store.InsertScheduleParams{Action: Start, EveryMs: new(int64(1 << 40)),
		ProfileIDs: new(fmt.Sprintf("[%q]", r.newProfile()))})
	r.at(noon)
	for _, id := range []string{cut, crashed, late} {
		if _, o := r.get(id); o.Status != Interrupted || o.EndedAt != nil {
			t.Errorf("%+v", o)
		}
	}
}

// TestKeep: the loop runs a schedule by itself, as soon as it is told of it, and then at its interval.
func TestKeep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); r.Keep(ctx) }()
	id := r.add(time.Now(), store.InsertScheduleParams{Action: Stop, Tag: new("t")})
	r.Changed()
	var first time.Time
	testnet.Eventually(t, "the schedule runs twice", func() bool {
		_, o := r.get(id)
		if first.IsZero() {
			first = o.DueAt
		}
		return !first.IsZero() && o.DueAt.After(first)
	})
	end()
	<-over
}

// TestStartWithServer: the profiles that say so are started in the order of their creation, not those in the trash, and no more
// than there is room for. Each that is not started is told of.
func TestStartWithServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *runs.Config) { c.MaxRunning = 2 })
	with := func(at int64) func(*store.InsertProfileParams) {
		return func(p *store.InsertProfileParams) { p.StartWithServer, p.CreatedAt = true, at }
	}
	third, first, second := r.newProfile(with(3)), r.newProfile(with(1)), r.newProfile(with(2))
	r.newProfile()
	trashed := r.newProfile(with(0))
	r.write(func(q *store.Queries) error {
		return store.ErrorOf(q.TrashProfile(t.Context(), store.TrashProfileParams{ID: trashed, TrashedAt: 1}))
	})
	r.StartWithServer(t.Context())
	var order []string
	for more := true; more; {
		select {
		case e := <-r.told.C:
			var text struct {
				Data notStartedEvent `json:"data"`
			}
			if err := json.Unmarshal(e.Text(), &text); err != nil {
				t.Fatal(err)
			}
			if e.Type == "profile.start_failed" {
				order = append(order, text.Data.ID+" "+text.Data.Code)
			}
		default:
			more = false
		}
	}
	want := []string{third + " capacity_exceeded", first + " internal", second + " internal"} // no shim can be started here
	if !slices.Equal(order, want) {
		t.Errorf("got %q, want %q", order, want)
	}
	if log := r.log.String(); !strings.Contains(log, "was not started with the server") || !strings.Contains(log, `"left out":1`) {
		t.Errorf("the log: %s", log)
	}
}
