package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"warren/leaks"
)

// What a leak test refuses, it refuses before there is a browser.
func TestLeakTestRefuses(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	path := "/profiles/" + id + "/leak-test"
	for body, fault := range map[string]string{`{"timeoutMs":9999}`: "body.timeoutMs", `{"timeoutMs":120001}`: "body.timeoutMs", `{"timeoutMs":-1}`: "body.timeoutMs",
		`{"timeoutMs":"x"}`: "body.timeoutMs", `{"timeoutMs":10000.5}`: "body.timeoutMs", `{"headless":false}`: "body.headless", `{"timeoutms":10000}`: "body.timeoutms"} {
		a.do(t, "POST", path, body).invalid(t, fault)
	}
	a.do(t, "POST", path, `{`).refused(t, 400, "malformed_json")
	a.do(t, "GET", path, nil).refused(t, 405, "method_not_allowed")
	a.do(t, "POST", "/profiles/none/leak-test", nil).refused(t, 404, "profile_not_found")
	key, _ := a.newKey(t, "read,write")
	a.as(key).do(t, "POST", path, nil).refused(t, 403, "forbidden")
	elsewhere, _ := a.newKey(t, "run", "elsewhere")
	a.as(elsewhere).do(t, "POST", path, nil).refused(t, 404, "profile_not_found")

	lost := a.profile(t, "proxyId", a.proxy(t))
	proxyID := a.do(t, "GET", "/profiles/"+lost, nil).text("proxyId")
	a.do(t, "DELETE", "/profiles/"+lost, nil).want(t, 204)
	a.do(t, "DELETE", "/proxies/"+proxyID, nil).want(t, 204)
	a.do(t, "POST", "/profiles/"+lost+"/restore", nil).want(t, 200)
	a.do(t, "POST", "/profiles/"+lost+"/leak-test", nil).refused(t, 409, "proxy_missing")

	a.srv.runs.queued.Store(int64(a.srv.cfg.MaxQueue))
	a.do(t, "POST", path, nil).refused(t, 429, "start_queue_full")
	a.srv.runs.queued.Store(0)
	a.srv.runs.found.Store(nil)
	a.do(t, "POST", path, nil).refused(t, 503, "browser_not_found")
}

// TestUntilShown: where time ran out the test is made again with twice as much, up to a bound; what was shown, and what broke, is not made again.
func TestUntilShown(t *testing.T) {
	late, shown, bad := leaks.Channel{Name: "worker", Undecided: true}, leaks.Channel{Name: "worker", Passed: true}, leaks.Channel{Name: "worker"}
	for name, c := range map[string]struct {
		answers []leaks.Channel // of the tries in order; the last one repeats
		err     error
		limits  string
	}{
		"at once":      {[]leaks.Channel{shown}, nil, "[1m0s]"},
		"a leak":       {[]leaks.Channel{bad}, nil, "[1m0s]"},
		"the second":   {[]leaks.Channel{late, bad}, nil, "[1m0s 2m0s]"},
		"never":        {[]leaks.Channel{late}, nil, "[1m0s 2m0s 4m0s 8m0s]"},
		"it cannot be": {[]leaks.Channel{late}, errors.New("no browser"), "[1m0s]"},
	} {
		var limits []time.Duration
		got, err := untilShown(leakTestTime, func(limit time.Duration) ([]leaks.Channel, error) {
			limits = append(limits, limit)
			return []leaks.Channel{shown, c.answers[min(len(limits), len(c.answers))-1]}, c.err
		})
		if !errors.Is(err, c.err) || fmt.Sprint(limits) != c.limits || !slices.Equal(got, []leaks.Channel{shown, c.answers[len(c.answers)-1]}) {
			t.Errorf("%s: tried %v, got %+v, %v", name, limits, got, err)
		}
	}
}
