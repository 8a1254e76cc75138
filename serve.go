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
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"warren/events"
	"warren/pool"
	"warren/proxy"
	"warren/shim"
	"warren/store"
	"warren/web"
)

// answerTime is how long a stop waits, after that, for requests that are being answered.
const answerTime = 3 * time.Second

// gcPercent lets the heap grow to three times what lives: that is a few MiB here, and half the collections are half of a tenth
// of a request's CPU.
const gcPercent = 200

// Run serves until ctx ends.
func (cfg *serveConfig) Run(ctx context.Context, c *console) error {
	if cfg.APIKey == "" {
		cfg.APIKey = os.Getenv("WARREN_API_KEY")
	}
	cfg.configFile, _ = configPath()
	if err := cfg.resolve(); err != nil {
		return err
	}
	return serve(ctx, cfg, c, nil)
}

// serve is the server's life: data folder, store, runs, listener; wait; close in reverse order. up is told when it serves.
func serve(ctx context.Context, cfg *serveConfig, c *console, up func(*server, string)) error {
	log := logger(c.stderr)
	dropUnknownZone(log)
	private()
	debug.SetGCPercent(gcPercent)
	unlock, err := claimData(cfg.Data)
	if err != nil {
		return err
	}
	defer unlock()
	st, err := store.Open(ctx, cfg.Data, store.Options{SecretKeyFile: cfg.SecretKey, Logger: log})
	if err != nil {
		return err
	}
	defer st.Close()
	keys := newKeyring(st, cfg.APIKey)
	if err := cfg.checkExposureWith(ctx, keys); err != nil {
		return err
	}
	checker, err := newChecker(cfg, log)
	if err != nil {
		return err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	ev := events.New()
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("%w; choose another address with --listen", err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String()) //nolint:errcheck // TCP's addresses have one
	own := pool.Own{Port: port}
	px := pool.New(life, pool.Config{AtOnce: cfg.CheckAtOnce, Files: openFiles(), Every: cfg.checkEvery, RotateEvery: cfg.RotateEvery, RotateTimeout: cfg.RotateTimeout,
		Own: own}, log, st, ev, checker)
	rs, err := newRuns(life, cfg.runs(own), log, st, ev, px)
	if err != nil {
		return err
	}
	site, err := web.New()
	if err != nil {
		return err
	}
	s := newServer(&server{cfg: cfg, log: log, store: st, keys: keys, tickets: newTickets(), guesses: newGuesses(), runs: rs, events: ev, pool: px, site: site,
		once: newIdempotency(st, log), writeTime: writeTime})
	base := s.knowHosts(listener.Addr())
	if err := s.prepare(ctx); err != nil && ctx.Err() == nil { // told to stop already, it goes on to stop in order
		return err
	}
	if err := s.announceKey(ctx, c.stderr, base); err != nil {
		return err
	}
	return s.listen(ctx, life, listener, base, c.stdout, end, up)
}

// listen serves until ctx ends, then stops: no new starts, browsers closed, streams ended, and what is being answered finished. end ends life,
// which everything in the background lives in.
func (s *server) listen(ctx, life context.Context, l net.Listener, base string, stdout io.Writer, end context.CancelFunc, up func(*server, string)) error {
	h := &http.Server{Handler: s, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	l, h.ConnState = newGate(l, maxConnections(), s.log)
	h.Protocols = new(http.Protocols)
	h.Protocols.SetHTTP1(true) // streams and sockets are made for it
	failed := make(chan error, 1)
	go func() {
		if s.cfg.TLSCert != "" {
			h.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.cfg.certificate.get}
			failed <- h.ServeTLS(l, "", "")
			return
		}
		failed <- h.Serve(l)
	}()
	reload := onHangUp()
	fmt.Fprintf(stdout, "warren: listening on %s\n", base)
	if up != nil {
		up(s, base)
	}
	var background sync.WaitGroup
	defer func() { end(); background.Wait() }()
	background.Go(func() { s.keepSweeping(life) })
	background.Go(func() { s.keepCertificate(life, reload) })
	background.Go(func() { s.pool.KeepChecking(life) })
	background.Go(func() { s.runs.keepFollowing(life) })
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.log.Info("stopping")
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopTime)
	defer cancel()
	s.runs.shutdown(stopping)
	end()
	s.runs.wait()
	s.events.Close()
	answering, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime) // browsers may have taken all of theirs
	defer cancel()
	err := h.Shutdown(answering)
	return errors.Join(err, h.Close(), s.keys.flush(answering))
}

// prepare makes good what the last server left: runs to adopt, folders to remove, keys of requests to free.
func (s *server) prepare(ctx context.Context) error {
	if _, err := s.runs.browser(ctx); err != nil {
		s.log.Warn("no browser was found; starts fail until there is one", "cause", err)
	}
	if err := s.runs.adopt(ctx); err != nil {
		return err
	}
	if err := s.store.Write(ctx, func(q *store.Queries) error {
		_, err := q.DeleteUnfinishedIdempotency(ctx)
		return err
	}); err != nil {
		return err
	}
	return s.runs.tidyErased(ctx)
}

// keepSweeping sweeps now and every minute, until ctx ends.
func (s *server) keepSweeping(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	var clock clockWatch
	for {
		err := errors.Join(s.runs.sweep(ctx, clock.steady(time.Now())), s.sweep(ctx))
		if err != nil && ctx.Err() == nil {
			s.log.Error("sweeping", "cause", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sweep forgets answers and places that are old, and writes the last uses of keys.
func (s *server) sweep(ctx context.Context) error {
	return errors.Join(s.once.purge(ctx), s.store.ForgetGone(ctx), s.keys.flush(ctx))
}

// claimData makes the data folder this server's alone. Another server on it is a refusal.
func claimData(dir string) (unlock func(), err error) {
	if len(filepath.Join(dir, "run", "012345678901.sock")) > 103 {
		return nil, misusef("the data folder's path is too long: a socket in it may have 103 bytes (unix(7)); choose a shorter --data")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data folder cannot be made: %w; choose another with --data DIR", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data folder is not ours: %w; choose another with --data DIR", err)
	}
	for _, sub := range []string{"profiles", "run"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("the data folder cannot be written: %w", err)
		}
	}
	lock := flock.New(filepath.Join(dir, "server.lock"), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("the data folder cannot be locked: %w", err)
	}
	if !ok {
		return nil, refusef("another warren serves the data folder %s; stop it, or choose another with --data DIR", dir)
	}
	return func() { lock.Unlock() }, nil //nolint:errcheck // the process ends
}

// logger writes text to a terminal and JSON elsewhere.
func logger(w io.Writer) *slog.Logger {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return slog.New(slog.NewTextHandler(w, nil))
		}
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}

func (cfg *serveConfig) checkExposureWith(ctx context.Context, k *keyring) error {
	n, err := k.store.Read().CountUsableKeys(ctx, now())
	if err != nil {
		return err
	}
	return cfg.checkExposure(n > 0 || cfg.APIKey != "")
}

func newChecker(cfg *serveConfig, log *slog.Logger) (*proxy.Checker, error) {
	c := &proxy.Checker{URLs: cfg.CheckURL, PlainURL: cfg.checkPlainURL, URLs6: cfg.CheckURL6, UDPURL: cfg.CheckUDPURL, Timeout: cfg.CheckTimeout, Policy: proxy.Policy{AllowPrivate: cfg.allowPrivate(), DebugPorts: shim.DebugPorts(filepath.Join(cfg.Data, "run"))}}
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

// knowHosts fills in the names that requests may use, and gives the address to print.
func (s *server) knowHosts(addr net.Addr) (base string) {
	scheme := "http"
	if s.cfg.TLSCert != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		host = addr.String()
	}
	s.port = port
	names := []string{"127.0.0.1", "localhost", "[::1]"}
	if named, _, err := net.SplitHostPort(s.cfg.Listen); err == nil && named != "" && named != "0.0.0.0" && named != "::" {
		names = append(names, strings.Trim(net.JoinHostPort(named, ""), ":"))
	}
	names = append(names, s.cfg.AllowHost...)
	s.hosts, s.origins = map[string]bool{}, map[string]bool{}
	for _, name := range names {
		name = strings.ToLower(name)
		for _, h := range []string{name + ":" + port, name} {
			if h == name && !s.barePort(port) && !contains(s.cfg.AllowHost, name) {
				continue
			}
			s.hosts[h] = true
			s.origins[scheme+"://"+h] = true
			if len(s.cfg.proxies) > 0 {
				s.origins["https://"+h] = true
			}
		}
	}
	if host == "::" || host == "0.0.0.0" {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// barePort says whether browsers leave the port out of Host.
func (s *server) barePort(port string) bool {
	return s.cfg.TLSCert == "" && port == "80" || s.cfg.TLSCert != "" && port == "443"
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if strings.EqualFold(s, want) {
			return true
		}
	}
	return false
}

// announceKey makes and prints the first key of an empty data folder. With WARREN_API_KEY there is nothing to print.
func (s *server) announceKey(ctx context.Context, w io.Writer, base string) error {
	if s.cfg.APIKey != "" {
		return nil
	}
	key, err := s.keys.firstKey(ctx, s.cfg.Data)
	if err != nil || key == "" {
		return err
	}
	_, err = fmt.Fprintf(w, "\nThe admin key, shown once (also in %s):\n\n    %s\n\nOpen the page with it:\n\n    %s/#key=%s\n\n",
		filepath.Join(s.cfg.Data, "admin.key"), key, base, key)
	return err
}
