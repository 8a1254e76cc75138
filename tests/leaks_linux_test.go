package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"warren/leaks"
	"warren/testnet"
)

// bareBrowser runs Chromium on a page as anybody would, with nothing that keeps it in. What the relay does for names below
// leaks.Suffix, its own rules do.
func bareBrowser(t *testing.T, canaries *leaks.Test, page string, more ...string) (said *testnet.Buffer, end func()) {
	t.Helper()
	path := needBrowser(t)
	dir, err := os.MkdirTemp(shortTemp(), "wr-bare")
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, w := range canaries.Bypasses() {
		if strings.HasPrefix(w.Host, ".") {
			rules = append(rules, fmt.Sprintf("MAP *%s:%s %s", w.Host, w.Port, w.Address))
		}
	}
	rules = append(rules, "MAP *."+leaks.Suffix+" 127.0.0.1")
	args := []string{"--headless=new", "--no-sandbox", "--no-first-run", "--user-data-dir=" + dir,
		"--ignore-certificate-errors-spki-list=" + canaries.SPKI(),
		"--host-resolver-rules=" + strings.Join(rules, ",")}
	cmd := exec.Command(path, slices.Concat(args, more, []string{page})...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	said = new(testnet.Buffer)
	cmd.Stderr, cmd.SysProcAttr = said, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return said, func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		eventually(t, "the folder of the bare browser goes", enough, func() bool { return os.RemoveAll(dir) == nil })
	}
}

// A browser without any protection fails: each canary can be hit. Channels that the network or a headless Chrome
// decides are left out.
//
// On a busy machine Chromium's network service often crashes on this page and loses its requests. Then, and only
// then, the test tries again.
func TestLeakPageSeesAnOpenBrowser(t *testing.T) {
	const most = 8
	for try := 1; ; try++ {
		canaries, crashed, err := openBrowsers(t)
		if passed := wronglyPassed(canaries); crashed && try < most && (err != nil || len(passed) > 0) {
			t.Logf("once more: the network service crashed, %v, and these passed: %v", err, passed)
			continue
		}
		if err != nil {
			t.Errorf("the pages did not report: %v", err)
		}
		wantSeen(t, canaries)
		return
	}
}

// openBrowsers opens the pages in browsers that nothing keeps in, until they have reported.
func openBrowsers(t *testing.T) (canaries *leaks.Test, crashed bool, err error) {
	t.Helper()
	if canaries, err = leaks.Open(leaks.Options{}); err != nil {
		t.Fatal(err)
	}
	defer canaries.Close()
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	var said []*testnet.Buffer
	for _, page := range canaries.Pages() {
		b, end := bareBrowser(t, canaries, page)
		defer end()
		said = append(said, b)
	}
	err = canaries.Wait(ctx)
	for _, b := range said {
		crashed = crashed || strings.Contains(b.String(), "Network service crashed")
	}
	return canaries, crashed, err
}

// wronglyPassed are the channels that passed in a browser that nothing keeps in.
func wronglyPassed(canaries *leaks.Test) (names []string) {
	for _, c := range canaries.Channels() {
		if c.Passed && !slices.Contains([]string{"favicon", "popup", "metadata"}, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// wantSeen wants that every channel failed, and that no canary answered.
func wantSeen(t *testing.T, canaries *leaks.Test) {
	t.Helper()
	failed := 0
	for _, c := range canaries.Channels() {
		t.Logf("%v %-18s %s", c.Passed, c.Name, c.Seen)
		if !c.Passed {
			failed++
		}
	}
	if passed := wronglyPassed(canaries); len(passed) > 0 {
		t.Errorf("in a browser that nothing keeps in passed %v", passed)
	}
	tries := 0
	for _, r := range canaries.Reports() {
		tries += len(r.Attempts)
		for _, a := range r.Attempts {
			if a.Outcome == "ok" && (a.Group == "loopback" || a.Group == "lan") {
				t.Errorf("a canary answered: %+v", a)
			}
		}
	}
	t.Logf("%d channels failed, %d tries, %d hits of canaries", failed, tries, len(canaries.CanaryHits()))
}
