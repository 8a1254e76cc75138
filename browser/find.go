package browser

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Installed is a browser on this machine.
type Installed struct {
	Path    string // of the program itself, not of a wrapper script
	Product string // "Chromium", "Google Chrome", "Microsoft Edge", …
	Version string // four numbers, "156.0.8078.79"
	Major   int    // the first of them
}

// NotFoundError says that no browser was found.
type NotFoundError struct {
	Tried  []string // paths and names that were tried
	Reason string   // what is wrong with the given path; "" if none was given
	Hint   string   // the command that installs a browser on this system
}

// Error satisfies error.
func (e *NotFoundError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("%s: %s. %s", strings.Join(e.Tried, ", "), e.Reason, e.Hint)
	}
	return "no Chromium was found. " + e.Hint
}

// versionTimeout bounds --version.
const versionTimeout = 10 * time.Second

// Find returns the browser at path; "": the first one on PATH or in the usual places of this platform. It runs the program with --version,
// except on Windows, where it reads the folder beside it. It fails with a *NotFoundError, or with ctx's error.
func Find(ctx context.Context, path string) (Installed, error) {
	if path != "" {
		found, err := Inspect(ctx, path)
		if ctx.Err() != nil {
			return Installed{}, ctx.Err()
		}
		if err != nil {
			hint := "Give the path of a Chromium or Chrome, or leave it out. " + installHint()
			return Installed{}, &NotFoundError{Tried: []string{path}, Reason: reason(err), Hint: hint}
		}
		return found, nil
	}
	var tried []string
	for _, place := range append(ProgramNames(), UsualPlaces()...) {
		tried = append(tried, place)
		found, err := Inspect(ctx, place)
		if ctx.Err() != nil {
			return Installed{}, ctx.Err()
		}
		if err == nil {
			return found, nil
		}
	}
	return Installed{}, &NotFoundError{Tried: tried, Hint: installHint()}
}

// ProgramNames returns the names of Chromium and its relatives on PATH.
func ProgramNames() []string {
	return []string{
		"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "google-chrome-beta", "google-chrome-unstable",
		"microsoft-edge-stable", "microsoft-edge", "msedge", "brave-browser", "brave", "ungoogled-chromium",
	}
}

// Inspect returns the browser at place, a path or a name on PATH.
func Inspect(ctx context.Context, place string) (Installed, error) {
	path, err := Locate(place)
	if err != nil {
		return Installed{}, err
	}
	return installedAt(ctx, path)
}

// Locate returns the path of the program at place, a path or a name on PATH. It looks into application bundles and wrapper scripts.
func Locate(place string) (string, error) {
	path, err := exec.LookPath(place)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		path = place // an application bundle of macOS, or an error below
	}
	path = program(unwrap(path))
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return path, executable(path)
}

// errNotBrowser says that a program does not answer --version as Chromium does.
var errNotBrowser = errors.New("it is not a Chromium: --version did not answer with a name and four numbers")

// executable returns why path cannot be run.
func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: it is not a program", path)
	}
	return runnable(path, info)
}

// reason returns the text of an error of Inspect, without paths.
func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no such file"
	}
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err.Error()
	}
	return err.Error()
}

// askVersion runs the program with --version.
func askVersion(ctx context.Context, path string) (Installed, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = os.Environ()
	prepareGroup(cmd)
	cmd.Cancel = func() error { newGroup(cmd.Process).kill(); return nil }
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return Installed{}, fmt.Errorf("--version did not answer within %v", versionTimeout)
	}
	found, ok := parseVersion(string(out))
	if !ok {
		// For example: libnss3.so: cannot open shared object file.
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
			line, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
			err = fmt.Errorf("%w: %.200q", err, line)
		}
		if err != nil {
			return Installed{}, fmt.Errorf("%w (%w)", errNotBrowser, err)
		}
		return Installed{}, errNotBrowser
	}
	found.Path = path
	return found, nil
}

// parseVersion parses "Chromium 156.0.8078.79 built on Debian".
func parseVersion(line string) (Installed, bool) {
	m := regexp.MustCompile(`(?m)^\s*(\S.*?) (\d{1,5})(\.\d{1,5}\.\d{1,5}\.\d{1,5})\b`).FindStringSubmatch(line)
	if m == nil {
		return Installed{}, false
	}
	return Installed{Product: m[1], Version: m[2] + m[3], Major: majorOf(m[2])}, true
}

// parseProduct parses "Chrome/156.0.8078.79", the product of Browser.getVersion (CDP).
func parseProduct(product string) Installed {
	name, version, _ := strings.Cut(product, "/")
	return Installed{Product: strings.TrimPrefix(name, "Headless"), Version: version, Major: majorOf(version)}
}

// majorOf returns the first number of a version, 0 for none.
func majorOf(version string) int {
	first, _, _ := strings.Cut(version, ".")
	major, _ := strconv.Atoi(first)
	return major
}

// unwrap returns the program behind a wrapper script. Debian's wrapper adds flags, and Chrome's starts helpers that outlive it.
func unwrap(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !isScript(real) {
		return path
	}
	for _, behind := range behindWrapper(real) {
		if executable(behind) == nil {
			return behind
		}
	}
	return path
}

func isScript(path string) bool {
	return executable(path) == nil && string(headOf(path, 2)) == "#!" // opening a named pipe could block
}

// headOf returns the first bytes of a file, at most size; none if it cannot be read.
func headOf(path string, size int) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, size)
	n, _ := f.Read(head)
	return head[:n]
}

// behindWrapper returns where the program of a wrapper script may be: Debian's in /usr/lib, others beside the script.
func behindWrapper(script string) []string {
	beside := func(name string) string { return filepath.Join(filepath.Dir(script), name) }
	if script == "/usr/bin/chromium" {
		return []string{"/usr/lib/chromium/chromium"}
	}
	switch filepath.Base(script) {
	case "google-chrome", "google-chrome-beta", "google-chrome-unstable":
		return []string{beside("chrome")}
	case "microsoft-edge", "microsoft-edge-beta", "microsoft-edge-dev":
		return []string{beside("msedge")}
	case "brave-browser", "brave-browser-beta":
		return []string{beside("brave")}
	}
	return nil
}
