package api

import (
	"slices"
	"testing"
)

// TestMoreProfileFilters: what lists of profiles filter by beside their own members. A running profile is where its run comes out.
func TestMoreProfileFilters(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	a := newAPI(t)
	german, dead, fresh := a.proxy(t, "host", "a.example"), a.proxy(t, "host", "b.example"), a.proxy(t, "host", "c.example")
	spare := a.proxy(t, "host", "d.example")
	ids := map[string]string{"de": a.profile(t, "proxyId", german), "dead": a.profile(t, "proxyId", dead),
		"fresh": a.profile(t, "proxyId", fresh), "direct": a.profile(t), "runs": a.profile(t, "proxyId", german),
		"missing": a.profile(t, "proxyId", spare)}
	a.do(t, "DELETE", "/profiles/"+ids["missing"], nil).want(t, 204)
	a.do(t, "DELETE", "/proxies/"+spare, nil).want(t, 204)
	a.do(t, "POST", "/profiles/"+ids["missing"]+"/restore", nil).want(t, 200)
	unused := a.proxy(t, "host", "e.example")
	a.rewrite(t, "UPDATE proxies SET status = 'alive', country = 'DE' WHERE id = ?", german)
	a.rewrite(t, "UPDATE proxies SET status = 'dead', country = 'FR' WHERE id = ?", dead)
	a, _ = a.adopt(t, ids["runs"], "default", "cap") // nobody knows where it comes out
	check := func(query string, want ...string) {
		t.Helper()
		wantIDs := []string{}
		for _, name := range want {
			wantIDs = append(wantIDs, ids[name])
		}
		r := a.do(t, "GET", "/profiles?"+query, nil).want(t, 200)
		got := r.each("id")
		slices.Sort(got)
		if slices.Sort(wantIDs); !slices.Equal(got, wantIDs) {
			t.Errorf("%s: got %d profiles, want %v: %.500s", query, len(got), want, r)
		}
		r.equal(t, "total", len(want))
	}
	check("country=DE", "de")
	check("country=de&proxyStatus=alive", "de")
	check("country=fr&status=stopped&os=linux&neverStarted=true", "dead")
	check("proxyStatus=alive", "de", "runs")
	check("proxyStatus=dead", "dead")
	check("proxyStatus=unknown", "fresh")
	check("proxyStatus=unchecked", "fresh")
	check("proxyId=none", "direct")
	check("proxyId=missing", "missing")
	check("neverStarted=false", "runs")
	check("neverStarted=true&proxyId="+german, "de")
	a.do(t, "GET", "/profiles?country=DEU&proxyStatus=ill&neverStarted=perhaps", nil).invalid(t, "query.country", "query.neverStarted",
		"query.proxyStatus")
	a.rewrite(t, "UPDATE proxies SET status = 'dead', country = 'GB' WHERE id = ?", german)
	check("country=DE")
	check("country=gb", "de")
	check("proxyStatus=dead", "dead", "de", "runs")
	for query, want := range map[string]int{"true": 1, "false": 3} {
		a.do(t, "GET", "/proxies?unused="+query, nil).want(t, 200).equal(t, "total", want)
	}
	a.do(t, "GET", "/proxies?unused=true", nil).equal(t, "data.0.id", unused)
}
