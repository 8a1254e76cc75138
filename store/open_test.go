package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// aDatabase creates a closed database with some rows, and returns its folder and file.
func aDatabase(t *testing.T, rows int) (dir, file string) {
	t.Helper()
	dir = newDatabase(t)
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ensure(t, s, "default")
	mustWrite(t, s, func(q *Queries) error {
		for i := range rows {
			if _, err := q.InsertProfile(context.Background(), aProfile("default", fmt.Sprint("profile ", i))); err != nil {
				return err
			}
		}
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, FileName)
}

func execIn(t *testing.T, file string, statements ...string) {
	t.Helper()
	db := openPool(dsn(file, "_pragma=busy_timeout(5000)"), 1)
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, file string) [sha256.Size]byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// refused opens a database that must be rejected with a kind and an advice, and left unchanged.
func refused(t *testing.T, dir string, kind error, advice string) {
	t.Helper()
	file := filepath.Join(dir, FileName)
	before, filesBefore := content(t, file), listing(t, dir)
	s, err := Open(context.Background(), dir, Options{})
	if err == nil {
		_ = s.Close()
	}
	if !errors.Is(err, kind) || !strings.Contains(fmt.Sprint(err), advice) || !strings.Contains(fmt.Sprint(err), file) {
		t.Errorf("got %q, want kind %q, the file's name and %q", err, kind, advice)
	}
	if content(t, file) != before {
		t.Error("the file was changed")
	}
	if after := listing(t, dir); !slices.Equal(after, filesBefore) {
		t.Errorf("files in the folder: %v before, %v after", filesBefore, after)
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	dir, file := aDatabase(t, 1)
	execIn(t, file, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	refused(t, dir, ErrNewer, "this one knows")
	execIn(t, file, "INSERT INTO settings (name, value) VALUES ('warren', '9.8.7'||char(27)||char(10))")
	refused(t, dir, ErrNewer, fmt.Sprintf("knows %d; warren 9.8.7 wrote it); it was left as it is: run the", newestMigration()))
	execIn(t, file, "DROP TABLE settings") // of a version that keeps it elsewhere
	refused(t, dir, ErrNewer, "run the newer warren")
}

// The newer version may still be in the log, if the newer warren was killed.
func TestNewerDatabaseWithALogIsRefused(t *testing.T) {
	dir, file := aDatabase(t, 1)
	db := openPool(dsn(file, "_pragma=busy_timeout(5000)&_pragma=wal_autocheckpoint(0)"), 1)
	if _, err := db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)"); err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir() // as a kill leaves it: file and log
	for _, name := range []string{FileName, FileName + "-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(copied, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before := content(t, filepath.Join(copied, FileName))
	_, err := Open(context.Background(), copied, Options{})
	if !errors.Is(err, ErrNewer) {
		t.Errorf("got %v, want ErrNewer", err)
	}
	if content(t, filepath.Join(copied, FileName)) != before {
		t.Error("the file was changed")
	}
}

func TestDamagedDatabaseIsRefused(t *testing.T) {
	damages := map[string]func([]byte) []byte{
		"not a database": func(b []byte) []byte { return bytes.Repeat([]byte("no"), len(b)/2) },
		"cut off":        func(b []byte) []byte { return b[:len(b)/2+100] },
		"emptied":        func([]byte) []byte { return nil },
		"a page of zeros": func(b []byte) []byte {
			clear(b[4096*5 : 4096*6])
			return b
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			dir, file := aDatabase(t, 500)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, dir, ErrDamaged, "restore a backup")
		})
	}
	t.Run("of another program", func(t *testing.T) {
		dir := t.TempDir()
		execIn(t, filepath.Join(dir, FileName), "CREATE TABLE mine (a)", "PRAGMA user_version = 7")
		refused(t, dir, ErrDamaged, "another program")
	})
}

// No wrong bit of the file causes a panic, and a rejected file stays unchanged.
func TestFlippedBits(t *testing.T) {
	dir, file := aDatabase(t, 300)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	outcome := map[string]int{}
	for range often(200) {
		flipped := bytes.Clone(whole)
		at := rand.IntN(len(flipped))
		if rand.IntN(2) == 0 {
			at = at&^4095 + rand.IntN(16) // the header of a page, where a wrong bit has the largest effect
		}
		flipped[at] ^= 1 << rand.IntN(8)
		if err := os.WriteFile(file, flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(context.Background(), dir, Options{})
		switch {
		case err == nil:
			outcome["opened"]++
			if _, err := s.ListProfiles(context.Background(), ProfileList{Limit: 500}); err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("byte %d: list: %v", at, err)
			}
			_ = s.Close()
		case errors.Is(err, ErrDamaged), errors.Is(err, ErrSecretKey), errors.Is(err, ErrNewer):
			outcome["refused"]++
			if content(t, file) != sha256.Sum256(flipped) && errors.Is(err, ErrDamaged) {
				t.Errorf("byte %d: refused with %v, and changed", at, err)
			}
		default:
			outcome["other"]++
			t.Logf("byte %d: %v", at, err)
		}
	}
	t.Log(outcome)
	if outcome["refused"] == 0 {
		t.Error("not one damaged file was refused")
	}
}

func TestReadOnlyFolderIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders have no such mode on Windows")
	}
	dir, file := aDatabase(t, 1)
	if os.Geteuid() == 0 {
		t.Skip("modes do not bind root; TestReadOnlyDisk covers it")
	}
	for _, p := range []string{dir, file} {
		old, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, old.Mode().Perm()&^0o222); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, ErrReadOnly, "--data")
		if err := os.Chmod(p, old.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	nested := filepath.Join(dir, "new")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(dir, 0o700) }()
	if _, err := Open(context.Background(), nested, Options{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a folder that cannot be made: got %v, want ErrReadOnly", err)
	}
}

// A read-only database is rejected because of its mode, also for root, whom modes do not bind.
func TestReadOnlyFileIsRefused(t *testing.T) {
	dir, file := aDatabase(t, 1)
	if err := os.Chmod(file, 0o400); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(file, 0o600) }()
	refused(t, dir, ErrReadOnly, "--data")
}

func TestFolderThatIsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), file, Options{}); err == nil {
		t.Error("a file was taken for a data folder")
	}
}

// holdLock takes the write lock like another program, and returns a function that releases it.
func holdLock(t *testing.T, dir string) (release func()) {
	t.Helper()
	other := openPool(dsn(filepath.Join(dir, FileName), "_pragma=busy_timeout(0)"), 1)
	conn, err := other.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(conn.Close(), other.Close()); err != nil && !errors.Is(err, sql.ErrConnDone) {
			t.Error(err)
		}
	}
}

func TestForeignLockIsWaitedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for three seconds")
	}
	t.Parallel()
	dir := t.TempDir()
	s := openIn(t, dir, Options{})
	release := holdLock(t, dir)
	released := make(chan struct{})
	time.AfterFunc(3*time.Second, func() { release(); close(released) })
	begun := time.Now()
	ensure(t, s, "default")
	<-released
	if waited := time.Since(begun); waited < 2*time.Second {
		t.Errorf("the write took %v: the lock was not held", waited)
	}
}

func TestForeignLockThatStays(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir, Options{})
	mustWrite(t, s, func(q *Queries) error { // not the busy timeout of five seconds
		_, err := q.db.ExecContext(context.Background(), "PRAGMA busy_timeout = 50")
		return err
	})
	release := holdLock(t, dir)
	for range 2 {
		err := s.Write(context.Background(), func(*Queries) error { t.Error("the function was run"); return nil })
		if !errors.Is(err, ErrBusy) {
			t.Errorf("got %v, want ErrBusy", err)
		}
	}
	if _, err := s.Read().Totals(context.Background(), nil); err != nil {
		t.Errorf("a read while the lock is held: %v", err)
	}
	release()
	ensure(t, s, "default")
}

// A wrong bit in the text of the schema may rename a column.
func TestRenamedColumn(t *testing.T) {
	_, file := aDatabase(t, 1)
	db := openPool(dsn(file, readerPragmas), 1)
	defer db.Close()
	if _, err := db.Exec("SELECT updated_au FROM profiles"); !errors.Is(Typed(err), ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
}
