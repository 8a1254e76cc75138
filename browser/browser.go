// Package browser finds an installed Chromium, runs it with a profile behind a relay, and shares its DevTools connection.
//
// A Browser is one life of one Chrome: Open, Start, Stop, Close. Chrome is reached over a pipe (--remote-debugging-pipe), never over a port.
// A multiplexer gives each user of it a browser session of its own: the owner, which is attached to every page before the page runs,
// chromedp, and the clients of Gateway.
package browser

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
)

// Browser is one run of Chrome. Its methods may be called from several goroutines.
type Browser struct {
	spec         Spec
	log          *slog.Logger
	isolator     isolator
	limits       limits
	overridesFor func(TargetInfo) []override // for tests: what the owner gives each target before it runs, in place of emulation's

	mu      sync.Mutex
	claimed bool // Start was called, or Stop came first

	// Set by Start before launched is closed; read after it.
	proc       *process
	mux        *mux
	createdDir bool // Start made UserDataDir
	launched   chan struct{}

	emulation *emulation
	gate      *gate

	version   Installed
	userAgent string
	probe     pageProbe
	probed    chan struct{} // closed when nothing of the look at the pages is open any more; never when the start failed before

	stopc     chan struct{} // closed by the first Stop
	killc     chan struct{} // closed when patience is over
	stopcOnce sync.Once
	killcOnce sync.Once
	stopOnce  sync.Once
	startDone chan struct{} // closed when Start has returned, well or not
	done      chan struct{} // closed when Chrome's main process has gone
	released  chan struct{} // closed when nothing of the run is left
	method    Method        // how it was stopped; read after gone

	identityMu sync.Mutex // one Redress at a time
	settings   sync.Mutex // held while the private page is open

	extensions *extensions // that the profile has

	gateway *gateway
}

// Open prepares a run: checks the spec and opens the burrow, so that Listener can be served on. The browser is not started yet.
// An *IsolationError says why a run cannot be isolated as it must be. Close must follow.
func Open(s Spec) (*Browser, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	home, err := openIsolation(&s)
	if err != nil {
		return nil, err
	}
	return open(s, home), nil
}

func open(s Spec, home isolator) *Browser {
	log := s.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &Browser{
		spec: s, log: log, isolator: home, limits: defaultLimits(),
		launched: make(chan struct{}), startDone: make(chan struct{}), stopc: make(chan struct{}), killc: make(chan struct{}),
		probed: make(chan struct{}), done: make(chan struct{}), released: make(chan struct{}),
	}
	b.probe.ready = make(chan struct{})
	b.emulation = newEmulation(&s)
	b.extensions = &extensions{folder: filepath.Join(s.UserDataDir, profileFolder)}
	b.gateway = newGateway(b)
	if b.gate = newGate(home.listener()); b.emulation.hints == nil {
		b.gate.open()
	}
	return b
}

// Listener is the socket that Chrome's --proxy-server names. The relay serves on it. Where requests are looked at it lets nobody in before Start has
// attached the owner.
func (b *Browser) Listener() net.Listener { return b.gate }

// Isolation says how the run is kept on its relay, and whether Chrome's sandbox is on.
func (b *Browser) Isolation() Isolation { return b.isolator.isolation() }

// Spec returns what the run is made of.
func (b *Browser) Spec() Spec { return b.spec }

// Logger returns the run's logger, which is never nil.
func (b *Browser) Logger() *slog.Logger { return b.log }

// Warnings returns what the user should know about this run.
func (b *Browser) Warnings() []Warning {
	all := b.isolator.warnings()
	if b.spec.WebRTC == WebRTCDefault {
		all = append(all, Warning{"webrtc_direct", "webrtc is default: pages learn this machine's addresses, and their WebRTC goes out beside the relay."})
	}
	return all
}

// Admit says whether a connection to Listener may be served: in a namespace every one, else those of the browser's own sockets.
func (b *Browser) Admit(c net.Conn) error {
	group := 0
	if p := b.process(); p != nil {
		group = p.pid()
	}
	return b.isolator.admit(c, group)
}

// Close releases the burrow. A browser that still runs is stopped first.
func (b *Browser) Close() error {
	b.Stop(context.Background(), false)
	b.gate.shut()
	err := b.isolator.close()
	if errors.Is(err, net.ErrClosed) {
		return nil // the relay closes its listener too
	}
	return err
}
