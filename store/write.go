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

// Implements group commit. One goroutine owns the writing connection and takes functions from a bounded queue. It
// runs all waiting functions in one transaction, since a COMMIT waits for the disk and a statement does not.
//
//   - Each function has its own savepoint: a failed function is undone alone.
//   - No caller gets an answer before the COMMIT is on disk, not even a failed one: what it read may be rolled back.
//   - If the whole transaction is lost (disk full, I/O error), all of its functions fail with the cause.
const (
	queueLength = 1024                  // functions in the queue; further callers wait outside
	groupLength = 256                   // functions in one transaction
	groupTime   = 20 * time.Millisecond // an older transaction takes no more functions, since the first ones wait for it
)

// The states of a write. The goroutine that moves it from waiting decides its result.
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

// write queues a function and waits for its result.
func (w *writer) write(ctx context.Context, fn func(*Queries) error) error {
	next := &write{fn: fn, done: make(chan error, 1)}
	select {
	case w.queue <- next:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return ErrClosed
	}
	for gone := ctx.Done(); ; gone = nil { // a function that has begun is waited for
		select {
		case err := <-next.done:
			return err
		case <-w.stopped:
			return next.afterStop()
		case <-gone:
			if next.state.CompareAndSwap(waiting, withdrawn) {
				return ctx.Err()
			}
		}
	}
}

// afterStop returns the result of a write that was in the last group, and ErrClosed for a later one.
func (w *write) afterStop() error {
	select {
	case err := <-w.done:
		return err
	default:
		return ErrClosed
	}
}

// writer owns the connection that writes.
type writer struct {
	db       *sql.DB // of one connection
	log      *slog.Logger
	queue    chan *write
	closing  chan struct{} // closed by close: no more writes are taken
	stopped  chan struct{} // closed by loop: all writes are answered
	started  bool          // the loop runs
	length   int           // groupLength and groupTime, except in tests
	time     time.Duration
	follow   *follower // of the loop's goroutine
	auditKey auditKey  // set before the first entry
	tally    *writeTally

	// Used by the loop's goroutine only:
	conn  *sql.Conn
	stmts *statements
	q     *Queries
	group []*write    // functions of the current transaction
	chain *auditChain // of the audit log as committed; nil: to be read

	hasher    *auditHasher // kept, since making one takes as long as two hashes; nil: none was needed yet
	unindexed int          // entries of the audit log that are not in its index, as far as is known
}

func newWriter(db *sql.DB, log *slog.Logger, follow *follower, t *writeTally) *writer {
	return &writer{db: db, log: log, follow: follow, tally: t, queue: make(chan *write, queueLength),
		closing: make(chan struct{}), stopped: make(chan struct{}), length: groupLength, time: groupTime}
}

// connect opens the connection, also after a fault.
func (w *writer) connect(ctx context.Context) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	if err := w.follow.attach(conn); err != nil {
		return errors.Join(err, conn.Close())
	}
	w.conn = conn
	w.stmts = newStatements(conn, true)
	w.stmts.audit = new(auditQueue)
	w.q = New(w.stmts)
	return nil
}

// disconnect drops the connection, with the state that a fault may have left in it.
func (w *writer) disconnect() {
	if w.conn == nil {
		return
	}
	_ = w.stmts.close()
	_ = w.follow.detach(w.conn)
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // removes the connection from the pool
	_ = w.conn.Close()
	w.conn, w.stmts, w.q, w.chain = nil, nil, nil, nil
}

func (w *writer) exec(statement string) error {
	_, err := w.stmts.ExecContext(context.Background(), statement)
	return err
}

// start connects and starts the loop.
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
		if !clean { // a function ended this goroutine (runtime.Goexit): undo, answer, continue
			w.abort(errors.New("the write's goroutine ended"))
			go w.loop()
		}
	}()
	for {
		for w.unindexed > auditTail {
			w.indexAudit()
		}
		select {
		case first := <-w.queue:
			w.transact(first)
			continue
		default:
		}
		select {
		case first := <-w.queue:
			w.transact(first)
		case <-w.tailQuiet():
			w.indexTail()
		case <-w.closing:
			if len(w.queue) == 0 {
				clean = true
				close(w.stopped)
				return
			}
		}
	}
}

// transact runs first, and the functions that wait behind it, in one transaction. It answers all of them.
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
	if err := w.commit(); err != nil {
		w.abort(err)
		return
	}
	w.tally.committed(len(w.group))
	w.follow.apply(context.Background(), w.q)
	w.answer()
}

// commit ends the transaction with its entries of the audit log, unless its changes cannot be followed.
func (w *writer) commit() error {
	chain, err := w.appendAudit(context.Background())
	if err != nil {
		return err
	}
	if err := w.follow.resolve(context.Background(), w.stmts); err != nil {
		return err
	}
	if err := w.exec("COMMIT"); err != nil {
		return err
	}
	w.chain = chain
	return nil
}

// next returns the next waiting function of the group, or nil.
func (w *writer) next(deadline time.Time) *write {
	if len(w.group) >= w.length || time.Now().After(deadline) {
		return nil
	}
	if len(w.queue) == 0 {
		runtime.Gosched() // lets callers that were just answered queue again: one COMMIT costs the same for many
	}
	select {
	case next := <-w.queue:
		return next
	default:
		return nil
	}
}

// begin starts a transaction, on a new connection if the old one has failed.
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

// run calls a function inside its savepoint. The function's own error is kept for the answer. The returned error
// means that the whole transaction is lost: after some faults SQLite rolls back everything, savepoints included.
func (w *writer) run(next *write) (lost error) {
	if err := w.exec("SAVEPOINT one"); err != nil {
		return err
	}
	if err := practise(w.conn, w.exec, next.fn); err != nil {
		return err
	}
	audit := w.stmts.audit
	entries := len(audit.entries)
	next.err = call(next.fn, w.q)
	if next.err != nil {
		audit.entries = audit.entries[:entries]
		if err := w.exec("ROLLBACK TO one"); err != nil {
			return next.err
		}
	}
	return w.exec("RELEASE one")
}

// call runs fn and converts a panic to an error.
func call(fn func(*Queries) error, q *Queries) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return Typed(fn(q))
}

// answer sends the results to the group's callers, after the COMMIT.
func (w *writer) answer() {
	for _, done := range w.group {
		done.done <- done.err
	}
	clear(w.group)
	w.group = w.group[:0]
	if w.stmts != nil {
		*w.stmts.audit = auditQueue{}
	}
}

// abort undoes the transaction and fails its group with the cause.
func (w *writer) abort(cause error) {
	w.tally.lost.Add(1)
	w.disconnect()                      // closing the connection rolls back, even where ROLLBACK would fail
	_ = w.connect(context.Background()) // w.q is nil where it fails; the next group tries again
	w.follow.catchUp(context.Background(), w.q)
	for _, lost := range w.group {
		lost.err = fmt.Errorf("the shared transaction was rolled back: %w", Typed(cause))
	}
	w.answer()
}

// refuse fails all waiting functions when no transaction can begin. Each would wait as long for the same result.
func (w *writer) refuse(first *write, cause error) {
	for next := first; next != nil; next = w.next(time.Now().Add(w.time)) {
		if next.state.CompareAndSwap(waiting, begun) {
			next.err = Typed(cause)
			w.group = append(w.group, next)
		}
	}
	w.answer()
}

// close answers the waiting writes and closes the connection, which checkpoints the log.
func (w *writer) close() error {
	close(w.closing)
	if w.started {
		<-w.stopped
	}
	w.disconnect()
	return w.db.Close()
}
