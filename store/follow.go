package store

import (
	"context"
	"database/sql"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Keeps what lies in memory, the caches of rows and the indexes of lists, in step with the database. SQLite itself
// says which rows a transaction changes (https://www.sqlite.org/c3ref/preupdate_count.html): no statement, trigger or
// cascade can be forgotten. The writer passes them on after the COMMIT and before any answer, so that a caller's next
// read has its own write.

// follower notes the rows that the writer's transaction changes. Only the writer's goroutine uses what changes.
type follower struct {
	tables map[string]*followed
	failed error // a change could not be noted: the transaction must not be committed
}

// followed is a table whose rows are kept in memory.
type followed struct {
	changed map[string]struct{} // ids
	cache   dropper
	index   *listIndex
}

// dropper is a cache.
type dropper interface {
	drop(ids map[string]struct{})
	clear()
}

// noCache is for rows that are not cached.
type noCache struct{}

func (noCache) drop(map[string]struct{}) {}
func (noCache) clear()                   {}

func newFollower(s *Store) *follower {
	table := func(cache dropper, index *listIndex) *followed {
		return &followed{changed: map[string]struct{}{}, cache: cache, index: index}
	}
	return &follower{tables: map[string]*followed{"profiles": table(s.profiles, s.ofProfiles), "proxies": table(s.proxies, s.ofProxies),
		"audit": table(noCache{}, s.ofAudit)}}
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

// note is called by SQLite before it changes a row. The id is the first column of each table.
func (f *follower) note(change sqlite.SQLitePreUpdateData) {
	table := f.tables[change.TableName]
	if table == nil {
		return
	}
	column := make([]any, 1)
	read := change.Old
	if change.Op == sqlite3.SQLITE_INSERT {
		read = change.New
	}
	err := read(column...)
	id, ok := column[0].(string)
	if err != nil || !ok {
		f.failed = errors.Join(errors.New("a changed row cannot be followed"), err)
		return
	}
	table.changed[id] = struct{}{}
}

// apply passes the changes on, with the rows as they are now. A row that cannot be read makes its index start anew.
func (f *follower) apply(ctx context.Context, q *Queries) {
	for _, table := range f.tables {
		if len(table.changed) == 0 {
			continue
		}
		table.cache.drop(table.changed)
		table.index.follow(ctx, q, table.changed)
		clear(table.changed)
	}
	f.failed = nil
}

// reset drops what is in memory of the tables that have changed, where their rows cannot be read.
func (f *follower) reset() {
	for _, table := range f.tables {
		if len(table.changed) > 0 {
			table.cache.drop(table.changed)
			table.index.reset()
			clear(table.changed)
		}
	}
	f.failed = nil
}
