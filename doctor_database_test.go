package main

import (
	"slices"
	"strings"
	"testing"

	"warren/store"
	"warren/testnet"
)

// TestDoctorDatabase: settings of PostgreSQL that lose what is acknowledged are found, and so are a server that is not there and an address
// that is none. No finding shows a password.
func TestDoctorDatabase(t *testing.T) {
	t.Parallel()
	good := []string{"synchronous_commit=on", "fsync=on", "full_page_writes=on"}
	url := testnet.OwnPostgres(t, good...).NewDatabase()
	if f := databaseFinding(t.Context(), url); !f.OK || !strings.Contains(f.Detail, "PostgreSQL 1") {
		t.Errorf("%+v", f)
	}
	for _, setting := range good {
		name, _, _ := strings.Cut(setting, "=")
		off := testnet.OwnPostgres(t, append(slices.Clone(good), name+"=off")...).NewDatabase()
		if f := databaseFinding(t.Context(), off); f.OK || !strings.HasSuffix(f.Detail, "off: "+name) || !strings.Contains(f.Advice, name) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for want, p := range map[string]store.Promises{"followed by 1; no commit waits": {Standbys: 1}, "a standby": {ReadOnly: true},
		"followed by 2; what is committed stays": {Standbys: 2, Waits: true}} {
		if f := promisesFinding(p); !strings.Contains(f.Detail, want) || f.OK != (f.Advice == "") {
			t.Errorf("%+v", f)
		}
	}
	if f := databaseFinding(t.Context(), "postgres://warren:the-secret@127.0.0.1:1/x"); f.OK || f.Advice == "" ||
		strings.Contains(f.Detail+f.Advice, "the-secret") {
		t.Errorf("%+v", f)
	}
	out, err := warren(t, "doctor", "--store", "mysql://a:the-secret@b/c")
	if code := exitCode(err, new(strings.Builder)); code != 2 || strings.Contains(out+err.Error(), "the-secret") {
		t.Errorf("%d, %s, %v", code, out, err)
	}
	out, err = warren(t, "doctor", "--store", url, "--data", t.TempDir())
	if !strings.Contains(out, "database") {
		t.Errorf("%s, %v", out, err)
	}
}
