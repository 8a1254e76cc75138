package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
)

// The test binary runs itself as the child that migrates a folder and is killed by SIGKILL before a statement or in a
// COMMIT.
const (
	upgradeDir = "WARREN_TEST_UPGRADE_DIR"
	upgradeDie = "WARREN_TEST_UPGRADE_DIE" // "statement 3 11" in the migration to version 11, "commit 3", "never 0"
)

// die kills the process at the nth call, as the kernel does: nothing is closed and nothing is written back.
type die struct{ left int }

func (d *die) now() {
	if d.left--; d.left == 0 {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {}
	}
}

// Printf gets each statement before goose runs it (goose.WithVerbose).
func (d *die) Printf(format string, v ...any) {
	if strings.HasPrefix(fmt.Sprintf(format, v...), "goose: Executing statement: ") {
		d.now()
	}
}

func (*die) Fatalf(string, ...any) {}

// upgradeUntilKilled never returns.
func upgradeUntilKilled(dir string) {
	ctx := context.Background()
	var at string
	var version int64
	d := &die{}
	_, err := fmt.Sscan(os.Getenv(upgradeDie)+" 0", &at, &d.left, &version)
	if at == "commit" && err == nil { // with the product's own connection
		sqlite.RegisterConnectionHook(func(c sqlite.ExecQuerierContext, _ string) error {
			c.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 { d.now(); return 0 })
			return nil
		})
		err = openAndClose(ctx, dir)
	} else if at == "never" { // the parent does it
		err = openAndClose(ctx, dir)
	} else if err == nil {
		file := filepath.Join(dir, FileName)
		db := openPool(dsn(file, migratePragmas), 1)
		if err = prepareFolder(dir, file); err == nil {
			err = stepTo(ctx, db, version, goose.WithVerbose(true), goose.WithLogger(d))
		}
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(2)
	}
	os.Exit(0)
}

// openAndClose opens a folder. The log goes to the standard output.
func openAndClose(ctx context.Context, dir string) error {
	s, err := Open(ctx, dir, Options{Logger: slog.New(slog.NewJSONHandler(os.Stdout, nil))})
	if err != nil {
		return err
	}
	return s.Close()
}

// stepTo migrates a database up to a version, as migrate does.
func stepTo(ctx context.Context, db *sql.DB, version int64, more ...goose.ProviderOption) error {
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, steps, append(more, goose.WithDisableGlobalRegistry(true))...)
	if err != nil {
		return err
	}
	_, err = p.UpTo(ctx, version)
	return err
}

// killedUpgrade runs the child on a folder and reports whether it was killed.
func killedUpgrade(t *testing.T, dir, when string) (killed bool) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), upgradeDir+"="+dir, upgradeDie+"="+when)
	said, err := child.CombinedOutput()
	if code := child.ProcessState.ExitCode(); code == 2 || code == 0 && err != nil {
		t.Fatalf("the child's upgrade: %v, %s", err, said)
	}
	return err != nil
}

// copied returns a copy of a closed database's folder.
func copied(t *testing.T, dir string) string {
	t.Helper()
	other := t.TempDir()
	for _, name := range listing(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(other, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return other
}

// An upgrade that is killed at any point and repeated gives the same database as one that was not killed. Each migration is a transaction:
// it is killed at each of its statements on a database of the version before it, and at each commit on those of all versions.
func TestUpgradeThatIsKilled(t *testing.T) {
	if raceDetector {
		t.Skip("TestUpgradeFromEveryVersion races the same code; here each kill costs much, and make test tries each")
	}
	all := versions(t)
	for i, next := range all {
		version := int64(0)
		if i > 0 {
			version = all[i-1]
		}
		if testing.Short() && version%5 > 0 && i+1 < len(all) {
			continue // where each kill costs much, some versions are enough: what differs is the system, not the migrations
		}
		t.Run(fmt.Sprint("from ", version), func(t *testing.T) {
			t.Parallel()
			old := t.TempDir()
			if version > 0 {
				old = filledDatabase(t, version)
			}
			want := upgraded(t, copied(t, old))
			kills := map[string]int{}
			for _, at := range []string{"statement", "commit"} {
				step, to := 1, next
				if at == "statement" && (version == 0 || testing.Short()) {
					step = 7 // for an empty database, or where each kill costs much
				}
				for n := 1; ; n += step {
					dir := copied(t, old)
					if !killedUpgrade(t, dir, fmt.Sprint(at, " ", n, " ", to)) {
						break
					}
					kills[at]++
					if got := upgraded(t, dir); !slices.Equal(got, want) {
						t.Errorf("killed at %s %d: %v", at, n, difference(got, want))
					}
				}
			}
			t.Log(kills)
			if steps := len(all) - i; kills["commit"] < steps || kills["statement"] == 0 {
				t.Errorf("%v kills in %d migrations: not each was tried", kills, steps)
			}
		})
	}
}

// upgraded opens a folder and describes its content: the schema, every row, and whether the counters are right.
func upgraded(t *testing.T, dir string) []string {
	t.Helper()
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatalf("the upgrade: %v", err)
	}
	defer s.Close()
	assertWhole(t, s)
	out := schemaOf(t, sqliteOf(t, s).readers)
	for table, rows := range snapshot(t, sqliteOf(t, s).readers) {
		for _, row := range rows {
			if name := strings.Trim(row["name"], "'"); table == "settings" && (name == canaryName || name == "ready") {
				row["value"] = "its own" // a new database has its own key and time
			}
			out = append(out, fmt.Sprint(table, " ", row))
		}
	}
	slices.Sort(out)
	return out
}
