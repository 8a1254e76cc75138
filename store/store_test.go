package store

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"warren/testnet"

	"github.com/google/uuid"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		writeUntilKilled(dir)
	}
	if dir := os.Getenv(upgradeDir); dir != "" {
		upgradeUntilKilled(dir)
	}
	flag.Parse()
	if raceDetector {
		_ = flag.Set("rapid.checks", "10")
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("warren/testnet.keepServer")) // ends with the process
}

// often returns how many times to repeat: a tenth of n with -short, and under the race detector, which makes SQLite
// (C translated to Go) ten times slower.
func often(n int) int {
	if testing.Short() || raceDetector {
		return max(n/10, 2)
	}
	return n
}

// openTest opens a store in a folder of its own and closes it with the test.
func openTest(t testing.TB) *Store {
	t.Helper()
	if testnet.OnPostgres() {
		return openOnPostgres(t, Options{})
	}
	return openIn(t, newDatabase(t), Options{})
}

// emptyDatabase makes the files of a database of this version that has no rows.
var emptyDatabase = testnet.Template(func(dir string) error {
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		return err
	}
	return s.Close()
})

func newDatabase(t testing.TB) string {
	t.Helper()
	if testnet.OnPostgres() {
		t.Skip("of the SQLite file")
	}
	dir := t.TempDir()
	emptyDatabase(t, dir)
	return dir
}

func openIn(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), dir, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// mustWrite runs fn in a write that must succeed.
func mustWrite(t testing.TB, s *Store, fn func(*Queries) error) {
	t.Helper()
	if err := s.Write(context.Background(), fn); err != nil {
		t.Fatalf("Write: %v", err)
	}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// aProfile returns parameters that every CHECK accepts.
func aProfile(workspace, name string) InsertProfileParams {
	return InsertProfileParams{ID: newID(), WorkspaceID: workspace, Name: name, OS: "linux", BrowserVersion: "156",
		Tags: "[]", SearchKey: SearchKey(name, ""), StartURLs: "[]", Timezone: "auto", Locale: "auto", Geolocation: "auto",
		WebRTC: "proxy_only", BackgroundTraffic: "refuse", AllowLocal: "[]", Consistency: "warn", FallbackProxyIDs: "[]",
		FallbackCountry: "same", AllowHosts: "[]", DenyHosts: "[]", LocalhostVia: "[]", Args: "[]", Passkeys: "off",
		Extensions: "[]", CreatedAt: 1, UpdatedAt: 1}
}

func anExtension(workspace, id string) InsertExtensionParams {
	return InsertExtensionParams{ID: id, WorkspaceID: workspace, ExtensionID: strings.Repeat("a", 32), Name: "Blocker", Version: "1",
		Sha256: strings.Repeat("0", 64), Permissions: "[]", OptionalPermissions: "[]", Hosts: "[]", OptionalHosts: "[]", CreatedAt: 1}
}

func aProxy(workspace, host string) InsertProxyParams {
	return InsertProxyParams{ID: newID(), WorkspaceID: workspace, Type: "socks5", Host: host, Port: 1080, Tags: "[]",
		CreatedAt: 1, UpdatedAt: 1}
}

func ensure(t testing.TB, s *Store, workspaces ...string) {
	t.Helper()
	mustWrite(t, s, func(q *Queries) error {
		for _, id := range workspaces {
			if _, err := q.EnsureWorkspace(context.Background(), EnsureWorkspaceParams{ID: id, Now: 1}); err != nil {
				return err
			}
		}
		return nil
	})
}

func putProfile(t testing.TB, s *Store, p InsertProfileParams) Profile {
	t.Helper()
	var row Profile
	mustWrite(t, s, func(q *Queries) (err error) {
		row, err = q.InsertProfile(context.Background(), p)
		return err
	})
	return row
}

func ptr[T any](v T) *T { return &v }

func TestFilesAreForTheOwnerOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes: the folder's access list rules")
	}
	dir := filepath.Join(t.TempDir(), "deep", "data")
	s := openIn(t, dir, Options{})
	ensure(t, s, "default")
	seen := map[string]bool{}
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen[d.Name()] = true
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, want nothing for group and others", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"warren.db", "warren.db-wal", "warren.db-shm", "secret.key"} {
		if !seen[name] {
			t.Errorf("%s is not there; have %v", name, seen)
		}
	}
	if len(seen) != 6 { // and the two folders
		t.Errorf("have %v, want nothing else in the folder", seen)
	}
}

func TestCloseLeavesOneFileAndDataIsThereAgain(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ensure(t, s, "default")
	want := putProfile(t, s, aProfile("default", "one"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(filepath.Join(dir, FileName+left)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left after Close: a connection or a statement was not closed (%v)", left, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if err := s.Write(context.Background(), func(*Queries) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("Write after Close: got %v, want ErrClosed", err)
	}
	search := ProfileFilter{WorkspaceID: "default", Search: "one"}
	if _, err := s.ListProfiles(context.Background(), ProfileList{ProfileFilter: search, Limit: 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("ListProfiles after Close: got %v, want ErrClosed", err)
	}
	got, err := openIn(t, dir, Options{}).Read().GetProfile(context.Background(), GetProfileParams{ID: want.ID})
	if err != nil || got.Name != "one" {
		t.Errorf("after reopening: got %+v, %v", got, err)
	}
}

// A path is not a URI: these characters would end it or be decoded.
func TestPathsWithCharactersOfURIs(t *testing.T) {
	for _, name := range []string{"a?b", "a#b", "a%41b", "a b", "ä&mode=ro", "a+b"} {
		if runtime.GOOS == "windows" && strings.Contains(name, "?") {
			continue
		}
		dir := filepath.Join(t.TempDir(), name)
		s := openIn(t, dir, Options{})
		ensure(t, s, "default")
		if _, err := os.Stat(filepath.Join(dir, FileName+"-wal")); err != nil {
			t.Errorf("%q: the database is elsewhere: %v", name, err)
		}
	}
}

// Every connection has the settings, not only the first of the pool.
func TestSettingsOfConnections(t *testing.T) {
	s := openIn(t, newDatabase(t), Options{})
	ctx := context.Background()
	settings := map[string]string{"busy_timeout": "5000", "foreign_keys": "1", "trusted_schema": "0",
		"temp_store": "2", "journal_mode": "wal"}
	check := func(on DBTX, more map[string]string) (err error) {
		for _, wanted := range []map[string]string{settings, more} {
			for name, want := range wanted {
				var got string
				if failed := on.QueryRowContext(ctx, "PRAGMA "+name).Scan(&got); failed != nil || got != want {
					err = errors.Join(err, fmt.Errorf("%s is %q, want %q (%v)", name, got, want, failed))
				}
			}
		}
		return err
	}
	for i := range 4 {
		conn, err := databaseOf(s).Conn(ctx) // held, so that the next one is another
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := check(conn, map[string]string{"query_only": "1"}); err != nil {
			t.Errorf("reader %d: %v", i, err)
		}
		if _, err := conn.ExecContext(ctx, "DELETE FROM settings"); err == nil {
			t.Error("a reader can write")
		}
	}
	mustWrite(t, s, func(q *Queries) error {
		return check(q.db, map[string]string{"synchronous": "2", "wal_autocheckpoint": "1000", "query_only": "0"})
	})
}

// Versions below 3.51.3 can corrupt a database in WAL mode, and 3.53.3 one that rolls back.
func TestSQLiteVersion(t *testing.T) {
	var got string
	if err := sqliteOf(t, openTest(t)).readers.QueryRow("SELECT sqlite_version()").Scan(&got); err != nil {
		t.Fatal(err)
	}
	var have int
	for _, part := range strings.Split(got, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			t.Fatal(err)
		}
		have = have*1000 + n
	}
	if have < 3_053_000 || have == 3_053_003 {
		t.Errorf("SQLite is %s, want 3.53.0 or later, and not 3.53.3", got)
	}
}
