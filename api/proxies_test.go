package api

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warren/testnet"
)

// TestProxyAnswers: what a proxy looks like, by fields and by url, and that the password is never part of it.
func TestProxyAnswers(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	r := a.do(t, "POST", "/proxies", `{"type":"socks5h","host":"DE.Proxy.Example.","port":1080,"username":"alice","password":"s3cret",
		"name":" n ","tags":["x","X"],"notes":"o","rotateUrl":"https://r.example/go"}`).want(t, 201)
	for member, want := range map[string]any{"workspaceId": "default", "type": "socks5", "host": "de.proxy.example", "port": 1080,
		"username":    "alice",
		"hasPassword": true, "name": "n", "tags": []string{"x"}, "notes": "o", "rotateUrl": "https://r.example/go", "status": "unknown",
		"profileCount": 0, "uptime": nil, "lastCheck": nil} {
		if !r.has(member) {
			t.Errorf("%s is absent", member)
		}
		r.equal(t, member, want)
	}
	if !uuidV7.MatchString(r.text("id")) || r.header.Get("Location") != "/api/v1/proxies/"+r.text("id") || r.header.Get("ETag") == "" {
		t.Errorf("%s %v", r, r.header)
	}
	if r.has("password") || r.has("url") || bytes.Contains(r.body, []byte("s3cret")) {
		t.Errorf("the password is there: %s", r)
	}
	one := a.do(t, "GET", "/proxies/"+r.text("id"), nil).want(t, 200)
	if !bytes.Equal(one.body, r.body) {
		t.Errorf("GET answers\n%s\nwant what POST answered\n%s", one.body, r.body)
	}
	byLine := a.do(t, "POST", "/proxies", `{"workspaceId":"w2","url":" line.example:7310:alice:se:cret "}`).want(t, 201)
	for member, want := range map[string]any{"type": "socks5", "host": "line.example", "port": 7310, "username": "alice",
		"hasPassword": true} {
		byLine.equal(t, member, want)
	}
	ambiguous := a.do(t, "POST", "/proxies", `{"workspaceId":"w2","url":"a.example:1080:b.example:1081"}`)
	ambiguous.refused(t, 422, "validation_failed")
	if text := string(ambiguous.body); !strings.Contains(text, "can be read as") || strings.Contains(text, "b.example:1081") {
		t.Errorf("a line with two readings is refused with %s", text)
	}
	byURL := a.do(t, "POST", "/proxies", `{"workspaceId":"w2","url":"socks://al%40ice:p%3Aw@[2001:DB8::1]:1081"}`).want(t, 201)
	for member, want := range map[string]any{"type": "socks5", "host": "2001:db8::1", "port": 1081, "username": "al@ice",
		"hasPassword": true, "workspaceId": "w2"} {
		byURL.equal(t, member, want)
	}
	plain := a.do(t, "POST", "/proxies", `{"type":"http","host":"192.0.2.1","port":8080,"username":null,"password":null}`).want(t, 201)
	plain.equal(t, "hasPassword", false)
	plain.equal(t, "username", "")
	a.do(t, "POST", "/proxies", `{"type":"https","host":"[::1]","port":1}`).want(t, 201).equal(t, "host", "::1")
	a.do(t, "POST", "/proxies", `{"type":"socks4","host":"h","port":65535}`).want(t, 201)
}

// TestProxyRefused: each rule of the contract's table, every fault at once, and by which member it is named.
func TestProxyRefused(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.proxy(t)
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{}`, []string{"body.type", "body.host", "body.port"}},
		{`{"type":"ftp","host":"a b","port":0,"username":"","password":"p\u0000"}`, []string{"body.type", "body.host", "body.port",
			"body.username", "body.password"}},
		{`{"type":"socks5","host":"h","port":1,"password":"p"}`, []string{"body.username"}},
		{`{"type":"socks5","host":"h","port":70000}`, []string{"body.port"}},
		{`{"type":"socks5","host":"h","port":1.5}`, []string{"body.port"}},
		{`{"type":"socks5","host":"h","port":"1080"}`, []string{"body.port"}},
		{`{"type":"socks5","host":"http://h","port":1}`, []string{"body.host"}},
		{`{"type":"socks5","host":"h:1","port":1}`, []string{"body.host"}},
		{`{"type":"socks5","host":"u@h","port":1}`, []string{"body.host"}},
		{`{"type":"socks5","host":"h\n","port":1}`, []string{"body.host"}},
		{`{"type":"socks5","host":"` + strings.Repeat("h", 256) + `","port":1}`, []string{"body.host"}},
		{`{"type":"socks5","host":"h","port":1,"username":"` + strings.Repeat("u", 256) + `"}`, []string{"body.username"}},
		{`{"type":"socks5","host":"h","port":1,"username":"u","password":"` + strings.Repeat("p", 256) + `"}`, []string{"body.password"}},
		{`{"type":"socks5","host":"h","port":1,"username":"u\r\n","password":"p\r\n"}`, []string{"body.username", "body.password"}},
		{`{"type":null,"host":null,"port":null}`, []string{"body.type", "body.host", "body.port"}},
		{`{"url":null}`, []string{"body.url", "body.type", "body.host", "body.port"}},
		{`{"url":"socks5://h:1","host":"h"}`, []string{"body.url"}},
		{`{"type":"http","url":"socks5://h:1"}`, []string{"body.type"}},
		{`{"url":"h:none"}`, []string{"body.url"}},
		{`{"url":"socks5://:pw@h:1"}`, []string{"body.url"}},
		{`{"type":"socks5","host":"h","port":1,"rotateUrl":"ftp://x","name":"` + strings.Repeat("n", 201) +
			`","notes":"\u0000","tags":[""]}`,
			[]string{"body.rotateUrl", "body.name", "body.notes", "body.tags[0]"}},
		{`{"type":"socks5","host":"h","port":1,"id":"x","status":"alive","lastCheck":null,"hasPassword":true}`,
			[]string{"body.id", "body.status", "body.lastCheck", "body.hasPassword"}},
	} {
		a.do(t, "POST", "/proxies", c.body).invalid(t, c.want...)
		a.do(t, "POST", "/proxies/check", c.body).invalid(t, c.want...)
	}
	for body, want := range map[string]string{`{"type":null}`: "body.type", `{"port":0}`: "body.port", `{"host":""}`: "body.host",
		`{"username":null,"password":"p"}`: "body.username", `{"workspaceId":"x"}`: "body.workspaceId",
		`{"lastCheck":null}`: "body.lastCheck"} {
		a.do(t, "PUT", "/proxies/"+id, body).invalid(t, want)
	}
	a.do(t, "GET", "/proxies", nil).want(t, 200).equal(t, "total", 1)
}

// TestAddTakesWhatImportTakes: a text that is one proxy for an import is the same proxy for add, whichever form it has. type says what a
// text without a type is.
func TestAddTakesWhatImportTakes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, kind := range []string{"socks5", "http"} {
		for i, form := range []string{"%s:1080", "%s:1080:u:p", "u:p:%s:1080", "u:p@%s:1080", "%s:1080@u:p", "%s:1080::",
			"  '%s:1080:u:p' ",
			"http://%s:1080:u:p", "socks5://u:p:%s:1080", "socks4://%s:1080@u", "https://u:p@%s:1080/"} {
			line := fmt.Sprintf(form, fmt.Sprintf("f%d.%s.example", i, kind))
			body := map[string]any{"url": line}
			if !strings.Contains(line, "://") {
				body["type"] = kind
			}
			added := a.do(t, "POST", "/proxies", body).want(t, 201)
			quoted := strconv.Quote(line)
			for contentType, list := range map[string]string{"text/plain": line, "text/csv": "url\n" + line,
				"application/json": `{"proxies":[` + quoted + `,{"url":` + quoted + `}]}`} {
				r := a.importList(t, "?dryRun=true&type="+kind, contentType, list)
				for n := range r.results() {
					if got := r.text(fmt.Sprintf("results.%d.existingId", n)); got != added.text("id") {
						t.Errorf("%s of %q as %s: %s, and add made %s", contentType, line, kind, r, added)
					}
				}
			}
		}
	}
}

// TestProxyDuplicates: the same workspace, type, host, port and username is there once, whoever comes first.
func TestProxyDuplicates(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	first := a.proxy(t, "username", "u", "password", "one")
	for _, body := range []string{`{"type":"socks5","host":"proxy.example","port":1080,"username":"u","password":"two"}`,
		`{"type":"socks","host":"PROXY.example.","port":1080,"username":"u"}`, `{"url":"socks5h://u:x@proxy.example:1080"}`} {
		r := a.do(t, "POST", "/proxies", body).refused(t, 409, "duplicate")
		r.equal(t, "existingId", first)
	}
	second := a.proxy(t)                   // another username
	a.proxy(t, "workspaceId", "elsewhere") // another workspace
	r := a.do(t, "PUT", "/proxies/"+second, `{"username":"u"}`).refused(t, 409, "duplicate")
	r.equal(t, "existingId", first)
	a.do(t, "GET", "/proxies", nil).want(t, 200).equal(t, "total", 3)
	var created, refused atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			switch r := a.do(t, "POST", "/proxies", `{"type":"http","host":"race.example","port":1}`); r.status {
			case 201:
				created.Add(1)
			case 409:
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if created.Load() != 1 || refused.Load() != 7 {
		t.Errorf("8 at once: %d created, %d refused; want 1 and 7", created.Load(), refused.Load())
	}
}

// TestProxyMerge: PUT and PATCH merge; a new address or new credentials clear what the last check found, and nothing else does.
func TestProxyMerge(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.proxy(t, "host", "127.0.0.1", "port", closedPort(t), "username", "u", "password", "p", "name", "n", "tags",
		[]string{"a"}, "notes", "o")
	check := func() {
		t.Helper()
		a.do(t, "POST", "/proxies/"+id+"/check", nil).want(t, 200)
		a.do(t, "GET", "/proxies/"+id, nil).want(t, 200).equal(t, "status", "dead")
	}
	check()
	for _, body := range []string{`{}`, `{"name":"x"}`, `{"tags":null,"notes":null}`, `{"host":"127.0.0.1"}`, `{"password":"p"}`,
		`{"rotateUrl":"https://r.example/"}`} {
		r := a.do(t, "PUT", "/proxies/"+id, body).want(t, 200)
		r.equal(t, "status", "dead")
		r.equal(t, "lastCheck.id", id)
		r.equal(t, "hasPassword", true)
		r.equal(t, "uptime", 0)
	}
	a.do(t, "PATCH", "/proxies/"+id, `{"name":null,"rotateUrl":null}`).want(t, 200).equal(t, "name", "")
	for _, body := range []string{`{"port":` + strconv.Itoa(closedPort(t)) + `}`, `{"type":"http"}`, `{"type":"socks5"}`,
		`{"password":"other"}`,
		`{"username":"v"}`, `{"password":null}`, `{"username":null}`, `{"host":"127.0.0.2"}`, `{"url":"socks5://u:p@127.0.0.1:` +
			strconv.Itoa(closedPort(t)) + `"}`} {
		check()
		r := a.do(t, "PATCH", "/proxies/"+id, body).want(t, 200)
		r.equal(t, "status", "unknown")
		r.equal(t, "lastCheck", nil)
		r.equal(t, "uptime", nil)
		a.do(t, "GET", "/proxies/"+id, nil).want(t, 200).equal(t, "lastCheck", nil)
	}
	a.do(t, "GET", "/proxies/"+id, nil).want(t, 200).equal(t, "hasPassword", true)
}

// closedPort is a port of this machine where nobody listens. One end of a connection keeps it until the test ends, so that no other test
// listens there meanwhile.
func closedPort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.LocalAddr().(*net.TCPAddr).Port
}

// TestProxyInUse: a proxy that a profile uses stays; one that only the trash remembers goes, and its profile then does not
// start by accident.
func TestProxyInUse(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	a := newAPI(t)
	id := a.proxy(t)
	used := []string{a.profile(t, "proxyId", id), a.profile(t, "proxyId", id)}
	kept := a.profile(t, "proxyId", id)
	a.do(t, "GET", "/proxies/"+id, nil).want(t, 200).equal(t, "profileCount", 3)
	a.do(t, "DELETE", "/profiles/"+kept, nil).want(t, 204)
	r := a.do(t, "DELETE", "/proxies/"+id, nil).refused(t, 409, "proxy_in_use")
	slices.Sort(used)
	r.equal(t, "profileIds", used)
	for _, p := range used {
		a.do(t, "PUT", "/profiles/"+p, `{"proxyId":null}`).want(t, 200).equal(t, "proxyId", nil)
	}
	a.do(t, "GET", "/proxies/"+id, nil).want(t, 200).equal(t, "profileCount", 0)
	a.do(t, "DELETE", "/proxies/"+id, nil).want(t, 204)
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
		var body any
		if method[0] == 'P' {
			body = `{}`
		}
		a.do(t, method, "/proxies/"+id, body).refused(t, 404, "proxy_not_found")
	}
	a.do(t, "POST", "/proxies/"+id+"/check", nil).refused(t, 404, "proxy_not_found")
	back := a.do(t, "POST", "/profiles/"+kept+"/restore", nil).want(t, 200)
	back.equal(t, "proxyId", nil)
	back.equal(t, "proxyMissing", true)
	for _, body := range []any{nil, `{}`, `{"dryRun":true}`} {
		a.do(t, "POST", "/profiles/"+kept+"/start", body).refused(t, 409, "proxy_missing")
	}
	a.do(t, "POST", "/profiles/"+kept+"/start", `{"dryRun":true,"proxyId":null}`).want(t, 200) // for this run alone
	a.do(t, "PUT", "/profiles/"+kept, `{"name":"still"}`).want(t, 200).equal(t, "proxyMissing", true)
	other := a.proxy(t, "host", "other.example")
	a.do(t, "PUT", "/profiles/"+kept, map[string]any{"proxyId": other}).want(t, 200).equal(t, "proxyMissing", false)
	a.do(t, "POST", "/profiles/"+kept+"/start", `{"dryRun":true}`).want(t, 200)
}

// TestProxyOfAnotherWorkspace: a profile and its proxy are of one workspace.
func TestProxyOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.proxy(t, "workspaceId", "w1")
	here, there := a.profile(t), a.profile(t, "workspaceId", "w1")
	a.do(t, "POST", "/profiles", map[string]any{"name": "x", "proxyId": id}).invalid(t, "body.proxyId")
	a.do(t, "PUT", "/profiles/"+here, map[string]any{"proxyId": id}).invalid(t, "body.proxyId")
	a.do(t, "POST", "/profiles/"+here+"/start", map[string]any{"dryRun": true, "proxyId": id}).invalid(t, "body.proxyId")
	a.do(t, "PUT", "/profiles/"+there, map[string]any{"proxyId": id}).want(t, 200)
	a.do(t, "PUT", "/profiles/"+there, `{"webrtc":"default"}`).invalid(t, "body.webrtc") // it would leak
	a.do(t, "PUT", "/profiles/"+there, `{"webrtc":"default","proxyId":null}`).want(t, 200)
	a.do(t, "PUT", "/profiles/"+there, map[string]any{"proxyId": id}).invalid(t, "body.webrtc")
}

// checkRig is what checks go through: a SOCKS5 proxy with a password that knows a check service by name.
type checkRig struct {
	proxy *testnet.LocalProxy
	site  string // host:port
}

func newCheckRig(t testing.TB) *checkRig {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		fmt.Fprintf(w, `{"ip":%q}`, host)
	}))
	t.Cleanup(site.Close)
	address := strings.TrimPrefix(site.URL, "http://")
	return &checkRig{testnet.NewLocalProxy(t, address), address}
}

func (c *checkRig) fields(password string) map[string]any {
	return map[string]any{"type": "socks5", "host": "127.0.0.1", "port": c.proxy.Port(), "username": c.proxy.User, "password": password}
}

// TestCheck: a check goes through the proxy with its password to the check URL, saved and unsaved, and is kept.
func TestCheck(t *testing.T) {
	t.Parallel()
	a, rig := newAPI(t), newCheckRig(t)
	id := a.do(t, "POST", "/proxies", rig.fields(rig.proxy.Password)).want(t, 201).text("id")
	profile := a.profile(t, "proxyId", id)
	for _, c := range []struct {
		path string
		body any
	}{{"/proxies/" + id + "/check", nil}, {"/proxies/" + id + "/check", `{}`}, {"/proxies/check", rig.fields(rig.proxy.Password)},
		{"/proxies/check", map[string]any{"url": fmt.Sprintf("socks5://%s:%s@127.0.0.1:%d", rig.proxy.User, rig.proxy.Password,
			rig.proxy.Port())}}} {
		r := a.do(t, "POST", c.path, c.body).want(t, 200)
		for member, want := range map[string]any{"ok": true, "status": "alive", "exitIp": rig.proxy.Exit, "ipVersion": 4, "remoteDns": true,
			"error": nil, "exitChanged": false, "country": nil, "timezone": nil, "geoSource": nil, "timings.tlsMs": nil} {
			r.equal(t, member, want)
		}
		if r.at("latencyMs") == nil || r.at("checkedAt") == nil || r.at("durationMs") == nil {
			t.Errorf("no latency, time or duration: %s", r)
		}
		if c.path == "/proxies/check" {
			r.equal(t, "id", nil)
			r.equal(t, "usedByProfiles", []string{})
			continue
		}
		r.equal(t, "id", id)
		r.equal(t, "usedByProfiles", []string{profile})
		saved := a.do(t, "GET", "/proxies/"+id, nil).want(t, 200)
		saved.equal(t, "lastCheck", r.at(""))
		saved.equal(t, "status", "alive")
		saved.equal(t, "uptime", 1)
	}
	a.do(t, "GET", "/proxies", nil).want(t, 200).equal(t, "total", 1) // what was not saved stays so
}

// TestDeadProxies: 200 with the stage and the code of what failed.
func TestDeadProxies(t *testing.T) {
	t.Parallel()
	a, rig := newAPI(t), newCheckRig(t)
	speaks := func(answer string) int { // somebody who reads a little, answers so, and hangs up
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				var b [512]byte
				c.Read(b[:])
				c.Write([]byte(answer))
				c.Close()
			}
		}()
		return l.Addr().(*net.TCPAddr).Port
	}
	with := func(port int) map[string]any {
		return map[string]any{"type": "socks5", "host": "127.0.0.1", "port": port}
	}
	withPassword := func(port int) map[string]any {
		m := with(port)
		m["username"], m["password"] = "demo", "wrong-password"
		return m
	}
	for name, c := range map[string]struct {
		body        map[string]any
		stage, code string
	}{
		"nobody listens":   {with(closedPort(t)), "connect", "connection_refused"},
		"wrong password":   {withPassword(rig.proxy.Port()), "auth", "auth_failed"},
		"password wanted":  {with(rig.proxy.Port()), "auth", "auth_required"},
		"hangs up":         {with(speaks("")), "greeting", "connection_closed"},
		"an HTTP server":   {with(speaks("HTTP/1.1 400 Bad Request\r\n\r\n")), "greeting", "not_a_proxy"},
		"refuses":          {with(speaks("\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00")), "request", "request_refused"},
		"host unreachable": {with(speaks("\x05\x00\x05\x04\x00\x01\x00\x00\x00\x00\x00\x00")), "request", "host_unreachable"},
		"cannot resolve":   {map[string]any{"type": "socks5", "host": "no-such-host.invalid", "port": 1}, "resolve", "dns_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := a.do(t, "POST", "/proxies/check", c.body).want(t, 200)
			r.equal(t, "ok", false)
			r.equal(t, "status", "dead")
			r.equal(t, "exitIp", nil)
			r.equal(t, "latencyMs", nil)
			r.equal(t, "error.stage", c.stage)
			r.equal(t, "error.code", c.code)
			if strings.Contains(string(r.body), "wrong-password") {
				t.Errorf("the password is there: %s", r)
			}
			id := a.do(t, "POST", "/proxies", c.body).want(t, 201).text("id")
			a.do(t, "POST", "/proxies/"+id+"/check", nil).want(t, 200).equal(t, "error.code", c.code)
			a.do(t, "GET", "/proxies/"+id, nil).want(t, 200).equal(t, "status", "dead")
		})
	}
}

// waitFor looks until it is so; it fails when that is not soon enough.
func waitFor(t testing.TB, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(enough)
	for !so() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// goroutinesIn counts the goroutines that are in a function.
func goroutinesIn(function string) int {
	b := make([]byte, 4<<20)
	n := 0
	for stack := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
		if strings.Contains(stack, function) {
			n++
		}
	}
	return n
}

// TestCheckServiceOfOurOwn: warren's own /ip is a check URL.
func TestCheckServiceOfOurOwn(t *testing.T) {
	t.Parallel()
	other := newAPI(t)
	a := newAPI(t, func(c *setup) { c.CheckURL = []string{other.base + "/ip"} })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connect := &http.Server{Handler: http.HandlerFunc(connectTo(other.hostPort()))}
	go connect.Serve(l)
	t.Cleanup(func() { connect.Close() })
	r := a.do(t, "POST", "/proxies/check", map[string]any{"type": "http", "host": "127.0.0.1",
		"port": l.Addr().(*net.TCPAddr).Port}).want(t, 200)
	r.equal(t, "ok", true)
	r.equal(t, "exitIp", "127.0.0.1")
}

// connectTo is an HTTP proxy that takes CONNECT to one address.
func connectTo(address string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != address {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		up, err := net.Dial("tcp", address)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer up.Close()
		w.WriteHeader(http.StatusOK)
		down, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer down.Close()
		go func() {
			buffered.WriteTo(up)
			up.Close()
		}()
		b := make([]byte, 4096)
		for {
			n, err := up.Read(b)
			if n > 0 {
				down.Write(b[:n])
			}
			if err != nil {
				return
			}
		}
	}
}
