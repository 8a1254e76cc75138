package browser

import (
	"cmp"
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

// mux multiplexes Chrome's one DevTools pipe. The pipe's root session belongs to the controller. Every client has a browser session of its
// own (CDP Target.attachToBrowserTarget) and attaches further sessions below it. The multiplexer rewrites message ids, so that answers
// cannot be mixed up, and routes each event to the client of its session. A client cannot address another client's sessions.
//
// One goroutine reads the pipe. It puts messages into queues and never waits for a single client. It stops reading only while the backlog
// of all clients together exceeds its limit.
type mux struct {
	log        *slog.Logger
	pipe       *pipe
	in         *queue // commands for Chrome
	controller *controller

	downloads *downloads
	spare     chan *client // clients that are connected in advance
	backlog   *backlog     // counts what waits for all clients
	crashed   crashedTab
	unflushed []*client // have messages that flush has not sent; the reading goroutine's own

	mu           sync.Mutex
	lastID       int64
	pending      map[int64]pending
	silent       map[string]bool // sessions of the controller on pages that did not answer in time, while they owe it
	sessions     map[string]*session
	clients      map[*client]struct{}
	holdsChanged chan struct{} // closed and replaced when a client holds or releases a target

	subscriptions []*Subscription // replaced, never changed
	settings      settingsTab
	blocked       blockedTargets
	visits        visits
	passkeys      *passkeys
}

// Message ids and limits of queues.
const (
	// firstID makes every id ten digits long, so that a client's own id fits into its place.
	firstID = 1_000_000_000
	lastID  = math.MaxInt32 // Chrome takes 32 bits

	// commandLimit is how many bytes may wait for Chrome before clients are blocked.
	commandLimit = 4 << 20
	// heldLimit is how many bytes may wait behind a held resume before the client is disconnected.
	heldLimit = 1 << 20
)

// session is a flat DevTools session: one attachment to a target.
type session struct {
	id, parent  string
	target      string // target id
	kind        string // target type: page, iframe, worker, …
	context     string // browser context id
	client      *client
	held        []command // a resume that waits for the overrides, and the commands after it
	heldBytes   int
	isHeld      bool
	ownAgent    bool // the client has overridden the user agent itself
	ownPasskeys bool // the client has an authenticator of its own
	holds       bool // the target is paused until the client resumes it

	exposed map[string]*exposure // by target: what the session knows of targets that are, or may be, hidden
}

// pending is a command that Chrome has not answered yet.
type pending struct {
	session  string
	client   *client
	clientID []byte                         // the id as the client wrote it
	before   func(a answer, deliver func()) // runs before the client gets the answer; under the rules of then
	then     func(answer)                   // of the controller's commands: gets the answer on the reading goroutine, and must not block
	// returns what the client gets of the result; nil: all of it; false: an error, as for a target that does not exist
	filter func(json.RawMessage) (json.RawMessage, bool)
}

func newMux(p *pipe, log *slog.Logger) *mux {
	m := &mux{
		log: log, pipe: p, in: newQueue(commandLimit), lastID: firstID - 1, spare: make(chan *client, spareClients),
		pending: map[int64]pending{}, silent: map[string]bool{}, sessions: map[string]*session{}, clients: map[*client]struct{}{},
		holdsChanged: make(chan struct{}), blocked: blockedTargets{targets: map[string]departure{}},
	}
	m.backlog = newBacklog(m.endStalled)
	m.controller, m.downloads, m.passkeys = newController(m), newDownloads(m), newPasskeys(m, log)
	return m
}

// run starts the writing goroutine, reads the pipe until it ends, and waits for the writer.
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
		m.pipe.answers.handle(m.pipe.in.Buffered())
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

// end answers all pending commands and ends all clients.
func (m *mux) end() {
	m.in.close()
	m.pipe.close()
	m.pipe.answers.end()
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

// session returns a session by its id, nil for none.
func (m *mux) session(id string) *session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[id]
}

// sessionsWith returns the sessions that match. match runs under m.mu.
func (m *mux) sessionsWith(match func(*session) bool) (all []*session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if match(s) {
			all = append(all, s)
		}
	}
	return all
}

// controllerSessions returns the controller's sessions on a target; "": on all targets.
func (m *mux) controllerSessions(target string) []*session {
	return m.sessionsWith(func(s *session) bool {
		return s.client == nil && s.kind != "browser" && (target == "" || s.target == target)
	})
}

// clientSessions returns the clients' sessions that have the identity's user agent.
func (m *mux) clientSessions() []*session {
	return m.sessionsWith(func(s *session) bool { return s.client != nil && s.kind != "browser" && !s.ownAgent })
}

// isAttached reports whether a client is attached to a target.
func (m *mux) isAttached(c *client, target string) bool {
	return len(m.sessionsWith(func(s *session) bool { return s.target == target && s.client == c })) > 0
}

// hasClient reports whether any client is attached to a target.
func (m *mux) hasClient(target string) bool {
	return len(m.sessionsWith(func(s *session) bool { return s.target == target && s.client != nil })) > 0
}

// removeSession removes s, its children and their pending commands. It returns the removed sessions and commands. m.mu is held.
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

// failCalls answers the controller's commands among calls with an error. No lock may be held.
func failCalls(calls []pending, why error) {
	for _, p := range calls {
		if p.then != nil {
			p.then(answer{lost: why})
		}
	}
}

// registerCall stores p under a free id. m.mu is held.
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

// send sends a command of the controller on a session ("": the root session) and returns at once. done, which may be nil, gets the answer
// on the reading goroutine, or an error when the browser ends first.
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
	_ = m.in.enqueue(command{id: id, session: session, method: method, params: raw}.encode()) // if the queue is closed, end answers
}

// call sends a command, waits for the answer and decodes it into result, which may be nil. It fails with a *ProtocolError, with ctx's
// error, or with errPipeEnded.
func (m *mux) call(ctx context.Context, session, method string, params, result any) error {
	answers := make(chan answer, 1)
	m.send(session, method, params, func(a answer) { answers <- a })
	a, err := receive(ctx, answers)
	if err == nil {
		err = a.decode(result)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// spareClients is how many clients are connected in advance: one, and one more for a client that reconnects at once.
const spareClients = 2

// spareDelay is how long after a new client the next spare one is connected, so that it does not delay the new client's first answers.
const spareDelay = 200 * time.Millisecond

// attachClient returns a new client with a browser session of its own, a spare one if there is one.
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

// prepareSpares connects spare clients, which saves the next client a round trip to Chrome.
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
		go func() { // the answer always comes: at the latest from end
			if <-ready == nil {
				c.close()
			}
		}()
		return nil, ctx.Err()
	}
}

// registerClient makes the browser session that Chrome has created the client's root session.
func (m *mux) registerClient(c *client, a answer) error {
	r, err := a.reference()
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clients == nil {
		return errPipeEnded
	}
	s := m.sessions[r.SessionID]
	if s == nil { // Chrome announces the session before it answers
		return errSessionGone
	}
	s.client = c
	c.root, c.base, c.browser = s.id, s.id, s.target
	m.clients[c] = struct{}{}
	return nil
}

// attachPageClient returns a new client that sees one page only, as a socket of /devtools/page does.
func (m *mux) attachPageClient(ctx context.Context, target string) (*client, error) {
	c, err := m.attachClient(ctx)
	if err != nil {
		return nil, err
	}
	ready := make(chan error, 1)
	params := map[string]any{"targetId": target, "flatten": true}
	joined := m.controller.attaching.begin()
	m.send(c.root, "Target.attachToTarget", params, func(a answer) { joined(); ready <- c.setBasePage(a) })
	failed, err := receive(ctx, ready)
	if err = cmp.Or(failed, err); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// endStalled ends the clients that have stopped reading.
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
		default: // checked again later
			m.backlog.mu.Lock()
			m.backlog.checkSoon()
			m.backlog.mu.Unlock()
		}
	}
}

// targets returns Chrome's list of targets (CDP Target.getTargets).
func (m *mux) targets(ctx context.Context) ([]TargetInfo, error) {
	var got struct {
		TargetInfos []TargetInfo `json:"targetInfos"`
	}
	err := m.call(ctx, "", "Target.getTargets", nil, &got)
	return got.TargetInfos, err
}
