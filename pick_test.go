package main

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"warren/store"
)

// startOf asks for the plan of a start, as a start does, and gives the proxy that it took.
func (a *testAPI) startOf(t testing.TB, profile, tag, how string, dry bool) (string, *plan) {
	t.Helper()
	ctx := adminContext(a)
	row, err := a.srv.profileRow(ctx, profile, false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := a.srv.runs.plan(ctx, row, options{Proxy: override[proxyChoice]{true, proxyChoice{Pick: &pick{tag, how}}}, DryRun: dry, Asker: asker{Sees: store.All()}})
	if err != nil {
		t.Fatal(err)
	}
	return p.proxy.ID, p
}

// TestPick: which proxy of a tag a start takes, by each way of picking.
func TestPick(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var ids, profiles []string
	for i := range 4 {
		ids = append(ids, a.proxy(t, "host", fmt.Sprintf("p%d.example", i), "tags", []string{"DE", fmt.Sprint("n", i)}))
		profiles = append(profiles, a.profile(t))
	}
	a.proxy(t, "host", "other.example", "tags", []string{"fr"})
	dead := a.proxy(t, "host", "dead.example", "tags", []string{"de"})
	elsewhere := a.do(t, "POST", "/proxies", `{"url":"socks5://x:1","workspaceId":"elsewhere","tags":["de"]}`).want(t, 201).text("id")
	err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
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
	a.do(t, "DELETE", "/proxies/"+first, nil).want(t, 204)
	if id, _ := a.startOf(t, profiles[0], "de", "sticky", false); id == first {
		t.Error("sticky took one that was deleted")
	}
}

// TestPickLeastUsed: starts at once spread over the proxies, and one that several runs have is not taken.
func TestPickLeastUsed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var ids []string
	for i := range 3 {
		ids = append(ids, a.proxy(t, "host", fmt.Sprintf("p%d.example", i), "tags", []string{"de"}))
	}
	runs := map[string][]*profileRun{}
	begin := func() string {
		profile := a.profile(t)
		r := newRun(profile, "default", "starting")
		if _, mine, err := a.srv.runs.claim(r); err != nil || !mine {
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
	freed := ids[2] // it was taken last, and would be the last in turn
	for _, r := range runs[freed] {
		a.srv.runs.leave(r)
	}
	runs[freed] = nil
	for range 3 {
		if id := begin(); id != freed {
			t.Errorf("a start took %s, which has three runs; %s has %d", id, freed, len(runs[freed]))
		}
	}
	for _, list := range runs {
		for _, r := range list {
			a.srv.runs.leave(r)
		}
	}
}

// TestPickFaults: what cannot be picked from is refused before anything is started, and nothing goes out directly.
func TestPickFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	start := func(body string) *answer { return a.do(t, "POST", "/profiles/"+id+"/start", body) }
	start(`{"proxyId":{"tag":"none","pick":"random"}}`).refused(t, 409, "no_proxy_to_pick")
	start(`{"proxyId":{"tag":"none","pick":"random"},"dryRun":true}`).refused(t, 409, "no_proxy_to_pick")
	for _, body := range []string{`{"proxyId":{"tag":"de"}}`, `{"proxyId":{"pick":"random"}}`, `{"proxyId":{"tag":"de","pick":"best"}}`, `{"proxyId":{"tag":"","pick":"random"}}`,
		`{"proxyId":{"tag":"de","pick":"random","x":1}}`, `{"proxyId":7}`, `{"proxyId":[]}`} {
		start(body).want(t, 422)
	}
	start(`{"proxyId":"none"}`).invalid(t, "body.proxyId")
}
