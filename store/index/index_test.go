package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// aTable has orders by number and by text, and one that rows may lack.
func aTable() *Table { return New(Order{}, Order{Text: true}, Order{}) }

// smallZones is aTable with zones of a few rows, so that few rows have many zones.
func smallZones() *Table {
	t := aTable()
	t.zoneSlots = 4
	return t
}

// aRow draws a row from a small world, so that there are many ties and changes.
func aRow(t *rapid.T) *Row {
	texts := []string{"shop 4711\nberlin", "Лавка 12\n", "店铺 東京\nnote", "shop\nshopping x_y", "🦊🦊🦊🦊 fox", "",
		"fish ash4", "a\nb", "ab\nabc 4711"}
	row := &Row{ID: fmt.Sprintf("019b76da-%02d", rapid.IntRange(0, 40).Draw(t, "id")),
		Workspace: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "workspace"), Trashed: rapid.IntRange(0, 3).Draw(t, "trashed") == 0,
		Text: rapid.SampledFrom(texts).Draw(t, "text"),
		Sort: []Value{{Number: int64(rapid.IntRange(-2, 2).Draw(t, "number"))},
			{Text: rapid.SampledFrom([]string{"", "a", "same beginning 1", "same beginning 2", "z"}).Draw(t, "word")},
			{Number: int64(rapid.IntRange(0, 2).Draw(t, "third")), None: rapid.Bool().Draw(t, "none")}}}
	if row.Sort[2].None {
		row.Sort[2].Number = 0
	}
	for _, term := range []string{"os:win", "tag:shop", "tag:de"} {
		if rapid.Bool().Draw(t, term) {
			row.Terms = append(row.Terms, term)
		}
	}
	if proxy := rapid.SampledFrom([]string{"", "proxy:1", "proxy:2"}).Draw(t, "proxy"); proxy != "" {
		row.Terms = append(row.Terms, proxy)
	}
	return row
}

// aQuery draws a query. Its place is of a row that is there, was there, or never was.
func aQuery(t *rapid.T) Query {
	workspaces := [][]string{nil, nil, {"a"}, {"b"}, {"a", "c"}, {"none"}, {"a", "b", "none"}, {}}
	searches := []string{"", "", "s", "sh", "hop", "shop", "4711", "лавка", "東", "店铺", "🦊🦊🦊🦊", "_", "p 4", "b 4711", "berlin\nx", "11\nber",
		"019b76da", "019b76da-1", "019b76da-07"}
	q := Query{Workspaces: rapid.SampledFrom(workspaces).Draw(t, "workspaces"), Trashed: rapid.Bool().Draw(t, "trashed"),
		Order: rapid.IntRange(0, 2).Draw(t, "order"), Ascending: rapid.Bool().Draw(t, "ascending"),
		Offset: int64(rapid.SampledFrom([]int{0, 0, 1, 5, 100}).Draw(t, "offset")),
		Limit:  rapid.SampledFrom([]int{-1, 0, 1, 3, 50}).Draw(t, "limit"), Search: rapid.SampledFrom(searches).Draw(t, "search"),
		CountTo: rapid.SampledFrom([]int{0, 3, 100}).Draw(t, "count"), ExactTotal: rapid.Bool().Draw(t, "exact"),
		Terms: rapid.SampledFrom([][]string{nil, nil, {"tag:shop"}, {"os:win", "tag:de"}, {"tag:none"}, {"exit:DE"}, {"exit:FR", "dead"}}).
			Draw(t, "terms")}
	if rapid.Bool().Draw(t, "fixed") {
		q.Fixes = []Fix{{Term: "exit:FR", Has: []string{aRow(t).ID, aRow(t).ID, "none"}, Lacks: []string{"none"}},
			{Term: "exit:DE", Lacks: []string{aRow(t).ID, aRow(t).ID}}}
	}
	if rapid.Bool().Draw(t, "after") {
		row := aRow(t)
		q.After = &Place{Value: row.Sort[q.Order], ID: row.ID}
	}
	return q
}

// model finds rows in a plain slice. implied has what terms imply.
func model(rows map[string]*Row, implied map[string][]string, q Query) (page []*Row, total int) {
	var all []*Row
	for _, row := range rows {
		if row.Trashed == q.Trashed && (q.Workspaces == nil || slices.Contains(q.Workspaces, row.Workspace)) &&
			modelHas(row, implied, q) && modelFits(row, q) {
			all = append(all, row)
		}
	}
	slices.SortFunc(all, func(a, b *Row) int { return modelCompare(q, a.Sort[q.Order], a.ID, b.Sort[q.Order], b.ID) })
	total = len(all)
	if q.After != nil {
		all = slices.DeleteFunc(all, func(row *Row) bool {
			return modelCompare(q, row.Sort[q.Order], row.ID, q.After.Value, q.After.ID) <= 0
		})
	}
	return all[min(int(q.Offset), len(all)):], total
}

// modelHas reports whether a row has the terms of a query.
func modelHas(row *Row, implied map[string][]string, q Query) bool {
	all := slices.Clone(row.Terms)
	for _, term := range row.Terms {
		all = append(all, implied[term]...)
	}
	for _, fix := range q.Fixes {
		if slices.Contains(fix.Lacks, row.ID) {
			all = slices.DeleteFunc(all, func(term string) bool { return term == fix.Term })
		}
		if slices.Contains(fix.Has, row.ID) {
			all = append(all, fix.Term)
		}
	}
	return !slices.ContainsFunc(q.Terms, func(term string) bool { return !slices.Contains(all, term) })
}

func modelFits(row *Row, q Query) bool {
	letters := utf8.RuneCountInString(q.Search)
	if letters == 0 || letters >= 8 && strings.HasPrefix(row.ID, q.Search) {
		return true
	}
	return slices.ContainsFunc(strings.Split(row.Text, "\n"), func(field string) bool {
		if letters > 2 {
			return strings.Contains(field, q.Search)
		}
		before, word := ' ', false
		for at, r := range field {
			letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
			begins := !letter(r) || !letter(before) || unicode.Is(unicode.Han, r)
			word = word || begins && strings.HasPrefix(field[at:], q.Search)
			before = r
		}
		return word
	})
}

func modelCompare(q Query, a Value, aID string, b Value, bID string) int {
	if a.None != b.None {
		return map[bool]int{true: 1, false: -1}[a.None]
	}
	c := cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.Text, b.Text), strings.Compare(aID, bID))
	if !q.Ascending {
		return -c
	}
	return c
}

func idsOf(rows []*Row) (ids []string) {
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids
}

// After any changes, any list is that of a plain slice.
func TestFindEqualsAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, rows, implied := smallZones(), map[string]*Row{}, map[string][]string{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			var put []*Row
			var removed []string
			for range rapid.IntRange(0, 4).Draw(t, "put") {
				if row := aRow(t); !slices.Contains(idsOf(put), row.ID) {
					put = append(put, row)
				}
			}
			for range rapid.IntRange(0, 2).Draw(t, "removed") {
				if id := aRow(t).ID; !slices.Contains(idsOf(put), id) {
					removed = append(removed, id)
				}
			}
			if rapid.Bool().Draw(t, "imply") {
				i := Implied{Term: rapid.SampledFrom([]string{"proxy:1", "proxy:2", "proxy:3"}).Draw(t, "implies"),
					By: rapid.SampledFrom([][]string{nil, {"dead"}, {"exit:DE"}, {"exit:FR", "dead"}}).Draw(t, "implied")}
				table.Imply([]Implied{i})
				implied[i.Term] = i.By
			}
			table.Apply(put, removed)
			for _, row := range put {
				rows[row.ID] = row
			}
			for _, id := range removed {
				delete(rows, id)
			}
			q := aQuery(t)
			got := table.Find(q)
			want, total := model(rows, implied, q)
			more := q.Limit >= 0 && len(want) > q.Limit
			if more {
				want = want[:q.Limit]
			}
			exact := total <= q.CountTo || q.Search == "" && q.ExactTotal
			if !exact {
				total = q.CountTo
			}
			if !slices.Equal(idsOf(got.Rows), idsOf(want)) || got.More != more || got.Total != int64(total) || got.Exact != exact {
				t.Fatalf("%+v: got %v, more %v, total %d, exact %v; want %v, more %v, total %d, exact %v", q, idsOf(got.Rows), got.More,
					got.Total, got.Exact, idsOf(want), more, total, exact)
			}
		}
		if table.Len() != len(rows) {
			t.Fatalf("%d rows, want %d", table.Len(), len(rows))
		}
	})
}

// An index without rows holds nothing of those that it had.
func TestNothingIsHeldOfRemovedRows(t *testing.T) {
	table := aTable()
	rows := manyRows(1000)
	for range 3 {
		table.Apply(rows, nil)
		for order := range 3 {
			table.Find(Query{Order: order, Limit: 5})
			table.Find(Query{Order: order, Limit: 5, Workspaces: []string{"big"}})
		}
		table.Apply(nil, idsOf(rows))
		if n := table.Len() + len(table.groups) + len(table.terms) + len(table.grams) + len(table.trees) + len(table.builds); n != 0 ||
			len(table.rows) != 1000 || !table.columns[2].none.IsEmpty() {
			t.Errorf("held: %d sets, %d slots", n, len(table.rows))
		}
	}
}

// Readers see each step whole, while an order is sorted and while rows change.
func TestReadersBesideAWriter(t *testing.T) {
	table := aTable()
	rows := manyRows(5000)
	table.Apply(rows, nil)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for reader := range 3 {
		readers.Go(func() {
			for i := reader; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				found := table.Find(Query{Order: i % 3, Ascending: i%2 == 0, Limit: 10, ExactTotal: true})
				if found.Total != 5000 || len(found.Rows) != 10 {
					t.Errorf("%d rows of %d", len(found.Rows), found.Total)
				}
			}
		})
	}
	for i := 1; i < 1000; i++ { // 7i and i are two rows
		row, other := *rows[i*7%5000], *rows[i]
		row.Sort = []Value{{Number: int64(i)}, {Text: fmt.Sprint(i)}, {None: i%2 == 0}}
		other.ID += "-new"
		table.Apply([]*Row{&row, &other}, []string{rows[i].ID})
		table.Apply([]*Row{rows[i]}, []string{other.ID})
	}
	close(stop)
	readers.Wait()
}

// manyRows are like those of a large installation: every row has the tag shop, a thousandth each a team, and a tenth, the
// oldest, was imported.
func manyRows(n int) []*Row {
	rows := make([]*Row, n)
	for i := range rows {
		rows[i] = &Row{ID: fmt.Sprintf("019b76da-%04x-7%03x-8000-%012x", i>>12, i&4095, i*2654435761&0xffffffffffff), Workspace: "big",
			Sort:  []Value{{Number: int64(i)}, {Text: fmt.Sprint("shop ", i*7919%n)}, {Number: int64(i), None: i%3 == 0}},
			Text:  fmt.Sprintf("shop %d\nopened in %d", i*7919%n, 2000+i%27),
			Terms: []string{"os:" + []string{"win", "mac", "linux"}[i%3], "tag:shop", fmt.Sprint("tag:team-", i%1000)}}
		if i < n/10 {
			rows[i].Terms = append(rows[i].Terms, "tag:imported")
		}
	}
	return rows
}

// mixtures are lists whose cost is measured: those that few rows fit, most, none, and those that lie at the far end.
func mixtures(n int) map[string]Query {
	queries := map[string]Query{}
	for name, q := range map[string]Query{
		"plain": {ExactTotal: true}, "far": {Offset: int64(n / 2), ExactTotal: true}, "one match": {Search: fmt.Sprint("shop ", n-1)},
		"no match": {Search: "nothing"}, "all match": {Search: "opened"}, "two letters": {Search: "sh"},
		"few": {Terms: []string{"tag:team-7"}},
		"all": {Terms: []string{"tag:shop"}}, "a third": {Terms: []string{"os:win"}}, "oldest": {Terms: []string{"tag:imported"}},
		"exclusive": {Terms: []string{"tag:team-7", "tag:team-8"}}, "search and tag": {Search: "2007", Terms: []string{"os:win"}},
		"search and oldest": {Search: "opened", Terms: []string{"tag:imported"}}, "every id": {Search: "019b76da"},
		"an id": {Search: fmt.Sprintf("019b76da-%04x-7%03x", n/2>>12, n/2&4095)},
	} {
		q.Limit, q.CountTo = 20, 10_000
		for order := range 3 {
			q.Order, q.Ascending = order, order == 1
			queries[fmt.Sprint(name, ", order ", order)] = q
		}
	}
	return queries
}

// No list looks at more than some hundredths of the rows one by one, but what it counts and what it chooses from.
func TestNoListWalksTheTable(t *testing.T) {
	const n = 50_000
	table := aTable()
	table.Apply(manyRows(n), nil)
	for name, q := range mixtures(n) {
		found := table.Find(q)
		counted := 0
		if q.Search != "" {
			counted = min(int(found.Total)+1, q.CountTo+1)
		}
		if limit := counted + n/8; found.Looked > limit {
			t.Errorf("%s: looked at %d of %d rows, want %d at most", name, found.Looked, n, limit)
		}
		if found.Total*sortCost > n {
			continue // a walk may look at all rows
		}
		q.Offset = maxChosen + 1
		if behind := table.Find(q); behind.Looked > counted+n/8 || len(behind.Rows) > 0 {
			t.Errorf("%s, behind its end: looked at %d of %d rows, got %d", name, behind.Looked, n, len(behind.Rows))
		}
	}
}
