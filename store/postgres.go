package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"warren/store/postgres"
)

// Keeps the store in a PostgreSQL that several servers share. Each function of a write is a SERIALIZABLE transaction of its own
// (https://www.postgresql.org/docs/15/transaction-iso.html). One that meets another's is run again, so that it must be repeatable.

const (
	// repeatFor is how long a function is run again that meets the transactions of others.
	repeatFor = 15 * time.Second
	// longestPause is the longest pause before that.
	longestPause = 100 * time.Millisecond
	// turnFor is how long a function that has met another waits until no other one is run again.
	turnFor = 500 * time.Millisecond
	// mostLost is how often a function is run again whose connection was lost before its COMMIT: all that were unused may be.
	mostLost = pgWrites + 1
	// silentFor is how long a statement waits for an answer. PostgreSQL itself ends each wait for a lock earlier.
	silentFor = 30 * time.Second
	// forsakenFor is how long a transaction waits for its next statement. PostgreSQL ends it then: the server or the way to it is lost, and
	// others wait for its locks, such as that of the events. It has to be longer than a server is ever busy between two statements.
	forsakenFor = 10 * time.Second
	// waitForTurn is how long a function waits until another of the same server has ended.
	waitForTurn = 15 * time.Second
	// pgWrites is how many functions of one server run at once. More would meet each other more often.
	pgWrites = 8
)

// pgEngine is a database of PostgreSQL.
type pgEngine struct {
	store   *Store
	log     *slog.Logger
	texts   postgres.Texts
	schema  postgres.Schema
	writes  *sql.DB
	reads   *sql.DB
	bus     *sql.DB       // the connections of Bus: one listens, one appends
	slots   chan struct{} // a function that runs holds one
	turn    chan struct{} // one of the functions that have met another holds it
	waiting atomic.Int64
	closing chan struct{} // closed by close: no more functions are taken
	newer   atomic.Bool   // the database has become one that this version cannot use

	follow   *pgFollower
	chaining sync.Mutex   // one part of the audit log at a time
	bytes    atomic.Int64 // of the database, as last seen
	kept     chan struct{}
}

// openPostgres opens the database that o names. dir holds the secret key. Nothing is written if the key does not fit.
func openPostgres(ctx context.Context, dir string, o Options) (s *Store, err error) {
	if err := MakeFolder(dir); err != nil {
		return nil, explainOpen(dir, typedFile(err))
	}
	s = newStore(o)
	e := &pgEngine{store: s, log: o.Logger, schema: o.schema, slots: make(chan struct{}, pgWrites), turn: make(chan struct{}, 1),
		closing: make(chan struct{})}
	if e.schema == nil {
		e.schema = postgres.Known()
	}
	s.engine, e.follow = e, newPgFollower(e)
	defer func() {
		if err != nil {
			_ = s.close()
			s = nil
		}
	}()
	if e.texts, err = postgres.ReadTexts(); err != nil {
		return s, err
	}
	silence := cmp.Or(o.silence, silentFor)
	if e.writes, err = postgres.Open(o.Database, pgWrites,
		postgres.Settings{Silence: silence, IdleInTransaction: forsakenFor}); err != nil {
		return s, err
	}
	reads := postgres.Settings{ReadOnly: true, Silence: silence}
	if e.reads, err = postgres.Open(o.Database, min(max(runtime.GOMAXPROCS(0)*2, 4), 8), reads); err != nil {
		return s, err
	}
	if e.bus, err = postgres.Open(o.Database, 2, postgres.Settings{Silence: silence, IdleInTransaction: forsakenFor}); err != nil {
		return s, err
	}
	s.short, s.long = New(e.statements(e.reads, true)), New(e.statements(e.reads, false))
	newer, err := e.prepare(ctx, dir, o)
	if err != nil {
		return s, explainPostgres(err)
	}
	if err := errors.Join(s.Ready(ctx), e.follow.catchUp(ctx)); err != nil {
		return s, explainPostgres(err)
	}
	if err := s.openKeys(ctx, dir, o.SecretKeyFile); err != nil {
		return s, err
	}
	if !newer { // its version is named where this one is refused
		err = s.keepVersion(ctx, o.Warren)
	}
	if err := errors.Join(err, s.chainAudit(ctx)); err != nil {
		return s, explainPostgres(err)
	}
	e.kept = make(chan struct{})
	go e.keep()
	return s, nil
}

// prepare examines the database, checks that the secret key fits, and migrates, in this order. newer: the schema is one of a newer version
// that this one can use.
func (e *pgEngine) prepare(ctx context.Context, dir string, o Options) (newer bool, err error) {
	patient, err := postgres.Open(o.Database, 1, postgres.Settings{}) // a migration takes what it takes
	if err != nil {
		return false, err
	}
	defer patient.Close()
	found, err := postgres.Examine(ctx, patient)
	if err == nil && e.schema.Usable(found) {
		err = cmp.Or(checkFinished(ctx, e.reads), keyFits(ctx, e.store, dir, o.SecretKeyFile))
	}
	if err != nil {
		return false, err
	}
	return found.Version > e.schema.Newest(), e.schema.Migrate(ctx, patient, o.Logger, NodeGone)
}

// keyFits checks the secret key before anything is written. A database without the mark of a key is new.
func keyFits(ctx context.Context, s *Store, dir, file string) error {
	canary, err := s.short.GetSetting(ctx, canaryName)
	if errors.Is(err, ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	master, err := readSecretKey(dir, file, false)
	if err != nil {
		return err
	}
	k, err := newKeyring(master)
	if err != nil {
		return err
	}
	return checkCanary(k, canary)
}

// explainPostgres adds to an error of opening what to do about it.
func explainPostgres(err error) error {
	switch {
	case errors.Is(err, postgres.ErrNewer):
		err = withKind(ErrNewer, err)
	case errors.Is(err, postgres.ErrOlder):
		err = withKind(ErrOlder, err)
	case errors.Is(err, postgres.ErrForeign):
		err = withKind(ErrDamaged, err)
	default:
		err = Typed(err)
	}
	advice := ""
	switch {
	case errors.Is(err, ErrDiskFull):
		advice = "; free some space on its machine and start again"
	case errors.Is(err, ErrBusy):
		advice = "; check the address, and that the server runs, is no standby, and has connections left"
	}
	return fmt.Errorf("open the database of --store: %w%s", err, advice)
}

// pgStatements are the statements of a store, or of one transaction.
type pgStatements struct {
	*postgres.Statements
	queue   *auditQueue       // nil: outside a write
	failure *postgres.Failure // nil: outside a write
}

func (e *pgEngine) statements(on postgres.DBTX, detach bool) *pgStatements {
	return &pgStatements{Statements: postgres.NewStatements(on, e.texts, detach)}
}

// auditQueue implements recorder.
func (s *pgStatements) auditQueue() *auditQueue { return s.queue }

// write runs fn in a transaction of its own, and again while it meets others.
func (e *pgEngine) write(ctx context.Context, fn func(*Queries) error) error {
	e.waiting.Add(1)
	defer e.waiting.Add(-1)
	select {
	case <-e.closing:
		return ErrClosed
	default:
	}
	if err := e.takeSlot(ctx); err != nil {
		return err
	}
	defer func() { <-e.slots }()
	if e.newer.Load() {
		return e.outgrown()
	}
	return e.repeat(context.WithoutCancel(ctx), fn)
}

// takeSlot waits for its turn.
func (e *pgEngine) takeSlot(ctx context.Context) error {
	select {
	case e.slots <- struct{}{}: // most need no timer
		return nil
	default:
	}
	limit := time.NewTimer(waitForTurn)
	defer limit.Stop()
	select {
	case e.slots <- struct{}{}:
		return nil
	case <-limit.C:
		return fmt.Errorf("%w: other changes of this server have waited for it for %s", ErrBusy, waitForTurn)
	case <-ctx.Done():
		return ctx.Err()
	case <-e.closing:
		return ErrClosed
	}
}

// repeat runs a transaction until it meets no other. A row that another transaction has inserted or deleted meanwhile is met as
// ErrUnique or ErrReference. The function is run once more then: it may have a better answer now that it sees the row.
func (e *pgEngine) repeat(ctx context.Context, fn func(*Queries) error) error {
	began, lost, seen := time.Now(), 0, false
	others := meeting{turn: e.turn, pause: time.Millisecond}
	defer others.end()
	if practises {
		_, _ = e.try(ctx, fn, (*sql.Tx).Rollback)
	}
	for {
		cause, err := e.try(ctx, fn, (*sql.Tx).Commit)
		switch fault, _, _ := postgres.FaultOf(cause); {
		case err == nil:
			e.store.tally.committed(1)
			return nil
		case fault == postgres.Serialization && time.Since(began) < repeatFor:
			others.wait()
		case (fault == postgres.Unique || fault == postgres.Reference) && !seen:
			seen = true
		case postgres.Lost(cause) && lost < mostLost && !errors.Is(err, ErrUnknown):
			lost++
		default:
			if isFault(err) {
				e.store.tally.lost.Add(1)
			}
			return err
		}
	}
}

// meeting is what a function has done that met another.
type meeting struct {
	turn  chan struct{} // of the engine
	holds bool
	pause time.Duration // the next one
}

// wait returns when the function may be run again. It waits until no other function of this server is run again, so that those which have
// met do not meet again. The other may be a long one that this one has not met: then, and where it has met again, it waits for a pause.
func (m *meeting) wait() {
	if !m.holds {
		limit := time.NewTimer(turnFor)
		defer limit.Stop()
		select {
		case m.turn <- struct{}{}:
			m.holds = true
			return
		case <-limit.C:
		}
	}
	time.Sleep(m.pause/2 + rand.N(m.pause))
	m.pause = min(2*m.pause, longestPause)
}

// end lets the next one be run again.
func (m *meeting) end() {
	if m.holds {
		<-m.turn
	}
}

// outgrown is the error of a server whose database a newer version has migrated meanwhile, to a schema that this one cannot use.
func (e *pgEngine) outgrown() error {
	e.newer.Store(true)
	return fmt.Errorf("%w: %w; end this server and start the newer warren", ErrBusy, ErrNewer)
}

// try runs one transaction up to its end. cause is the first error of its statements, which the function may have turned into another.
func (e *pgEngine) try(ctx context.Context, fn func(*Queries) error, end func(*sql.Tx) error) (cause, err error) {
	conn, failure, err := e.watched(ctx)
	if err != nil {
		return err, Typed(err)
	}
	defer func() {
		_ = postgres.Watch(conn, nil)
		_ = conn.Close() // back to the pool
	}()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		return err, Typed(err)
	}
	defer tx.Rollback() //nolint:errcheck // after a COMMIT it does nothing; also when fn ends the goroutine
	stmts := e.statements(tx, true)
	stmts.queue, stmts.failure = new(auditQueue), failure
	if err = e.run(ctx, New(stmts), stmts, fn); err != nil {
		return errors.Join(failure.Err(), err), err
	}
	if err = end(tx); err != nil {
		if fault, _, _ := postgres.FaultOf(err); fault == postgres.Gone {
			return err, fmt.Errorf("%w: %w", ErrUnknown, Typed(err))
		}
		return err, Typed(err)
	}
	return nil, nil
}

// watched takes a connection out of the pool, whose statements note their first error.
func (e *pgEngine) watched(ctx context.Context) (*sql.Conn, *postgres.Failure, error) {
	conn, err := e.writes.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	failure := new(postgres.Failure)
	if err := postgres.Watch(conn, failure); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return conn, failure, nil
}

// run calls the function of a transaction, and leaves its entries for the audit log. A function that has passed over the failure of a
// statement fails: everything after that was refused.
func (e *pgEngine) run(ctx context.Context, q *Queries, stmts *pgStatements, fn func(*Queries) error) error {
	if err := call(fn, q); err != nil {
		return err
	}
	if err := stmts.failure.Err(); err != nil {
		return Typed(err)
	}
	return Typed(e.keepEntries(ctx, q, stmts.queue.entries))
}

// probe writes as much as a large row takes. It is no function of a write, so that it meets none.
func (e *pgEngine) probe(ctx context.Context) error {
	if e.newer.Load() {
		return e.outgrown()
	}
	tx, err := e.writes.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return Typed(err)
	}
	defer tx.Rollback() //nolint:errcheck // after a COMMIT it does nothing
	err = New(e.statements(tx, false)).SetSetting(ctx, SetSettingParams{Name: "ready", Value: probeText()})
	if err == nil {
		err = tx.Commit()
	}
	return Typed(err)
}

func (e *pgEngine) catchUp(ctx context.Context) error { return e.follow.catchUp(ctx) }

func (e *pgEngine) figures(f *Figures) {
	reads := e.reads.Stats()
	f.Waiting = max(0, int(e.waiting.Load())-pgWrites)
	f.ReadWaits, f.ReadWait, f.Bytes = reads.WaitCount, reads.WaitDuration, e.bytes.Load()
}

// The rhythms of keep.
const (
	keepEvery  = time.Second
	purgeEvery = time.Minute
)

// keep does in the background what no request should wait for.
func (e *pgEngine) keep() {
	defer close(e.kept)
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	var purged time.Time
	failing := false
	for {
		err := errors.Join(e.follow.catchUp(e.store.ctx), e.chainUp(e.store.ctx))
		if time.Since(purged) > purgeEvery {
			purged = time.Now()
			err = errors.Join(err, e.follow.purge(e.store.ctx), e.purgeEvents(e.store.ctx), e.measure(e.store.ctx))
		}
		if e.store.ctx.Err() != nil {
			return
		}
		if failed := err != nil; failed != failing {
			failing = failed
			if failed {
				e.log.Warn("the database does not answer", "err", err)
			} else {
				e.log.Info("the database answers again")
			}
		}
		select {
		case <-tick.C:
		case <-e.store.ctx.Done():
			return
		}
	}
}

// measure reads the size of the database.
func (e *pgEngine) measure(ctx context.Context) error {
	var n int64
	err := e.reads.QueryRowContext(ctx, "SELECT pg_database_size(current_database())").Scan(&n)
	e.bytes.Store(n)
	return err
}

const (
	// keepEvents is how long events are kept, and at most keepEventRows. The newest one always stays.
	keepEvents    = 24 * time.Hour
	keepEventRows = 10_000
)

// boundEvents notes the highest number that is to be removed. Of several servers that do it at once, each waits for the one before.
const boundEvents = `UPDATE events_removed SET below = bound.seq FROM (
	SELECT max(seq) AS seq FROM events WHERE seq < (SELECT max(seq) FROM events) AND (at < now_ms() - $1
		OR seq <= (SELECT seq FROM events ORDER BY seq DESC LIMIT 1 OFFSET $2))) AS bound WHERE bound.seq > below`

// purgeEvents removes events that are too old or too many.
func (e *pgEngine) purgeEvents(ctx context.Context) error {
	tx, err := e.writes.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a COMMIT it does nothing
	_, err = tx.ExecContext(ctx, boundEvents, keepEvents.Milliseconds(), int64(keepEventRows))
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM events USING events_removed WHERE seq <= below")
	}
	if err != nil {
		return fmt.Errorf("remove old events: %w", err)
	}
	return tx.Commit()
}

// close waits for the functions that run, and closes the connections.
func (e *pgEngine) close() error {
	close(e.closing)
	for range pgWrites {
		e.slots <- struct{}{}
	}
	if e.kept != nil {
		<-e.kept
	}
	var errs []error
	for _, db := range []*sql.DB{e.writes, e.reads, e.bus} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
