package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warren/packs"
	"warren/snapshots"
	"warren/store"
	"warren/testnet"
)

// TestReporter: what is quick says nothing. A terminal gets one line, again and again, and anything else a line from time to time.
func TestReporter(t *testing.T) {
	t.Parallel()
	m := new(snapshots.Meter)
	data := t.TempDir()
	st, err := store.Open(t.Context(), data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	_, err = snapshots.MakeBackup(t.Context(), snapshots.BackupOptions{Data: data, To: packs.Folder(t.TempDir()), Meter: m})
	if err != nil {
		t.Fatal(err)
	}
	for _, terminal := range []bool{true, false} {
		began := time.Now()
		var out bytes.Buffer
		ticks, done, ended := make(chan time.Time), make(chan struct{}), make(chan struct{})
		r := &reporter{w: &out, terminal: terminal, say: func() string { return describe(m.Now()) }, began: began}
		go func() { r.run(ticks, done); close(ended) }()
		for _, after := range []time.Duration{0, 999, 1000, 1100, 10_900, 11_000, 20_999} {
			ticks <- began.Add(after * time.Millisecond)
		}
		close(done)
		<-ended
		drawn, lines := strings.Count(out.String(), "\r\x1b[Kcopying the database: "), strings.Count(out.String(), "\n")
		if terminal && (drawn != 5 || lines != 0 || !strings.HasSuffix(out.String(), "\r\x1b[K")) ||
			!terminal && (drawn != 0 || lines != 2 || strings.Contains(out.String(), "\r")) {
			t.Errorf("terminal %v: %q", terminal, out.String())
		}
	}
	var out bytes.Buffer
	r := &reporter{w: &out, terminal: true, say: func() string { return describe(m.Now()) }, began: time.Now()}
	r.tick(r.began)
	if r.end(); out.Len() > 0 {
		t.Errorf("what is quick says %q", out.String())
	}
	got := describe(snapshots.Progress{Step: "copying objects", Done: 3, Total: 7, Bytes: 20 << 20})
	if want := "copying objects: 3 of 7 objects, 20 MiB"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestBackupReports: a backup that takes long says how far it is.
func TestBackupReports(t *testing.T) {
	t.Parallel()
	var out testnet.Buffer
	m := new(snapshots.Meter)
	r := &reporter{w: &out, say: func() string { return describe(m.Now()) }, began: time.Now().Add(-time.Hour)}
	ticks, done := make(chan time.Time), make(chan struct{})
	go r.run(ticks, done)
	data := t.TempDir()
	st, err := store.Open(t.Context(), data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	to := slow{packs.Folder(t.TempDir()), func() { ticks <- time.Now() }}
	if _, err := snapshots.MakeBackup(t.Context(), snapshots.BackupOptions{Data: data, To: to, Meter: m}); err != nil {
		t.Fatal(err)
	}
	close(done)
	if !strings.Contains(out.String(), " objects, ") {
		t.Errorf("%q", out.String())
	}
}

// slow are blobs that call something before each Put.
type slow struct {
	packs.Blobs
	before func()
}

// Put is of packs.Blobs.
func (s slow) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	s.before()
	return s.Blobs.Put(ctx, name, size, body)
}

// TestBackupFlags: all that is wrong with a place is said at once, with 2, and nothing of a secret.
func TestBackupFlags(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "the-secret")
	t.Setenv("AWS_ENDPOINT_URL", "http://s3.example.com")
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	data := t.TempDir()
	for _, args := range [][]string{{"backup", "s3://"}, {"restore", "s3://B!/x"}, {"check", "s3:///x"},
		{"backup", "s3://x.tar/../y", "--keep", "3"}, {"serve", "--backup-every", "1h", "--backup-to", "s3://", "--backup-keep", "2"}} {
		err := run(t.Context(), append(args, "--data", data), strings.NewReader(""), io.Discard, io.Discard)
		var told bytes.Buffer
		if code := exitCode(err, &told); code != 2 {
			t.Errorf("%v ended with %d", args, code)
		}
		for _, word := range []string{"AWS_ACCESS_KEY_ID", "others could read all", "s3://bucket/prefix"} {
			if strings.Contains(fmt.Sprint(args), "..") && word == "s3://bucket/prefix" {
				word = "prefix must be"
			}
			if !strings.Contains(told.String(), word) || strings.Contains(told.String(), "the-secret") {
				t.Errorf("%v: %q lacks %q, or has the secret", args, told.String(), word)
			}
		}
	}
	for _, args := range [][]string{{"backup", filepath.Join(data, "x.tar"), "--keep", "1"}, {"backup", data, "--keep=-1"},
		{"serve", "--backup-every", "1s", "--backup-to", "x.tar", "--backup-keep=-1"}} {
		err := run(t.Context(), append(args, "--data", data), strings.NewReader(""), io.Discard, io.Discard)
		if code := exitCode(err, io.Discard); code != 2 {
			t.Errorf("%v: %d, %v", args, code, err)
		}
		if args[0] == "serve" && (!strings.Contains(err.Error(), "a minute") || !strings.Contains(err.Error(), "one file") ||
			!strings.Contains(err.Error(), "--backup-keep is -1")) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestBackupKeep: older backups go when newer ones are made.
func TestBackupKeep(t *testing.T) {
	t.Parallel()
	data, place := t.TempDir(), t.TempDir()
	st, err := store.Open(t.Context(), data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for i := range 4 {
		var out bytes.Buffer
		err := run(t.Context(), []string{"backup", "--data", data, "--keep", "2", place}, strings.NewReader(""), &out, io.Discard)
		if want := fmt.Sprintf("%d old backups removed", min(1, i/2)); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v, %q, want %q", err, out.String(), want)
		}
	}
	if all, err := snapshots.Backups(t.Context(), packs.Folder(place)); err != nil || len(all) != 2 {
		t.Errorf("%d backups, %v", len(all), err)
	}
}
