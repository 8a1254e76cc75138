package api

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"warren/identity"
	"warren/pool"
	"warren/store"
)

// placedRig is a server whose check URL answers the location that the test sets.
type placedRig struct {
	*testAPI
	proxy string // the id of one that works
	place atomic.Value
}

func newPlacedRig(t testing.TB) *placedRig {
	t.Helper()
	r := &placedRig{}
	r.place.Store(`"country":"DE","timezone":"Europe/Berlin","loc":"52.5,13.4"`)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if r.place.Load() == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `{"ip":"203.0.113.7",%s}`, r.place.Load())
	}))
	t.Cleanup(site.Close)
	through := httptest.NewServer(http.HandlerFunc(connectTo(site.Listener.Addr().String())))
	t.Cleanup(through.Close)
	r.testAPI = newAPI(t, func(c *setup) { c.CheckURL = []string{site.URL} })
	r.proxy = r.testAPI.proxy(t, "type", "http", "host", "127.0.0.1", "port", through.Listener.Addr().(*net.TCPAddr).Port)
	return r
}

func (r *placedRig) check(t testing.TB) {
	t.Helper()
	r.do(t, "POST", "/proxies/"+r.proxy+"/check", nil).want(t, 200)
}

// age makes the proxy's last check, and the last known exit, an hour older.
func (r *placedRig) age(t testing.TB) {
	t.Helper()
	c := &pool.Check{}
	text := r.history(t, r.proxy)[0].Result
	if err := json.Unmarshal([]byte(text), c); err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(text, c.CheckedAt.Format(shownTime), c.CheckedAt.Add(-time.Hour).Format(shownTime), 1)
	err := r.srv.store.Write(t.Context(), func(q *store.Queries) error {
		if _, err := q.DeleteProxyChecks(t.Context(), r.proxy); err != nil {
			return err
		}
		if _, err := q.SetProxyCheck(t.Context(), store.SetProxyCheckParams{ID: r.proxy, Revision: 1, Status: "alive",
			LastCheck: old}); err != nil {
			return err
		}
		_, err := q.InsertProxyCheck(t.Context(), store.InsertProxyCheckParams{ProxyID: r.proxy,
			At: c.CheckedAt.Add(-time.Hour).UnixMilli(), Ok: 1, Result: old})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCheckTellsThePlace: a check's answer has what auto needs.
func TestCheckTellsThePlace(t *testing.T) {
	t.Parallel()
	r := newPlacedRig(t)
	c := r.do(t, "POST", "/proxies/"+r.proxy+"/check", nil).want(t, 200)
	for member, want := range map[string]any{"latitude": 52.5, "longitude": 13.4, "locale": "de-DE", "timezoneSource": "exit"} {
		c.equal(t, member, want)
	}
	r.place.Store(`"country":"US"`)
	c = r.do(t, "POST", "/proxies/"+r.proxy+"/check", nil).want(t, 200)
	for member, want := range map[string]any{"latitude": nil, "longitude": nil, "locale": "en-US", "timezone": "America/New_York",
		"timezoneSource": "country"} {
		c.equal(t, member, want)
	}
}

// TestExplain: each setting has its value and source, as far as it is known without a browser.
func TestExplain(t *testing.T) {
	t.Parallel()
	r := newPlacedRig(t)
	direct := r.do(t, "GET", "/profiles/"+r.profile(t)+"/explain", nil).want(t, 200)
	direct.equal(t, "effective.timezone.source", "host")
	direct.equal(t, "effective.geolocation.source", "default")
	direct.equal(t, "exit", nil)
	direct.equal(t, "browser.match", "exact")
	direct.equal(t, "differences.0.code", "webdriver")
	direct.equal(t, "differences.1", nil)

	id := r.profile(t, "proxyId", r.proxy)
	unknown := r.do(t, "GET", "/profiles/"+id+"/explain", nil).want(t, 200)
	unknown.equal(t, "effective.timezone.source", "host")
	unknown.equal(t, "exit.exitIp", nil)
	unknown.equal(t, "findings", []any{})
	r.check(t)
	known := r.do(t, "GET", "/profiles/"+id+"/explain", nil).want(t, 200)
	for member, want := range map[string]any{"status": "stopped", "effective.timezone.value": "Europe/Berlin",
		"effective.timezone.source": "exit",
		"effective.locale.value":    []string{"de-DE", "de", "en-US", "en"}, "effective.geolocation.value.accuracy": 25000,
		"effective.geolocation.source": "exit",
		"effective.os.source":          "default", "effective.browserVersion.source": "default", "effective.browserVersion.value": "156",
		"effective.screen.value": nil,
		"effective.webrtc.value": "proxy_only", "exit.exitIp": "203.0.113.7", "findings": []any{}, "pending": []any{}} {
		known.equal(t, member, want)
	}
	other := "win"
	if identity.HostSystem() == "win" {
		other = "mac"
	}
	r.do(t, "PUT", "/profiles/"+id, map[string]any{"os": other, "browserVersion": "124", "timezone": "Asia/Tokyo",
		"locale":      []string{"ja-JP", "ja"},
		"geolocation": map[string]any{"latitude": 35.7, "longitude": 139.7}, "screen": map[string]any{"width": 1920,
			"height": 1080}}).want(t, 200)
	declared := r.do(t, "GET", "/profiles/"+id+"/explain", nil).want(t, 200)
	for member, want := range map[string]any{"effective.os.value": other, "effective.browserVersion.value": "124",
		"effective.timezone.source":    "profile",
		"effective.screen.value.width": 1920, "effective.geolocation.value.latitude": 35.7, "browser.match": "nearest"} {
		declared.equal(t, member, want)
	}
	var codes []string
	for i := range declared.at("findings").([]any) {
		codes = append(codes, declared.text(fmt.Sprintf("findings.%d.location", i)))
	}
	if !slices.Equal(codes, []string{"profile.timezone", "profile.locale", "profile.geolocation"}) ||
		!strings.Contains(string(declared.body), `"worker_platform"`) {
		t.Errorf("the findings are of %v, in %s", codes, declared)
	}
	r.do(t, "GET", "/profiles/none/explain", nil).refused(t, 404, "profile_not_found")
}

// TestConsistency: a mismatch warns, refuses or is ignored. A dry run shows the requested settings.
func TestConsistency(t *testing.T) {
	t.Parallel()
	r := newPlacedRig(t)
	id := r.profile(t, "proxyId", r.proxy, "timezone", "Asia/Tokyo", "locale", []string{"ja-JP", "ja"})
	dry := func(body string) *answer { return r.do(t, "POST", "/profiles/"+id+"/start", body) }
	const dryRun, looked = `{"dryRun":true}`, `{"dryRun":true,"preflight":"require"}`
	warnings := func(a *answer) (out []string) {
		for i := range a.want(t, 200).at("warnings").([]any) {
			out = append(out, a.text(fmt.Sprintf("warnings.%d.code", i)))
		}
		return out
	}
	count := func(a *answer, code string) (n int) {
		for _, c := range warnings(a) {
			if c == code {
				n++
			}
		}
		return n
	}
	if a := dry(dryRun); count(a, "identity_mismatch") != 0 || count(a, "exit_unknown") != 1 { // geolocation is auto
		t.Errorf("with an unknown exit: %s", a)
	}
	a := dry(looked)
	if count(a, "identity_mismatch") != 2 || count(a, "exit_unknown") != 0 {
		t.Errorf("with a known exit: %s", a)
	}
	for member, want := range map[string]any{"effective.timezone": "Asia/Tokyo", "effective.locale": []string{"ja-JP", "ja"},
		"effective.geolocation.latitude": 52.5,
		"effective.screen":               nil, "effective.os": identity.HostSystem(), "effective.webrtc": "proxy_only"} {
		a.equal(t, member, want)
	}
	r.age(t)
	if a := dry(dryRun); count(a, "exit_old") != 1 || count(a, "identity_mismatch") != 2 {
		t.Errorf("with an old exit: %s", a)
	}
	r.do(t, "PUT", "/profiles/"+id, `{"consistency":"block"}`).want(t, 200)
	for _, body := range []string{dryRun, looked, `{}`} {
		p := dry(body).refused(t, 422, "identity_mismatch")
		if !slices.Equal(p.faults(), []string{"profile.locale", "profile.timezone"}) || !strings.Contains(p.text("errors.1.message"),
			"Europe/Berlin") {
			t.Errorf("%s names %q", p, p.faults())
		}
	}
	r.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, "status", "stopped")
	r.do(t, "PUT", "/profiles/"+id, `{"consistency":"off"}`).want(t, 200)
	if a := dry(dryRun); count(a, "identity_mismatch") != 0 {
		t.Errorf("with off: %s", a)
	}
	// With consistency block an unknown exit is refused too. Without a proxy there is none.
	dead := r.testAPI.proxy(t, "host", "127.0.0.1", "port", closedPort(t))
	r.do(t, "PUT", "/profiles/"+id, map[string]any{"consistency": "block", "proxyId": dead, "timezone": "auto", "locale": nil}).want(t, 200)
	for _, body := range []string{dryRun, `{}`, `{"preflight":"off"}`} {
		if p := dry(body).refused(t, 422, "identity_mismatch"); !slices.Equal(p.faults(), []string{"profile.proxyId"}) {
			t.Errorf("%s names %q", p, p.faults())
		}
	}
	dry(looked).refused(t, 502, "proxy_unreachable")
	if a := dry(`{"dryRun":true,"proxyId":null}`); len(warnings(a)) != 0 {
		t.Errorf("without a proxy: %s", a)
	}
}

// TestIdentityFaultsAtOnce: all faults of the declared settings are in one answer.
func TestIdentityFaultsAtOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id, proxy := a.profile(t), a.proxy(t)
	bad := map[string]any{"os": "amiga", "browserVersion": "1e3", "timezone": "Europe/Berlim", "locale": []string{"de_DE"},
		"geolocation": map[string]any{"latitude": 91, "longitude": 0},
		"webrtc":      "default", "proxyId": proxy, "screen": map[string]any{"width": 100, "height": 1080}, "consistency": "maybe"}
	want := []string{"body.browserVersion", "body.consistency", "body.geolocation", "body.locale", "body.os", "body.screen.width",
		"body.timezone", "body.webrtc"}
	for _, method := range []string{"PUT", "PATCH"} {
		a.do(t, method, "/profiles/"+id, bad).invalid(t, want...)
	}
	bad["name"] = "n"
	a.do(t, "POST", "/profiles", bad).invalid(t, want...)
	for _, c := range []string{`{"timezone":"GMT+25"}`, `{"timezone":""}`, `{"timezone":"../etc/passwd"}`,
		`{"timezone":"europe/berlin\n"}`} {
		a.do(t, "PUT", "/profiles/"+id, c).invalid(t, "body.timezone")
	}
	for _, c := range []string{`{"locale":[]}`, `{"locale":["xx-invalid-tag-12345678901"]}`, `{"locale":"de"}`, `{"locale":["de",""]}`} {
		a.do(t, "PUT", "/profiles/"+id, c).invalid(t, "body.locale")
	}
	a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, "timezone", "auto")
}
