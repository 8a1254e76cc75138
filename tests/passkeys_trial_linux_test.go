package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/testnet"
)

// signIn is a trial's way to sign in by Playwright and Puppeteer, each so many times. It returns how many were good.
func (s *liveServer) signIn(dir string, run runView, maker string, each int) (good int) {
	s.t.Helper()
	text, err := json.Marshal(map[string]any{"cdpUrl": run.CdpURL, "wsEndpoint": run.WsEndpoint, "page": passkeyPage, "make": maker,
		"each": each})
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("node", "passkeys.mjs")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "WARREN_RUN="+string(text))
	stop := time.AfterFunc(enough, func() { cmd.Process.Kill() })
	defer stop.Stop()
	code, out, errs := exitOf(s.t, cmd)
	good = strings.Count(out, " in\n")
	if code != 0 || good != 2*each {
		s.t.Errorf("the clients ended with %d:\n%s\n%s", code, out, errs)
	}
	return good
}

// signInByHand lets a person sign in so many times in the live view: it allows each one, and clicks on the page.
func (s *liveServer) signInByHand(site *testnet.RelyingParty, run runView, times int) int {
	s.t.Helper()
	remote := dialCDP(s.t, run.WsEndpoint, nil)
	page := remote.open(passkeyPage)
	remote.until(page, "typeof use === 'function'")
	remote.eval(page, "onclick = () => use().then((said) => { document.title = said }), 0")
	remote.call(page, "Page.bringToFront", nil, nil)
	c := ownBrowser(s.t, filepath.Join(s.dir, "own"))
	view := c.open("about:blank")
	c.call(view, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 1000, "height": 700, "deviceScaleFactor": 1,
		"mobile": false}, nil)
	c.call(view, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	c.call(view, "Page.navigate", map[string]any{"url": run.LiveURL}, nil)
	c.until(view, "document.querySelector('.live-address input')?.value.includes('/passkeys') && !document.querySelector('canvas').hidden")
	before := site.SignIns()
	for i := range times {
		c.press(view, "Allow passkey")
		c.until(view, "document.querySelector('.toasts').innerText.includes('one passkey')")
		for _, kind := range []string{"mousePressed", "mouseReleased"} {
			c.call(view, "Input.dispatchMouseEvent", map[string]any{"type": kind, "x": 500, "y": 400, "button": "left",
				"clickCount": 1}, nil)
		}
		eventually(s.t, "the site lets the person in", enough, func() bool { return site.SignIns() == before+i+1 })
	}
	return site.SignIns() - before
}

// killsAfter makes a passkey and kills browser and run process the moment that the site has it. It reports whether the passkey is kept.
func (s *liveServer) killsAfter(site *testnet.RelyingParty, id, user string) bool {
	s.t.Helper()
	run := s.start(id, nil)
	pids := []int{s.pidOfShim(), run.PID}
	c := dialCDP(s.t, run.WsEndpoint, nil)
	page := c.open(passkeyPage)
	c.until(page, "typeof use === 'function'")
	c.call(page, "Page.bringToFront", nil, nil) // a page behind another one may not ask
	killed := make(chan error, 1)
	site.OnMade(func() {
		var all error
		for _, pid := range pids {
			all = errors.Join(all, syscall.Kill(pid, syscall.SIGKILL))
		}
		killed <- all
	})
	_, err := c.try(page, "Runtime.evaluate", map[string]any{"expression": fmt.Sprintf("make(%q)", user), "awaitPromise": true})
	select {
	case fault := <-killed: // which ends the call too
		if fault != nil {
			s.t.Fatal(fault)
		}
	case <-time.After(enough):
		s.t.Fatalf("the site has got no passkey: %v", err)
	}
	eventually(s.t, "the run has ended", enough, func() bool { return s.get(id).Status != "running" })
	for _, one := range s.passkeys(id) {
		if one.UserName == user {
			return true
		}
	}
	return false
}

// TestHundredSignIns: a passkey signs in 100 times of 100 by Playwright, Puppeteer and a person in the live view, over restarts, in a clone
// and after an export and import. A passkey that the site knows is there after a kill at that moment.
func TestHundredSignIns(t *testing.T) {
	testnet.Long(t)
	g := newTestbed(t)
	dir := nodeClients(t)
	site, s := g.passkeySite()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil), "passkeys": "auto"})
	run := s.start(id, nil)
	good := s.signIn(dir, run, "ann", 13)
	s.stop(id)
	good += s.signIn(dir, s.start(id, nil), "", 10)
	s.stop(id)
	var clone struct{ ID string }
	s.do("POST", "/profiles/"+id+"/clone", map[string]any{"withData": true}, 201, &clone)
	good += s.signIn(dir, s.start(clone.ID, nil), "", 10)
	s.stop(clone.ID)
	const passphrase = "correct horse"
	archive := s.file("GET", "/profiles/"+clone.ID+"/export", nil, passphrase, 200)
	var made struct{ Profiles []struct{ ID string } }
	reply{201, s.file("POST", "/profiles/import", archive, passphrase, 201)}.want(t, "import", 201, &made)
	twin := made.Profiles[0].ID
	good += s.signIn(dir, s.start(twin, nil), "", 12)
	s.stop(twin)
	s.do("PATCH", "/profiles/"+twin, map[string]any{"passkeys": "ask"}, 200, nil)
	good += s.signInByHand(site, s.start(twin, nil), 10)
	s.stop(twin)
	t.Logf("%d of 100 sign-ins were good", good)
	if good != 100 {
		t.Error("want all of them")
	}
	const kills = 5
	kept := 0
	for i := range kills {
		if s.killsAfter(site, id, fmt.Sprint("killed", i)) {
			kept++
		}
	}
	t.Logf("%d of %d passkeys are there after a kill", kept, kills)
	if kept != kills {
		t.Error("want all of them")
	}
}
