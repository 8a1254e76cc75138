package browser

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// client is one user of the multiplexer: a gateway connection or chromedp. It sees a browser of its own: an unnamed root session, its own
// message ids, and no sessions but those that it has attached.
type client struct {
	mux        *mux
	root       string // id of its browser session
	browser    string // target of root; every browser session has a target of its own
	base       string // session of messages without sessionId: root, or the page's for a page socket
	out        *queue // messages for the client
	guard      *guard // filters its commands; nil for the run's own client
	ownFolders bool   // it chooses where its downloads go; else they go into the run's own folder (Spec.FilesDir)

	outlet    atomic.Pointer[limitedConn] // the socket to which messages can be written at once; nil for a client that calls next
	unflushed bool                        // out has messages that nobody was woken for; the reading goroutine's own

	mu        sync.Mutex
	endReason error         // why it ended
	done      chan struct{} // closed when it has ended

	behaviorTurn chan struct{} // holds a token while a download behaviour of the client is being set
}

// errClosedByClient says that the client has disconnected. Other reasons are errStalled, errTooSlow, errPipeEnded and, for a page socket,
// errSessionGone.
var errClosedByClient = errors.New("closed by the client")

func newClient(m *mux) *client {
	c := &client{mux: m, out: newQueue(math.MaxInt), done: make(chan struct{}), behaviorTurn: make(chan struct{}, 1)}
	c.out.backlog = m.backlog
	return c
}

// next returns the next message for the client. It fails with the reason why the client ended, or with ctx's error.
func (c *client) next(ctx context.Context) ([]byte, error) {
	msg, err := c.out.dequeue(ctx)
	if errors.Is(err, errQueueClosed) {
		return nil, c.reason()
	}
	return msg, err
}

func (c *client) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endReason
}

// deliver queues a message for the client.
func (c *client) deliver(msg []byte) {
	if msg != nil {
		_ = c.out.enqueue(msg) // a closed queue: the client has ended
	}
}

// send is deliver for the reading goroutine: it wakes nobody, since that goroutine calls flush before it waits for Chrome again.
func (c *client) send(msg []byte) {
	if msg != nil && c.out.enqueueQuiet(msg) == nil && !c.unflushed {
		c.unflushed = true
		c.mux.unflushed = append(c.mux.unflushed, c)
	}
}

// flush writes queued messages or wakes the writer. It never blocks.
func (m *mux) flush() {
	for _, c := range m.unflushed {
		c.unflushed = false
		if outlet := c.outlet.Load(); outlet == nil || !outlet.trySend(c.out) {
			c.out.signal()
		}
	}
	clear(m.unflushed)
	m.unflushed = m.unflushed[:0]
}

// setBasePage makes the page session that Chrome has attached the client's base session. It runs on the reading goroutine, the only one
// that reads base while messages arrive.
func (c *client) setBasePage(a answer) error {
	r, err := a.reference()
	if err != nil {
		return err
	}
	if c.mux.session(r.SessionID) == nil { // it has ended, or its page is blocked
		return errSessionGone
	}
	c.base = r.SessionID
	return nil
}

// hidesBrowserTarget reports whether an event concerns another client's browser target. Chrome's own debugging port has one such target for
// all, and clients take any that they see for theirs.
func (c *client) hidesBrowserTarget(method string, params []byte) bool {
	if method != "Target.targetCreated" && method != "Target.targetInfoChanged" {
		return false
	}
	var p reference
	return json.Unmarshal(params, &p) == nil && p.TargetInfo.Type == "browser" && p.TargetInfo.TargetID != c.browser
}

// rewrite adapts a message of Chrome to this client: it restores the client's id and removes the sessionId of the base session. It returns
// nil for a message that a page socket does not get.
func (c *client) rewrite(msg []byte, e envelope, id []byte) []byte {
	switch text(msg, e.session) {
	case c.base:
		blank(msg, e.sessionMember)
	case c.root:
		return nil
	}
	if id != nil {
		msg = replace(msg, e.id, id)
	}
	return msg
}

// submit handles one message from the client. An error means that the client's connection is over. A faulty message is answered as Chrome
// answers it.
func (c *client) submit(ctx context.Context, msg []byte) error {
	if why := c.reason(); why != nil {
		return why
	}
	e, err := scan(msg, maxDepth)
	if err != nil || !wellFormed(msg) {
		return c.sendError(msg, envelope{}, codeParse,
			"JSON: message must be one JSON object in UTF-8, nested at most "+strconv.Itoa(maxDepth)+" deep")
	}
	if fault := e.invalid(msg); fault != "" {
		if _, ok := integer(msg, e.id); !ok {
			e = envelope{}
		}
		return c.sendError(msg, e, codeInvalidRequest, fault)
	}
	method := text(msg, e.method)
	if method == "Browser.close" {
		return c.answerClose(msg, e)
	}
	if method == "Target.sendMessageToTarget" && c.mux.hasSettingsPage() { // it may address a settings session that only Chrome knows
		return c.sendError(msg, e, codeServer, "The browser's settings are changed just now: send it again")
	}
	name := c.base
	if e.session.there() {
		name = text(msg, e.session)
	}
	if !c.ownFolders && setsDownloadBehavior(method) {
		return c.setDownloadBehavior(name, method, msg, e)
	}
	if why := c.guard.refusal(method, e.params.in(msg)); why != "" {
		return c.sendError(msg, e, codeServer, why)
	}
	if method == "Target.sendMessageToTarget" && wrapsDownloadBehavior(e.params.in(msg)) {
		return c.sendError(msg, e, codeServer, "Not allowed: say where downloads go in a command of its own, not within another")
	}
	c.yieldPasskeys(name, method)
	return c.forward(ctx, name, method, msg, e)
}

// yieldPasskeys leaves a page to a client that is about to enable WebAuthn: its own authenticators win.
func (c *client) yieldPasskeys(name, method string) {
	if s := c.mux.session(name); method == "WebAuthn.enable" && s != nil && s.client == c {
		c.mux.passkeys.yield(s.target)
	}
}

// answerClose answers Browser.close and ends the client, since clients must not close the browser.
func (c *client) answerClose(msg []byte, e envelope) error {
	c.deliver(c.reply(msg, e, `"result":{}`))
	c.end(errClosedByClient)
	return errClosedByClient
}

// sendError answers a message with an error.
func (c *client) sendError(msg []byte, e envelope, code int, message string) error {
	text, _ := json.Marshal(ProtocolError{Code: code, Message: message})
	c.deliver(c.reply(msg, e, `"error":`+string(text)))
	return nil
}

// reply builds an answer with the id and session of msg.
func (c *client) reply(msg []byte, e envelope, body string) []byte {
	b := []byte("{")
	if e.id.there() {
		b = append(append(append(b, `"id":`...), e.id.in(msg)...), ',')
	}
	b = append(b, body...)
	if isText(msg, e.session) {
		b = append(append(b, `,"sessionId":`...), e.session.in(msg)...)
	}
	return append(b, '}')
}

// forward sends a command of the client to Chrome, or holds it.
func (c *client) forward(ctx context.Context, name, method string, msg []byte, e envelope) error {
	m := c.mux
	m.mu.Lock()
	s := m.sessions[name]
	if s == nil || s.client != c || m.pending == nil {
		m.mu.Unlock()
		return c.sendError(msg, e, codeNoSession, "Session with given id not found.")
	}
	params := e.params.in(msg)
	why := c.guard.browserWideRefusal(s.kind, method)
	if m.namesBlockedTarget(method, params) {
		why = noSuchTarget
	}
	if why != "" {
		m.mu.Unlock()
		return c.sendError(msg, e, codeServer, why)
	}
	p := pending{session: name, client: c, clientID: append([]byte(nil), e.id.in(msg)...), filter: m.answerFilter(method)}
	params, p.before = c.prepare(s, method, params)
	cmd := command{id: m.registerCall(p), session: name, method: method, params: params}
	held := m.hold(s, cmd)
	m.mu.Unlock()
	if strings.HasSuffix(method, ".setUserAgentOverride") {
		m.controller.followUserAgent(s, params)
	}
	if held {
		return nil
	}
	if msg := cmd.encode(); !m.pipe.writeNow(m.in, msg) {
		if err := m.in.enqueueWait(ctx, msg); err != nil {
			return err
		}
	}
	if strings.HasPrefix(method, "Input.") {
		m.publish(ClientInput{s.target, method, params})
	}
	return nil
}

// prepare returns the parameters with which a command goes to Chrome, and what happens before the client gets the answer (nil: nothing).
// m.mu is held.
func (c *client) prepare(s *session, method string, params []byte) (sent []byte, before func(answer, func())) {
	m := c.mux
	switch method {
	case "Target.createTarget":
		return m.controller.createBlank(c, params)
	case "Browser.setDownloadBehavior", "Page.setDownloadBehavior":
		return params, m.downloads.onBehavior(s, method, params)
	case "Target.createBrowserContext":
		return params, func(a answer, deliver func()) { m.downloads.onContextCreated(a); deliver() }
	case "Target.disposeBrowserContext":
		return params, m.downloads.onContextDisposed(params)
	case "Emulation.setUserAgentOverride", "Network.setUserAgentOverride":
		s.ownAgent = true
	case "WebAuthn.enable":
		s.ownPasskeys = true
	case "WebAuthn.disable":
		s.ownPasskeys = false
		return params, func(_ answer, deliver func()) { go m.takeBackPasskeys(s.target); deliver() }
	case "Target.attachToTarget", "Target.setAutoAttach": // Chrome announces sessions on existing targets before its answer
		joined := m.controller.attaching.begin()
		return params, func(_ answer, deliver func()) { joined(); deliver() }
	case "Runtime.runIfWaitingForDebugger":
		if s.holds { // until the answer, since it becomes known before that what attached below a tab
			return params, func(_ answer, deliver func()) { m.mu.Lock(); m.endHold(s); m.mu.Unlock(); deliver() }
		}
	}
	return params, nil
}

// sessionEnded ends a client whose base session has ended.
func (c *client) sessionEnded(s *session) {
	if s.id == c.base {
		c.end(errSessionGone)
	}
}

// end ends the client. It gets the queued messages first, and then the reason.
func (c *client) end(why error) {
	c.mu.Lock()
	first := c.endReason == nil
	if first {
		c.endReason = why
		close(c.done)
	}
	c.mu.Unlock()
	c.out.close()
	c.out.leaveBacklog()
	if first {
		c.mux.detachClient(c)
	}
}

// close ends the client and detaches it from Chrome.
func (c *client) close() { c.end(errClosedByClient) }

// detachClient detaches the client's browser session. Chrome then ends all sessions below it as for a closed connection. It resumes targets
// that the client's auto-attach has paused, and disposes of browser contexts created with disposeOnDetach.
func (m *mux) detachClient(c *client) {
	m.mu.Lock()
	delete(m.clients, c)
	var gone []*session
	var calls []pending
	if s := m.sessions[c.root]; s != nil {
		gone, calls = m.removeSession(s)
	}
	m.mu.Unlock()
	failCalls(calls, errClosedByClient)
	if c.root == "" {
		return
	}
	m.send("", "Target.detachFromTarget", map[string]string{"sessionId": c.root}, func(a answer) {
		for _, s := range gone {
			if a.lost == nil {
				m.controller.onClientDetached(s)
			}
		}
	})
	for _, s := range gone {
		m.downloads.onSessionEnded(s)
	}
	m.prepareSpares() // clients often reconnect at once
}
