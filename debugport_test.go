package main

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"warren/shim"
)

// Nothing that the API takes may lead to 127.77.0.0/16: each member that names an address refuses it, in every spelling.
func TestDebugRangeInTheAPI(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	profile, proxy := a.profile(t), a.proxy(t)
	for _, host := range []string{"127.77.0.1", "127.77.1", "0x7f.77.0.1", "2135752705", "0177.0115.0.1", "[::ffff:127.77.0.1]", "[::ffff:7f4d:1]", "127.77.255.255"} {
		a.do(t, "PUT", "/profiles/"+profile, map[string]any{"allowLocal": []string{host + ":9222"}}).invalid(t, "body.allowLocal[0]")
		a.do(t, "PUT", "/profiles/"+profile, map[string]any{"localhostVia": []string{host + ":9222"}}).invalid(t, "body.localhostVia[0]")
		a.do(t, "PUT", "/proxies/"+proxy, map[string]any{"host": host}).invalid(t, "body.host")
		a.do(t, "POST", "/proxies", map[string]any{"url": "socks5://" + host + ":9222"}).invalid(t, "body.url")
		a.do(t, "POST", "/proxies/check", map[string]any{"type": "http", "host": host, "port": 9222}).invalid(t, "body.host")
		a.do(t, "PUT", "/proxies/"+proxy, map[string]any{"rotateUrl": "http://" + host + ":9222/json/close/x"}).invalid(t, "body.rotateUrl")
		r := a.importList(t, "", "text/plain", host+":9222\n")
		r.equal(t, "created", 0)
		for _, flags := range [][2][]string{{{"http://" + host + "/ip"}, nil}, {{"http://ok.example/ip"}, {"https://" + host + "/ip"}}} {
			cfg := testConfig(t)
			cfg.CheckURL, cfg.CheckURL6 = flags[0], flags[1]
			if err := cfg.resolve(); err == nil || !strings.Contains(err.Error(), "127.77.0.0/16") {
				t.Errorf("--check-url %v: %v", flags, err)
			}
		}
	}
	a.do(t, "PUT", "/profiles/"+profile, `{"allowLocal":["127.0.0.1:9222","127.78.0.1:9222"],"localhostVia":["9222"]}`).want(t, 200)
}

// What another profile names of this machine does not lead to a run's debug port: not its port, which one finds by trying, and not its address.
func TestDebugPortFromAnotherProfile(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newGround(t)
	s := g.serve()
	address, port := s.debugPortAlone()
	if ports := shim.DebugPorts(filepath.Join(g.data, "run"))(); len(ports) > 0 {
		t.Fatalf("this system has no 127.77.0.0/16: %v", ports)
	}
	other := s.profile(map[string]any{"allowLocal": []string{"localhost:" + port, "[::1]:" + port}, "localhostVia": []string{port}})
	v := dialCDP(t, s.start(other, nil).WsEndpoint, nil)
	page := v.open("about:blank")
	for _, target := range []string{address, "localhost:" + port, "127.0.0.1:" + port, "[::ffff:" + strings.Replace(address, ":", "]:", 1), "0.0.0.0:" + port} {
		got := v.eval(page, `fetch("http://`+target+`/json/list", {mode: "no-cors"}).then(() => "reached", () => "failed")`)
		if got != "failed" {
			t.Errorf("%s is %s", target, got)
		}
	}
	s.refused("PUT", "/profiles/"+other, map[string]any{"allowLocal": []string{address}}, 422, "validation_failed")
}

// debugPortAlone starts runs until one has a debug port whose number is free at the machine's own loopback addresses too, and returns its
// address and port. Until the test ends what connects there is hung up on: another test's server at the number is not the debug port.
func (s *liveServer) debugPortAlone() (address, port string) {
	s.t.Helper()
	for range 5 {
		address = *s.start(s.profile(nil), map[string]any{"debugPort": true}).DebuggerAddress
		_, port, _ = net.SplitHostPort(address)
		if hangUpAt(s.t, "127.0.0.1:"+port) && hangUpAt(s.t, "[::1]:"+port) {
			return address, port
		}
	}
	s.t.Fatalf("port %s is taken at 127.0.0.1 or ::1 too, as that of each of 5 runs: the debug port listens there", port)
	return "", ""
}

// hangUpAt takes connections at an address and closes them, until the test ends. It returns false where somebody listens already.
func hangUpAt(t testing.TB, address string) bool {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return false
	}
	if err != nil { // a machine without IPv6 has nobody at ::1
		return true
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return true
}

// The port for debuggers ends with the key that it was opened for, and what came by it too, also at the server after that which opened it.
func TestDebugPortEndsWithItsKey(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newGround(t)
	s := g.serve()
	ends := func(s *liveServer, id, address string, c *cdpClient) {
		t.Helper()
		if err := c.awaitEnd(enough); err != nil {
			t.Error("what came by the port goes on")
		}
		eventually(t, "the port is closed", enough, func() bool {
			c, err := net.Dial("tcp", address)
			if err == nil {
				c.Close()
			}
			return err != nil
		})
		eventually(t, "start does not tell of it", enough, func() bool { return s.start(id, nil).DebuggerAddress == nil })
	}
	open := func(id, key string) (string, *cdpClient) {
		t.Helper()
		address := *s.as(key).start(id, map[string]any{"debugPort": true}).DebuggerAddress
		c := dialCDP(t, "ws://"+address, nil)
		c.call("", "Browser.getVersion", nil, nil)
		return address, c
	}
	first, second := s.profile(nil), s.profile(nil)
	keyID, key := s.key(nil)
	address, c := open(first, key)
	otherID, other := s.key(nil)
	kept, goesOn := open(second, other)
	s.do("DELETE", "/keys/"+keyID, nil, 204, nil)
	ends(s, first, address, c)
	goesOn.call("", "Browser.getVersion", nil, nil)

	s.kill()
	next := g.serve()
	goesOn.call("", "Browser.getVersion", nil, nil)
	next.do("DELETE", "/keys/"+otherID, nil, 204, nil)
	ends(next, second, kept, goesOn)
}
