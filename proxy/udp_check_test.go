package proxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serveUDP serves UDP on an address until the test ends. each returns the answers to a datagram.
func serveUDP(t testing.TB, address string, each func([]byte) [][]byte) *net.UDPAddr {
	t.Helper()
	pc, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Skip(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 2000)
		for {
			n, from, err := pc.ReadFrom(b)
			if err != nil {
				return
			}
			for _, answer := range each(bytes.Clone(b[:n])) {
				pc.WriteTo(answer, from)
			}
		}
	}()
	t.Cleanup(func() { pc.Close(); <-done })
	return pc.LocalAddr().(*net.UDPAddr)
}

// stunAnswer answers a Binding request with a message of the kind with the attributes.
func stunAnswer(kind uint16, attributes []byte) func([]byte) [][]byte {
	return func(rq []byte) [][]byte {
		b := binary.BigEndian.AppendUint16(nil, kind)
		b = binary.BigEndian.AppendUint16(b, uint16(len(attributes)))
		return [][]byte{append(append(b, rq[4:20]...), attributes...)}
	}
}

// xorMapped is an XOR-MAPPED-ADDRESS of 203.0.113.7:80.
var xorMapped = []byte{0, 0x20, 0, 8, 0, 1, 0x21, 0x42, 203 ^ 0x21, 0 ^ 0x12, 113 ^ 0xa4, 7 ^ 0x42}

// udpAssociate is a SOCKS5 server with a password that does UDP ASSOCIATE, and names bound as its address. each gets the header and the
// payload of a datagram and returns the answers.
func udpAssociate(t *testing.T, bound [4]byte, each func(head, inner []byte) [][]byte) func(net.Conn) {
	port := serveUDP(t, "127.0.0.1:0", func(b []byte) [][]byte {
		if len(b) < 7 || b[3] != 3 || string(b[5:5+b[4]]) != "stun.test" {
			t.Errorf("the proxy got %x", b)
			return nil
		}
		head := 7 + int(b[4])
		return each(b[:head], b[head:])
	}).Port
	return func(c net.Conn) {
		for _, s := range []step{{greetingLen, "\x05\x02"}, {3 + 8, "\x01\x00"}, {3, ""}} {
			s.hear(c)
			io.WriteString(c, s.write)
		}
		if rest := take(c, 7); !bytes.Equal(rest, []byte{1, 0, 0, 0, 0, 0, 0}) {
			t.Errorf("the request ends in %x", rest)
		}
		c.Write(append([]byte{5, 0, 0, 1, bound[0], bound[1], bound[2], bound[3]}, byte(port>>8), byte(port)))
		io.Copy(io.Discard, c)
	}
}

// throughHead puts an answer behind a datagram's header.
func throughHead(answer func([]byte) [][]byte) func(head, inner []byte) [][]byte {
	return func(head, inner []byte) (out [][]byte) {
		for _, a := range answer(inner) {
			out = append(out, append(bytes.Clone(head), a...))
		}
		return out
	}
}

// The check finds the exit of datagrams through a proxy that relays them to a STUN server, also when the first one is lost. It sends
// only to the proxy's own address.
func TestUDP(t *testing.T) {
	stun := serveUDP(t, "127.0.0.1:0", stunAnswer(stunSuccess, append([]byte{0x80, 0x22, 0, 3, 'a', 'b', 'c', 0}, xorMapped...)))
	var lost atomic.Int32
	relays := func(head, inner []byte) [][]byte {
		if lost.Add(1) == 1 {
			return nil
		}
		u, err := net.DialUDP("udp", nil, stun)
		if err != nil {
			t.Error(err)
			return nil
		}
		defer u.Close()
		u.Write(inner)
		b := make([]byte, 1500)
		u.SetReadDeadline(time.Now().Add(waitLimit))
		n, _ := u.Read(b)
		return [][]byte{append(bytes.Clone(head), b[:n]...)}
	}
	r := probeUDPThrough(t, udpAssociate(t, [4]byte{10, 9, 9, 9}, relays))
	if r == nil || !r.OK || r.ExitIP != "203.0.113.7" || r.Err != nil || lost.Load() != 2 {
		t.Errorf("got %+v after %d datagrams", r, lost.Load())
	}
}

// probeUDPThrough checks a server's UDP. Connections go through another handler, so the check is good whatever its UDP does.
func probeUDPThrough(t *testing.T, handle func(net.Conn)) *UDPResult {
	t.Helper()
	good := network{"ip.test:80": serve(t, site(200, "", "203.0.113.9")).addr()}.socks5(&credentials{"user", "pass"})
	var n atomic.Int32
	s := serve(t, func(c net.Conn) {
		if n.Add(1) == 1 {
			good(c)
		} else {
			handle(c)
		}
	})
	c := &Checker{Policy: nearby, URLs: []string{"http://ip.test/"}, UDPURL: "stun://stun.test:3478", Timeout: time.Second}
	r := c.Check(t.Context(), *upstream(SOCKS5, s, "user", "pass"))
	if !r.OK || r.ExitIP != "203.0.113.9" || r.Duration > 3*time.Second/2 {
		t.Errorf("the check is not good: %+v", r)
	}
	return r.UDP
}

func TestUDPFaults(t *testing.T) {
	plain := throughHead(stunAnswer(stunSuccess, xorMapped))
	login := []step{{greetingLen, "\x05\x02"}, {3 + 8, "\x01\x00"}}
	says := func(s string) func(net.Conn) { return play(append(login, step{10, s})...) }
	for name, tc := range map[string]struct {
		handle func(*testing.T) func(net.Conn)
		stage  Stage
		code   Code
	}{
		"refuses the command": {func(*testing.T) func(net.Conn) { return says("\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00") }, StageRequest,
			RequestRefused},
		"closes":    {func(*testing.T) func(net.Conn) { return func(net.Conn) {} }, StageGreeting, ConnectionClosed},
		"is silent": {func(*testing.T) func(net.Conn) { return play() }, StageGreeting, TimedOut},
		"names no port": {func(*testing.T) func(net.Conn) { return says("\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00") }, StageRequest,
			NotAProxy},
		"relays nothing": {func(t *testing.T) func(net.Conn) {
			return udpAssociate(t, [4]byte{}, func(_, _ []byte) [][]byte { return nil })
		}, StageResponse, TimedOut},
		"names another's host": {func(t *testing.T) func(net.Conn) { return udpAssociate(t, [4]byte{198, 51, 100, 9}, plain) }, "", ""},
		"another transaction": {func(t *testing.T) func(net.Conn) {
			return udpAssociate(t, [4]byte{}, throughHead(func(rq []byte) [][]byte {
				rq[19]++
				return stunAnswer(stunSuccess,
					xorMapped)(rq)
			}))
		}, StageResponse, TimedOut},
		"a flood of others": {func(t *testing.T) func(net.Conn) {
			return udpAssociate(t, [4]byte{}, func(_, _ []byte) (out [][]byte) { return make([][]byte, 200) })
		}, StageResponse, BadResponse},
		"STUN refuses": {func(t *testing.T) func(net.Conn) {
			return udpAssociate(t, [4]byte{}, throughHead(stunAnswer(stunError, nil)))
		}, StageResponse, BadResponse},
		"STUN tells nothing": {func(t *testing.T) func(net.Conn) {
			return udpAssociate(t, [4]byte{}, throughHead(stunAnswer(stunSuccess, []byte{0x80, 0x22, 0xff, 0xff})))
		}, StageResponse, BadResponse},
		"old form": {func(t *testing.T) func(net.Conn) {
			return udpAssociate(t, [4]byte{}, throughHead(stunAnswer(stunSuccess, []byte{0, 1, 0, 8, 0, 1, 0, 80, 203, 0, 113, 7})))
		}, "", ""},
		"not relayed, answered bare": {func(t *testing.T) func(net.Conn) {
			return udpAssociate(t, [4]byte{}, func(_, inner []byte) [][]byte { return stunAnswer(stunSuccess, xorMapped)(inner) })
		}, StageResponse, TimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := probeUDPThrough(t, tc.handle(t))
			switch {
			case r == nil:
				t.Error("nobody asked")
			case tc.code == "" && (!r.OK || r.ExitIP != "203.0.113.7"):
				t.Errorf("got %+v", r)
			case tc.code != "":
				if r.Err == nil || r.OK || r.ExitIP != "" {
					t.Fatalf("it was believed: %+v", r)
				}
				wantFault(t, r.Err, tc.stage, tc.code)
			}
		})
	}
}

// A proxy that names another host's address and port gets the datagrams itself.
func TestUDPGoesToTheProxyAlone(t *testing.T) {
	var away atomic.Int32
	bird := serveUDP(t, "127.0.0.2:0", func([]byte) [][]byte { away.Add(1); return nil })
	var here atomic.Int32
	pc, err := net.ListenPacket("udp", net.JoinHostPort("127.0.0.1", port16(binary.BigEndian.AppendUint16(nil, uint16(bird.Port)))))
	if err != nil {
		t.Skip(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(b)
			if err != nil {
				return
			}
			here.Add(1)
			head := 7 + int(b[4])
			pc.WriteTo(append(bytes.Clone(b[:head]), stunAnswer(stunSuccess, xorMapped)(b[head:n])[0]...), from)
		}
	}()
	defer func() { pc.Close(); <-done }()
	r := probeUDPThrough(t, play(step{greetingLen, "\x05\x02"}, step{3 + 8, "\x01\x00"},
		step{10, "\x05\x00\x00\x01\x7f\x00\x00\x02" + string(binary.BigEndian.AppendUint16(nil, uint16(bird.Port)))}))
	if r == nil || !r.OK || here.Load() == 0 || away.Load() != 0 {
		t.Errorf("got %+v; %d datagrams to the proxy, %d to where it pointed", r, here.Load(), away.Load())
	}
}

func TestUDPIsNotAskedOf(t *testing.T) {
	good := serve(t, site(200, "", "203.0.113.9"))
	names := network{"ip.test:80": good.addr()}
	c := &Checker{Policy: nearby, URLs: []string{"http://ip.test/"}, UDPURL: "stun://stun.test"}
	if r := c.Check(t.Context(), *upstream(HTTP, serve(t, names.connect(nil)), "", "")); !r.OK || r.UDP != nil {
		t.Errorf("an http proxy: %+v", r)
	}
	for raw, ok := range map[string]bool{"stun://a.test": true, "stun://a.test:1": true, "stun://[2001:db8::1]": true,
		"stun://[2001:db8::1]:5": true, "http://a.test": false, "stun://": false, "stun://a b": false} {
		if _, fault := stunTarget(raw); (fault == nil) != ok {
			t.Errorf("%s: %v", raw, fault)
		}
	}
	c.UDPURL = "ftp://x"
	if r := c.Check(t.Context(), *upstream(SOCKS5, serve(t, names.socks5(nil)), "", "")); !r.OK || r.UDP == nil || r.UDP.Err == nil {
		t.Errorf("a bad URL: %+v", r)
	}
}

// A cancel takes effect at once while datagrams are awaited.
func TestUDPCancel(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	s := serve(t, udpAssociate(t, [4]byte{}, func(_, _ []byte) [][]byte { leave(); return nil }))
	c := &Checker{Policy: nearby, UDPURL: "stun://stun.test"}
	start := time.Now()
	r := c.probeUDP(ctx, *upstream(SOCKS5, s, "user", "pass"), waitLimit)
	if r.OK || !errors.Is(r.Err, context.Canceled) || time.Since(start) > waitLimit/2 {
		t.Errorf("got %+v after %v", r, time.Since(start))
	}
}

func TestExitOverIPv6(t *testing.T) {
	names := network{}
	for name, body := range map[string]string{"four.test:80": "203.0.113.9", "six.test:80": "2001:db8::7", "broken.test:80": "x"} {
		names[name] = serve(t, site(200, "", body)).addr()
	}
	names["mute.test:80"] = serve(t, play()).addr()
	s := serve(t, names.socks5(nil))
	for _, tc := range []struct {
		urls, urls6 string
		exit, want  string
	}{
		{"four", "", "203.0.113.9", ""},
		{"four", "six", "203.0.113.9", "2001:db8::7"},
		{"four", "none six", "203.0.113.9", "2001:db8::7"},
		{"four", "four", "203.0.113.9", ""}, // no answer over IPv6
		{"four", "broken", "203.0.113.9", ""},
		{"four", "mute", "203.0.113.9", ""},
		{"six", "mute", "2001:db8::7", "2001:db8::7"},
	} {
		list := func(s string) (out []string) {
			for _, name := range strings.Fields(s) {
				out = append(out, "http://"+name+".test/")
			}
			return out
		}
		c := &Checker{Policy: nearby, URLs: list(tc.urls), URLs6: list(tc.urls6), Timeout: time.Second}
		r := c.Check(t.Context(), *upstream(SOCKS5, s, "", ""))
		if !r.OK || r.Err != nil || r.ExitIP != tc.exit || r.ExitIPv6 != tc.want || r.Duration > 800*time.Millisecond {
			t.Errorf("%+v: got %+v", tc, r)
		}
	}
	c := &Checker{URLs: []string{"http://ip.test/"}, URLs6: []string{"http://six.test/"}, Policy: nearby, Timeout: waitLimit}
	if r := c.Check(t.Context(), *upstream(SOCKS5, s, "", "")); r.OK || r.ExitIPv6 != "" {
		t.Errorf("a dead one: %+v", r)
	}
}
