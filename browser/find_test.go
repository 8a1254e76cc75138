//go:build !windows

package browser

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestFindInstalled(t *testing.T) {
	found := installed(t)
	if !filepath.IsAbs(found.Path) || found.Major < 100 || !strings.HasPrefix(found.Version, "1") || found.Product == "" {
		t.Errorf("%+v", found)
	}
	again, err := Find(t.Context(), found.Path)
	if err != nil || again != found {
		t.Errorf("by its path: %+v, %v", again, err)
	}
}

// TestFindLooksBehindWrappers: Debian's wrapper adds flags of its own, so the program behind it must run.
func TestFindLooksBehindWrappers(t *testing.T) {
	text, err := os.ReadFile("/usr/bin/chromium")
	if err != nil || !strings.HasPrefix(string(text), "#!") {
		t.Skip("needs a wrapper script at /usr/bin/chromium")
	}
	for _, path := range []string{"/usr/bin/chromium", "chromium"} {
		if found, err := Find(t.Context(), path); err != nil || found.Path != "/usr/lib/chromium/chromium" {
			t.Errorf("%s: %+v, %v", path, found, err)
		}
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "my browser")
	if err := os.Symlink("/usr/bin/chromium", link); err != nil {
		t.Fatal(err)
	}
	if found, err := Find(t.Context(), link); err != nil || found.Path != "/usr/lib/chromium/chromium" {
		t.Errorf("a link: %+v, %v", found, err)
	}
}

func TestFindBadPaths(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, body string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(body), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "missing"): "no such file",
		pipe:                          "not a program",
		dir:                           "not a program",
		write("plain", "text", 0o600): "not executable",
		write("firefox", "#!/bin/sh\necho Mozilla Firefox 140.0", 0o700): "not a Chromium",
		write("silent", "#!/bin/sh\nexit 3", 0o700):                      "not a Chromium",
		write("garbage", "\x7fELFnonsense", 0o700):                       "exec format",
		"no-such-program-anywhere":                                       "no such file",
		"bad\x00path":                                                    "",
	} {
		_, err := Find(t.Context(), path)
		var missing *NotFoundError
		if !errors.As(err, &missing) || !strings.Contains(missing.Reason, want) || missing.Hint == "" || len(missing.Tried) != 1 {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
}

// TestFindIsBounded: a program that does not tell its version is killed, with all that it started.
func TestFindIsBounded(t *testing.T) {
	path := script(t, "sleep 600 & sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := Find(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestFindNothing(t *testing.T) {
	for _, place := range UsualPlaces() {
		if executable(program(place)) == nil {
			t.Skipf("there is a browser in a usual place: %s", place)
		}
	}
	t.Setenv("PATH", t.TempDir())
	_, err := Find(t.Context(), "")
	var missing *NotFoundError
	if !errors.As(err, &missing) || len(missing.Tried) < 10 || missing.Hint == "" {
		t.Errorf("%v", err)
	}
}

func TestParseVersion(t *testing.T) {
	for line, want := range map[string]Installed{
		"Chromium 156.0.8078.79 built on Debian GNU/Linux 12 (bookworm)\n": {Product: "Chromium", Version: "156.0.8078.79", Major: 156},
		"Google Chrome 140.0.7339.80 \n": {
			Product: "Google Chrome", Version: "140.0.7339.80", Major: 140},
		"some warning\nMicrosoft Edge 141.0.3537.57\n": {Product: "Microsoft Edge", Version: "141.0.3537.57", Major: 141},
		"Brave Browser 141.1.83.109":                   {Product: "Brave Browser", Version: "141.1.83.109", Major: 141},
	} {
		if got, ok := parseVersion(line); !ok || got != want {
			t.Errorf("%q: %+v", line, got)
		}
	}
	for _, line := range []string{"", "Mozilla Firefox 140.0", "156.0.8078.79", "version 1.2.3", "x 1.2.3.4567890"} {
		if got, ok := parseVersion(line); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}
