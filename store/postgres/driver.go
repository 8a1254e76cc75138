package postgres

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// The driver of database/sql, on pgx's connection alone. pgx's own driver brings its codecs of all types of PostgreSQL, of which the store
// has three.

// connector implements driver.Connector.
type connector struct {
	config   *pgconn.Config
	prepares bool // statements are prepared, once on each connection
	readOnly bool
	silence  time.Duration // of Settings

	mu     sync.Mutex
	silent error     // the server did not answer
	until  time.Time // how long that is the answer
}

// silentPause is how long no other connection is tried after one that the server did not answer. database/sql makes connections for those
// that wait one after the other, so that each would wait for the time-outs of all before it.
const silentPause = time.Second

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	began := time.Now()
	c.mu.Lock()
	silent, until := c.silent, c.until
	c.mu.Unlock()
	if silent != nil && began.Before(until) {
		return nil, silent
	}
	pg, err := pgconn.ConnectConfig(ctx, c.config)
	c.mu.Lock()
	c.silent = nil
	if took := time.Since(began); err != nil && ctx.Err() == nil && took > c.config.ConnectTimeout/2 {
		c.silent, c.until = err, began.Add(took+silentPause)
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return &session{pg: pg, of: c, prepared: map[string]*prepared{}}, nil
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c }

// Open implements driver.Driver.
func (c *connector) Open(string) (driver.Conn, error) { return c.Connect(context.Background()) }

const (
	// mostPrepared is how many statements a connection keeps. Lists with filters have texts without number.
	mostPrepared = 500
	// closeTime is how long the end of a connection waits for the server.
	closeTime = 5 * time.Second
)

// session is a connection. database/sql calls one method at a time.
type session struct {
	pg       *pgconn.PgConn
	of       *connector
	prepared map[string]*prepared // by their texts
	named    int                  // statements so far
	failure  *Failure             // nil: nobody watches
}

// prepared is a statement that the server knows.
type prepared struct {
	*pgconn.StatementDescription
	formats []int16 // of the columns
}

// PgConn returns the connection below.
func (s *session) PgConn() *pgconn.PgConn { return s.pg }

// Close implements driver.Conn.
func (s *session) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return s.pg.Close(ctx)
}

// IsValid implements driver.Validator.
func (s *session) IsValid() bool { return !s.pg.IsClosed() }

// ResetSession implements driver.SessionResetter. A connection that was lost while nobody used it shows at its next statement.
func (s *session) ResetSession(context.Context) error {
	if s.pg.IsClosed() || s.pg.TxStatus() != 'I' {
		return driver.ErrBadConn
	}
	return nil
}

// elsewhere returns driver.ErrBadConn in place of an error after which the same statement may be sent on another connection. database/sql
// does that then.
func (s *session) elsewhere(err error) error {
	if s.pg.IsClosed() && Lost(err) {
		return driver.ErrBadConn
	}
	return err
}

// Ping implements driver.Pinger.
func (s *session) Ping(ctx context.Context) error { return s.command(ctx, "-- ping") }

// waitLong lets the server be silent from now on.
func (s *session) waitLong() error {
	if c := s.below(); c != nil {
		return c.waitLong()
	}
	return nil
}

// below returns the connection that dial has made.
func (s *session) below() *conn {
	below := s.pg.Conn()
	if encrypted, ok := below.(*tls.Conn); ok {
		below = encrypted.NetConn()
	}
	c, _ := below.(*conn)
	return c
}

// command runs statements without arguments or rows.
func (s *session) command(ctx context.Context, text string) error {
	return s.noted(s.pg.Exec(ctx, text).Close())
}

// noted returns the error of a statement, and tells it to who watches. Of some statements pgx says only that the connection is closed.
func (s *session) noted(err error) error {
	if err == nil {
		return nil
	}
	if c := s.below(); c != nil && c.wasSilent() {
		err = lostError{silentError(s.of.silence)}
	}
	if s.failure != nil {
		s.failure.note(err)
	}
	return err
}

// Begin implements driver.Conn.
func (s *session) Begin() (driver.Tx, error) {
	return s.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (s *session) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	text := "begin"
	switch level := sql.IsolationLevel(o.Isolation); level {
	case sql.LevelDefault:
	case sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable:
		text += " isolation level " + level.String()
	default:
		return nil, fmt.Errorf("transactions have no isolation level %s here", level)
	}
	if o.ReadOnly {
		text += " read only"
	}
	if err := s.command(ctx, text); err != nil {
		return nil, s.elsewhere(err)
	}
	return transaction{s}, nil
}

// transaction implements driver.Tx.
type transaction struct{ s *session }

// errRolledBack is a COMMIT of a transaction in which a statement has failed.
var errRolledBack = errors.New("the transaction was rolled back, since one of its statements had failed")

// Commit implements driver.Tx.
func (t transaction) Commit() error {
	results, err := t.s.pg.Exec(context.Background(), "commit").ReadAll()
	if err == nil && len(results) == 1 && results[0].CommandTag.String() == "ROLLBACK" {
		err = errRolledBack
	}
	return t.s.noted(err)
}

// Rollback implements driver.Tx.
func (t transaction) Rollback() error { return t.s.pg.Exec(context.Background(), "rollback").Close() }

// Prepare implements driver.Conn.
func (s *session) Prepare(text string) (driver.Stmt, error) {
	return s.PrepareContext(context.Background(), text)
}

// PrepareContext implements driver.ConnPrepareContext.
func (s *session) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	p, err := s.prepare(ctx, text)
	if err != nil {
		return nil, s.noted(err)
	}
	return &statement{s, text, len(p.ParamOIDs)}, nil
}

// prepare prepares a text, if the connection has not done it.
func (s *session) prepare(ctx context.Context, text string) (*prepared, error) {
	if p := s.prepared[text]; p != nil {
		return p, nil
	}
	if len(s.prepared) >= mostPrepared {
		clear(s.prepared)
		if err := s.pg.Exec(ctx, "DEALLOCATE ALL").Close(); err != nil {
			return nil, err
		}
	}
	s.named++
	d, err := s.pg.Prepare(ctx, "w"+strconv.Itoa(s.named), text, nil)
	if err != nil {
		return nil, err
	}
	p := &prepared{d, formatsOf(d.Fields)}
	s.prepared[text] = p
	return p, nil
}

// start sends a statement. Its rows must be closed.
func (s *session) start(ctx context.Context, text string, args []driver.NamedValue) (*pgconn.ResultReader, error) {
	if !s.of.prepares {
		values, formats, err := encode(args, nil)
		if err != nil {
			return nil, err
		}
		return s.pg.ExecParams(ctx, text, values, nil, formats, nil), nil
	}
	p, err := s.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	values, formats, err := encode(args, p.ParamOIDs)
	if err != nil {
		return nil, err
	}
	return s.pg.ExecStatement(ctx, p.StatementDescription, values, formats, p.formats), nil
}

// ended takes the error of a statement of a text.
func (s *session) ended(text string, err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && (pg.Routine == replanned || pg.Code == "26000") {
		delete(s.prepared, text) // its columns are others by now, or a pool has taken it away
	}
	return s.noted(err)
}

// ExecContext implements driver.ExecerContext. Without arguments there may be several statements.
func (s *session) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 {
		results, err := s.pg.Exec(ctx, text).ReadAll()
		if err != nil || len(results) == 0 {
			return driver.RowsAffected(0), s.ended(text, err)
		}
		return driver.RowsAffected(results[len(results)-1].CommandTag.RowsAffected()), nil
	}
	found, err := s.start(ctx, text, args)
	if err != nil {
		return nil, s.ended(text, err)
	}
	tag, err := found.Close()
	if err != nil {
		return nil, s.ended(text, err)
	}
	return driver.RowsAffected(tag.RowsAffected()), nil
}

// QueryContext implements driver.QueryerContext. On a pool that only reads it may be sent again.
func (s *session) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	found, err := s.start(ctx, text, args)
	if err == nil {
		r := &resultRows{s: s, text: text, found: found}
		if r.more = found.NextRow(); r.more {
			r.describe()
			return r, nil
		}
		if _, err = found.Close(); err == nil {
			r.describe()
			return r, nil
		}
	}
	if err = s.ended(text, err); s.of.readOnly {
		err = s.elsewhere(err)
	}
	return nil, err
}

// statement is a statement that a caller has prepared.
type statement struct {
	s          *session
	text       string
	parameters int
}

// Close implements driver.Stmt. The connection keeps what it has prepared.
func (p *statement) Close() error { return nil }

// NumInput implements driver.Stmt.
func (p *statement) NumInput() int { return p.parameters }

// Exec implements driver.Stmt.
func (p *statement) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }

// Query implements driver.Stmt.
func (p *statement) Query([]driver.Value) (driver.Rows, error) { return nil, driver.ErrSkip }

// ExecContext implements driver.StmtExecContext.
func (p *statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return p.s.ExecContext(ctx, p.text, args)
}

// QueryContext implements driver.StmtQueryContext.
func (p *statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return p.s.QueryContext(ctx, p.text, args)
}
