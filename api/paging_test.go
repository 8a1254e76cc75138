package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"warren/store"
)

// lists are the operations that answer an envelope, with what they take beside page, limit and after.
func listPaths() []string {
	return []string{"/profiles", "/proxies", "/keys", "/workspaces", "/templates", "/schedules", "/webhooks"}
}

// TestPagingBounds: outside its bounds a parameter is refused, and the bound is named.
func TestPagingBounds(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, path := range append(listPaths(), "/audit") {
		for query, want := range map[string]struct{ at, says string }{
			"page=0": {"query.page", "1"}, "page=-1": {"query.page", "1"}, "page=1000000001": {"query.page", "1,000,000,000"},
			"limit=0": {"query.limit", "1"}, "limit=201": {"query.limit", "200"}, "limit=-5": {"query.limit", "1"},
			"page=": {"query.page", "1"}, "limit=": {"query.limit", "1 to 200"}, "page=1.5": {"query.page", ""},
			"page=abc":                  {"query.page", ""},
			"page=99999999999999999999": {"query.page", ""}, "limit=1e1": {"query.limit", ""}, "limit=%2B5": {"query.limit", ""},
			"page=1&page=2": {"query.page", "one"}, "limit=5&limit=5": {"query.limit", "one"}, "after=x&after=y": {"query.after", "once"},
			"page=1&after=x": {"query.after", "page"}, "Page=1": {"query.Page", ""}, "offset=3": {"query.offset", ""}, "=x": {"query.", ""},
			"limit%zz=1": {"query", ""}, "x=1;y=2": {"query", ""},
		} {
			r := a.do(t, "GET", path+"?"+query, nil)
			if query == "limit=%2B5" && r.status == 200 { // +5 is 5
				continue
			}
			r.invalid(t, want.at)
			if !strings.Contains(r.text("errors.0.message"), want.says) {
				t.Errorf("%s?%s: %q does not name the bound %q", path, query, r.text("errors.0.message"), want.says)
			}
		}
		a.do(t, "GET", path+"?page=0&limit=500&nope=1", nil).invalid(t, "query.limit", "query.nope", "query.page")
	}
	for _, query := range []string{"status=asleep", "os=amiga", "sort=size", "order=up", "trashed=maybe",
		"search=" + strings.Repeat("s", 201)} {
		name, _, _ := strings.Cut(query, "=")
		a.do(t, "GET", "/profiles?"+query, nil).invalid(t, "query."+name)
	}
	for _, query := range []string{"type=ftp", "status=asleep", "country=DEU", "country=D", "country=%C3%9C", "sort=size",
		"sort=lastUsed", "order=up", "search=" + strings.Repeat("s", 201), "tag=" + strings.Repeat("x&tag=", 50)} {
		name, _, _ := strings.Cut(query, "=")
		a.do(t, "GET", "/proxies?"+query, nil).invalid(t, "query."+name)
	}
	r := a.do(t, "GET", "/proxies?type=ftp&status=x&country=1&sort=x&order=x&page=0&nope=1", nil)
	r.invalid(t, "query.type", "query.status", "query.country", "query.sort", "query.order", "query.page", "query.nope")
	for _, allowed := range []string{"two letters", "socks5", "alive", "checkedAt", "desc"} {
		if !strings.Contains(string(r.body), allowed) {
			t.Errorf("%s does not name %s", r, allowed)
		}
	}
	// nothing is taken in silence
	for _, path := range []string{"/keys?workspaceId=a", "/workspaces?workspaceId=a", "/runs?page=1", "/proxies?os=win"} {
		if r := a.do(t, "GET", path, nil); r.status != 422 {
			t.Errorf("%s: got %s, want 422", path, r)
		}
	}
}

// TestEnvelope: page counts from 1, limit is 20 by default, total is exact, hasMore says whether objects follow, newest first.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, path := range listPaths() {
		r := a.do(t, "GET", path, nil).want(t, 200)
		for member, want := range map[string]any{"data": []any{}, "total": 0, "totalIsExact": true, "page": 1, "hasMore": false} {
			r.equal(t, member, want)
		}
	}
	const n = 23
	ids := map[string][]string{}
	for i := range n {
		workspace := fmt.Sprintf("w%02d", i)
		ids["/profiles"] = append(ids["/profiles"], a.profile(t, "name", fmt.Sprintf("p%02d", i), "workspaceId", workspace))
		ids["/proxies"] = append(ids["/proxies"], a.proxy(t, "workspaceId", workspace))
		ids["/templates"] = append(ids["/templates"], a.template(t, "workspaceId", workspace))
		ids["/schedules"] = append(ids["/schedules"], a.schedule(t, "workspaceId", workspace))
		ids["/webhooks"] = append(ids["/webhooks"], a.webhook(t, "workspaceId", workspace))
		ids["/workspaces"] = append(ids["/workspaces"], workspace)
		_, id := a.newKey(t, "read")
		ids["/keys"] = append(ids["/keys"], id)
	}
	for _, path := range listPaths() {
		want := ids[path]
		slices.Reverse(want) // newest first
		for _, c := range []struct{ page, limit, count int }{{1, 20, 20}, {2, 20, 3}, {3, 20, 0}, {1, 200, n}, {1, n, n}, {n, 1, 1},
			{n + 1, 1, 0}, {1000000000, 200, 0}} {
			r := a.do(t, "GET", fmt.Sprintf("%s?page=%d&limit=%d", path, c.page, c.limit), nil).want(t, 200)
			from := min(n, (c.page-1)*c.limit)
			if got := r.each("id"); !slices.Equal(got, want[from:from+c.count]) {
				t.Errorf("%s page %d limit %d: %v\nwant %v", path, c.page, c.limit, got, want[from:from+c.count])
			}
			r.equal(t, "total", n)
			r.equal(t, "totalIsExact", true)
			r.equal(t, "page", c.page)
			r.equal(t, "limit", c.limit)
			r.equal(t, "hasMore", from+c.count < n)
		}
		var walked []string
		after := ""
		for range n {
			r := a.do(t, "GET", path+"?limit=7&after="+after, nil).want(t, 200)
			r.equal(t, "total", n)
			walked = append(walked, r.each("id")...)
			r.equal(t, "hasMore", len(walked) < n)
			if r.at("hasMore") != true {
				break
			}
			after = walked[len(walked)-1]
		}
		if !slices.Equal(walked, want) {
			t.Errorf("%s: the walk gives %v\nwant %v", path, walked, want)
		}
		for _, after := range []string{store.NewID(), "no-id", want[n-1], strings.Repeat("x", 500), "%00"} {
			r := a.do(t, "GET", path+"?after="+after, nil).want(t, 200)
			r.equal(t, "data", []any{})
			r.equal(t, "total", n)
			r.equal(t, "hasMore", false)
		}
		a.do(t, "GET", path+"?after=%ff", nil).want(t, 422) // is not UTF-8
		all := a.do(t, "GET", path, nil).want(t, 200)
		if path == "/proxies" { // interface.md knows no paging of proxies: without it, every one
			all.equal(t, "limit", n)
			all.equal(t, "hasMore", false)
			if got := len(all.each("id")); got != n {
				t.Errorf("/proxies gives %d, want all %d", got, n)
			}
			continue
		}
		all.equal(t, "limit", 20)
		all.equal(t, "hasMore", true)
	}
}

// TestProfileFilters: each filter alone and together, with a total that is exact.
func TestProfileFilters(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	proxy := a.proxy(t)
	ids := map[string]string{
		"one":   a.profile(t, "name", "Über One", "tags", []string{"Shop", "de"}, "os", "win", "notes", "first NOTE"),
		"two":   a.profile(t, "name", "two 100%", "tags", []string{"shop"}, "os", "mac", "proxyId", proxy),
		"three": a.profile(t, "name", "three_x", "tags", []string{"shopping", "DE"}, "os", "linux"),
		"four":  a.profile(t, "name", "four", "workspaceId", "other", "os", "win"),
	}
	trashed := a.profile(t, "name", "trashed", "tags", []string{"shop"})
	a.do(t, "DELETE", "/profiles/"+trashed, nil).want(t, 204)
	for query, want := range map[string][]string{
		"search=über": {"one"}, "search=ÜBER": {"one"}, "search=note": {"one"}, "search=100%25": {"two"}, "search=_": {"three"},
		"search=%25":       {"two"},
		"search=one+first": {}, "search=nothing": {}, "search=' OR 1=1 --": {}, "search=": {"one", "two", "three", "four"},
		"tag=shop": {"one", "two"}, "tag=SHOP&tag=de": {"one"}, "tag=shop&tag=": {}, "tag=sho": {}, "tag=DE": {"one", "three"},
		"tag=shop,de": {},
		"os=win":      {"one", "four"}, "os=windows": {"one", "four"}, "os=darwin": {"two"},
		"status=stopped": {"one", "two", "three", "four"}, "status=running": {}, "status=failed": {},
		"proxyId=" + proxy: {"two"}, "proxyId=nobody": {}, "workspaceId=other": {"four"}, "workspaceId=default&os=win": {"one"},
		"workspaceId=nowhere": {},
		"workspaceId=default&search=o&tag=shop&os=win&status=stopped": {"one"}, "search=e": {},
		"trashed=false": {"one", "two", "three", "four"},
	} {
		r := a.do(t, "GET", "/profiles?"+strings.ReplaceAll(query, " ", "%20"), nil).want(t, 200)
		var wantIDs []string
		for _, name := range want {
			wantIDs = append(wantIDs, ids[name])
		}
		got := r.each("id")
		slices.Sort(got)
		slices.Sort(wantIDs)
		if !slices.Equal(got, wantIDs) {
			t.Errorf("%s: got %d profiles, want %v", query, len(got), want)
		}
		r.equal(t, "total", len(want))
		r.equal(t, "hasMore", false)
	}
	a.do(t, "GET", "/profiles?trashed=true&tag=shop", nil).want(t, 200).equal(t, "data.0.id", trashed)
	a.do(t, "GET", "/profiles?trashed=true&search=one", nil).want(t, 200).equal(t, "total", 0)
}

// TestProfileOrders: every order in both directions, walked by pages and by keyset, with ties by id.
func TestProfileOrders(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	type made struct{ id, name string }
	var all []made
	for _, name := range []string{"b", "A", "c", "a", "B", "a", "zz", "Ä", "1", "_"} {
		all = append(all, made{a.profile(t, "name", name), name})
	}
	touched := all[3]
	a.do(t, "PUT", "/profiles/"+touched.id, `{"notes":"touched"}`).want(t, 200)
	fold := func(s string) string { // the case of A to Z alone
		return strings.Map(func(r rune) rune {
			if r >= 'A' && r <= 'Z' {
				return r + 32
			}
			return r
		}, s)
	}
	byName := slices.SortedFunc(slices.Values(all), func(x, y made) int {
		if c := strings.Compare(fold(x.name), fold(y.name)); c != 0 {
			return c
		}
		return strings.Compare(x.id, y.id)
	})
	idsOf := func(in []made) (out []string) {
		for _, m := range in {
			out = append(out, m.id)
		}
		return out
	}
	created := idsOf(all)
	updated := append(slices.DeleteFunc(slices.Clone(created), func(id string) bool { return id == touched.id }), touched.id)
	for sort, want := range map[string][]string{"": created, "createdAt": created, "updatedAt": updated, "name": idsOf(byName),
		"lastStartedAt": created} {
		for _, order := range []string{"asc", "desc", ""} {
			want := slices.Clone(want)
			if order != "asc" {
				slices.Reverse(want)
			}
			query := url.Values{"limit": {"3"}}
			for k, v := range map[string]string{"sort": sort, "order": order} {
				if v != "" {
					query.Set(k, v)
				}
			}
			var pages, walk []string
			for page := 1; page <= 4; page++ {
				pages = append(pages, a.do(t, "GET", fmt.Sprintf("/profiles?page=%d&%s", page, query.Encode()), nil).want(t,
					200).each("id")...)
			}
			for range 5 {
				r := a.do(t, "GET", "/profiles?"+query.Encode(), nil).want(t, 200)
				walk = append(walk, r.each("id")...)
				if r.at("hasMore") != true {
					break
				}
				query.Set("after", walk[len(walk)-1])
			}
			if !slices.Equal(pages, want) || !slices.Equal(walk, want) {
				t.Errorf("sort %q order %q:\npages %v\nwalk  %v\nwant  %v", sort, order, pages, walk, want)
			}
		}
	}
}

// TestTotalsStayExact: creating, deleting, restoring and erasing in two workspaces, the totals follow each step.
func TestTotalsStayExact(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	want := map[string]int{}
	check := func() {
		t.Helper()
		for _, w := range []string{"u", "v"} {
			a.do(t, "GET", "/profiles?workspaceId="+w, nil).want(t, 200).equal(t, "total", want[w])
			a.do(t, "GET", "/profiles?trashed=true&workspaceId="+w, nil).want(t, 200).equal(t, "total", want["trash "+w])
		}
		a.do(t, "GET", "/profiles?limit=1", nil).want(t, 200).equal(t, "total", want["u"]+want["v"])
		a.do(t, "GET", "/profiles?trashed=true&limit=1", nil).want(t, 200).equal(t, "total", want["trash u"]+want["trash v"])
		list := a.do(t, "GET", "/workspaces", nil).want(t, 200)
		for i, id := range list.each("id") {
			list.equal(t, fmt.Sprintf("data.%d.profileCount", i), want[id])
			list.equal(t, fmt.Sprintf("data.%d.trashedCount", i), want["trash "+id])
		}
	}
	check()
	for i := range 3 {
		w := []string{"u", "v"}[i%2]
		id := a.profile(t, "workspaceId", w)
		want[w]++
		check()
		a.do(t, "DELETE", "/profiles/"+id, nil).want(t, 204)
		want[w]--
		want["trash "+w]++
		check()
		switch i % 3 {
		case 0:
			a.do(t, "POST", "/profiles/"+id+"/restore", nil).want(t, 200)
			want[w]++
			want["trash "+w]--
		case 1:
			a.do(t, "DELETE", "/profiles/"+id+"?permanent=true", nil).want(t, 204)
			want["trash "+w]--
		}
		check()
	}
}
