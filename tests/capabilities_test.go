package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"warren/testnet"
)

// Capabilities open one run without a key.

// mostCapabilities is how many a run may have that clients made.
const mostCapabilities = 100

// madeView is what a client reads of a new capability.
type madeView struct {
	ID, ProfileID, RunID, Name string
	Readonly                   bool
	ExpiresAt                  *string
	LiveURL                    string
	CdpURL, WsEndpoint         *string
}

// secret is what the addresses carry.
func (m madeView) secret() string { _, s, _ := strings.Cut(m.LiveURL, "#"); return s }

// lastPart is a secret without the server's id, which it begins with where several servers may be.
func lastPart(secret string) string { return secret[strings.LastIndexByte(secret, '.')+1:] }

// let makes a capability for a profile's run.
func (s *liveServer) let(id string, in any) (m madeView) {
	s.t.Helper()
	s.do("POST", "/profiles/"+id+"/capabilities", in, 201, &m)
	return m
}

// Capabilities open their run until they expire, are revoked, or the run ends. The connections that they opened end
// with them, also under the next server. No answer repeats a secret.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(nil)
	run := s.start(id, nil)
	events := s.listen()
	driver, kept, watcher := s.let(id, nil), s.let(id, map[string]any{"name": "  kept "}),
		s.let(id, map[string]any{"name": "the client in Lyon", "readonly": true, "expiresInMs": 3600000})
	brief := s.let(id, map[string]any{"expiresInMs": 4000})
	for _, m := range []madeView{driver, kept, watcher, brief} {
		events.await("capability.created", "", m.ID)
		if m.ProfileID != id || m.RunID != run.RunID || len(lastPart(m.secret())) != 43 || m.LiveURL != s.base+"/live#"+m.secret() {
			t.Errorf("made %+v", m)
		}
	}
	if kept.Name != "kept" || !watcher.Readonly || watcher.CdpURL != nil || watcher.WsEndpoint != nil || watcher.ExpiresAt == nil ||
		kept.ExpiresAt != nil {
		t.Errorf("made %+v and %+v", kept, watcher)
	}
	if run.LiveURL != s.base+"/live#"+strings.TrimPrefix(run.CdpURL, s.base+"/cdp/") {
		t.Errorf("start's live view is at %q", run.LiveURL)
	}
	expires := dialCDP(t, *brief.WsEndpoint, nil)
	ends, goOn := dialCDP(t, *driver.WsEndpoint, nil), dialCDP(t, *kept.WsEndpoint, nil)
	if _, text := s.ask("GET", *kept.CdpURL+"/json/version", nil); !strings.Contains(text, *kept.WsEndpoint+"/devtools/browser/") {
		t.Errorf("json/version: %s", text)
	}
	s.opensNothing(watcher.secret()) // a page to look at is no way to drive
	s.do("DELETE", "/profiles/"+id+"/capabilities/"+driver.ID, nil, 204, nil)
	events.await("capability.revoked", "", driver.ID)
	for what, c := range map[string]*cdpClient{"revoked": ends, "expired": expires} {
		if err := c.awaitEnd(enough); err != nil {
			t.Errorf("the connection of a capability that is %s goes on", what)
		}
	}
	s.opensNothing(driver.secret(), brief.secret())
	goOn.call("", "Browser.getVersion", nil, nil)
	s.refused("DELETE", "/profiles/"+id+"/capabilities/"+driver.ID, nil, 404, "capability_not_found")
	s.lists(id, watcher.ID, kept.ID)

	// The next server has them too.
	soon := s.let(id, map[string]any{"expiresInMs": 1000})
	s.kill()
	s = g.serve("--listen", strings.TrimPrefix(s.base, "http://"))
	again := dialCDP(t, *kept.WsEndpoint, nil)
	again.call("", "Browser.getVersion", nil, nil)
	s.opensNothing(watcher.secret(), driver.secret())
	eventually(t, "a capability expires that an earlier server made", enough, func() bool {
		status, _ := s.ask("GET", *soon.CdpURL+"/json/version", nil)
		return status == 404
	})
	s.lists(id, watcher.ID, kept.ID)
	s.do("DELETE", "/profiles/"+id+"/capabilities/"+kept.ID, nil, 204, nil)
	if err := again.awaitEnd(enough); err != nil {
		t.Error("the connection of a revoked capability goes on, with the next server")
	}
	s.kill() // and the one after that knows that it was revoked
	s = g.serve("--listen", strings.TrimPrefix(s.base, "http://"))
	s.opensNothing(kept.secret())
	s.lists(id, watcher.ID)

	s.fills(id)
	stays := s.let(id, nil)
	last := dialCDP(t, *stays.WsEndpoint, nil)
	s.stop(id)
	if err := last.awaitEnd(enough); err != nil {
		t.Error("a connection outlives the run")
	}
	s.opensNothing(stays.secret(), watcher.secret())
	s.lists(id)
	s.refused("POST", "/profiles/"+id+"/capabilities", nil, 409, "profile_not_running")
	s.start(id, nil)
	s.opensNothing(stays.secret(), watcher.secret()) // nor does the next run know them
	s.repeatsNone(stays.secret(), watcher.secret(), driver.secret(), strings.TrimPrefix(run.CdpURL, s.base+"/cdp/"))
}

// opensNothing wants secrets to be refused as one that never was.
func (s *liveServer) opensNothing(secrets ...string) {
	s.t.Helper()
	for _, secret := range secrets {
		for _, path := range []string{"", "/json/version", "/json/list", "/devtools/browser/x"} {
			status, text := s.ask("GET", s.base+"/cdp/"+secret+path, map[string]string{"X-Request-Id": "same"})
			never, want := s.ask("GET", s.base+"/cdp/"+strings.Repeat("A", 43)+path, map[string]string{"X-Request-Id": "same"})
			if status != 404 || status != never || text != want {
				s.t.Errorf("a capability that opens nothing at %s: %d %s, want %d %s", path, status, text, never, want)
			}
		}
		if _, status, err := tryCDP(s.t, "ws"+strings.TrimPrefix(s.base, "http")+"/cdp/"+secret, nil); status != 404 {
			s.t.Errorf("its socket: %d %v", status, err)
		}
	}
}

// lists wants the profile's run to have exactly these capabilities, newest first, and tells none of their secrets.
func (s *liveServer) lists(id string, want ...string) {
	s.t.Helper()
	r, err := s.try("GET", "/profiles/"+id+"/capabilities", nil)
	var list struct {
		Data  []map[string]any
		Total int
	}
	if err != nil || r.status != 200 || json.Unmarshal(r.body, &list) != nil {
		s.t.Fatalf("the list: %v %d %s", err, r.status, r.body)
	}
	got := []string{}
	for _, c := range list.Data {
		got = append(got, fmt.Sprint(c["id"]))
		if len(c) != 8 {
			s.t.Errorf("the list tells %v", c)
		}
	}
	if !slices.Equal(got, append([]string{}, want...)) || list.Total != len(want) {
		s.t.Errorf("the list has %v (%d), want %v", got, list.Total, want)
	}
}

// fills makes as many capabilities as a run may have, walks through their list, and leaves room for one.
func (s *liveServer) fills(id string) {
	s.t.Helper()
	path := "/profiles/" + id + "/capabilities"
	var made madeView
	for range mostCapabilities - 1 {
		made = s.let(id, nil)
	}
	s.refused("POST", path, nil, 409, "capability_limit")
	seen, after := map[string]bool{}, ""
	for range 4 {
		var page struct {
			Data    []struct{ ID string }
			Total   int
			HasMore bool
		}
		s.do("GET", path+"?limit=30"+after, nil, 200, &page)
		for _, c := range page.Data {
			seen[c.ID] = true
			after = "&after=" + c.ID
		}
		if page.Total != mostCapabilities || page.HasMore != (len(seen) < mostCapabilities) {
			s.t.Errorf("after %d: total %d, more %v", len(seen), page.Total, page.HasMore)
		}
	}
	if len(seen) != mostCapabilities {
		s.t.Errorf("the walk saw %d", len(seen))
	}
	var page struct{ Data []struct{ ID string } }
	s.do("GET", path+"?limit=30&page=4", nil, 200, &page)
	if len(page.Data) != mostCapabilities-90 {
		s.t.Errorf("the fourth page has %d", len(page.Data))
	}
	s.do("DELETE", path+"/"+made.ID, nil, 204, nil)
}

// repeatsNone wants no log, no file of the data folder and no row of PostgreSQL to hold a secret.
func (s *liveServer) repeatsNone(secrets ...string) {
	s.t.Helper()
	logs, read := append([]byte(s.log.String()), testnet.Dump(s.t, s.data)...), 0
	err := filepath.WalkDir(s.data, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(path, string(filepath.Separator)+"chrome"+string(filepath.Separator)) {
			return nil
		}
		text, err := os.ReadFile(path)
		logs, read = append(logs, text...), read+1
		return err
	})
	if err != nil || read < 5 || !strings.Contains(string(logs), "adopted a run") {
		s.t.Errorf("the search is blind: %d files, %v", read, err)
	}
	for _, secret := range secrets {
		own := lastPart(secret)
		if len(own) != 43 || strings.Contains(string(logs), own) {
			s.t.Errorf("a log or a file holds the secret %q", secret)
		}
	}
}
