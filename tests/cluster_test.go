package tests

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"warren/testnet"
)

// Several servers of one PostgreSQL. Each has a data folder of its own, and any of them answers for every profile.

// cluster starts servers of one database, which is database or a new one. Their pages reach the world of the first.
func cluster(t testing.TB, database string, n int, flags ...string) (all []*liveServer) {
	t.Helper()
	needBrowser(t)
	database = cmp.Or(database, testnet.Postgres(t))
	for i := range n {
		g := newTestbed(t)
		own := append([]string{"--store", database, "--node", string(rune('a' + i)), "--check-url", g.world.url("/ip")}, flags...)
		if i > 0 {
			first := all[0].testbed
			g.world, g.proxy = first.world, first.proxy
			own = append(own, "--secret-key-file", filepath.Join(first.data, "secret.key"))
		}
		all = append(all, g.serve(own...))
	}
	return all
}

// nodeView is a server in the list of all.
type nodeView struct {
	ID, Name, State string
	Self            bool
}

func (s *liveServer) node() (own nodeView) {
	s.t.Helper()
	var all struct{ Data []nodeView }
	s.do("GET", "/nodes", nil, 200, &all)
	for _, n := range all.Data {
		if n.Self {
			own = n
		}
	}
	return own
}

// stateOf returns the state of a server as another one sees it.
func (s *liveServer) stateOf(name string) string {
	s.t.Helper()
	var all struct{ Data []nodeView }
	s.do("GET", "/nodes", nil, 200, &all)
	for _, n := range all.Data {
		if n.Name == name {
			return n.State
		}
	}
	return "none"
}

// works reports whether an operation succeeds.
func (s *liveServer) works(method, path string) bool {
	r, err := s.try(method, path, nil)
	return err == nil && r.status == 200
}

// ownerOf starts a profile, and returns the server that runs it and the others.
func ownerOf(t testing.TB, all []*liveServer, id string) (owner *liveServer, others []*liveServer) {
	t.Helper()
	run := all[0].start(id, nil)
	_, secret, _ := strings.Cut(run.LiveURL, "#")
	at, _, _ := strings.Cut(secret, ".")
	for _, s := range all {
		if s.node().ID == at {
			owner = s
			continue
		}
		others = append(others, s)
	}
	if owner == nil || len(others) != len(all)-1 {
		t.Fatalf("no server is %q", at)
	}
	return owner, others
}

// TestAnyServerAnswers: what needs the browser of a profile goes through any server: clients of CDP, the live view, pictures, a proxy that
// is changed, files, a stop. Addresses that an answer has are those of the server that was asked.
func TestAnyServerAnswers(t *testing.T) {
	t.Parallel()
	all := cluster(t, "", 3)
	id := all[0].profile(map[string]any{"proxyId": all[0].addProxy(nil)})
	owner, others := ownerOf(t, all, id)
	near, far := others[0], others[1]
	for _, s := range all {
		run := s.start(id, nil)
		if !run.Reused || !strings.HasPrefix(run.CdpURL, s.base+"/cdp/") || !strings.HasPrefix(run.LiveURL, s.base+"/live#") {
			t.Errorf("%s answers %s %s", s.base, run.CdpURL, run.LiveURL)
		}
		c := dialCDP(t, run.WsEndpoint, nil)
		path := "/from/" + s.node().Name
		c.awaitURL(c.open(s.world.url(path)), s.world.url(path))
		s.world.await(t, path, 1)
		if p := s.get(id); p.Status != "running" {
			t.Errorf("%s shows %s", s.base, p.Status)
		}
		if r, err := s.try("GET", "/profiles/"+id+"/screenshot", nil); err != nil || r.status != 200 ||
			!strings.HasPrefix(string(r.body), "\x89PNG") {
			t.Errorf("%s has no picture: %d %v", s.base, r.status, err)
		}
	}
	far.watches(far.start(id, nil))
	near.saves(id, near.start(id, nil), "kept.txt", "from elsewhere")
	if status, _, text := far.send("GET", "/profiles/"+id+"/downloads/kept.txt", nil, nil); status != 200 || text != "from elsewhere" {
		t.Errorf("a download by another server: %d %q", status, text)
	}
	var listed struct {
		Data []struct {
			RunID string
			Usage *struct{ Processes *int }
		}
	}
	if far.do("GET", "/runs", nil, 200, &listed); len(listed.Data) != 1 || listed.Data[0].Usage == nil {
		t.Errorf("the runs that another server lists: %+v", listed)
	}
	far.withTicket(liveKey, strings.Replace(far.base, "http", "ws", 1)+apiPrefix+"/profiles/"+id+"/cdp")
	another := testnet.NewLocalProxy(t, owner.world.site.Listener.Addr().String())
	next := near.addProxy(map[string]any{"port": another.Port(), "username": another.User, "password": another.Password})
	near.do("PUT", "/profiles/"+id, map[string]any{"proxyId": next}, 200, nil)
	c := dialCDP(t, far.start(id, nil).WsEndpoint, nil)
	c.awaitURL(c.open(far.world.url("/swapped")), far.world.url("/swapped"))
	var v proxiedView
	if owner.do("GET", "/profiles/"+id, nil, 200, &v); v.Run == nil || v.Run.Proxy.ID != next {
		t.Errorf("the run did not follow its profile's proxy: %+v", v)
	}
	if v := far.stop(id); !v.Stopped {
		t.Errorf("the stop: %+v", v)
	}
	near.do("PUT", "/profiles/"+id+"/cookies", json.RawMessage(`{"cookies":[{"name":"n","value":"v","domain":"`+testnet.LocalSite+
		`","path":"/"}]}`), 200, nil)
	var kept []struct{ Value string }
	far.do("GET", "/profiles/"+id+"/cookies", nil, 200, &kept)
	if len(kept) != 1 || kept[0].Value != "v" {
		t.Errorf("the cookies: %+v", kept)
	}
	far.do("DELETE", "/profiles/"+id+"?permanent=true", nil, 204, nil)
}

// TestThousandStartsOfOne: a thousand starts of one profile by three servers make one browser.
func TestThousandStartsOfOne(t *testing.T) {
	t.Parallel()
	all := cluster(t, "", 3)
	id := all[0].profile(nil)
	var mu sync.Mutex
	runs := map[string]int{}
	fresh := 0
	var asking sync.WaitGroup
	for _, s := range all {
		asking.Go(func() {
			for _, r := range s.many(334, "POST", "/profiles/"+id+"/start", nil) {
				var run runView
				r.want(t, "a start", 200, &run)
				mu.Lock()
				runs[run.RunID]++
				if !run.Reused {
					fresh++
				}
				mu.Unlock()
			}
		})
	}
	asking.Wait()
	if len(runs) != 1 || fresh != 1 {
		t.Errorf("%d starts of %v", fresh, runs)
	}
	all[1].stop(id)
}

// TestManyProfilesOfServers: a batch of one server acts on profiles of all, also as a job, of which every server knows. What one server
// starts while it creates it may run on another.
func TestManyProfilesOfServers(t *testing.T) {
	t.Parallel()
	all := cluster(t, "", 2)
	a, b := all[0], all[1]
	ids := []string{}
	for _, s := range []*liveServer{a, b, a, b} {
		var made struct {
			ID  string
			Run *runView
		}
		s.do("POST", "/profiles", map[string]any{"name": "shop", "start": true, "tags": []string{"many"}}, 201, &made)
		if made.Run == nil || !strings.HasPrefix(made.Run.CdpURL, s.base+"/cdp/") {
			t.Fatalf("the start by a create: %+v", made)
		}
		dialCDP(t, made.Run.WsEndpoint, nil).pages()
		ids = append(ids, made.ID)
	}
	batch := func(s *liveServer, action string) {
		t.Helper()
		var out struct {
			Results []struct {
				ID      string
				Status  int
				Run     *runView
				Profile *profileView
				Error   *problemView
			}
		}
		s.do("POST", "/profiles/batch", map[string]any{"action": action, "ids": ids}, 200, &out)
		for i, r := range out.Results {
			if r.ID != ids[i] || r.Status != 200 || r.Error != nil || (r.Run == nil) != (action == "stop") {
				t.Errorf("%s: %+v, %+v", action, r, r.Error)
			}
		}
	}
	batch(a, "stop")
	batch(b, "start")
	batch(b, "restart")
	var job struct{ ID, Status string }
	b.do("POST", "/profiles/batch", map[string]any{"action": "stop", "filter": map[string]any{"tag": []string{"many"}}}, 202, &job)
	eventually(t, "the job ends", enough, func() bool {
		a.do("GET", "/jobs/"+job.ID, nil, 200, &job)
		return job.Status == "done"
	})
	var jobs struct{ Data []struct{ ID string } }
	if a.do("GET", "/jobs", nil, 200, &jobs); len(jobs.Data) != 1 || jobs.Data[0].ID != job.ID {
		t.Errorf("the jobs: %+v", jobs)
	}
	for _, id := range ids {
		for _, s := range all {
			if p := s.get(id); p.Status != "stopped" || p.LastRun == nil {
				t.Errorf("%s: %+v", s.base, p)
			}
		}
	}
	a.do("POST", "/profiles/batch", map[string]any{"action": "start", "filter": map[string]any{"failedIn": job.ID}}, 202, &job)
}

// TestExtensionOfAnotherServer: a browser loads an extension whose package another server took. A dry run says that it is not here yet.
func TestExtensionOfAnotherServer(t *testing.T) {
	t.Parallel()
	all := cluster(t, "", 2)
	id := all[0].profile(nil)
	owner, others := ownerOf(t, all, id)
	other := others[0]
	owner.stop(id)
	added := other.addExtension(zipped(t, map[string]string{"page.html": "<title>its page</title>",
		"manifest.json": `{"manifest_version": 3, "name": "helper", "version": "1"}`}))
	other.do("PATCH", "/profiles/"+id, map[string]any{"extensions": []any{map[string]any{"id": added.ID}}}, 200, nil)
	if dry := other.start(id, map[string]any{"dryRun": true}); dry.warning("extension_missing") == "" {
		t.Errorf("a dry run warns of %+v", dry.Warnings)
	}
	run := other.start(id, nil)
	if run.warning("extension_missing") != "" {
		t.Errorf("the start warns of %+v", run.Warnings)
	}
	c := dialCDP(t, run.WsEndpoint, nil)
	page := "chrome-extension://" + added.ExtensionID + "/page.html"
	c.awaitURL(c.open(page), page)
	for _, s := range all {
		if _, err := os.Stat(filepath.Join(s.data, "extensions", added.SHA256, "manifest.json")); err != nil {
			t.Error(err)
		}
	}
}

// TestScheduleOfAllServers: a schedule starts profiles of every server, and of none, with its own options. It waits for the end of each.
func TestScheduleOfAllServers(t *testing.T) {
	t.Parallel()
	all := cluster(t, "", 2)
	a, b := all[0], all[1]
	events := a.listen()
	proxied := map[string]any{"proxyId": a.addProxy(nil)}
	ids := []string{a.profile(proxied)}
	owned := map[*liveServer]string{} // a profile of each server
	for len(owned) < 2 {
		id := a.profile(proxied)
		owner, _ := ownerOf(t, all, id)
		owned[owner] = id
		ids = append(ids, id)
	}
	for _, id := range ids[1:] {
		b.stop(id)
	}
	var made, now scheduleView
	b.do("POST", "/schedules", map[string]any{"name": "each second", "everyMs": 1000, "action": "start", "profileIds": ids,
		"startUrls": []string{b.world.url("/scheduled")}, "maxRunMs": 600_000}, 201, &made)
	a.world.await(t, "/scheduled", len(ids))
	for _, id := range ids {
		testnet.Eventually(t, "it runs", func() bool { return a.get(id).Run != nil })
		if a.get(id).Run.ExpiresAt == nil {
			t.Error("the run has no end")
		}
	}
	kept := "" // of the server that acts for the other one
	testnet.Eventually(t, "a server has acted for the other one", func() bool {
		for s, id := range owned {
			if strings.Contains(s.log.String(), "/node/schedules/"+made.ID) {
				kept = id
			}
		}
		return kept != ""
	})
	for _, id := range ids {
		if id != kept {
			b.stop(id)
		}
	}
	b.do("GET", "/schedules/"+made.ID, nil, 200, &made)
	testnet.Eventually(t, "two occurrences are skipped, or another one begins", func() bool {
		b.do("GET", "/schedules/"+made.ID, nil, 200, &now)
		return now.Skipped >= made.Skipped+2 || now.LastRun.DueAt != made.LastRun.DueAt
	})
	if now.LastRun.DueAt != made.LastRun.DueAt || now.LastRun.Status != "running" {
		t.Fatalf("an occurrence does not wait for the run of another server: %+v", now)
	}
	a.do("PUT", "/schedules/"+made.ID, map[string]any{"enabled": false}, 200, nil)
	a.stop(kept)
	events.await("schedule.ended", "", made.ID)
	testnet.Eventually(t, "its last occurrence ends", func() bool {
		b.do("GET", "/schedules/"+made.ID, nil, 200, &now)
		return now.LastRun.Status == "done" && now.LastRun.Done == len(ids)
	})
	for _, id := range ids {
		if p := b.get(id); p.Run != nil || p.Status != "stopped" {
			t.Errorf("the occurrence has ended, and a run goes on: %+v", p)
		}
	}
}

// TestServerIsKilled: while the server of a profile is gone, others list it and change it, and refuse what needs its data. When it is back,
// they pass requests on again.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	all := cluster(t, "", 2, "--orphan-grace", "60s")
	id := all[0].profile(nil)
	owner, others := ownerOf(t, all, id)
	other := others[0]
	run := other.start(id, nil)
	owner.kill()
	p := other.refused("POST", "/profiles/"+id+"/start", nil, 409, "node_unreachable")
	if !strings.Contains(p.Detail, owner.base) {
		t.Errorf("the refusal: %s", p.Detail)
	}
	if status, text := other.ask("GET", run.CdpURL+"/json/version", nil); status != 409 || !strings.Contains(text, "node_unreachable") {
		t.Errorf("a capability: %d %s", status, text)
	}
	other.do("GET", "/profiles/"+id, nil, 200, nil)
	other.do("PUT", "/profiles/"+id, map[string]any{"notes": "changed meanwhile"}, 200, nil)
	if fresh := other.start(other.profile(nil), nil); fresh.RunID == "" {
		t.Error("a new profile does not start")
	}
	back := owner.serve(owner.cmd.Args[slices.Index(owner.cmd.Args, "--store"):]...)
	testnet.Eventually(t, "the other server asks it again", func() bool {
		r, err := other.try("POST", "/profiles/"+id+"/start", nil)
		return err == nil && r.status == 200
	})
	if again := other.start(id, nil); again.RunID != run.RunID || !again.Reused {
		t.Errorf("the run is another one: %+v", again)
	}
	if p := back.get(id); p.Notes != "changed meanwhile" {
		t.Error("the change is lost")
	}
}

// TestQuotaOfServers: the quota of runs of a workspace holds across servers, also for starts at the same moment.
func TestQuotaOfServers(t *testing.T) {
	t.Parallel()
	all := cluster(t, "", 2)
	all[0].do("POST", "/workspaces", map[string]any{"id": "small", "name": "small", "quotas": map[string]any{"running": 2}}, 201, nil)
	var mu sync.Mutex
	answers := map[int]int{}
	var starting sync.WaitGroup
	for i := range 6 {
		s := all[i%2]
		id := s.profile(map[string]any{"workspaceId": "small"})
		starting.Go(func() {
			r, err := s.try("POST", "/profiles/"+id+"/start", nil)
			mu.Lock()
			defer mu.Unlock()
			if answers[r.status]++; err != nil || r.status == 409 && !strings.Contains(string(r.body), "quota_exceeded") {
				t.Errorf("%d %s, %v", r.status, r.body, err)
			}
		})
	}
	starting.Wait()
	var runs struct{ Total int }
	all[0].do("GET", "/runs", nil, 200, &runs)
	if answers[200] != 2 || answers[409] != 4 || runs.Total != 2 {
		t.Errorf("the starts answered %v, and %d run", answers, runs.Total)
	}
	for _, s := range all {
		var w struct{ Use struct{ Running int } }
		if s.do("GET", "/workspaces/small", nil, 200, &w); w.Use.Running != 2 {
			t.Errorf("%s counts %d runs of the workspace", s.base, w.Use.Running)
		}
	}
}
