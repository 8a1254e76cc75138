package main

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/packs"
	"warren/snapshots"
	"warren/store"
	"warren/testnet"
)

// tablesOf returns what the tables of a PostgreSQL database have, but for settings: servers write to that to see that they can.
func tablesOf(t *testing.T, url, key string) []store.TransferredTable {
	t.Helper()
	done, err := store.Transfer(t.Context(), store.TransferOptions{From: url, To: t.TempDir(), SecretKeyFile: key})
	if err != nil {
		t.Fatal(err)
	}
	for i := range done.Tables {
		if done.Tables[i].Name == "keys" { // a server writes when a key was used at its end, after its backup
			done.Tables[i].SHA256 = ""
		}
	}
	return slices.DeleteFunc(done.Tables, func(one store.TransferredTable) bool { return one.Name == "settings" })
}

// serveUntil serves until stop is called, with what a server does beside answering.
func serveUntil(t *testing.T, cfg *serveConfig) (base string, stop func()) {
	t.Helper()
	if err := cfg.resolve(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	up, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		c := &console{strings.NewReader(""), new(testnet.Buffer), new(testnet.Buffer)}
		ended <- serve(ctx, cfg, c, func(base string) { up <- base })
	}()
	select {
	case base = <-up:
	case err := <-ended:
		t.Fatal(err)
	}
	return base, sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestBackupOfADatabase: the state in PostgreSQL is in backups that the command and the server make. What is restored goes back to another
// PostgreSQL, where it is the same, and the same server serves it.
func TestBackupOfADatabase(t *testing.T) {
	t.Parallel()
	first, second := testConfig(t), testConfig(t)
	place, own := t.TempDir(), t.TempDir()
	first.Store, second.Store = testnet.Postgres(t), testnet.Postgres(t)
	first.BackupEvery, first.BackupTo = time.Hour, own
	second.Data = filepath.Join(t.TempDir(), "restored")
	base, stop := serveUntil(t, first)
	var profile struct{ ID string }
	askNode(t, base, first.Data, http.MethodPost, "/profiles", `{"name":"shop","os":"linux"}`, &profile)
	id, node := profile.ID, nodesOf(t, base, first.Data)[0].ID
	testnet.Eventually(t, "the server's own backup", func() bool {
		all, err := snapshots.Backups(t.Context(), packs.Folder(own))
		return err == nil && len(all) == 1 && all[0].Node == node
	})
	out, err := warren(t, "backup", place, "--data", first.Data, "--store", first.Store)
	if err != nil || !strings.Contains(out, ": 1 profiles, 0 snapshots") {
		t.Errorf("%s, %v", out, err)
	}
	stop()
	for _, at := range []string{place, own} {
		if out, err := warren(t, "check", at, "--read-all"); err != nil {
			t.Errorf("%s, %v", out, err)
		}
	}
	if out, err := warren(t, "check", "--data", first.Data, "--store", first.Store); err != nil {
		t.Errorf("%s, %v", out, err)
	}
	out, err = warren(t, "restore", place, "--data", second.Data)
	if err != nil || !strings.Contains(out, "store copy --from "+second.Data) {
		t.Fatalf("%s, %v", out, err)
	}
	var told strings.Builder // the restored folder has a database of its own
	args := []string{"backup", t.TempDir(), "--data", second.Data}
	if err := run(t.Context(), args, strings.NewReader(""), io.Discard, &told); err != nil ||
		!strings.Contains(told.String(), "give --store") {
		t.Errorf("%s, %v", told.String(), err)
	}
	if out, err := warren(t, "store", "copy", "--from", second.Data, "--to", second.Store); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	key := filepath.Join(first.Data, "secret.key")
	if got, want := tablesOf(t, second.Store, key), tablesOf(t, first.Store, key); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	s := serveOnce(t, second, func(s *served) {
		if status := askNode(t, s.base, second.Data, http.MethodGet, "/profiles/"+id, "", nil); status != http.StatusOK {
			t.Errorf("the profile: %d", status)
		}
		if all := nodesOf(t, s.base, second.Data); len(all) != 1 || all[0].ID != node {
			t.Errorf("%+v, want %s", all, node)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
}

// TestBackupFlagsOfADatabase: an address that is none is misuse, and its password is not shown.
func TestBackupFlagsOfADatabase(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{{"backup", t.TempDir()}, {"check"}} {
		out, err := warren(t, append(command, "--data", t.TempDir(), "--store", "mysql://a:the-secret@b/c")...)
		if code := exitCode(err, new(strings.Builder)); code != 2 || strings.Contains(out+err.Error(), "the-secret") {
			t.Errorf("%v: %d, %s, %v", command, code, out, err)
		}
	}
}
