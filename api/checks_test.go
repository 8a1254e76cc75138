package api

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"warren/store"
)

// This file is about what is kept of checks and told of them.

// history is a proxy's checks as they are kept, newest first.
func (a *testAPI) history(t testing.TB, id string) []store.ProxyCheck {
	t.Helper()
	list, err := a.srv.store.Read().ListProxyChecks(t.Context(), store.ListProxyChecksParams{ProxyID: id, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestSimultaneousChecksShareOneProbe: the proxy sees one dial and one look, it is one line of the history and one event, and all
// callers get the same answer.
func TestSimultaneousChecksShareOneProbe(t *testing.T) {
	a := newAPI(t) // alone: it counts who waits, and other tests check too
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	open, connections := make(chan struct{}), new(atomic.Int32)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				<-open
				c.Close()
			}()
		}
	}()
	// a SOCKS5 server that closes is asked twice
	id := a.proxy(t, "type", "http", "host", "127.0.0.1", "port", l.Addr().(*net.TCPAddr).Port)
	stream := a.listen(t, a.key)
	const callers = 5
	answers := make([]*answer, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { answers[i] = a.do(t, "POST", "/proxies/"+id+"/check", nil) })
	}
	waitFor(t, "all callers to wait for the probe", func() bool {
		return goroutinesIn("(*Pool).Check(") >= callers &&
			connections.Load() >= 1
	})
	close(open)
	wg.Wait()
	if n := connections.Load(); n != 2 { // the dial, and the look whether what hangs up wants TLS
		t.Errorf("the proxy saw %d connections, want 2", n)
	}
	for _, r := range answers {
		r.want(t, 200).equal(t, "error.code", "connection_closed")
		r.equal(t, "", answers[0].at(""))
	}
	kept := a.history(t, id)
	if len(kept) != 1 {
		t.Errorf("one probe is kept %d times, want once", len(kept))
	}
	var last map[string]any
	if err := json.Unmarshal([]byte(kept[0].Result), &last); err != nil || last["checkedAt"] != answers[0].at("checkedAt") {
		t.Errorf("kept is %s (%v), want what was answered: %s", kept[0].Result, err, answers[0])
	}
	a.do(t, "PUT", "/proxies/"+id, `{"name":"the end"}`).want(t, 200)
	checked := 0
	for _, e := range stream.until(t, "proxy.updated") {
		if e.event == "proxy.checked" {
			checked++
		}
	}
	if checked != 1 {
		t.Errorf("one probe was told of %d times, want once", checked)
	}
}

// TestExitChanged: an exit is compared with that of the last good check, whatever failed since.
func TestExitChanged(t *testing.T) {
	t.Parallel()
	var exit atomic.Value // what the check URL says; "" makes it fail
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if exit.Load() == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte(exit.Load().(string)))
	}))
	t.Cleanup(site.Close)
	through := httptest.NewServer(http.HandlerFunc(connectTo(site.Listener.Addr().String())))
	t.Cleanup(through.Close)
	a := newAPI(t, func(c *setup) { c.CheckURL = []string{site.URL} })
	id := a.proxy(t, "type", "http", "host", "127.0.0.1", "port", through.Listener.Addr().(*net.TCPAddr).Port)
	const one, two = "203.0.113.1", "203.0.113.2"
	for i, step := range []struct {
		exit    string
		changed bool
	}{{"", false}, {one, false}, {one, false}, {"", false}, {"", false}, {two, true}, {two, false}, {"", false}, {two, false},
		{one, true}} {
		exit.Store(step.exit)
		r := a.do(t, "POST", "/proxies/"+id+"/check", nil).want(t, 200)
		r.equal(t, "ok", step.exit != "")
		if r.at("exitChanged") != step.changed {
			t.Errorf("check %d, of the exit %q: exitChanged is %v, want %v", i, step.exit, r.at("exitChanged"), step.changed)
		}
	}
	a.do(t, "PUT", "/proxies/"+id, `{"username":"other"}`).want(t, 200) // another proxy, as it were
	exit.Store(two)
	a.do(t, "POST", "/proxies/"+id+"/check", nil).want(t, 200).equal(t, "exitChanged", false)
}

// TestChecksDoNotLookInside: where private networks are not allowed, a check cannot tell what listens on this machine.
func TestChecksDoNotLookInside(t *testing.T) {
	t.Parallel()
	rig := newCheckRig(t)
	a := newAPI(t, func(c *setup) { c.ClosedPrivate = true })
	key, _ := a.newKey(t, "run")
	var messages []string
	for _, port := range []int{rig.proxy.Port(), closedPort(t)} {
		fields := rig.fields(rig.proxy.Password)
		fields["port"] = port
		r := a.as(key).do(t, "POST", "/proxies/check", fields).want(t, 200)
		r.equal(t, "error.stage", "connect")
		r.equal(t, "error.code", "blocked_address")
		messages = append(messages, r.text("error.message"))
		id := a.do(t, "POST", "/proxies", fields).want(t, 201).text("id")
		a.as(key).do(t, "POST", "/proxies/"+id+"/check", nil).want(t, 200).equal(t, "error.code", "blocked_address")
	}
	if messages[0] == "" || messages[0] != messages[1] {
		t.Errorf("an open and a closed port are told apart: %q", messages)
	}
}

// A proxy whose password cannot be opened fails its own check and nobody else's, and gets well with a new password.
func TestPasswordThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	a := newAPI(t, checkingURL)
	m := a.pool(t, "default", 2, nil)
	broken, fine := m.ids[0], m.ids[1]
	a.rewrite(t, `UPDATE proxies SET password = ? WHERE id = ?`, []byte{0x00, 0x11, 0x22, 0x33}, broken)
	if err := a.srv.pool.CheckDue(t.Context(), "default", time.Minute, time.Now()); err != nil {
		t.Errorf("a round of checks: %v", err)
	}
	if h := a.history(t, fine); len(h) != 1 || !h[0].Ok {
		t.Errorf("the other proxy's checks: %+v", h)
	}
	if h := a.history(t, broken); len(h) != 1 || h[0].Ok || !strings.Contains(h[0].Result, "password_unreadable") {
		t.Errorf("its own checks: %+v", h)
	}
	lines, err := a.checkAll(t, t.Context(), `{}`, nil)
	if err != io.EOF || len(lines) != 2 {
		t.Errorf("a check of all: %d lines, %v", len(lines), err)
	}
	r := a.do(t, "POST", "/proxies/"+broken+"/check", nil).want(t, 200)
	r.equal(t, "ok", false)
	r.equal(t, "error.stage", "auth")
	r.equal(t, "error.code", "password_unreadable")
	a.do(t, "PUT", "/proxies/"+broken, map[string]any{"username": "u", "password": "word-" + m.exits[broken]}).want(t, 200)
	a.do(t, "POST", "/proxies/"+broken+"/check", nil).want(t, 200).equal(t, "ok", true)
}

// A check that was written while the clock was ahead does not keep the next ones away, and is not believed for longer than others.
func TestCheckAheadOfTheClock(t *testing.T) {
	t.Parallel()
	a := newAPI(t, checkingURL)
	id := a.pool(t, "default", 1, nil).ids[0]
	a.do(t, "POST", "/proxies/"+id+"/check", nil).want(t, 200)
	ahead := time.Now().AddDate(5, 0, 0).UnixMilli()
	read := func() store.Proxy {
		row, err := a.srv.store.Read().GetProxy(t.Context(), store.GetProxyParams{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	last := regexp.MustCompile(`"checkedAt":"[^"]*"`).ReplaceAllString(*read().LastCheck, `"checkedAt":"2099-01-01T00:00:00.000Z"`)
	a.rewrite(t, `UPDATE proxies SET checked_at = ?, last_check = ? WHERE id = ?`, ahead, last, id)
	row := read()
	if a.srv.pool.Open(row).Recent() != nil {
		t.Error("a check of the future counts as recent")
	}
	if err := a.srv.pool.CheckDue(t.Context(), "default", time.Hour, time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := len(a.history(t, id)); n != 2 {
		t.Errorf("it was checked %d times, want again at once", n)
	}
	if err := a.srv.pool.CheckDue(t.Context(), "default", time.Hour, time.Now()); err != nil || len(a.history(t, id)) != 2 {
		t.Errorf("then it was checked again: %v", err)
	}
}
