package store

import (
	"context"
	"database/sql"
	"time"

	"warren/store/postgres"
)

// Carries events from each server to all servers of one PostgreSQL, over the table events. LISTEN and NOTIFY wake those that read it
// (https://www.postgresql.org/docs/15/sql-notify.html). Where no notification comes, they look each second.
//
// A sequence counts when a row is written, not when its transaction commits. A reader that has seen a number would pass over a lower one
// that is committed later. So writers take a lock first, and the numbers are in the order of the commits.

const (
	// eventsLock is the advisory lock of those that append to the events ("Wrrn", 2).
	eventsLock = applicationID<<8 | 2
	// eventsChannel is the channel of the notifications.
	eventsChannel = "warren_events"
	// eventsPoll is how often the table is read without a notification.
	eventsPoll = time.Second
	// listenPause is the pause before a lost connection that listens is replaced. It doubles up to listenLongest while that fails.
	listenPause   = time.Second
	listenLongest = 30 * time.Second
)

// EventRow is an event in the database. Seq is its place in the order of all events, which the database chooses. Key is the only key that
// receives it, or empty. The type has no name of its own, so that events.Row is the same type and neither package needs the other.
type EventRow = struct {
	Seq                                    int64
	ID, Origin, Workspace, Key, Type, Text string
}

// Bus carries events between servers. Its methods are safe for concurrent use. Their errors are those of Typed.
type Bus interface {
	// Append adds events in their order, all or none. Events that an earlier call has added are left out, so that it may be called again
	// after an error. Seq is ignored.
	Append(ctx context.Context, rows []EventRow) error
	// Read returns at most limit events after the one with a seq and an id, in order. whole is false if events after that one are missing:
	// they were removed, or a fail-over of the database has lost what it had.
	Read(ctx context.Context, seq int64, id string, limit int) (rows []EventRow, whole bool, err error)
	// After returns at most limit events after the one with an id, in order. known is false if there is no such event, or no more.
	After(ctx context.Context, id string, limit int) (rows []EventRow, known bool, err error)
	// Newest returns the seq and the id of the newest event. Without one, seq is the highest that was removed, and id is empty.
	Newest(ctx context.Context) (seq int64, id string, err error)
	// Follow returns a channel that has something when there may be new events, at least each second. It is called once. The channel falls
	// silent with the store.
	Follow() <-chan struct{}
}

// Shared reports whether several servers may use the database at the same time.
func (s *Store) Shared() bool {
	_, shared := s.engine.(*pgEngine)
	return shared
}

// Bus returns what carries events between the servers of a database; nil: it belongs to one server.
func (s *Store) Bus() Bus {
	e, ok := s.engine.(*pgEngine)
	if !ok {
		return nil
	}
	return &pgBus{engine: e, channel: eventsChannel, poll: eventsPoll}
}

// pgBus implements Bus.
type pgBus struct {
	engine  *pgEngine
	channel string
	poll    time.Duration
}

// insertEvents inserts rows in their order, and tells those that listen. A row that is there already is left out: the answer to its COMMIT
// was lost.
const insertEvents = `WITH put AS (
	INSERT INTO events (id, origin, workspace_id, key, type, text)
	SELECT id, origin, workspace_id, key, type, text
	FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS TEXT[]), CAST($3 AS TEXT[]), CAST($4 AS TEXT[]), CAST($5 AS TEXT[]), CAST($6 AS TEXT[]))
		WITH ORDINALITY AS new (id, origin, workspace_id, key, type, text, n) ORDER BY n
	ON CONFLICT (id) DO NOTHING RETURNING 1)
SELECT pg_notify($7, '') FROM (SELECT count(*) FROM put) AS done`

// Append implements Bus.
func (b *pgBus) Append(ctx context.Context, rows []EventRow) error {
	tx, err := b.engine.bus.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return Typed(err)
	}
	defer tx.Rollback() //nolint:errcheck // after a COMMIT it does nothing
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(eventsLock)); err != nil {
		return Typed(err)
	}
	var columns [6][]string
	for _, r := range rows {
		for i, value := range []string{r.ID, r.Origin, r.Workspace, r.Key, r.Type, r.Text} {
			columns[i] = append(columns[i], value)
		}
	}
	if _, err := tx.ExecContext(ctx, insertEvents, columns[0], columns[1], columns[2], columns[3], columns[4], columns[5],
		b.channel); err != nil {
		return Typed(err)
	}
	return Typed(tx.Commit())
}

// readEvents returns rows from a place on, that of the place among them, each with the highest removed number; one row without an event
// if there is none.
const readEvents = `SELECT removed.below, coalesce(e.seq, 0), coalesce(e.id, ''), coalesce(e.origin, ''), coalesce(e.workspace_id, ''),
	coalesce(e.key, ''), coalesce(e.type, ''), coalesce(e.text, '')
FROM events_removed AS removed LEFT JOIN (SELECT * FROM events WHERE seq >= $1 ORDER BY seq LIMIT $2) AS e ON TRUE ORDER BY e.seq`

// Read implements Bus.
func (b *pgBus) Read(ctx context.Context, seq int64, id string, limit int) (rows []EventRow, whole bool, err error) {
	rows, below, err := b.from(ctx, seq, limit+1)
	if err != nil {
		return nil, false, err
	}
	if len(rows) > 0 && rows[0].Seq == seq && rows[0].ID == id {
		return rows[1:], true, nil
	}
	return rows[:min(len(rows), limit)], below == seq, nil
}

// from returns at most limit events from a seq on, and the highest seq that was removed.
func (b *pgBus) from(ctx context.Context, seq int64, limit int) (rows []EventRow, below int64, err error) {
	found, err := b.engine.reads.QueryContext(ctx, readEvents, seq, int64(limit))
	if err != nil {
		return nil, 0, Typed(err)
	}
	defer found.Close()
	for found.Next() {
		var r EventRow
		if err := found.Scan(&below, &r.Seq, &r.ID, &r.Origin, &r.Workspace, &r.Key, &r.Type, &r.Text); err != nil {
			return nil, 0, Typed(err)
		}
		if r.Seq != 0 {
			rows = append(rows, r)
		}
	}
	return rows, below, Typed(found.Err())
}

// After implements Bus.
func (b *pgBus) After(ctx context.Context, id string, limit int) (rows []EventRow, known bool, err error) {
	var seq int64
	err = b.engine.reads.QueryRowContext(ctx, "SELECT coalesce((SELECT seq FROM events WHERE id = $1), 0)", id).Scan(&seq)
	if err != nil || seq == 0 {
		return nil, false, Typed(err)
	}
	return b.Read(ctx, seq, id, limit)
}

// Newest implements Bus.
func (b *pgBus) Newest(ctx context.Context) (seq int64, id string, err error) {
	err = b.engine.reads.QueryRowContext(ctx, `SELECT coalesce(e.seq, removed.below), coalesce(e.id, '')
		FROM events_removed AS removed LEFT JOIN (SELECT seq, id FROM events ORDER BY seq DESC LIMIT 1) AS e ON TRUE`).Scan(&seq, &id)
	return seq, id, Typed(err)
}

// Follow implements Bus.
func (b *pgBus) Follow() <-chan struct{} {
	wake := make(chan struct{}, 1)
	heard := func() {
		select {
		case wake <- struct{}{}:
		default: // it has been told already
		}
	}
	s := b.engine.store
	s.background.start(func() { b.listen(s.ctx, heard) })
	s.background.start(func() {
		tick := time.NewTicker(b.poll)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				heard()
			case <-s.ctx.Done():
				return
			}
		}
	})
	return wake
}

// listen keeps a connection that listens.
func (b *pgBus) listen(ctx context.Context, heard func()) {
	pause, silent := listenPause, false
	for {
		err := postgres.Listen(ctx, b.engine.bus, b.channel, func() {
			if silent {
				b.engine.log.Info("notifications of events come again")
			}
			pause, silent = listenPause, false
			heard()
		})
		if ctx.Err() != nil {
			return
		}
		if !silent {
			silent = true
			b.engine.log.Warn("notifications of events do not come; events of other servers are looked for each second", "err", err)
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, listenLongest)
		case <-ctx.Done():
			return
		}
	}
}
