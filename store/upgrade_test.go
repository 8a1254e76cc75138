package store

import (
	"context"
	"database/sql"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
)

// A database of the first version keeps what it has, and what a later version added has its default.
func TestUpgradeFromTheFirst(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "warren.db")+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, steps, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(ctx, 1); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"INSERT INTO workspaces (id, created_at, updated_at) VALUES ('default', 1, 1)",
		"INSERT INTO profiles (id, workspace_id, name, os, browser_version, search_key, webrtc, created_at, updated_at) VALUES ('p', 'default', 'old', 'linux', '150', 'old', 'off', 1, 1)",
		"INSERT INTO proxies (id, workspace_id, type, host, port, last_check, created_at, updated_at) VALUES ('x', 'default', 'socks5', 'h', 1, '{\"latencyMs\":40}', 1, 1)",
		`INSERT INTO proxy_checks (proxy_id, at, ok, result) VALUES ('x', 5, 1, '{"exitIp":"192.0.2.1","country":"DE","latencyMs":40}'), ('x', 7, 0, '{"exitIp":null,"latencyMs":null}')`,
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openIn(t, dir, Options{})
	row, err := s.Read().GetProfile(ctx, GetProfileParams{ID: "p"})
	if err != nil || row.Name != "old" || row.WebRTC != "off" || row.BackgroundTraffic != "refuse" || row.AllowLocal != "[]" || row.Consistency != "warn" {
		t.Errorf("%+v, %v", row, err)
	}
	if row.FallbackProxyIDs != "[]" || row.FallbackCountry != "same" || row.AllowHosts != "[]" || row.LogHosts {
		t.Errorf("%+v", row)
	}
	px, err := s.Read().GetProxy(ctx, GetProxyParams{ID: "x"})
	if err != nil || px.ExitIP != "192.0.2.1" || px.Country != "DE" || px.LatencyMs == nil || *px.LatencyMs != 40 || px.CheckedAt != 7 || px.Recent != "40 -" {
		t.Errorf("%+v, %v", px, err)
	}
}
