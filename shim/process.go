package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"warren/browser"
	"warren/browser/live"
	"warren/cgroup"
	"warren/disk"
	"warren/proxy"
)

// process is the running shim: one run from its start to its end.
type process struct {
	spec        Spec
	network     *browser.SpareNetwork // for the browser; nil: there is none yet
	tempName    string                // of the run's temporary folder: the spec's name, of a warm run the one of its launch
	log         *slog.Logger
	browser     *browser.Browser
	view        *live.View
	passkeys    *passkeyKeeper // nil until the browser is there
	relay       *proxy.Relay
	debug       *debugPort // nil without a port
	waitOrphans func()     // returns when no child is left

	started time.Time
	state   State

	mu             sync.Mutex
	upstreams      []Upstream // in their order; none: direct
	capabilities   []Capability
	ending         bool    // closeBrowser was called
	outcome        Outcome // why it was called; "" if the browser exited by itself
	method         browser.Method
	watchers       int
	unwatched      time.Time            // since when no server watches
	lastUse        time.Time            // when a client last came or went
	announced      map[string]time.Time // the announced ends, by reason
	pendingMoves   []Notice             // the relay's moves that no server has received
	noticesChanged chan struct{}        // closed and replaced when notices change

	traffic  trafficLog
	routesMu sync.Mutex    // held while the routes are changed
	routes   []proxy.Route // of the upstreams

	viewers      func() int // counts the viewers of the live view
	idle, maxRun limit      // used by supervise only
	lastUsage    usage      // used by supervise only

	meter    meter
	yielding yielding
	freezing freezing
	memory   *memoryWatch // nil until the browser is there

	stop  chan bool     // asks to end the run; true: by force
	ended chan struct{} // closed when end is set
	end   End
}

// Run is the shim's main function. It reads its Spec from stdin, starts the browser, reports on stdout and serves the
// server. It returns when the run is over. A cancelled ctx (SIGTERM, SIGINT) closes the browser gracefully.
func Run(ctx context.Context, stdin io.Reader, stdout io.Writer, log *slog.Logger) error {
	in := json.NewDecoder(stdin)
	var spec Spec
	if err := in.Decode(&spec); err != nil {
		return fmt.Errorf("shim: no spec on standard input: %w", err)
	}
	return run(ctx, spec, nil, in, stdout, log)
}

// run is the life of a run. network is there already, or nil. in brings the second spec of a warm run.
func run(ctx context.Context, spec Spec, network *browser.SpareNetwork, in *json.Decoder, stdout io.Writer, log *slog.Logger) error {
	p := &process{spec: spec, network: network, tempName: spec.Name, log: log.With("run", spec.RunID, "profile", spec.ProfileID),
		stop: make(chan bool, 8), ended: make(chan struct{}), started: time.Now(),
		announced: map[string]time.Time{}, noticesChanged: make(chan struct{}), yielding: yielding{setNice: setSessionNice}}
	if spec.Group.Has(cgroup.CPU) { // then the session's nice value has no effect
		p.yielding.setNice = shareOf(spec.Group)
	}
	prepareProcess(p.log)
	begin := p.begin
	if spec.Warm {
		begin = func(ctx context.Context) (net.Listener, func(), error) { return p.beginWarm(ctx, in, stdout) }
	}
	listener, unlock, err := begin(ctx)
	switch {
	case errors.Is(err, errNotTaken):
		return nil
	case err != nil:
		if network != nil {
			network.Close() //nolint:errcheck // the start's error says more; a browser that took it has closed it
		}
		return writeReport(stdout, report{Failure: p.failure(err)})
	}
	defer unlock()
	p.unwatched = time.Now().Add(firstWatchTimeout)
	kept := make(chan struct{})
	go func() { defer close(kept); p.persistDownloads() }()
	cookiesKept := make(chan struct{})
	go func() { defer close(cookiesKept); p.keepCookies() }()
	passkeysKept := p.keepPasskeys()
	go p.keepFrozen()
	server := &http.Server{Handler: p.handler(), ReadHeaderTimeout: 5 * time.Second, ErrorLog: p.errorLog()}
	go server.Serve(listener)                                                 //nolint:errcheck // ends with Close below
	if taken, err := listenHandover(p.spec.RunDir, p.spec.Name); err == nil { // otherwise the server proxies connections
		defer taken.Close()
		go p.serveHandovers(taken)
	}
	if err := writeReport(stdout, report{State: p.snapshot()}); err != nil {
		p.log.Warn("the server that started this run is gone, and no other knows of it", "cause", err)
		p.stop <- false
	}
	p.supervise(ctx)
	<-kept // the browser has exited
	<-cookiesKept
	<-passkeysKept
	p.writeDownloads()
	p.finish()
	shutdown, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	server.Shutdown(shutdown) //nolint:errcheck // requests still open are cut off
	return server.Close()
}

// begin takes the profile and starts the browser. On failure nothing is left.
func (p *process) begin(ctx context.Context) (net.Listener, func(), error) {
	listener, unlock, err := p.claim()
	if err != nil {
		return nil, nil, err
	}
	if err := p.launch(ctx); err != nil {
		listener.Close()
		removeTemp(p.tempName) //nolint:errcheck // the start's error says more
		unlock()
		return nil, nil, err
	}
	return listener, unlock, nil
}

// errorLog returns a logger for http.Server, which reports panics there.
func (p *process) errorLog() *log.Logger { return slog.NewLogLogger(p.log.Handler(), slog.LevelWarn) }

// writeReport writes the report as one line.
func writeReport(w io.Writer, r report) error { return json.NewEncoder(w).Encode(r) }

// failure converts an error of a start into a Failure with its kind.
func (p *process) failure(err error) *Failure {
	var f *Failure
	var s *browser.StartError
	var n *browser.NotFoundError
	var home *browser.IsolationError
	var path *fs.PathError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &home):
		return isolationFailure(home)
	case disk.IsFull(err):
		return &Failure{Kind: "disk_full", Message: err.Error()}
	case errors.As(err, &path) && strings.HasPrefix(path.Path, p.spec.ProfileDir) && isUnwritable(err):
		return &Failure{Kind: "unwritable", Message: err.Error()}
	case errors.As(err, &path) && strings.HasPrefix(path.Path, p.spec.ProfileDir): // no folder, or its mount is gone
		return &Failure{Kind: "folder_unusable", Message: path.Err.Error()}
	case errors.As(err, &s):
		return &Failure{Kind: string(s.Kind), Message: s.Error(), ExitCode: s.ExitCode, Lines: s.Lines, Signal: p.browserSignal()}
	case errors.As(err, &n):
		return &Failure{Kind: "not_found", Message: n.Error()}
	case errors.Is(err, context.Canceled):
		return &Failure{Kind: "cancelled", Message: err.Error()}
	}
	return &Failure{Kind: "internal", Message: err.Error()}
}

// browserSignal returns the signal that ended the browser. It is "" for none and for a running browser.
func (p *process) browserSignal() string {
	if p.browser == nil || !isClosed(p.browser.Done()) {
		return ""
	}
	return p.browser.Exit().Signal
}

func isolationFailure(err *browser.IsolationError) *Failure {
	kind := "isolation_failed"
	if err.Refused {
		kind = "isolation_refused"
	}
	return &Failure{Kind: kind, Message: err.Error(), Advice: err.Advice}
}

func isUnwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// claim takes the profile's lock and opens the socket. Both belong to this process until it exits.
func (p *process) claim() (net.Listener, func(), error) {
	unlock, err := p.lockFolder()
	if err != nil {
		return nil, nil, err
	}
	if err = forgetWarm(p.spec.ProfileDir); err == nil {
		var l net.Listener
		if l, err = net.Listen("unix", socketPath(p.spec.RunDir, p.spec.Name)); err == nil {
			return l, unlock, nil
		}
	}
	unlock()
	return nil, nil, err
}

// lockFolder creates the profile's folder and takes its lock.
func (p *process) lockFolder() (unlock func(), err error) {
	if err := os.MkdirAll(p.spec.ProfileDir, 0o700); err != nil {
		return nil, err
	}
	lock := profileLock(p.spec.ProfileDir)
	ok, err := lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &Failure{Kind: "locked", Message: "another run holds the profile's folder"}
	}
	return func() { lock.Unlock() }, nil //nolint:errcheck // the process exits
}

// profileLock is the lock that a shim holds during its run.
func profileLock(profileDir string) *flock.Flock {
	return flock.New(filepath.Join(profileDir, ".lock"), flock.SetPermissions(0o600))
}

// launch starts the relay and the browser. On failure nothing is left.
func (p *process) launch(ctx context.Context) error {
	began := time.Now()
	if err := p.open(); err != nil {
		return err
	}
	opened := time.Since(began)
	err := p.connect()
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, p.spec.Timeout)
		defer cancel()
		if err = p.browser.Start(ctx); err == nil {
			err = p.completeStart(ctx)
		}
	}
	if err != nil {
		return p.giveUp(err)
	}
	p.state.Phases = append([]Phase{{Name: "namespace", Took: opened}}, p.browser.Phases()...)
	p.state.Phases = append(p.state.Phases, Phase{Name: "ready", Took: time.Since(began) - total(p.state.Phases)})
	return nil
}

// open creates the run's folders and its isolation.
func (p *process) open() error {
	if err := errors.Join(makeTemp(p.tempName), p.spec.makeFiles(), p.spec.copyExtensions()); err != nil {
		return err
	}
	spec := p.spec.browser(p.log)
	spec.Spare = p.network
	var err error
	if spec.Cookies, err = p.spec.startCookies(); err != nil {
		return err
	}
	if spec.Passkeys != "" {
		if spec.Credentials, err = ReadPasskeys(p.spec.ProfileDir, p.spec.PasskeyKey); err != nil {
			return err // an empty list would take their place
		}
	}
	b, err := browser.Open(spec)
	if err != nil {
		return err
	}
	p.browser, p.view, p.waitOrphans = b, live.New(b), reapOrphans(b.PID, b.Done())
	p.viewers = p.view.Viewers
	p.memory = &memoryWatch{browser: b, group: p.spec.Group}
	return nil
}

// connect creates the relay by the spec and serves it. Before that the browser reaches nothing.
func (p *process) connect() error {
	p.relay = proxy.NewRelay(p.dialer(p.spec.Upstream), p.log)
	p.relay.Admit(p.browser.Admit)
	p.relay.OnFailover(p.recordMove)
	p.passkeys = &passkeyKeeper{browser: p.browser, log: p.log, folder: p.spec.ProfileDir, key: p.spec.PasskeyKey,
		on: p.spec.Passkeys != ""}
	p.passkeys.guard(p.relay)
	if _, err := p.setRules(p.spec.Rules); err != nil { // a rule that cannot be read may be the one that matters
		return err
	}
	if p.spec.Upstream != nil {
		p.setUpstreams(Upstreams{List: append([]Upstream{*p.spec.Upstream}, p.spec.Fallbacks...), ResetFailover: true})
	}
	go p.relay.Serve(p.browser.Listener()) //nolint:errcheck // ends with Close
	return nil
}

// giveUp ends the browser of a start that failed with err, and returns why it failed.
func (p *process) giveUp(err error) error {
	if isClosed(p.browser.Done()) {
		err = p.diedEarly(err)
	}
	p.browser.Stop(context.Background(), true)
	if p.relay != nil {
		err = errors.Join(err, p.relay.Close())
	}
	err = errors.Join(err, p.browser.Close())
	p.waitOrphans()
	return err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// diedEarly returns the failure of a browser that took commands and exited before its start was complete.
func (p *process) diedEarly(err error) error {
	if _, ok := errors.AsType[*browser.StartError](err); ok {
		return err // the browser never took commands, and err says why
	}
	exit := p.browser.Exit()
	return &Failure{Kind: "failed", Message: "the browser " + exit.String() + " while its pages were opened", ExitCode: exit.Code,
		Lines: exit.Lines, Signal: exit.Signal}
}

// completeStart opens the start pages and the port for Selenium, and records what the browser reports about itself.
func (p *process) completeStart(ctx context.Context) error {
	b := p.browser
	if p.spec.PendingCookies {
		if err := p.stateKeeper().pendingSet(); err != nil {
			return err
		}
	}
	if len(p.spec.StartURLs) > 0 {
		if !p.spec.StarterFiles {
			b.KeepDownloads()
		}
		if err := b.OpenPages(ctx, p.spec.StartURLs); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return &Failure{Kind: "timeout", Message: "the start pages were not taken in time"}
			}
			return err
		}
	}
	p.state = p.newState()
	if !p.spec.DebugPort {
		return nil
	}
	return p.openDebugPort()
}

// newState returns what the browser of a start reports about itself.
func (p *process) newState() State {
	b := p.browser
	return State{RunID: p.spec.RunID, ProfileID: p.spec.ProfileID, ForOnce: p.spec.ForOnce,
		PID: b.PID(), StartedAt: p.started, Headless: p.spec.Headless, Browser: b.Version(), UserAgent: b.UserAgent(),
		Languages: b.Languages(), Timezone: b.Timezone(), Isolation: b.Isolation(), Warnings: b.Warnings()}
}

func (s Spec) browser(log *slog.Logger) browser.Spec {
	out := browser.Spec{Path: s.BrowserPath, Product: s.Product, Version: s.Version, UserDataDir: userDataDir(s.ProfileDir),
		TempDir: tempDir(s.Name), FilesDir: s.filesDir(), FilesQuota: s.FilesQuota, HomeDir: homeDir(s.ProfileDir),
		Headless: s.Headless, Args: s.Args, Files: s.Files, Protected: s.Protected,
		Siblings: tempPrefixes(), Hidden: []string{filepath.Dir(tempDir(s.Name))}, ReadOnly: s.ReadOnly, Writable: s.Writable,
		TrustSPKI: s.TrustSPKI, Resolver: s.Resolver, Extensions: s.extensions(),
		Passkeys: browser.PasskeyMode(s.Passkeys), WebRTC: browser.WebRTC(s.WebRTC), Identity: s.Identity, Network: s.Network,
		Offline: s.Offline, Clear: s.Clear, Logger: log}
	if s.Group != nil { // a nil pointer would not be a nil interface
		out.Group = s.Group
	}
	return out
}

// filesDir returns the run's own folder for clients' files; "": it has no clients.
func (s Spec) filesDir() string {
	if s.Offline {
		return ""
	}
	return FilesDir(s.ProfileDir)
}

// makeFiles creates the run's own folder for clients' files, empty, and the folder for the browser's libraries. A run that is offline has
// no clients, and leaves the files of the last run.
func (s Spec) makeFiles() error {
	if s.Offline {
		return os.MkdirAll(homeDir(s.ProfileDir), 0o700)
	}
	dir := FilesDir(s.ProfileDir)
	err := errors.Join(os.RemoveAll(dir), os.RemoveAll(downloadsList(s.ProfileDir)), os.MkdirAll(homeDir(s.ProfileDir), 0o700))
	for _, name := range []string{"downloads", "uploads"} {
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, name), 0o700)
		}
	}
	return err
}

func (p *process) dialer(u *Upstream) *proxy.Dialer {
	policy := proxy.Policy{AllowPrivate: p.spec.Private, DebugPorts: DebugPorts(p.spec.RunDir)}
	if !p.spec.Background {
		policy.Refused = browser.BackgroundHosts()
	}
	return &proxy.Dialer{Upstream: u.Proxy(), Policy: policy, Bypasses: p.spec.Bypasses}
}

// firstWatchTimeout is how long the server that started a run may take to watch it. The grace begins after it, or
// when the first watching server has disconnected.
const firstWatchTimeout = 5 * time.Second

// cookieKeeper returns what keeps the run's cookies.
func (p *process) cookieKeeper() *cookieKeeper {
	return &cookieKeeper{browser: p.browser, log: p.log, folder: p.spec.ProfileDir, chrome: userDataDir(p.spec.ProfileDir),
		profile: p.spec.ProfileID, key: p.spec.CookieKey}
}

func (p *process) stateKeeper() *stateKeeper {
	return &stateKeeper{browser: p.browser, folder: p.spec.ProfileDir, profile: p.spec.ProfileID, key: p.spec.CookieKey,
		passkeys: p.passkeys, offline: p.spec.Offline, log: p.log}
}

// keepCookies keeps the cookies until the browser has exited.
func (p *process) keepCookies() {
	if len(p.spec.CookieKey) == 0 {
		return
	}
	k := p.cookieKeeper()
	if !p.spec.RestoreCookies { // Chrome's own file is newer
		k.forget()
	}
	k.run()
}

// keepPasskeys keeps the passkeys until the browser has exited, and closes the channel then.
func (p *process) keepPasskeys() (done chan struct{}) {
	done = make(chan struct{})
	go func() { defer close(done); p.passkeys.run() }()
	return done
}

// supervise waits until something ends the run, then closes the browser. Causes are a server's request, the browser's
// exit, a limit, a signal, and no watching server for longer than the grace.
func (p *process) supervise(ctx context.Context) {
	grace := max(p.spec.Grace, 0)
	maxWait := min(grace/4+10*time.Millisecond, time.Second)
	p.maxRun, p.idle = limit{after: p.spec.MaxRun, since: p.started}, limit{after: p.spec.Idle, since: time.Now()}
	timer := time.NewTimer(0)
	defer timer.Stop()
	starved, stopWatching := p.memory.watch()
	defer stopWatching()
	for {
		select {
		case force := <-p.stop:
			p.closeBrowser(Stopped, force)
			return
		case <-starved: // in order: where a process is left, it has cookies to write
			p.closeBrowser(OutOfMemory, false)
			return
		case <-p.browser.Done():
			why := Outcome("")
			if p.memory.killed() {
				why = OutOfMemory
			}
			p.closeBrowser(why, false)
			return
		case <-ctx.Done():
			p.closeBrowser(Stopped, false)
			return
		case <-timer.C:
			why, wait := p.checkLimits(time.Now())
			p.traffic.update(time.Now, p.relay.RouteStats)
			if p.unwatchedFor() > grace {
				p.log.Info("no server came back; closing the browser")
				why = Orphaned
			}
			if why != "" {
				p.closeBrowser(why, false)
				return
			}
			if wait == 0 || wait > maxWait {
				wait = maxWait
			}
			timer.Reset(wait)
		}
	}
}

// unwatchedFor returns for how long no server has watched.
func (p *process) unwatchedFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watchers > 0 {
		return 0
	}
	return time.Since(p.unwatched)
}

// closeBrowser ends the browser. While it waits, a later request may still force the end.
func (p *process) closeBrowser(why Outcome, force bool) {
	p.mu.Lock()
	p.ending, p.outcome = true, why
	p.mu.Unlock()
	done := make(chan browser.Method, 1)
	go func(force bool) { done <- p.browser.Stop(context.Background(), force) }(force)
	for {
		select {
		case m := <-done:
			p.method = m
			return
		case forceNow := <-p.stop:
			if forceNow && !force {
				force = true
				go p.browser.Stop(context.Background(), true)
			}
		}
	}
}

// finish writes the end report and sends it to the watching servers.
func (p *process) finish() {
	closing := p.relay.Close() // the browser has exited: all of its traffic is counted
	exit, traffic := p.browser.Exit(), p.relay.Stats()
	e := End{Outcome: p.outcome, Method: p.method, ExitCode: exit.Code, Signal: exit.Signal, EndedAt: time.Now().UTC(),
		BytesUp: traffic.BytesUp, BytesDown: traffic.BytesDown, ByRules: traffic.ByRules,
		Traffic: p.traffic.update(time.Now, p.relay.RouteStats), Hosts: p.hosts(), CPUMs: cpuMs(), Served: p.served()}
	if p.outcome == OutOfMemory {
		e.LargeTab = p.memory.largest()
	}
	if e.Outcome == "" { // the browser exited by itself
		e.Outcome, e.Method = Failed, ""
		if exit.Code == 0 && exit.Signal == "" {
			e.Outcome = Closed
		}
	}
	if e.Outcome == Failed || e.Outcome == OutOfMemory {
		e.Lines = exit.Lines
	}
	p.end = e
	if e.isInOrder() { // Chrome has written its own files
		if len(p.spec.CookieKey) > 0 {
			p.cookieKeeper().forget()
		}
		if err := p.stateKeeper().settle(); err != nil {
			p.log.Warn("a change of the state is made once more at the next start", "cause", err)
		}
	}
	if err := writeEnd(p.spec.RunDir, p.spec.Name, e); err != nil {
		p.log.Error("the end report could not be written", "cause", err)
	}
	p.debug.close()
	if err := errors.Join(closing, p.browser.Close()); err != nil {
		p.log.Warn("closing", "cause", err)
	}
	p.waitOrphans()
	if err := forgetWarm(p.spec.ProfileDir); err != nil {
		p.log.Warn("the other path of the profile's folder stays until the next serve", "cause", err)
	}
	if err := removeTemp(p.tempName); err != nil { // crash handlers write there and outlive the browser
		p.log.Warn("temporary folder not removed", "cause", err)
	}
	close(p.ended)
}

func (p *process) snapshot() *State {
	s := p.state
	p.routesMu.Lock() // keeps UpstreamAt and the list consistent
	defer p.routesMu.Unlock()
	s.UpstreamAt, _ = p.relay.Route()
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Ending, s.Capabilities, s.Upstreams = p.ending, p.capabilities, marks(p.upstreams)
	s.FrozenSince = orNil(p.announced[ReasonFrozen])
	if !p.debug.isOpen() {
		s.DebuggerAddress = ""
	}
	return &s
}
