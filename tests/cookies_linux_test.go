package tests

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// After a power cut that tore Chrome's file of cookies, the next start has the logins of a minute ago, before any page loads. The torn
// file is set aside. A browser that closes leaves nothing of this.
func TestCookiesAfterAPowerCut(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	proxy := s.addProxy(nil)
	id, worse := s.profile(map[string]any{"proxyId": proxy}), s.profile(map[string]any{"proxyId": proxy}) // worse loses its history too
	folder := filepath.Join(g.data, "profiles", id)
	sealed := filepath.Join(folder, "cookies.sealed")
	s.withCookie(id, "in")
	s.withCookie(worse, "in")
	signedIn := time.Now()
	eventually(t, "the cookies are kept", 2*time.Minute, func() bool {
		first, err := os.Stat(sealed)
		second, err2 := os.Stat(filepath.Join(g.data, "profiles", worse, "cookies.sealed"))
		return err == nil && err2 == nil && first.ModTime().After(signedIn) && second.ModTime().After(signedIn)
	})
	if text, err := os.ReadFile(sealed); err != nil || bytes.Contains(text, []byte("kept")) || bytes.Contains(text, []byte("domain")) {
		t.Errorf("what is kept can be read: %.80q, %v", text, err)
	}
	s.kill()
	for _, p := range g.alive() {
		syscall.Kill(p.pid, syscall.SIGKILL) //nolint:errcheck // it may have gone with another one
	}
	eventually(t, "all have gone", enough, func() bool { return len(g.alive()) == 0 })
	garbage := []byte(strings.Repeat("torn", 5000))
	for _, file := range []string{id + "/chrome/Default/Cookies", worse + "/chrome/Default/Cookies", worse + "/chrome/Default/History"} {
		if err := os.WriteFile(filepath.Join(g.data, "profiles", file), garbage, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = g.serve()
	run := s.start(id, map[string]any{"startUrls": []string{s.world.url("/has-in")}})
	if v := s.world.await(t, "/has-in", 1); !strings.Contains(v.cookie, "kept=in") || !strings.Contains(v.cookie, "session=in") {
		t.Errorf("after the power cut the cookies are %q", v.cookie)
	}
	w := run.warning("cookies_restored")
	if !strings.Contains(w, signedIn.UTC().Format("2006-01-02")) || !strings.Contains(w, "Default/Cookies") {
		t.Errorf("the start warned %q", w)
	}
	aside, err := filepath.Glob(filepath.Join(folder, "set-aside", "*", "Default", "Cookies"))
	if err != nil || len(aside) != 1 || !strings.Contains(w, strings.TrimSuffix(aside[0], "/Default/Cookies")) {
		t.Fatalf("set aside are %q, %v; the start warned %q", aside, err, w)
	}
	if text, err := os.ReadFile(aside[0]); err != nil || !bytes.Equal(text, garbage) {
		t.Errorf("the torn file was not set aside as it was: %v", err)
	}
	s.refused("POST", "/profiles/"+worse+"/start", nil, 409, "profile_damaged")
	s.start(worse, map[string]any{"repair": true, "setAside": true, "startUrls": []string{s.world.url("/worse")}})
	if v := s.world.await(t, "/worse", 1); !strings.Contains(v.cookie, "kept=in") {
		t.Errorf("without its damaged files the cookies are %q", v.cookie)
	}
	s.stop(id)
	if exists(sealed) {
		t.Error("a browser that has closed left what was kept of its cookies")
	}
	run = s.start(id, map[string]any{"startUrls": []string{s.world.url("/again")}})
	if v := s.world.await(t, "/again", 1); !strings.Contains(v.cookie, "kept=in") || run.warning("cookies_restored") != "" {
		t.Errorf("the next start has the cookies %q and warns %q", v.cookie, run.warning("cookies_restored"))
	}
}
