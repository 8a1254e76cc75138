package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/problem"
	"warren/runs"
	"warren/store"
)

// good is a server that takes every profile.
func good(id string, change ...func(*Info)) Info {
	one := Info{ID: id, Name: id, State: Up, Browsers: []Browser{{"linux", "156.0.8078.79"}}, Labels: map[string]string{"zone": "berlin"}}
	for _, fn := range change {
		fn(&one)
	}
	return one
}

// TestChoose: which servers may take a profile, in which order, and why the others may not.
func TestChoose(t *testing.T) {
	t.Parallel()
	zone := Wish{Labels: map[string]string{"zone": "berlin"}}
	busyBy := func(percent int64) func(*Info) { return func(n *Info) { n.Pressure = percent } }
	for name, c := range map[string]struct {
		all  []Info
		busy map[string]int64
		want Wish
		ids  []string // or
		why  string   // a part of the error
	}{
		"any":   {[]Info{good("a")}, nil, Wish{}, []string{"a"}, ""},
		"label": {[]Info{good("a"), good("b", func(n *Info) { n.Labels = nil })}, nil, zone, []string{"a"}, ""},
		"another label": {[]Info{good("a")}, nil, Wish{Labels: map[string]string{"zone": "paris"}}, nil,
			`a has the label zone "berlin", not "paris"`},
		"no label": {[]Info{good("a")}, nil, Wish{Labels: map[string]string{"zone": "berlin", "ssd": ""}}, nil,
			`a has no label ssd, which must be ""`},
		"stopped": {[]Info{good("a", func(n *Info) { n.State = Stopped })}, nil, Wish{}, nil, "a is stopped"},
		"unreachable": {[]Info{good("a", func(n *Info) { n.State, n.Seen = Unreachable, time.Minute })}, nil, Wish{}, nil,
			"last seen 1m0s ago"},
		"draining":   {[]Info{good("a", func(n *Info) { n.Draining = true })}, nil, Wish{}, nil, "a is draining"},
		"no browser": {[]Info{good("a", func(n *Info) { n.Browsers = nil })}, nil, Wish{}, nil, "a has no browser"},
		"no room": {[]Info{good("a", func(n *Info) { n.Capacity = 2 })}, map[string]int64{"a": 2}, Wish{}, nil,
			"a has no room: 2 of 2 browsers run"},
		"room": {[]Info{good("a", func(n *Info) { n.Capacity = 2 })}, map[string]int64{"a": 1}, Wish{}, []string{"a"}, ""},
		"each": {[]Info{good("a", func(n *Info) { n.Draining = true }), good("b", func(n *Info) { n.Browsers = nil })}, nil, Wish{}, nil,
			"a is draining; b has no browser"},
		"none": {nil, nil, Wish{}, nil, "No server"},
		"pressure": {[]Info{good("a", busyBy(90)), good("b", busyBy(30)), good("c", busyBy(60))}, nil, Wish{}, []string{"b", "c", "a"},
			""},
		"busy": {[]Info{good("a", busyBy(31)), good("b", busyBy(30))}, map[string]int64{"a": 1, "b": 2}, Wish{}, []string{"a", "b"}, ""},
		"starts since": {[]Info{good("a", busyBy(31)), good("b", busyBy(20), func(n *Info) { n.Running = 5 })},
			map[string]int64{"a": 0, "b": 25}, Wish{}, []string{"a", "b"}, ""},
		"version": {[]Info{good("a"), good("b", busyBy(90), func(n *Info) { n.Browsers = []Browser{{"linux", "150.0.1.2"}} })}, nil,
			Wish{Version: "150"}, []string{"b", "a"}, ""},
		"version of no server": {[]Info{good("a", busyBy(50)), good("b")}, nil, Wish{Version: "15"}, []string{"b", "a"}, ""},
	} {
		got, err := choose(c.all, c.busy, c.want)
		var ids []string
		for _, one := range got {
			ids = append(ids, one.ID)
		}
		if !slices.Equal(ids, c.ids) || (err != nil) != (c.why != "") {
			t.Errorf("%s: %v, %v, want %v", name, ids, err, c.ids)
		}
		if p, ok := errors.AsType[*problem.Error](err); c.why != "" && (!ok || p.Code != "no_server" || p.Kind != problem.Unavailable ||
			p.RetryAfter == 0 || !strings.Contains(p.Message, c.why)) {
			t.Errorf("%s: %v, want %s", name, err, c.why)
		}
	}
}

// TestChooseSpreads: starts within one beat spread over equal servers, also where the beats tell of a little more pressure on one.
func TestChooseSpreads(t *testing.T) {
	t.Parallel()
	all := newServers(t, 1)[0]
	n := all.mustJoin(t)
	write := func(fn func(ctx context.Context, q *store.Queries) error) {
		t.Helper()
		if err := all.st.Write(t.Context(), func(q *store.Queries) error { return fn(t.Context(), q) }); err != nil {
			t.Fatal(err)
		}
	}
	write(func(ctx context.Context, q *store.Queries) error {
		for i, id := range []string{"x", "y", "z"} {
			err := q.ClaimNode(ctx, store.ClaimNodeParams{ID: id, Name: id, Incarnation: id, Labels: `{"zone":"b"}`})
			if err == nil {
				_, err = q.BeatNode(ctx, store.BeatNodeParams{ID: id, Incarnation: id, Browsers: `[{"version":"156.0.1.2"}]`,
					Pressure: int64(20 + 3*i)})
			}
			if err != nil {
				return err
			}
		}
		_, err := q.EnsureWorkspace(ctx, store.EnsureWorkspaceParams{ID: "w"})
		return err
	})
	want, counts := Wish{Labels: map[string]string{"zone": "b"}}, map[string]int{}
	n.cfg.BeatEvery = time.Hour // the rows stay up
	for i := range 300 {
		best, err := n.Choose(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		counts[best[0].ID]++
		write(func(ctx context.Context, q *store.Queries) error {
			id := fmt.Sprint(i)
			if err := insertProfile(ctx, q, id); err != nil {
				return err
			}
			if err := store.ErrorOf(q.PlaceProfile(ctx, store.PlaceProfileParams{ID: id, NodeID: best[0].ID})); err != nil {
				return err
			}
			return store.ErrorOf(q.SetProfileStatus(ctx, store.SetProfileStatusParams{ID: id, Status: []string{"starting", "running",
				"stopping"}[i%3]}))
		})
	}
	for _, id := range []string{"x", "y", "z"} {
		if counts[id] < 98 || counts[id] > 102 {
			t.Errorf("%s got %d of 300: %v", id, counts[id], counts)
		}
	}
	t.Log(counts)
}

// insertProfile makes a profile of the workspace w.
func insertProfile(ctx context.Context, q *store.Queries, id string) error {
	_, err := q.InsertProfile(ctx, store.InsertProfileParams{ID: id, WorkspaceID: "w", Name: id, OS: "linux", Tags: "[]", SearchKey: id,
		StartURLs: "[]", Timezone: "auto", Locale: "auto", Geolocation: "auto", WebRTC: "off", BackgroundTraffic: "refuse",
		AllowLocal: "[]", Consistency: "warn", FallbackProxyIDs: "[]", FallbackCountry: "same", AllowHosts: "[]", DenyHosts: "[]",
		LocalhostVia: "[]", Args: "[]", Extensions: "[]", Passkeys: "off"})
	return err
}

// TestPressureOf: a server is as busy as what it has least of.
func TestPressureOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    runs.Pressure
		want int64
	}{
		{runs.Pressure{}, 0},
		{runs.Pressure{CPU: runs.CPU{Percent: new(31.9)}}, 31},
		{runs.Pressure{CPU: runs.CPU{Percent: new(31.9)}, Memory: &runs.Memory{TotalBytes: 100, AvailableBytes: 25}}, 75},
		{runs.Pressure{Memory: &runs.Memory{TotalBytes: 100, AvailableBytes: 25}, Running: 9, MaxRunning: new(10)}, 90},
		{runs.Pressure{Running: 30, MaxRunning: new(10)}, 100},
		{runs.Pressure{Memory: &runs.Memory{TotalBytes: 100, AvailableBytes: 120}}, 0},
	} {
		if got := pressureOf(c.p); got != c.want {
			t.Errorf("%+v: %d, want %d", c.p, got, c.want)
		}
	}
}

// TestWishOf: a profile's placement and declared version are its wish.
func TestWishOf(t *testing.T) {
	t.Parallel()
	got, err := WishOf(store.Profile{BrowserVersion: "150", Placement: new(`{"labels":{"zone":"berlin"}}`)})
	if err != nil || got.Version != "150" || len(got.Labels) != 1 || got.Labels["zone"] != "berlin" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := WishOf(store.Profile{}); err != nil || got.Version != "" || len(got.Labels) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := WishOf(store.Profile{Placement: new("[]")}); err == nil {
		t.Error("a placement that cannot be read is taken")
	}
}
