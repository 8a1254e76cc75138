// Package browser finds an installed Chromium, runs it with a profile behind a relay, and shares its DevTools connection.
//
// A Browser is one run of Chrome: Open, Start, Stop, Close. Chrome is reached through a pipe (--remote-debugging-pipe), never through a
// port. A multiplexer gives each user of the pipe a browser session of its own. The users are chromedp, the clients of Gateway, and the
// controller, which attaches to every page before the page runs.
package browser

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// Browser is one run of Chrome. Its methods are safe for concurrent use.
type Browser struct {
	spec         Spec
	log          *slog.Logger
	isolator     isolator
	limits       limits
	overridesFor func(TargetInfo) []override // for tests: replaces the overrides of the emulation

	onPasskeyMade atomic.Pointer[func()]

	mu      sync.Mutex
	claimed bool // Start or Stop has been called

	// Set by Start before launched is closed, and constant afterwards.
	proc       *process
	mux        *mux
	createdDir bool // Start created UserDataDir
	launched   chan struct{}

	emulation *emulation
	gate      *gate
	phases    Stopwatch // used by Start only, and constant afterwards

	refusedCookies int // of the spec's, by Chrome; set by Start, and constant afterwards

	version   Installed
	userAgent string
	probe     pageProbe
	probed    chan struct{} // closed when the probe has closed its pages; never if the start failed earlier

	stopc     chan struct{} // closed by the first Stop
	killc     chan struct{} // closed when all waiting is over and the browser must be killed
	stopcOnce sync.Once
	killcOnce sync.Once
	stopOnce  sync.Once
	startDone chan struct{} // closed when Start has returned, even with an error
	done      chan struct{} // closed when Chrome's main process has exited
	released  chan struct{} // closed when nothing of the run is left
	method    Method        // how it was stopped; read after released is closed

	identityMu sync.Mutex // held during SetIdentity
	settings   sync.Mutex // held while the settings page is open
	visiting   sync.Mutex // held while origins are visited

	extensions *extensions // installed in the profile
	freezer    freezer

	gateway *gateway
}

// Open prepares a run: it checks the spec and sets up the isolation, so that Listener can be served. It does not start the browser. It
// fails with an *IsolationError if the run cannot be isolated as the spec demands. Close must be called afterwards.
func Open(s Spec) (*Browser, error) {
	if err := s.check(); err != nil {
		if s.Spare != nil {
			err = errors.Join(err, s.Spare.Close())
		}
		return nil, err
	}
	iso, err := openIsolation(&s)
	if err != nil {
		return nil, err
	}
	return open(s, iso), nil
}

func open(s Spec, iso isolator) *Browser {
	log := s.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &Browser{
		spec: s, log: log, isolator: iso, limits: defaultLimits(),
		launched: make(chan struct{}), startDone: make(chan struct{}), stopc: make(chan struct{}), killc: make(chan struct{}),
		probed: make(chan struct{}), done: make(chan struct{}), released: make(chan struct{}),
	}
	b.probe.ready = make(chan struct{})
	b.freezer = freezer{group: s.Group, log: log, thawed: make(chan struct{}, 1)}
	b.emulation = newEmulation(&s)
	b.extensions = &extensions{folder: filepath.Join(s.UserDataDir, profileFolder)}
	b.gateway = newGateway(b)
	b.gate = newGate(iso.listener())
	switch {
	case s.Offline:
		b.gate.shut()
		go refuseAll(iso.listener())
	case !b.hasGate():
		b.gate.open()
	}
	return b
}

// hasGate reports whether pages must not load before the controller is attached.
func (b *Browser) hasGate() bool {
	return b.emulation.hints != nil || b.spec.Cookies != nil || len(b.spec.Extensions) > 0
}

// refuseAll ends every connection, until the listener is closed.
func refuseAll(l net.Listener) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			c.Close()
		}
	}
}

// Listener returns the socket that Chrome's --proxy-server names, for the relay to serve. It is closed if the run is offline. With an
// emulated user agent, cookies to set or extensions to load, it accepts nothing before Start has attached the controller and done that.
func (b *Browser) Listener() net.Listener { return b.gate }

// Isolation returns how the run is confined to its relay, and whether Chrome's sandbox is on.
func (b *Browser) Isolation() Isolation { return b.isolator.isolation() }

// Spec returns the spec of the run.
func (b *Browser) Spec() Spec { return b.spec }

// Logger returns the run's logger, which is never nil.
func (b *Browser) Logger() *slog.Logger { return b.log }

// Warnings returns what the user should know about this run.
func (b *Browser) Warnings() []Warning {
	all := b.isolator.warnings()
	if b.spec.WebRTC == WebRTCDefault {
		all = append(all, Warning{
			"webrtc_direct", "webrtc is default: pages learn this machine's addresses, and their WebRTC goes out beside the relay."})
	}
	if n := b.refusedCookies; n > 0 {
		all = append(all, Warning{"cookies_refused", fmt.Sprintf("The browser has refused %d of %d cookies that were set at its start.", n,
			len(b.spec.Cookies))})
	}
	return all
}

// Admit returns an error unless a connection to Listener may be served. In a network namespace all are served, otherwise only those of the
// browser's own sockets.
func (b *Browser) Admit(c net.Conn) error {
	group := 0
	if p := b.process(); p != nil {
		group = p.pid()
	}
	return b.isolator.admit(c, group)
}

// Close releases the isolation. It stops a browser that still runs.
func (b *Browser) Close() error {
	b.Stop(context.Background(), false)
	b.gate.shut()
	err := b.isolator.close()
	if errors.Is(err, net.ErrClosed) {
		return nil // the relay has closed its listener
	}
	return err
}
