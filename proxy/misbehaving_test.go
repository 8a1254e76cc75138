package proxy

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Upstreams that misbehave. For each of them the stage and the code are right, the dial ends in time, and no goroutine is left.
// Nothing is dialled but the proxy, and the password is sent only when the proxy has asked for it.

const (
	testUser = "evil-user"
	testPass = "evil-hunter2"
)

// step is part of a script of a server: it reads so many bytes of the client's, then writes.
type step struct {
	read  int
	write string
}

var (
	greetingLen = -1 // the greeting has one method or two, and says how many
	authLen     = 3 + len(testUser) + len(testPass)
	// The script of a good SOCKS5 server with a password.
	goodSOCKS5 = []step{{greetingLen, "\x05\x02"}, {authLen, "\x01\x00"}, {10, "\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"}}
)

func play(steps ...step) func(net.Conn) {
	return func(c net.Conn) {
		for _, s := range steps {
			s.hear(c)
			io.WriteString(c, s.write)
		}
		io.Copy(io.Discard, c) // then it is silent until the client closes
	}
}

func (s step) hear(c net.Conn) {
	if s.read == greetingLen {
		s.read = int(at(take(c, 2), 1))
	}
	take(c, s.read)
}

// reset resets the connection once the client has sent a byte: before that, the connect itself might fail.
func reset(c net.Conn) {
	take(c, 1)
	c.(recorded).resetOnClose()
	c.Close()
}

// resets resets the connection at once.
func resets(c net.Conn) { c.(recorded).resetOnClose(); c.Close() }

// timesOut tries with more and more time, until the try gets as far as the stage: a busy machine may delay what the server sends.
// A result other than such an early timeout is final.
func timesOut(t testing.TB, stage Stage, limit time.Duration, try func(time.Duration) *Error) *Error {
	t.Helper()
	for {
		fault := try(limit)
		if limit *= 2; fault == nil || fault.Code != TimedOut || stageRank(fault.Stage) >= stageRank(stage) || limit > waitLimit {
			return fault
		}
		t.Logf("it took longer than %v to come beyond %s", limit/2, fault.Stage)
	}
}

func stageRank(s Stage) int {
	return slices.Index([]Stage{StageResolve, StageConnect, StageTLS, StageGreeting, StageAuth, StageRequest, StageResponse}, s)
}

// afterHead waits for the head of an HTTP request.
func afterHead(then func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		for line, err := r.ReadString('\n'); err == nil && strings.TrimSpace(line) != ""; {
			line, err = r.ReadString('\n')
		}
		then(c)
	}
}

func says(text string) func(net.Conn) {
	return afterHead(func(c net.Conn) { io.WriteString(c, text); io.Copy(io.Discard, c) })
}

// repeatForever repeats text until the client closes.
func repeatForever(text string) func(net.Conn) {
	return func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

// drip sends one byte at a time, and never enough.
func drip(text string) func(net.Conn) {
	return func(c net.Conn) {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			<-tick.C
			if _, err := io.WriteString(c, text[i%len(text):i%len(text)+1]); err != nil {
				return
			}
		}
	}
}

type misbehaviour struct {
	name   string
	typ    Type
	login  bool // with user name and password
	handle func(net.Conn)
	stage  Stage
	code   Code
	asked  bool // whether the server may have seen the password
}

func misbehavingSOCKS() []misbehaviour {
	greet := step{greetingLen, "\x05\x02"}
	auth := step{authLen, "\x01\x00"}
	reply := func(s string) func(net.Conn) { return play(greet, auth, step{10, s}) }
	return []misbehaviour{
		{"silent", SOCKS5, true, play(), StageGreeting, TimedOut, false},
		{"closes at once", SOCKS5, true, func(net.Conn) {}, StageGreeting, ConnectionClosed, false},
		{"resets at once", SOCKS5, true, reset, StageGreeting, ConnectionClosed, false},
		{"silent after greeting", SOCKS5, true, play(greet), StageAuth, TimedOut, true},
		{"silent after auth", SOCKS5, true, play(greet, auth), StageRequest, TimedOut, true},
		{"silent in its reply", SOCKS5, true, reply("\x05\x00\x00"), StageRequest, TimedOut, true},
		{"one byte of a greeting", SOCKS5, true, play(step{0, "\x05"}), StageGreeting, TimedOut, false},
		{"one byte at a time", SOCKS5, true, func(c net.Conn) {
			drip("\x05\x02\x01\x00\x05\x00\x00\x03\xff" + strings.Repeat("a", 300))(c)
		}, StageRequest, TimedOut, true},
		{"wrong version", SOCKS5, true, play(step{greetingLen, "\x06\x02"}), StageGreeting, NotAProxy, false},
		{"SOCKS4 answers", SOCKS5, true, play(step{greetingLen, "\x00\x5b\x00\x00\x00\x00\x00\x00"}), StageGreeting, NotAProxy, false},
		{"HTTP answers", SOCKS5, true, play(step{greetingLen, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"}), StageGreeting,
			NotAProxy, false},
		{"TLS answers", SOCKS5, true, play(step{greetingLen, "\x15\x03\x01\x00\x02\x02\x46"}), StageGreeting, NotAProxy, false},
		{"SSH speaks first", SOCKS5, true, play(step{0, "SSH-2.0-OpenSSH_9.2\r\n"}), StageGreeting, NotAProxy, false},
		{"mail speaks first", SOCKS5, true, play(step{0, "220 mail ESMTP\r\n"}), StageGreeting, NotAProxy, false},
		{"endless banner", SOCKS5, true, repeatForever("welcome "), StageGreeting, NotAProxy, false},
		{"endless fives", SOCKS5, true, repeatForever("\x05\x05\x05\x05"), StageGreeting, NotAProxy, false},
		{"endless zeros", SOCKS5, true, repeatForever("\x00\x00\x00\x00"), StageGreeting, NotAProxy, false},
		{"no method will do", SOCKS5, true, play(step{greetingLen, "\x05\xff"}), StageAuth, AuthFailed, false},
		{"no method will do, no login", SOCKS5, false, play(step{3, "\x05\xff"}), StageAuth, AuthRequired, false},
		{"wants a password that was not offered", SOCKS5, false, play(step{3, "\x05\x02"}, step{3, "\x01\x00"}), StageAuth, AuthRequired,
			false},
		{"chooses GSSAPI", SOCKS5, true, play(step{greetingLen, "\x05\x01"}), StageGreeting, NotAProxy, false},
		{"chooses GSSAPI, no login", SOCKS5, false, play(step{3, "\x05\x01"}), StageGreeting, NotAProxy, false},
		{"chooses method 0x80", SOCKS5, true, play(step{greetingLen, "\x05\x80"}), StageGreeting, NotAProxy, false},
		{"unsolicited auth reply", SOCKS5, true, play(step{greetingLen, "\x05\x00\x01\x00"},
			step{10, "\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"}), StageRequest, NotAProxy, false},
		{"everything at once, not asked", SOCKS5, false, play(step{0, "\x05\x02\x01\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"}),
			StageAuth, AuthRequired, false},
		{"wrong password", SOCKS5, true, play(greet, step{authLen, "\x01\x01"}), StageAuth, AuthFailed, true},
		{"wrong password, closes", SOCKS5, true, func(c net.Conn) { greet.hear(c); io.WriteString(c, "\x05\x02"); take(c, authLen) },
			StageAuth, ConnectionClosed, true},
		{"auth reply of version 5", SOCKS5, true, play(greet, step{authLen, "\x05\x00"}), StageAuth, NotAProxy, true},
		{"general failure", SOCKS5, true, reply("\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00"), StageRequest, RequestRefused, true},
		{"not allowed", SOCKS5, true, reply("\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"), StageRequest, RequestRefused, true},
		{"network unreachable", SOCKS5, true, reply("\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00"), StageRequest, TargetUnreachable, true},
		{"host unreachable", SOCKS5, true, reply("\x05\x04\x00\x01\x00\x00\x00\x00\x00\x00"), StageRequest, HostUnreachable, true},
		{"target refuses", SOCKS5, true, reply("\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00"), StageRequest, TargetUnreachable, true},
		{"TTL expired", SOCKS5, true, reply("\x05\x06\x00\x01\x00\x00\x00\x00\x00\x00"), StageRequest, TargetUnreachable, true},
		{"no such command", SOCKS5, true, reply("\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00"), StageRequest, RequestRefused, true},
		{"no such address type", SOCKS5, true, reply("\x05\x08\x00\x01\x00\x00\x00\x00\x00\x00"), StageRequest, RequestRefused, true},
		{"unknown reply code, short", SOCKS5, true, reply("\x05\xee\x00\x01"), StageRequest, RequestRefused, true},
		{"refuses without the rest", SOCKS5, true, func(c net.Conn) { reply("\x05\x02")(c) }, StageRequest, RequestRefused, true},
		{"reply of version 4", SOCKS5, true, reply("\x04\x00\x00\x01\x00\x00\x00\x00\x00\x00"), StageRequest, NotAProxy, true},
		{"reserved byte", SOCKS5, true, reply("\x05\x00\x07\x01\x00\x00\x00\x00\x00\x00"), StageRequest, NotAProxy, true},
		{"address of no type", SOCKS5, true, reply("\x05\x00\x00\x09\x00\x00\x00\x00\x00\x00"), StageRequest, NotAProxy, true},
		{"lying length", SOCKS5, true, reply("\x05\x00\x00\x03\xffshort"), StageRequest, TimedOut, true},
		{"HTML for a reply", SOCKS5, true, reply("<html><body>Login</body></html>"), StageRequest, NotAProxy, true},
		{"SOCKS4 silent", SOCKS4, true, play(), StageRequest, TimedOut, false},
		{"SOCKS4 closes", SOCKS4, true, func(net.Conn) {}, StageRequest, ConnectionClosed, false},
		{"SOCKS4 refuses", SOCKS4, true, play(step{9, "\x00\x5b\x00\x00\x00\x00\x00\x00"}), StageRequest, RequestRefused, false},
		{"SOCKS4 identd", SOCKS4, true, play(step{9, "\x00\x5c\x00\x00\x00\x00\x00\x00"}), StageAuth, AuthFailed, false},
		{"SOCKS4 another user, no login", SOCKS4, false, play(step{9, "\x00\x5d\x00\x00\x00\x00\x00\x00"}), StageAuth, AuthRequired, false},
		{"SOCKS4 unknown code", SOCKS4, true, play(step{9, "\x00\x01\x00\x00\x00\x00\x00\x00"}), StageRequest, NotAProxy, false},
		{"SOCKS4 type, SOCKS5 server", SOCKS4, true, play(step{9, "\x05\xff"}), StageGreeting, NotAProxy, false},
		{"SOCKS4 type, HTTP server", SOCKS4, true, play(step{9, "HTTP/1.1 400 Bad Request\r\n\r\n"}), StageGreeting, NotAProxy, false},
		{"SOCKS4 half a reply", SOCKS4, true, play(step{9, "\x00\x5a\x00"}), StageRequest, TimedOut, false},
	}
}

func misbehavingHTTP() []misbehaviour {
	headers := "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Header: and its value\r\n", 100_000) + "\r\n"
	return []misbehaviour{
		{"http silent", HTTP, true, play(), StageRequest, TimedOut, true},
		{"http closes at once", HTTP, true, func(net.Conn) {}, StageRequest, ConnectionClosed, true},
		{"http resets", HTTP, true, reset, StageRequest, ConnectionClosed, true},
		{"http closes after the request", HTTP, true, afterHead(func(net.Conn) {}), StageRequest, ConnectionClosed, true},
		{"http one byte at a time", HTTP, true, drip("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 10_000)), StageRequest, TimedOut, true},
		{"407 without login", HTTP, false, says("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n"),
			StageAuth, AuthRequired, false},
		{"407 forever", HTTP, true, afterHead(repeatForever(
			"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")),
			StageAuth, AuthFailed, true},
		{"403", HTTP, true, says("HTTP/1.1 403 Forbidden\r\n\r\n"), StageRequest, RequestRefused, true},
		{"404", HTTP, true, says("HTTP/1.1 404 Not Found\r\n\r\n"), StageRequest, RequestRefused, true},
		{"302", HTTP, true, says("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n"), StageRequest, RequestRefused, true},
		{"429", HTTP, true, says("HTTP/1.1 429 Too Many Requests\r\n\r\n"), StageRequest, RequestRefused, true},
		{"502", HTTP, true, says("HTTP/1.0 502 Bad Gateway\r\n\r\n"), StageRequest, TargetUnreachable, true},
		{"503", HTTP, true, says("HTTP/1.1 503\r\n\r\n"), StageRequest, TargetUnreachable, true},
		{"504", HTTP, true, says("HTTP/1.1 504 Gateway Timeout\n\n"), StageRequest, TargetUnreachable, true},
		{"a web server: 400", HTTP, true, says("HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<html>"), StageGreeting,
			NotAProxy, true},
		{"a web server: 405", HTTP, true, says("HTTP/1.1 405 Not Allowed\r\n\r\n"), StageGreeting, NotAProxy, true},
		{"a web server: 501", HTTP, true, says("HTTP/1.1 501 Unsupported method\r\n\r\n"), StageGreeting, NotAProxy, true},
		{"HTML without HTTP", HTTP, true, says("<html><body>Please log in</body></html>"), StageGreeting, NotAProxy, true},
		{"http type, SOCKS5 server", HTTP, true, play(step{1, "\x05\xff"}), StageGreeting, NotAProxy, true},
		{"http type, TLS server", HTTP, true, play(step{1, "\x15\x03\x01\x00\x02\x02\x46"}), StageGreeting, NotAProxy, true},
		{"http type, SSH server", HTTP, true, play(step{0, "SSH-2.0-x\r\n"}), StageGreeting, NotAProxy, true},
		{"100,000 headers", HTTP, true, says(headers), StageRequest, NotAProxy, true},
		{"an endless header", HTTP, true, afterHead(repeatForever("HTTP/1.1 200 OK X")), StageRequest, NotAProxy, true},
		{"100 Continue forever", HTTP, true, afterHead(repeatForever("HTTP/1.1 100 Continue\r\n\r\n")), StageRequest, NotAProxy, true},
		{"a banner without end", HTTP, true, repeatForever("welcome to my server\r\n"), StageGreeting, NotAProxy, true},
		{"no status", HTTP, true, says("HTTP/1.1\r\n\r\n"), StageGreeting, NotAProxy, true},
		{"status of letters", HTTP, true, says("HTTP/1.1 abc OK\r\n\r\n"), StageGreeting, NotAProxy, true},
		{"status 99", HTTP, true, says("HTTP/1.1 099 OK\r\n\r\n"), StageGreeting, NotAProxy, true},
		{"HTTP/2", HTTP, true, says("HTTP/2 200\r\n\r\n"), StageGreeting, NotAProxy, true},
		{"RTSP", HTTP, true, says("RTSP/1.0 200 OK\r\n\r\n"), StageGreeting, NotAProxy, true},
		{"closes in the head", HTTP, true, afterHead(func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nX:") }), StageRequest,
			ConnectionClosed, true},
	}
}

func misbehavingTLS(t *testing.T) []misbehaviour {
	goodTLS, _ := overTLS(t, network{}.connect(nil))
	silentTLS := play(step{1, ""})
	return []misbehaviour{
		{"https silent", HTTPS, true, silentTLS, StageTLS, TimedOut, false},
		{"https closes", HTTPS, true, func(net.Conn) {}, StageTLS, ConnectionClosed, false},
		{"https resets", HTTPS, true, reset, StageTLS, ConnectionClosed, false},
		{"https type, HTTP server", HTTPS, true, play(step{1, "HTTP/1.1 400 Bad Request\r\n\r\n"}), StageTLS, TLSFailed, false},
		{"https type, SOCKS server", HTTPS, true, play(step{1, "\x05\xff\x00\x00\x00\x00"}), StageTLS, TLSFailed, false},
		{"https banner without end", HTTPS, true, repeatForever("welcome"), StageTLS, TLSFailed, false},
		{"https alert", HTTPS, true, play(step{1, "\x15\x03\x03\x00\x02\x02\x28"}), StageTLS, TLSFailed, false},
		{"https record too long", HTTPS, true, play(step{1, "\x16\x03\x03\xff\xff" + strings.Repeat("x", 70_000)}), StageTLS, TLSFailed,
			false},
		{"https garbage for a hello", HTTPS, true, play(step{1, "\x16\x03\x03\x00\x04\x02\x00\x00\x00"}), StageTLS, TLSFailed, false},
		{"https of nobody we trust", HTTPS, true, goodTLS, StageTLS, TLSFailed, false},
	}
}

func TestMisbehavingUpstreams(t *testing.T) {
	before := goleak.IgnoreCurrent()
	all := append(append(misbehavingSOCKS(), misbehavingHTTP()...), misbehavingTLS(t)...)
	t.Logf("%d behaviours", len(all))
	t.Run("all", func(t *testing.T) {
		for _, e := range all {
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				e.test(t)
			})
		}
	})
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// test asks in each mode: a dial that knows nothing of the server, one that knows that it takes no pipelined handshake, and a check.
// The fault is the same.
func (e misbehaviour) test(t *testing.T) {
	t.Helper()
	var all sync.WaitGroup
	for _, mode := range []string{"pipelined", "sequential", "check"} {
		if mode != "sequential" || e.typ == SOCKS5 {
			all.Go(func() { e.testOne(t, mode) })
		}
	}
	all.Wait()
}

func (e misbehaviour) testOne(t *testing.T, mode string) {
	bird := canary(t)
	user, pass := "", ""
	if e.login {
		user, pass = testUser, testPass
	}
	var s *server
	var timeout, took time.Duration
	ask := func(limit time.Duration) (fault *Error) {
		s = serve(t, e.handle)
		up, caches := upstream(e.typ, s, user, pass), &dialCaches{}
		if mode == "sequential" {
			caches.handshakes.recordMode(up, modeSequential)
		}
		start := time.Now()
		defer func() { timeout, took = limit, time.Since(start) }()
		if mode == "check" {
			return (&Checker{URLs: []string{"http://" + bird.addr()}, Policy: nearby, Timeout: limit}).Check(t.Context(), *up).Err
		}
		d := &Dialer{Upstream: up, Policy: Policy{AllowPrivate: true, Exempt: []string{bird.addr()}}, Timeout: limit, shared: caches}
		c, err := d.DialContext(t.Context(), "tcp", bird.addr()) // only the upstream is between the dial and the canary
		if err == nil {
			c.Close()
			return nil
		}
		return err.(*Error)
	}
	var fault *Error
	if e.code == TimedOut {
		fault = timesOut(t, e.stage, 250*time.Millisecond, ask)
	} else {
		fault = ask(waitLimit)
	}
	if fault == nil {
		t.Errorf("%s: it got through", mode)
		return
	}
	if fault.Stage != e.stage || fault.Code != e.code || fault.Message == "" {
		t.Errorf("%s: got %s/%s (%s; cause: %v), want %s/%s", mode, fault.Stage, fault.Code, fault.Message, fault.Err, e.stage, e.code)
	}
	if e.code == TimedOut && (took < timeout || took > timeout+5*time.Second) || e.code != TimedOut && took > waitLimit {
		t.Errorf("%s: it took %v of %v", mode, took, timeout)
	}
	if text := fmt.Sprintf("%v %+v %s", fault, fault, fault.Message); strings.Contains(text, testPass) ||
		strings.Contains(text, "welcome") {
		t.Errorf("%s: the error says too much: %s", mode, text)
	}
	s.close()
	asked := e.asked || e.typ == SOCKS5 && mode != "sequential" // a pipelined handshake has the password in it
	if basic := base64.StdEncoding.EncodeToString([]byte(user + ":" + pass)); !asked && e.login &&
		(strings.Contains(s.received(), testPass) || strings.Contains(s.received(), basic)) {
		t.Errorf("%s: the server did not ask for the password and has seen it", mode)
	}
	most := map[bool]int{true: 2, false: 1}[e.typ == SOCKS5 && mode != "sequential"]
	if mode == "check" && e.typ != HTTPS {
		most++ // a check also probes for TLS
	}
	if n := s.count(); n < 1 || n > most {
		t.Errorf("%s: %d connections, want %d at most", mode, n, most)
	}
}

// A connection that is closed or reset after any number of a good server's bytes gets the right stage.
func TestCutAnywhere(t *testing.T) {
	for _, tc := range []struct {
		typ   Type
		steps []step
		stage func(offset int) Stage
	}{
		{SOCKS5, goodSOCKS5, func(offset int) Stage {
			return []Stage{StageGreeting, StageAuth, StageRequest}[min(offset/2, 2)]
		}},
		{SOCKS4, []step{{9 + len(testUser), "\x00\x5a\x00\x00\x00\x00\x00\x00"}}, func(int) Stage { return StageRequest }},
		{HTTP, []step{{95, "HTTP/1.1 200 OK\r\nX: y\r\n\r\n"}}, func(int) Stage { return StageRequest }},
	} {
		total := 0
		for _, s := range tc.steps {
			total += len(s.write)
		}
		for offset := range total {
			for how, end := range map[string]func(net.Conn){"closed": func(net.Conn) {},
				"reset": func(c net.Conn) { c.(recorded).resetOnClose() }} {
				handle := func(c net.Conn) {
					left := offset
					for _, s := range tc.steps {
						s.hear(c)
						n := min(left, len(s.write))
						io.WriteString(c, s.write[:n])
						if left -= n; left == 0 && n < len(s.write) {
							end(c)
							return
						}
					}
				}
				e := misbehaviour{fmt.Sprintf("%s %s at %d", tc.typ, how, offset), tc.typ, true, handle, tc.stage(offset), ConnectionClosed,
					true}
				t.Run(e.name, func(t *testing.T) { e.test(t) })
			}
		}
	}
}
