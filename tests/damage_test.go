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
	s.goesOnWithout(id, "Default/Cookies", garbage)
}

// goesOnWithout starts a damaged profile that no snapshot opens of. What is damaged is kept aside, and all else stays.
func (s *liveServer) goesOnWithout(id, damaged string, was []byte) {
	t := s.t
	t.Helper()
	s.refused("POST", "/profiles/"+id+"/start", map[string]any{"setAside": true}, 422, "validation_failed")
	before := s.snapshots(id)
	run := s.start(id, map[string]any{"repair": true, "setAside": true, "startUrls": []string{s.world.url("/without")}})
	if v := s.world.await(t, "/without", 1); strings.Contains(v.cookie, "kept=") {
		t.Errorf("the cookies are %q", v.cookie)
	}
	warned := run.warning("set_aside")
	found, err := filepath.Glob(filepath.Join(s.data, "profiles", id, "set-aside", "*", damaged))
	if err != nil || len(found) != 1 || !strings.Contains(warned, damaged+": ") ||
		!strings.Contains(warned, strings.TrimSuffix(found[0], "/"+damaged)+",") {
		t.Fatalf("set aside are %q, %v; the start warned %q", found, err, warned)
	}
	if kept, err := os.ReadFile(found[0]); err != nil || string(kept) != string(was) {
		t.Errorf("what was set aside has %d bytes, %v", len(kept), err)
	}
	if all := s.snapshots(id); !slices.Equal(all, before) {
		t.Errorf("snapshots %+v, before %+v", all, before)
	}
	s.stop(id)
	s.awaitSnapshot(id, before[0].ID)
	s.start(id, map[string]any{"startUrls": []string{s.world.url("/again")}})
	s.world.await(t, "/again", 1)
	s.stop(id)
	s.do("POST", "/profiles/"+id+"/rollback", map[string]any{"snapshotId": s.snapshots(id)[0].ID}, 200, nil)
	if now, err := os.ReadFile(found[0]); err != nil || string(now) != string(was) {
		t.Errorf("after a roll-back what was set aside has %d bytes, %v", len(now), err)
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
