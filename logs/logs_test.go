package logs

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFormats: text on a terminal, JSON elsewhere and in a file, and what is asked for. Lines below the level are not written.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    Options
		want []string // what the line of each event holds
	}{
		{Options{Terminal: true}, []string{"level=INFO msg=two"}},
		{Options{Format: "auto"}, []string{`"level":"INFO","msg":"two"`}},
		{Options{Format: "text"}, []string{"level=INFO msg=two"}},
		{Options{Format: "json", Terminal: true, Level: "debug"}, []string{`"level":"DEBUG","msg":"one"`, `"level":"INFO","msg":"two"`}},
		{Options{Format: "auto", Terminal: true, Level: "error"}, nil},
	} {
		var out bytes.Buffer
		c.o.Stderr = &out
		log, _ := Open(c.o)
		log.Debug("one")
		log.Info("two")
		lines := slices.Collect(strings.Lines(out.String()))
		if !slices.EqualFunc(lines, c.want, strings.Contains) {
			t.Errorf("%+v: %q", c.o, lines)
		}
	}
}

// TestFile: lines are appended to a file of the owner's, and after a rotation to a new one. Standard error stays empty.
func TestFile(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	path := filepath.Join(t.TempDir(), "warren.log")
	log, out := Open(Options{File: path, Terminal: true, Stderr: &errs})
	log.Info("first")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	log.Info("second")
	out.Reopen()
	log.Info("third")
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{path + ".1": {`"first"`, `"second"`}, path: {`"third"`}} {
		text, err := os.ReadFile(file)
		if err != nil || strings.Count(string(text), "\n") != len(want) || !strings.Contains(string(text), want[len(want)-1]) {
			t.Errorf("%s holds %q (%v), want %v", file, text, err, want)
		}
		if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v (%v)", file, info.Mode(), err)
		}
	}
	if errs.Len() > 0 {
		t.Errorf("standard error got %q", &errs)
	}
}

// TestFileFails: a file that cannot be opened or written loses no line, and standard error says it once.
func TestFileFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths := []string{dir, filepath.Join(dir, "none", "warren.log")}
	if _, err := os.Stat("/dev/full"); err == nil {
		paths = append(paths, "/dev/full") // no regular file
	}
	for _, path := range paths {
		var errs bytes.Buffer
		log, out := Open(Options{File: path, Stderr: &errs})
		log.Info("first")
		log.Info("second")
		checkFallback(t, path, errs.String())
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	}
	var errs bytes.Buffer
	path := filepath.Join(dir, "warren.log")
	log, out := Open(Options{File: path, Stderr: &errs})
	readOnly, err := os.Open(path) // stands in for a disk that fails
	if err != nil {
		t.Fatal(err)
	}
	out.file.Close() //nolint:errcheck // replaced
	out.file = readOnly
	log.Info("first")
	log.Info("second")
	checkFallback(t, "a failing write", errs.String())
	out.Reopen()
	log.Info("third")
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "third") || strings.Contains(errs.String(), "third") {
		t.Errorf("after SIGHUP: %q (%v), standard error %q", text, err, &errs)
	}
	if err := out.Close(); err != nil {
		t.Error(err)
	}
}

func checkFallback(t *testing.T, what, got string) {
	t.Helper()
	if strings.Count(got, "cannot be written") != 1 || strings.Count(got, `"first"`) != 1 || strings.Count(got, `"second"`) != 1 {
		t.Errorf("%s: standard error says %q", what, got)
	}
}

// TestStuck: a standard error that takes nothing keeps one line waiting. Those of meanwhile are left out, and then counted.
func TestStuck(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &steady{to: w, patient: time.Millisecond}
	line := []byte(strings.Repeat("x", 1<<20) + "\n") // no pipe takes that (pipe(7))
	if n, err := s.Write(line); n != len(line) || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for range 3 {
		if _, err := s.Write([]byte("lost\n")); err == nil {
			t.Error("a line was taken")
		}
	}
	got := make(chan string)
	go func() {
		all, _ := io.ReadAll(r)
		got <- string(all[len(line):])
	}()
	<-s.writing
	s.patient = time.Minute
	if _, err := s.Write([]byte("next\n")); err != nil {
		t.Error(err)
	}
	w.Close()
	if text := <-got; text != "warren: standard error took no lines for a while, so that the log lacks 3\nnext\n" {
		t.Errorf("%q", text)
	}
	if _, err := s.Write([]byte("closed\n")); err == nil {
		t.Error("a closed stream has no error")
	}
}

// TestBounded: a flood is cut off, and the next event that is let in says how many were left out.
func TestBounded(t *testing.T) {
	t.Parallel()
	b := NewBounded(1e-9, 5)
	taken := 0
	for range 1000 {
		if _, ok := b.Allow(); ok {
			taken++
		}
	}
	if left := b.LeftOut(); taken != 5 || left != 995 || b.LeftOut() != 0 {
		t.Errorf("%d were taken and %d left out", taken, left)
	}
	b = NewBounded(1e9, 1)
	b.leftOut.Store(7)
	if before, ok := b.Allow(); !ok || before != 7 {
		t.Errorf("%d, %v", before, ok)
	}
}
