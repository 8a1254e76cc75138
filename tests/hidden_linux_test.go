package tests

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"warren/shim"
)

// The kernel says which files of the machine a run sees.

// seenBy reports whether the process sees a file at the path (proc_pid_root(5)).
func seenBy(t *testing.T, pid int, path string) bool {
	t.Helper()
	_, err := os.Lstat("/proc/" + strconv.Itoa(pid) + "/root" + path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// A run sees its own profile of the data folder. It sees neither the server's keys, wherever they lie, nor other
// runs. Its cookies are kept, and its browser may be a build in the data folder.
func TestRunSeesNothingOfTheServer(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	if err := shim.CheckFiles(); err != nil {
		t.Skipf("needs mount namespaces: %v", err)
	}
	g := newTestbed(t)
	keys := filepath.Join(g.dir, "keys")
	canary := filepath.Join(g.data, "canary")
	for _, dir := range []string{keys, g.data} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{canary: "canary", filepath.Join(keys, "secret.key"): strings.Repeat("5a", 32)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := g.serve("--secret-key-file", filepath.Join(keys, "secret.key"), "--require-isolation")
	s.addProxy(nil)
	one, two := s.profile(nil), s.profile(nil)
	runs := []runView{s.start(one, nil), s.start(two, nil)}
	temps, err := filepath.Glob(filepath.Join(g.dir, "t", "warren-*", "*"))
	if err != nil || len(temps) != 2 {
		t.Fatalf("temporary folders %v, %v", temps, err)
	}
	for i, id := range []string{one, two} {
		run, other := runs[i], []string{two, one}[i]
		if run.Isolation.Files != shim.Namespace || run.warned("isolation_files") {
			t.Errorf("isolation %+v, warnings %+v", run.Isolation, run.Warnings)
		}
		for _, path := range []string{canary, g.ownFile(), filepath.Join(keys, "secret.key"),
			filepath.Join(g.data, "profiles", other), filepath.Join(g.data, "profiles", id, ".lock")} {
			if !seenBy(t, os.Getpid(), path) {
				t.Errorf("there is no %s to hide", path)
			}
			if seenBy(t, run.PID, path) {
				t.Errorf("the run of %s sees %s", id, path)
			}
		}
		seen := 0
		for _, temp := range temps {
			if seenBy(t, run.PID, temp) {
				seen++
			}
		}
		if seen != 1 || !seenBy(t, run.PID, filepath.Join(g.data, "profiles", id, "chrome", "Default")) {
			t.Errorf("the run of %s sees %d temporary folders, want its own, and its profile", id, seen)
		}
	}
}

// A build of the browser in the data folder, as browser install makes them, runs though the folder is hidden.
func TestBuildInTheDataFolder(t *testing.T) {
	t.Parallel()
	path := needBrowser(t)
	g := newTestbed(t)
	build := filepath.Join(g.data, "builds", "here")
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(real); err == nil && strings.HasPrefix(string(text), "#!") { // a distribution's wrapper
		real = "/usr/lib/chromium/chromium"
	}
	if err := copyTree(filepath.Dir(real), build); err != nil {
		t.Skipf("needs a browser in a folder of its own: %v", err)
	}
	s := g.serve("--browser", filepath.Join(build, filepath.Base(real)), "--require-isolation")
	run := s.start(s.profile(nil), nil)
	if seenBy(t, run.PID, g.ownFile()) || !seenBy(t, run.PID, build) {
		t.Error("the run sees the wrong part of the data folder")
	}
}

// copyTree copies a folder of files and folders.
func copyTree(from, to string) error {
	if _, err := os.Stat(filepath.Join(from, "icudtl.dat")); err != nil {
		return err // not the folder of a browser
	}
	return os.CopyFS(to, os.DirFS(from))
}
