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
	"warren/proxy"
)

// process is the shim at work: one run from its start to its end.
type process struct {
	spec    Spec
	log     *slog.Logger
	browser *browser.Browser
	relay   *proxy.Relay
	debug   *debugPort // nil without
	reaped  func()     // returns when no child is left

	started time.Time
	state   State

	mu           sync.Mutex
	upstreams    []Upstream // in their order; none: direct
	capabilities []Capability
	ending       bool    // what follows attend has begun
	stopping     Outcome // set by the first who ends the run
	method       browser.Method
	watchers     int
	unwatched    time.Time            // since when no server watches
	asked        time.Time            // when a client last came or went
	notices      map[string]time.Time // the ends that are announced, by reason
	moves        []Notice             // of the relay, which no server was told yet
	noticed      chan struct{}        // closed and replaced when notices change

	traffic  trafficLog
	swapping sync.Mutex    // held while the routes are changed
	routes   []proxy.Route // of the upstreams

	viewers      func() int // how many watch the live view
	idle, maxRun limit      // attend's alone
	used         usage      // attend's alone

	meter meter

	stop  chan bool     // asks to end the run; true: by force
	ended chan struct{} // closed when end is there
	end   End
}

// Run is the shim's whole life: it reads its Spec from stdin, starts the browser, reports on stdout, serves the server, and
// returns when the run is over. A cancelled ctx (SIGTERM, SIGINT) closes the browser gracefully.
func Run(ctx context.Context, stdin io.Reader, stdout io.Writer, log *slog.Logger) error {
	var spec Spec
	if err := json.NewDecoder(stdin).Decode(&spec); err != nil {
		return fmt.Errorf("shim: no spec on standard input: %w", err)
	}
	p := &process{spec: spec, log: log.With("run", spec.RunID, "profile", spec.ProfileID),
		stop: make(chan bool, 8), ended: make(chan struct{}), started: time.Now(),
		notices: map[string]time.Time{}, noticed: make(chan struct{})}
	become(p.log)
	listener, unlock, err := p.claim()
	if err != nil {
		return answer(stdout, report{Failure: p.failure(err)})
	}
	defer unlock()
	if err := p.launch(ctx); err != nil {
		listener.Close()
		removeTemp(p.spec.Name) //nolint:errcheck // what failed says more
		return answer(stdout, report{Failure: p.failure(err)})
	}
	p.unwatched = time.Now().Add(firstWatch)
	kept := make(chan struct{})
	go func() { defer close(kept); p.keepDownloads() }()
	server := &http.Server{Handler: p.handler(), ReadHeaderTimeout: 5 * time.Second, ErrorLog: p.errorLog()}
	go server.Serve(listener)                                             //nolint:errcheck // ends with Close below
	if taken, err := listenTake(p.spec.RunDir, p.spec.Name); err == nil { // else the server passes on what comes
		defer taken.Close()
		go p.takeIn(taken)
	}
	if err := answer(stdout, report{State: p.snapshot()}); err != nil {
		p.log.Warn("the server that started this run is gone, and no other knows of it", "cause", err)
		p.stop <- false
	}
	p.attend(ctx)
	<-kept // the browser has gone
	p.writeDownloads()
	p.finish()
	shutdown, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	server.Shutdown(shutdown) //nolint:errcheck // what is still open now is cut
	return server.Close()
}

// errorLog is for servers, which tell of panics there: the standard logger drops them.
func (p *process) errorLog() *log.Logger { return slog.NewLogLogger(p.log.Handler(), slog.LevelWarn) }

func answer(w io.Writer, r report) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// failure gives an error of a start its kind.
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
	case errors.Is(err, syscall.ENOSPC):
		return &Failure{Kind: "disk_full", Message: err.Error()}
	case errors.As(err, &path) && strings.HasPrefix(path.Path, p.spec.ProfileDir) && isUnwritable(err):
		return &Failure{Kind: "unwritable", Message: err.Error()}
	case errors.As(err, &path) && strings.HasPrefix(path.Path, p.spec.ProfileDir): // no folder, or on a mount that has gone
		return &Failure{Kind: "folder_unusable", Message: path.Err.Error()}
	case errors.As(err, &s):
		return &Failure{Kind: string(s.Kind), Message: s.Error(), ExitCode: s.ExitCode, Lines: s.Lines, Signal: p.killed()}
	case errors.As(err, &n):
		return &Failure{Kind: "not_found", Message: n.Error()}
	}
	if errors.Is(err, context.Canceled) {
		return &Failure{Kind: "cancelled", Message: err.Error()}
	}
	return &Failure{Kind: "internal", Message: err.Error()}
}

// killed is the signal that ended the browser; "" none, or it has not ended.
func (p *process) killed() string {
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

// claim takes the profile's lock and opens the socket. Both are this process's alone until it ends.
func (p *process) claim() (net.Listener, func(), error) {
	if err := os.MkdirAll(p.spec.ProfileDir, 0o700); err != nil {
		return nil, nil, err
	}
	lock := profileLock(p.spec.ProfileDir)
	ok, err := lock.TryLock()
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, &Failure{Kind: "locked", Message: "another run holds the profile's folder"}
	}
	l, err := net.Listen("unix", socketPath(p.spec.RunDir, p.spec.Name))
	if err != nil {
		lock.Unlock() //nolint:errcheck // the process ends
		return nil, nil, err
	}
	return l, func() { lock.Unlock() }, nil //nolint:errcheck // the process ends
}

// profileLock is what a shim holds while its run goes on.
func profileLock(profileDir string) *flock.Flock {
	return flock.New(filepath.Join(profileDir, ".lock"), flock.SetPermissions(0o600))
}

// launch starts the relay and the browser. On failure nothing is left.
func (p *process) launch(ctx context.Context) error {
	if err := errors.Join(makeTemp(p.spec.Name), p.spec.makeFiles()); err != nil {
		return err
	}
	b, err := browser.Open(p.spec.browser(p.log))
	if err != nil {
		return err
	}
	p.viewers = b.Viewers
	p.browser, p.reaped = b, reapOrphans(b.PID, b.Done())
	p.relay = proxy.NewRelay(p.dialer(p.spec.Upstream), p.log)
	p.relay.Admit(b.Admit)
	p.relay.OnFailover(p.noteMove)
	if _, err := p.setRules(p.spec.Rules); err != nil { // a rule that nobody understands may be the one that matters
		return errors.Join(err, p.relay.Close(), b.Close())
	}
	if p.spec.Upstream != nil {
		p.setUpstreams(Upstreams{List: append([]Upstream{*p.spec.Upstream}, p.spec.Fallbacks...), First: true})
	}
	go p.relay.Serve(b.Listener()) //nolint:errcheck // ends with Close
	ctx, cancel := context.WithTimeout(ctx, p.spec.Timeout)
	defer cancel()
	if err = b.Start(ctx); err == nil {
		err = p.open(ctx)
	}
	if err == nil {
		return nil
	}
	if isClosed(b.Done()) {
		err = p.diedEarly(err)
	}
	b.Stop(context.Background(), true)
	err = errors.Join(err, p.relay.Close(), b.Close())
	p.reaped()
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

// diedEarly says how the browser went that took commands and then died before its start was over.
func (p *process) diedEarly(err error) error {
	var s *browser.StartError
	if errors.As(err, &s) {
		return err // it never took commands, and the error says why
	}
	exit := p.browser.Exit()
	return &Failure{Kind: "failed", Message: "the browser " + exit.String() + " while its pages were opened", ExitCode: exit.Code, Lines: exit.Lines, Signal: exit.Signal}
}

// open opens the start pages and the port for Selenium, and notes what the browser says of itself.
func (p *process) open(ctx context.Context) error {
	b := p.browser
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
	p.state = State{RunID: p.spec.RunID, ProfileID: p.spec.ProfileID, ForOnce: p.spec.ForOnce,
		PID: b.PID(), StartedAt: p.started, Headless: p.spec.Headless, Browser: b.Version(), UserAgent: b.UserAgent(),
		Languages: b.Languages(), Timezone: b.Timezone(), Isolation: b.Isolation(), Warnings: b.Warnings()}
	if !p.spec.DebugPort {
		return nil
	}
	return p.openDebugPort()
}

func (s Spec) browser(log *slog.Logger) browser.Spec {
	return browser.Spec{Path: s.BrowserPath, Product: s.Product, Version: s.Version, UserDataDir: userDataDir(s.ProfileDir),
		TempDir: tempDir(s.Name), FilesDir: FilesDir(s.ProfileDir), FilesQuota: s.FilesQuota, HomeDir: homeDir(s.ProfileDir), Headless: s.Headless, Files: s.Files, Protected: s.Protected,
		Siblings: tempDirs(), Hidden: []string{filepath.Dir(tempDir(s.Name))}, ReadOnly: s.ReadOnly, Writable: s.Writable, TrustSPKI: s.TrustSPKI, Resolver: s.Resolver,
		WebRTC: browser.WebRTC(s.WebRTC), Identity: s.Identity, Network: s.Network, Logger: log}
}

func userDataDir(profileDir string) string { return filepath.Join(profileDir, "chrome") }

// makeFiles makes the run's own folder for clients' files, empty, and that for what the browser's libraries keep.
func (s Spec) makeFiles() error {
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

// firstWatch is how long the server that started a run may take to watch it. The grace begins after that, or when the first who watched
// has gone.
const firstWatch = 5 * time.Second

// attend waits until something ends the run: the server's word, the browser's death, the end of its time, the want of use, a signal,
// or the want of a server for longer than the grace.
func (p *process) attend(ctx context.Context) {
	grace := max(p.spec.Grace, 0)
	often := min(grace/4+10*time.Millisecond, time.Second)
	p.maxRun, p.idle = limit{after: p.spec.MaxRun, since: p.started}, limit{after: p.spec.Idle, since: time.Now()}
	look := time.NewTimer(0)
	defer look.Stop()
	for {
		select {
		case force := <-p.stop:
			p.close(Stopped, force)
			return
		case <-p.browser.Done():
			p.close("", false)
			return
		case <-ctx.Done():
			p.close(Stopped, false)
			return
		case <-look.C:
			why, again := p.checkLimits(time.Now())
			p.traffic.look(time.Now, p.relay.RouteStats)
			if p.alone() > grace {
				p.log.Info("no server came back; closing the browser")
				why = Orphaned
			}
			if why != "" {
				p.close(why, false)
				return
			}
			if again == 0 || again > often {
				again = often
			}
			look.Reset(again)
		}
	}
}

// alone says for how long no server has watched.
func (p *process) alone() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watchers > 0 {
		return 0
	}
	return time.Since(p.unwatched)
}

// close ends the browser, and answers a later wish for force while it waits.
func (p *process) close(why Outcome, force bool) {
	p.mu.Lock()
	p.ending, p.stopping = true, why
	p.mu.Unlock()
	done := make(chan browser.Method, 1)
	go func(force bool) { done <- p.browser.Stop(context.Background(), force) }(force)
	for {
		select {
		case m := <-done:
			p.method = m
			return
		case again := <-p.stop:
			if again && !force {
				force = true
				go p.browser.Stop(context.Background(), true)
			}
		}
	}
}

// finish writes the end report and lets everyone know.
func (p *process) finish() {
	closing := p.relay.Close() // the browser has gone: what was on its way is counted
	exit, traffic := p.browser.Exit(), p.relay.Stats()
	e := End{Outcome: p.stopping, Method: p.method, ExitCode: exit.Code, Signal: exit.Signal, EndedAt: time.Now().UTC(),
		BytesUp: traffic.BytesUp, BytesDown: traffic.BytesDown, ByRules: traffic.ByRules,
		Traffic: p.traffic.look(time.Now, p.relay.RouteStats), Hosts: p.hosts()}
	if e.Outcome == "" { // the browser went by itself
		e.Outcome, e.Method = Failed, ""
		if exit.Code == 0 && exit.Signal == "" {
			e.Outcome = Closed
		}
	}
	if e.Outcome == Failed {
		e.Lines = exit.Lines
	}
	p.end = e
	if err := writeEnd(p.spec.RunDir, p.spec.Name, e); err != nil {
		p.log.Error("the end report could not be written", "cause", err)
	}
	p.debug.close()
	if err := errors.Join(closing, p.browser.Close()); err != nil {
		p.log.Warn("closing", "cause", err)
	}
	p.reaped()
	if err := removeTemp(p.spec.Name); err != nil { // crash handlers write there, and outlive the browser
		p.log.Warn("temporary folder not removed", "cause", err)
	}
	close(p.ended)
}

func (p *process) snapshot() *State {
	s := p.state
	p.swapping.Lock() // so that the place is one of this list
	defer p.swapping.Unlock()
	s.UpstreamAt, _ = p.relay.Route()
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Ending, s.Capabilities, s.Upstreams = p.ending, p.capabilities, marks(p.upstreams)
	if !p.debug.isOpen() {
		s.DebuggerAddress = ""
	}
	return &s
}

func socketPath(dir, name string) string { return filepath.Join(dir, name+".sock") }
func endPath(dir, name string) string    { return filepath.Join(dir, name+".end") }

// writeEnd writes the report whole or not at all.
func writeEnd(dir, name string, e End) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	tmp := filepath.Join(dir, "."+name+".end")
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, endPath(dir, name))
}

// Names lists the runs that have files in dir.
func Names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	seen, out := map[string]bool{}, []string{}
	for _, e := range entries {
		name, ext, ok := strings.Cut(e.Name(), ".")
		if ok && name != "" && (ext == "sock" || ext == "take" || ext == "end" || ext == "log") && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out, err
}
