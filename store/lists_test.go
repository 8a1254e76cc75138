package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// crowd inserts profiles with many ties: few names, few times, few tags.
func crowd(t *testing.T, s *Store) []Profile {
	t.Helper()
	ctx := context.Background()
	ensure(t, s, "a", "b", "c")
	proxies := map[string]string{}
	names := []string{"one", "One", "two", "Über", "über", "ünder", "x\U0010FFFF", "\U0010FFFF\U0010FFFF", "Straße", "%_\\"}
	mustWrite(t, s, func(q *Queries) error {
		for _, w := range []string{"a", "b", "c"} {
			p := aProxy(w, "host")
			proxies[w] = p.ID
			if _, err := q.InsertProxy(ctx, p); err != nil {
				return err
			}
			if _, err := q.db.ExecContext(ctx, "UPDATE proxies SET status = ?, country = ? WHERE id = ?",
				map[string]string{"a": "alive", "b": "dead", "c": "unknown"}[w],
				map[string]string{"a": "DE", "b": "FR"}[w], p.ID); err != nil {
				return err
			}
		}
		for i := range 300 {
			p := aProfile([]string{"a", "b", "c"}[i%3], names[i%len(names)])
			p.OS = []string{"win", "mac", "linux"}[i*7%3]
			p.Notes = []string{"", "First NOTE", "second"}[i*5%3]
			p.SearchKey = SearchKey(p.Name, p.Notes)
			tags := [][]string{{}, {"Work"}, {"work", "Ärger"}, {"wörk", "work x"}}[i*11%4]
			p.Tags, p.TagsKey = *jsonText(tags), TagsKey(tags)
			p.CreatedAt, p.UpdatedAt = int64(i/50), int64(i%7)
			if i%4 == 0 {
				p.ProxyID = ptr(proxies[p.WorkspaceID])
			}
			if _, err := q.InsertProfile(ctx, p); err != nil {
				return err
			}
			if i%5 == 0 {
				started := int64(i % 3)
				if _, err := q.SetProfileStatus(ctx, SetProfileStatusParams{ID: p.ID, Status: "running",
					LastStartedAt: &started}); err != nil {
					return err
				}
			}
			if i%6 == 0 {
				if _, err := q.TrashProfile(ctx, TrashProfileParams{ID: p.ID, TrashedAt: 9}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	var all []Profile
	for _, trashed := range []bool{false, true} {
		page, err := s.ListProfiles(ctx, ProfileList{ProfileFilter: ProfileFilter{Trashed: trashed}, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Rows...)
	}
	if len(all) != 300 {
		t.Fatalf("%d profiles, want 300", len(all))
	}
	return all
}

// model is ListProfiles in Go, without SQL.
func model(all []Profile, proxies []Proxy, l ProfileList) []Profile {
	var out []Profile
	for _, p := range all {
		if l.Trashed == (p.TrashedAt != nil) && modelSees(p, l.ProfileFilter) && modelOfProxy(p, proxies, l.ProfileFilter) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Profile) int {
		by := map[Order]int{ByCreated: cmp.Compare(a.CreatedAt, b.CreatedAt), ByUpdated: cmp.Compare(a.UpdatedAt, b.UpdatedAt),
			ByStarted: cmp.Compare(a.LastStartedAt, b.LastStartedAt), ByName: cmp.Compare(noCase(a.Name), noCase(b.Name))}[l.Order]
		c := cmp.Or(by, cmp.Compare(a.ID, b.ID))
		if !l.Ascending {
			return -c
		}
		return c
	})
	return out
}

func modelSees(p Profile, f ProfileFilter) bool {
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
	return (f.Workspaces == nil || slices.Contains(workspaces, p.WorkspaceID)) && (f.WorkspaceID == "" || f.WorkspaceID == p.WorkspaceID) &&
		modelFinds(f.Search, p.ID, p.Name, p.Notes) &&
		(f.Status == "" || f.Status == p.Status) && (f.OS == "" || f.OS == p.OS) &&
		(f.Started == nil || *f.Started == (p.LastStartedAt > 0))
}

// modelOfProxy says whether a profile fits the filters by its proxy.
func modelOfProxy(p Profile, proxies []Proxy, f ProfileFilter) bool {
	id := map[bool]string{false: NoProxy, true: MissingProxy}[p.ProxyMissing]
	var of Proxy
	if p.ProxyID != nil {
		id = *p.ProxyID
		of = proxies[slices.IndexFunc(proxies, func(px Proxy) bool { return px.ID == id })]
	}
	country := of.Country
	if exit, running := f.Exits[p.ID]; running {
		country = exit
	}
	return (f.ProxyID == "" || f.ProxyID == id) && (f.ProxyStatus == "" || f.ProxyStatus == of.Status) &&
		(f.Country == "" || f.Country == country)
}

// everyProxy reads all proxies.
func everyProxy(t interface{ Fatal(...any) }, s *Store) []Proxy {
	page, err := s.ListProxies(context.Background(), ProxyList{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	return page.Rows
}

// modelFinds says whether a search finds a row with some texts: one or two letters where a word begins, more anywhere.
func modelFinds(search, id string, texts ...string) bool {
	search = Fold(search)
	letters := utf8.RuneCountInString(search)
	if letters >= 8 && strings.HasPrefix(id, search) {
		return true
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		text = Fold(text)
		if letters == 0 || letters > 2 {
			return strings.Contains(text, search)
		}
		words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		return slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, search) }) ||
			strings.Contains("%_\\'", search[:1]) && strings.Contains(text, search)
	})
}

// aList draws a list to query; half of them have no filters.
func aList(t *rapid.T, all []Profile) ProfileList {
	l := ProfileList{Order: Order(rapid.IntRange(0, 3).Draw(t, "order")), Ascending: rapid.Bool().Draw(t, "ascending"),
		Limit: rapid.IntRange(1, 120).Draw(t, "limit")}
	l.Workspaces = rapid.SampledFrom([]*string{nil, nil, Only([]string{"a"}).Filter(), Only([]string{"a", "b"}).Filter(),
		Only([]string{}).Filter()}).Draw(t, "workspaces")
	l.WorkspaceID = rapid.SampledFrom([]string{"", "a", "b", "unknown"}).Draw(t, "workspace")
	l.Trashed = rapid.Bool().Draw(t, "trashed")
	if rapid.Bool().Draw(t, "filtered") {
		l.Search = rapid.SampledFrom([]string{"", "o", "ÜBER", "note", "strasse", "%", "_", "\\", "'", "e\nf"}).Draw(t, "search")
		l.Tags = rapid.SampledFrom([][]string{nil, {"WORK"}, {"work", "ärger"}, {"wor"}, {"x"}, {""}}).Draw(t, "tags")
		l.Status = rapid.SampledFrom([]string{"", "running", "stopped"}).Draw(t, "status")
		l.OS = rapid.SampledFrom([]string{"", "win"}).Draw(t, "os")
		if rapid.Bool().Draw(t, "of a proxy") {
			l.ProxyID = rapid.SampledFrom([]string{*firstProxy(all, "a"), *firstProxy(all, "b"), "unknown", NoProxy, MissingProxy}).
				Draw(t, "proxy")
		}
		if rapid.Bool().Draw(t, "these alone") { // with all of them few rows are left
			return l
		}
		if rapid.Bool().Draw(t, "others alone") {
			l.ProfileFilter = ProfileFilter{Workspaces: l.Workspaces, WorkspaceID: l.WorkspaceID, Trashed: l.Trashed}
		}
		l.ProxyStatus = rapid.SampledFrom([]string{"", "", "alive", "dead", "unknown"}).Draw(t, "proxy status")
		l.Country = rapid.SampledFrom([]string{"", "", "DE", "FR", "US"}).Draw(t, "country")
		l.Exits = exitsOf(all)
		l.Started = rapid.SampledFrom([]*bool{nil, ptr(true), ptr(false)}).Draw(t, "started")
	}
	return l
}

// exitsOf says where some profiles with and without a proxy come out.
func exitsOf(all []Profile) map[string]string {
	exits := map[string]string{"none": "FR"}
	for i, p := range all[:40] {
		exits[p.ID] = []string{"FR", "DE", "US", ""}[i/10]
	}
	return exits
}

func firstProxy(all []Profile, workspace string) *string {
	i := slices.IndexFunc(all, func(p Profile) bool { return p.WorkspaceID == workspace && p.ProxyID != nil })
	return all[i].ProxyID
}

func idsOf(rows []Profile) string {
	var ids []string
	for _, p := range rows {
		ids = append(ids, p.ID)
	}
	return strings.Join(ids, " ")
}

// For every query, pages by offset and pages by after are the list: each row once, with the right total.
func TestListsEqualAModel(t *testing.T) {
	s := openTest(t)
	all, proxies := crowd(t, s), everyProxy(t, s)
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		l := aList(rt, all)
		if strings.Contains(l.Search, "\n") {
			rt.Skip("a search holds no control characters")
		}
		want := model(all, proxies, l)
		var byOffset, byAfter []Profile
		for _, rows := range []*[]Profile{&byOffset, &byAfter} {
			for {
				page, err := s.ListProfiles(ctx, l)
				if err != nil {
					rt.Fatal(err)
				}
				*rows = append(*rows, page.Rows...)
				if page.Total != int64(len(want)) || page.Rows == nil || len(page.Rows) > l.Limit {
					rt.Fatalf("total %d, %d rows; want total %d, at most %d rows", page.Total, len(page.Rows), len(want), l.Limit)
				}
				if page.More != (len(*rows) < len(want)) {
					rt.Fatalf("more is %v after %d of %d", page.More, len(*rows), len(want))
				}
				if !page.More {
					break
				}
				if rows == &byOffset {
					l.Offset += int64(l.Limit)
				} else {
					l.After = page.Rows[len(page.Rows)-1].ID
				}
			}
			l.Offset = 0
		}
		if idsOf(byOffset) != idsOf(want) || idsOf(byAfter) != idsOf(want) {
			rt.Fatalf("got\n%s\nand\n%s\nwant\n%s", idsOf(byOffset), idsOf(byAfter), idsOf(want))
		}
		found, n, err := s.ProfileIDs(ctx, l, len(all))
		few, count, err2 := s.ProfileIDs(ctx, l, len(want)-1)
		if err != nil || err2 != nil || n != int64(len(want)) || len(found) != len(want) || len(want) > 0 &&
			(found[0] != ProfileID{want[0].ID, want[0].WorkspaceID} || few != nil || count != n) {
			rt.Fatalf("%d ids of %d, %v, %v; with fewer: %d of %d", len(found), n, err, err2, len(few), count)
		}
	})
}

// Profiles that run are found where their runs come out, others where their proxies did.
func TestCountryOfRunningProfiles(t *testing.T) {
	s := openTest(t)
	all, proxies := crowd(t, s), everyProxy(t, s)
	for _, country := range []string{"DE", "FR", "US"} {
		for _, trashed := range []bool{false, true} {
			l := ProfileList{ProfileFilter: ProfileFilter{Trashed: trashed, Country: country, Exits: exitsOf(all)}, Limit: len(all)}
			page, err := s.ListProfiles(context.Background(), l)
			if want := model(all, proxies, l); err != nil || idsOf(page.Rows) != idsOf(want) {
				t.Errorf("%s, %v: got\n%s\nwant\n%s\n%v", country, trashed, idsOf(page.Rows), idsOf(want), err)
			}
		}
	}
}

// A full last page reports that it is the last.
func TestLastPageThatIsFull(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a")
	for i := range 6 {
		putProfile(t, s, aProfile("a", fmt.Sprint(i)))
		mustWrite(t, s, func(q *Queries) error { _, err := q.InsertProxy(ctx, aProxy("a", fmt.Sprint(i))); return err })
	}
	for limit, more := range map[int]bool{0: true, 3: true, 5: true, 6: false, 7: false} {
		for _, system := range []string{"", "linux"} { // both ways to list
			page, err := s.ListProfiles(ctx, ProfileList{ProfileFilter: ProfileFilter{OS: system}, Limit: limit})
			if err != nil || page.More != more || len(page.Rows) != min(limit, 6) {
				t.Errorf("%d of 6 profiles: %d rows, more %v, %v", limit, len(page.Rows), page.More, err)
			}
		}
		page, err := s.ListProxies(ctx, ProxyList{Limit: limit})
		if err != nil || page.More != more || len(page.Rows) != min(limit, 6) {
			t.Errorf("%d of 6 proxies: %d rows, more %v, %v", limit, len(page.Rows), page.More, err)
		}
	}
	for _, offset := range []int64{3, 5} {
		page, err := s.ListProfiles(ctx, ProfileList{Limit: 6 - int(offset), Offset: offset})
		if err != nil || page.More || len(page.Rows) != 6-int(offset) {
			t.Errorf("from %d on: %d rows, more %v, %v", offset, len(page.Rows), page.More, err)
		}
	}
}

func TestAfterWhatIsNotInTheList(t *testing.T) {
	s := openTest(t)
	all := crowd(t, s)
	ofA := func(trashed bool) string {
		i := slices.IndexFunc(all, func(p Profile) bool { return p.WorkspaceID == "a" && p.Trashed == trashed })
		return all[i].ID
	}
	for what, l := range map[string]ProfileList{
		"unknown":               {After: "unknown"},
		"foreign":               {After: ofA(false), ProfileFilter: ProfileFilter{Workspaces: Only([]string{"b", "c"}).Filter()}},
		"of another workspace":  {After: ofA(false), ProfileFilter: ProfileFilter{WorkspaceID: "b"}},
		"of an empty selection": {After: ofA(false), ProfileFilter: ProfileFilter{Workspaces: Only([]string{}).Filter()}},
	} {
		l.Limit = 10
		if page, err := s.ListProfiles(context.Background(), l); err != nil || page.Rows == nil || len(page.Rows) != 0 || page.More {
			t.Errorf("after one that is %s: got %d rows, more %v, %v; want an empty page", what, len(page.Rows), page.More, err)
		}
	}
}

// A row that was moved into or out of the trash keeps its position: the list continues as if it had stayed.
func TestAfterWhatWasMoved(t *testing.T) {
	s := openTest(t)
	all := crowd(t, s)
	for _, trashed := range []bool{false, true} {
		i := slices.IndexFunc(all, func(p Profile) bool { return p.Trashed != trashed })
		var want []Profile
		for _, p := range all {
			if p.Trashed == trashed && (p.CreatedAt < all[i].CreatedAt || p.CreatedAt == all[i].CreatedAt && p.ID < all[i].ID) {
				want = append(want, p)
			}
		}
		slices.SortFunc(want, func(a, b Profile) int { return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ID, a.ID)) })
		page, err := s.ListProfiles(context.Background(), ProfileList{After: all[i].ID,
			ProfileFilter: ProfileFilter{Trashed: trashed}, Limit: len(all)})
		if err != nil || len(want) == 0 || idsOf(page.Rows) != idsOf(want) {
			t.Errorf("trashed %v: %v, got\n%s\nwant\n%s", trashed, err, idsOf(page.Rows), idsOf(want))
		}
	}
}

func TestFilteredListEndsWithItsContext(t *testing.T) {
	s := openTest(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.ListProfiles(ctx, ProfileList{ProfileFilter: ProfileFilter{Search: "x"}, Limit: 10}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestListProxies(t *testing.T) {
	s := openTest(t)
	ctx := context.Background()
	ensure(t, s, "a", "b")
	var want []string // newest first
	mustWrite(t, s, func(q *Queries) error {
		want = nil
		for i := range 50 {
			p := aProxy([]string{"a", "b"}[i%2], fmt.Sprint("host", i))
			p.CreatedAt = int64(i / 10)
			if _, err := q.InsertProxy(ctx, p); err != nil {
				return err
			}
			if i%2 == 0 {
				want = slices.Insert(want, 0, p.ID)
			}
		}
		return nil
	})
	for _, l := range []ProxyList{{ProxyFilter: ProxyFilter{WorkspaceID: "a"}},
		{ProxyFilter: ProxyFilter{Workspaces: Only([]string{"a"}).Filter()}},
		{ProxyFilter: ProxyFilter{Workspaces: Only([]string{"a", "none"}).Filter()}}} {
		var byAfter, byOffset []string
		l.Limit = 7
		for more := true; more; {
			page, err := s.ListProxies(ctx, l)
			if err != nil || page.Total != 25 {
				t.Fatalf("total %d, %v; want 25", page.Total, err)
			}
			for _, p := range page.Rows {
				byAfter = append(byAfter, p.ID)
			}
			l.After, more = page.Rows[len(page.Rows)-1].ID, page.More
		}
		l.After = ""
		for ; l.Offset < 25; l.Offset += 7 {
			page, err := s.ListProxies(ctx, l)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range page.Rows {
				byOffset = append(byOffset, p.ID)
			}
		}
		l.Offset, l.Limit = 0, -1
		page, err := s.ListProxies(ctx, l)
		if err != nil || len(page.Rows) != 25 || page.More || !slices.Equal(byAfter, want) || !slices.Equal(byOffset, want) {
			t.Errorf("%+v: got %v and %v, all %d, %v; want %v", l, byAfter, byOffset, len(page.Rows), err, want)
		}
	}
	for _, l := range []ProxyList{{After: "unknown"}, {After: want[0], ProxyFilter: ProxyFilter{WorkspaceID: "b"}},
		{After: want[0], ProxyFilter: ProxyFilter{Workspaces: Only([]string{"b"}).Filter()}}} {
		l.Limit = -1
		if page, err := s.ListProxies(ctx, l); err != nil || len(page.Rows) != 0 || page.Rows == nil {
			t.Errorf("%+v: got %d rows, %v; want an empty page", l, len(page.Rows), err)
		}
	}
}
