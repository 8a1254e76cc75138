package tests

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"warren/testnet"
)

// fullState is a storageState with what is easily lost. Its cookies are of the host alone, of a partition, of the browser's session, and
// with an expiry below the second. Its records have values that JSON has not.
const fullState = `{"cookies":[
 {"name":"own","value":"1","domain":"SITE","path":"/","expires":-1,"httpOnly":true,"secure":false,"sameSite":"Lax"},
 {"name":"all","value":"a=b","domain":".shop.example","path":"/p","expires":EXPIRES.125,"httpOnly":false,"secure":true,"sameSite":"None"},
 {"name":"__Host-id","value":"","domain":"shop.example","path":"/","expires":EXPIRES,"httpOnly":false,"secure":true,"sameSite":"Strict"},
 {"name":"chips","value":"c","domain":"cdn.example","path":"/","expires":-1,"httpOnly":false,"secure":true,"sameSite":"None",
  "partitionKey":"https://shop.example","_crHasCrossSiteAncestor":true}],
"origins":[{"origin":"https://shop.example","localStorage":[{"name":"half","value":"\ud800 é"}],
  "indexedDB":[{"name":"db","version":2,"stores":[{"name":"s","autoIncrement":false,"records":[
   {"key":1,"valueEncoded":{"d":"2026-01-02T03:04:05.678Z"}},{"keyEncoded":{"ab":{"b":"AQI="}},"value":{"n":[1,null]}}],
   "indexes":[{"name":"i","keyPath":"n","multiEntry":true,"unique":false}]}]}]},
 {"origin":"http://SITE:8080","localStorage":[{"name":"a","value":"1"}]}]}`

// stateView is the storageState of a profile.
type stateView struct {
	Cookies []map[string]any  `json:"cookies"`
	Origins []json.RawMessage `json:"origins"`
}

// state reads a profile's storageState.
func (s *liveServer) state(id string) string {
	s.t.Helper()
	var v stateView
	s.do("GET", "/profiles/"+id+"/storage-state?indexedDB=true", nil, 200, &v)
	slices.SortFunc(v.Cookies, func(a, b map[string]any) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
	text, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// TestStateThereAndBack: a state written into a profile that does not run is what its pages have, and what comes out of it, running or not,
// and goes into another profile. Nothing leaves while it does not run.
func TestStateThereAndBack(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	expires := strconv.FormatInt(time.Now().AddDate(0, 0, 300).Unix(), 10) // Chrome keeps none longer than 400 days
	text := strings.NewReplacer("SITE", testnet.LocalSite, "EXPIRES", expires).Replace(fullState)
	var done struct {
		Taken   int
		Refused []any
		Failed  []any
	}
	s.do("PUT", "/profiles/"+id+"/storage-state", json.RawMessage(text), 200, &done)
	if done.Taken != 4 || len(done.Refused)+len(done.Failed) > 0 {
		t.Errorf("%+v", done)
	}
	before := s.state(id)
	if !strings.Contains(before, `"_crHasCrossSiteAncestor":true`) || !strings.Contains(before, expires+".125") ||
		!strings.Contains(before, `\ud800`) || !strings.Contains(before, "2026-01-02T03:04:05.678Z") ||
		strings.Count(before, `"expires":-1`) != 2 {
		t.Errorf("the state is\n%s", before)
	}
	var runs struct {
		Data []struct {
			Offline bool
			Status  string
		}
	}
	s.do("GET", "/profiles/"+id+"/runs", nil, 200, &runs)
	if len(runs.Data) != 2 || !runs.Data[0].Offline || runs.Data[0].Status != "stopped" {
		t.Errorf("the history has %+v", runs)
	}
	if p := s.get(id); p.Status != "stopped" {
		t.Errorf("the profile is %s", p.Status)
	}
	if n := len(s.world.paths()); n > 0 {
		t.Errorf("the site was asked for %v", s.world.paths())
	}

	run := s.start(id, map[string]any{"startUrls": []string{s.world.url("/first")}})
	if v := s.world.await(t, "/first", 1); v.cookie != "own=1" {
		t.Errorf("the page sends %q", v.cookie)
	}
	if now := s.state(id); now != before {
		t.Errorf("while it runs the state is\n%s\nwant\n%s", now, before)
	}
	more := `[{"name":"more","value":"2","domain":"` + testnet.LocalSite + `","path":"/"}]`
	s.do("PUT", "/profiles/"+id+"/cookies", json.RawMessage(more), 200, nil)
	dialCDP(t, run.WsEndpoint, nil).open(s.world.url("/second"))
	if v := s.world.await(t, "/second", 1); v.cookie != "own=1; more=2" {
		t.Errorf("the page sends %q", v.cookie)
	}
	s.stop(id)
	s.do("DELETE", "/profiles/"+id+"/cookies?domain="+testnet.LocalSite, nil, 204, nil)
	s.do("PUT", "/profiles/"+id+"/cookies", json.RawMessage(strings.Replace(more, "more", "own", 1)), 200, nil)

	other := s.profile(nil)
	was := s.state(id)
	s.do("PUT", "/profiles/"+other+"/storage-state", json.RawMessage(was), 200, nil)
	if now := s.state(other); now != was {
		t.Errorf("another profile has\n%s\nwant\n%s", now, was)
	}
}
