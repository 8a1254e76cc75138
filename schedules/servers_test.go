package schedules

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/nodes"
	"warren/pool"
	"warren/problem"
	"warren/runs"
	"warren/store"
	"warren/testnet"
)

// newRigs are servers on one database, each with a data folder of its own.
func newRigs(t testing.TB, count int) (all []*rig) {
	t.Helper()
	o := store.Options{Database: testnet.Postgres(t)}
	for i := range count {
		all = append(all, newRigOn(t, o, func(c *runs.Config) {
			c.Node = fmt.Sprint("node", i)
			if i == 0 {
				o.SecretKeyFile = filepath.Join(c.Data, "secret.key")
			}
		}))
	}
	return all
}

// TestOccurrencesOfTwoServers: each occurrence runs on one of two servers that look at the same moment.
func TestOccurrencesOfTwoServers(t *testing.T) {
	t.Parallel()
	both := newRigs(t, 2)
	const schedules, rounds = 20, 3
	for range schedules {
		both[0].add(noon, store.InsertScheduleParams{Action: Stop, Tag: new("t")})
	}
	for round := range rounds {
		var looking sync.WaitGroup
		for _, r := range both {
			looking.Go(func() { r.tick(t.Context(), noon.Add(time.Duration(round)*time.Second)) })
		}
		looking.Wait()
		for _, r := range both {
			r.occurrences.Wait()
		}
	}
	started := 0
	for _, r := range both {
		var n int
		types := r.types()
		if _, err := fmt.Sscanf(types, "map[schedule.ended:%d", &n); err != nil || strings.Contains(types, "skipped") {
			t.Errorf("%v: %s", err, types)
		}
		started += n
		t.Logf("a server ran %d", n)
	}
	if started != schedules*rounds {
		t.Errorf("%d occurrences ran, want %d", started, schedules*rounds)
	}
	if log := both[0].log.String() + both[1].log.String(); strings.Contains(log, "schedules failed") {
		t.Errorf("the log: %s", log)
	}
}

// TestOverlapOfTwoServers: while one server runs an occurrence, another one skips those after it, and tells of it once. It does not wait
// for a server that is gone, whose late end changes nothing any more.
func TestOverlapOfTwoServers(t *testing.T) {
	t.Parallel()
	both := newRigs(t, 2)
	one, two := both[0], both[1]
	port, letGo := silent(t)
	id := one.add(noon, store.InsertScheduleParams{Action: Check, ProxyIDs: new(fmt.Sprintf("[%q]", one.newProxy(port)))})
	one.tick(t.Context(), noon)
	for i := range 2 {
		two.tick(t.Context(), noon.Add(time.Duration(i+1)*time.Second))
	}
	row, o := two.get(id)
	if row.Skipped != 2 || row.NodeID != "node0" || o.Status != Running || two.goesOn(id) {
		t.Errorf("while it goes on: %+v, %+v", row, o)
	}
	if got := two.types(); got != "map[schedule.skipped:1]" {
		t.Errorf("the other server told %s", got)
	}
	two.alone = true
	two.tick(t.Context(), noon.Add(3*time.Second))
	if row, _ := two.get(id); row.NodeID != "node1" || !two.goesOn(id) {
		t.Errorf("after the end of the server: %+v", row)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	one.record(ended, one.underway[id]) // it comes back
	if _, o := one.get(id); !o.DueAt.Equal(noon.Add(3 * time.Second)) {
		t.Errorf("the late end of an earlier one is kept: %+v", o)
	}
	letGo()
}

// TestInterruptedServer: a server that starts interrupts the occurrences of its own earlier life, not those of another server.
func TestInterruptedServer(t *testing.T) {
	t.Parallel()
	both := newRigs(t, 2)
	ids := map[string]string{}
	for i, r := range both {
		id := r.add(time.Now().Add(time.Hour), store.InsertScheduleParams{Action: Stop, Tag: new("t")})
		row, _ := r.get(id)
		if planned, err := r.plan(t.Context(), row, store.PlanScheduleParams{NextAt: row.NextAt, NodeID: &r.cfg.Node,
			LastRun: Occurrence{Status: Running}.text()}); !planned || err != nil {
			t.Fatal(planned, err)
		}
		ids[fmt.Sprint("node", i)] = id
	}
	over, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); both[1].Keep(over) }()
	testnet.Eventually(t, "the server sees what it left", func() bool {
		_, o := both[1].get(ids["node1"])
		return o.Status == Interrupted
	})
	stop()
	<-ended
	if _, o := both[0].get(ids["node0"]); o.Status != Running {
		t.Errorf("the occurrence of the other server is %s", o.Status)
	}
}

// TestStartWithTwoServers: each server starts the profiles whose data it has. A profile that no server has is placed on one of them.
func TestStartWithTwoServers(t *testing.T) {
	t.Parallel()
	both := newRigs(t, 2)
	with := func(p *store.InsertProfileParams) { p.StartWithServer = true }
	var own []string
	for _, r := range both {
		id := r.newProfile(with)
		r.write(func(q *store.Queries) error {
			return store.ErrorOf(q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: id, NodeID: r.cfg.Node}))
		})
		own = append(own, id)
	}
	const free = 5
	for range free {
		both[0].newProfile(with)
	}
	var starting sync.WaitGroup
	for _, r := range both {
		starting.Go(func() { r.StartWithServer(t.Context()) })
	}
	starting.Wait()
	tried := 0
	for i, r := range both {
		log := r.log.String() // no shim can be started here, so that each start fails
		if strings.Contains(log, "node_unreachable") || strings.Contains(log, own[1-i]) || !strings.Contains(log, own[i]) {
			t.Errorf("server %d: %s", i, log)
		}
		tried += strings.Count(log, "was not started with the server")
	}
	if tried != 2+free {
		t.Errorf("%d profiles were started, want %d", tried, 2+free)
	}
}

// TestStartWithLabels: a profile that no server has starts with a server that has the labels of its placement, and with no other one. One
// whose data a server has starts there, whatever its placement says.
func TestStartWithLabels(t *testing.T) {
	t.Parallel()
	both := newRigs(t, 2)
	want := make([][]string, 2)
	for i, r := range both {
		node := nodes.Alone(nodes.Config{Labels: map[string]string{"zone": fmt.Sprint("z", i)}})
		r.cfg.Elsewhere = node
		other := new(fmt.Sprintf(`{"labels":{"zone":"z%d"}}`, 1-i))
		want[1-i] = append(want[1-i], r.newProfile(func(p *store.InsertProfileParams) { p.StartWithServer, p.Placement = true, other }))
		own := r.newProfile(func(p *store.InsertProfileParams) { p.StartWithServer, p.Placement = true, other })
		r.write(func(q *store.Queries) error {
			return store.ErrorOf(q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: own, NodeID: r.cfg.Node}))
		})
		want[i] = append(want[i], own)
	}
	for i, r := range both {
		r.StartWithServer(t.Context())
		log := r.log.String() // no shim can be started here, so that each start fails
		for k := range both {
			for _, id := range want[k] {
				if strings.Contains(log, id) != (k == i) {
					t.Errorf("server %d, and profile %s of server %d: %s", i, id, k, log)
				}
			}
		}
	}
}

// TestTargetsElsewhere: a schedule acts on a profile whose data another server has by Elsewhere, and fails for it without.
func TestTargetsElsewhere(t *testing.T) {
	t.Parallel()
	both := newRigs(t, 2)
	one := both[0]
	profile := one.newProfile()
	one.write(func(q *store.Queries) error {
		return store.ErrorOf(q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: profile, NodeID: "node1"}))
	})
	ids := new(fmt.Sprintf("[%q]", profile))
	for _, action := range []string{Start, Stop, Snapshot} {
		one.cfg.Elsewhere = nil
		once := store.InsertScheduleParams{Action: action, ProfileIDs: ids, EveryMs: new(int64(1 << 40))}
		id := one.add(noon, once)
		one.at(noon)
		if _, o := one.get(id); o.Status != Failed || len(o.Errors) != 1 || o.Errors[0].Code != "node_unreachable" {
			t.Errorf("%s: %+v", action, o)
		}
		run := make(chan struct{})
		id = one.add(noon, once)
		one.cfg.Elsewhere = other{t, profile, id, run}
		one.tick(t.Context(), noon)
		testnet.Eventually(t, "the target is done, and the run goes on", func() bool {
			row, o := one.get(id)
			return o.Done == 1 && o.Unchanged == int(bit(action == Stop)) && o.Status == Running && row.NodeID == "node0"
		})
		close(run)
		one.occurrences.Wait()
		if _, o := one.get(id); o.Status != Done {
			t.Errorf("%s: %+v", action, o)
		}
	}
}

// other stands for the server that has a profile. It starts a run, and does as if nothing had to be stopped.
type other struct {
	t                 *testing.T
	profile, schedule string
	run               chan struct{}
}

// Best implements Elsewhere.
func (o other) Best(context.Context, store.Profile) ([]string, error) { return []string{"node1"}, nil }

// Labelled implements Elsewhere.
func (o other) Labelled(*string) (bool, error) { return true, nil }

// Act implements Elsewhere.
func (o other) Act(_ context.Context, p store.Profile, of store.Schedule) (bool, <-chan struct{}, error) {
	if p.ID != o.profile || of.ID != o.schedule {
		o.t.Errorf("%s for %s", p.ID, of.ID)
	}
	return of.Action == Stop, o.run, nil
}

// refusing stands for servers that refuse, each with a problem of its own.
type refusing struct {
	best    []string
	refuses map[string]error // by the server's id; nil: it starts the profile
	asked   []string
	place   func() // is called when the second one was asked
}

// Best implements Elsewhere.
func (r *refusing) Best(context.Context, store.Profile) ([]string, error) { return r.best, nil }

// Labelled implements Elsewhere.
func (r *refusing) Labelled(*string) (bool, error) { return true, nil }

// Act implements Elsewhere.
func (r *refusing) Act(_ context.Context, p store.Profile, _ store.Schedule) (bool, <-chan struct{}, error) {
	r.asked = append(r.asked, *p.NodeID)
	if len(r.asked) == 2 && r.place != nil {
		r.place()
	}
	return false, nil, r.refuses[*p.NodeID]
}

// TestFirstStartsElsewhere: a schedule's first start of a profile asks as many servers as a start by a request, and no other one once
// something may have begun. Where the profile has a server meanwhile, that one is asked.
func TestFirstStartsElsewhere(t *testing.T) {
	t.Parallel()
	one := newRigs(t, 2)[0]
	refusal := func(code string) error { return problem.New(problem.Conflict, code, "Refused.") }
	draining, stopping, gone := refusal("node_draining"), refusal(pool.Stopping().Code), refusal("node_unreachable")
	for name, c := range map[string]struct {
		refuses map[string]error
		placed  string // the server that gets it when the second one was asked
		asked   string
		code    string // of the failure; "": it was started
	}{
		"the best":      {nil, "", "a", ""},
		"the next ones": {map[string]error{"a": draining, "b": stopping}, "", "a b c", ""},
		"none":          {map[string]error{"a": draining, "b": stopping, "c": gone}, "", "a b c", "node_unreachable"},
		"unknown":       {map[string]error{"a": gone, "b": refusal("node_failed")}, "", "a b", "node_failed"},
		"no room":       {map[string]error{"a": refusal("quota_exceeded")}, "", "a", "quota_exceeded"},
		"meanwhile":     {map[string]error{"a": gone, "b": gone}, "d", "a b d", ""},
	} {
		id := one.newProfile()
		r := &refusing{best: []string{"a", "b", "c", "d"}, refuses: c.refuses}
		if c.placed != "" {
			r.place = func() {
				one.write(func(q *store.Queries) error {
					return store.ErrorOf(q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: id, NodeID: c.placed}))
				})
			}
		}
		one.cfg.Elsewhere = r
		schedule := one.add(noon, store.InsertScheduleParams{Action: Start, ProfileIDs: new(fmt.Sprintf("[%q]", id)),
			EveryMs: new(int64(1 << 40))})
		one.at(noon)
		_, o := one.get(schedule)
		code := ""
		if len(o.Errors) > 0 {
			code = o.Errors[0].Code
		}
		if asked := strings.Join(r.asked, " "); asked != c.asked || code != c.code || (o.Done == 1) != (c.code == "") {
			t.Errorf("%s: %s were asked, want %s; %+v", name, asked, c.asked, o)
		}
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// TestLostAnswers: the answer to a COMMIT of a schedule is lost with its connection. The occurrence that it has taken runs once, and the
// end that it has recorded is recorded once. Another server does not take it for one that goes on.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	database := testnet.Postgres(t)
	link := testnet.LinkTo(t, database)
	r := newRigOn(t, store.Options{Database: link.Through(t, database)}, func(c *runs.Config) { c.Node = "node0" })
	id := r.add(noon, store.InsertScheduleParams{Action: Stop, Tag: new("t")})
	for skip := range 2 { // the plan, and the end
		at := noon
		if row, _ := r.get(id); row.NextAt != nil {
			at = time.UnixMilli(*row.NextAt)
		}
		lost := link.LoseAnswer("commit\x00", skip)
		r.tick(t.Context(), at)
		r.occurrences.Wait()
		testnet.AwaitClosed(t, "the answer is lost", lost, testnet.Patience)
	}
	if got := r.types(); got != "map[schedule.ended:2 schedule.started:2]" {
		t.Errorf("told %s", got)
	}
	if _, o := r.get(id); o.Status != Done {
		t.Errorf("the last occurrence is %s", o.Status)
	}
}
