package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"warren/pool"
	"warren/store"
)

// This file is about changes of a proxy: where its password may go, and what running profiles have of it.

// TestAPasswordGoesToNoOtherServer: who may not read a proxy's password cannot have it sent elsewhere by a change.
func TestAPasswordGoesToNoOtherServer(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	blind, _ := a.newKey(t, "read,run,write")
	keeper, _ := a.newKey(t, "write,secrets")
	var n atomic.Int64 // each in a workspace of its own: two of them may become the same
	fresh := func(extra ...any) string {
		return a.proxy(t, append([]any{"workspaceId", fmt.Sprint("w", n.Add(1)), "username", "u", "password", "p"}, extra...)...)
	}
	for _, body := range []string{`{"host":"evil.example"}`, `{"port":1081}`, `{"type":"http"}`, `{"type":"https","host":"evil.example","port":1}`,
		`{"host":"evil.example","username":"v"}`, `{"host":"evil.example","name":"n"}`} {
		id := fresh()
		for _, method := range []string{"PUT", "PATCH"} {
			r := a.as(blind).do(t, method, "/proxies/"+id, body).invalid(t, "body.password")
			if !strings.Contains(string(r.body), "must be given again") {
				t.Errorf("%s does not say what to do: %s", body, r)
			}
		}
		a.do(t, "GET", "/proxies/"+id, nil).want(t, 200).equal(t, "updatedAt", a.do(t, "GET", "/proxies/"+id, nil).at("createdAt"))
		a.as(blind).do(t, "PUT", "/proxies/"+id, strings.Replace(body, "{", `{"password":"again",`, 1)).want(t, 200).equal(t, "hasPassword", true)
		a.as(blind).do(t, "PUT", "/proxies/"+fresh(), strings.Replace(body, "{", `{"password":null,`, 1)).want(t, 200).equal(t, "hasPassword", false)
		a.as(keeper).do(t, "PUT", "/proxies/"+fresh(), body).want(t, 200).equal(t, "hasPassword", true)
		a.do(t, "PUT", "/proxies/"+fresh(), body).want(t, 200).equal(t, "hasPassword", true)
	}
	id := fresh("host", "here.example")
	for _, body := range []string{`{}`, `{"name":"n"}`, `{"username":"v"}`, `{"host":"HERE.example."}`, `{"type":"socks5h"}`, `{"port":1080}`} { // the same server
		a.as(blind).do(t, "PUT", "/proxies/"+id, body).want(t, 200).equal(t, "hasPassword", true)
	}
	a.as(blind).do(t, "PUT", "/proxies/"+id, `{"url":"socks5://v@there.example:1"}`).want(t, 200).equal(t, "hasPassword", false)
	a.as(blind).do(t, "PUT", "/proxies/"+id, `{"host":"elsewhere.example"}`).want(t, 200) // there is none to lose
}

// TestSOCKS4HasNoPassword: it could not be sent, so it is refused, however it would come to be there.
func TestSOCKS4HasNoPassword(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, path := range []string{"/proxies", "/proxies/check"} {
		r := a.do(t, "POST", path, `{"type":"socks4","host":"h","port":1,"username":"u","password":"p"}`).invalid(t, "body.password")
		if !strings.Contains(string(r.body), "SOCKS4, which knows a user name only") {
			t.Errorf("%s does not say why", r)
		}
		a.do(t, "POST", path, `{"url":"socks4://u:p@h:1"}`).invalid(t, "body.url")
	}
	id := a.proxy(t, "username", "u", "password", "p")
	a.do(t, "PUT", "/proxies/"+id, `{"type":"socks4"}`).invalid(t, "body.password")
	a.do(t, "PUT", "/proxies/"+id, `{"type":"socks4","password":null}`).want(t, 200).equal(t, "username", "u")
	a.do(t, "PUT", "/proxies/"+id, `{"password":"p"}`).invalid(t, "body.password")
}

// TestStartWaitsForTheExit: five seconds when what pages are told hangs on it, then by what is known; else not at all.
func TestStartWaitsForTheExit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		row  store.Profile
		want time.Duration
	}{
		{store.Profile{Timezone: "auto", Locale: "system", Geolocation: "off", Consistency: "warn"}, identityPatience},
		{store.Profile{Timezone: "system", Locale: "system", Geolocation: "auto", Consistency: "warn"}, identityPatience},
		{store.Profile{Timezone: "system", Locale: "system", Geolocation: "off", Consistency: "block"}, identityPatience},
		{store.Profile{Timezone: "UTC", Locale: `["de"]`, Geolocation: "off", Consistency: "warn"}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			rs := &runs{pool: new(pool.Pool)}
			p := &plan{row: c.row, proxy: &pool.Proxy{Proxy: store.Proxy{LastCheck: new(checkedNow(t))}}, exit: &exitLookup{rs: rs, done: make(chan struct{})}}
			err := rs.placeExit(t.Context(), p)
			if took := time.Since(began); err != nil || took != c.want || p.env.Exit == nil || len(p.warnings) != int(min(c.want, 1)) {
				t.Errorf("%+v: %v, waited %v, exit %v, warnings %v", c.row, err, took, p.env.Exit, p.warnings)
			}
			a := &startJSON{RunJSON: RunJSON{Proxy: &exitJSON{}, Warnings: p.warnings}}
			p.exit.fill(t.Context(), a)
			if len(a.Warnings) != 1 || a.Warnings[0].Code != "exit_unknown" {
				t.Errorf("the answer has the warnings %v", a.Warnings)
			}
			if took := time.Since(began); took != max(c.want, patience) { // once, not twice
				t.Errorf("%+v: waited %v in all", c.row, took)
			}
		})
	}
}

// checkedNow is a good check of now, as a proxy's row has it.
func checkedNow(t testing.TB) string {
	t.Helper()
	text, err := json.Marshal(berlin())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWarningsOfAnUnknownExit: a start says what is true of a check that has no result.
func TestWarningsOfAnUnknownExit(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	fill := func(ctx context.Context, e *exitLookup) string {
		e.rs = &runs{log: slog.New(slog.NewTextHandler(&log, nil))}
		a := &startJSON{RunJSON: RunJSON{Proxy: &exitJSON{ID: "the-proxy"}}}
		e.fill(ctx, a)
		if len(a.Warnings) == 0 {
			return ""
		}
		return a.Warnings[0].Code + ": " + a.Warnings[0].Message
	}
	over := make(chan struct{})
	close(over)
	synctest.Test(t, func(t *testing.T) { // so that patience takes no time
		if got := fill(t.Context(), &exitLookup{done: make(chan struct{})}); !strings.HasPrefix(got, "exit_unknown: ") || !strings.Contains(got, "not known in time; the check goes on") {
			t.Errorf("while the check goes on: %q", got)
		}
	})
	got := fill(t.Context(), &exitLookup{done: over, err: errors.New("no such table")})
	if !strings.HasPrefix(got, "exit_unknown: ") || strings.Contains(got, "goes on") || strings.Contains(got, "in time") || strings.Contains(got, "table") ||
		!strings.Contains(got, "its check failed inside warren") || !strings.Contains(log.String(), "no such table") {
		t.Errorf("after a check that could not be made: %q, and the log says %s", got, &log)
	}
	if got := fill(t.Context(), &exitLookup{done: over}); got != "" {
		t.Errorf("with nobody having looked: %q", got)
	}
	if got := fill(t.Context(), &exitLookup{done: over, result: &pool.Check{Error: &pool.CheckError{Message: "It is dead."}}}); !strings.HasPrefix(got, "proxy_unreachable: ") || !strings.Contains(got, "It is dead.") {
		t.Errorf("with a dead proxy: %q", got)
	}
}
