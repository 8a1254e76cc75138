package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"warren/api"
	"warren/configfile"
	"warren/events"
	"warren/logs"
	"warren/metrics"
	"warren/nodes"
	"warren/pool"
	"warren/proxy"
	"warren/runs"
	"warren/schedules"
	"warren/service"
	"warren/shim"
	"warren/store"
	"warren/traces"
	"warren/web"
	"warren/webhooks"
)

// answerTime is how long a stop waits for requests under way, once the browsers are closed.
const answerTime = 3 * time.Second

// gcPercent lets the heap grow to three times the live data. That costs a few MiB and halves the collections, which take
// a tenth of a request's processor time.
const gcPercent = 200

// Run serves until ctx ends. The error names what to change.
func (cfg *serveConfig) Run(ctx context.Context, c *console, file *configfile.Source) error {
	if err := cfg.resolveWith(file); err != nil {
		return err
	}
	return serve(ctx, cfg, c, nil)
}

// product holds the parts of a server.
type product struct {
	log    *slog.Logger
	store  *store.Store
	events *events.Log
	pool   *pool.Pool
	runs   *runs.Manager
	api    *api.API
	nodes  *nodes.Node

	metrics http.Handler
	kept    keptSize
	backup  lastBackup

	schedules *schedules.Scheduler
	webhooks  *webhooks.Sender
}

// serve opens the data folder, the store, the listener and the parts, serves until ctx ends, and closes all in reverse order.
// up is called with the server's address once it serves.
func serve(ctx context.Context, cfg *serveConfig, c *console, up func(base string)) error {
	log, output := logs.Open(cfg.log(c.stderr))
	defer output.Close()
	defer cfg.openTraces(ctx, log)()
	runs.DropUnknownZone(log)
	private()
	debug.SetGCPercent(gcPercent)
	unlock, err := claimData(cfg.Data)
	if err != nil {
		return err
	}
	defer unlock()
	st, err := cfg.openStore(ctx, log)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer st.Close()
	if err := cfg.checkExposure(ctx, st); err != nil {
		return unlessStopped(ctx, err)
	}
	at, err := cfg.listenAll()
	if err != nil {
		return err
	}
	defer at.close()
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	p := &product{log: log, store: st}
	if p.nodes, err = cfg.joinNodes(ctx, log, st, at.api.Addr()); err != nil {
		return unlessStopped(ctx, err)
	}
	defer p.nodes.Leave()
	if err := p.build(life, cfg, at); err != nil {
		return err
	}
	var background sync.WaitGroup
	defer func() { end(); p.events.Close(); background.Wait() }()
	if err := p.prepare(ctx); err != nil && ctx.Err() == nil { // told to stop already, it goes on to stop in order
		return err
	}
	if err := p.announceKey(ctx, c.stderr, cfg); err != nil && ctx.Err() == nil {
		return err
	}
	reload := onHangUp()
	p.serveMetrics(life, at.metrics, &background)
	failed := make(chan error, 1)
	go func() { failed <- p.api.Serve(at.api) }()
	p.tellReady(c.stdout, up)
	st.LoadLists() // after the first answers can go out: with a million profiles it takes seconds
	p.workBeside(life, cfg, &background)
	background.Go(func() { cfg.certificate.keep(life, reload, output, log) })
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return p.stop(context.WithoutCancel(ctx), end)
	}
}

// tellReady says that the server serves: on standard output, to the service manager, and to up, unless that is nil.
func (p *product) tellReady(stdout io.Writer, up func(base string)) {
	fmt.Fprintf(stdout, "warren: listening on %s\n", p.api.Base())
	service.Ready(p.log, p.api.Base())
	if up != nil {
		up(p.api.Base())
	}
}

// unlessStopped returns nil for an error of a server that was told to stop while it started.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// workBeside starts what the server does beside answering requests, until life ends. background waits for it.
func (p *product) workBeside(life context.Context, cfg *serveConfig, background *sync.WaitGroup) {
	p.runs.KeepSpare()
	background.Go(func() { p.keepSweeping(life) })
	background.Go(func() { p.api.FollowKeys(life) })
	background.Go(func() { p.keepBackups(life, cfg) })
	background.Go(func() { p.pool.KeepChecking(life) })
	background.Go(func() { p.pool.FollowOthers(life) })
	background.Go(func() { p.runs.FollowExits(life) })
	background.Go(func() { p.api.FollowChanges(life) })
	background.Go(func() { p.schedules.StartWithServer(life) })
	background.Go(func() { p.schedules.Keep(life) })
	background.Go(func() { p.webhooks.Keep(life) })
	background.Go(func() { p.runs.KeepWarm(life, api.DefaultProfile()) })
	background.Go(func() { service.KeepAlive(life, p.log, p.alive) })
}

// alive reads from the database, which every operation needs. The service manager restarts a server where that hangs.
func (p *product) alive(ctx context.Context) error {
	_, err := p.store.Read().CountUsableKeys(ctx, time.Now().UnixMilli())
	return err
}

// listeners are where the server listens. metrics is nil without --metrics-listen.
type listeners struct{ api, metrics net.Listener }

// listenAll listens at --listen and --metrics-listen.
func (cfg *serveConfig) listenAll() (l listeners, err error) {
	if l.api, err = net.Listen("tcp", cfg.Listen); err != nil {
		return l, fmt.Errorf("%w; choose another address with --listen", err)
	}
	if cfg.MetricsListen == "" {
		return l, nil
	}
	if l.metrics, err = net.Listen("tcp", cfg.MetricsListen); err != nil {
		l.api.Close() //nolint:errcheck // nobody has connected yet
		return l, fmt.Errorf("%w; choose another address with --metrics-listen", err)
	}
	return l, nil
}

func (l listeners) close() {
	l.api.Close() //nolint:errcheck // the server ends
	if l.metrics != nil {
		l.metrics.Close() //nolint:errcheck // the server ends
	}
}

// own is where the server answers. Port 443 of this machine leads to it with --acme (acmeTLS).
func (cfg *serveConfig) own(at listeners) (own pool.Own) {
	for _, l := range []net.Listener{at.api, at.metrics} {
		if l != nil {
			_, port, _ := net.SplitHostPort(l.Addr().String()) //nolint:errcheck // TCP's addresses have one
			own.Ports = append(own.Ports, port)
		}
	}
	for _, name := range cfg.ACME {
		own.Names = append(own.Names, strings.ToLower(name))
	}
	if len(own.Names) > 0 {
		own.Ports = append(own.Ports, "443")
	}
	return own
}

// serveMetrics answers GET /metrics at l until life ends. background waits for it. A nil listener is none.
func (p *product) serveMetrics(life context.Context, l net.Listener, background *sync.WaitGroup) {
	if l == nil {
		return
	}
	p.log.Info("metrics are served without a key", "address", l.Addr().String())
	background.Go(func() {
		if err := metrics.Serve(life, l, p.metrics); err != nil && life.Err() == nil {
			p.log.Error("metrics are not served any more", "cause", err)
		}
	})
}

// Requests implements metrics.Server.
func (p *product) Requests() map[string]int64 { return p.api.Requests() }

// Kept implements metrics.Server.
func (p *product) Kept() metrics.Kept { return p.kept.read() }

// BackedUp implements metrics.Server.
func (p *product) BackedUp() time.Time { return p.backup.at() }

// Resources implements metrics.Server. Where the kernel does not count by groups, the runs' own reports count.
func (p *product) Resources() (metrics.Resources, bool) {
	used, ok := p.runs.UsageOfAll()
	if !ok {
		return metrics.Resources{}, false
	}
	out := metrics.Resources{}
	for _, f := range []struct{ from, to *int64 }{{used.MemoryBytes, &out.Memory}, {used.ReadBytes, &out.BytesRead},
		{used.WriteBytes, &out.BytesWritten}} {
		if f.from != nil { // without a run there is no figure
			*f.to = *f.from
		}
	}
	if used.CPU != nil {
		out.CPU = used.CPU.Seconds()
	}
	return out, true
}

// log is the configuration of the log.
func (cfg *serveConfig) log(stderr io.Writer) logs.Options {
	return logs.Options{Level: cfg.LogLevel, Format: cfg.LogFormat, File: cfg.LogFile, Stderr: stderr, Terminal: isTerminal(stderr)}
}

// openTraces connects to the collector of traces that the environment names, if it names one. stop sends what waits.
func (cfg *serveConfig) openTraces(ctx context.Context, log *slog.Logger) (stop func()) {
	if !traces.Wanted() {
		return func() {}
	}
	r, err := traces.Open(ctx, version, log)
	if err != nil {
		log.Error("traces are off: the collector of OTEL_EXPORTER_OTLP_ENDPOINT cannot be used", "cause", err)
		return func() {}
	}
	cfg.spans = r
	log.Info("starts, checks and writes are traced")
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			log.Warn("the last spans were not sent", "cause", err)
		}
	}
}

// build makes the pool, the runs and the API. Their background work ends with life.
func (p *product) build(life context.Context, cfg *serveConfig, at listeners) (err error) {
	if p.events, err = events.Open(life, p.store.Bus(), p.log); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			p.events.Close()
		}
	}()
	checker, err := newChecker(cfg, p.log)
	if err != nil {
		return err
	}
	own := cfg.own(at)
	p.pool = pool.New(life, cfg.pool(own), p.log, p.store, p.events, checker)
	if p.runs, err = runs.New(life, cfg.runs(own, p.nodes), p.log, p.store, p.events, p.pool); err != nil {
		return err
	}
	p.nodes.Attach(p.runs)
	p.schedules = schedules.New(cfg.schedules(p.nodes), p.log, p.store, p.events, p.pool, p.runs)
	if p.webhooks, err = webhooks.New(life, cfg.webhooks(own), p.log, p.store, p.events); err != nil {
		return err
	}
	site, err := web.New()
	if err != nil {
		return err
	}
	p.kept.ctx, p.kept.dir = life, filepath.Join(cfg.Data, "snapshots")
	p.metrics = metrics.New(metrics.Sources{Runs: p.runs, Pool: p.pool, Store: p.store, Events: p.events, Server: p,
		Version: versionInfo()}, p.log)
	p.api = api.New(api.Deps{Config: cfg.api(at.api.Addr(), p.log), Log: p.log, Store: p.store, Pool: p.pool, Runs: p.runs,
		Events: p.events, Nodes: p.nodes, Site: site, Schedules: p.schedules, Webhooks: p.webhooks, Metrics: p.metrics})
	return nil
}

// prepare finishes what the last server left: it adopts runs, frees idempotency keys and removes folders.
func (p *product) prepare(ctx context.Context) error {
	if _, err := p.runs.Browser(ctx); err != nil {
		p.log.Warn("no browser was found; starts fail until there is one", "cause", err)
	}
	if err := p.runs.Adopt(ctx); err != nil {
		return err
	}
	if err := p.api.Prepare(ctx); err != nil {
		return err
	}
	return p.runs.RecoverDeletions(ctx)
}

// announceKey makes and prints the first key of an empty data folder, and prints a link that logs in to the page.
//
// With WARREN_API_KEY it prints nothing unless w is a terminal: logs of services and containers have many readers. A service's log
// gets no key and no link in any case.
func (p *product) announceKey(ctx context.Context, w io.Writer, cfg *serveConfig) error {
	key, err := p.api.FirstKey(ctx)
	if err != nil {
		return err
	}
	if cfg.APIKey != "" && !isTerminal(w) {
		return nil
	}
	if service.Managed() && !isTerminal(w) {
		if key != "" {
			p.log.Info("the admin key was made", "file", filepath.Join(cfg.Data, "admin.key"))
		}
		return nil
	}
	link, err := p.api.LoginLink(ctx)
	if err != nil {
		return err
	}
	text := ""
	if key != "" {
		text = fmt.Sprintf("\nThe admin key, shown once (also in %s):\n\n    %s\n", filepath.Join(cfg.Data, "admin.key"), key)
	}
	if link != "" {
		text += fmt.Sprintf("\nOpen the page (once, within 10 minutes; `warren open` makes another link):\n\n    %s\n\n", link)
	} else {
		text += fmt.Sprintf("\nThe page is at %s/. It needs a key: %s.\n\n", p.api.Base(),
			p.whereKeyIs(filepath.Join(cfg.Data, "admin.key")))
	}
	if _, err := io.WriteString(w, text); err != nil { // the key is in admin.key, and `warren open` makes a link
		p.log.Warn("the key and the link were not printed", "cause", err)
	}
	return nil
}

// whereKeyIs says where the admin key is which this server does not have. file is where it would be.
func (p *product) whereKeyIs(file string) string {
	if _, err := os.Stat(file); p.store.Shared() && errors.Is(err, os.ErrNotExist) {
		return "the admin key is in admin.key in the data folder of the server that made it, the first one of the database"
	}
	return "the one in " + file + " is gone or was revoked"
}

// stop refuses new starts, closes browsers, ends streams and finishes the requests under way. end cancels the background work.
func (p *product) stop(ctx context.Context, end context.CancelFunc) error {
	p.log.Info("stopping")
	service.Stopping(p.log)
	stopping, cancel := context.WithTimeout(ctx, runs.StopTime)
	defer cancel()
	p.runs.Shutdown(stopping)
	end()
	p.runs.Wait()
	p.events.End()
	answering, cancel := context.WithTimeout(ctx, answerTime) // browsers may have taken all of theirs
	defer cancel()
	return p.api.Shutdown(answering)
}

// keepSweeping sweeps now and every minute, until ctx ends.
func (p *product) keepSweeping(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	var clock runs.ClockWatch
	for {
		trusted := clock.Trusted(time.Now())
		err := errors.Join(p.runs.Sweep(ctx, trusted), p.api.Sweep(ctx, trusted), p.webhooks.Sweep(ctx, trusted))
		if err != nil && ctx.Err() == nil {
			p.log.Error("sweeping", "cause", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// lockTime is how long another process may hold the data folder. A server that was killed while it started a process
// leaves its lock to that one, until it has become another program (fork(2)).
const lockTime = time.Second

// claimData creates and locks the data folder. A folder that another server holds is a refusal.
func claimData(dir string) (unlock func(), err error) {
	if len(filepath.Join(dir, "run", "012345678901.sock")) > 103 {
		return nil, misusef("the data folder's path is too long: a socket in it may have 103 bytes (unix(7)); choose a shorter --data")
	}
	if err := store.MakeFolder(dir); err != nil {
		return nil, fmt.Errorf("the data folder cannot be made: %w; choose another with --data DIR", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data folder is not ours: %w; choose another with --data DIR", err)
	}
	for _, sub := range []string{"profiles", "run"} {
		if err := store.MakeFolder(filepath.Join(dir, sub)); err != nil {
			return nil, fmt.Errorf("the data folder cannot be written: %w", err)
		}
	}
	lock := flock.New(filepath.Join(dir, "server.lock"), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	ok, err := lock.TryLockContext(ctx, lockTime/50)
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("the data folder cannot be locked: %w", err)
	}
	if !ok {
		return nil, refusef("another warren serves the data folder %s; stop it, or choose another with --data DIR", dir)
	}
	return func() { lock.Unlock() }, nil //nolint:errcheck // the process ends
}

// checkExposure refuses to serve beyond loopback without a key that exists and an encrypted way in.
func (cfg *serveConfig) checkExposure(ctx context.Context, st *store.Store) error {
	if cfg.onLoopback() {
		return nil
	}
	n, err := st.Read().CountUsableKeys(ctx, time.Now().UnixMilli())
	switch {
	case err != nil:
		return err
	case n == 0 && cfg.APIKey == "":
		return refusef("--listen %s is reachable from other machines, and there is no API key yet: serve on loopback once, or "+
			"give WARREN_API_KEY", cfg.Listen)
	}
	return cfg.checkEncryption()
}

// checkEncryption refuses to serve beyond loopback without TLS, of our own or of a reverse proxy.
func (cfg *serveConfig) checkEncryption() error {
	if cfg.TLSCert == "" && len(cfg.ACME) == 0 && len(cfg.proxies) == 0 {
		return refusef("--listen %s is reachable from other machines without encryption: give --tls-cert and --tls-key, --acme "+
			"NAME, or --behind-proxy CIDR of the reverse proxy that does TLS", cfg.Listen)
	}
	return nil
}

func newChecker(cfg *serveConfig, log *slog.Logger) (*proxy.Checker, error) {
	c := &proxy.Checker{URLs: cfg.CheckURL, PlainURL: cfg.checkPlainURL, URLs6: cfg.CheckURL6, UDPURL: cfg.CheckUDPURL,
		Timeout: cfg.CheckTimeout, Policy: proxy.Policy{AllowPrivate: cfg.allowPrivate(),
			DebugPorts: shim.DebugPorts(filepath.Join(cfg.Data, "run"))}}
	if cfg.Geoip == "" {
		return c, nil
	}
	look, err := proxy.OpenGeo(cfg.Geoip, log)
	if err != nil {
		return nil, misusef("--geoip: %v", err)
	}
	c.Geo = look
	return c, nil
}

// certificate is the server's TLS certificate, which can be read anew while it serves.
type certificate struct {
	file, key string // PEM
	current   atomic.Pointer[tls.Certificate]
}

// load reads the files. On an error the certificate stays as it was.
func (c *certificate) load() error {
	read, err := tls.LoadX509KeyPair(c.file, c.key)
	if err == nil {
		c.current.Store(&read)
	}
	return err
}

// get is tls.Config's GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}

// onHangUp returns a channel of SIGHUPs, with which a service manager asks to read the certificate anew and to reopen the
// log's file. With a terminal the signal ends the server instead.
func onHangUp() (reload chan os.Signal) {
	reload = make(chan os.Signal, 1)
	if !hasTerminal() {
		signal.Notify(reload, syscall.SIGHUP)
	}
	return reload
}

// keep reopens the log's file and reloads the certificate on each signal until ctx ends. A nil certificate is none.
func (c *certificate) keep(ctx context.Context, reload chan os.Signal, output *logs.Output, log *slog.Logger) {
	defer signal.Stop(reload)
	for {
		select {
		case <-reload:
			service.Reload(log, func() { output.Reopen(); c.reload(log) })
		case <-ctx.Done():
			return
		}
	}
}

// reload loads the certificate and logs what came of it.
func (c *certificate) reload(log *slog.Logger) {
	if c == nil {
		log.Info("SIGHUP reads the TLS certificate anew, and there is none")
	} else if err := c.load(); err != nil {
		log.Error("the TLS certificate was not read anew; the one of before stays", "cause", err)
	} else {
		log.Info("the TLS certificate was read anew")
	}
}
