// Package store keeps Warren's durable state: in one SQLite file, or in a PostgreSQL that several servers share (engine.go).
//
// With SQLite, reads use a few read-only connections, writes one connection that a single goroutine owns (write.go). sqlc
// generates the queries from queries/*.sql; ../schema.sql documents the tables.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"warren/tally"
)

// FileName is the database's name in the data folder. SQLite keeps "-wal" and "-shm" files beside it.
const FileName = "warren.db"

// Options are the operator's choices.
type Options struct {
	// Database is the address of a PostgreSQL that servers share, as postgres://user:password@host/name
	// (https://www.postgresql.org/docs/15/libpq-connect.html, 34.1.1.2). Empty: a SQLite file in the data folder.
	Database string
	// SecretKeyFile holds the key that seals secrets, as 64 hexadecimal digits. It must exist. Empty: "secret.key" in
	// the data folder, which is created if it is missing.
	SecretKeyFile string
	// Logger gets migrations and reconnects. Nil: no log.
	Logger *slog.Logger
	// Spans takes the spans of writes. Nil: nobody traces.
	Spans tally.Spans
	// Warren is the version of this program. The database keeps it, so that the refusal of an older version names it.
	// Empty: the database keeps what it has.
	Warren string
	// Guard is asked before the first change of a database that has an older schema. Nil: nobody is.
	Guard Guard

	checkedFirst *int64 // replaces the constant, in tests
	unfinished   bool   // a copy that is not complete is no fault: Transfer goes on with it
}

// Store is an open database. Its methods are safe for concurrent use.
type Store struct {
	engine   engine
	short    *Queries // statements that no context cancels
	long     *Queries // statements that end with their context
	profiles *cache[Profile]
	proxies  *cache[Proxy]
	tally    *writeTally

	// The indexes of lists, and the goroutines that load them. cancel ends those.
	ofProfiles, ofProxies *listIndex
	background            background
	ctx                   context.Context
	cancel                context.CancelFunc

	keys   keyring
	audit  auditKey
	ready  readiness
	closed sync.Once
}

// Open opens the database in dir, or that of Options.Database, creates it if it is missing, and migrates it. An existing file is examined first,
// and left unchanged if it is rejected. Whether a large one is intact is checked while it is used: if it is not, every
// later write fails with ErrDamaged. The error of Open is ErrNewer, ErrDamaged, ErrReadOnly, ErrDiskFull, ErrBusy,
// ErrSecretKey or ErrUnfinished, and says what to do.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Database != "" {
		return openPostgres(ctx, dir, o)
	}
	path := filepath.Join(dir, FileName)
	if err := prepareFolder(dir, path); err != nil {
		return nil, err
	}
	found, later, err := examine(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if found != 0 && found < newestMigration() && o.Guard != nil {
		if err := o.Guard.BeforeMigration(ctx, Migration{From: int64(found), To: int64(newestMigration())}); err != nil {
			return nil, err
		}
	}
	s, err := open(ctx, dir, path, found, later, o)
	if err != nil {
		return nil, explainOpen(path, err)
	}
	return s, nil
}

// newStore returns a store that has no database yet.
func newStore(o Options) *Store {
	s := &Store{profiles: newCache(describeProfile), proxies: newCache(describeProxy), tally: &writeTally{spans: o.Spans},
		ofProfiles: newListIndex("profiles", indexedProfiles{}, profileOrders(), o.Logger),
		ofProxies:  newListIndex("proxies", indexedProxies{}, proxyOrders(), o.Logger)}
	s.ofProfiles.links, s.ofProxies.dependent, s.ofProxies.implied = proxyLinks, s.ofProfiles, impliedByProxy
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// open runs the steps of Open that change the file. On failure it closes everything it opened.
func open(ctx context.Context, dir, path string, found schemaVersion, later bool, o Options) (s *Store, err error) {
	s = newStore(o)
	e := &sqliteEngine{file: path}
	s.engine = e
	defer func() {
		if err != nil {
			_ = s.close()
			s = nil
		}
	}()
	follow := newFollower(s)
	e.writer = newWriter(openPool(dsn(path, writerPragmas), 1), o.Logger, follow, s.tally)
	if err := migrate(ctx, path, found, o); err != nil {
		return s, err
	}
	e.readers = openPool(dsn(path, readerPragmas), min(max(runtime.GOMAXPROCS(0)*2, 4), 8))
	if err := e.readers.PingContext(ctx); err != nil {
		return s, fmt.Errorf("open for reading: %w", err)
	}
	e.prepared = []*statements{newStatements(e.readers, true), newStatements(e.readers, false)}
	s.short, s.long = New(e.prepared[0]), New(e.prepared[1])
	follow.committed = e.prepared[0]
	if err := e.writer.start(ctx); err != nil {
		return s, fmt.Errorf("open for writing: %w", err)
	}
	if later { // after the file has its log, since a backup has none and could not get one while the check reads
		if e.check, err = checkLater(ctx, path, o.Logger); err != nil {
			return s, err
		}
	}
	if err := s.Ready(ctx); err != nil {
		return s, err
	}
	if err := s.openKeys(ctx, dir, o.SecretKeyFile); err != nil {
		return s, err
	}
	e.writer.auditKey = s.audit // read with the first entry, which is written later
	if err := errors.Join(s.keepVersion(ctx, o.Warren), s.runPendingSteps(ctx, path)); err != nil {
		return s, err
	}
	if later {
		close(e.check.begin)
	}
	return s, nil
}

// openKeys reads the secret key, and derives that of the audit log.
func (s *Store) openKeys(ctx context.Context, dir, file string) (err error) {
	if s.keys, err = openKeyring(ctx, s, dir, file); err != nil {
		return err
	}
	s.audit, err = newAuditKey(s.keys)
	return err
}

// Read returns queries for short statements: a row, or a page without filters. They ignore the end of the context,
// which saves two goroutines per statement; the context's values are kept. Errors are the driver's; Typed classifies
// them.
func (s *Store) Read() *Queries { return s.short }

// LoadLists loads the indexes of lists in the background. Without it the first list that needs one waits.
func (s *Store) LoadLists() {
	s.ofProfiles.start(s)
	s.ofProxies.start(s)
}

// Forget drops all rows and indexes in memory. Whoever changes the database past the store must call it afterwards.
func (s *Store) Forget() {
	s.profiles.clear()
	s.ofProfiles.reset()
	s.proxies.clear()
	s.ofProxies.reset()
}

// readyTTL is how long a good result of Ready is reused, so that frequent callers cause no more writes.
const readyTTL = time.Second

// readiness is the last result of Ready.
type readiness struct {
	mu  sync.Mutex
	at  time.Time
	err error // nil before the first call

	stale atomic.Bool // a write has failed since
}

// Ready reports whether the store can write now. A good result is reused for a second, unless a write fails on a full disk.
func (s *Store) Ready(ctx context.Context) error {
	r := &s.ready
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.stale.Swap(false) || r.err != nil || now.Sub(r.at) > readyTTL {
		r.err = s.engine.probe(ctx)
		r.at = time.Now()
	}
	return r.err
}

// probeText is as long as a large row.
func probeText() string {
	return time.Now().UTC().Format(time.RFC3339Nano) + strings.Repeat(" ", 8<<10)
}

// background is the store's own goroutines.
type background struct {
	mu    sync.Mutex
	ended bool
	group sync.WaitGroup
}

// start runs fn in a goroutine, unless the store is closed. It reports whether it does.
func (b *background) start(fn func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.group.Go(fn)
	}
	return !b.ended
}

// end waits for all goroutines, and starts no more.
func (b *background) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.group.Wait()
}

// Close waits for the writes in progress, checkpoints the log and closes the database. Later writes fail with
// ErrClosed. A second Close does nothing.
func (s *Store) Close() (err error) {
	s.closed.Do(func() { err = s.close() })
	return err
}

func (s *Store) close() error {
	s.cancel()
	s.background.end()
	return s.engine.close()
}
