package tests

import (
	"testing"
	"time"

	"warren/testnet"
)

// hostView is what is kept of a host that a run asked for.
type hostView struct {
	Host                                     string
	Connections, BytesUp, BytesDown, Refused int64
	FirstAt, LastAt                          time.Time
}

type hostsView struct {
	Logged bool
	Data   []hostView
}

// With logHosts it is known which hosts a run asked for, while it goes on and after; without, nothing is kept.
func TestHostsOfARun(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	run := s.start(id, nil)
	path := "/runs/" + run.RunID + "/hosts"
	hosts := func() (out hostsView) { s.do("GET", path, nil, 200, &out); return out }
	of := func(all hostsView, name string) (out hostView) {
		for _, h := range all.Data {
			if h.Host == name {
				out = h
			}
		}
		return out
	}
	visit := func(path string) {
		c := dialCDP(t, run.WsEndpoint, nil)
		defer c.ws.CloseNow() //nolint:errcheck // the page stays
		c.awaitURL(c.open(s.world.url(path)), s.world.url(path))
	}
	visit("/unseen")
	if got := hosts(); got.Logged || len(got.Data) != 0 {
		t.Errorf("without logHosts there is %+v", got)
	}
	s.do("PUT", "/profiles/"+id, map[string]any{"logHosts": true, "denyHosts": []string{testnet.LocalSite}}, 200, nil)
	c := dialCDP(t, run.WsEndpoint, nil)
	c.open(s.world.url("/refused"))
	eventually(t, "the refusal is kept", enough, func() bool { return of(hosts(), testnet.LocalSite).Refused > 0 })
	s.do("PUT", "/profiles/"+id, map[string]any{"denyHosts": nil}, 200, nil)
	visit("/seen")
	var got hostView
	eventually(t, "the host is kept", enough, func() bool { // it may not answer in time
		got = of(hosts(), testnet.LocalSite)
		return got.Connections > 0
	})
	if got.BytesUp == 0 || got.FirstAt.IsZero() || got.LastAt.Before(got.FirstAt) {
		t.Errorf("the host has %+v", got)
	}
	s.stop(id)
	if after := of(hosts(), testnet.LocalSite); after.Connections < got.Connections || after.BytesDown == 0 ||
		after.Refused != got.Refused || after.FirstAt != got.FirstAt {
		t.Errorf("after the end it has %+v, before %+v", after, got)
	}
	s.do("PUT", "/profiles/"+id, map[string]any{"logHosts": false}, 200, nil)
	run = s.start(id, nil)
	visit("/again")
	s.stop(id)
	var none hostsView
	if s.do("GET", "/runs/"+run.RunID+"/hosts", nil, 200, &none); none.Logged || len(none.Data) != 0 {
		t.Errorf("of a run without logHosts there is %+v", none)
	}
	s.refused("GET", "/runs/nobody/hosts", nil, 404, "run_not_found")
}
