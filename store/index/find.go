package index

import (
	"slices"
	"sort"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/tidwall/btree"
)

// Find returns a page of a list.
func (t *Table) Find(q Query) Found {
	q.Offset = min(q.Offset, unlimited)
	s := newSearch(q.Search)
	if s.nothing() || q.Workspaces != nil && len(q.Workspaces) == 0 {
		return Found{Exact: true}
	}
	for {
		found, missing := t.find(q, s)
		if missing == nil {
			return found
		}
		t.ensure(*missing)
	}
}

// find returns the page, or a tree that it needs first.
func (t *Table) find(q Query, s search) (Found, *place) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	f := finder{Table: t, Query: q, search: s, tree: t.treeFor(q)}
	if q.After != nil {
		f.afterKey = t.keyOf(q.After.Value, q.Order)
		if q.After.Value.None {
			f.afterKey = t.keyOf(Value{}, q.Order)
		}
	}
	if t.groups[f.tree.group] == nil {
		return Found{Exact: true}, nil
	}
	if t.trees[f.tree] == nil {
		return Found{}, &f.tree
	}
	if missing := f.candidates(); missing != nil {
		return Found{}, missing
	}
	f.count()
	f.page()
	return f.found, nil
}

// treeFor returns the tree that has all rows of a list, and perhaps others. A workspace that has all rows needs no tree of
// its own.
func (t *Table) treeFor(q Query) place {
	all := group{all: true, trashed: q.Trashed}
	if len(q.Workspaces) != 1 {
		return place{all, q.Order}
	}
	own := group{workspace: q.Workspaces[0], trashed: q.Trashed}
	if set := t.groups[own]; set != nil && set.GetCardinality() == t.groups[all].GetCardinality() {
		return place{all, q.Order}
	}
	return place{own, q.Order}
}

// finder finds one page.
type finder struct {
	*Table
	Query
	search   search
	tree     place
	afterKey uint64

	matches bits // a superset of what fits; nil: every row of the tree fits
	checked bool // rows of matches need search.fits
	found   Found
}

// candidates computes matches. It returns a tree that it needs first, if that is missing.
func (f *finder) candidates() *place {
	sets, complete := f.filters()
	if f.Search == "" || !complete {
		f.matches = intersect(sets, complete)
		return nil
	}
	var grams []bits
	complete = true
	for _, g := range f.search.grams {
		if set := f.grams[g]; set != nil {
			grams = append(grams, set)
		} else {
			complete = false
		}
	}
	f.checked = f.search.whole
	if !f.search.id {
		f.matches = intersect(slices.Concat(sets, grams), complete)
		return nil
	}
	byID := place{group{all: true, trashed: f.Trashed}, len(f.orders) - 1}
	if f.trees[byID] == nil {
		return &byID
	}
	texts := roaring.New()
	if complete {
		texts = intersect(slices.Concat(sets, grams), true)
	}
	f.matches = f.withIDs(f.trees[byID].valued, sets, texts)
	return nil
}

// filters returns the sets that rows must be in, of workspaces and terms. It is not complete if one is missing: nothing fits.
func (f *finder) filters() (sets []bits, complete bool) {
	if len(f.Workspaces) > 1 {
		several := roaring.New()
		for _, w := range f.Workspaces {
			if set := f.groups[group{workspace: w, trashed: f.Trashed}]; set != nil {
				several.Or(set)
			}
		}
		sets = append(sets, several)
	}
	for _, name := range f.Terms {
		set := f.fixed(name)
		if set == nil {
			return nil, false
		}
		sets = append(sets, set)
	}
	if len(sets) > 0 || f.Search != "" {
		sets = append(sets, f.groups[f.tree.group])
	}
	return sets, true
}

// fixed returns the rows that have a term, as the query corrects it; nil: none.
func (f *finder) fixed(name string) bits {
	set := f.terms[name]
	i := slices.IndexFunc(f.Fixes, func(x Fix) bool { return x.Term == name })
	if i < 0 || len(f.Fixes[i].Has)+len(f.Fixes[i].Lacks) == 0 {
		return set
	}
	if set == nil {
		set = roaring.New()
	} else {
		set = set.Clone()
	}
	for _, id := range f.Fixes[i].Lacks {
		if slot, there := f.slots[id]; there {
			set.Remove(slot)
		}
	}
	for _, id := range f.Fixes[i].Has {
		if slot, there := f.slots[id]; there {
			set.Add(slot)
		}
	}
	return set
}

// intersect returns the slots that are in all sets: nil for no sets, which is every row. If the sets are not complete, it is empty.
func intersect(sets []bits, complete bool) bits {
	if !complete {
		return roaring.New()
	}
	switch len(sets) {
	case 0:
		return nil
	case 1:
		return sets[0]
	}
	sets = slices.Clone(sets)
	slices.SortFunc(sets, func(a, b bits) int { return int(a.GetCardinality()) - int(b.GetCardinality()) })
	out := roaring.And(sets[0], sets[1])
	for _, set := range sets[2:] {
		if out.IsEmpty() {
			break
		}
		out.And(set)
	}
	return out
}

// withIDs adds the rows whose id begins with the search.
func (f *finder) withIDs(ids *btree.BTreeG[uint32], sets []bits, texts bits) bits {
	first := sort.Search(ids.Len(), func(i int) bool { slot, _ := ids.GetAt(i); return f.rows[slot].ID >= f.Search })
	last := first + sort.Search(ids.Len()-first, func(i int) bool {
		slot, _ := ids.GetAt(first + i)
		return !strings.HasPrefix(f.rows[slot].ID, f.Search)
	})
	filtered := intersect(sets, true)
	if last-first > int(filtered.GetCardinality())/2 {
		f.checked = true
		return filtered // comparing these is less work
	}
	more := roaring.New()
	if first < last {
		begin, _ := ids.GetAt(first)
		n := last - first
		ids.Ascend(begin, func(slot uint32) bool {
			if filtered.Contains(slot) {
				more.Add(slot)
			}
			n--
			return n > 0
		})
		f.found.Looked += last - first
	}
	more.Or(texts)
	return more
}

// fits reports whether a slot of matches is in the list.
func (f *finder) fits(slot uint32) bool { return !f.checked || f.search.fits(f.rows[slot]) }

// count computes the total.
func (f *finder) count() {
	n := f.size()
	f.found.Total, f.found.Exact = int64(n), true
	if f.checked {
		n = 0
		for slots := f.matches.Iterator(); n <= f.CountTo && slots.HasNext(); f.found.Looked++ {
			if f.fits(slots.Next()) {
				n++
			}
		}
		f.found.Total = int64(n)
	}
	if n > f.CountTo && (f.Search != "" || !f.ExactTotal) {
		f.found.Total, f.found.Exact = int64(f.CountTo), false
	}
}

// size returns how many rows are in matches.
func (f *finder) size() int {
	if f.matches != nil {
		return int(f.matches.GetCardinality())
	}
	return int(f.groups[f.tree.group].GetCardinality())
}

// unlimited is more rows than there are.
const unlimited = 1 << 40

// page finds the rows of the page: those with a value first.
func (f *finder) page() {
	want := unlimited
	if f.Limit >= 0 {
		want = f.Limit + 1 // one more tells whether rows follow
	}
	skip := int(f.Offset)
	var slots []uint32
	for _, none := range []bool{false, true} {
		if f.After != nil && f.After.Value.None && !none || len(slots) >= want {
			continue
		}
		p := f.part(none)
		var got []uint32
		got, skip = p.take(skip, want-len(slots))
		slots = append(slots, got...)
	}
	if f.Limit >= 0 && len(slots) > f.Limit {
		slots, f.found.More = slots[:f.Limit], true
	}
	f.found.Rows = make([]*Row, len(slots))
	for i, slot := range slots {
		f.found.Rows[i] = f.rows[slot]
	}
}
