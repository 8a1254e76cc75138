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

// client is one user of the multiplexer: a gateway connection or chromedp. It sees a browser of its own:
// a root session without a name, its own ids, the sessions that it attached and no others.
type client struct {
	mux        *mux
	root       string // its browser session
	browser    string // the target of root: every browser session has one of its own
	base       string // the session of messages without sessionId: root, or a page's for a page socket
	out        *queue // messages on their way to the client
	guard      *guard // what it may not do; nil for the run's own
	ownFolders bool   // its downloads go where it says; else into the run's own folder (Spec.FilesDir)

	outlet    atomic.Pointer[limitedConn] // where its messages may leave at once; nil for who takes them with next
	unflushed bool                        // messages lie in out that nobody was woken for; the reading goroutine's

	mu        sync.Mutex
	endReason error         // why it ended
	done      chan struct{} // closed when it ended

	behaviorTurn chan struct{} // holds a token while Chrome is told what it wants of downloads
}

// errClosedByClient is the end of a client that wished it. Other ends are errStuck, errTooSlow, errPipeEnded and, for a page socket, errSessionGone.
var errClosedByClient = errors.New("closed by the client")

func newClient(m *mux) *client {
	c := &client{mux: m, out: newQueue(math.MaxInt), done: make(chan struct{}), behaviorTurn: make(chan struct{}, 1)}
	c.out.backlog = m.backlog
	return c
}

// next returns the next message for the client. Its error is why the client ended, or ctx's.
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

// deliver gives the client a message.
func (c *client) deliver(msg []byte) {
	if msg != nil {
		_ = c.out.enqueue(msg) // closed: it has ended
	}
}

// send is deliver on the reading goroutine, which lets it out before it waits for Chrome again: that wakes nobody.
func (c *client) send(msg []byte) {
	if msg != nil && c.out.enqueueQuiet(msg) == nil && !c.unflushed {
		c.unflushed = true
		c.mux.unflushed = append(c.mux.unflushed, c)
	}
}

// flush sends what was handed to clients, or wakes who does. It waits for nobody.
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

// setBasePage makes the page that Chrome attached the client's base session. It runs on the reading goroutine, which alone reads base while messages come.
func (c *client) setBasePage(a answer) error {
	if err := a.err(); err != nil {
		return err
	}
	var r struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		return err
	}
	if c.mux.session(r.SessionID) == nil { // it went, or is closed to clients
		return errSessionGone
	}
	c.base = r.SessionID
	return nil
}

// hidesBrowserTarget reports whether an event is about another client's browser target. With a connection of Chrome's own there is one such
// target for all, and clients take any that they see for theirs.
func (c *client) hidesBrowserTarget(method string, params []byte) bool {
	if method != "Target.targetCreated" && method != "Target.targetInfoChanged" {
		return false
	}
	var p struct {
		TargetInfo TargetInfo `json:"targetInfo"`
	}
	return json.Unmarshal(params, &p) == nil && p.TargetInfo.Type == "browser" && p.TargetInfo.TargetID != c.browser
}

// rewrite makes Chrome's message one for this client: the id that it chose, and no sessionId on its base session.
// It is nil for what a page socket does not see.
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

// submit takes one message of the client. An error means that the client's connection is over; what is wrong
// with the message itself is answered to the client, in Chrome's words.
func (c *client) submit(ctx context.Context, msg []byte) error {
	if why := c.reason(); why != nil {
		return why
	}
	e, err := scan(msg, maxDepth)
	if err != nil || !wellFormed(msg) {
		return c.sendError(msg, envelope{}, codeParse, "JSON: message must be one JSON object in UTF-8, nested at most "+strconv.Itoa(maxDepth)+" deep")
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
	if method == "Target.sendMessageToTarget" && c.mux.hasSettingsPage() { // it may be for a session that only Chrome knows of
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
	return c.forward(ctx, name, method, msg, e)
}

// answerClose answers Browser.close and ends the client. The browser is not a client's to close.
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

// reply builds an answer to msg with its id and session.
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

// forward gives Chrome the client's command, or holds it.
func (c *client) forward(ctx context.Context, name, method string, msg []byte, e envelope) error {
	m := c.mux
	m.mu.Lock()
	s := m.sessions[name]
	if s == nil || s.client != c || m.pending == nil {
		m.mu.Unlock()
		return c.sendError(msg, e, codeNoSession, "Session with given id not found.")
	}
	params := e.params.in(msg)
	if m.namesBlockedTarget(method, params) {
		m.mu.Unlock()
		return c.sendError(msg, e, codeServer, noSuchTarget)
	}
	if why := c.guard.browserWideRefusal(s.kind, method); why != "" {
		m.mu.Unlock()
		return c.sendError(msg, e, codeServer, why)
	}
	p := pending{session: name, client: c, clientID: append([]byte(nil), e.id.in(msg)...), filter: m.answerFilter(method)}
	switch method {
	case "Target.createTarget":
		params, p.before = m.controller.createBlank(c, params)
	case "Browser.setDownloadBehavior", "Page.setDownloadBehavior":
		p.before = m.downloads.onBehavior(s, method, params)
	case "Target.createBrowserContext":
		p.before = func(a answer, deliver func()) { m.downloads.onContextCreated(a); deliver() }
	case "Target.disposeBrowserContext":
		p.before = m.downloads.onContextDisposed(params)
	case "Emulation.setUserAgentOverride", "Network.setUserAgentOverride":
		s.ownAgent = true
	case "Target.attachToTarget", "Target.setAutoAttach": // of the sessions that there are then it tells before its answer
		joined := m.controller.attaching.begin()
		p.before = func(_ answer, deliver func()) { joined(); deliver() }
	case "Runtime.runIfWaitingForDebugger":
		if s.holds { // at the answer: what attached below a tab before is known then
			p.before = func(_ answer, deliver func()) { m.mu.Lock(); m.endHold(s); m.mu.Unlock(); deliver() }
		}
	}
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

// sessionEnded is called when one of the client's sessions has ended.
func (c *client) sessionEnded(s *session) {
	if s.id == c.base {
		c.end(errSessionGone)
	}
}

// end ends the client for the given reason: it gets what waits, then the reason.
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

// close ends the client and detaches it in Chrome.
func (c *client) close() { c.end(errClosedByClient) }

// detachClient detaches the client's browser session. Chrome then ends all below it as for a connection that closed: targets that
// its auto-attach holds go on, and browser contexts that it made with disposeOnDetach are disposed of.
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
	m.prepareSpares() // who leaves often comes again
}
