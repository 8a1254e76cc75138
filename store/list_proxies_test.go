package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pool inserts proxies with many ties, and some that lack a sort key.
func pool(t testing.TB, s *Store, n int) []Proxy {
	t.Helper()
	ctx := context.Background()
	ensure(t, s, "a", "b", "c")
	for from := 0; from < n; from += 1000 {
		mustWrite(t, s, func(q *Queries) error {
			for i := from; i < min(n, from+1000); i++ {
				p := aProxy([]string{"a", "b", "c"}[i%3], fmt.Sprintf("h%d.example", i*7%11))
				p.Port, p.Username = int64(i%65535+1), fmt.Sprint("User", i%13)
				p.Type = []string{"socks5", "http", "https", "socks4"}[i*5%4]
				p.Name, p.Notes = []string{"", "one", "One", "Über", "über", "two"}[i%6], []string{"", "First NOTE", "second"}[i*5%3]
				p.Tags = *jsonText([][]string{{}, {"Work"}, {"work", "Ärger"}, {"wörk", "work x"}}[i*11%4])
				p.CreatedAt, p.UpdatedAt = int64(i/50), int64(i%7)
				if _, err := q.InsertProxy(ctx, p); err != nil {
					return err
				}
				var latency any
				if i%4 != 0 {
					latency = i * 13 % 50
				}
				if _, err := q.db.ExecContext(ctx,
					"UPDATE proxies SET status = ?2, country = ?3, latency_ms = ?4, checked_at = ?5 WHERE id = ?1", p.ID,
					[]string{"unknown", "alive", "dead"}[i%3], []string{"", "DE", "FR"}[i*3%7%3], latency, i%5); err != nil {
					return err
				}
			}
			return nil
		})
	}
	page, err := s.ListProxies(ctx, ProxyList{Limit: -1})
	if err != nil || len(page.Rows) != n {
		t.Fatalf("%d proxies, %v", len(page.Rows), err)
	}
	return page.Rows
}

// modelProxies is an independent model of ListProxies. It moves rows without a key behind the others after a stable
// sort.
func modelProxies(all []Proxy, l ProxyList) (ids []string) {
	var out []Proxy
	for _, p := range all {
		if modelSeesProxy(p, l.ProxyFilter) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Proxy) int { return strings.Compare(a.ID, b.ID) })
	latency := func(p Proxy) int64 {
		if p.LatencyMs == nil {
			return 0
		}
		return *p.LatencyMs
	}
	slices.SortStableFunc(out, func(a, b Proxy) int {
		return map[string]int{"": cmp.Compare(a.CreatedAt, b.CreatedAt), "createdAt": cmp.Compare(a.CreatedAt, b.CreatedAt),
			"updatedAt": cmp.Compare(a.UpdatedAt, b.UpdatedAt), "name": strings.Compare(Fold(a.Name), Fold(b.Name)),
			"host": strings.Compare(a.Host, b.Host), "country": strings.Compare(a.Country, b.Country),
			"latency": cmp.Compare(latency(a), latency(b)), "checkedAt": cmp.Compare(a.CheckedAt, b.CheckedAt)}[l.Sort]
	})
	if !l.Ascending {
		slices.Reverse(out)
	}
	var with, without []string
	for _, p := range out {
		if l.Sort == "country" && p.Country == "" || l.Sort == "latency" && p.LatencyMs == nil ||
			l.Sort == "checkedAt" && p.CheckedAt == 0 {
			without = append(without, p.ID)
		} else {
			with = append(with, p.ID)
		}
	}
	return append(with, without...)
}

func modelSeesProxy(p Proxy, f ProxyFilter) bool {
	var workspaces, tags []string
	if f.Workspaces != nil {
		_ = json.Unmarshal([]byte(*f.Workspaces), &workspaces)
	}
	_ = json.Unmarshal([]byte(p.Tags), &tags)
	for _, wanted := range f.Tags {
		if !slices.ContainsFunc(tags, func(tag string) bool { return Fold(tag) == Fold(wanted) }) {
			return false
		}
	}
	found := modelFinds(f.Search, p.ID, p.Name, p.Notes, p.Host, p.Username)
	return found && (f.Workspaces == nil || slices.Contains(workspaces, p.WorkspaceID)) &&
		(f.WorkspaceID == "" || f.WorkspaceID == p.WorkspaceID) &&
		(f.Type == "" || f.Type == p.Type) && (f.Status == "" || f.Status == p.Status) && (f.Country == "" || f.Country == p.Country)
}

// For every query, pages by offset and pages by after are the list: each row once, with the right total.
func TestProxyListsEqualAModel(t *testing.T) {
	s := openTest(t)
	all := pool(t, s, 300)
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		l := ProxyList{Ascending: rapid.Bool().Draw(rt, "ascending"), Limit: rapid.IntRange(1, 120).Draw(rt, "limit")}
		l.Sort = rapid.SampledFrom([]string{"", "createdAt", "updatedAt", "name", "host", "country", "latency", "checkedAt"}).
			Draw(rt, "sort")
		l.Workspaces = rapid.SampledFrom([]*string{nil, nil, Only([]string{"a"}).Filter(), Only([]string{"a", "b"}).Filter(),
			Only([]string{}).Filter()}).Draw(rt, "workspaces")
		l.WorkspaceID = rapid.SampledFrom([]string{"", "a", "b", "unknown"}).Draw(rt, "workspace")
		if rapid.Bool().Draw(rt, "filtered") {
			l.Search = rapid.SampledFrom([]string{"", "o", "ÜBER", "note", "USER1", "h1.", "%", "'"}).Draw(rt, "search")
			l.Tags = rapid.SampledFrom([][]string{nil, {"WORK"}, {"work", "ärger"}, {"wor"}, {""}}).Draw(rt, "tags")
			l.Status = rapid.SampledFrom([]string{"", "alive", "dead"}).Draw(rt, "status")
			l.Type = rapid.SampledFrom([]string{"", "http"}).Draw(rt, "type")
			l.Country = rapid.SampledFrom([]string{"", "DE"}).Draw(rt, "country")
		}
		want := modelProxies(all, l)
		for _, byAfter := range []bool{true, false} {
			part, got := l, []string{}
			for {
				page, err := s.ListProxies(ctx, part)
				if err != nil || page.Total != int64(len(want)) {
					rt.Fatalf("%+v: total %d, want %d, %v", part, page.Total, len(want), err)
				}
				for _, p := range page.Rows {
					got = append(got, p.ID)
				}
				if page.More != (len(got) < len(want)) || len(page.Rows) > l.Limit {
					rt.Fatalf("%+v: more %v after %d of %d", part, page.More, len(got), len(want))
				}
				if !page.More {
					break
				}
				if byAfter {
					part.After = got[len(got)-1]
				} else {
					part.Offset += int64(l.Limit)
				}
			}
			if !slices.Equal(got, append([]string{}, want...)) {
				rt.Fatalf("%+v (after: %v): got %v, want %v", l, byAfter, got, want)
			}
		}
		if ids, err := s.ProxyIDs(ctx, l); err != nil || !slices.Equal(ids, append([]string{}, want...)) {
			rt.Fatalf("%+v: ids %v %v", l, ids, err)
		}
	})
}
