package runs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"warren/events"
	"warren/identity"
	"warren/shim"
	"warren/shim/shimtest"
	"warren/store"
)

// These tests reconcile runs without a browser. A fake process records what it is sent.

// fakeRun is a running run with a fake process.
type fakeRun struct {
	*run
	process *shimtest.Run
	heard   *events.Subscription
}

// startFake starts a run of the profile with its current settings and these proxies.
func (r *rig) startFake(profileID string, proxies ...string) *fakeRun {
	r.t.Helper()
	row := r.row(profileID)
	env := localEnvironment(156)
	env.Proxied = len(proxies) > 0
	resolved, err := identity.Resolve(declared(row), env)
	if err != nil {
		r.t.Fatal(err)
	}
	f := &fakeRun{run: newRun(store.NewID(), profileID, row.WorkspaceID, running)}
	state := shim.State{RunID: f.id, ProfileID: profileID}
	for _, id := range proxies {
		px, err := r.pool.Get(r.t.Context(), store.All(), id)
		if err != nil {
			r.t.Fatal(err)
		}
		state.Upstreams = append(state.Upstreams, shim.UpstreamMark{ID: id, Revision: px.Revision})
	}
	f.process = shimtest.Serve(r.t, r.Manager.dir, f.name, state)
	f.client = shim.Hold(r.Manager.dir, f.name, "")
	rules := hostRules(row)
	f.proxies, f.rules = state.Upstreams, &rules
	f.startedWith = (&plan{row: row, spec: shim.Spec{Identity: shimIdentity(resolved.Values)}, resolved: resolved}).startedWith()
	f.answer = &Started{known: true, Info: Info{ID: profileID, ProfileID: profileID, RunID: f.id, Status: "running",
		Pending: []string{}, Warnings: []Warning{},
		Browser: UsedBrowser{Version: "156.0.8078.79"}, Effective: Effective{Timezone: f.startedWith.Identity.Timezone,
			Geolocation: []byte("null")}}}
	if len(proxies) > 0 {
		f.answer.Proxy = &Egress{ID: proxies[0], Type: "socks5"}
	}
	r.write(func(q *store.Queries) error {
		return q.InsertRun(r.t.Context(), store.InsertRunParams{ID: f.id, ProfileID: profileID, StartedAt: 1, Record: "{}"})
	})
	if _, mine, err := r.claim(f.run); err != nil || !mine {
		r.t.Fatal(mine, err)
	}
	f.heard = r.events.Subscribe(func(string, string) bool { return true }, "")
	r.t.Cleanup(func() {
		f.client.Release()
		r.release(f.run)
	})
	return f
}

// updates counts the events run.updated since the last call. reconcile publishes before it returns.
func (f *fakeRun) updates() (n int) {
	for {
		select {
		case e := <-f.heard.C:
			if e.Type == "run.updated" {
				n++
			}
		default:
			return n
		}
	}
}

// record returns a run's record in the database.
func (r *rig) record(id string) string {
	r.t.Helper()
	row, err := r.store.Read().GetRun(r.t.Context(), store.GetRunParams{ID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return row.Record
}

// set changes a column of a profile.
func (r *rig) set(id, column string, value any) {
	r.t.Helper()
	r.rewrite(`UPDATE profiles SET `+column+` = ? WHERE id = ?`, value, id)
}

// TestReconcile: each change of a profile sends what it must, shows what is pending, and is published and written once.
func TestReconcile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(a *rig, id, other string)
		how     Change
		refuse  string
		sent    string // numbers of upstreams, rules and identities sent
		pending string
		updates int
	}{
		"nothing differs": {func(*rig, string, string) {}, Change{FollowProfile: true}, "", "0 0 0", "[]", 0},
		"another proxy": {func(a *rig, id, other string) { a.set(id, "proxy_id", other) },
			Change{FollowProfile: true}, "", "1 0 0", "[]", 1},
		"another proxy, not followed": {func(a *rig, id, other string) { a.set(id, "proxy_id", other) }, Change{}, "", "0 0 0",
			"[proxyId]", 1},
		"another proxy, refused": {func(a *rig, id, other string) { a.set(id, "proxy_id", other) }, Change{FollowProfile: true},
			"/upstreams", "0 0 0",
			"[proxyId]", 1},
		"no proxy": {func(a *rig, id, _ string) { a.set(id, "proxy_id", nil) }, Change{FollowProfile: true}, "", "0 0 0", "[proxyId]", 1},
		"a fallback": {func(a *rig, id, other string) {
			a.set(id, "fallback_proxy_ids", `["`+other+`"]`)
			a.set(id, "fallback_country", "any")
		},
			Change{FollowProfile: true}, "", "1 0 0", "[]", 0}, // the proxy in use, which the answer shows, stays
		"host rules": {func(a *rig, id, _ string) { a.set(id, "deny_hosts", `["a.example"]`) }, Change{}, "", "0 1 0", "[]", 0},
		"host rules, refused": {func(a *rig, id, _ string) { a.set(id, "deny_hosts", `["a.example"]`) }, Change{}, "/rules",
			"0 0 0", "[denyHosts]", 1},
		"a time zone": {func(a *rig, id, _ string) { a.set(id, "timezone", "Asia/Tokyo") }, Change{}, "", "0 0 1", "[]", 1},
		"a time zone, refused": {func(a *rig, id, _ string) { a.set(id, "timezone", "Asia/Tokyo") }, Change{}, "/identity", "0 0 0",
			"[timezone]", 1},
		"what needs a start": {func(a *rig, id, _ string) { a.set(id, "os", "win"); a.set(id, "headless", 0) }, Change{}, "",
			"0 0 0", "[headless os]", 1},
		"a name": {func(a *rig, id, _ string) { a.set(id, "name", "n") }, Change{}, "", "0 0 0", "[]", 0},
		"all at once": {func(a *rig, id, other string) {
			a.set(id, "proxy_id", other)
			a.set(id, "deny_hosts", `["a.example"]`)
			a.set(id, "timezone", "Asia/Tokyo")
			a.set(id, "os", "win")
		}, Change{FollowProfile: true}, "", "1 1 1", "[os]", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newRig(t)
			own, other := a.newProxy("own.example", 1080), a.newProxy("other.example", 1080)
			id := a.newProfile(func(p *store.InsertProfileParams) { p.ProxyID = &own })
			f := a.startFake(id, own)
			before := a.record(f.id)
			c.change(a, id, other)
			f.process.Refuse(c.refuse, true)
			swap := a.reconcile(t.Context(), f.run, c.how)
			sent := fmt.Sprint(len(f.process.Upstreams()), len(f.process.Rules()), len(f.process.Identities()))
			if sent != c.sent || swap.Swapped != strings.HasPrefix(c.sent, "1") {
				t.Errorf("sent %s, swapped %v; want %s", sent, swap.Swapped, c.sent)
			}
			_, shown := a.Status(id, "running")
			if got := fmt.Sprint(shown.Pending); got != c.pending {
				t.Errorf("pending %s, want %s", got, c.pending)
			}
			if n := f.updates(); n != c.updates {
				t.Errorf("run.updated %d times, want %d", n, c.updates)
			}
			if written := a.record(f.id) != before; written != (c.updates > 0) {
				t.Errorf("written %v", written)
			}
			again := a.reconcile(t.Context(), f.run, c.how)
			if c.refuse == "" && (again.Swapped || f.updates() > 0) {
				t.Errorf("a second pass swaps: %v", again)
			}
		})
	}
}

// TestReconcileShowsTheProxyInUse: the run shows the proxy that new connections go through.
func TestReconcileShowsTheProxyInUse(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	own, other := a.newProxy("own.example", 1080), a.newProxy("other.example", 1080)
	id := a.newProfile(func(p *store.InsertProfileParams) { p.ProxyID = &own })
	f := a.startFake(id, own)
	f.answer.Proxy.Country = new("DE")
	if exits, err := a.Exits(t.Context()); err != nil || len(exits) != 1 || exits[id] != "DE" {
		t.Errorf("it comes out at %v, want DE", exits)
	}
	a.set(id, "proxy_id", other)
	a.reconcile(t.Context(), f.run, Change{FollowProfile: true, CloseOld: true})
	if exits, err := a.Exits(t.Context()); err != nil || len(exits) != 1 || exits[id] != "" {
		t.Errorf("through another proxy it comes out at %v, which is unknown", exits)
	}
	sent := f.process.Upstreams()
	if len(sent) != 1 || !sent[0].CloseOld || !sent[0].ResetFailover || len(sent[0].List) != 1 || sent[0].List[0].ID != other {
		t.Errorf("the process was sent %+v", sent)
	}
	if _, shown := a.Status(id, "running"); shown.Proxy == nil || shown.Proxy.ID != other {
		t.Errorf("the run shows %+v", shown.Proxy)
	}
	if !strings.Contains(a.record(f.id), other) {
		t.Errorf("the database has %s", a.record(f.id))
	}
}

// TestReconcileOnlyWhatRuns: a run that is stopping or has ended is not changed.
func TestReconcileOnlyWhatRuns(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	id := a.newProfile()
	f := a.startFake(id)
	a.set(id, "timezone", "Asia/Tokyo")
	f.to(stopping)
	a.reconcile(t.Context(), f.run, Change{})
	if n := len(f.process.Identities()); n != 0 || f.updates() != 0 {
		t.Errorf("%d identities were sent", n)
	}
}

// TestChangesAtOnce: after concurrent changes the run has what its profile says.
func TestChangesAtOnce(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	own := a.newProxy("own.example", 1080)
	id := a.newProfile(func(p *store.InsertProfileParams) { p.ProxyID = &own })
	f := a.startFake(id, own)
	zones := []string{"Asia/Tokyo", "Europe/Paris", "America/Lima", "Africa/Cairo"}
	finished := make(chan struct{})
	for _, zone := range zones {
		go func() {
			defer func() { finished <- struct{}{} }()
			a.set(id, "timezone", zone)
			a.reconcile(t.Context(), f.run, Change{FollowProfile: true})
		}()
	}
	for range zones {
		select {
		case <-finished:
		case <-time.After(enough):
			t.Fatal("they wait for each other")
		}
	}
	sent := f.process.Identities()
	want := a.row(id).Timezone
	if _, shown := a.Status(id, "running"); len(sent) == 0 || sent[len(sent)-1].Timezone != want || shown.Effective.Timezone != want {
		t.Errorf("the pages were last sent %+v, the run shows %s, the profile says %s", sent, shown.Effective.Timezone, want)
	}
}
