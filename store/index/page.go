package index

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/tidwall/btree"
)

// part is the rows of a list with a value, or those without.
type part struct {
	*finder
	slots *btree.BTreeG[uint32]
	set   bits // the matches among them; nil: all slots
	from  int  // the first slot behind After, counted in the list's direction
}

func (f *finder) part(none bool) *part {
	t := f.trees[f.tree]
	p := &part{finder: f, slots: t.valued, set: f.matches}
	missing := f.columns[f.Order].none
	if none {
		p.slots = t.none
	}
	if p.set != nil && !missing.IsEmpty() {
		if none {
			p.set = roaring.And(p.set, missing)
		} else {
			p.set = roaring.AndNot(p.set, missing)
		}
	}
	if f.After != nil && f.After.Value.None == none {
		p.from = sort.Search(p.slots.Len(), func(i int) bool { return p.behind(p.at(i)) })
	}
	return p
}

// behind reports whether a slot is behind After.
func (p *part) behind(slot uint32) bool {
	c := p.comparePlace(p.Order, slot, p.afterKey, p.After)
	if p.Ascending {
		return c > 0
	}
	return c < 0
}

// at returns the slot at a position, counted in the list's direction.
func (p *part) at(i int) uint32 {
	if !p.Ascending {
		i = p.slots.Len() - 1 - i
	}
	slot, _ := p.slots.GetAt(i)
	return slot
}

// before orders slots in the list's direction.
func (p *part) before(a, b uint32) int {
	if p.Ascending {
		return p.compare(p.Order, a, b)
	}
	return p.compare(p.Order, b, a)
}

// walkFrom walks the slots from a position on, in the list's direction, until each is false.
func (p *part) walkFrom(i int, each func(slot uint32) bool) {
	switch {
	case i >= p.slots.Len():
	case p.Ascending:
		p.slots.Ascend(p.at(i), each)
	default:
		p.slots.Descend(p.at(i), each)
	}
}

// take returns some slots behind a number of others, and how many of those are still to be skipped.
func (p *part) take(skip, want int) (slots []uint32, left int) {
	if p.set == nil {
		return p.takeAny(skip, want)
	}
	// A walk looks at the rows between those that fit, choosing at all that fit. One of a walk costs more, unless those that
	// fit are sorted. A walk that is longer than expected is given up: all that fit may lie far behind.
	n := int(p.set.GetCardinality())
	limit := n/walkCost + want
	if skip > maxChosen {
		limit = n * sortCost
	}
	if (skip+want)*p.slots.Len()/max(n, 1) < limit {
		if slots, left, ok := p.walk(skip, want, limit); ok {
			return slots, left
		}
	}
	return p.choose(skip, want)
}

const (
	walkCost  = 8    // how many rows can be looked at to choose from while a walk looks at one
	sortCost  = 16   // how many rows a walk looks at while one is sorted
	maxChosen = 5000 // rows that are kept in order while they are chosen
)

// takeAny takes slots of which each fits: their positions are known.
func (p *part) takeAny(skip, want int) (slots []uint32, left int) {
	begin := p.from + skip
	if there := p.slots.Len() - p.from; skip > there {
		return nil, skip - there
	}
	slots = make([]uint32, 0, min(want, max(p.slots.Len()-begin, 0)))
	p.walkFrom(begin, func(slot uint32) bool {
		slots = append(slots, slot)
		return len(slots) < want
	})
	return slots, 0
}

// walk takes slots that fit along the order. ok is false if it has looked at more rows than limit.
func (p *part) walk(skip, want, limit int) (slots []uint32, left int, ok bool) {
	looked := 0
	p.walkFrom(p.from, func(slot uint32) bool {
		looked++
		if p.set.Contains(slot) && p.fits(slot) {
			if skip > 0 {
				skip--
			} else {
				slots = append(slots, slot)
			}
		}
		return len(slots) < want && looked <= limit
	})
	p.found.Looked += looked
	return slots, skip, looked <= limit
}

// choose takes the first of all slots that fit. Few are kept in order, the best so far; many are sorted at the end.
func (p *part) choose(skip, want int) (slots []uint32, left int) {
	c := chosen{part: p, most: skip + want, few: skip+want <= maxChosen}
	for _, z := range p.zones(c.few) {
		if c.full() && p.worse(z, c.best[c.most-1]) {
			break // and so are those behind it
		}
		for all := p.slotsOf(z); all.HasNext() && all.PeekNext() <= z.last; {
			c.add(all.Next())
		}
	}
	if !c.few {
		slices.SortFunc(c.best, p.before)
	}
	if skip > len(c.best) {
		return nil, skip - len(c.best)
	}
	return c.best[skip:min(len(c.best), c.most)], 0
}

// chosen are the best slots so far.
type chosen struct {
	*part
	best []uint32
	most int  // how many are wanted
	few  bool // best is kept in order
}

func (c *chosen) full() bool { return c.few && len(c.best) == c.most }

func (c *chosen) add(slot uint32) {
	c.found.Looked++
	if c.from > 0 && !c.behind(slot) || c.full() && c.before(slot, c.best[c.most-1]) > 0 || !c.fits(slot) {
		return
	}
	if !c.few {
		c.best = append(c.best, slot)
		return
	}
	i, _ := slices.BinarySearchFunc(c.best, slot, c.before)
	c.best = slices.Insert(c.best, i, slot)
	c.best = c.best[:min(len(c.best), c.most)]
}

// zones returns the zones of the slots, the best keys first. If nothing can be left out it is one zone of all.
func (p *part) zones(few bool) []zone {
	column := p.columns[p.Order]
	if !few || p.slots.Len() == 0 || column.none.Contains(p.at(0)) {
		return []zone{{last: math.MaxUint32, most: math.MaxUint64}}
	}
	zones := slices.DeleteFunc(slices.Clone(column.zones), func(z zone) bool {
		return z.least > z.most || p.from > 0 && (p.Ascending && z.most < p.afterKey || !p.Ascending && z.least > p.afterKey)
	})
	slices.SortFunc(zones, func(a, b zone) int {
		if p.Ascending {
			return cmp.Compare(a.least, b.least)
		}
		return cmp.Compare(b.most, a.most)
	})
	return zones
}

// worse reports whether every slot of a zone is behind another slot.
func (p *part) worse(z zone, than uint32) bool {
	key := p.columns[p.Order].keys[than]
	return p.Ascending && z.least > key || !p.Ascending && z.most < key
}

// slotsOf iterates over the matches from the first slot of a zone on.
func (p *part) slotsOf(z zone) roaring.IntPeekable {
	slots := p.set.Iterator()
	slots.AdvanceIfNeeded(z.first)
	return slots
}
