package index

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/tidwall/btree"
)

// column is what an order compares first, by slot.
type column struct {
	keys  []uint64 // the order of values up to ties, which the rows decide; see keyOf
	none  bits     // rows without a value
	zones []zone
	size  int // slots of a zone
}

// zoneSlots is how many slots a zone has.
const zoneSlots = 4096

// zone is a bound on the keys of some slots. Rows often come in the order of their keys, and so do those that fit a filter.
// Then most zones need not be looked at.
type zone struct {
	first, last uint32 // slots
	least, most uint64 // keys, or beyond: what is removed makes it no smaller
}

// grow makes room for a slot.
func (c *column) grow(slots int) {
	c.keys = append(c.keys, make([]uint64, slots-len(c.keys))...)
	for n := len(c.zones); n*c.size < slots; n++ {
		c.zones = append(c.zones, zone{uint32(n * c.size), uint32((n+1)*c.size - 1), math.MaxUint64, 0})
	}
}

// set notes the key of a slot.
func (c *column) set(slot uint32, key uint64) {
	c.keys[slot] = key
	z := &c.zones[int(slot)/c.size]
	z.least, z.most = min(z.least, key), max(z.most, key)
}

// place names a tree: the rows of a group in an order.
type place struct {
	group group
	order int
}

// tree has the slots of a group in ascending order. Both trees count, so that a position is found at once.
type tree struct{ valued, none *btree.BTreeG[uint32] }

// value returns what an order compares of a row. The order behind the last is by id.
func (t *Table) value(row *Row, order int) Value {
	if order == len(t.orders)-1 {
		return Value{Text: row.ID}
	}
	return row.Sort[order]
}

// keyOf returns numbers that are ordered as values are, up to ties: texts by their first eight bytes.
func (t *Table) keyOf(v Value, order int) uint64 {
	if !t.orders[order].Text {
		return uint64(v.Number) ^ 1<<63
	}
	var first [8]byte
	copy(first[:], v.Text)
	return binary.BigEndian.Uint64(first[:])
}

// compare orders two slots, both with or both without a value.
func (t *Table) compare(order int, a, b uint32) int {
	c := t.columns[order]
	if c.keys[a] != c.keys[b] {
		return cmp.Compare(c.keys[a], c.keys[b])
	}
	x, y := t.rows[a], t.rows[b]
	return cmp.Or(strings.Compare(t.value(x, order).Text, t.value(y, order).Text), strings.Compare(x.ID, y.ID))
}

// comparePlace orders a slot and a place, both with or both without a value.
func (t *Table) comparePlace(order int, slot uint32, key uint64, p *Place) int {
	c := t.columns[order]
	if c.keys[slot] != key {
		return cmp.Compare(c.keys[slot], key)
	}
	row := t.rows[slot]
	text := p.Value.Text
	if p.Value.None {
		text = t.value(row, order).Text
	}
	return cmp.Or(strings.Compare(t.value(row, order).Text, text), strings.Compare(row.ID, p.ID))
}

// stays reports whether a change of a row leaves it where it is in an order of a group.
func (t *Table) stays(before, after *Row, g group, order int) bool {
	return before != nil && after != nil && slices.Contains(groupsArray(before), g) && slices.Contains(groupsArray(after), g) &&
		t.value(before, order) == t.value(after, order)
}

// leaveTrees takes a slot out of the trees in which its position changes.
func (t *Table) leaveTrees(slot uint32, before, after *Row) {
	if before == nil {
		return
	}
	for order, c := range t.columns {
		if c == nil {
			continue
		}
		for _, g := range groupsOf(before) {
			tree := t.trees[place{g, order}]
			if tree == nil || t.stays(before, after, g, order) {
				continue
			}
			tree.of(c, slot).Delete(slot)
			if tree.valued.Len()+tree.none.Len() == 0 {
				delete(t.trees, place{g, order})
			}
		}
		c.none.Remove(slot)
	}
}

// of returns the tree that has a slot, or will have it.
func (r *tree) of(c *column, slot uint32) *btree.BTreeG[uint32] {
	if c.none.Contains(slot) {
		return r.none
	}
	return r.valued
}

// joinTrees puts a slot into the trees of its row but those in which it has stayed.
func (t *Table) joinTrees(slot uint32, before, after *Row) {
	if after == nil {
		return
	}
	for order, c := range t.columns {
		if c == nil {
			continue
		}
		t.fill(c, order, slot, after)
		for _, g := range groupsOf(after) {
			if tree := t.trees[place{g, order}]; tree != nil && !t.stays(before, after, g, order) {
				tree.of(c, slot).Set(slot)
			}
		}
	}
}

// fill sets a column's value of a row. Rows without a value are ordered by their ids.
func (t *Table) fill(c *column, order int, slot uint32, row *Row) {
	v := t.value(row, order)
	if v.None {
		c.none.Add(slot)
		c.keys[slot] = t.keyOf(Value{}, order)
		return
	}
	c.set(slot, t.keyOf(v, order))
}

// build is an order that is sorted while rows change.
type build struct{ changed bits }

// ensure makes the tree and the column of a place. Rows are sorted without the lock, since a million take a second. One
// caller sorts, and others wait for it.
func (t *Table) ensure(p place) {
	t.sorting.Lock()
	defer t.sorting.Unlock()
	b := &build{changed: roaring.New()}
	t.mu.Lock()
	set := t.groups[p.group]
	if t.trees[p] != nil || set == nil {
		t.mu.Unlock()
		return
	}
	var s shadow
	if t.columns[p.order] == nil {
		s = t.copyAll(p)
	} else {
		s = t.copySome(p, set.ToArray())
	}
	t.builds[b] = struct{}{}
	t.mu.Unlock()

	valued, none := s.sort(p)

	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.builds, b)
	t.publish(p, s.columns[p.order], b, valued, none)
}

// shadow is a copy of rows, which are sorted while those of the table change.
type shadow struct {
	*Table
	slots []uint32 // of the copied rows in the table; nil: the same
}

// copyAll copies all rows, whose column is to be made too.
func (t *Table) copyAll(p place) shadow { return t.copyOf(p, slices.Clone(t.rows), nil) }

// copySome copies the rows of some slots: a small workspace is not sorted by way of all rows.
func (t *Table) copySome(p place, slots []uint32) shadow {
	rows := make([]*Row, len(slots))
	for i, slot := range slots {
		rows[i] = t.rows[slot]
	}
	return t.copyOf(p, rows, slots)
}

func (t *Table) copyOf(p place, rows []*Row, slots []uint32) shadow {
	s := shadow{&Table{orders: t.orders, rows: rows, columns: make([]*column, len(t.columns))}, slots}
	s.columns[p.order] = &column{none: roaring.New(), size: t.zoneSlots}
	return s
}

// sort returns the table's slots of the copied rows in a group: those with a value and those without, in ascending order.
func (s shadow) sort(p place) (valued, none []uint32) {
	c := s.columns[p.order]
	c.grow(len(s.rows))
	for i, row := range s.rows {
		slot := uint32(i)
		if row == nil {
			continue
		}
		s.fill(c, p.order, slot, row)
		switch {
		case !slices.Contains(groupsArray(row), p.group):
		case c.none.Contains(slot):
			none = append(none, slot)
		default:
			valued = append(valued, slot)
		}
	}
	for _, list := range [][]uint32{valued, none} {
		slices.SortFunc(list, func(a, b uint32) int { return s.compare(p.order, a, b) })
		if s.slots != nil {
			for i, slot := range list {
				list[i] = s.slots[slot]
			}
		}
	}
	return valued, none
}

func groupsArray(row *Row) []group {
	groups := groupsOf(row)
	return groups[:]
}

// publish puts a sorted order into use, with what has changed since its rows were copied.
func (t *Table) publish(p place, c *column, b *build, valued, none []uint32) {
	changed := b.changed.ToArray()
	if t.columns[p.order] == nil {
		c.grow(len(t.rows))
		for _, slot := range changed {
			c.none.Remove(slot)
			if row := t.rows[slot]; row != nil {
				t.fill(c, p.order, slot, row)
			}
		}
		t.columns[p.order] = c
	}
	if t.groups[p.group] == nil {
		return // it is empty by now
	}
	less := func(a, b uint32) bool { return t.compare(p.order, a, b) < 0 }
	made := &tree{btree.NewBTreeGOptions(less, btree.Options{NoLocks: true}), btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
	for into, slots := range map[*btree.BTreeG[uint32]][]uint32{made.valued: valued, made.none: none} {
		for _, slot := range slots {
			if !b.changed.Contains(slot) {
				into.Load(slot)
			}
		}
	}
	for _, slot := range changed {
		if row := t.rows[slot]; row != nil && slices.Contains(groupsArray(row), p.group) {
			made.of(t.columns[p.order], slot).Set(slot)
		}
	}
	t.trees[p] = made
}
