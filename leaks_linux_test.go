package main

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
)

// bareBrowser runs Chromium on a page as anybody would, with nothing that keeps it in. What the relay does for names below
// leaks.Suffix, its own rules do.
func bareBrowser(t *testing.T, canaries *leaks.Test, page string, more ...string) {
	t.Helper()
	path := needBrowser(t)
	dir, err := os.MkdirTemp(shortTemp(), "wr-bare")
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, w := range canaries.Ways() {
		if strings.HasPrefix(w.Host, ".") {
			rules = append(rules, fmt.Sprintf("MAP *%s:%s %s", w.Host, w.Port, w.Address))
		}
	}
	rules = append(rules, "MAP *."+leaks.Suffix+" 127.0.0.1")
	args := []string{"--headless=new", "--no-sandbox", "--no-first-run", "--user-data-dir=" + dir, "--ignore-certificate-errors-spki-list=" + canaries.SPKI(),
		"--host-resolver-rules=" + strings.Join(rules, ",")}
	cmd := exec.Command(path, slices.Concat(args, more, []string{page})...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		eventually(t, "the folder of the bare browser goes", enough, func() bool { return os.RemoveAll(dir) == nil })
	})
}

// A browser that nothing keeps in fails: each trap can be hit. What the machine's network or a headless Chrome decides is not asked.
func TestLeakPageSeesAnOpenBrowser(t *testing.T) {
	canaries, err := leaks.Open(leaks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer canaries.Close()
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	for _, page := range canaries.Pages() {
		bareBrowser(t, canaries, page)
	}
	if err := canaries.Wait(ctx); err != nil {
		t.Errorf("the pages did not report: %v", err)
	}
	failed := 0
	for _, c := range canaries.Channels() {
		t.Logf("%v %-18s %s", c.Passed, c.Name, c.Seen)
		if !c.Passed {
			failed++
		} else if !slices.Contains([]string{"favicon", "popup", "metadata"}, c.Name) {
			t.Errorf("%s passed in a browser that nothing keeps in: %s", c.Name, c.Seen)
		}
	}
	tries := 0
	for _, r := range canaries.Reports() {
		tries += len(r.Attempts)
		for _, a := range r.Attempts {
			if a.Outcome == "ok" && (a.Group == "loopback" || a.Group == "lan") {
				t.Errorf("a trap answered: %+v", a)
			}
		}
	}
	t.Logf("%d channels failed, %d tries, %d hits of traps", failed, tries, len(canaries.TrapHits()))
}
