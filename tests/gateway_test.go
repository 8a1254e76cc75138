package tests

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// The CDP gateway over the server.

// ask sends a request to the gateway and returns its status and text.
func (s *liveServer) ask(method, address string, header map[string]string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			req.Host = v
		} else {
			req.Header.Set(k, v)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode, readAll(s.t, res.Body)
}

// Addresses in answers are those that the client used: by capability and by key, by any name of the server.
func TestGatewayAddresses(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve("--allow-host", "warren.example")
	id := s.profile(nil)
	run := s.start(id, nil)
	port := s.base[strings.LastIndexByte(s.base, ':'):]
	api := s.base + apiPrefix + "/profiles/" + id + "/cdp"
	for _, c := range []struct{ base, host, key string }{
		{run.CdpURL, "", ""},
		{run.CdpURL, "localhost" + port, ""},
		{run.CdpURL, "warren.example", ""},
		{run.CdpURL, "warren.example" + port, ""},
		{api, "", liveKey},
		{api, "localhost" + port, liveKey},
	} {
		header := map[string]string{}
		if c.host != "" {
			header["Host"] = c.host
		}
		if c.key != "" {
			header["Authorization"] = "Bearer " + c.key
		}
		want := "ws" + strings.TrimPrefix(c.base, "http")
		if c.host != "" {
			want = "ws://" + c.host + c.base[len(s.base):]
		}
		for _, path := range []string{"/json/version", "/json/version/"} {
			status, text := s.ask("GET", c.base+path, header)
			var v struct{ WebSocketDebuggerURL string }
			if err := json.Unmarshal([]byte(text), &v); status != 200 || err != nil ||
				!strings.HasPrefix(v.WebSocketDebuggerURL, want+"/devtools/browser/") {
				t.Errorf("%s as %q: %d %s, want an address below %s", c.base+path, c.host, status, text, want)
			}
		}
		status, text := s.ask("GET", c.base+"/json/list", header)
		var pages []struct{ WebSocketDebuggerURL, Type string }
		if err := json.Unmarshal([]byte(text), &pages); status != 200 || err != nil || len(pages) == 0 ||
			!strings.HasPrefix(pages[0].WebSocketDebuggerURL, want+"/devtools/page/") {
			t.Errorf("json/list as %q: %d %s", c.host, status, text)
		}
	}
	// What start answers follows the name too.
	req, err := http.NewRequest("POST", s.base+apiPrefix+"/profiles/"+id+"/start", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "warren.example"
	req.Header.Set("Authorization", "Bearer "+liveKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text := readAll(t, res.Body); !strings.Contains(text, `"ws://warren.example/cdp/`) ||
		!strings.Contains(text, `"http://warren.example/cdp/`) {
		t.Errorf("start by another name answers %s", text)
	}
	if status, text := s.ask("GET", run.CdpURL+"/json/version", map[string]string{"Host": "evil.test"}); status != 421 {
		t.Errorf("a foreign host is answered %d %s", status, text)
	}
}

// Who may connect, and who may not.
func TestGatewayRefuses(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id, other := s.profile(nil), s.profile(nil)
	run := s.start(id, nil)
	api := "ws" + strings.TrimPrefix(s.base, "http") + apiPrefix + "/profiles/" + id + "/cdp"
	bearer := func(key string) http.Header { return http.Header{"Authorization": {"Bearer " + key}} }
	with := func(h http.Header, origin string) http.Header {
		h = h.Clone()
		h.Set("Origin", origin)
		return h
	}
	wrong := run.WsEndpoint[:len(run.WsEndpoint)-1] + map[bool]string{true: "A", false: "B"}[!strings.HasSuffix(run.WsEndpoint, "A")]
	for _, c := range []struct {
		address string
		header  http.Header
		status  int
	}{
		{run.WsEndpoint, nil, 101},
		{api, bearer(liveKey), 101},
		{run.WsEndpoint, with(http.Header{}, s.base), 101}, // our own page
		{run.WsEndpoint, with(http.Header{}, "http://evil.test"), 403},
		{run.WsEndpoint, with(http.Header{}, "null"), 403},
		{run.WsEndpoint, with(http.Header{}, "chrome-extension://abcdef"), 403},
		{run.WsEndpoint + "/devtools/browser/x", with(http.Header{}, "http://evil.test"), 403},
		{api, with(bearer(liveKey), "http://evil.test"), 403},
		{wrong, nil, 404},
		{strings.TrimSuffix(run.WsEndpoint, "/") + "x", nil, 404},
		{s.base + "/cdp/", nil, 404},
		{run.WsEndpoint + "/devtools/browser/none-such", nil, 404},
		{api, nil, 401},
		{api, bearer("not-the-key-of-the-server-0123456789"), 401},
		{strings.Replace(api, id, other, 1), bearer(liveKey), 409},
		{strings.Replace(api, id, "none-such", 1), bearer(liveKey), 404},
	} {
		client, status, err := tryCDP(t, c.address, c.header)
		if status != c.status {
			t.Errorf("%s with %v: %d %v, want %d", c.address, c.header, status, err, c.status)
		}
		if client != nil {
			client.call("", "Browser.getVersion", nil, nil)
		}
	}
	// A client that closes the browser leaves, and the run goes on.
	c := dialCDP(t, run.WsEndpoint, nil)
	c.try("", "Browser.close", nil) //nolint:errcheck // answered or cut
	if err := c.awaitEnd(enough); err != nil {
		t.Errorf("Browser.close did not end the connection: %v", err)
	}
	if p := s.get(id); p.Status != "running" || p.Run.RunID != run.RunID {
		t.Errorf("a client's Browser.close left the profile %s", p.Status)
	}
	// The capability dies with its run, and says so; the next run has another.
	c = dialCDP(t, run.WsEndpoint, nil)
	s.stop(id)
	if err := c.awaitEnd(enough); err != nil {
		t.Errorf("the stop did not end the connection: %v", err)
	}
	status, text := s.ask("GET", run.CdpURL+"/json/version", nil)
	var p problemView
	if err := json.Unmarshal([]byte(text), &p); err != nil || status != 404 || p.Code != "run_not_found" ||
		!strings.Contains(p.Detail, "start") {
		t.Errorf("a dead capability is answered %d %s", status, text)
	}
	if _, status, _ := tryCDP(t, run.WsEndpoint, nil); status != 404 {
		t.Errorf("a dead capability's socket is answered %d", status)
	}
	if again := s.start(id, nil); again.CdpURL == run.CdpURL {
		t.Error("the next run has the same capability")
	}
}

// key makes a key with a scope, and returns its id and itself.
func (s *liveServer) key(members map[string]any) (id, key string) {
	s.t.Helper()
	in := map[string]any{"name": "other", "scopes": []string{"run"}}
	for k, v := range members {
		in[k] = v
	}
	var made struct{ ID, Key string }
	s.do("POST", "/keys", in, 201, &made)
	return made.ID, made.Key
}

// withTicket connects as a web page does, which cannot send its key along.
func (s *liveServer) withTicket(key, address string) *cdpClient {
	s.t.Helper()
	_, path, _ := strings.Cut(strings.TrimPrefix(address, "ws://"), "/")
	req, err := http.NewRequest("POST", s.base+apiPrefix+"/tickets", strings.NewReader(`{"path":"/`+path+`"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var made struct{ Ticket string }
	if text := readAll(s.t, res.Body); res.StatusCode != 201 || json.Unmarshal([]byte(text), &made) != nil {
		s.t.Fatalf("a ticket: %d %s", res.StatusCode, text)
	}
	ws, _, err := websocket.Dial(s.t.Context(), address,
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {s.base}},
			Subprotocols: []string{"warren.cdp", "warren.ticket." + made.Ticket}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { ws.CloseNow() })
	if got := ws.Subprotocol(); got != "warren.cdp" {
		s.t.Errorf("the socket speaks %q", got)
	}
	return &cdpClient{t: s.t, ws: ws}
}

// A connection that a key opened ends with the key, whether that is revoked or its time is over; another key's, and one that the
// run's capability opened, go on.
func TestGatewayEndsWithKey(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	run := s.start(id, nil)
	address := "ws" + strings.TrimPrefix(s.base, "http") + apiPrefix + "/profiles/" + id + "/cdp"
	dial := func(key string) *cdpClient {
		t.Helper()
		c := dialCDP(t, address, http.Header{"Authorization": {"Bearer " + key}})
		c.call("", "Browser.getVersion", nil, nil)
		return c
	}
	revoked, first := s.key(nil)
	_, second := s.key(nil)
	_, brief := s.key(map[string]any{"expiresAt": time.Now().Add(5 * time.Second).UTC().Format(time.RFC3339Nano)})
	ends, expires := []*cdpClient{dial(first), dial(first), s.withTicket(first, address)}, dial(brief)
	goOn := []*cdpClient{dial(second), dial(liveKey), dialCDP(t, run.WsEndpoint, nil)}
	s.do("DELETE", "/keys/"+revoked, nil, 204, nil)
	for _, c := range ends {
		if err := c.awaitEnd(enough); err != nil {
			t.Error("the connection of a revoked key goes on")
		}
	}
	if err := expires.awaitEnd(enough); err != nil {
		t.Error("the connection of a key whose time is over goes on")
	}
	for i, c := range goOn {
		if _, err := c.try("", "Browser.getVersion", nil); err != nil {
			t.Errorf("connection %d ended with a key that is not its own: %v", i, err)
		}
	}
}

// Who may run and use files gets neither at the data folder's files through the browser, nor at any file as a page; uploads work.
func TestGatewayGuardsData(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	s.start(id, nil)
	_, key := s.key(map[string]any{"scopes": []string{"run", "files"}})
	c := dialCDP(t, "ws"+strings.TrimPrefix(s.base, "http")+apiPrefix+"/profiles/"+id+"/cdp",
		http.Header{"Authorization": {"Bearer " + key}})
	page := c.open(s.world.url("/page"))
	c.awaitURL(page, s.world.url("/page"))
	c.eval(page, `document.body.innerHTML = "<input type=file>", 1`)
	var input struct{ Result struct{ ObjectID string } }
	c.call(page, "Runtime.evaluate", map[string]any{"expression": `document.querySelector("input")`}, &input)
	mine := filepath.Join(s.dir, "upload.txt")
	if err := os.WriteFile(mine, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	give := func(path string) error {
		_, err := c.try(page, "DOM.setFileInputFiles", map[string]any{"objectId": input.Result.ObjectID, "files": []string{path}})
		return err
	}
	if err := give(mine); err != nil || c.eval(page, `document.querySelector("input").files[0].text()`) != "mine" {
		t.Errorf("an upload: %v", err)
	}
	for _, name := range []string{"secret.key", filepath.Base(s.ownFile()), "", "profiles/" + id + "/chrome/Default/Cookies"} {
		if err := give(filepath.Join(s.data, name)); err == nil || !strings.Contains(err.Error(), "Not allowed") {
			t.Errorf("%q was handed to a page: %v", name, err)
		}
	}
	if _, err := c.try(page, "Page.navigate", map[string]any{"url": "file://" + filepath.Join(s.data, "secret.key")}); err == nil {
		t.Error("a page shows the data folder")
	}
}
