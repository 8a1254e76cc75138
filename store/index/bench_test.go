package index

import (
	"os"
	"runtime"
	"strconv"
	"testing"
)

// benchRows is the number of rows: WARREN_BENCH_ROWS (a million, say), or few.
func benchRows(b *testing.B) int {
	n := 20_000
	if text := os.Getenv("WARREN_BENCH_ROWS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	return n
}

// BenchmarkFind shows what lists cost.
func BenchmarkFind(b *testing.B) {
	n := benchRows(b)
	table := aTable()
	table.Apply(manyRows(n), nil)
	for name, q := range mixtures(n) {
		b.Run(name, func(b *testing.B) {
			found := table.Find(q)
			b.ReportMetric(float64(found.Looked), "looked")
			for b.Loop() {
				table.Find(q)
			}
		})
	}
}

// BenchmarkFirst shows what the first list of an order costs: of all rows, and then of a small workspace among them.
func BenchmarkFirst(b *testing.B) {
	n := benchRows(b)
	table := aTable()
	table.Apply(manyRows(n), nil)
	small := manyRows(100)
	for _, row := range small {
		row.ID, row.Workspace = "small "+row.ID, "small"
	}
	table.Apply(small, nil)
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			clear(table.trees)
			clear(table.columns)
			table.Find(Query{Order: 1, Limit: 20})
		}
	})
	b.Run("small", func(b *testing.B) {
		for b.Loop() {
			delete(table.trees, place{group{workspace: "small"}, 1})
			table.Find(Query{Order: 1, Limit: 20, Workspaces: []string{"small"}})
		}
	})
}

// BenchmarkApply shows what a new row costs, and a changed one, with all orders in use.
func BenchmarkApply(b *testing.B) {
	n := benchRows(b)
	rows := manyRows(n)
	table := aTable()
	table.Apply(rows, nil)
	for order := range 3 {
		table.Find(Query{Order: order, Limit: 1})
		table.Find(Query{Order: order, Limit: 1, Workspaces: []string{"big"}})
	}
	b.Run("new", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			row := *rows[i%n]
			row.ID += strconv.Itoa(i)
			table.Apply([]*Row{&row}, nil)
		}
	})
	b.Run("another number", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			row := *rows[i%n]
			row.Sort = []Value{row.Sort[0], row.Sort[1], {Number: int64(i)}}
			table.Apply([]*Row{&row}, nil)
		}
	})
}

// BenchmarkLoad shows what a table costs: its time a row, its bytes beside those of the rows themselves, and its first list.
func BenchmarkLoad(b *testing.B) {
	n := benchRows(b)
	rows := manyRows(n)
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := held()
		table := aTable()
		for part := 0; part < n; part += 1000 {
			table.Apply(rows[part:min(n, part+1000)], nil)
		}
		b.ReportMetric(float64(held()-before)/float64(n), "B/row")
		table.Find(Query{Limit: 1})
		b.ReportMetric(float64(held()-before)/float64(n), "B/row-listed")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
}
