package tests

import (
	"fmt"
	"strings"
	"testing"

	"warren/testnet"
)

// proxiedView is what a client reads of a run's proxy.
type proxiedView struct {
	Status string
	Run    *struct {
		Proxy *struct {
			ID       string
			Fallback bool
		}
		Effective struct{ Timezone string }
		Pending   []string
		Warnings  []struct{ Code, Message string }
	}
}

// changedProxyView is what a change of a proxy answers.
type changedProxyView struct {
	Runs []struct {
		ProfileID, RunID string
		Swapped          bool
		Cut              int
		Effective        struct{ Timezone string }
		Pending          []string
	}
}

// way makes another way to the world, which comes out where place says, and saves it checked.
func (s *liveServer) way(place string) (*testnet.LocalProxy, string) {
	s.t.Helper()
	p := testnet.NewLocalProxy(s.t, s.world.site.Listener.Addr().String())
	id := s.addProxy(map[string]any{"port": p.Port(), "password": p.Password})
	s.world.comesOut(func() string { return place })
	var c struct{ OK bool }
	if s.do("POST", "/proxies/"+id+"/check", nil, 200, &c); !c.OK {
		s.t.Fatal("a new proxy does not work")
	}
	return p, id
}

// shows waits until a run shows its proxy and the zone of its exit, which pages must say too.
func (s *liveServer) shows(id, proxy string, fallback bool, zone string, pending []string) {
	s.t.Helper()
	var v proxiedView
	eventually(s.t, "the run shows its proxy and its zone", enough, func() bool {
		s.do("GET", "/profiles/"+id, nil, 200, &v)
		return v.Run != nil && v.Run.Proxy.ID == proxy && v.Run.Proxy.Fallback == fallback && v.Run.Effective.Timezone == zone
	})
	if got := s.zoneOfPages(id); got != zone || fmt.Sprint(v.Run.Pending) != fmt.Sprint(pending) {
		s.t.Errorf("pages say %s, want %s; pending %v", got, zone, v.Run.Pending)
	}
}

// visits opens a page of the world in a run.
func (s *liveServer) visits(id, path string) {
	s.t.Helper()
	c := dialCDP(s.t, s.start(id, nil).WsEndpoint, nil)
	defer c.ws.CloseNow() //nolint:errcheck // the page stays
	c.awaitURL(c.open(s.world.url(path)), s.world.url(path))
	s.world.await(s.t, path, 1)
}

// A browser whose proxy dies goes on through the next one of the same country; pages see nothing of it but its time zone. It goes back
// when that is said, and with every proxy dead nothing gets out.
func TestFallbackOfARun(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	own, first := s.way(`"country":"DE","timezone":"Europe/Berlin"`)
	second, next := s.way(`"country":"DE","timezone":"Europe/Busingen"`)
	foreign, abroad := s.way(`"country":"FR","timezone":"Europe/Paris"`)
	id := s.profile(map[string]any{"proxyId": first, "fallbackProxyIds": []string{abroad, next}})
	if run := s.start(id, nil); !run.warned("fallback_left_out") || run.Proxy.ID != first {
		t.Errorf("the start answers %+v", run)
	}
	var v proxiedView
	shows := func(proxy string, fallback bool, zone string, pending ...string) {
		t.Helper()
		s.shows(id, proxy, fallback, zone, pending)
	}
	visit := func(path string) { t.Helper(); s.visits(id, path) }
	visit("/one")
	shows(first, false, "Europe/Berlin")
	events := s.listen()
	own.Close()
	visit("/two")
	if ev := events.await("run.fallback", "", id); ev.Data.From != first || ev.Data.To != next || ev.Data.Code != "connection_refused" {
		t.Errorf("the event says %+v", ev.Data)
	}
	shows(next, true, "Europe/Busingen")
	s.kill()
	s = g.serve()
	visit("/three")
	shows(next, true, "Europe/Busingen")
	second.Close()
	c := dialCDP(t, s.start(id, nil).WsEndpoint, nil)
	if text := c.eval(c.open(s.world.url("/four")),
		`new Promise(done => setTimeout(() => done(location.href), 1000))`); !strings.HasPrefix(text, "chrome-error:") {
		t.Errorf("with every proxy dead but one abroad, the page is at %s", text)
	}
	if s.do("GET", "/profiles/"+id, nil, 200, &v); v.Run.Proxy.ID != next {
		t.Errorf("at the end of the list it is at %+v", v.Run.Proxy)
	}
	if visits, came := fmt.Sprint(s.world.paths()), foreign.Connections(); strings.Contains(visits, "/four") || came != 0 {
		t.Errorf("the site saw %s, and the proxy abroad has %d connections", visits, came)
	}

	again := testnet.NewLocalProxy(t, s.world.site.Listener.Addr().String())
	s.world.comesOut(func() string { return `"country":"DE","timezone":"Europe/Berlin"` })
	var changed changedProxyView
	s.do("PUT", "/proxies/"+first+"?cut=true", map[string]any{"port": again.Port(), "password": again.Password}, 200, &changed)
	if len(changed.Runs) != 1 || changed.Runs[0].ProfileID != id || changed.Runs[0].Swapped || changed.Runs[0].Cut != 0 {
		t.Errorf("a change of the proxy that is not in use answers %+v", changed)
	}
	s.do("POST", "/profiles/"+id+"/failback", nil, 200, &v.Run)
	if v.Run.Proxy.ID != first || v.Run.Proxy.Fallback {
		t.Errorf("told to go back, the run shows %+v", v.Run.Proxy)
	}
	visit("/five")
	shows(first, false, "Europe/Berlin")
	s.do("PUT", "/profiles/"+id, map[string]any{"fallbackCountry": "any"}, 200, &v)
	for _, w := range v.Run.Warnings {
		if w.Code == "fallback_left_out" {
			t.Errorf("with any country it still warns: %s", w.Message)
		}
	}
	again.Close()
	visit("/six") // abroad comes first in the list
	shows(abroad, true, "Europe/Paris")
	s.stop(id)
	s.refused("POST", "/profiles/"+id+"/failback", nil, 409, "profile_not_running")
}

// A change with cut ends what was opened through the old proxy, and says how much that was; without, connections stay.
func TestCutOfARun(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	mine, theirs := s.addProxyOnce(), ""
	_, theirs = s.way(`"country":"DE","timezone":"Europe/Berlin"`)
	id := s.profile(map[string]any{"proxyId": mine})
	c := dialCDP(t, s.start(id, nil).WsEndpoint, nil)
	c.awaitURL(c.open(s.world.url("/kept")), s.world.url("/kept")) // Chrome keeps its connection for the next page
	// The browser may open others at any time, such as for an icon: what counts is the one that a page came by.
	isGone := func(path string) func() bool { return func() bool { return !s.world.isOpen(path) } }
	var changed changedProxyView
	s.do("PUT", "/proxies/"+mine+"?cut=true", map[string]any{"name": "only its name"}, 200, &changed)
	if len(changed.Runs) != 1 || changed.Runs[0].Swapped || changed.Runs[0].Cut != 0 || !s.world.isOpen("/kept") {
		t.Errorf("a new name answers %+v, and then the connection is open: %v", changed, s.world.isOpen("/kept"))
	}
	s.do("PUT", "/profiles/"+id, map[string]any{"proxyId": theirs}, 200, nil)
	if !s.world.isOpen("/kept") {
		t.Error("without cut the connection is gone")
	}
	s.do("PUT", "/profiles/"+id+"?cut=true", map[string]any{"proxyId": mine}, 200, nil)
	eventually(t, "with cut the connection from before is gone", enough, isGone("/kept"))
	c.awaitURL(c.open(s.world.url("/again")), s.world.url("/again"))
	other := testnet.NewLocalProxy(t, s.world.site.Listener.Addr().String())
	changed = changedProxyView{}
	s.do("PUT", "/proxies/"+mine+"?cut=true", map[string]any{"port": other.Port(), "password": other.Password}, 200, &changed)
	if len(changed.Runs) != 1 || !changed.Runs[0].Swapped || changed.Runs[0].Cut == 0 || len(changed.Runs[0].Pending) != 0 {
		t.Errorf("a new address answers %+v, want some cut", changed)
	}
	eventually(t, "the old connection is gone", enough, isGone("/again"))
	c.awaitURL(c.open(s.world.url("/after")), s.world.url("/after"))
}

// addProxyOnce saves the way to the world the first time, and then gives the same.
func (s *liveServer) addProxyOnce() string {
	s.t.Helper()
	var list struct{ Data []struct{ ID string } }
	s.do("GET", "/proxies", nil, 200, &list)
	if len(list.Data) > 0 {
		return list.Data[0].ID
	}
	return s.addProxy(nil)
}
