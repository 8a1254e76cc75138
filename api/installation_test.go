package api

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/runs"
	"warren/testnet"
)

// installed returns what lies in the folder of installed browsers, also what is unfinished.
func (a *testAPI) installed(t testing.TB) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(a.dir, "browsers"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func (a *testAPI) install(t testing.TB, version string) *answer {
	t.Helper()
	return a.do(t, "POST", "/browsers", map[string]any{"version": version})
}

// lastInstallation waits until the installation has ended.
func (a *testAPI) lastInstallation(t testing.TB) (last *answer) {
	t.Helper()
	waitFor(t, "the installation's end", func() bool {
		last = a.do(t, "GET", "/browsers/installation", nil).want(t, 200)
		return last.at("endedAt") != nil
	})
	return last
}

// TestInstallBrowser: an administrator installs a build by its version alone, one at a time, and sees how far it is. Others neither
// install nor hear of it.
func TestInstallBrowser(t *testing.T) {
	t.Parallel()
	rest := make(chan struct{})
	mirror := testnet.ServeBuilds(t, testnet.Build{Version: "131.0.6778.204", Rest: rest}, testnet.Build{Version: "131.0.6778.9"})
	a := newAPI(t, func(c *setup) { c.BrowserMirror = mirror })
	reader, _ := a.newKey(t, "read,run,write,files,secrets")
	limited, _ := a.newKey(t, "admin", "a")
	admin, _ := a.newKey(t, "admin")
	hears, others := a.listen(t, admin), []*eventReader{a.listen(t, reader), a.listen(t, limited)}
	for _, key := range []string{reader, limited} {
		a.as(key).do(t, "POST", "/browsers", `{"version":"131"}`).refused(t, 403, "forbidden")
		a.as(key).do(t, "GET", "/browsers/installation", nil).refused(t, 403, "forbidden")
		a.as(key).do(t, "DELETE", "/browsers/installation", nil).refused(t, 403, "forbidden")
	}
	for _, method := range []string{"GET", "DELETE"} {
		a.do(t, method, "/browsers/installation", nil).refused(t, 404, "installation_not_found")
	}
	for _, wrong := range []string{"", "newest", "../131", "131.0", "http://127.0.0.1/x.zip", "/bin/sh"} {
		a.install(t, wrong).invalid(t, "body.version")
	}
	a.do(t, "POST", "/browsers", `{"version":"131","mirror":"http://127.0.0.1"}`).invalid(t, "body.mirror")
	unlock, err := runs.LockBrowsers(t.Context(), a.dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	a.install(t, "131").refused(t, 409, "browsers_busy") // a command is at work
	unlock()

	began := a.install(t, "131").want(t, 202)
	if at := began.header.Get("Location"); at != "/api/v1/browsers/installation" || began.text("status") != "running" {
		t.Errorf("at %q: %s", at, began)
	}
	half := 0
	waitFor(t, "half of the archive", func() bool {
		now := a.do(t, "GET", "/browsers/installation", nil).want(t, 200)
		done, _ := now.at("doneBytes").(float64)
		all, _ := now.at("totalBytes").(float64)
		half = int(all) / 2
		return now.text("step") == "downloading" && int(done) == half && half > 0
	})
	a.install(t, "131.0.6778.9").refused(t, 409, "browsers_busy")
	if _, err := runs.LockBrowsers(t.Context(), a.dir, 0); err == nil {
		t.Error("a command may work on the browsers meanwhile")
	}
	a.do(t, "GET", "/browsers", nil).want(t, 200)
	hears.says(t, fmt.Sprintf(`"doneBytes":%d,`, half))
	close(rest)
	told := ""
	for _, e := range hears.until(t, "browser.installed") {
		if step := fmt.Sprint(e.event, " ", e.data.Data["step"], " "); !strings.HasSuffix(told, step) {
			told += step
		}
	}
	if told != "browser.progress looking browser.progress downloading browser.progress unpacking browser.progress checking "+
		"browser.installed checking " {
		t.Errorf("told %s", told)
	}
	list := string(a.do(t, "GET", "/browsers", nil).want(t, 200).body) // at once, though lists are kept for ten seconds
	program := a.lastInstallation(t).text("browser.path")
	if !strings.Contains(list, program) || !strings.Contains(list, `"installed"`) {
		t.Errorf("%s is not among %s", program, list)
	}
	a.install(t, "131.0.6778.204").want(t, 202).equal(t, "status", "done") // it is there already
	a.do(t, "GET", "/audit?result=ok&action=browser.install", nil).want(t, 200).equal(t, "total", 2)
	a.profile(t, "workspaceId", "a")
	for _, r := range others {
		if r.says(t, "profile.created"); strings.Contains(r.all(), "browser.") {
			t.Errorf("another key hears of it: %s", r.all())
		}
	}
}

// TestInstallBrowserOfServers: a browser counts for the choice of a server as soon as its installation is done, at every server.
func TestInstallBrowserOfServers(t *testing.T) {
	t.Parallel()
	mirror := testnet.ServeBuilds(t, testnet.Build{Version: "131.0.6778.204"})
	both := newServers(t, testnet.Postgres(t), 2, func(c *setup) { c.BrowserMirror = mirror })
	awaitBrowsers(t, both[0])
	id := both[0].profile(t, "browserVersion", "131")
	both[1].install(t, "131").want(t, 202)
	both[1].lastInstallation(t)
	for i := range 8 { // without the browser each server is as good as the other
		r := both[i%2].do(t, "POST", "/profiles/"+id+"/start", `{"dryRun":true}`).want(t, 200)
		if !strings.Contains(string(r.body), filepath.Join(both[1].dir, "profiles", id)) {
			t.Errorf("it would run at the other server: %s", r)
		}
	}
}

// TestInstallationFails: what failed, was cancelled or ended with the server says why, and nothing of it stays. The mirror's secrets are
// not told.
func TestInstallationFails(t *testing.T) {
	t.Parallel()
	mirror := testnet.ServeBuilds(t, testnet.Build{Version: "132.0.1.1", Tampered: true},
		testnet.Build{Version: "133.0.1.1", Missing: true}, testnet.Build{Version: "134.0.1.1", Rest: make(chan struct{})})
	a := newAPI(t, func(c *setup) { c.BrowserMirror = strings.Replace(mirror, "//", "//hush:hush@", 1) + "/?token=hush" })
	hears := a.listen(t, a.key)
	a.install(t, "134.0.1.1").want(t, 202).equal(t, "status", "running")
	a.do(t, "DELETE", "/browsers/installation", nil).want(t, 204)
	a.do(t, "GET", "/browsers/installation", nil).want(t, 200).equal(t, "error.code", "installation_cancelled")
	for version, code := range map[string]string{"132": "download_untrusted", "133": "mirror_unreachable", "98": "build_not_found"} {
		a.install(t, version).want(t, 202)
		failed := a.lastInstallation(t)
		failed.equal(t, "version", version)
		failed.equal(t, "status", "failed")
		failed.equal(t, "error.code", code)
		hears.says(t, fmt.Sprintf(`"code":%q`, code))
		if text := string(failed.body); strings.Contains(text, "hush") || !strings.Contains(text, "127.0.0.1") && version != "98" {
			t.Errorf("it tells a secret, or not where it failed: %s", text)
		}
	}
	if got := a.installed(t); got != "" {
		t.Errorf("there is %q", got)
	}
	a.install(t, "134").want(t, 202).equal(t, "status", "running")
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	if got := a.installed(t); got != "" {
		t.Errorf("after the server's end: %q", got)
	}
}

// TestInstallOff: an operator turns installations over the API off.
func TestInstallOff(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *setup) { c.BrowserMirror = runs.InstallOff })
	a.do(t, "POST", "/browsers", `{"version":"131"}`).refused(t, 403, "installation_not_allowed")
	a.do(t, "GET", "/browsers/installation", nil).refused(t, 403, "installation_not_allowed")
}
