package tests

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"warren/testnet"

	"github.com/coder/websocket"
)

// The gateway meets clients that attack it or have died half-way. Their leftovers are counted in the server's and in
// the run's process.

// descriptors is how many files a process has open (proc_pid_fd(5)).
func descriptors(t testing.TB, pid int) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// resident is a process' memory in bytes that is its alone (proc_pid_status(5), RssAnon).
func resident(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// halfOpen sends the beginning of an upgrade, or all of it and then more, and leaves the connection open.
func (s *liveServer) halfOpen(path, request string, more []byte) (net.Conn, error) {
	c, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(2 * enough))
	_, err = io.WriteString(c, strings.NewReplacer("PATH", path, "HOST", strings.TrimPrefix(s.base, "http://")).Replace(request))
	if err == nil && strings.HasSuffix(request, "\r\n\r\n") {
		var res *http.Response
		if res, err = http.ReadResponse(bufio.NewReaderSize(c, 16), nil); err == nil && res.StatusCode != 101 {
			err = fmt.Errorf("the upgrade is answered %s", res.Status)
		}
	}
	if err == nil {
		_, err = c.Write(more)
	}
	if err != nil {
		c.Close()
	}
	return c, err
}

const anUpgrade = "GET PATH HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

// frameHead is how a masked text frame of so many bytes begins (RFC 6455, 5.2).
func frameHead(size uint64) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{0x81, 0x80 | 127}, size), 0, 0, 0, 0)
}

// A thousand upgrades that nobody goes on with hold up no one, and leave nothing when they are gone.
func TestHalfOpenUpgrades(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	run := s.start(id, nil)
	path := run.CdpURL[len(s.base):]
	c := dialCDP(t, run.WsEndpoint, nil)
	page := c.open("about:blank")
	server, process := s.cmd.Process.Pid, s.pidOfShim()
	count := func() (int, int) { return descriptors(t, server), descriptors(t, process) }
	serverHad, processHad := count()
	kinds := []struct {
		request string
		more    []byte
	}{{"G", nil}, {anUpgrade[:60], nil}, {anUpgrade[:len(anUpgrade)-2], nil}, {anUpgrade, nil}, {anUpgrade, frameHead(1 << 20)[:3]},
		{anUpgrade, append(frameHead(1<<20), "{"...)}}
	const all = 1000
	conns := make([]net.Conn, all)
	var wg sync.WaitGroup
	work := make(chan int)
	for range 16 {
		wg.Go(func() {
			for i := range work {
				kind := kinds[0] // more of those that have not come in: each that has is a session of Chrome's
				if i%3 == 0 {
					kind = kinds[3+i/3%3]
				} else {
					kind = kinds[i%3]
				}
				conn, err := s.halfOpen(path, kind.request, kind.more)
				if err != nil {
					t.Errorf("connection %d: %v", i, err)
				}
				conns[i] = conn
			}
		})
	}
	for i := range all {
		work <- i
	}
	close(work)
	wg.Wait()
	began := time.Now()
	for range 20 {
		if got := c.eval(page, "6*7"); got != "42" {
			t.Errorf("the client that works gets %s", got)
		}
	}
	serverHas, processHas := count()
	t.Logf("20 answers beside them in %v; the server has %d files open and had %d, the run's process %d and %d",
		time.Since(began).Round(time.Millisecond), serverHas, serverHad, processHas, processHad)
	if processHas < processHad+all/3 {
		t.Errorf("the test is blind: the run's process has %d files open, and had %d", processHas, processHad)
	}
	dialCDP(t, run.WsEndpoint, nil).call("", "Browser.getVersion", nil, nil)
	for _, conn := range conns {
		if conn != nil {
			conn.Close()
		}
	}
	mayStay := 4
	if testnet.OnPostgres() { // and the server's own connections
		mayStay += 18
	}
	eventually(t, "nothing is left of them", enough, func() bool {
		http.DefaultClient.CloseIdleConnections()
		serverHas, processHas = count()
		return serverHas <= serverHad+mayStay && processHas <= processHad+4 // the client of a moment ago
	})
	if got := c.eval(page, "6*7"); got != "42" {
		t.Errorf("then the client that works gets %s", got)
	}
}

// Too large a message, invalid frames and a client that does not read each end their own connection, with the right
// close code. The run's process does not grow by them.
func TestHostileFrames(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("is about 100 MiB, which take the race detector a minute; its run leaves it out, make test-long has it")
	}
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	run := s.start(id, nil)
	path := run.CdpURL[len(s.base):]
	c := dialCDP(t, run.WsEndpoint, nil)
	page := c.open("about:blank")
	server, process := s.cmd.Process.Pid, s.pidOfShim()
	serverHad, processHad, memory := descriptors(t, server), descriptors(t, process), resident(t, process)

	for what, w := range map[string]struct {
		more []byte
		want uint16
	}{
		"1 GiB":                 {frameHead(1 << 30), 1009},
		"all that a frame says": {frameHead(1<<63 - 1), 1009},
		"no mask":               {[]byte{0x81, 2, '{', '}'}, 1000},
		"reserved bits":         {[]byte{0xf1, 0x80, 0, 0, 0, 0}, 1002},
		"an unknown kind":       {[]byte{0x83, 0x80, 0, 0, 0, 0}, 1002},
		"a long ping":           {[]byte{0x89, 0x80 | 126, 1, 0, 0, 0, 0, 0}, 1002},
	} {
		conn, err := s.halfOpen(path, anUpgrade, w.more)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		peak := memory
		if w.want == 1009 { // it goes on with what it has announced, until it is told
			go io.Copy(conn, endless{})
		}
		code, err := closeCode(conn, func() { peak = max(peak, resident(t, process)) })
		if code != w.want {
			t.Errorf("%s: ended with %d %v, want %d", what, code, err, w.want)
		}
		conn.Close()
		if grown := peak - memory; grown > 16<<20 {
			t.Errorf("%s: the run's process grew by %d MiB", what, grown>>20)
		}
	}
	_, pages := c.pages()
	began := time.Now()
	if got := longest(t, run.WsEndpoint+"/devtools/page/"+pages[0], 100<<20); got < 100<<20 {
		t.Errorf("a message of 100 MiB came as %d bytes", got)
	}
	t.Logf("100 MiB from the browser: %v", time.Since(began))
	conn, err := s.halfOpen(path+"/devtools/page/"+pages[0], anUpgrade, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for i := range 12 { // more than waits for anybody
		text := fmt.Sprintf(`{"id":%d,"method":"Runtime.evaluate","params":{"expression":"'x'.repeat(16<<20)","returnByValue":true}}`, i+1)
		conn.Write(append(frameHead(uint64(len(text))), text...))
	}
	eventually(t, "who does not read is cut off", enough, func() bool {
		http.DefaultClient.CloseIdleConnections()
		return descriptors(t, server) <= serverHad+1 && descriptors(t, process) <= processHad+1 // one is kept for what comes next
	})
	if got := c.eval(page, "6*7"); got != "42" {
		t.Errorf("then the client that works gets %s", got)
	}
}

// longest has a page answer with so many bytes, and gives the size of the message that came.
func longest(t testing.TB, address string, size int) int64 {
	t.Helper()
	c := dialCDP(t, address, nil)
	c.ws.SetReadLimit(-1)
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	err := c.ws.Write(ctx, websocket.MessageText,
		fmt.Appendf(nil, `{"id":1,"method":"Runtime.evaluate","params":{"expression":"'x'.repeat(%d)","returnByValue":true}}`, size))
	if err != nil {
		t.Fatal(err)
	}
	for {
		_, in, err := c.ws.Reader(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, in)
		if err != nil {
			t.Fatal(err)
		}
		if n > 1<<16 { // no event
			c.ws.CloseNow()
			return n
		}
	}
}

// endless is text without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// closeCode reads frames until one closes the connection, and gives its code; meanwhile is called again and again.
func closeCode(c net.Conn, meanwhile func()) (uint16, error) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			meanwhile()
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	for {
		head := make([]byte, 2)
		if _, err := io.ReadFull(c, head); err != nil {
			return 0, err
		}
		body := make([]byte, head[1]&0x7f)
		if len(body) > 125 {
			return 0, fmt.Errorf("a frame begins with %x", head)
		}
		if _, err := io.ReadFull(c, body); err != nil {
			return 0, err
		}
		if head[0] == 0x88 && len(body) >= 2 {
			return binary.BigEndian.Uint16(body), nil
		}
	}
}
