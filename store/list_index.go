package store

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"warren/store/index"
)

// Loads the index of a table's lists from the database, and keeps it in step. Nothing of an index is on disk: no crash
// and no restored backup can make it disagree with the rows.

// indexedRows reads what an index keeps of a table's rows.
type indexedRows interface {
	// part reads rows in the order of their ids, behind one.
	part(ctx context.Context, q *Queries, after string, limit int64) ([]*index.Row, error)
	// some reads the rows of some ids, a JSON array. Those that do not exist are left out.
	some(ctx context.Context, q *Queries, ids string) ([]*index.Row, error)
}

// loadPart is how many rows a load reads at a time. Writes wait while they are put into the index.
const loadPart = 1000

// links reads what terms of the rows imply, of rows of another table: in the order of their ids, behind one. last is the id
// of the last one; "": there are no more.
type links func(ctx context.Context, q *Queries, after string, limit int64) (implied []index.Implied, last string, err error)

// listIndex is the index of one table. Its methods are safe for concurrent use; follow is called by the writer alone.
type listIndex struct {
	name   string // of the table, for the log
	rows   indexedRows
	orders []index.Order
	log    *slog.Logger

	links     links                          // nil: no term implies others
	dependent *listIndex                     // whose links are this table's rows; nil: none
	implied   func(*index.Row) index.Implied // what a row of this table is for it

	current atomic.Pointer[load] // nil: nobody has asked yet
	mu      sync.Mutex           // of what changes current, and the tables in it
}

// load is an index, and how far it is loaded.
type load struct {
	table   *index.Table
	done    chan struct{}       // closed at the end of loading
	err     error               // of loading, set before that
	changed map[string]struct{} // ids and terms that changed since it began, while it goes on; nil: it has ended. Under mu
}

// loadedPart is what a load has read.
type loadedPart struct {
	rows    []*index.Row
	implied []index.Implied
}

func newListIndex(name string, rows indexedRows, orders []index.Order, log *slog.Logger) *listIndex {
	return &listIndex{name: name, rows: rows, orders: orders, log: log}
}

// usable reports whether a load goes on, or has ended well.
func (d *load) usable() bool {
	select {
	case <-d.done:
		return d.err == nil
	default:
		return true
	}
}

// loaded reports whether the index can be asked without waiting.
func (l *listIndex) loaded() bool {
	d := l.current.Load()
	if d == nil {
		return false
	}
	select {
	case <-d.done:
		return d.err == nil
	default:
		return false
	}
}

// errGivenUp ends a load whose index was given up meanwhile.
var errGivenUp = errors.New("the load was given up")

// find asks the index. The first caller starts loading it, and all wait until it is loaded or their context ends. A
// failed load is tried again by the next caller.
func (l *listIndex) find(ctx context.Context, s *Store, q index.Query) (index.Found, error) {
	if err := s.engine.catchUp(ctx); err != nil {
		return index.Found{}, err
	}
	for {
		d := l.start(s)
		select {
		case <-d.done:
		case <-ctx.Done():
			return index.Found{}, ctx.Err()
		}
		switch {
		case d.err == nil:
			return d.table.Find(q), nil
		case !errors.Is(d.err, errGivenUp):
			return index.Found{}, d.err
		}
	}
}

// start returns the current load. It begins one if there is none, or if the last has failed.
func (l *listIndex) start(s *Store) *load {
	if d := l.current.Load(); d != nil && d.usable() {
		return d
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.current.Load(); d != nil && d.usable() {
		return d
	}
	d := &load{table: index.New(l.orders...), done: make(chan struct{}), changed: map[string]struct{}{}}
	l.current.Store(d)
	if !s.background.start(func() {
		begun := time.Now()
		d.err = l.read(s, d)
		if d.err == nil {
			l.log.Debug("list index loaded", "table", l.name, "rows", d.table.Len(), "ms", time.Since(begun).Milliseconds())
		}
		close(d.done)
	}) {
		d.err = ErrClosed
		close(d.done)
	}
	return d
}

// read reads all rows, and puts them into the index beside that. A row that changes meanwhile is left to follow, which has
// the newer one.
func (l *listIndex) read(s *Store, d *load) error {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	parts := make(chan loadedPart, 2)
	var err error // of reading; read by nobody before parts is closed
	if !s.background.start(func() {
		defer close(parts)
		err = l.readParts(ctx, s, parts)
	}) {
		return ErrClosed
	}
	for part := range parts {
		if !l.take(d, part) {
			return errGivenUp
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d.changed = nil
	return Typed(err)
}

// readParts reads parts until there are no more.
func (l *listIndex) readParts(ctx context.Context, s *Store, parts chan<- loadedPart) error {
	send := func(p loadedPart) error {
		select {
		case parts <- p:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for after, more := "", l.links != nil; more; {
		implied, last, err := l.links(ctx, s.long, after, loadPart)
		if err = cmp.Or(err, send(loadedPart{implied: implied})); err != nil {
			return err
		}
		after, more = last, last != ""
	}
	for after, more := "", true; more; {
		rows, err := l.rows.part(ctx, s.long, after, loadPart)
		if err != nil {
			return err
		}
		if more = len(rows) == loadPart; more { // whoever gets the part changes it
			after = rows[len(rows)-1].ID
		}
		if err := send(loadedPart{rows: rows}); err != nil {
			return err
		}
	}
	return nil
}

// take puts a part into the index, without what changed since. It reports whether the index is still used.
func (l *listIndex) take(d *load, part loadedPart) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	newer := func(key string) bool { _, is := d.changed[key]; return is }
	d.table.Imply(slices.DeleteFunc(part.implied, func(i index.Implied) bool { return newer(i.Term) }))
	d.table.Apply(slices.DeleteFunc(part.rows, func(row *index.Row) bool { return newer(row.ID) }), nil)
	return l.current.Load() == d
}

// follow takes changed rows over from the database, as they are now, and what they imply for another table. The writer calls
// it after the COMMIT. Nothing is read if nobody has asked for a list: a load that begins later reads the rows as they are.
func (l *listIndex) follow(ctx context.Context, q *Queries, ids map[string]struct{}) {
	if !l.used() && (l.dependent == nil || !l.dependent.used()) {
		return
	}
	found, err := l.rows.some(ctx, q, *jsonText(slices.Collect(maps.Keys(ids))))
	if err != nil {
		l.log.Warn("list index loads again", "table", l.name, "err", err)
		l.reset()
		return
	}
	gone := maps.Clone(ids)
	for _, row := range found {
		delete(gone, row.ID)
	}
	l.update(slices.Collect(maps.Keys(ids)), func(t *index.Table) { t.Apply(found, slices.Collect(maps.Keys(gone))) })
	if l.dependent == nil {
		return
	}
	implied := make([]index.Implied, 0, len(ids))
	for _, row := range found {
		implied = append(implied, l.implied(row))
	}
	for id := range gone {
		implied = append(implied, l.implied(&index.Row{ID: id}))
	}
	terms := make([]string, len(implied))
	for i := range implied {
		terms[i] = implied[i].Term
	}
	l.dependent.update(terms, func(t *index.Table) { t.Imply(implied) })
}

// used reports whether there is an index to keep in step.
func (l *listIndex) used() bool {
	d := l.current.Load()
	return d != nil && d.usable()
}

// update changes the index, also while it is loaded. keys are the ids or terms of what is newer than parts that were read.
func (l *listIndex) update(keys []string, change func(*index.Table)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.current.Load()
	if d == nil || !d.usable() {
		return
	}
	if d.changed != nil {
		for _, key := range keys {
			d.changed[key] = struct{}{}
		}
	}
	change(d.table)
}

// reset makes the index load again when it is asked next: the database may have changed unseen.
func (l *listIndex) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current.Store(nil)
	if l.dependent != nil {
		l.dependent.reset()
	}
}

// term is what a filter asks for, such as the tag or the status of a row.
func term(kind, value string) string { return shared(kind + ":" + value) }

// tagTerms returns the terms of folded tags.
func tagTerms(tags []string) (terms []string) {
	for _, t := range tags {
		terms = append(terms, term("tag", t))
	}
	return terms
}
