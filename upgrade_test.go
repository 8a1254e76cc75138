package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"warren/store"
)

// olderFolder makes the data folder of a version with an older schema, whose server was killed: the newest rows are in the log.
func olderFolder(t *testing.T, data string, schema int64) {
	t.Helper()
	at := t.TempDir()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(at, store.FileName)+"?_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	steps, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS("store/migrations"), goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()))
	if err == nil {
		_, err = steps.UpTo(t.Context(), schema)
	}
	if err == nil {
		_, err = db.Exec("INSERT INTO workspaces (id, created_at, updated_at) VALUES ('default', 1, 1); INSERT INTO profiles (id, " +
			"workspace_id, name, os, browser_version, search_key, created_at, updated_at) VALUES ('abcdefghijkl', 'default', 'old', " +
			"'linux', '150', 'old', 1, 1)")
	}
	if err != nil {
		t.Fatal(err)
	}
	copyFiles(t, at, data, store.FileName, store.FileName+"-wal")
}

func copyFiles(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.MkdirAll(to, 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// schemaAndName returns the schema of a database, and the name of its profile. It changes nothing.
func schemaAndName(t *testing.T, dir string) (schema int64, name string) {
	t.Helper()
	at := t.TempDir()
	copyFiles(t, dir, at, store.FileName)
	if _, err := os.Stat(filepath.Join(dir, store.FileName+"-wal")); err == nil {
		copyFiles(t, dir, at, store.FileName+"-wal")
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(at, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT (SELECT max(version_id) FROM goose_db_version), name FROM profiles").Scan(&schema, &name); err != nil {
		t.Fatal(err)
	}
	return schema, name
}

// versionOf returns the number of a migration by its file.
func versionOf(t *testing.T, file string) (version int64) {
	t.Helper()
	if _, err := fmt.Sscanf(filepath.Base(file), "%d_", &version); err != nil {
		t.Fatal(file, err)
	}
	return version
}

// TestUpgrade: serve backs a database with an older schema up before it migrates it, and the old version can go on with the backup. No
// backup, no migration. A newer database is refused, with 3 and the version that wrote it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	all, err := filepath.Glob("store/migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	newest, older := versionOf(t, all[len(all)-1]), versionOf(t, all[len(all)-2])
	olderFolder(t, cfg.Data, older)
	again := func() *serveConfig { c := testConfig(t); c.Data = cfg.Data; return c }
	place := filepath.Join(cfg.Data, "backups")
	if err := os.WriteFile(place, nil, 0o600); err != nil { // a file where the folder must be: the backup fails
		t.Fatal(err)
	}
	s := serveOnce(t, again())
	if schema, _ := schemaAndName(t, cfg.Data); s.err == nil || schema != older ||
		!strings.Contains(s.err.Error(), "was not migrated") || !strings.Contains(s.err.Error(), "--no-backup-before-migration") {
		t.Errorf("without a backup: schema %d, %v", schema, s.err)
	}
	if err := os.Remove(place); err != nil {
		t.Fatal(err)
	}
	s = serveOnce(t, cfg)
	made, err := filepath.Glob(filepath.Join(place, "before-"+version+"-*"))
	if s.err != nil || err != nil || len(made) != 1 || !strings.Contains(s.log, made[0]) {
		t.Fatalf("%v, %v, %v; %s", s.err, made, err, s.log)
	}
	if schema, name := schemaAndName(t, made[0]); schema != older || name != "old" {
		t.Errorf("the backup has schema %d and the profile %q", schema, name)
	}
	if schema, name := schemaAndName(t, cfg.Data); schema != newest || name != "old" {
		t.Errorf("the database has schema %d and the profile %q", schema, name)
	}
	// Back to the old version as docs/operations.md says, and up again without a backup.
	copyFiles(t, made[0], cfg.Data, store.FileName)
	without := again()
	without.NoBackupBefore = true
	s = serveOnce(t, without)
	if left, err := os.ReadDir(place); s.err != nil || err != nil || len(left) != 1 || strings.Contains(s.log, "backed up") {
		t.Errorf("with --no-backup-before-migration: %v, %v, %v; %s", s.err, left, err, s.log)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(cfg.Data, store.FileName))
	if err == nil {
		_, err = db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1); UPDATE settings SET value = '9.8.7' " +
			"WHERE name = 'warren' AND value = '" + version + "'")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s = serveOnce(t, again())
	var told bytes.Buffer
	if code := exitCode(s.err, &told); code != 3 || !strings.Contains(told.String(), "warren 9.8.7 wrote it") {
		t.Errorf("a newer database: %d, %s", code, &told)
	}
}
