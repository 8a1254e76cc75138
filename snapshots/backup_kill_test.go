package snapshots

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warren/packs"
)

// These variables name the child's data folder and where it backs up to.
const (
	backupKillDir   = "WARREN_TEST_BACKUP_DIR"
	backupKillPlace = "WARREN_TEST_BACKUP_PLACE"
)

// TestBackupChild is the child: it makes backups in a folder and in files, and restores them, until it is killed. It says what it has made.
func TestBackupChild(t *testing.T) {
	dir, place := os.Getenv(backupKillDir), os.Getenv(backupKillPlace)
	if dir == "" {
		t.Skip("for TestBackupKilled alone")
	}
	for {
		name := rand.Uint64()
		file := fmt.Sprint(place, "-", name, ".tar")
		tar, err := NewTar(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = MakeBackup(t.Context(), BackupOptions{Data: dir, To: tar, WithKey: true})
		if err := tar.Finish(err); err != nil {
			t.Fatal(err)
		}
		fmt.Println("file", file)
		b, err := MakeBackup(t.Context(), BackupOptions{Data: dir, To: packs.Folder(place), WithKey: true})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("folder", b.ID)
		restored := fmt.Sprint(place, "-restored-", name)
		if _, err := Restore(t.Context(), RestoreOptions{From: packs.Folder(place), Data: restored}); err != nil {
			t.Fatal(err)
		}
		fmt.Println("restored", restored)
	}
}

// TestBackupKilled: backups and restores that were acknowledged before a kill are whole. What the kill left is gone after the next one.
func TestBackupKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 3 {
		p := r.profile()
		r.put(p.ID, textFiles("text of "+p.ID))
		r.save(p.ID, Request{Reason: Stop})
	}
	place := filepath.Join(t.TempDir(), "place")
	for range 6 {
		for _, said := range runBackups(t, r.data, place) {
			kind, name, _ := strings.Cut(said, " ")
			wantWhole(t, kind, name, place)
		}
	}
	if _, err := MakeBackup(t.Context(), BackupOptions{Data: r.data, To: packs.Folder(place), WithKey: true}); err != nil {
		t.Fatal(err)
	}
	if err := tidy(t.Context(), r.data, packs.Folder(place), -time.Hour); err != nil { // a day later
		t.Fatal(err)
	}
	found, err := Check(t.Context(), CheckOptions{From: packs.Folder(place), ReadAll: true})
	if err != nil || len(found.Faults) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
	half, _ := filepath.Glob(filepath.Join(place, "*", ".new-*"))       //nolint:errcheck // the pattern is right
	copies, _ := filepath.Glob(filepath.Join(r.data, backupFolder+"*")) //nolint:errcheck // the same
	if len(half)+len(copies) > 0 {
		t.Errorf("left over: %v %v", half, copies)
	}
	restoreAgain(t, place)
}

// runBackups kills the child at a random moment, and returns what it said.
func runBackups(t *testing.T, dir, place string) (said []string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestBackupChild$")
	cmd.Env = append(os.Environ(), backupKillDir+"="+dir, backupKillPlace+"="+place)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for range 1 + rand.IntN(4) {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the child said %q and ended: %v", line, cmd.Wait())
		}
		said = append(said, strings.TrimSpace(line))
	}
	for late := time.Now().Add(rand.N(60 * time.Millisecond)); time.Now().Before(late); { // anywhere between two lines
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() //nolint:errcheck // it was killed
	for line := range strings.Lines(string(rest)) {
		if strings.HasSuffix(line, "\n") {
			said = append(said, strings.TrimSpace(line))
		}
	}
	return said
}

// wantWhole checks what the child said that it made.
func wantWhole(t *testing.T, kind, name, place string) {
	t.Helper()
	o := CheckOptions{ReadAll: true}
	switch kind {
	case "file":
		from, closer, err := OpenTar(name)
		if err != nil {
			t.Fatal(err)
		}
		defer closer.Close()
		o.From = from
	case "folder":
		o.From, o.ID = packs.Folder(place), name
	case "restored":
		o.Data = name
	default:
		t.Fatalf("the child said %q", kind)
	}
	if found, err := Check(t.Context(), o); err != nil || len(found.Faults) > 0 || found.Snapshots != 3 {
		t.Errorf("%s %s: %+v, %v", kind, name, found, err)
	}
}

// restoreAgain restores to every place where a restore was killed, and makes every file anew that was being written.
func restoreAgain(t *testing.T, place string) {
	half, _ := filepath.Glob(place + "-restored-*.restoring") //nolint:errcheck // the pattern is right
	for _, aside := range half {
		data := strings.TrimSuffix(aside, ".restoring")
		_, err := Restore(t.Context(), RestoreOptions{From: packs.Folder(place), Data: data})
		if _, stays := os.Lstat(aside); err != nil || !errors.Is(stays, os.ErrNotExist) {
			t.Errorf("a second restore to %s: %v, %v", data, err, stays)
		}
	}
	parts, _ := filepath.Glob(place + "-*" + partMark + "*") //nolint:errcheck // the same
	for _, part := range parts {
		if err := os.Chtimes(part, time.Time{}, time.Now().Add(-2*partAge)); err != nil {
			t.Fatal(err)
		}
		path, _, _ := strings.Cut(part, partMark)
		tar, err := NewTar(path)
		if err != nil && strings.Contains(err.Error(), "is there already") { // killed behind its link
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			tar, err = NewTar(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(part); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s stays: %v", part, err)
		}
		if err := tar.Finish(errors.New("not now")); err == nil {
			t.Error("a backup that failed has its name")
		}
	}
	t.Logf("%d restores and %d files were cut off", len(half), len(parts))
}
