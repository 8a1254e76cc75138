package runs

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"warren/store"
)

// startOf plans a start and returns the proxy that it picked.
func (a *rig) startOf(t testing.TB, profile, tag, how string, dry bool) (string, *plan) {
	t.Helper()
	p, err := a.plan(t.Context(), a.row(profile), Options{Proxy: Override[ProxyChoice]{true, ProxyChoice{Pick: &Pick{tag, how}}},
		DryRun: dry, Asker: everyone})
	if err != nil {
		t.Fatal(err)
	}
	return p.proxy.ID, p
}

// TestPick: each way of picking takes the right proxy of a tag.
func TestPick(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	var ids, profiles []string
	for i := range 4 {
		ids = append(ids, a.newProxy(fmt.Sprintf("p%d.example", i), 1080, "DE", fmt.Sprint("n", i)))
		profiles = append(profiles, a.newProfile())
	}
	a.newProxy("other.example", 1080, "fr")
	dead := a.newProxy("dead.example", 1080, "de")
	elsewhere := a.newProxyIn("elsewhere", "x", 1, "de")
	err := a.store.Write(t.Context(), func(q *store.Queries) error {
		_, err := q.SetProxyCheck(context.Background(), store.SetProxyCheckParams{ID: dead, Revision: 1, Status: "dead", LastCheck: "{}"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var turns []string
	for i := range 8 {
		dry, _ := a.startOf(t, profiles[i%4], "de", "roundRobin", true)
		id, _ := a.startOf(t, profiles[i%4], "de", "roundRobin", false)
		if turns = append(turns, id); id != dry {
			t.Errorf("a dry run took %s, the start after it %s", dry, id)
		}
	}
	if !slices.Equal(turns, slices.Concat(ids, ids)) {
		t.Errorf("in turn: %q, want %q twice", turns, ids)
	}
	seen := map[string]int{}
	for range 200 {
		id, _ := a.startOf(t, profiles[0], "De", "random", true)
		seen[id]++
	}
	if len(seen) != 4 || seen[dead] > 0 || seen[elsewhere] > 0 {
		t.Errorf("at random: %v, want each of %q", seen, ids)
	}
	first, _ := a.startOf(t, profiles[0], "de", "sticky", false)
	for range 20 {
		if id, p := a.startOf(t, profiles[0], "dE", "sticky", false); id != first || len(p.warnings) > 0 {
			t.Fatalf("sticky took %s, then %s: %v", first, id, p.warnings)
		}
	}
	a.write(func(q *store.Queries) error {
		_, err := q.DeleteProxy(t.Context(), store.DeleteProxyParams{ID: first})
		return err
	})
	if id, _ := a.startOf(t, profiles[0], "de", "sticky", false); id == first {
		t.Error("sticky took one that was deleted")
	}
}

// TestPickLeastUsed: concurrent starts spread over the proxies, and a free proxy is preferred.
func TestPickLeastUsed(t *testing.T) {
	t.Parallel()
	a := newRig(t)
	var ids []string
	for i := range 3 {
		ids = append(ids, a.newProxy(fmt.Sprintf("p%d.example", i), 1080, "de"))
	}
	runs := map[string][]*run{}
	begin := func() string {
		profile := a.newProfile()
		r := newRun("", profile, "default", starting)
		if _, mine, err := a.claim(r); err != nil || !mine {
			t.Fatal(err)
		}
		id, _ := a.startOf(t, profile, "de", "leastUsed", false)
		runs[id] = append(runs[id], r)
		return id
	}
	for range 9 {
		begin()
	}
	for _, id := range ids {
		if len(runs[id]) != 3 {
			t.Errorf("nine starts gave %d to one of three", len(runs[id]))
		}
	}
	freed := ids[2] // picked last, so roundRobin would pick it last
	for _, r := range runs[freed] {
		a.release(r)
	}
	runs[freed] = nil
	for range 3 {
		if id := begin(); id != freed {
			t.Errorf("a start took %s, which has three runs; %s has %d", id, freed, len(runs[freed]))
		}
	}
	for _, list := range runs {
		for _, r := range list {
			a.release(r)
		}
	}
}
