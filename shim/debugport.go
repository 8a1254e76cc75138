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

// This file is about the port for clients that can only say host:port. Who reaches it drives the run. It listens at an address of
// proxy.DebugRange, which no relay, bypass, proxy or call goes to; which one is drawn by lot, so that a name that somebody's proxy resolves to
// that range has to find it among 65,536. A system that has no loopback but 127.0.0.1 (macOS) listens there, and the run's folder says at
// which port: every relay and every call refuses the ports that stand there. It is closed when the key of who asked for it ends.

// debugPort is the open port.
type debugPort struct {
	server *http.Server
	note   string          // the file that says which port it is, where there is one
	life   context.Context // what came by the port lives in it
	end    context.CancelFunc
	spent  sync.Once
}

// openDebugPort opens the port, and serves it until it is closed or its key expires.
func (p *process) openDebugPort() error {
	l, err := listenDebug(p.spec.RunDir, p.spec.Name)
	if err != nil {
		return err
	}
	d := &debugPort{note: debugPortPath(p.spec.RunDir, p.spec.Name)}
	if until := p.spec.DebugUntil; until == 0 {
		d.life, d.end = context.WithCancel(context.Background())
	} else {
		d.life, d.end = context.WithDeadline(context.Background(), time.UnixMilli(until))
	}
	address := l.Addr().String()
	p.debug, p.state.DebuggerAddress, p.state.DebugKey = d, address, p.spec.DebugKey
	d.server = &http.Server{Handler: d.whileOpen(onlyHost(address, Rights{Files: p.spec.StarterFiles}, p.noteUse(p.browser.Gateway()))), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return d.life }, ErrorLog: p.errorLog()}
	context.AfterFunc(d.life, d.close)
	go d.server.Serve(l) //nolint:errcheck // ends with close
	return nil
}

// whileOpen answers nobody any more once the port is closed, whose connection may have been there before.
func (d *debugPort) whileOpen(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.isOpen() {
			http.Error(w, "the port is closed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// close lets nobody in any more, and ends what came by the port. nil has nothing to close.
func (d *debugPort) close() {
	if d == nil {
		return
	}
	d.end()
	d.spent.Do(func() {
		d.server.Close()  //nolint:errcheck // it is over
		os.Remove(d.note) //nolint:errcheck // most systems have none
	})
}

// isOpen is false of nil.
func (d *debugPort) isOpen() bool { return d != nil && d.life.Err() == nil }

// CloseDebugPort closes the run's port for debuggers, and ends what came by it. A run without one has nothing to close.
func (c *Client) CloseDebugPort(ctx context.Context) error {
	return c.call(ctx, http.MethodDelete, "/debug-port", nil, nil)
}

func (p *process) serveCloseDebugPort(w http.ResponseWriter, _ *http.Request) {
	p.debug.close()
	send(w, struct{}{})
}

// listenDebug listens at an address of the range, where the system has it.
func listenDebug(dir, name string) (net.Listener, error) {
	b := proxy.DebugRange().Addr().As4()
	rand.Read(b[2:]) //nolint:errcheck // never fails (crypto/rand)
	l, err := net.Listen("tcp4", net.JoinHostPort(net.IP(b[:]).String(), "0"))
	if err != nil {
		return listenNoted(dir, name)
	}
	return l, nil
}

// listenNoted listens at 127.0.0.1, and notes the port in the runs' folder before anything is served there.
func listenNoted(dir, name string) (net.Listener, error) {
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

// DebugPorts tells the ports of 127.0.0.1 at which the runs of a folder listen for debuggers, where the system has no range for them.
func DebugPorts(dir string) func() []string {
	return func() (ports []string) {
		files, _ := os.ReadDir(dir) // without a folder there is no run
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

// onlyHost lets in requests that name this very address, so that no web page gets in by a name of its own (DNS rebinding),
// and says to the gateway what its answers begin with and what the client may. The port may be missing: chromedriver's sockets leave it out.
func onlyHost(address string, may Rights, next http.Handler) http.Handler {
	ip, _, _ := net.SplitHostPort(address)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != address && r.Host != ip || r.Header.Get("Origin") != "" {
			http.Error(w, "not allowed", http.StatusForbidden)
			return
		}
		may.tell(r.Header)
		r.Header.Set("X-Warren-Base", "ws://"+address)
		next.ServeHTTP(w, r)
	})
}
