package shim

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"warren/proxy"
)

// Serves the port for clients that can only say host:port. Whoever reaches the port controls the run.
//
// The port listens at a random address of proxy.DebugRange, which no relay, bypass, proxy or call connects to. A name
// that resolves into that range would have to hit one of 65,536 addresses. On systems whose only loopback address is
// 127.0.0.1 (macOS) the port listens there, and a file in the runs' folder names it. Relays and calls refuse the
// ports in these files. The port is closed when the key that asked for it ends.

// debugPort is an open port.
type debugPort struct {
	server    *http.Server
	file      string          // names the port, where the system has no address range
	ctx       context.Context // ends the requests that came through the port
	cancel    context.CancelFunc
	closeOnce sync.Once
}

// openDebugPort opens the port and serves it until it is closed or its key expires.
func (p *process) openDebugPort() error {
	l, err := listenDebug(p.spec.RunDir, p.spec.Name)
	if err != nil {
		return err
	}
	d := &debugPort{file: debugPortPath(p.spec.RunDir, p.spec.Name)}
	if until := p.spec.DebugUntil; until == 0 {
		d.ctx, d.cancel = context.WithCancel(context.Background())
	} else {
		d.ctx, d.cancel = context.WithDeadline(context.Background(), time.UnixMilli(until))
	}
	address := l.Addr().String()
	p.debug, p.state.DebuggerAddress, p.state.DebugKey = d, address, p.spec.DebugKey
	gateway := requireHost(address, Rights{Files: p.spec.StarterFiles}, p.awake(p.yielding.endAt(p.recordUse(p.browser.Gateway()))))
	d.server = &http.Server{Handler: d.whileOpen(gateway), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return d.ctx }, ErrorLog: p.errorLog()}
	context.AfterFunc(d.ctx, d.close)
	go d.server.Serve(l) //nolint:errcheck // ends with close
	return nil
}

// whileOpen refuses requests once the port is closed, also on connections from before.
func (d *debugPort) whileOpen(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.isOpen() {
			http.Error(w, "the port is closed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// close closes the listener and ends the requests that came through it. A nil port has nothing to close.
func (d *debugPort) close() {
	if d == nil {
		return
	}
	d.cancel()
	d.closeOnce.Do(func() {
		d.server.Close()  //nolint:errcheck // the server is closed either way
		os.Remove(d.file) //nolint:errcheck // most systems have no such file
	})
}

// isOpen reports whether requests are served. It is false for nil.
func (d *debugPort) isOpen() bool { return d != nil && d.ctx.Err() == nil }

// CloseDebugPort closes the run's port for debuggers and ends the requests that came through it. A run without a port
// has nothing to close.
func (c *Client) CloseDebugPort(ctx context.Context) error {
	return c.call(ctx, http.MethodDelete, "/debug-port", nil, nil)
}

func (p *process) serveCloseDebugPort(w http.ResponseWriter, _ *http.Request) {
	p.debug.close()
	writeJSON(w, struct{}{})
}

// listenDebug listens at an address of the range, or at 127.0.0.1 where the system has no such addresses.
func listenDebug(dir, name string) (net.Listener, error) {
	b := proxy.DebugRange().Addr().As4()
	rand.Read(b[2:]) //nolint:errcheck // never fails (crypto/rand)
	l, err := net.Listen("tcp4", net.JoinHostPort(net.IP(b[:]).String(), "0"))
	if err != nil {
		return listenLoopback(dir, name)
	}
	return l, nil
}

// listenLoopback listens at 127.0.0.1, and writes the port to a file before anything is served there.
func listenLoopback(dir, name string) (net.Listener, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := os.WriteFile(debugPortPath(dir, name), []byte(port), 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("the port for debuggers cannot be noted: %w", err)
	}
	return l, nil
}

const debugPortExt = ".debug"

func debugPortPath(dir, name string) string { return filepath.Join(dir, name+debugPortExt) }

// DebugPorts returns the ports of 127.0.0.1 at which the runs of a folder listen for debuggers. It finds none where
// the system has the address range.
func DebugPorts(dir string) func() []string {
	return func() (ports []string) {
		files, _ := os.ReadDir(dir) // without a folder there are no runs
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), debugPortExt) {
				continue
			}
			if text, err := os.ReadFile(filepath.Join(dir, f.Name())); err == nil {
				ports = append(ports, strings.TrimSpace(string(text)))
			}
		}
		return ports
	}
}

// requireHost refuses requests whose Host is not this address. It keeps out web pages that resolve a name of their
// own to it (DNS rebinding). The port may be missing, since chromedriver's sockets omit it. The gateway gets the base
// of its answers' addresses, and the client's rights.
func requireHost(address string, may Rights, next http.Handler) http.Handler {
	ip, _, _ := net.SplitHostPort(address)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != address && r.Host != ip || r.Header.Get("Origin") != "" {
			http.Error(w, "not allowed", http.StatusForbidden)
			return
		}
		may.setHeaders(r.Header)
		r.Header.Set("X-Warren-Base", "ws://"+address)
		next.ServeHTTP(w, r)
	})
}
