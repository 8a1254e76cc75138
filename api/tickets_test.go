package api

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"warren/runs"
	"warren/store"
)

// ticketFor creates a ticket with a key.
func (a *testAPI) ticketFor(t testing.TB, key, path string) string {
	t.Helper()
	return a.as(key).do(t, "POST", "/tickets", map[string]any{"path": path}).want(t, 201).text("ticket")
}

// openFromPage opens a socket as a web page does: with subprotocols and without a key.
func (a *testAPI) openFromPage(t testing.TB, path string, header http.Header, protocols ...string) (*websocket.Conn, int) {
	t.Helper()
	ws, res, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(a.base, "http")+path, &websocket.DialOptions{HTTPHeader: header,
		Subprotocols: protocols})
	if res == nil {
		t.Fatalf("%s: %v", path, err)
	}
	if ws != nil {
		t.Cleanup(func() { ws.CloseNow() })
	}
	return ws, res.StatusCode
}

// TestTickets: a ticket opens one socket once, at its path, and nothing else. No answer shows it again, and it ends with its key.
func TestTickets(t *testing.T) {
	t.Parallel()
	a, run := newFakeRun(t)
	live := Prefix + "/profiles/" + run.profileID + "/live"
	cdp := Prefix + "/profiles/" + run.profileID + "/cdp"
	for path, want := range map[string]string{live: "warren.live", cdp: "warren.cdp"} {
		ticket := "warren.ticket." + a.ticketFor(t, a.key, path)
		ws, status := a.openFromPage(t, path+"?readonly=1", http.Header{"Origin": {a.base}}, ticket, want)
		if status != 101 || ws.Subprotocol() != want {
			t.Fatalf("%s with a ticket: %d", path, status)
		}
		if got := run.last().Header.Get("Sec-Websocket-Protocol"); got != want {
			t.Errorf("the run was offered %q", got)
		}
		if _, status := a.openFromPage(t, path, nil, want, ticket); status != 401 {
			t.Errorf("%s with a ticket that was used: %d", path, status)
		}
	}
	before := run.count()
	for what, c := range map[string]struct {
		path   string
		header http.Header
		offer  func(ticket string) []string
		want   int
	}{
		"another path":         {cdp, nil, func(k string) []string { return []string{k} }, 401},
		"a path below":         {live + "/x", nil, func(k string) []string { return []string{k} }, 401},
		"a foreign page":       {live, http.Header{"Origin": {"http://evil.example"}}, func(k string) []string { return []string{k} }, 403},
		"two of them":          {live, nil, func(k string) []string { return []string{k, "warren.ticket.x"} }, 401},
		"a wrong one":          {live, nil, func(k string) []string { return []string{k + "x"} }, 401},
		"an empty one":         {live, nil, func(string) []string { return []string{"warren.ticket."} }, 401},
		"in the address":       {live + "?ticket=TICKET", nil, func(string) []string { return nil }, 401},
		"a wrong key beside":   {live, http.Header{"Authorization": {"Bearer x"}}, func(k string) []string { return []string{k} }, 401},
		"as a key":             {live, http.Header{"Authorization": {"Bearer TICKET"}}, func(string) []string { return nil }, 401},
		"as a capability":      {"/live/TICKET", nil, func(string) []string { return nil }, 404},
		"in a cookie":          {live, http.Header{"Cookie": {"ticket=TICKET"}}, func(string) []string { return nil }, 401},
		"in upper case":        {live, nil, func(k string) []string { return []string{strings.ToUpper(k)} }, 401},
		"without its protocol": {live, nil, func(k string) []string { return []string{strings.TrimPrefix(k, "warren.ticket.")} }, 401},
	} {
		ticket := a.ticketFor(t, a.key, live)
		header := http.Header{}
		for k, v := range c.header {
			header.Set(k, strings.ReplaceAll(v[0], "TICKET", ticket))
		}
		if _, status := a.openFromPage(t, strings.ReplaceAll(c.path, "TICKET", ticket), header,
			c.offer("warren.ticket."+ticket)...); status != c.want {
			t.Errorf("%s: %d, want %d", what, status, c.want)
		}
	}
	// It replaces the key only for upgrades.
	for _, change := range []map[string]string{{}, {"Upgrade": "websocket"}, {"Connection": "Upgrade"}, {"Upgrade": "h2c",
		"Connection": "Upgrade"}} {
		req := a.as("").request(t, "GET", "/"+live, nil)
		req.Header.Set("Sec-Websocket-Protocol", "warren.ticket."+a.ticketFor(t, a.key, live))
		for k, v := range change {
			req.Header.Set(k, v)
		}
		a.send(t, req).refused(t, 401, "unauthorized")
	}
	if n := run.count() - before; n != 0 {
		t.Errorf("%d of them came to the run", n)
	}
	for _, path := range []string{"", "/", live + "?readonly=1", live + "/../cdp", Prefix + "/profiles", Prefix + "/profiles/x", Prefix +
		"/profiles/x/start", "/live/x",
		Prefix + "/profiles//live", Prefix + "/profiles/x/alive", live + "/" + strings.Repeat("x", 300), Prefix + "/profiles/%2e/live",
		Prefix + "/events"} {
		a.do(t, "POST", "/tickets", map[string]any{"path": path}).invalid(t, "body.path")
	}
	if text := a.log.String(); strings.Contains(text, "ticket") {
		t.Errorf("the log knows of tickets:\n%s", text)
	}
}

// TestTicketEndsWithItsKey: a ticket has no more rights than its key. Its end also ends the key's tickets and their sockets.
func TestTicketEndsWithItsKey(t *testing.T) {
	t.Parallel()
	a, run := newFakeRun(t)
	live := Prefix + "/profiles/" + run.profileID + "/live"
	for scopes, want := range map[string]int{"read": 403, "write": 403, "secrets": 403, "run": 101} {
		key, _ := a.newKey(t, scopes)
		if _, status := a.openFromPage(t, live, nil, "warren.live", "warren.ticket."+a.ticketFor(t, key, live)); status != want {
			t.Errorf("the ticket of a key that may %s: %d, want %d", scopes, status, want)
		}
	}
	foreign, _ := a.newKey(t, "run", "elsewhere")
	if _, status := a.openFromPage(t, live, nil, "warren.live", "warren.ticket."+a.ticketFor(t, foreign, live)); status != 404 {
		t.Errorf("the ticket of another workspace's key: %d", status)
	}
	key, id := a.newKey(t, "run")
	ended := make(chan error, 2)
	for range 2 {
		ws, _ := a.openFromPage(t, live, nil, "warren.live", "warren.ticket."+a.ticketFor(t, key, live))
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), enough)
			defer cancel()
			_, _, err := ws.Read(ctx)
			if ctx.Err() == nil {
				err = nil
			}
			ended <- err
		}()
	}
	left := a.ticketFor(t, key, live)
	a.do(t, "DELETE", "/keys/"+id, nil).want(t, 204)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error("a socket that a ticket opened outlives its key")
		}
	}
	if _, status := a.openFromPage(t, live, nil, "warren.live", "warren.ticket."+left); status != 401 {
		t.Errorf("the ticket of a revoked key: %d", status)
	}
	// Also a ticket that was issued while the key was being revoked.
	row, err := a.srv.store.Read().GetKeyByHash(t.Context(), func() []byte { h := hashKey(key); return h[:] }())
	if err != nil {
		t.Fatal(err)
	}
	h, err := row.Holder()
	late := newCaller(h)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := a.srv.tickets.add(t.Context(), "late", ticket{late, live, time.Now().Add(time.Minute)}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, status := a.openFromPage(t, live, nil, "warren.live", "warren.ticket.late"); status != 401 {
		t.Errorf("a late ticket of a revoked key: %d", status)
	}
	brief, _ := a.briefKey(t, time.Second, "run")
	r := a.as(brief).do(t, "POST", "/tickets", map[string]any{"path": live})
	if r.status == 201 { // a busy machine may be too late
		waitFor(t, "the key to expire", func() bool { return a.as(brief).do(t, "GET", "/runs", nil).status == 401 })
		if _, status := a.openFromPage(t, live, nil, "warren.live", "warren.ticket."+r.text("ticket")); status != 401 {
			t.Errorf("the ticket of an expired key: %d", status)
		}
	}
}

// TestManyTickets: a key has a limited number of unused tickets, other keys are not affected, and tickets expire.
func TestManyTickets(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	key, _ := a.newKey(t, "read")
	path := Prefix + "/profiles/x/live"
	for range maxTickets {
		a.ticketFor(t, key, path)
	}
	if r := a.as(key).do(t, "POST", "/tickets", map[string]any{"path": path}).refused(t, 429,
		"rate_limited"); r.header.Get("Retry-After") == "" {
		t.Error("it does not say when to come again")
	}
	a.ticketFor(t, a.key, path)
	ts, c := newTickets(a.srv.keys), newCaller(store.Holder{KeyID: "k", Rights: store.AllRights(), Sees: store.All()})
	add := func(secret string) {
		if ok, err := ts.add(t.Context(), secret, ticket{c, path, time.Now().Add(-time.Millisecond)}); !ok || err != nil {
			t.Fatalf("tickets whose time is over count: %v %v", ok, err)
		}
	}
	add("over")
	if got, err := ts.take(t.Context(), "over", path); got.caller != nil || err != nil {
		t.Errorf("a ticket whose time is over is good: %v", err)
	}
	for range 2 * maxTickets {
		add(runs.NewCapability())
	}
	if len(ts.byHash) > 1 {
		t.Errorf("%d tickets whose time is over are kept", len(ts.byHash))
	}
}
