package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// mux shares Chrome's one pipe. The root session of the pipe is the owner's; every client has a browser session of its own
// (Target.attachToBrowserTarget) with what it attaches below it. Ids are rewritten, so that clients cannot mix up answers,
// and events go to the client that the session belongs to. Sessions of one client do not exist for another.
//
// One goroutine reads the pipe. What it has to say goes into queues, and it waits for nobody unless their bound for all clients is reached.
type mux struct {
	log   *slog.Logger
	pipe  *pipe
	in    *queue // commands on their way to Chrome
	owner *owner

	downloads *downloads
	spare     chan *client // holds clients that nobody uses yet
	backlog   *backlog     // what waits for clients
	laid      []*client    // got messages that are not let out yet; the reading goroutine's

	mu       sync.Mutex
	lastID   int64
	pending  map[int64]pending
	sessions map[string]*session
	clients  map[*client]struct{}
	holding  chan struct{} // closed and replaced when what clients hold changes

	subscriptions []*Subscription // replaced, never changed
	private       privatePage
	shut          shutTargets
}

const (
	// firstID makes all our ids ten digits long: a client's own id then fits into their place.
	firstID = 1_000_000_000
	lastID  = math.MaxInt32 // Chrome takes 32 bits

	// commandLimit is how many bytes may wait for Chrome before clients have to wait.
	commandLimit = 4 << 20
	// heldLimit is how many bytes may wait behind a held resume before the client is cut off.
	heldLimit = 1 << 20
	// patience is how long anything waits for the owner to meet a target, and for what it is to be given. What has neither then is closed: nothing runs
	// undressed, and nothing stays paused.
	patience = 3 * time.Second
)

var (
	errPipeEnded   = errors.New("the browser has gone")
	errSessionGone = errors.New("the page has gone")
)

// session is one flat DevTools session: an attachment of somebody to a target.
type session struct {
	id, parent string
	target     string // target id
	kind       string // target type: page, iframe, worker, …
	context    string // browser context
	client     *client
	held       []command // a resume that waits for the owner, and what came after it
	heldBytes  int
	isHeld     bool
	agent      bool // the client has set a user agent of its own there
	waits      bool // the client holds the target: it waits for the client's resume

	told map[string]*hearsay // what it was told of targets that are, or may be, withheld
}

// pending is a command that Chrome has not answered.
type pending struct {
	session string
	client  *client
	raw     []byte                                        // the id as the client wrote it
	first   func(a answer, deliver func())                // what comes before the client gets the answer; as done
	done    func(answer)                                  // for the owner's own commands; runs on the reading goroutine and must not wait
	without func(json.RawMessage) (json.RawMessage, bool) // what the client gets of the result, nil: all of it; false: as if there were no such target
}

// answer is Chrome's answer to a command of the owner.
type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *ProtocolError  `json:"error"`
	lost   error           // Chrome will not answer; the reason is ours
}

// err is why there is no result.
func (a answer) err() error {
	if a.lost != nil {
		return a.lost
	}
	if a.Error != nil {
		return a.Error
	}
	return nil
}

// ProtocolError is an error that Chrome answered to a DevTools command (JSON-RPC 2.0 codes).
type ProtocolError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    string `json:"data,omitempty"`
}

func (e *ProtocolError) Error() string {
	if e.Data == "" {
		return fmt.Sprintf("%s (%d)", e.Message, e.Code)
	}
	return fmt.Sprintf("%s (%d): %s", e.Message, e.Code, e.Data)
}

func newMux(p *pipe, log *slog.Logger) *mux {
	m := &mux{
		log: log, pipe: p, in: newQueue(commandLimit), lastID: firstID - 1, spare: make(chan *client, spares),
		pending: map[int64]pending{}, sessions: map[string]*session{}, clients: map[*client]struct{}{},
		holding: make(chan struct{}), shut: newShutTargets(),
	}
	m.backlog = newBacklog(m.cutOff)
	m.owner, m.downloads = newOwner(m), newDownloads(m)
	return m
}

// run reads the pipe until it ends. It starts the writing goroutine and waits for it.
func (m *mux) run() {
	written := make(chan struct{})
	go func() {
		defer close(written)
		if err := m.pipe.pump(m.in); err != nil {
			m.log.Debug("writing to the browser ended", "error", err)
		}
	}()
	for {
		msg, err := m.pipe.read()
		if err != nil {
			break
		}
		m.receive(msg)
		full := m.backlog.full()
		if full != nil || !m.pipe.more() {
			m.letOut()
		}
		if full != nil {
			<-full
		}
	}
	m.end()
	<-written
}

// end tells everybody that nothing more will come.
func (m *mux) end() {
	m.in.close()
	m.pipe.close()
	m.mu.Lock()
	calls := slices.Collect(maps.Values(m.pending))
	m.pending = nil
	clients := m.clients
	m.clients = nil
	m.mu.Unlock()
	fail(calls, errPipeEnded)
	for c := range clients {
		c.end(errPipeEnded)
	}
}

// receive routes one message of Chrome.
func (m *mux) receive(msg []byte) {
	e, err := scan(msg, math.MaxInt)
	if err != nil {
		m.log.Warn("unreadable message from the browser", "error", err, "bytes", len(msg))
		return
	}
	if e.id.there() {
		m.answered(msg, e)
		return
	}
	m.dispatch(msg, e)
}

// answered brings an answer to who asked.
func (m *mux) answered(msg []byte, e envelope) {
	id, _ := integer(msg, e.id)
	m.mu.Lock()
	p, known := m.pending[id]
	delete(m.pending, id)
	m.mu.Unlock()
	switch {
	case !known:
	case p.done != nil:
		p.done(parseAnswer(msg))
	case p.first != nil:
		a := parseAnswer(msg) // before the message is changed
		theirs := p.client.rewritten(bytes.Clone(msg), e, p.raw)
		p.first(a, func() { p.client.deliver(theirs) })
	default:
		p.client.hand(p.answer(msg, e))
	}
}

func parseAnswer(msg []byte) (a answer) {
	if err := json.Unmarshal(msg, &a); err != nil {
		a.lost = err
	}
	return a
}

// dispatch routes an event to the client that has its session, or to the controller.
func (m *mux) dispatch(msg []byte, e envelope) {
	var s *session // nil for the root session
	if id := text(msg, e.session); id != "" {
		if s = m.session(id); s == nil {
			return // the session ended a moment ago
		}
	}
	method := text(msg, e.method)
	if method == "" {
		m.log.Warn("the browser did not understand a command", "answer", string(msg[:min(len(msg), 300)]))
	}
	if s != nil && s.client != nil {
		m.dispatchToClient(s, method, msg, e)
	} else {
		m.dispatchToController(s, method, e.params.in(msg))
	}
}

// dispatchToClient forwards an event on a client's session, unless the client must not see it.
func (m *mux) dispatchToClient(s *session, method string, msg []byte, e envelope) {
	params := e.params.in(msg)
	if m.secret(s, method, params) || m.withholds(s, method, params) {
		return
	}
	switch method {
	case "Target.attachedToTarget": // before the client can send anything to the new session
		m.attached(s, params)
	case "Target.detachedFromTarget":
		defer m.detached(s, params) // after the client has got the event
	}
	if !s.client.hidden(method, params) {
		msg, e = m.ofTarget(method, msg, e)
		s.client.hand(s.client.rewritten(msg, e, nil))
	}
}

// dispatchToController handles an event on one of the controller's sessions, s, or on the root session (nil).
func (m *mux) dispatchToController(s *session, method string, params []byte) {
	if s == nil && (method == "Browser.downloadWillBegin" || method == "Browser.downloadProgress") {
		m.downloads.happened(method, params)
	}
	m.watch(method, params)
	news := Event{Method: method, Params: params}
	if s != nil {
		news.Session, news.Target = s.id, s.target
	}
	claimed := !m.secret(s, method, params) && m.publishEvent(news)
	switch {
	case method == "Target.attachedToTarget":
		m.attached(s, params)
	case method == "Target.detachedFromTarget":
		m.detached(s, params)
	case s == nil && method == "Fetch.requestPaused":
		m.owner.paused(params)
	case s != nil && method == "Network.loadingFailed":
		m.owner.unloaded(s, params)
	case s != nil && method == dialogOpening && !claimed:
		m.owner.dialog(s, params)
	}
}

// TargetInfo is what this package reads of CDP's Target.TargetInfo.
type TargetInfo struct {
	TargetID string `json:"targetId"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	URL      string `json:"url"`
	ParentID string `json:"parentId"`
	// CanAccessOpener: another page has opened this one, and each can reach the other.
	CanAccessOpener bool   `json:"canAccessOpener"`
	Context         string `json:"browserContextId"`
}

// attached makes the new session belong to whom the parent belongs to. The parent is nil for the root session.
func (m *mux) attached(parent *session, params []byte) {
	var p struct {
		SessionID  string     `json:"sessionId"`
		TargetInfo TargetInfo `json:"targetInfo"`
		Waits      bool       `json:"waitingForDebugger"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.SessionID == "" {
		return
	}
	s := &session{id: p.SessionID, target: p.TargetInfo.TargetID, kind: p.TargetInfo.Type, context: p.TargetInfo.Context}
	if parent != nil {
		s.parent, s.client = parent.id, parent.client
	}
	m.mu.Lock()
	m.sessions[s.id] = s
	if s.client != nil {
		s.waits = holdsBelow(parent, p.Waits)
		m.holdingChanged()
	}
	m.mu.Unlock()
	switch {
	case s.kind == "browser": // a new client's browser session becomes the client's in adopt
	case s.client == nil:
		m.owner.attached(s, p.TargetInfo)
	default: // before the client hears of it, and so before anything that it sends there
		m.owner.joined(s, p.Waits)
	}
}

// session returns a session by its id, nil when there is none.
func (m *mux) session(id string) *session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[id]
}

// owned returns the owner's sessions: all, or those on one target.
func (m *mux) owned(target string) (all []*session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.client == nil && s.kind != "browser" && (target == "" || s.target == target) {
			all = append(all, s)
		}
	}
	return all
}

// ofClients returns the sessions of clients to which we have told who they are.
func (m *mux) ofClients() (all []*session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.client != nil && s.kind != "browser" && !s.agent {
			all = append(all, s)
		}
	}
	return all
}

// attachedTo reports whether this client is.
func (m *mux) attachedTo(c *client, target string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.target == target && s.client == c {
			return true
		}
	}
	return false
}

// detached forgets a session and all below it.
func (m *mux) detached(parent *session, params []byte) {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return
	}
	m.mu.Lock()
	s := m.sessions[p.SessionID]
	if s == nil || (parent == nil) != (s.parent == "") || parent != nil && parent.client != s.client {
		m.mu.Unlock()
		return
	}
	gone, calls := m.drop(s)
	m.mu.Unlock()
	for _, s := range gone {
		if s.client == nil {
			m.owner.detached(s)
		} else {
			m.owner.left(s)
			m.downloads.left(s)
			s.client.lost(s)
		}
	}
	fail(calls, errSessionGone)
}

// drop removes s, its children, and the commands that Chrome will not answer any more; of these it returns the owner's. m.mu is held.
func (m *mux) drop(s *session) (gone []*session, calls []pending) {
	gone = []*session{s}
	m.letGo(s)
	delete(m.sessions, s.id)
	for id, p := range m.pending {
		if p.session == s.id {
			delete(m.pending, id)
			calls = append(calls, p)
		}
	}
	for _, child := range m.sessions {
		if child.parent == s.id {
			below, more := m.drop(child)
			gone, calls = append(gone, below...), append(calls, more...)
		}
	}
	return gone, calls
}

// fail answers calls of the owner that Chrome will not answer. No lock is held.
func fail(calls []pending, why error) {
	for _, p := range calls {
		if p.done != nil {
			p.done(answer{lost: why})
		}
	}
}

// register takes a free id for p. m.mu is held.
func (m *mux) register(p pending) int64 {
	for {
		m.lastID++
		if m.lastID > lastID {
			m.lastID = firstID
		}
		if _, taken := m.pending[m.lastID]; !taken {
			m.pending[m.lastID] = p
			return m.lastID
		}
	}
}

// send gives Chrome a command of the owner's on the given session ("" is the root) and returns at once.
// done gets the answer, on the reading goroutine; it also gets an error when the browser goes first. It may be nil.
func (m *mux) send(session, method string, params any, done func(answer)) {
	if done == nil {
		done = func(answer) {}
	}
	var raw json.RawMessage
	if params != nil {
		var err error
		if raw, err = json.Marshal(params); err != nil {
			done(answer{lost: err})
			return
		}
	}
	m.mu.Lock()
	if m.pending == nil {
		m.mu.Unlock()
		done(answer{lost: errPipeEnded})
		return
	}
	id := m.register(pending{session: session, done: done})
	m.mu.Unlock()
	_ = m.in.force(command{id: id, session: session, method: method, params: raw}.encode()) // closed: end answers
}

// call is send that waits for the answer and decodes it into result, which may be nil.
// It fails with a *ProtocolError, with ctx's error, or with errPipeEnded.
func (m *mux) call(ctx context.Context, session, method string, params, result any) error {
	answers := make(chan answer, 1)
	m.send(session, method, params, func(a answer) { answers <- a })
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	case a := <-answers:
		if err := a.err(); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(a.Result, result)
	}
}

// spares is how many clients wait for their user: one more than who comes at once when another has left.
const spares = 2

// spareAfter is how long after a client came the next spare one is made: not while the client waits for its first answers.
const spareAfter = 200 * time.Millisecond

// attach makes a new client with a browser session of its own: the spare one, where there is one.
func (m *mux) attach(ctx context.Context) (*client, error) {
	defer time.AfterFunc(spareAfter, m.prepareSpares)
	select {
	case c := <-m.spare:
		if c.reason() == nil {
			return c, nil
		}
	default:
	}
	return m.attachNew(ctx)
}

// prepareSpares makes clients that wait for who comes next, who then need not wait for Chrome.
func (m *mux) prepareSpares() {
	for range spares - len(m.spare) {
		c := newClient(m)
		m.send("", "Target.attachToBrowserTarget", nil, func(a answer) {
			if m.adopt(c, a) != nil {
				return
			}
			select {
			case m.spare <- c:
			default:
				c.close()
			}
		})
	}
}

func (m *mux) attachNew(ctx context.Context) (*client, error) {
	c := newClient(m)
	ready := make(chan error, 1)
	m.send("", "Target.attachToBrowserTarget", nil, func(a answer) { ready <- m.adopt(c, a) })
	select {
	case err := <-ready:
		if err != nil {
			return nil, err
		}
		return c, nil
	case <-ctx.Done():
		go func() { // the answer always comes: end gives it at the latest
			if <-ready == nil {
				c.close()
			}
		}()
		return nil, ctx.Err()
	}
}

// adopt registers c's browser session as Chrome named it.
func (m *mux) adopt(c *client, a answer) error {
	if err := a.err(); err != nil {
		return err
	}
	var r struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clients == nil {
		return errPipeEnded
	}
	s := m.sessions[r.SessionID]
	if s == nil { // Chrome has announced it before its answer
		return errSessionGone
	}
	s.client = c
	c.root, c.base, c.browser = s.id, s.id, s.target
	m.clients[c] = struct{}{}
	return nil
}

// attachPage makes a new client that sees one page only, as a socket of /devtools/page does.
func (m *mux) attachPage(ctx context.Context, target string) (*client, error) {
	c, err := m.attach(ctx)
	if err != nil {
		return nil, err
	}
	ready := make(chan error, 1)
	params := map[string]any{"targetId": target, "flatten": true}
	joined := m.owner.joins.begin()
	m.send(c.root, "Target.attachToTarget", params, func(a answer) { joined(); ready <- c.narrow(a) })
	select {
	case err = <-ready:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}
