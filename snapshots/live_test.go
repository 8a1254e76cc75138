package snapshots

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/store"
)

// database opens one in a profile's folder, for itself alone as Chrome does. Each of its rows has a page of its own. It has little
// memory, so that a change is in the file before it is done.
func database(t *testing.T, folder, mode string, rows int) *sql.DB {
	t.Helper()
	profile := filepath.Join(folder, "chrome", "Default")
	must(t, os.MkdirAll(profile, 0o700))
	db, err := sql.Open("sqlite", filepath.Join(profile, "History")+"?_pragma=locking_mode(EXCLUSIVE)&_pragma=journal_mode("+mode+
		")&_pragma=cache_size(5)&_pragma=synchronous(OFF)&_txlock=immediate")
	must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { must(t, db.Close()) })
	run(t, db, "CREATE TABLE a (id INTEGER PRIMARY KEY, n INTEGER, pad BLOB)")
	run(t, db, "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?) INSERT INTO a SELECT i, 1000, "+
		"zeroblob(3000) FROM c", rows)
	return db
}

func run(t *testing.T, db interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, query string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query, args...)
	must(t, err)
}

// sumOf reads what all rows of a copy have together.
func sumOf(t *testing.T, folder string) (sum int) {
	t.Helper()
	if n := settleAll(t, folder); n != 1 {
		t.Fatalf("%d databases are there", n)
	}
	db, err := sql.Open("sqlite", filepath.Join(folder, "chrome", "Default", "History"))
	must(t, err)
	must(t, db.QueryRowContext(t.Context(), "SELECT sum(n) FROM a").Scan(&sum))
	must(t, db.Close())
	return sum
}

// TestLiveUnfinished: a copy has what was committed before, and nothing of what was under way, although that is in the file, or what
// was committed is in the log alone. No lock is taken: the database is open for its owner alone.
func TestLiveUnfinished(t *testing.T) {
	t.Parallel()
	const rows = 200
	for _, mode := range []string{"TRUNCATE", "WAL"} {
		from, into := t.TempDir(), filepath.Join(t.TempDir(), "copy")
		db := database(t, from, mode, rows)
		run(t, db, "UPDATE a SET n = n + 1")
		tx, err := db.BeginTx(t.Context(), nil)
		must(t, err)
		run(t, tx, "UPDATE a SET n = 7, pad = randomblob(2900)")
		torn, err := copyLive(t.Context(), from, into)
		must(t, err)
		if sum := sumOf(t, into); sum != rows*1001 || len(torn) > 0 {
			t.Errorf("%s: the copy has %d, want %d; torn %q", mode, sum, rows*1001, torn)
		}
		must(t, tx.Commit())
	}
}

// TestLiveTransfers: while sums move between rows, every copy that is said to be whole has all of them.
func TestLiveTransfers(t *testing.T) {
	t.Parallel()
	const rows = 1000
	for _, mode := range []string{"TRUNCATE", "WAL"} {
		from := t.TempDir()
		db := database(t, from, mode, rows)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			for ctx.Err() == nil {
				tx, err := db.BeginTx(t.Context(), nil)
				must(t, err)
				for range rand.IntN(20) {
					amount := rand.IntN(100)
					run(t, tx, "UPDATE a SET n = n - ? WHERE id = ?", amount, 1+rand.IntN(rows))
					run(t, tx, "UPDATE a SET n = n + ? WHERE id = ?", amount, 1+rand.IntN(rows))
				}
				must(t, tx.Commit())
				<-time.After(time.Duration(rand.IntN(60)) * time.Millisecond) // what a browser does between two changes
			}
		})
		for round := range 5 {
			into := filepath.Join(t.TempDir(), "copy")
			if round == 4 { // of one that stands still
				stop()
				wg.Wait()
			}
			torn, err := copyLive(t.Context(), from, into)
			must(t, err)
			if len(torn) > 0 && round < 4 { // on a busy machine it may change all the time
				continue
			}
			if sum := sumOf(t, into); sum != rows*1000 || len(torn) > 0 {
				t.Errorf("%s: a copy has %d, want %d; torn %q", mode, sum, rows*1000, torn)
			}
		}
		stop()
		wg.Wait()
	}
}

// levelDB writes the files of an IndexedDB until the context ends. There comes a blob, a table that refers to it, and MANIFEST names
// the table. Then one goes that was replaced before.
func levelDB(ctx context.Context, t *testing.T, folder string, pause func(i int)) {
	t.Helper()
	blobs := strings.Replace(folder, ".leveldb", ".blob", 1)
	must(t, errors.Join(os.MkdirAll(folder, 0o700), os.MkdirAll(blobs, 0o700)))
	must(t, os.WriteFile(filepath.Join(folder, "CURRENT"), []byte("MANIFEST-000001\n"), 0o600))
	manifest, err := os.OpenFile(filepath.Join(folder, "MANIFEST-000001"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	defer manifest.Close() //nolint:errcheck // a test's
	for i := 1; ctx.Err() == nil; i++ {
		table := func(i int) string { return fmt.Sprintf("%06d.ldb", i) }
		must(t, os.WriteFile(filepath.Join(blobs, table(i)), nil, 0o600))
		must(t, os.WriteFile(filepath.Join(folder, table(i)), []byte(strings.Repeat(table(i), 10_000)), 0o600))
		_, err := manifest.WriteString(table(i) + "\n")
		must(t, err)
		if i > 9 {
			must(t, os.Remove(filepath.Join(folder, table(i-9))))
		}
		pause(i)
	}
}

// checkStore wants what MANIFEST names, whole.
func checkStore(t *testing.T, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "MANIFEST-000001"))
	must(t, err)
	lines := strings.Fields(string(text))
	last := lines[len(lines)-1]
	if table, err := os.ReadFile(filepath.Join(folder, last)); err != nil || string(table) != strings.Repeat(last, 10_000) {
		t.Errorf("the table %s: %d bytes, %v", last, len(table), err)
	}
	_, err = os.Stat(filepath.Join(strings.Replace(folder, ".leveldb", ".blob", 1), last))
	if err != nil {
		t.Error(err)
	}
}

// TestLiveLevelDB: the table that the copy's MANIFEST names is there, whole, and so is its blob, however the folders change meanwhile.
func TestLiveLevelDB(t *testing.T) {
	t.Parallel()
	const at = "chrome/Default/IndexedDB/a.indexeddb.leveldb"
	for range 20 {
		from, into := t.TempDir(), filepath.Join(t.TempDir(), "copy")
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		begun := make(chan struct{})
		wg.Go(func() {
			levelDB(ctx, t, filepath.Join(from, at), func(i int) {
				if i == 1 {
					close(begun)
				}
				if i == 1000 { // enough
					stop()
				}
				<-time.After(time.Duration(rand.IntN(1000)) * time.Microsecond)
			})
		})
		<-begun
		torn, err := copyLive(t.Context(), from, into)
		must(t, err)
		if len(torn) == 0 {
			checkStore(t, filepath.Join(into, at))
		}
		stop()
		wg.Wait()
	}
}

// TestLiveTorn: a database that changes all the time, or that is damaged, is named, and the rest is copied.
func TestLiveTorn(t *testing.T) {
	t.Parallel()
	from, into := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	profile := filepath.Join(from, "chrome", "Default")
	must(t, os.MkdirAll(profile, 0o700))
	for _, name := range []string{"Busy", "Damaged"} {
		must(t, os.WriteFile(filepath.Join(profile, name), append([]byte(sqliteHeader), make([]byte, 1<<20)...), 0o600))
	}
	must(t, os.WriteFile(filepath.Join(profile, "Preferences"), []byte("{}"), 0o600))
	busy, err := os.OpenFile(filepath.Join(profile, "Busy"), os.O_WRONLY, 0)
	must(t, err)
	defer busy.Close() //nolint:errcheck // a test's
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := uint64(0); ctx.Err() == nil; i++ {
			if _, err := busy.WriteAt(binary.BigEndian.AppendUint64(nil, i), 1000); err != nil {
				t.Error(err)
			}
		}
	})
	torn, err := copyLive(t.Context(), from, into)
	stop()
	wg.Wait()
	must(t, err)
	if !slices.Equal(torn, []string{"chrome/Default/Busy", "chrome/Default/Damaged"}) {
		t.Errorf("torn are %q", torn)
	}
	if _, err := os.Stat(filepath.Join(into, "chrome", "Default", "Preferences")); err != nil {
		t.Error(err)
	}
}

// TestLiveAsFound: files, links and empty folders are copied as they are, with permissions and times; what is left out and what is
// no file is not there.
func TestLiveAsFound(t *testing.T) {
	t.Parallel()
	from, into := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	profile := filepath.Join(from, "chrome", "Default")
	for _, folder := range []string{"Cache", "Service Worker/Cache", "empty"} {
		must(t, os.MkdirAll(filepath.Join(profile, folder), 0o700))
		must(t, os.WriteFile(filepath.Join(profile, folder, "a"), []byte(folder), 0o600))
	}
	must(t, os.Remove(filepath.Join(profile, "empty", "a")))
	must(t, os.WriteFile(filepath.Join(from, ".lock"), nil, 0o600))
	sparse, err := os.Create(filepath.Join(profile, "sparse"))
	must(t, err)
	must(t, sparse.Truncate(3<<20))
	must(t, sparse.Close())
	then := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, os.Chmod(filepath.Join(profile, "sparse"), 0o640))
	for _, at := range []string{"sparse", "empty"} {
		must(t, os.Chtimes(filepath.Join(profile, at), then, then))
	}
	if runtime.GOOS != "windows" {
		must(t, os.Symlink("sparse", filepath.Join(profile, "link")))
		l, err := net.Listen("unix", filepath.Join(profile, "s"))
		must(t, err)
		defer l.Close() //nolint:errcheck // a test's
	}
	torn, err := copyLive(t.Context(), from, into)
	must(t, err)
	var got []string
	must(t, filepath.WalkDir(into, func(at string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(filepath.Join(into, "chrome", "Default"), at)
		got = append(got, filepath.ToSlash(rel))
		return err
	}))
	want := []string{"../..", "..", ".", "Service Worker", "Service Worker/Cache", "Service Worker/Cache/a", "empty", "link", "sparse"}
	if runtime.GOOS == "windows" {
		want = slices.DeleteFunc(want, func(s string) bool { return s == "link" })
	}
	if !slices.Equal(got, want) || len(torn) > 0 {
		t.Errorf("the copy has %q, torn %q", got, torn)
	}
	for _, at := range []string{"sparse", "empty"} {
		info, err := os.Stat(filepath.Join(into, "chrome", "Default", at))
		must(t, err)
		wrongMode := runtime.GOOS != "windows" && info.Mode().Perm() != 0o640
		if !info.ModTime().Equal(then) || at == "sparse" && (info.Size() != 3<<20 || wrongMode) {
			t.Errorf("%s: %v %v %d", at, info.ModTime(), info.Mode(), info.Size())
		}
	}
}

// ending is a context that ends after it was asked some times.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestLiveEnds: a copy whose context ends, whenever that is, leaves nothing. A folder that is there is left alone.
func TestLiveEnds(t *testing.T) {
	t.Parallel()
	from, into := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for _, folder := range []string{"chrome/Default/Extensions", "home/config"} {
		must(t, os.MkdirAll(filepath.Join(from, folder), 0o700))
		must(t, os.WriteFile(filepath.Join(from, folder, "a"), []byte("a"), 0o600))
	}
	ended := 0
	for ; ; ended++ {
		_, err := copyLive(&ending{t.Context(), ended}, from, into)
		if err == nil {
			break
		}
		if _, there := os.Stat(into); !errors.Is(err, context.Canceled) || !errors.Is(there, fs.ErrNotExist) {
			t.Fatalf("it ended with %v, and the copy: %v", err, there)
		}
	}
	if ended < 5 {
		t.Errorf("the copy looked at its context %d times", ended)
	}
	must(t, os.RemoveAll(into))
	must(t, os.MkdirAll(filepath.Join(into, "a"), 0o700))
	_, err := copyLive(t.Context(), from, into)
	if _, there := os.Stat(filepath.Join(into, "a")); !errors.Is(err, fs.ErrExist) || there != nil {
		t.Errorf("into a folder that is there: %v, and what it has: %v", err, there)
	}
}

// settleAll checks every database of a folder, and returns how many there are. Nothing may lie beside them.
func settleAll(t *testing.T, folder string) (n int) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		must(t, err)
		if entry.IsDir() {
			return nil
		}
		if text, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(text, []byte(sqliteHeader)) {
			return err
		}
		n++
		if err := store.SettleCopy(t.Context(), file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if beside, _ := filepath.Glob(file + "-*"); len(beside) > 0 {
			t.Errorf("%v are left", beside)
		}
		return nil
	}))
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLiveFollowsNoLink: a run may put a link or a pipe into the place of a file, to have the server read what the run may not. Neither
// is read, and a pipe is not waited for.
func TestLiveFollowsNoLink(t *testing.T) {
	t.Parallel()
	from, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	must(t, os.WriteFile(filepath.Join(from, "file"), []byte("file"), 0o600))
	if err := os.Symlink(secret, filepath.Join(from, "link")); err != nil {
		t.Skip("no links here")
	}
	root, err := os.OpenRoot(from)
	must(t, err)
	defer root.Close() //nolint:errcheck // a test's
	c := &liveCopy{ctx: t.Context(), from: root}
	f, err := c.open("file")
	must(t, err)
	must(t, f.Close())
	for _, at := range append([]string{"link", "."}, pipeIn(t, from)...) {
		if f, err := c.open(at); err == nil {
			t.Errorf("%s was opened", at)
			must(t, f.Close())
		}
	}
}
