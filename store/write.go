package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// This file implements group commit. One goroutine owns the writing connection; it takes functions from a bounded queue and
// runs those that wait in one transaction, since a COMMIT waits for the disk and a statement does not. The rules are:
//
//   - Each function has a savepoint of its own: one that fails is undone alone.
//   - Nobody gets an answer before the COMMIT is on disk, also those that failed: what they saw may not have come to be.
//   - When the transaction as a whole is lost (disk full, I/O error), every function in it fails with the cause.
const (
	queueLength = 1024                  // functions that wait; more callers wait outside
	groupLength = 256                   // functions in one transaction
	groupTime   = 20 * time.Millisecond // a transaction that is as old takes no more: those who came first wait for it
)

// The states of a write. The one who moves it away from waiting decides what becomes of it.
const (
	waiting int32 = iota
	begun
	withdrawn
)

type write struct {
	fn    func(*Queries) error
	state atomic.Int32
	err   error
	done  chan error // buffered: the writer never waits for a caller
}

// Write runs fn in a transaction and returns when the transaction is on disk (nil), or fn's changes are undone (an error).
// An error of fn comes back as it is, with SQLite's errors typed as Typed does; a panic comes back as a *PanicError.
// While fn waits for its turn the end of ctx withdraws it; once begun it runs to its end, and its statements heed no
// context. fn must be quick (a thousand rows at most: others wait behind it, and the cost of undoing grows with the square),
// must not wait for anything but its queries, must not call Write, and must return at an error that it does not understand:
// after a fault of the disk SQLite may have ended the transaction.
func (s *Store) Write(ctx context.Context, fn func(*Queries) error) error {
	err := s.write(ctx, fn)
	if errors.Is(err, ErrDiskFull) {
		s.ready.stale.Store(true)
	}
	return err
}

func (s *Store) write(ctx context.Context, fn func(*Queries) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &write{fn: fn, done: make(chan error, 1)}
	select {
	case s.writer.queue <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.writer.closing:
		return ErrClosed
	}
	select {
	case err := <-w.done:
		return err
	case <-s.writer.stopped:
		return w.afterStop()
	case <-ctx.Done():
		if w.state.CompareAndSwap(waiting, withdrawn) {
			return ctx.Err()
		}
	}
	select {
	case err := <-w.done:
		return err
	case <-s.writer.stopped:
		return w.afterStop()
	}
}

// afterStop tells a write that was answered with the last group from one that came too late.
func (w *write) afterStop() error {
	select {
	case err := <-w.done:
		return err
	default:
		return ErrClosed
	}
}

// writer owns the one connection that writes.
type writer struct {
	db      *sql.DB // of one connection
	log     *slog.Logger
	queue   chan *write
	closing chan struct{} // closed by close: take no more
	stopped chan struct{} // closed by loop: everything is answered
	started bool          // the loop runs
	length  int           // groupLength and groupTime, but in tests
	time    time.Duration

	// Of the loop's goroutine alone:
	conn  *sql.Conn
	stmts *statements
	q     *Queries
	group []*write // those of the transaction under way
}

func newWriter(db *sql.DB, log *slog.Logger) *writer {
	return &writer{db: db, log: log, queue: make(chan *write, queueLength), closing: make(chan struct{}), stopped: make(chan struct{}),
		length: groupLength, time: groupTime}
}

// connect opens the connection, or opens it anew after a fault.
func (w *writer) connect(ctx context.Context) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	w.conn = conn
	w.stmts = newStatements(conn, true)
	w.q = New(w.stmts)
	return nil
}

// disconnect throws the connection away, and with it the state that a fault may have left in it.
func (w *writer) disconnect() {
	if w.conn == nil {
		return
	}
	_ = w.stmts.close()
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // so that the pool does not keep it
	_ = w.conn.Close()
	w.conn, w.stmts, w.q = nil, nil, nil
}

func (w *writer) exec(statement string) error {
	_, err := w.stmts.ExecContext(context.Background(), statement)
	return err
}

// start connects and begins to take functions.
func (w *writer) start(ctx context.Context) error {
	if err := w.connect(ctx); err != nil {
		return err
	}
	w.started = true
	go w.loop()
	return nil
}

func (w *writer) loop() {
	clean := false
	defer func() {
		if !clean { // a function ended this goroutine (runtime.Goexit): undo, answer, go on
			w.abort(errors.New("the write's goroutine ended"))
			go w.loop()
		}
	}()
	for {
		select {
		case first := <-w.queue:
			w.transact(first)
			continue
		default:
		}
		select {
		case first := <-w.queue:
			w.transact(first)
		case <-w.closing:
			if len(w.queue) == 0 {
				clean = true
				close(w.stopped)
				return
			}
		}
	}
}

// transact runs first, and those that wait with it, in one transaction, and answers them.
func (w *writer) transact(first *write) {
	if err := w.begin(); err != nil {
		w.refuse(first, err)
		return
	}
	deadline := time.Now().Add(w.time)
	for next := first; next != nil; next = w.next(deadline) {
		if !next.state.CompareAndSwap(waiting, begun) {
			continue
		}
		w.group = append(w.group, next)
		lost := w.run(next)
		if lost != nil {
			w.abort(lost)
			return
		}
	}
	if err := w.exec("COMMIT"); err != nil {
		w.abort(err)
		return
	}
	w.answer()
}

// next gives the next function of the group, if one waits.
func (w *writer) next(deadline time.Time) *write {
	if len(w.group) >= w.length || time.Now().After(deadline) {
		return nil
	}
	if len(w.queue) == 0 {
		runtime.Gosched() // lets those come who have just been answered: a COMMIT for one costs as much as for all
	}
	select {
	case next := <-w.queue:
		return next
	default:
		return nil
	}
}

// begin starts a transaction, on a new connection when the old one is of no use any more.
func (w *writer) begin() error {
	if w.conn != nil {
		err := w.exec("BEGIN IMMEDIATE")
		if err == nil || errors.Is(Typed(err), ErrBusy) {
			return err
		}
		w.log.Warn("database connection opened anew", "err", err)
		w.disconnect()
	}
	if err := w.connect(context.Background()); err != nil {
		return err
	}
	return w.exec("BEGIN IMMEDIATE")
}

// run calls one function inside its savepoint. An error of its own is kept for the answer; what is returned is the loss
// of the whole transaction, which SQLite rolls back by itself after some faults, savepoints included.
func (w *writer) run(next *write) (lost error) {
	if err := w.exec("SAVEPOINT one"); err != nil {
		return err
	}
	next.err = call(next.fn, w.q)
	if next.err != nil {
		if err := w.exec("ROLLBACK TO one"); err != nil {
			return next.err
		}
	}
	return w.exec("RELEASE one")
}

// call contains a panic.
func call(fn func(*Queries) error, q *Queries) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return Typed(fn(q))
}

// answer tells everyone in the group how it went, after the COMMIT.
func (w *writer) answer() {
	for _, done := range w.group {
		done.done <- done.err
	}
	clear(w.group)
	w.group = w.group[:0]
}

// abort undoes the transaction and fails its group with the cause.
func (w *writer) abort(cause error) {
	w.disconnect() // closing the connection rolls back what is open, also when ROLLBACK itself would fail
	for _, lost := range w.group {
		lost.err = fmt.Errorf("the shared transaction was rolled back: %w", Typed(cause))
	}
	w.answer()
}

// refuse fails those that wait when no transaction can begin. All of them: each would wait as long for the same answer.
func (w *writer) refuse(first *write, cause error) {
	for next := first; next != nil; next = w.next(time.Now().Add(w.time)) {
		if next.state.CompareAndSwap(waiting, begun) {
			next.err = Typed(cause)
			w.group = append(w.group, next)
		}
	}
	w.answer()
}

// close answers what waits and closes the connection, which moves the log into the database file.
func (w *writer) close() error {
	close(w.closing)
	if w.started {
		<-w.stopped
	}
	w.disconnect()
	return w.db.Close()
}
