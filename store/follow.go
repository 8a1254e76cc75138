package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Keeps what lies in memory, the caches of rows and the indexes of lists, in step with the database. SQLite itself
// says which rows a transaction changes (https://www.sqlite.org/c3ref/preupdate_count.html): no statement, trigger or
// cascade can be forgotten. The writer passes them on after the COMMIT and before any answer, so that a caller's next
// read has its own write.
//
// The hook takes the numbers of rows only. The driver reads columns in the hook without looking at SQLite's error, so
// that a damaged row would end the process. The ids are read by number before the COMMIT.

// follower notes the rows that the writer's transaction changes. Only the writer's goroutine uses what changes.
type follower struct {
	tables    map[string]*followed
	committed DBTX // reads what was committed last, beside the writer's transaction
}

// followed is a table whose rows are kept in memory.
type followed struct {
	name    string
	changed map[int64]struct{}  // numbers (rowid) of rows that were inserted or updated
	deleted map[int64]struct{}  // numbers of rows that were deleted. A later insert may use a number again
	ids     map[string]struct{} // of all of them, once they were resolved
	cache   dropper
	index   *listIndex
}

// dropper is a cache.
type dropper interface {
	drop(ids map[string]struct{})
	clear()
}

func newFollower(s *Store) *follower {
	f := &follower{tables: map[string]*followed{}}
	add := func(name string, cache dropper, index *listIndex) {
		f.tables[name] = &followed{name: name, changed: map[int64]struct{}{}, deleted: map[int64]struct{}{}, ids: map[string]struct{}{},
			cache: cache, index: index}
	}
	add("profiles", s.profiles, s.ofProfiles)
	add("proxies", s.proxies, s.ofProxies)
	return f
}

// attach makes a connection report its changes; detach ends that.
func (f *follower) attach(conn *sql.Conn) error { return f.register(conn, f.note) }

func (f *follower) detach(conn *sql.Conn) error { return f.register(conn, nil) }

func (f *follower) register(conn *sql.Conn, hook sqlite.PreUpdateHookFn) error {
	return conn.Raw(func(c any) error {
		hooks, ok := c.(sqlite.HookRegisterer)
		if !ok {
			return errors.New("this build of SQLite does not report changes")
		}
		hooks.RegisterPreUpdateHook(hook)
		return nil
	})
}

// note is called by SQLite before it changes a row.
func (f *follower) note(change sqlite.SQLitePreUpdateData) {
	table := f.tables[change.TableName]
	switch {
	case table == nil:
	case change.Op == sqlite3.SQLITE_DELETE:
		table.deleted[change.OldRowID] = struct{}{}
	default:
		table.changed[change.NewRowID] = struct{}{}
	}
}

// resolve finds the ids of the changed rows, before the COMMIT: of deleted ones in what was committed last, of the
// others in the transaction. A row that the transaction inserted and deleted has none, and nobody has seen it.
func (f *follower) resolve(ctx context.Context, transaction DBTX) error {
	for _, table := range f.tables {
		_, err := table.read(ctx, transaction, table.changed)
		if err == nil {
			_, err = table.read(ctx, f.committed, table.deleted)
		}
		if err != nil {
			return fmt.Errorf("changed rows of %s cannot be followed: %w", table.name, err)
		}
		table.forgetNumbers()
	}
	return nil
}

// read adds the ids of rows to the table's, and returns how many of the rows exist.
func (t *followed) read(ctx context.Context, from DBTX, numbers map[int64]struct{}) (found int, err error) {
	if len(numbers) == 0 {
		return 0, nil
	}
	// sqlc does not know rowid (https://www.sqlite.org/lang_createtable.html#rowid).
	rows, err := from.QueryContext(ctx, "SELECT id FROM "+t.name+" WHERE rowid IN (SELECT value FROM json_each(?))",
		*jsonText(slices.Collect(maps.Keys(numbers))))
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return 0, err
		}
		t.ids[id] = struct{}{}
		found++
	}
	return found, rows.Err()
}

// apply passes the resolved changes on, with the rows as they are now. A row that cannot be read makes its index start
// anew.
func (f *follower) apply(ctx context.Context, q *Queries) {
	for _, table := range f.tables {
		if len(table.ids) > 0 {
			table.cache.drop(table.ids)
			table.index.follow(ctx, q, table.ids)
			clear(table.ids)
		}
	}
}

// catchUp brings in step after a transaction that failed. Its changes may be on the disk: after some faults SQLite
// rolls back and commits each later statement by itself, and a COMMIT that failed may have been written. committed
// reads what is there now; nil: nothing can be read.
func (f *follower) catchUp(ctx context.Context, committed *Queries) {
	for _, table := range f.tables {
		if committed == nil || !table.known(ctx, committed.db) {
			table.reset()
		}
		table.forgetNumbers()
	}
	if committed != nil {
		f.apply(ctx, committed)
	}
}

// known finds the ids of rows that were changed without a COMMIT. It reports whether they are all.
func (t *followed) known(ctx context.Context, committed DBTX) bool {
	for number := range t.deleted {
		if _, again := t.changed[number]; again {
			return false // the row there now may be another
		}
	}
	_, err := t.read(ctx, committed, t.changed) // one that does not exist was an insert, and is undone
	deleted, failed := t.read(ctx, committed, t.deleted)
	return err == nil && failed == nil && deleted == len(t.deleted)
}

// reset drops all rows of the table that are in memory, if any has changed.
func (t *followed) reset() {
	if len(t.changed)+len(t.deleted)+len(t.ids) > 0 {
		t.cache.clear()
		t.index.reset()
		clear(t.ids)
	}
}

func (t *followed) forgetNumbers() {
	clear(t.changed)
	clear(t.deleted)
}
