package browser

import (
	"context"
	"encoding/json"
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
	log        *slog.Logger
	pipe       *pipe
	in         *queue // commands on their way to Chrome
	controller *controller

	downloads *downloads
	spare     chan *client // holds clients that nobody uses yet
	backlog   *backlog     // what waits for clients
	unflushed []*client    // got messages that are not let out yet; the reading goroutine's

	mu           sync.Mutex
	lastID       int64
	pending      map[int64]pending
	sessions     map[string]*session
	clients      map[*client]struct{}
	holdsChanged chan struct{} // closed and replaced when what clients hold changes

	subscriptions []*Subscription // replaced, never changed
	settings      settingsTab
	blocked       blockedTargets
}

// IDs and queues.
const (
	// firstID makes all our ids ten digits long: a client's own id then fits into their place.
	firstID = 1_000_000_000
	lastID  = math.MaxInt32 // Chrome takes 32 bits

	// commandLimit is how many bytes may wait for Chrome before clients have to wait.
	commandLimit = 4 << 20
	// heldLimit is how many bytes may wait behind a held resume before the client is cut off.
	heldLimit = 1 << 20
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
	ownAgent   bool // the client has set a user agent of its own there
	holds      bool // the client holds the target: it waits for the client's resume

	exposed map[string]*exposure // what it was told of targets that are, or may be, withheld
}

// pending is a command that Chrome has not answered.
type pending struct {
	session  string
	client   *client
	clientID []byte                                        // the id as the client wrote it
	before   func(a answer, deliver func())                // what comes before the client gets the answer; as done
	then     func(answer)                                  // for the owner's own commands; runs on the reading goroutine and must not wait
	filter   func(json.RawMessage) (json.RawMessage, bool) // what the client gets of the result, nil: all of it; false: as if there were no such target
}

func newMux(p *pipe, log *slog.Logger) *mux {
	m := &mux{
		log: log, pipe: p, in: newQueue(commandLimit), lastID: firstID - 1, spare: make(chan *client, spareClients),
		pending: map[int64]pending{}, sessions: map[string]*session{}, clients: map[*client]struct{}{},
		holdsChanged: make(chan struct{}), blocked: newBlockedTargets(),
	}
	m.backlog = newBacklog(m.endStalled)
	m.controller, m.downloads = newController(m), newDownloads(m)
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
			m.flush()
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
	failCalls(calls, errPipeEnded)
	for c := range clients {
		c.end(errPipeEnded)
	}
}

// session returns a session by its id, nil when there is none.
func (m *mux) session(id string) *session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[id]
}

// controllerSessions returns the owner's sessions: all, or those on one target.
func (m *mux) controllerSessions(target string) (all []*session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.client == nil && s.kind != "browser" && (target == "" || s.target == target) {
			all = append(all, s)
		}
	}
	return all
}

// clientSessions returns the sessions of clients to which we have told who they are.
func (m *mux) clientSessions() (all []*session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.client != nil && s.kind != "browser" && !s.ownAgent {
			all = append(all, s)
		}
	}
	return all
}

// isAttached reports whether this client is.
func (m *mux) isAttached(c *client, target string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.target == target && s.client == c {
			return true
		}
	}
	return false
}

// removeSession removes s, its children, and the commands that Chrome will not answer any more; of these it returns the owner's. m.mu is held.
func (m *mux) removeSession(s *session) (gone []*session, calls []pending) {
	gone = []*session{s}
	m.endHold(s)
	delete(m.sessions, s.id)
	for id, p := range m.pending {
		if p.session == s.id {
			delete(m.pending, id)
			calls = append(calls, p)
		}
	}
	for _, child := range m.sessions {
		if child.parent == s.id {
			below, more := m.removeSession(child)
			gone, calls = append(gone, below...), append(calls, more...)
		}
	}
	return gone, calls
}

// failCalls answers calls of the owner that Chrome will not answer. No lock is held.
func failCalls(calls []pending, why error) {
	for _, p := range calls {
		if p.then != nil {
			p.then(answer{lost: why})
		}
	}
}

// registerCall takes a free id for p. m.mu is held.
func (m *mux) registerCall(p pending) int64 {
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
	id := m.registerCall(pending{session: session, then: done})
	m.mu.Unlock()
	_ = m.in.enqueueAlways(command{id: id, session: session, method: method, params: raw}.encode()) // closed: end answers
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

// spareClients is how many clients wait for their user: one more than who comes at once when another has left.
const spareClients = 2

// spareDelay is how long after a client came the next spare one is made: not while the client waits for its first answers.
const spareDelay = 200 * time.Millisecond

// attachClient makes a new client with a browser session of its own: the spare one, where there is one.
func (m *mux) attachClient(ctx context.Context) (*client, error) {
	defer time.AfterFunc(spareDelay, m.prepareSpares)
	select {
	case c := <-m.spare:
		if c.reason() == nil {
			return c, nil
		}
	default:
	}
	return m.attachNewClient(ctx)
}

// prepareSpares makes clients that wait for who comes next, who then need not wait for Chrome.
func (m *mux) prepareSpares() {
	for range spareClients - len(m.spare) {
		c := newClient(m)
		m.send("", "Target.attachToBrowserTarget", nil, func(a answer) {
			if m.registerClient(c, a) != nil {
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

func (m *mux) attachNewClient(ctx context.Context) (*client, error) {
	c := newClient(m)
	ready := make(chan error, 1)
	m.send("", "Target.attachToBrowserTarget", nil, func(a answer) { ready <- m.registerClient(c, a) })
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

// registerClient registers c's browser session as Chrome named it.
func (m *mux) registerClient(c *client, a answer) error {
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

// attachPageClient makes a new client that sees one page only, as a socket of /devtools/page does.
func (m *mux) attachPageClient(ctx context.Context, target string) (*client, error) {
	c, err := m.attachClient(ctx)
	if err != nil {
		return nil, err
	}
	ready := make(chan error, 1)
	params := map[string]any{"targetId": target, "flatten": true}
	joined := m.controller.attaching.begin()
	m.send(c.root, "Target.attachToTarget", params, func(a answer) { joined(); ready <- c.setBasePage(a) })
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

// endStalled ends the clients that do not read.
func (m *mux) endStalled() {
	m.mu.Lock()
	clients := slices.Collect(maps.Keys(m.clients))
	m.mu.Unlock()
	limit, stuck := m.backlog.beginCheck()
	for _, c := range clients {
		waiting, since := c.out.idleTime()
		switch {
		case waiting <= limit:
		case since >= stuck:
			m.log.Warn("a client is cut off: it does not read", "waiting", waiting, "since", since)
			c.end(errStalled)
		default: // it is looked at again
			m.backlog.mu.Lock()
			m.backlog.checkSoon()
			m.backlog.mu.Unlock()
		}
	}
}

// targets returns what Chrome has open, Target.getTargets.
func (m *mux) targets(ctx context.Context) ([]TargetInfo, error) {
	var got struct {
		TargetInfos []TargetInfo `json:"targetInfos"`
	}
	err := m.call(ctx, "", "Target.getTargets", nil, &got)
	return got.TargetInfos, err
}
