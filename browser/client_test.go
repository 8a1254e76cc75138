//go:build !windows

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"warren/testnet"
)

// tester is a DevTools client over a socket.
type tester struct {
	t      *testing.T
	socket *websocket.Conn
	mu     sync.Mutex
	last   int
	waits  map[int]chan message
	events chan message
	ended  chan struct{}
	err    error // why reading ended
}

type message struct {
	ID        int
	Method    string
	SessionID string
	Params    json.RawMessage
	Result    json.RawMessage
	Error     *ProtocolError
}

func dial(t *testing.T, address string) *tester {
	t.Helper()
	c := dialUnread(t, address)
	go c.read()
	return c
}

// dialUnread connects a client that does not read.
func dialUnread(t *testing.T, address string) *tester {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	socket, _, err := websocket.Dial(ctx, strings.Replace(address, "http://", "ws://", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	socket.SetReadLimit(-1)
	t.Cleanup(func() { socket.CloseNow() })
	return &tester{t: t, socket: socket, waits: map[int]chan message{}, events: make(chan message, 10000), ended: make(chan struct{})}
}

func (c *tester) read() {
	defer close(c.ended)
	for {
		_, raw, err := c.socket.Read(context.Background())
		if err != nil {
			c.err = err
			return
		}
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			c.err = err
			return
		}
		c.mu.Lock()
		wait := c.waits[m.ID]
		delete(c.waits, m.ID)
		c.mu.Unlock()
		if m.Method == "" && wait != nil {
			wait <- m
		} else {
			c.events <- m
		}
	}
}

func (c *tester) write(raw string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), testnet.Patience)
	defer cancel()
	if err := c.socket.Write(ctx, websocket.MessageText, []byte(raw)); err != nil {
		c.t.Errorf("write: %v", err)
	}
}

// send sends a command and returns the channel of its answer.
func (c *tester) send(session, method string, params any) <-chan message {
	c.t.Helper()
	c.mu.Lock()
	c.last++
	id := c.last
	wait := make(chan message, 1)
	c.waits[id] = wait
	c.mu.Unlock()
	command := map[string]any{"id": id, "method": method}
	if params != nil {
		command["params"] = params
	}
	if session != "" {
		command["sessionId"] = session
	}
	raw, err := json.Marshal(command)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(string(raw))
	return wait
}

// try sends a command and waits for the answer.
func (c *tester) try(session, method string, params any) message {
	c.t.Helper()
	return c.wait(c.send(session, method, params), method)
}

// lately returns the last events that nobody has taken.
func (c *tester) lately() string {
	var all []string
	for {
		select {
		case m := <-c.events:
			all = append(all, fmt.Sprintf("\n%s %s %.300s", m.SessionID, m.Method, m.Params))
		default:
			return strings.Join(all[max(0, len(all)-20):], "")
		}
	}
}

func (c *tester) wait(answer <-chan message, what string) message {
	c.t.Helper()
	select {
	case m := <-answer:
		return m
	case <-c.ended:
		select {
		case m := <-answer: // it came before the end
			return m
		default:
		}
		c.t.Fatalf("%s: the socket ended: %v", what, c.err)
	case <-time.After(testnet.Patience): // a busy machine is slow with 100 MiB
		c.t.Fatalf("%s: no answer; events of late:%s", what, c.lately())
	}
	return message{}
}

// call is try for a command that must succeed.
func (c *tester) call(session, method string, params any) json.RawMessage {
	c.t.Helper()
	m := c.try(session, method, params)
	if m.Error != nil {
		c.t.Fatalf("%s: %v", method, m.Error)
	}
	return m.Result
}

// event waits for an event.
func (c *tester) event(method string) message {
	c.t.Helper()
	late := time.After(testnet.Patience)
	for {
		select {
		case m := <-c.events:
			if m.Method == method {
				return m
			}
		case <-late:
			c.t.Fatalf("no %s", method)
		}
	}
}

// field reads one string member.
func field(t *testing.T, raw json.RawMessage, name string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	text, _ := all[name].(string)
	return text
}

// openTab opens a page and attaches to it.
func (c *tester) openTab(url string) (target, session string) {
	c.t.Helper()
	target = field(c.t, c.call("", "Target.createTarget", map[string]any{"url": url}), "targetId")
	session = field(c.t, c.call("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}), "sessionId")
	return target, session
}

func (c *tester) value(session, expression string) string {
	c.t.Helper()
	raw := c.call(session, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true})
	var r struct {
		Result struct{ Value json.RawMessage }
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		c.t.Fatal(err)
	}
	return string(r.Result.Value)
}

// becomes waits until an expression has a value. A page that is navigating may answer with an error meanwhile.
func (c *tester) becomes(session, expression, want string) {
	c.t.Helper()
	testnet.Eventually(c.t, expression+" is "+want, func() bool {
		m := c.try(session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true})
		var r struct {
			Result struct{ Value json.RawMessage }
		}
		return m.Error == nil && json.Unmarshal(m.Result, &r) == nil && string(r.Result.Value) == want
	})
}

// TestTwoClients: two clients use the same ids at the same time, and neither sees anything of the other.
func TestTwoClients(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	clients := []*tester{dial(t, url+"/"), dial(t, url+"/devtools/browser/"+b.gateway.id)}
	sessions := make([]string, 2)
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			_, s := c.openTab(fmt.Sprintf("http://a.test/%d", i))
			sessions[i] = s
			c.call(s, "Runtime.enable", nil)
			for n := range 200 {
				if got, want := c.value(s, fmt.Sprintf("%d", n*10+i)), fmt.Sprint(n*10+i); got != want {
					t.Errorf("client %d got %s, want %s", i, got, want)
				}
			}
			c.value(s, fmt.Sprintf("console.log('mine %d')", i))
		})
	}
	wg.Wait()
	if got := b.Clients(); got != 2 {
		t.Errorf("%d clients, want 2", got)
	}
	for i, c := range clients {
		other := sessions[1-i]
		if m := c.try(other, "Runtime.evaluate", map[string]any{"expression": "1"}); m.Error == nil || m.Error.Code != codeNoSession ||
			m.SessionID != other {
			t.Errorf("client %d on the other's session: %+v", i, m)
		}
		if m := c.try("", "Target.detachFromTarget", map[string]any{"sessionId": other}); m.Error == nil {
			t.Errorf("client %d detached the other's session", i)
		}
		c.event("Runtime.consoleAPICalled")
		close(c.events)
		for m := range c.events {
			if m.SessionID == other || strings.Contains(string(m.Params), fmt.Sprintf("mine %d", 1-i)) {
				t.Errorf("client %d saw the other's event: %+v", i, m)
			}
		}
		c.events = make(chan message, 1000)
	}
}

// TestOneBrowserTarget: a client that discovers targets finds one browser target, its own, and can attach to it after others have left.
func TestOneBrowserTarget(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	others := []*tester{dial(t, url+"/"), dial(t, url+"/")}
	c := dial(t, url+"/")
	others = append(others, dial(t, url+"/"))
	filter := []map[string]any{{}}
	c.call("", "Target.setDiscoverTargets", map[string]any{"discover": true, "filter": filter})
	for _, o := range others {
		o.call("", "Target.setDiscoverTargets", map[string]any{"discover": true, "filter": filter})
		o.socket.CloseNow()
	}
	testnet.Eventually(t, "the others have gone", func() bool { return b.Clients() == 1 })
	c.call("", "Browser.getVersion", nil)
	browsers := map[string]bool{}
	for len(c.events) > 0 {
		m := <-c.events
		var p struct{ TargetInfo TargetInfo }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			t.Fatal(err)
		}
		if p.TargetInfo.Type == "browser" {
			browsers[p.TargetInfo.TargetID] = true
		}
	}
	if len(browsers) != 1 {
		t.Errorf("%d browser targets, want 1", len(browsers))
	}
	for id := range browsers {
		c.call("", "Target.attachToTarget", map[string]any{"targetId": id, "flatten": true})
	}
}

// TestClientsCloseNothing: Browser.close on any session ends the client's own connection only.
func TestClientsCloseNothing(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	other := dial(t, url+"/")
	plain := dial(t, url+"/")
	if m := plain.try("", "Browser.close", nil); m.Error != nil {
		t.Errorf("Browser.close: %v", m.Error)
	}
	nested := dial(t, url+"/")
	session := field(t, nested.call("", "Target.attachToBrowserTarget", nil), "sessionId")
	nested.write(`{"id":77,"method":"Browser.\u0063lose","sessionId":"` + session + `"}`)
	for _, c := range []*tester{plain, nested} {
		testnet.AwaitClosed(t, "the connection's end", c.ended, testnet.Patience)
		if code := websocket.CloseStatus(c.err); code != websocket.StatusNormalClosure {
			t.Errorf("closed with %v (%v)", code, c.err)
		}
	}
	other.call("", "Browser.getVersion", nil)
	if b.Stop(t.Context(), false); b.Exit().Code != 0 {
		t.Errorf("exit %+v", b.Exit())
	}
}

// TestSlowClientIsCutOff: a client that does not read is disconnected when too much waits for too long. Other clients do not notice.
func TestSlowClientIsCutOff(t *testing.T) {
	b := newProfile(t).start()
	b.mux.backlog.bound(clientLimit, clientsLimit, 2*time.Second)
	url := serveGateway(t, b)
	good := dial(t, url+"/")
	slow := dialUnread(t, url+"/")
	target, session := good.openTab("about:blank")
	slow.write(`{"id":1,"method":"Target.attachToTarget","params":{"targetId":"` + target + `","flatten":true}}`)
	_, raw, err := slow.socket.Read(t.Context()) // the event with the session
	if err != nil {
		t.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	mine := field(t, m.Params, "sessionId")
	stop := make(chan struct{})
	worst := make(chan time.Duration, 1)
	go func() {
		var most time.Duration
		for {
			select {
			case <-stop:
				worst <- most
				return
			default:
			}
			began := time.Now()
			good.call("", "Browser.getVersion", nil)
			most = max(most, time.Since(began))
		}
	}()
	for i := range 12 {
		slow.write(fmt.Sprintf(`{"id":%d,"method":"Runtime.evaluate",`+
			`"sessionId":"%s","params":{"expression":"'x'.repeat(16<<20)","returnByValue":true}}`, i+2, mine))
	}
	testnet.Eventually(t, "the slow client is cut off", func() bool { return b.Clients() == 1 })
	close(stop)
	t.Logf("the other client's slowest answer meanwhile: %v", <-worst)
	if got := good.value(session, "6*7"); got != "42" {
		t.Errorf("got %s", got)
	}
	if m := good.try(mine, "Runtime.evaluate", map[string]any{"expression": "1"}); m.Error == nil {
		t.Error("the slow client's session is still there")
	}
}

// TestBigFrames: messages near Chrome's limit of 100 MiB pass in both directions. A larger one ends only its client.
func TestBigFrames(t *testing.T) {
	testnet.Long(t)
	if testing.Short() {
		t.Skip("is about 100 MiB, which take the race detector a minute; its run leaves it out, make test-long has it")
	}
	b := newProfile(t).start()
	url := serveGateway(t, b)
	c := dial(t, url+"/")
	_, session := c.openTab("about:blank")
	const size = 100 << 20
	began := time.Now()
	if got := c.value(session, fmt.Sprintf("'x'.repeat(%d)", size)); len(got) != size+2 {
		t.Errorf("got %d bytes, want %d", len(got), size+2)
	}
	t.Logf("100 MiB from the browser: %v", time.Since(began))
	began = time.Now()
	c.call("", "Target.setDiscoverTargets", map[string]any{"discover": false, "x": strings.Repeat("y", 95<<20)})
	t.Logf("95 MiB to the browser: %v", time.Since(began))
	big := dial(t, url+"/")
	go big.socket.Write(context.Background(), websocket.MessageText,
		[]byte(`{"id":1,"method":"Browser.getVersion","params":{"x":"`+strings.Repeat("z", 101<<20)+`"}}`))
	testnet.AwaitClosed(t, "the end of a client with a message too big", big.ended, testnet.Patience)
	if got := c.value(session, "6*7"); got != "42" {
		t.Errorf("got %s", got)
	}
}

// TestHostileMessages: what is no command gets Chrome's own error, and none of it reaches another session or breaks the pipe.
func TestHostileMessages(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	c := dial(t, url+"/")
	owners := b.mux.controller.openPages()[0].Session
	deep := strings.Repeat("[", 400) + strings.Repeat("]", 400)
	for raw, want := range map[string]int{
		``:                                      codeParse,
		`[]`:                                    codeParse,
		`nonsense`:                              codeParse,
		`{"id":1,"method":"Browser.getVersion"`: codeParse,
		`{"id":1,"method":"Browser.getVersion"}{}`:                                                codeParse,
		`{"id":1,"method":"Browser.getVersion","params":{"x":"` + "\x00" + `"}}`:                  codeParse,
		"{\"id\":1,\"method\":\"Browser.getVersion\"}\x00{\"id\":2,\"method\":\"Browser.close\"}": codeParse,
		`{"id":1,"method":"Browser.getVersion","params":{"x":` + "\"\xff\"" + `}}`:                codeParse,
		`{"id":1,"method":"Browser.getVersion","params":{"x":` + deep + `}}`:                      codeParse,
		`{"method":"Browser.getVersion"}`:                                                         codeInvalidRequest,
		`{"id":"1","method":"Browser.getVersion"}`:                                                codeInvalidRequest,
		`{"id":1.5,"method":"Browser.getVersion"}`:                                                codeInvalidRequest,
		`{"id":4294967296,"method":"Browser.getVersion"}`:                                         codeInvalidRequest,
		`{"id":1}`:            codeInvalidRequest,
		`{"id":1,"method":5}`: codeInvalidRequest,
		`{"id":1,"method":"Browser.getVersion","sessionId":5}`: codeInvalidRequest,
		`{"id":1,"method":"Browser.getVersion","more":1}`:      codeInvalidRequest,
		`{"id":1,"method":"Browser.getVersion","sessionId":"` + b.mux.controller.openPages()[0].Session +
			`","sessionId":""}`: codeInvalidRequest,
		`{"id":1,"method":"Runtime.evaluate","sessionId":"` + owners + `","params":{"expression":"1"}}`: codeNoSession,
		`{"id":1,"method":"Browser.getVersion","sessionId":""}`:                                         codeNoSession,
		`{"id":1,"method":"Browser.getVersion","sessionId":"` + strings.Repeat("A", 1<<20) + `"}`:       codeNoSession,
		`{"id":1,"method":"Browser.getVersion","sessionId":"\",\"id\":9,\"x\":\""}`:                     codeNoSession,
		`{"id":1,"method":"No.such"}`:                 -32601,
		`{"id":1,"method":"\",\"x\":\"","params":{}}`: -32601,
	} {
		c.write(raw)
		m := c.wait(c.events, raw)
		if m.Error == nil || m.Error.Code != want {
			t.Errorf("%.80q: %+v, want code %d", raw, m, want)
		}
	}
	for raw, id := range map[string]int{
		` { "id" : -2147483648 , "method" : "Browser.getVersion" } `:                           -2147483648,
		`{"params":{},"method":"Browser.getVersion","id":2147483647}`:                          2147483647,
		`{"id":7,"method":"Browser.getVersion","params":{"id":8,"sessionId":"x","s":"\\\"}"}}`: 7,
		`{"id":7,"method":"Browser.getVersion","params":[1]}`:                                  7,
		`{"id":7,"method":"\u0042rowser.getVersion"}`:                                          7,
	} {
		c.write(raw)
		if m := c.wait(c.events, raw); m.Error != nil || m.ID != id || m.SessionID != "" {
			t.Errorf("%s: %+v", raw, m)
		}
	}
}

// TestEndOfBrowserEndsClients: clients get the reason.
func TestEndOfBrowserEndsClients(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	c := dial(t, url+"/")
	c.call("", "Browser.getVersion", nil)
	b.Stop(t.Context(), true)
	testnet.AwaitClosed(t, "the client's end", c.ended, testnet.Patience)
	if websocket.CloseStatus(c.err) != websocket.StatusGoingAway ||
		!strings.Contains(c.err.Error(), "the browser was ended by a signal (killed)") {
		t.Errorf("ended with %v", c.err)
	}
	if status, body := ask(t, "GET", url+"/json/version", nil); status != 503 {
		t.Errorf("after the end: %d %s", status, body)
	}
	if got := b.Clients(); got != 0 {
		t.Errorf("%d clients left", got)
	}
}
