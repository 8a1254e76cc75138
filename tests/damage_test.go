package tests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A profile whose cookies Chrome would throw away is not started. With repair it goes back to the newest snapshot that opens, and what
// was there is kept. Without such a snapshot nothing changes.
func TestDamagedProfile(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	s.withCookie(id, "in")
	s.stop(id)
	whole := s.awaitSnapshot(id, "")
	cookies := filepath.Join(g.data, "profiles", id, "chrome", "Default", "Cookies")
	garbage := []byte(strings.Repeat("torn", 5000))
	damage := func() {
		if err := os.WriteFile(cookies, garbage, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	damage()
	var torn snapshotView
	s.do("POST", "/profiles/"+id+"/snapshots", map[string]any{"name": "torn"}, 201, &torn)
	path := "/profiles/" + id + "/start"
	p := s.refused("POST", path, nil, 409, "profile_damaged")
	if len(p.Damaged) != 1 || p.Damaged[0].File != "Default/Cookies" || p.Damaged[0].Problem == "" || len(p.Snapshots) != 2 ||
		p.Snapshots[0].ID != torn.ID || p.Snapshots[1].ID != whole.ID || !strings.Contains(p.Detail, "repair") {
		t.Errorf("refused with %+v", p)
	}
	if now, err := os.ReadFile(cookies); err != nil || string(now) != string(garbage) {
		t.Errorf("the refused start changed the file: %v", err)
	}
	run := s.start(id, map[string]any{"repair": true, "startUrls": []string{s.world.url("/has-in")}})
	if v := s.world.await(t, "/has-in", 1); !strings.Contains(v.cookie, "kept=in") {
		t.Errorf("after the repair the cookies are %q", v.cookie)
	}
	all := s.snapshots(id)
	if len(all) != 3 || all[0].Reason != "before_rollback" || !all[2].Current || all[2].ID != whole.ID {
		t.Errorf("after the repair there are %+v", all)
	}
	if w := run.warning("repaired"); !strings.Contains(w, "Default/Cookies") || !strings.Contains(w, all[0].ID) ||
		!strings.Contains(w, "passed over: 1.") {
		t.Errorf("the start warned %q", w)
	}
	s.stop(id)
	s.awaitSnapshot(id, all[0].ID)
	for _, one := range s.snapshots(id) {
		if one.Reason == "stop" {
			s.do("DELETE", "/profiles/"+id+"/snapshots/"+one.ID, nil, 204, nil)
		}
	}
	damage()
	before := s.snapshots(id)
	p = s.refused("POST", path, map[string]any{"repair": true}, 409, "profile_damaged")
	if len(p.Damaged) != 1 || len(p.Snapshots) > 0 || !strings.Contains(p.Detail, "no snapshot") || !slices.Equal(s.snapshots(id), before) {
		t.Errorf("without a snapshot that opens: %+v; snapshots %+v", p, s.snapshots(id))
	}
	if now, err := os.ReadFile(cookies); err != nil || string(now) != string(garbage) {
		t.Errorf("the repair that was not possible changed the file: %v", err)
	}
}

// warning returns the message of a start's warning; "" if there is none.
func (r runView) warning(code string) string {
	for _, w := range r.Warnings {
		if w.Code == code {
			return w.Message
		}
	}
	return ""
}
