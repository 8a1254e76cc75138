package store

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"warren/testnet"
)

// A large database of the first version is upgraded, and the log shows each step and its time. kill -9 in the middle of
// a long step is harmless: the next start completes the upgrade.
func TestUpgradeOfManyRows(t *testing.T) { upgradeOfMany(t, often(10_000)) }

// The same with a quarter of a million profiles, or as many as WARREN_ROWS says. A million takes four times as long, at the same time
// for each row.
func TestUpgradeOfMoreRows(t *testing.T) {
	testnet.Long(t)
	rows := 250_000
	if n, err := strconv.Atoi(os.Getenv("WARREN_ROWS")); err == nil {
		rows = n
	}
	upgradeOfMany(t, rows)
}

func upgradeOfMany(t *testing.T, rows int) {
	old := oldDatabase(t, 1, func(db *sql.DB, _ keyring) { fillFirst(t, db, rows) })
	whole := copied(t, old)
	var said strings.Builder
	begun := time.Now()
	s, err := Open(context.Background(), whole, Options{Logger: slog.New(slog.NewJSONHandler(&said, nil))})
	took := time.Since(begun)
	if err != nil {
		t.Fatal(err)
	}
	assertWhole(t, s)
	want := append(schemaOf(t, sqliteOf(t, s).readers), fingerprint(t, sqliteOf(t, s).readers)...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	steps := stepsOf(t, said.String())
	if want := len(versions(t)) - 1; len(steps) != want {
		t.Fatalf("the log shows %d steps, want %d: %s", len(steps), want, &said)
	}
	t.Logf("%d profiles: %v in all, of it %v", rows, took, steps)
	dir := old
	for _, step := range longest(steps, 2) { // one after the other in one database: each next start goes on where the one before was killed
		dir = killedInStep(t, dir, step)
	}
	again := openIn(t, dir, Options{})
	assertWhole(t, again)
	if got := append(schemaOf(t, sqliteOf(t, again).readers), fingerprint(t, sqliteOf(t, again).readers)...); !slices.Equal(got, want) {
		t.Errorf("killed in the longest steps: %v", difference(got, want))
	}
}

// longest returns the n steps that took longest, in their order.
func longest(steps []migrationStep, n int) []migrationStep {
	slices.SortFunc(steps, func(a, b migrationStep) int { return cmp.Compare(b.took, a.took) })
	steps = steps[:n]
	slices.SortFunc(steps, func(a, b migrationStep) int { return strings.Compare(a.name, b.name) })
	return steps
}

// fillFirst fills a database of the first version: profiles, a tenth as many proxies, and three checks of each.
func fillFirst(t *testing.T, db *sql.DB, rows int) {
	t.Helper()
	numbers := func(n int) string {
		return fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", n-1)
	}
	db.SetMaxOpenConns(1) // which has the pragmas: nobody needs the rows after a crash, and the pages of the indexes fit
	mustExec(t, db, "PRAGMA synchronous = OFF; PRAGMA cache_size = -400000")
	mustExec(t, db, numbers(rows/10)+`INSERT INTO proxies (id, workspace_id, type, host, port, name, rotate_url, last_check, created_at,
		updated_at)
		SELECT 'x' || i, 'default', 'socks5', 'host-' || i, 1080, 'Proxy ' || i, iif(i % 100 = 0, 'https://r.example/' || i, ''),
			'{"latencyMs":40}', i, i FROM n`)
	for check := range 3 {
		mustExec(t, db, numbers(rows/10)+`INSERT INTO proxy_checks (proxy_id, at, ok, result)
			SELECT 'x' || i, ?, 1, '{"exitIp":"192.0.2.1","country":"DE","latencyMs":40}' FROM n`, check)
	}
	mustExec(t, db, numbers(rows)+`INSERT INTO profiles (id, workspace_id, name, os, browser_version, tags, tags_key, search_key, proxy_id,
		created_at, updated_at)
		SELECT printf('p%012d', i), 'default', 'Shop ' || i, 'linux', '150', '["shop"]', char(10)||'shop'||char(10), 'shop '||i||char(10),
			iif(i % 3 = 0, 'x' || (i % ?), NULL), i, i FROM n`, rows/10)
}

// fingerprint sums up every column of every table.
func fingerprint(t *testing.T, db *sql.DB) (out []string) {
	t.Helper()
	for _, table := range list(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND "+
		"name NOT IN ('goose_db_version', 'settings')") {
		sums := []string{"'" + table + " ' || count(*)"}
		for _, column := range list(t, db, "SELECT name FROM pragma_table_xinfo(?)", table) {
			if column != "rotate_sealed" { // it is sealed with another nonce each time
				sums = append(sums, fmt.Sprintf("'%[1]s ' || total(length(%[1]s)) || ' ' || coalesce(min(%[1]s) || ' ' || max(%[1]s), '')",
					column))
			}
		}
		var sum string
		if err := db.QueryRow("SELECT " + strings.Join(sums, " || char(10) || ") + " FROM " + table).Scan(&sum); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Split(sum, "\n")...)
	}
	return out
}

// migrationStep is a step as the log shows it.
type migrationStep struct {
	name string
	took time.Duration
}

// stepsOf reads the steps of a log: each has begun and has ended.
func stepsOf(t *testing.T, log string) (steps []migrationStep) {
	t.Helper()
	begun := map[string]bool{}
	for line := range strings.Lines(log) {
		var said struct {
			Msg, Step, Of string
			MS            float64
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatal(err)
		}
		switch said.Msg {
		case "migrating the database":
			begun[said.Step] = true
		case "database migrated":
			if !begun[said.Step] || said.MS <= 0 || said.Of != fmt.Sprintf("%d/%d", len(steps)+2, len(versions(t))) {
				t.Errorf("the step %+v", said)
			}
			steps = append(steps, migrationStep{said.Step, time.Duration(said.MS * float64(time.Millisecond))})
		}
	}
	return steps
}

// killedInStep returns a copy of a folder whose upgrade was killed in a step: in its middle, or earlier if the step had
// ended by then.
func killedInStep(t *testing.T, old string, step migrationStep) (dir string) {
	t.Helper()
	for after := step.took / 2; ; after /= 2 {
		dir = copied(t, old)
		version := killStep(t, dir, step, after)
		t.Logf("killed %v after the begin of %s: version %d", after, step.name, version)
		if _, err := os.Stat(filepath.Join(dir, FileName+"-wal")); err == nil && fmt.Sprintf("%04d", version) < step.name[:4] {
			return dir
		}
		if after == 0 {
			t.Fatalf("%s cannot be killed", step.name)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// killStep upgrades a folder in a process, which it kills some time after the log shows that a step begins. It returns
// the schema's version then.
func killStep(t *testing.T, dir string, step migrationStep, after time.Duration) schemaVersion {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), upgradeDir+"="+dir, upgradeDie+"=never 0")
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), `"migrating the database","step":"`+step.name) {
	}
	<-time.After(after)
	_ = child.Process.Kill()
	_ = child.Wait()
	db := openPool(dsn(filepath.Join(dir, FileName), examinePragmas), 1)
	defer db.Close()
	version, err := examineSchema(context.Background(), db)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// A step that takes long is told of again and again, until it ends.
func TestLongStepIsTold(t *testing.T) {
	told := make(chan time.Duration)
	stop := tell(1, func(took time.Duration) { told <- took })
	if first, second := <-told, <-told; first <= 0 || second <= first {
		t.Errorf("told of %v, then %v", first, second)
	}
	go func() {
		for range told { // one more may be under way
		}
	}()
	stop()
	close(told)
}

// After a migration the connection that writes obeys the constraints again.
func TestConstraintsHoldAfterAMigration(t *testing.T) {
	s := openIn(t, filledDatabase(t, 1), Options{})
	err := s.Write(context.Background(), func(q *Queries) error {
		_, err := q.db.ExecContext(context.Background(), "UPDATE profiles SET log_hosts = 7")
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "CHECK") {
		t.Errorf("a wrong value was written: %v", err)
	}
}
