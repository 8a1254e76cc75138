package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"warren/testnet"
)

// passkeySite serves a site with passkeys behind the testbed's proxy, with TLS, as WebAuthn demands it. It returns the server with a
// browser that takes the site's certificate.
func (g *testbed) passkeySite() (*testnet.RelyingParty, *liveServer) {
	g.t.Helper()
	mux := http.NewServeMux()
	site := testnet.NewRelyingParty(mux)
	server := httptest.NewTLSServer(mux)
	g.t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	g.proxy.Secure = server.Listener.Addr().String()
	browser := filepath.Join(g.dir, "browser")
	testnet.WriteProgram(g.t, browser, fmt.Sprintf("#!/bin/sh\nexec %s \"$@\" --ignore-certificate-errors-spki-list=%s\n",
		needBrowser(g.t), testnet.KeyHash(server)))
	return site, g.serve("--browser", browser)
}

const passkeyPage = "https://" + testnet.LocalSite + "/passkeys"

// passkeyView is a passkey in a list.
type passkeyView struct{ ID, Site, UserName string }

func (s *liveServer) passkeys(id string) []passkeyView {
	s.t.Helper()
	var list struct{ Data []passkeyView }
	s.do("GET", "/profiles/"+id+"/passkeys", nil, 200, &list)
	return list.Data
}

// atSite opens the site's page in a run, and returns what it says to an expression.
func (s *liveServer) atSite(run runView, expression string) string {
	s.t.Helper()
	c := dialCDP(s.t, run.WsEndpoint, nil)
	defer c.ws.CloseNow()
	page := c.open(passkeyPage)
	c.until(page, "typeof use === 'function'")
	c.call(page, "Page.bringToFront", nil, nil) // a page behind another one may not ask
	return c.eval(page, expression)
}

// signsIn starts a profile and wants it signed in with its passkey.
func (s *liveServer) signsIn(id string) runView {
	s.t.Helper()
	run := s.start(id, nil)
	if got := s.atSite(run, "use()"); got != "in" {
		s.t.Errorf("the site says %q", got)
	}
	return run
}

// TestPasskeysOfAProfile: a passkey that a page makes is there after a kill, and in a clone. A storageState brings it to another profile,
// and an archive to another server. It goes when somebody deletes it. A file that cannot be opened is never replaced by an empty one.
func TestPasskeysOfAProfile(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	_, s := g.passkeySite()
	proxy := s.addProxy(nil)
	id := s.profile(map[string]any{"proxyId": proxy, "passkeys": "auto"})
	if all := s.passkeys(id); len(all) > 0 {
		t.Errorf("a profile that has never run has %+v", all)
	}
	run := s.start(id, nil)
	if got := s.atSite(run, "make('ann')"); got != "made" {
		t.Fatalf("the site says %q", got)
	}
	eventually(t, "the passkey is kept", enough, func() bool { return len(s.passkeys(id)) == 1 })
	if one := s.passkeys(id)[0]; one.Site != testnet.LocalSite || one.UserName != "ann" {
		t.Errorf("the list has %+v", one)
	}
	for _, pid := range []int{s.pidOfShim(), run.PID} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	s.signsIn(id)
	s.stop(id)

	var clone struct{ ID string }
	s.do("POST", "/profiles/"+id+"/clone", map[string]any{"withData": true}, 201, &clone)
	if all := s.passkeys(clone.ID); len(all) != 1 || exists(filepath.Join(g.data, "profiles", clone.ID)) {
		t.Errorf("a clone that is not unpacked has %+v", all)
	}
	s.signsIn(clone.ID)
	var file json.RawMessage
	s.do("GET", "/profiles/"+clone.ID+"/storage-state?indexedDB=false", nil, 200, &file)
	s.stop(clone.ID)
	if !strings.Contains(string(file), `"privateKey"`) || strings.Contains(s.log.String(), "privateKey") {
		t.Errorf("the storageState is %s", file)
	}

	other := s.profile(map[string]any{"proxyId": proxy})
	var done struct {
		Passkeys, PasskeysRemoved int
		Notices                   []struct{ Code string }
	}
	s.do("PUT", "/profiles/"+other+"/storage-state", file, 200, &done)
	if done.Passkeys != 1 || len(done.Notices) == 0 || done.Notices[len(done.Notices)-1].Code != "passkeys_off" {
		t.Errorf("the write answers %+v", done)
	}
	s.do("PATCH", "/profiles/"+other, map[string]any{"passkeys": "auto"}, 200, nil)
	run = s.signsIn(other)
	kept := s.passkeys(other)
	s.do("DELETE", "/profiles/"+other+"/passkeys/"+kept[0].ID, nil, 204, nil)
	s.refused("DELETE", "/profiles/"+other+"/passkeys/"+kept[0].ID, nil, 404, "passkey_not_found")
	if got := s.atSite(run, "use(1000)"); got != "NotAllowedError" || len(s.passkeys(other)) > 0 {
		t.Errorf("after the deletion the site says %q, and the list has %+v", got, s.passkeys(other))
	}
	s.stop(other)
	s.carriesPasskeys(id)
	s.keepsUnreadable(id)
}

// carriesPasskeys exports a profile, and imports it on another server, which has another secret key.
func (s *liveServer) carriesPasskeys(id string) {
	t := s.t
	t.Helper()
	const passphrase = "correct horse"
	archive := s.file("GET", "/profiles/"+id+"/export", nil, passphrase, 200)
	there := (&testbed{t: t, dir: s.dir, data: filepath.Join(s.dir, "d2"), world: s.world, proxy: s.proxy}).serve()
	var made struct{ Profiles []struct{ ID string } }
	reply{201, there.file("POST", "/profiles/import", archive, passphrase, 201)}.want(t, "import", 201, &made)
	twin := made.Profiles[0].ID
	if all := there.passkeys(twin); len(all) != 1 || all[0] != s.passkeys(id)[0] {
		t.Errorf("there the list has %+v", all)
	}
	there.do("DELETE", "/profiles/"+twin+"/passkeys/"+there.passkeys(twin)[0].ID, nil, 204, nil) // while it does not run
	if all := there.passkeys(twin); len(all) > 0 {
		t.Errorf("there the list has %+v after the deletion", all)
	}
}

// keepsUnreadable damages the file of passkeys. Nothing but a roll-back replaces it.
func (s *liveServer) keepsUnreadable(id string) {
	t := s.t
	t.Helper()
	name := filepath.Join(s.data, "profiles", id, "chrome", "warren-passkeys.sealed")
	garbage := []byte(strings.Repeat("torn", 100))
	if err := os.WriteFile(name, garbage, 0o600); err != nil {
		t.Fatal(err)
	}
	p := s.refused("POST", "/profiles/"+id+"/start", nil, 409, "profile_damaged")
	if len(p.Damaged) != 1 || p.Damaged[0].File != filepath.Base(name) {
		t.Errorf("refused with %+v", p)
	}
	s.refused("GET", "/profiles/"+id+"/passkeys", nil, 409, "passkeys_unreadable")
	s.refused("GET", "/profiles/"+id+"/export?unsealed=true", nil, 409, "passkeys_unreadable")
	s.do("PATCH", "/profiles/"+id, map[string]any{"passkeys": "off"}, 200, nil)
	s.start(id, nil)
	s.stop(id)
	if now, err := os.ReadFile(name); err != nil || string(now) != string(garbage) {
		t.Errorf("the file has changed: %v", err)
	}
}
