package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"warren/store/postgres"
	"warren/testnet"
)

// laterSchema is the schema of a later version with one migration more.
func laterSchema(t *testing.T, text string) postgres.Schema {
	t.Helper()
	files := fstest.MapFS{}
	known, err := filepath.Glob("postgres/migrations/*.sql")
	if err != nil || len(known) == 0 {
		t.Fatal(known, err)
	}
	for _, name := range known {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files["migrations/"+filepath.Base(name)] = &fstest.MapFile{Data: text}
	}
	files["migrations/9000_later.sql"] = &fstest.MapFile{Data: []byte(text)}
	all, err := postgres.ReadSchema(files)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// openVersions opens a database with this version, and then with a later one that has a migration more.
func openVersions(t *testing.T, migration string) (old, later *Store, again func() (*Store, error)) {
	t.Helper()
	url, dir := testnet.Postgres(t), t.TempDir()
	old = openIn(t, dir, Options{Database: url, Warren: "1.0"})
	key := filepath.Join(dir, secretKeyName)
	ensure(t, old, "w")
	later = openIn(t, t.TempDir(), Options{Database: url, SecretKeyFile: key, Warren: "2.0", schema: laterSchema(t, migration)})
	return old, later, func() (*Store, error) {
		return Open(context.Background(), t.TempDir(), Options{Database: url, SecretKeyFile: key, Warren: "1.0"})
	}
}

// TestVersionsSideBySide: a server of this version goes on beside one of a later version that has added to the schema. Each sees what the
// other has written. It can also be started then, and leaves the mark of the later version.
func TestVersionsSideBySide(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	old, later, again := openVersions(t, fmt.Sprint("-- compatible since ", postgres.Known().Newest(), `
		CREATE TABLE added (id BIGINT PRIMARY KEY);
		ALTER TABLE profiles ADD COLUMN added TEXT COLLATE "C" NOT NULL DEFAULT 'new';
		ALTER TABLE proxies ADD COLUMN added BIGINT;
		ALTER TABLE workspaces ADD COLUMN added BIGINT NOT NULL DEFAULT 7;`))
	third, err := again()
	if err != nil {
		t.Fatal("this version on the later schema: ", err)
	}
	t.Cleanup(func() { _ = third.Close() })
	servers := []*Store{old, later, third}
	for i := range 12 {
		if err := seenElsewhere(ctx, servers[i%3], servers[(i+1)%3], fmt.Sprint(i)); err != nil {
			t.Error(err)
		}
		if err := servers[i%3].Write(ctx, func(q *Queries) error { return q.Record(entryOf(i)) }); err != nil {
			t.Error(err)
		}
	}
	for i, s := range servers {
		assertCounters(t, s)
		if n, fault, err := s.CheckAudit(ctx); n != 12 || fault != "" || err != nil {
			t.Errorf("server %d: %d entries, %q, %v", i, n, fault, err)
		}
	}
	if by, err := later.Read().GetSetting(ctx, versionSetting); by != "2.0" || err != nil {
		t.Errorf("written by %q, %v, want the later one", by, err)
	}
}

// TestOutgrown: a server whose database a later version has migrated to what it cannot use writes nothing any more, and says why. It is
// not started again. It was cut off meanwhile, so that the later one took it for gone: it has no row.
func TestOutgrown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	old, later, again := openVersions(t, "CREATE TABLE added (id BIGINT PRIMARY KEY)")
	testnet.Eventually(t, "the older server learns it", func() bool { return old.engine.(*pgEngine).newer.Load() })
	err := old.Write(ctx, func(*Queries) error { return nil })
	if !errors.Is(err, ErrNewer) || !errors.Is(err, ErrBusy) {
		t.Errorf("a write: %v", err)
	}
	if _, err := old.ListProfiles(ctx, ProfileList{Limit: 1}); !errors.Is(err, ErrNewer) {
		t.Errorf("a list: %v", err)
	}
	if err := old.Ready(ctx); !errors.Is(err, ErrNewer) {
		t.Errorf("readiness: %v", err)
	}
	if _, err := again(); !errors.Is(err, ErrNewer) {
		t.Errorf("a start: %v", err)
	}
	putProfile(t, later, aProfile("w", "x"))
}
