package tests

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"warren/testnet"
)

// shownView is what a client reads of what a run's pages see.
type shownView struct {
	Run *struct {
		Effective struct {
			Timezone    string
			Locale      []string
			Geolocation any
		}
		Pending []string
		Proxy   struct{ Country *string }
	}
}

// explainedView is what a client reads of an explanation.
type explainedView struct {
	Status    string
	Pending   []string
	Effective struct {
		Timezone, Locale, Geolocation struct {
			Value  any
			Source string
		}
	}
}

// zoneOfPages is the time zone that a page says which was open before.
func (s *liveServer) zoneOfPages(id string) string {
	s.t.Helper()
	c := dialCDP(s.t, s.start(id, nil).WsEndpoint, nil)
	_, pages := c.pages()
	return c.eval(c.attach(pages[0]), "Intl.DateTimeFormat().resolvedOptions().timeZone")
}

// speaks judges the languages of a page that was open before, those that a new one is asked for with, and those that the run shows.
func (s *liveServer) speaks(when string, v shownView, id, languages, accepts string) {
	s.t.Helper()
	c := dialCDP(s.t, s.start(id, nil).WsEndpoint, nil)
	_, pages := c.pages()
	shown := c.eval(c.attach(pages[0]), "navigator.languages.join()")
	const address = "http://" + testnet.LocalSite + "/languages"
	page := c.open(address)
	c.awaitURL(page, address)
	accepted := c.eval(page, "document.body.innerText")
	if shown != languages || accepted != accepts || strings.Join(v.Run.Effective.Locale, ",") != languages {
		s.t.Errorf("%s pages say %q and are asked for in %q, and the run %+v", when, shown, accepted, v.Run)
	}
}

// changed changes members of a running profile, and wants the answer to name what waits for the next start. On a busy
// machine Chrome may take too long; then it asks again, as the next change of a profile does.
func (s *liveServer) changed(id string, members map[string]any, pending string) (v shownView) {
	s.t.Helper()
	eventually(s.t, "Chrome takes the languages", enough, func() bool {
		v = shownView{}
		s.do("PUT", "/profiles/"+id, members, 200, &v)
		return v.Run == nil || strings.Contains(pending, "locale") || !slices.Contains(v.Run.Pending, "locale")
	})
	if v.Run == nil || fmt.Sprint(v.Run.Pending) != pending {
		s.t.Fatalf("after %v: %+v, want pending %s", members, v.Run, pending)
	}
	return v
}

// A running profile tells its pages a new time zone, position and languages at once. It does so too when they follow
// another exit, whose check takes longer than the change waits. The other settings wait and are named, also by the
// next server.
func TestRunningProfileChanges(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	other := testnet.NewLocalProxy(t, g.world.site.Listener.Addr().String())
	slow := make(chan struct{})
	answer := sync.OnceFunc(func() { close(slow) })
	t.Cleanup(answer)
	g.world.comesOut(func() string { return `"country":"DE","timezone":"Europe/Berlin","loc":"52.5,13.4"` })
	s := g.serve()
	mine, theirs := s.addProxy(nil), s.addProxy(map[string]any{"port": other.Port(), "password": other.Password})
	id := s.profile(map[string]any{"proxyId": mine})
	s.start(id, nil)
	var e explainedView
	if s.do("GET", "/profiles/"+id+"/explain", nil, 200, &e); e.Effective.Timezone.Source != "exit" ||
		e.Effective.Locale.Source != "exit" || e.Effective.Geolocation.Source != "exit" {
		t.Errorf("the exit of a new proxy was not waited for: %+v", e.Effective)
	}
	put := func(members map[string]any, pending string) shownView {
		t.Helper()
		return s.changed(id, members, pending)
	}
	put(map[string]any{"notes": "nothing to tell a page"}, "[]")
	g.world.comesOut(func() string {
		<-slow
		return `"country":"JP","timezone":"Asia/Tokyo","loc":"35.7,139.7"`
	})
	put(map[string]any{"proxyId": theirs}, "[geolocation locale timezone]") // its exit is not known in time
	answer()
	var v shownView
	eventually(t, "the new exit is followed", enough, func() bool {
		s.do("GET", "/profiles/"+id, nil, 200, &v)
		return fmt.Sprint(v.Run.Pending) == "[]"
	})
	s.speaks("behind an exit in Japan", v, id, "ja,en-US,en", "ja,en-US;q=0.9,en;q=0.8")
	if zone := s.zoneOfPages(id); zone != "Asia/Tokyo" || v.Run.Effective.Timezone != zone || v.Run.Proxy.Country == nil ||
		*v.Run.Proxy.Country != "JP" {
		t.Errorf("behind an exit in Tokyo pages say %s, and the run %+v", zone, v.Run)
	}
	v = put(map[string]any{"timezone": "Europe/Paris", "geolocation": "off", "webrtc": "off", "locale": []string{"fr-FR"}}, "[webrtc]")
	s.speaks("with a language of its own", v, id, "fr-FR", "fr-FR")
	if zone := s.zoneOfPages(id); zone != "Europe/Paris" || v.Run.Effective.Timezone != zone || v.Run.Effective.Geolocation != "off" {
		t.Errorf("with a zone of its own pages say %s, and the run %+v", zone, v.Run)
	}
	s.kill()
	s = g.serve()
	e = explainedView{}
	s.do("GET", "/profiles/"+id+"/explain", nil, 200, &e)
	if e.Status != "running" || fmt.Sprint(e.Pending) != "[webrtc]" || e.Effective.Timezone.Value != "Europe/Paris" ||
		e.Effective.Timezone.Source != "profile" || e.Effective.Geolocation.Value != "off" ||
		fmt.Sprint(e.Effective.Locale) != "{[fr-FR] profile}" {
		t.Errorf("the next server explains %+v", e)
	}
	put(map[string]any{"locale": "system"}, "[locale webrtc]") // this machine's languages a browser takes at its start
	v = put(map[string]any{"locale": []string{"fr-CA", "fr"}}, "[webrtc]")
	s.speaks("told by the next server", v, id, "fr-CA,fr", "fr-CA,fr;q=0.9")
	put(map[string]any{"timezone": "America/New_York", "webrtc": nil}, "[]")
	if zone := s.zoneOfPages(id); zone != "America/New_York" {
		t.Errorf("told by the next server pages say %s", zone)
	}
	s.stop(id)
	if run := s.start(id, nil); !run.warned("identity_mismatch") { // New York and French, behind Tokyo
		t.Errorf("a start that contradicts its exit warns of %v", run.Warnings)
	}
	put(map[string]any{"name": "what waited is there"}, "[]")
	s.do("PUT", "/profiles/"+id, map[string]any{"consistency": "block"}, 200, nil)
	if p := s.refused("POST", "/profiles/"+id+"/restart", nil, 422, "identity_mismatch"); len(p.Errors) != 2 ||
		s.get(id).Status != "running" {
		t.Errorf("a refused restart names %+v, and the profile is %s", p.Errors, s.get(id).Status)
	}
	s.stop(id)
	if p := s.refused("POST", "/profiles/"+id+"/start", nil, 422, "identity_mismatch"); len(p.Errors) != 2 ||
		s.get(id).Status != "stopped" {
		t.Errorf("a refused start names %+v, and the profile is %s", p.Errors, s.get(id).Status)
	}
}
