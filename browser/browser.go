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
	"time"
)

// Spec is what a run is made of. No value of it but the folders' paths and the key's hash gets on Chrome's command line.
type Spec struct {
	// Path is the browser's program, Product and Version what it is, as Find gives them. Without a version nothing can be told of it, and pages see the
	// browser's own words.
	Path, Product, Version string
	// UserDataDir is the profile's folder, an absolute path. The caller holds the profile's lock.
	UserDataDir string
	// TempDir is Chrome's folder for temporary files, an absolute and short path (Chrome makes a unix socket in it). It is the run's alone:
	// emptied before the start and removed after the end.
	TempDir string
	// Headless runs without windows.
	Headless bool
	// Identity is what pages are told of system, version, time zone, languages, position and screen; the zero value is the host's own.
	Identity Identity
	// WebRTC says what pages may do with it; "" is WebRTCProxyOnly.
	WebRTC WebRTC
	// Network is the isolation that the run must have, InNamespace or OnLoopback; "" is the best that there is.
	Network string
	// FilesDir is the run's own folder for what clients upload and download, an absolute path: the one place whose files a client gets at that may not
	// use those of the machine. The caller makes it, with "downloads" and "uploads" in it. "" is none.
	FilesDir string
	// FilesQuota is how many bytes may lie in FilesDir: downloads that have no room are cancelled. 0 is no quota.
	FilesQuota int64
	// HomeDir is the folder for what Chrome and its libraries keep in a user's home beside the profile: caches and settings (XDG_CACHE_HOME and the
	// like), an absolute path. The caller makes it. "" is the user's own home.
	HomeDir string
	// Protected are folders and files that are closed to DevTools clients: without a mount namespace commands that lead to them are refused, and in one
	// they are not there. Siblings are what the paths of further ones begin with, which come and go; TempDir is none of them.
	Protected, Siblings []string
	// Hidden are further folders that are not there in a mount namespace. The run's own folders are, also where they lie in these or in protected ones.
	Hidden []string
	// ReadOnly keeps a run with a mount namespace from writing anything but its own folders and those of Writable, which are there.
	ReadOnly bool
	Writable []string
	// Files is the isolation of files that the run must have, FilesInNamespace or FilesByGuard; "" is the best that there is.
	Files string
	// TrustSPKI is the base64 SHA-256 of the one public key whose certificates need no signature of an authority: that of a site of our own.
	TrustSPKI string
	// Resolver is a name server over HTTPS (the template of its URL, RFC 8484) that Chrome is to ask, and asks beside its proxy; "" is none.
	Resolver string
	// Logger gets what happens; nil: nothing is logged.
	Logger *slog.Logger
	// ExtraEnv is added to Chrome's environment, as "KEY=value". It replaces what is there.
	ExtraEnv []string
}

// Browser is one run of Chrome. Its methods may be called from several goroutines.
type Browser struct {
	spec   Spec
	log    *slog.Logger
	burrow burrow
	limits limits
	dress  func(TargetInfo) []order // for tests: what the owner gives each target before it runs, in place of emulation's

	mu    sync.Mutex
	begun bool // Start was called, or Stop came first

	// Set by Start before launched is closed; read after it.
	proc     *process
	mux      *mux
	made     bool // Start made UserDataDir
	launched chan struct{}

	emulation *emulation
	gate      *gate

	version Installed
	agent   string
	seen    seen
	looked  chan struct{} // closed when nothing of the look at the pages is open any more; never when the start failed before

	halt     chan struct{} // closed by the first Stop
	forced   chan struct{} // closed when patience is over
	haltOnce sync.Once
	hurry    sync.Once
	stopOnce sync.Once
	settled  chan struct{} // closed when Start has returned, well or not
	done     chan struct{} // closed when Chrome's main process has gone
	gone     chan struct{} // closed when nothing of the run is left
	method   Method        // how it was stopped; read after gone

	changing sync.Mutex // one Redress at a time
	private  sync.Mutex // held while the private page is open

	installed *extensions // that the profile has

	gateway *gateway
}

// limits are the times that a Browser waits. Tests shorten them.
type limits struct {
	start     time.Duration // until Chrome takes commands and its pages are attached, where the caller sets no time
	firstPage time.Duration // for a page to come by itself, before one is made
	look      time.Duration // for an open page to say what pages show, before a new one is asked
	lookNew   time.Duration // for the new one
	ask       time.Duration // from Browser.close to SIGINT
	interrupt time.Duration // from SIGINT to SIGKILL
	leave     time.Duration // for the other processes of the group after the main one, before they are killed
	abandon   time.Duration // for a browser whose start failed, from closing the pipe to SIGKILL
}

func defaultLimits() limits {
	return limits{
		start: 30 * time.Second, firstPage: 10 * time.Second, look: lookTimeout, lookNew: lookTimeout,
		ask: 10 * time.Second, interrupt: 5 * time.Second,
		leave: 2 * time.Second, abandon: 2 * time.Second,
	}
}

// Open prepares a run: checks the spec and opens the burrow, so that Listener can be served on. The browser is not started yet.
// An *IsolationError says why a run cannot be isolated as it must be. Close must follow.
func Open(s Spec) (*Browser, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	home, err := openBurrow(&s)
	if err != nil {
		return nil, err
	}
	return open(s, home), nil
}

func open(s Spec, home burrow) *Browser {
	log := s.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	b := &Browser{
		spec: s, log: log, burrow: home, limits: defaultLimits(),
		launched: make(chan struct{}), settled: make(chan struct{}), halt: make(chan struct{}), forced: make(chan struct{}),
		looked: make(chan struct{}), done: make(chan struct{}), gone: make(chan struct{}),
	}
	b.seen.ready = make(chan struct{})
	b.emulation = newEmulation(&s)
	b.installed = &extensions{folder: filepath.Join(s.UserDataDir, profileFolder)}
	b.gateway = newGateway(b)
	if b.gate = newGate(home.listener()); b.emulation.corrector == nil {
		b.gate.open()
	}
	return b
}

// Listener is the socket that Chrome's --proxy-server names. The relay serves on it. Where requests are looked at it lets nobody in before Start has
// attached the owner.
func (b *Browser) Listener() net.Listener { return b.gate }

// Isolation says how the run is kept on its relay, and whether Chrome's sandbox is on.
func (b *Browser) Isolation() Isolation { return b.burrow.isolation() }

// Spec returns what the run is made of.
func (b *Browser) Spec() Spec { return b.spec }

// Logger returns the run's logger, which is never nil.
func (b *Browser) Logger() *slog.Logger { return b.log }

// Warnings returns what the user should know about this run.
func (b *Browser) Warnings() []Warning {
	all := b.burrow.warnings()
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
	return b.burrow.admit(c, group)
}

// PID is the main process' id in the host's numbering, 0 before the start.
func (b *Browser) PID() int {
	if p := b.process(); p != nil {
		return p.pid()
	}
	return 0
}

// process returns the launched process, nil before the launch.
func (b *Browser) process() *process {
	select {
	case <-b.launched:
		return b.proc
	default:
		return nil
	}
}

// running returns the multiplexer of a browser that was launched.
func (b *Browser) running() (*mux, error) {
	select {
	case <-b.launched:
		return b.mux, nil
	default:
		return nil, errNotStarted
	}
}

var (
	errNotStarted = errors.New("the browser has not been started")
	errStarted    = errors.New("the browser has been started already: a Browser runs once")
)

// Version is what runs, as the browser itself says it (Browser.getVersion). Path is the spec's. It is empty before Start has returned.
func (b *Browser) Version() Installed {
	if !b.ready() {
		return Installed{}
	}
	return b.version
}

// UserAgent is the browser's own user agent (Browser.getVersion), "" before Start has returned.
func (b *Browser) UserAgent() string {
	if !b.ready() {
		return ""
	}
	return b.agent
}

func (b *Browser) ready() bool {
	select {
	case <-b.settled:
		return true
	default:
		return false
	}
}

// Done is closed when Chrome's main process has gone, also when a start failed.
func (b *Browser) Done() <-chan struct{} { return b.done }

// Exit says how the main process ended. It is the zero Exit before Done is closed, and when there never was a process.
func (b *Browser) Exit() Exit {
	select {
	case <-b.done:
		if p := b.process(); p != nil {
			return p.exit
		}
	default:
	}
	return Exit{}
}

// Close releases the burrow. A browser that still runs is stopped first.
func (b *Browser) Close() error {
	b.Stop(context.Background(), false)
	b.gate.shut()
	err := b.burrow.close()
	if errors.Is(err, net.ErrClosed) {
		return nil // the relay closes its listener too
	}
	return err
}
