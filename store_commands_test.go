package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/store"
	"warren/testnet"
)

// dataWithAWorkspace is the data folder of a server that has stopped.
func dataWithAWorkspace(t *testing.T, workspace string) string {
	t.Helper()
	data := t.TempDir()
	st, err := store.Open(t.Context(), data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Write(t.Context(), func(q *store.Queries) error {
		return store.ErrorOf(q.EnsureWorkspace(t.Context(), store.EnsureWorkspaceParams{ID: workspace}))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestStoreCopy: the database goes to PostgreSQL and back, and the command says what each server needs.
func TestStoreCopy(t *testing.T) {
	t.Parallel()
	data, url, back := dataWithAWorkspace(t, "shop"), testnet.Postgres(t), filepath.Join(t.TempDir(), "new")
	key := filepath.Join(data, "secret.key")
	copied := func(args ...string) (out, told string, code int) {
		var stdout, stderr bytes.Buffer
		err := run(t.Context(), append([]string{"store", "copy"}, args...), strings.NewReader(""), &stdout, &stderr)
		code = exitCode(err, &stderr)
		return stdout.String(), stderr.String(), code
	}
	out, told, code := copied("--from", data, "--to", url)
	for _, want := range []string{"\nworkspaces ", " of 23 tables are in both databases.", "secret key " + key, "--store postgres://…",
		"--data " + data} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%d, %q, %q; want %q", code, out, told, want)
		}
	}
	if out, told, code = copied("--from", data, "--to", url); code != 3 || !strings.Contains(told, "has rows in workspaces") {
		t.Errorf("a second time: %d, %q, %q", code, out, told)
	}
	if out, told, code = copied("--from", url, "--to", back); code != 1 || !strings.Contains(told, "--secret-key-file") {
		t.Errorf("without the key: %d, %q, %q", code, out, told)
	}
	if out, told, code = copied("--from", url, "--to", back, "--secret-key-file", key); code != 0 || !strings.Contains(out,
		"cp -p "+key+" "+filepath.Join(back, "secret.key")) {
		t.Errorf("back: %d, %q, %q", code, out, told)
	}
	text, err := os.ReadFile(key)
	if err == nil {
		err = os.WriteFile(filepath.Join(back, "secret.key"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), back, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.Read().GetWorkspace(t.Context(), store.GetWorkspaceParams{ID: "shop"}); err != nil {
		t.Errorf("the workspace is not in the copy: %v", err)
	}
}

// TestStoreCopyJSON: programs read what was copied.
func TestStoreCopyJSON(t *testing.T) {
	t.Parallel()
	data := dataWithAWorkspace(t, "shop")
	var out bytes.Buffer
	err := run(t.Context(), []string{"store", "copy", "--from", data, "--to", testnet.Postgres(t), "--json"}, strings.NewReader(""), &out,
		io.Discard)
	var view transferView
	if err = errors.Join(err, json.Unmarshal(out.Bytes(), &view)); err != nil || len(view.Tables) != 23 || view.Tables[0].Rows != 1 ||
		view.SecretKeyFile != filepath.Join(data, "secret.key") || view.Resumed {
		t.Errorf("%+v, %v", view, err)
	}
}

// TestStoreCopyFlags: what is no database is refused, and a folder in use is left alone. No refusal makes a folder or shows a password.
func TestStoreCopyFlags(t *testing.T) {
	t.Parallel()
	data, missing := dataWithAWorkspace(t, "shop"), filepath.Join(t.TempDir(), "missing")
	unlock, err := claimData(data)
	if err != nil {
		t.Fatal(err)
	}
	const nowhere = "postgres://a:the-secret@127.0.0.1:1/b"
	for _, c := range []struct {
		from, to string
		code     int
		words    string
	}{
		{data, missing, 2, "warren backup"},
		{missing, nowhere, 2, "is no data folder"},
		{data, nowhere, 3, "another warren serves"},
		{nowhere, "mysql://a:the-secret@b/c", 2, "mysql:// is no database"},
		{nowhere, missing + "/" + strings.Repeat("x", 100), 2, "too long"},
		{"postgres://a:the-secret@b:port/c", nowhere, 1, "cannot be read"},
		{nowhere, nowhere, 1, "127.0.0.1:1"},
	} {
		var told bytes.Buffer
		err := run(t.Context(), []string{"store", "copy", "--from", c.from, "--to", c.to}, strings.NewReader(""), io.Discard, &told)
		if code := exitCode(err, &told); code != c.code || !strings.Contains(told.String(), c.words) ||
			strings.Contains(told.String(), "the-secret") {
			t.Errorf("from %s to %s: %d, %q; want %d and %q", c.from, c.to, code, told.String(), c.code, c.words)
		}
	}
	unlock()
	if _, err := os.Stat(missing); err == nil {
		t.Error("a refusal has made a folder")
	}
}

// TestServeRefusesHalfACopy: a server leaves a database alone that warren store copy has not completed.
func TestServeRefusesHalfACopy(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	st, err := store.Open(t.Context(), data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Write(t.Context(), func(q *store.Queries) error {
		return q.SetSetting(t.Context(), store.SetSettingParams{Name: "copying", Value: "{}"})
	})
	if err = errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	err = run(t.Context(), []string{"serve", "--data", data, "--listen", "127.0.0.1:0"}, strings.NewReader(""), io.Discard, io.Discard)
	if code := exitCode(err, &told); code != 3 || !strings.Contains(told.String(), "repeat the same warren store copy") {
		t.Errorf("%d, %q", code, told.String())
	}
}
