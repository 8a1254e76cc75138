package store

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"math"
	"strconv"
	"sync"
	"time"
)

// Keeps the caches and indexes in step with what any server changes in PostgreSQL. Triggers note each changed row with the number of
// its transaction. A read that uses what lies in memory first asks for the rows that changed since the last time.
//
// Numbers of transactions are in the order in which they begin, not of their COMMITs. xmin of a snapshot is the lowest number that had
// not ended (https://www.postgresql.org/docs/15/functions-info.html, pg_snapshot_xmin). So each question begins at the xmin of the one
// before, and rows that were seen already are passed over.

// pgChange is a row that a transaction changed.
type pgChange struct {
	transaction uint64
	table, id   string
}

// pgFollower brings what lies in memory in step.
type pgFollower struct {
	engine *pgEngine
	asking sync.Mutex // held by the goroutine that asks

	mu   sync.Mutex
	next *catching // that callers who come now wait for; nil: there is none

	// Used under asking:
	asked   bool
	from    uint64 // where the next question begins
	started string // the server of PostgreSQL that answered the last one
	seen    map[pgChange]struct{}
}

// catching is one question, for all that wait for it.
type catching struct {
	done chan struct{}
	err  error // set before
}

func newPgFollower(e *pgEngine) *pgFollower {
	return &pgFollower{engine: e, seen: map[pgChange]struct{}{}}
}

// catchUp returns once all that was committed before its call is known here. Callers that come while a question is under way share the
// one after it.
func (f *pgFollower) catchUp(ctx context.Context) error {
	c := f.join()
	if c == nil {
		return ErrClosed
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns the question that is asked next; nil: the store is closed.
func (f *pgFollower) join() *catching {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next != nil {
		return f.next
	}
	c := &catching{done: make(chan struct{})}
	if !f.engine.store.background.start(func() { f.lead(c) }) {
		return nil
	}
	f.next = c
	return c
}

// lead asks for those that wait.
func (f *pgFollower) lead(c *catching) {
	f.asking.Lock()
	defer f.asking.Unlock()
	f.mu.Lock()
	f.next = nil // who comes now may know of a later COMMIT
	f.mu.Unlock()
	c.err = Typed(f.ask(f.engine.store.ctx))
	close(c.done)
}

// changedSince returns the changes of transactions from a number on; one row without a change if there is none. Each row has the xmin of
// the snapshot, the number below which changes were removed, when the server of PostgreSQL was started, and which schema a program has to
// know.
const changedSince = `SELECT CAST(now.xmin AS TEXT), CAST(removed.below AS TEXT), CAST(pg_postmaster_start_time() AS TEXT),
	(SELECT max(since) FROM schema_versions), coalesce(CAST(c.xid AS TEXT), ''), coalesce(c.kind, ''), coalesce(c.id, '')
FROM (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS xmin) AS now CROSS JOIN changes_removed AS removed
LEFT JOIN changes AS c ON c.xid >= CAST(CAST(? AS TEXT) AS XID8)`

// pgAnswer is what a question has found.
type pgAnswer struct {
	now, below uint64
	started    string // the server of PostgreSQL
	since      int64  // the schema that a program has to know
	found      []pgChange
}

// ask asks once, and passes on what changed.
func (f *pgFollower) ask(ctx context.Context) error {
	from := f.from
	if !f.asked { // nothing lies in memory yet
		from = math.MaxUint64
	}
	a, err := f.read(ctx, from)
	if err != nil {
		return err
	}
	if a.since > f.engine.schema.Newest() {
		return f.engine.outgrown()
	}
	switch s := f.engine.store; {
	case f.asked && a.started != f.started:
		// A standby that took over may lack the last transactions of the one before, and gives their numbers to others.
		s.Forget()
		clear(f.seen)
		a.found = nil
	case f.asked && a.below > f.from: // this server was away for so long that changes are lost to it
		s.Forget()
	default:
		f.pass(ctx, "profiles", a.found, s.profiles, s.ofProfiles)
		f.pass(ctx, "proxies", a.found, s.proxies, s.ofProxies)
	}
	f.asked, f.from, f.started = true, a.now, a.started
	for _, c := range a.found {
		f.seen[c] = struct{}{}
	}
	maps.DeleteFunc(f.seen, func(c pgChange, _ struct{}) bool { return c.transaction < a.now })
	return nil
}

// read returns the changes from a number on that were not seen yet.
func (f *pgFollower) read(ctx context.Context, from uint64) (a pgAnswer, err error) {
	rows, err := f.engine.store.long.db.QueryContext(ctx, changedSince, strconv.FormatUint(from, 10))
	if err != nil {
		return a, err
	}
	defer rows.Close()
	for rows.Next() {
		var texts [3]string
		var c pgChange
		if err := rows.Scan(&texts[0], &texts[1], &a.started, &a.since, &texts[2], &c.table, &c.id); err != nil {
			return a, err
		}
		var faults [3]error
		a.now, faults[0] = strconv.ParseUint(texts[0], 10, 64)
		a.below, faults[1] = strconv.ParseUint(texts[1], 10, 64)
		if c.table != "" {
			c.transaction, faults[2] = strconv.ParseUint(texts[2], 10, 64)
		}
		if err := errors.Join(faults[:]...); err != nil {
			return a, err
		}
		if _, seen := f.seen[c]; !seen && c.table != "" {
			a.found = append(a.found, c)
		}
	}
	return a, rows.Err()
}

// pass passes the changes of a table on to its cache and its index.
func (f *pgFollower) pass(ctx context.Context, table string, found []pgChange, cache dropper, index *listIndex) {
	ids := map[string]struct{}{}
	for _, c := range found {
		if c.table == table {
			ids[c.id] = struct{}{}
		}
	}
	if len(ids) > 0 {
		cache.drop(ids)
		index.follow(ctx, f.engine.store.short, ids)
	}
}

// keepChanges is how long changes are kept. A server that was away for longer reads everything anew.
const keepChanges = 10 * time.Minute

// purge removes the changes of transactions before the newest one that is older than keepChanges by the database's clock.
func (f *pgFollower) purge(ctx context.Context) error {
	tx, err := f.engine.writes.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a COMMIT it does nothing
	_, err = tx.ExecContext(ctx, `UPDATE changes_removed SET below = bound.xid FROM (
	SELECT xid FROM changes WHERE at < now_ms() - $1 AND xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid DESC LIMIT 1
) AS bound WHERE bound.xid > below`, keepChanges.Milliseconds())
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM changes USING changes_removed WHERE xid < below")
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}
