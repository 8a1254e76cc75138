package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Settings are those of a pool's connections.
type Settings struct {
	// ReadOnly refuses every change on these connections. Statements see what was committed when they began.
	//
	// Without it, transactions are SERIALIZABLE.
	ReadOnly bool
	// LockTimeout is how long a statement waits for a lock. 0: ten seconds.
	LockTimeout time.Duration
	// Silence is how long a statement waits for the server to say anything. Then the connection counts as lost. 0: as long as it takes.
	Silence time.Duration
	// IdleInTransaction is how long a transaction may wait for its next statement before the server ends it. 0: one minute.
	IdleInTransaction time.Duration
}

const (
	connectTimeout    = 5 * time.Second
	lockTimeout       = 10 * time.Second
	idleInTransaction = time.Minute
	unusedFor         = 10 * time.Minute // a connection beyond this is closed
	silentFor         = 30 * time.Second // a machine that says nothing for so long is gone
)

// Open returns a pool of connections to the database of an address, postgres://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE. Values are
// those of libpq (sslmode, connect_timeout, target_session_attrs) and settings of the server (search_path). Nothing is connected yet.
//
// An address that cannot be read is an error that shows nothing of the address.
func Open(address string, connections int, o Settings) (*sql.DB, error) {
	config, err := parse(address)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	config.DialFunc = dial(config.ConnectTimeout, o.Silence)
	unprepared := config.RuntimeParams[noStatements] == "off"
	delete(config.RuntimeParams, noStatements)
	given := config.RuntimeParams
	config.RuntimeParams = o.params()
	maps.Copy(config.RuntimeParams, given) // what the address says counts
	maps.Copy(config.RuntimeParams, needed())
	if o.ReadOnly && config.ValidateConnect != nil { // target_session_attrs=read-write refuses what this pool is
		delete(config.RuntimeParams, readOnly)
		config.AfterConnect = func(ctx context.Context, c *pgconn.PgConn) error {
			return c.Exec(ctx, "SET "+readOnly+" = on").Close()
		}
	}
	db := sql.OpenDB(&connector{config: config, prepares: !unprepared, readOnly: o.ReadOnly, silence: o.Silence})
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(unusedFor)
	return db, nil
}

// needed are the settings that no address may change, since texts and values rely on them.
func needed() map[string]string {
	return map[string]string{
		"client_encoding":             "UTF8",
		"standard_conforming_strings": "on",
		"timezone":                    "UTC",
		"statement_timeout":           "0", // a migration, or a check of everything, takes what it takes
	}
}

// noStatements is a part of an address that is ours: "off" prepares no statements, for a pool whose server connections change.
const noStatements = "prepared_statements"

// readOnly is the setting that refuses changes.
const readOnly = "default_transaction_read_only"

// params are settings of a session. Some of them have the server end what a killed program or a lost machine leaves, so that its locks are
// free:
//
//   - idle_in_transaction_session_timeout ends a transaction that does not go on.
//   - client_connection_check_interval ends a statement whose connection was closed. A server on Windows refuses it, unless the address
//     has it as 0.
//   - The tcp_ settings end a connection that says nothing. A Unix socket ignores them.
//
// A SERIALIZABLE transaction that reads a whole table conflicts with every other one that writes it. PostgreSQL reads small tables
// whole, so enable_seqscan is off. Without an index it still does. Costs are then huge, for which jit would compile each statement.
func (o Settings) params() map[string]string {
	params := map[string]string{
		"application_name":                    "warren",
		"lock_timeout":                        milliseconds(o.LockTimeout, lockTimeout),
		"idle_in_transaction_session_timeout": milliseconds(o.IdleInTransaction, idleInTransaction),
		"client_connection_check_interval":    "10s",
		"tcp_keepalives_idle":                 "15",
		"tcp_keepalives_interval":             "5",
		"tcp_keepalives_count":                "3",
		"tcp_user_timeout":                    milliseconds(silentFor, 0),
		"jit":                                 "off",
	}
	if o.ReadOnly {
		params[readOnly] = "on"
	} else {
		params["default_transaction_isolation"] = "serializable"
		params["enable_seqscan"] = "off"
	}
	return params
}

func milliseconds(d, otherwise time.Duration) string {
	if d == 0 {
		d = otherwise
	}
	return fmt.Sprintf("%dms", d.Milliseconds())
}

// parse reads an address. What the driver says of a fault is left out, since it may show a part of a password.
func parse(address string) (*pgconn.Config, error) {
	if !IsAddress(address) {
		return nil, errors.New("the address of the database has to begin with postgres://: " +
			"write postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	config, err := pgconn.ParseConfig(address)
	if err == nil {
		return config, nil
	}
	const advice = "the address of the database cannot be read%s: write postgres://USER:PASSWORD@HOST:PORT/DATABASE, " +
		"and in a password %%40 for @, %%2F for /, %%3A for :, %%3F for ?, %%23 for # and %%25 for %%"
	return nil, fmt.Errorf(advice, wrongValue(address))
}

// IsAddress reports whether a text is an address of PostgreSQL rather than a folder.
func IsAddress(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// wrongValue says which value of an address is wrong by itself; "": none is, or the address cannot be taken apart.
func wrongValue(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	for name, given := range u.Query() {
		for _, v := range given {
			if _, err := pgconn.ParseConfig("postgres://localhost/?" + url.Values{name: {v}}.Encode()); err != nil {
				return " (the value of " + name + ")"
			}
		}
	}
	return ""
}

// CheckAddress returns why a text is not an address that Open takes, without showing it.
func CheckAddress(address string) error {
	_, err := parse(address)
	return err
}

// dial gives up a machine that is silent, also in the middle of a statement, which Linux would wait a quarter of an hour for. silence is
// that of Settings.
func dial(timeout, silence time.Duration) pgconn.DialFunc {
	d := &net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silentFor / 2, Interval: silentFor / 6, Count: 3},
		ControlContext:  limitSilence,
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, silence: silence}, nil
	}
}

// conn is a connection to the server, whose errors can be told from those of other connections.
type conn struct {
	net.Conn

	mu      sync.Mutex
	silence time.Duration // of a Read; 0: no limit
	given   time.Time     // the deadline that the driver has set; zero: none
	silent  bool          // the server was silent for longer
}

// Read implements net.Conn. A machine may confirm what it gets although the server on it, or the way behind it, is silent.
func (c *conn) Read(p []byte) (int, error) {
	silence := c.limit()
	n, err := c.Conn.Read(p)
	if silence > 0 && errors.Is(err, os.ErrDeadlineExceeded) && c.noteSilence() {
		err = silentError(silence) // the driver would take the other for its own
	}
	return n, asLost(err)
}

// limit sets the deadline of a Read, if the driver has set none.
func (c *conn) limit() (silence time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silence > 0 && c.given.IsZero() {
		_ = c.Conn.SetReadDeadline(time.Now().Add(c.silence)) // a connection that has ended says so when it is read
	}
	return c.silence
}

// waitLong lets the server be silent from now on.
func (c *conn) waitLong() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silence = 0
	return c.Conn.SetReadDeadline(c.given)
}

// noteSilence reports whether a deadline that has passed was not the driver's.
func (c *conn) noteSilence() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = c.given.IsZero()
	return c.silent
}

func (c *conn) wasSilent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given = t
	return c.Conn.SetDeadline(t)
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, asLost(err)
}

// silentError is the error of a server that has said nothing for a time.
type silentError time.Duration

// Error implements error.
func (e silentError) Error() string {
	return fmt.Sprintf("the server has said nothing for %s", time.Duration(e))
}

// lostError is the error of a connection to the server.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

func asLost(err error) error {
	if err == nil {
		return nil
	}
	return lostError{err}
}
