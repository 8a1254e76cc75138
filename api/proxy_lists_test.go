package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestProxyFilters: each filter alone and together, with a total that is exact, with paging and without.
func TestProxyFilters(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ids := map[string]string{
		"one": a.proxy(t, "host", "one.example", "name", "Über One", "tags", []string{"Shop", "de"}, "notes", "first NOTE",
			"username", "Alice"),
		"two":   a.proxy(t, "host", "two.example", "name", "two 100%", "tags", []string{"shop"}, "type", "http"),
		"three": a.proxy(t, "host", "three.example", "name", "three_x", "tags", []string{"shopping", "DE"}, "type", "https"),
		"four":  a.proxy(t, "host", "four.example", "name", "four", "workspaceId", "other", "type", "socks4"),
	}
	a.rewrite(t, "UPDATE proxies SET status = 'alive', country = 'DE', latency_ms = 5, checked_at = 9 WHERE id IN (?, ?)",
		ids["one"], ids["four"])
	a.rewrite(t, "UPDATE proxies SET status = 'dead' WHERE id = ?", ids["two"])
	for query, want := range map[string][]string{
		"search=über": {"one"}, "search=NOTE": {"one"}, "search=alice": {"one"}, "search=100%25": {"two"},
		"search=.example": {"one", "two", "three", "four"}, "search=_": {"three"}, "search=nothing": {}, "search=' OR 1=1 --": {},
		"search=":  {"one", "two", "three", "four"},
		"tag=shop": {"one", "two"}, "tag=SHOP&tag=de": {"one"}, "tag=shop&tag=": {}, "tag=sho": {}, "tag=DE": {"one", "three"},
		"type=socks5": {"one"}, "type=socks5h": {"one"}, "type=http": {"two"}, "type=https": {"three"}, "type=socks4a": {"four"},
		"status=alive": {"one", "four"}, "status=dead": {"two"}, "status=unknown": {"three"}, "country=DE": {"one", "four"},
		"country=de": {"one", "four"}, "country=FR": {},
		"workspaceId=other": {"four"}, "workspaceId=default&country=de": {"one"}, "workspaceId=nowhere&country=de": {},
		"workspaceId=default&search=e&tag=shop&type=socks5&status=alive&country=De": {"one"},
		"sort=latency": {"one", "two", "three", "four"},
	} {
		for _, paging := range []string{"", "&limit=200"} {
			r := a.do(t, "GET", "/proxies?"+strings.ReplaceAll(query, " ", "%20")+paging, nil).want(t, 200)
			wantIDs := []string{}
			for _, name := range want {
				wantIDs = append(wantIDs, ids[name])
			}
			got := r.each("id")
			slices.Sort(got)
			slices.Sort(wantIDs)
			if !slices.Equal(got, wantIDs) {
				t.Errorf("%s: got %d proxies, want %v", query, len(got), want)
			}
			r.equal(t, "total", len(want))
			r.equal(t, "hasMore", false)
		}
	}
	key, _ := a.newKey(t, "read", "other")
	a.as(key).do(t, "GET", "/proxies?country=de", nil).want(t, 200).equal(t, "total", 1)
	a.as(key).do(t, "GET", "/proxies?status=dead", nil).want(t, 200).equal(t, "total", 0)
	a.as(key).do(t, "GET", "/proxies?country=de&after="+ids["one"], nil).want(t, 200).equal(t, "data", []any{})
}

// TestProxyOrders: every order in both directions, walked by pages and by keyset over every row exactly once; what has no value is last.
func TestProxyOrders(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	type made struct {
		id, name, country string
		latency, checked  int
	}
	var all []made
	for i, name := range []string{"b", "A", "c", "a", "", "Ä", "zz", "b"} {
		m := made{name: name, country: []string{"DE", "", "FR"}[i%3], latency: []int{-1, 7, 3, 7}[i%4], checked: i * 5 % 4}
		m.id = a.proxy(t, "name", name, "host", fmt.Sprintf("h%d.example", i*3%5), "port", i+1)
		latency := any(m.latency)
		if m.latency < 0 {
			latency = nil
		}
		a.rewrite(t, "UPDATE proxies SET country = ?, latency_ms = ?, checked_at = ? WHERE id = ?", m.country, latency, m.checked, m.id)
		all = append(all, m)
	}
	for sort, none := range map[string]func(made) bool{"": nil, "createdAt": nil, "updatedAt": nil, "name": nil, "host": nil,
		"country": func(m made) bool { return m.country == "" },
		"latency": func(m made) bool { return m.latency < 0 }, "checkedAt": func(m made) bool { return m.checked == 0 }} {
		whole := map[string][]string{}
		for _, order := range []string{"asc", "desc"} {
			query := url.Values{"order": {order}}
			if sort != "" {
				query.Set("sort", sort)
			}
			want := a.do(t, "GET", "/proxies?"+query.Encode(), nil).want(t, 200).each("id")
			whole[order] = want
			query.Set("limit", "3")
			var pages, walk []string
			for page := 1; page <= 3; page++ {
				pages = append(pages, a.do(t, "GET", fmt.Sprintf("/proxies?page=%d&%s", page, query.Encode()), nil).want(t,
					200).each("id")...)
			}
			for range 4 {
				r := a.do(t, "GET", "/proxies?"+query.Encode(), nil).want(t, 200)
				r.equal(t, "total", len(all))
				walk = append(walk, r.each("id")...)
				if r.at("hasMore") != true {
					break
				}
				query.Set("after", walk[len(walk)-1])
			}
			seen := slices.Clone(walk)
			slices.Sort(seen)
			if len(slices.Compact(seen)) != len(all) || !slices.Equal(pages, want) || !slices.Equal(walk, want) {
				t.Errorf("sort %q order %q:\npages %v\nwalk  %v\nwhole %v", sort, order, pages, walk, want)
			}
		}
		without := map[string]bool{}
		for _, m := range all {
			without[m.id] = none != nil && none(m)
		}
		isIn := func(id string) bool { return without[id] }
		for order, ids := range whole { // those without a value are one block at the end, and the rest is the other order backwards
			if first := slices.IndexFunc(ids, isIn); first >= 0 &&
				slices.ContainsFunc(ids[first:], func(id string) bool { return !without[id] }) {
				t.Errorf("sort %q %s: what has none is not last: %v", sort, order, ids)
			}
		}
		asc, desc := slices.DeleteFunc(slices.Clone(whole["asc"]), isIn), slices.DeleteFunc(slices.Clone(whole["desc"]), isIn)
		slices.Reverse(desc)
		if !slices.Equal(asc, desc) {
			t.Errorf("sort %q: asc %v is not desc backwards %v", sort, asc, desc)
		}
	}
	fastest := a.do(t, "GET", "/proxies?sort=latency&order=asc&limit=1", nil).want(t, 200).text("data.0.id")
	if i := slices.IndexFunc(all, func(m made) bool { return m.id == fastest }); all[i].latency != 3 {
		t.Errorf("the fastest has %d ms", all[i].latency)
	}
}
