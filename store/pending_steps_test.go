package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// oldDatabase creates a database of an older version with a key of its own, fills it, and returns its folder. sealer
// seals as that version did.
func oldDatabase(t *testing.T, version int64, fill func(db *sql.DB, sealer keyring)) string {
	t.Helper()
	dir, ctx := t.TempDir(), context.Background()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, FileName)+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := stepTo(ctx, db, version); err != nil {
		t.Fatal(err)
	}
	master := make([]byte, masterLength)
	master[0] = 7
	if err := os.WriteFile(filepath.Join(dir, secretKeyName), []byte(hex.EncodeToString(master)), 0o600); err != nil {
		t.Fatal(err)
	}
	sealer, err := newKeyring(master)
	if err != nil {
		t.Fatal(err)
	}
	canary, err := sealer.seal("settings", "value", canaryName, []byte(canaryText))
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, db, "INSERT INTO settings (name, value) VALUES (?, ?)", canaryName, base64.StdEncoding.EncodeToString(canary))
	mustExec(t, db, "INSERT INTO workspaces (id, created_at, updated_at) VALUES ('default', 1, 1)")
	fill(db, sealer)
	return dir
}

func mustExec(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		t.Fatalf("%v: %s", err, statement)
	}
}

// A row that an older version folded is found with today's folding. An answer that it kept is replayed for a repeated
// request.
func TestOldRowsAreRefitted(t *testing.T) {
	ctx := context.Background()
	target := "POST /api/v1/proxies/import?tag=a"
	dir := oldDatabase(t, 4, func(db *sql.DB, sealer keyring) {
		mustExec(t, db, "INSERT INTO profiles (id, workspace_id, name, os, browser_version, tags, tags_key, notes, search_key, "+
			"created_at, updated_at) VALUES ('p', 'default', 'İstanbul', 'linux', '150', '[\"İzmir\"]', '\n'||'i̇zmir'||'\n', 'x', "+
			"'i̇stanbul'||char(10)||'x', 1, 1)")
		mustExec(t, db, "INSERT INTO proxies (id, workspace_id, type, host, port, created_at, updated_at) "+
			"VALUES ('x', 'default', 'socks5', 'h', 1, 1, 1)")
		mustExec(t, db, "INSERT INTO picks (profile_id, tag, proxy_id) VALUES ('p', 'i̇zmir', 'x')")
		answer, err := sealer.seal("idempotency", "answer", "k\ni\n"+target, []byte("the answer"))
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, db, "INSERT INTO idempotency (key_id, idem_key, target, body_hash, status, answer, created_at) "+
			"VALUES ('k', 'i', ?, x'01', 200, ?, 1), ('k', 'j', ?, x'01', 0, NULL, 1)", target, answer, target)
	})
	for range 2 { // the second time there are no steps
		s := openIn(t, dir, Options{})
		for _, search := range []string{"istanbul", "ISTANBUL", "İSTANBUL", "i̇stanbul"} {
			page, err := s.ListProfiles(ctx, ProfileList{ProfileFilter: ProfileFilter{Search: search}, Limit: 20})
			if err != nil || len(page.Rows) != 1 {
				t.Errorf("search for %s: %d, %v; want 1", search, len(page.Rows), err)
			}
		}
		page, err := s.ListProfiles(ctx, ProfileList{ProfileFilter: ProfileFilter{Tags: []string{"izmir"}}, Limit: 20})
		if err != nil || len(page.Rows) != 1 {
			t.Errorf("tag: %d, %v; want 1", len(page.Rows), err)
		}
		if got, err := s.Read().GetPick(ctx, GetPickParams{ProfileID: "p", Tag: Fold("İzmir")}); err != nil || got != "x" {
			t.Errorf("pick: %q, %v; want x", got, err)
		}
		row, err := s.Read().GetIdempotency(ctx, GetIdempotencyParams{KeyID: "k", IdemKey: "i",
			Target: IdempotencyTarget("POST", "/api/v1/proxies/import?tag=a")})
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := s.Unseal("idempotency", "answer", IdempotencyRow(row.KeyID, row.IdemKey, row.Target), row.Answer); err != nil ||
			string(plain) != "the answer" {
			t.Errorf("answer: %q, %v", plain, err)
		}
		if _, err := s.Read().GetSetting(ctx, pendingSteps); err != ErrNoRow {
			t.Errorf("the steps are left to be done: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A dotted I is an i in searches, in every form; other letters keep their dots.
func TestFold(t *testing.T) {
	for _, same := range [][]string{{"İstanbul", "istanbul", "ISTANBUL", "I\u0307stanbul", "i\u0307STANBUL"}, {"Straße", "STRASSE"},
		{"Σίσυφος", "ΣΊΣΥΦΟΣ"}, {"é", "E\u0301"}} {
		for _, s := range same {
			if Fold(s) != Fold(same[0]) {
				t.Errorf("%q folds to %q, %q to %q: want the same", s, Fold(s), same[0], Fold(same[0]))
			}
		}
	}
	var ascii []byte
	for c := range byte(utf8.RuneSelf) {
		ascii = append(ascii, c)
	}
	if got, want := Fold(string(ascii)), cases.Fold().String(string(ascii)); got != want {
		t.Errorf("ASCII folds to %q, want %q", got, want)
	}
	for _, other := range [][2]string{{"ż", "z"}, {"ė", "e"}, {"ı", "i"}} {
		if Fold(other[0]) == Fold(other[1]) {
			t.Errorf("%q and %q fold to the same", other[0], other[1])
		}
	}
}

// The rotateUrl of a proxy from an older version is sealed at the next open, and its plain text leaves the file.
func TestOldRotateURLsAreSealed(t *testing.T) {
	ctx := context.Background()
	secret := "S3cr3t-0f-the-seller"
	dir := oldDatabase(t, 4, func(db *sql.DB, _ keyring) {
		for id, address := range map[string]string{"a": "https://r.example/" + secret, "b": "",
			"c": "https://u:" + secret + "@r.example/?x=" + strings.Repeat("long", 400), "d": "https://r.example"} {
			mustExec(t, db, "INSERT INTO proxies (id, workspace_id, type, host, port, rotate_url, created_at, updated_at) "+
				"VALUES (?, 'default', 'socks5', 'h', unicode(?), ?, 1, 1)", id, id, address)
		}
		for i := range 2 * stepRows { // more than one batch
			mustExec(t, db, "INSERT INTO proxies (id, workspace_id, type, host, port, rotate_url, created_at, updated_at) "+
				"VALUES (?, 'default', 'http', 'h', ?, ?, 1, 1)", fmt.Sprintf("x%04d", i), i+1, fmt.Sprint("https://r.example/", secret, i))
		}
	})
	for range 2 {
		s := openIn(t, dir, Options{})
		for id, want := range map[string][2]string{"a": {"https://r.example/***", "https://r.example/" + secret}, "b": {"", ""},
			"d": {"https://r.example", "https://r.example"}, "c": {"https://r.example/***",
				"https://u:" + secret + "@r.example/?x=" + strings.Repeat("long", 400)},
			"x0999": {"https://r.example/***", "https://r.example/" + secret + "999"}} {
			row, err := s.Read().GetProxy(ctx, GetProxyParams{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			whole, err := s.RotateURL(row)
			if err != nil || row.RotateURL != want[0] || whole != want[1] || row.Revision != 1 {
				t.Errorf("%s: shown %q, whole %q, %v; want %q", id, row.RotateURL, whole, err, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "warren.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), secret) {
			t.Errorf("%s holds a rotateUrl in clear, or cannot be read: %v", file, err)
		}
	}
}

// Plain text leaves the file also if the server died after sealing it and before the vacuum.
func TestRebuildThatWasCutOff(t *testing.T) {
	secret := strings.Repeat("S3cr3t-0f-the-seller", 1e5) // more pages than later migrations reuse
	dir := oldDatabase(t, 6, func(db *sql.DB, _ keyring) {
		mustExec(t, db, "INSERT INTO settings (name, value) VALUES ('clear', ?)", secret)
		mustExec(t, db, "DELETE FROM settings WHERE name = 'clear'") // its pages are free and unchanged
		mustExec(t, db, "UPDATE settings SET value = value || ' rebuild' WHERE name = 'refit'")
	})
	file := filepath.Join(dir, FileName)
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), secret[:100]) {
		t.Fatalf("the test is blind: %v", err)
	}
	if err := openIn(t, dir, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), secret[:100]) {
		t.Errorf("the file holds it in clear, or cannot be read: %v", err)
	}
}
