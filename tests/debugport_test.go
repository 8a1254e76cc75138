package tests

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"warren/shim"
)

// Another profile cannot reach a run's debug port, neither by its port, which can be found by trying, nor by its
// address.
func TestDebugPortFromAnotherProfile(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	address, port := s.debugPortAlone()
	if ports := shim.DebugPorts(filepath.Join(g.data, "run"))(); len(ports) > 0 {
		t.Fatalf("this system has no 127.77.0.0/16: %v", ports)
	}
	other := s.profile(map[string]any{"allowLocal": []string{"localhost:" + port, "[::1]:" + port}, "localhostVia": []string{port}})
	v := dialCDP(t, s.start(other, nil).WsEndpoint, nil)
	page := v.open("about:blank")
	for _, target := range []string{address, "localhost:" + port, "127.0.0.1:" + port, "[::ffff:" + strings.Replace(address, ":", "]:", 1),
		"0.0.0.0:" + port} {
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
	g := newTestbed(t)
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
