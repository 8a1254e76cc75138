package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"warren/store"
)

// filled returns a data folder with the product's schema and many profiles. It is created once and kept in the user's
// cache folder.
func (b *bench) filled(ctx context.Context) (string, error) {
	empty, err := b.data()
	if err != nil {
		return "", err
	}
	if err := newDatabase(ctx, empty); err != nil {
		return "", err
	}
	schema, err := schemaOf(ctx, filepath.Join(empty, store.FileName))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "warren-bench")
	kept := filepath.Join(cache, fmt.Sprintf("%d-%x", b.rows, sha256.Sum256([]byte(schema))))[:len(cache)+24]
	if _, err := os.Stat(kept); err == nil {
		return kept, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	progress("filling a database with %d profiles; the next run finds it in %s", b.rows, kept)
	if err := errors.Join(os.RemoveAll(cache), os.MkdirAll(cache, 0o700)); err != nil { // removes those of older schemas
		return "", err
	}
	part := kept + ".part"
	if err := newDatabase(ctx, part); err != nil {
		return "", err
	}
	if err := fill(ctx, filepath.Join(part, store.FileName), b.rows); err != nil {
		return "", err
	}
	return kept, os.Rename(part, kept)
}

// newDatabase has the product create its database.
func newDatabase(ctx context.Context, dir string) error {
	s, err := store.Open(ctx, dir, store.Options{})
	if err != nil {
		return err
	}
	return s.Close()
}

// open opens a database file like the product, with further settings.
func open(file, settings string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)"+settings)
}

// schemaOf returns the statements that create the schema.
func schemaOf(ctx context.Context, file string) (string, error) {
	db, err := open(file, "")
	if err != nil {
		return "", err
	}
	defer db.Close()
	var all string
	err = db.QueryRowContext(ctx, `SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema ORDER BY name)`).Scan(&all)
	return all, err
}

// fill inserts profiles in bulk. It drops the indexes and triggers of their table, and restores them at the end.
func fill(ctx context.Context, file string, rows int) error {
	db, err := open(file, "&_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)&_pragma=cache_size(-262144)")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // one connection, so that its settings hold for every statement
	var drop, restore []string
	found, err := db.QueryContext(ctx,
		`SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = 'profiles' AND type IN ('index', 'trigger') AND sql IS NOT NULL`)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		var kind, name, text string
		if err := found.Scan(&kind, &name, &text); err != nil {
			return err
		}
		drop, restore = append(drop, "DROP "+kind+" "+name), append(restore, text)
	}
	if err := errors.Join(found.Err(), found.Close()); err != nil {
		return err
	}
	statements := bulk(rows)
	last := len(statements) - 1 // it needs an index
	for _, statement := range slices.Concat(drop, statements[:last], restore, statements[last:]) {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(statement)[:40])
		}
	}
	return nil
}

// bulkProxies is how many proxies every tenth profile shares.
const bulkProxies = 1000

// bulk creates one workspace with its proxies, profiles and counters. The ids are UUIDv7 in the order of their times. Every
// profile has the tag shop, and a thousandth of them each of the tags team-0 to team-999.
func bulk(rows int) []string {
	return []string{
		`INSERT INTO workspaces (id, name, created_at, updated_at) ` +
			`VALUES ('default', '', 1767225600000, 1767225600000) ON CONFLICT DO NOTHING`,
		fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
INSERT INTO proxies (id, workspace_id, type, host, port, created_at, updated_at)
SELECT printf('019b76da-0000-7000-8000-%%012x', i), 'default', 'socks5', 'host' || i || '.example', 1080, 1767225600000 + i,
	1767225600000 + i FROM n`, bulkProxies-1),
		fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
INSERT INTO profiles (id, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, proxy_id, status,
	created_at, updated_at)
SELECT printf('019b76da-%%04x-7%%03x-8000-%%012x', i >> 12, i & 4095, (i * 2654435761) & 281474976710655), 'default',
	'Shop ' || i, CASE i %% 3 WHEN 0 THEN 'win' WHEN 1 THEN 'mac' ELSE 'linux' END, '156', '["shop","team-' || (i %% 1000) || '"]',
	char(10) || 'shop' || char(10) || 'team-' || (i %% 1000) || char(10), 'opened in ' || (2000 + i %% 27),
	'shop ' || i || char(10) || 'opened in ' || (2000 + i %% 27),
	iif(i %% 10 = 0, printf('019b76da-0000-7000-8000-%%012x', i / 10 %% %d), NULL), iif(i %% 5000 = 0, 'failed', 'stopped'),
	1767225600000 + i, 1767225600000 + i
FROM n`, rows-1, bulkProxies),
		fmt.Sprintf(`UPDATE workspaces SET profile_count = %d, proxy_count = %d WHERE id = 'default'`, rows, bulkProxies),
		`UPDATE proxies SET profile_count = (SELECT count(*) FROM profiles WHERE proxy_id = proxies.id)`,
	}
}
