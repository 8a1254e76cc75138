// Package store keeps Warren's durable state: in one SQLite file, or in a PostgreSQL that several servers share (engine.go).
//
// With SQLite, reads use a few read-only connections, writes one connection that a single goroutine owns (write.go). sqlc
// generates the queries from queries/*.sql; ../schema.sql documents the tables.
package store

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// FileName is the database's name in the data folder. SQLite keeps "-wal" and "-shm" files beside it.
const FileName = "warren.db"

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

// Open opens the database in dir, or that of Options.Database, creates it if it is missing, and migrates it. An existing
// file is examined first, and left unchanged if it is rejected. Whether a large one is intact is checked while it is
// used: if it is not, every later write fails with ErrDamaged. The error of Open is ErrNewer, ErrDamaged, ErrReadOnly,
// ErrDiskFull, ErrBusy, ErrSecretKey or ErrUnfinished, and says what to do.
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

// openKeys reads the secret key, and derives that of the audit log.
func (s *Store) openKeys(ctx context.Context, dir, file string) (err error) {
	if s.keys, err = openKeyring(ctx, s, dir, file); err != nil {
		return err
	}
	s.audit, err = newAuditKey(s.keys)
	return err
}

// keepVersion notes the version that has opened the database. "" changes nothing.
func (s *Store) keepVersion(ctx context.Context, version string) error {
	if version == "" {
		return nil
	}
	had, err := s.short.GetSetting(ctx, versionSetting)
	if err == nil && had == version {
		return nil
	}
	if err != nil && !errors.Is(err, ErrNoRow) {
		return err
	}
	return s.Write(ctx, func(q *Queries) error {
		return q.SetSetting(ctx, SetSettingParams{Name: versionSetting, Value: version})
	})
}

// Read returns queries for short statements: a row, or a page without filters. They ignore the end of the context,
// which saves two goroutines per statement; the context's values are kept. Errors are the driver's; Typed classifies
// them.
func (s *Store) Read() *Queries { return s.short }

// Write runs fn in a transaction. It returns nil when the transaction is on disk, or an error when fn's changes are
// undone. Errors of fn are returned with SQLite's errors typed as by Typed. A panic is returned as a *PanicError.
//
// The end of ctx withdraws a function that waits in the queue. A function that has begun runs to its end, and its
// statements ignore ctx.
//
// fn may be called again after its first run was undone, since the database may find a conflict. So it begins anew each
// time: it sets what it captures, adds to nothing, and leaves what must happen once to the caller, after Write.
//
// fn must be quick, since other writes wait: a thousand statements at most, or ten thousand rows of one (AddProfiles,
// 0.3 s). It must wait only for its queries and must not call Write. It must return on an error that it does not expect, since
// SQLite may have ended the transaction after a fault of the disk.
func (s *Store) Write(ctx context.Context, fn func(*Queries) error) error {
	began := time.Now()
	err := ctx.Err()
	if err == nil {
		err = s.engine.write(ctx, fn)
	}
	s.tally.wrote(began, err)
	if errors.Is(err, ErrDiskFull) {
		s.ready.stale.Store(true)
	}
	return err
}

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

// Schema returns the number of the newest schema that this program knows of the store's kind of database.
func (s *Store) Schema() int64 {
	if e, ok := s.engine.(*pgEngine); ok {
		return e.schema.Newest()
	}
	return int64(newestMigration())
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

// Figures returns what the store has counted. It reads no table.
func (s *Store) Figures() Figures {
	f := Figures{Groups: s.tally.groups.Load(), Writes: s.tally.writes.Load(), Lost: s.tally.lost.Load(), Took: s.tally.took.Read()}
	s.engine.figures(&f)
	return f
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
