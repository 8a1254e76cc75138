package shim

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"warren/proxy"
)

// This file is about the port for clients that can only say host:port. Who reaches it drives the run. It listens at an address of
// proxy.DebugRange, which no relay, detour, proxy or call goes to; which one is drawn by lot, so that a name that somebody's proxy resolves to
// that range has to find it among 65,536. A system that has no loopback but 127.0.0.1 (macOS) listens there, and the run's folder says at
// which port: every relay and every call refuses the ports that stand there.

// openDebugPort opens the port, and serves it until closeDebugPort.
func (p *process) openDebugPort() error {
	l, err := listenDebug(p.spec.RunDir, p.spec.Name)
	if err != nil {
		return err
	}
	p.debug, p.state.DebuggerAddress = l, l.Addr().String()
	go http.Serve(l, onlyHost(l.Addr().String(), Rights{Files: p.spec.DebugFiles}, p.noteUse(p.browser.Gateway()))) //nolint:errcheck,gosec // ends with the listener
	return nil
}

func (p *process) closeDebugPort() {
	if p.debug == nil {
		return
	}
	p.debug.Close()
	os.Remove(debugPortPath(p.spec.RunDir, p.spec.Name)) //nolint:errcheck // most systems have none
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
