// Package index finds rows of large lists in memory: by filters and a search, in any of some orders, from any position.
//
// It keeps bitmaps of the rows that have a term or three letters in a row, and a tree per order that is asked for. It
// has no other state than the rows that it is given, and imports nothing of ours.
package index

import (
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// Order says what an order of the rows compares: texts byte by byte, or numbers.
type Order struct{ Text bool }

// Value is what an order compares of one row. None says that the row lacks it: such rows are last in both directions.
type Value struct {
	Number int64
	Text   string
	None   bool
}

// Row is what the index keeps of a row. Nobody may change it afterwards.
type Row struct {
	ID        string // unique; ties of every order are sorted by it, in the list's direction
	Workspace string
	Trashed   bool
	Sort      []Value  // one per order of the table
	Terms     []string // what filters ask for, such as "os:win" and "tag:shop"; distinct
	Text      string   // folded; what searches look in: fields separated by "\n"
}

// Place is a position in a list: that of a row, which may be gone.
type Place struct {
	Value Value
	ID    string
}

// Query describes a page of a list.
//
// Search has three letters or more: rows whose text contains it. One or two: rows in which a word begins with it; a
// sign, and a letter of a script without spaces, count as words. Eight or more: also rows whose id begins with it. A
// search with a line feed finds nothing.
type Query struct {
	Workspaces []string // nil: all; empty: none
	Trashed    bool
	Terms      []string // all are required
	Fixes      []Fix    // of these terms, for this query alone
	Search     string   // folded; "": none
	Order      int
	Ascending  bool
	After      *Place // only rows behind it
	Offset     int64  // rows to skip
	Limit      int    // -1: all
	CountTo    int    // how far rows are counted
	ExactTotal bool   // count them all, if no search is given
}

// Fix corrects a term for some rows, by their ids: what the index keeps of them is not how they are at the moment.
type Fix struct {
	Term       string
	Has, Lacks []string // ids of no row are skipped
}

// Implied says that each row with a term also has others. A row has at most one term that implies others.
type Implied struct {
	Term string
	By   []string // the others, distinct; none: the term implies nothing
}

// Found is a page of a list.
type Found struct {
	Rows   []*Row
	Total  int64 // of the whole list
	Exact  bool  // false: there are more than Total
	More   bool  // rows follow
	Looked int   // rows that were looked at one by one: the cost
}

// bits is a set of slots.
type bits = *roaring.Bitmap

// group is the rows of a workspace, or of all, inside or outside the trash.
type group struct {
	all       bool
	workspace string
	trashed   bool
}

func groupsOf(row *Row) [2]group {
	return [2]group{{all: true, trashed: row.Trashed}, {workspace: row.Workspace, trashed: row.Trashed}}
}

// Table is an index. It is safe for concurrent use.
type Table struct {
	orders    []Order // and one more by id
	zoneSlots int

	sorting sync.Mutex // held by the caller that sorts an order; taken before mu
	mu      sync.RWMutex
	slots   map[string]uint32 // by id
	rows    []*Row            // by slot; nil: free
	free    []uint32
	groups  map[group]bits
	terms   map[string]bits     // those of rows, and those that these imply
	implied map[string][]string // by the term that implies them
	grams   map[gram]bits
	columns []*column       // per order; nil: nobody has asked for the order
	trees   map[place]*tree // those that were asked for
	builds  map[*build]struct{}
}

// New returns an empty index of rows that can be listed in some orders.
func New(orders ...Order) *Table {
	return &Table{orders: append(slices.Clone(orders), Order{Text: true}), zoneSlots: zoneSlots,
		slots: map[string]uint32{}, groups: map[group]bits{}, terms: map[string]bits{},
		implied: map[string][]string{}, grams: map[gram]bits{},
		columns: make([]*column, len(orders)+1), trees: map[place]*tree{}, builds: map[*build]struct{}{}}
}

// Len returns the number of rows.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.slots)
}

// Apply puts rows in, each in place of the row with its id, and removes the rows of some ids. It is one step for readers.
func (t *Table) Apply(put []*Row, removed []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range removed {
		if slot, ok := t.slots[id]; ok {
			t.replace(slot, t.rows[slot], nil)
			delete(t.slots, id)
			t.free = append(t.free, slot)
		}
	}
	for _, row := range put {
		slot, ok := t.slots[row.ID]
		if !ok {
			slot = t.takeSlot()
			t.slots[row.ID] = slot
		}
		t.replace(slot, t.rows[slot], row)
	}
}

func (t *Table) takeSlot() uint32 {
	if n := len(t.free); n > 0 {
		slot := t.free[n-1]
		t.free = t.free[:n-1]
		return slot
	}
	t.rows = append(t.rows, nil)
	for _, c := range t.columns {
		if c != nil {
			c.grow(len(t.rows))
		}
	}
	return uint32(len(t.rows) - 1)
}

// replace changes the row in a slot. Only what differs is touched. nil is no row.
func (t *Table) replace(slot uint32, before, after *Row) {
	t.leaveTrees(slot, before, after)
	var was, is struct {
		groups []group
		terms  []string
		grams  []gram
	}
	if before != nil {
		groups := groupsOf(before)
		was.groups, was.terms = groups[:], t.termsOf(before)
	}
	if after != nil {
		groups := groupsOf(after)
		is.groups, is.terms = groups[:], t.termsOf(after)
	}
	if before == nil || after == nil || before.Text != after.Text {
		old, now := gramsOf(before), gramsOf(after)
		was.grams, is.grams = onlyIn(old, now), onlyIn(now, old)
	}
	change(t.groups, slot, was.groups, is.groups)
	change(t.terms, slot, was.terms, is.terms)
	change(t.grams, slot, was.grams, nil)
	change(t.grams, slot, nil, is.grams)
	t.rows[slot] = after
	t.joinTrees(slot, before, after)
	for b := range t.builds {
		b.changed.Add(slot)
	}
}

// termsOf returns the terms of a row, and those that they imply.
func (t *Table) termsOf(row *Row) []string {
	for _, name := range row.Terms {
		if by := t.implied[name]; by != nil {
			return slices.Concat(row.Terms, by)
		}
	}
	return row.Terms
}

// Imply sets what some terms imply, in place of what they implied before. The cost depends on the number of terms, and hardly
// on that of rows: whole sets are combined.
func (t *Table) Imply(all []Implied) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, i := range all {
		before := t.implied[i.Term]
		if slices.Equal(before, i.By) {
			continue
		}
		if len(i.By) == 0 {
			delete(t.implied, i.Term)
		} else {
			t.implied[i.Term] = i.By
		}
		if rows := t.terms[i.Term]; rows != nil {
			t.exchange(rows, before, i.By)
		}
	}
}

// exchange takes some terms from rows, and gives them others.
func (t *Table) exchange(rows bits, was, is []string) {
	for _, name := range was {
		if set := t.terms[name]; set != nil && !slices.Contains(is, name) {
			set.AndNot(rows)
			if set.IsEmpty() {
				delete(t.terms, name)
			}
		}
	}
	for _, name := range is {
		if slices.Contains(was, name) {
			continue
		}
		if t.terms[name] == nil {
			t.terms[name] = roaring.New()
		}
		t.terms[name].Or(rows)
	}
}

// change takes a slot out of the sets that it was in, and puts it into those that it is in. Empty sets are dropped.
func change[K comparable](sets map[K]bits, slot uint32, was, is []K) {
	for _, key := range was {
		if slices.Contains(is, key) {
			continue
		}
		if set := sets[key]; set != nil {
			set.Remove(slot)
			if set.IsEmpty() {
				delete(sets, key)
			}
		}
	}
	for _, key := range is {
		set := sets[key]
		if set == nil {
			set = roaring.New()
			sets[key] = set
		}
		set.Add(slot)
	}
}
