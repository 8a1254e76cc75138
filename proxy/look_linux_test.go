package proxy

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// realProxy is a server that Debian has, as a process of its own.
type realProxy struct {
	program string
	typ     Type
	start   func(dir string, port int) (args []string, config string)
}

func realProxies() []realProxy {
	return []realProxy{
		{"microsocks", SOCKS5, func(_ string, port int) ([]string, string) {
			return []string{"-i", "127.0.0.1", "-p", fmt.Sprint(port), "-u", "user", "-P", "pass"}, ""
		}},
		{"tinyproxy", HTTP, func(dir string, port int) ([]string, string) {
			return []string{"-d", "-c", filepath.Join(dir, "conf")}, fmt.Sprintf("Port %d\nListen 127.0.0.1\nTimeout 600\nBasicAuth user pass\nAllow 127.0.0.1\nLogFile \"%s/log\"\n", port, dir)
		}},
	}
}

// TestRealProxiesGiveWay: real servers, each frozen, stopped, and asked with a wrong password.
func TestRealProxiesGiveWay(t *testing.T) {
	for _, real := range realProxies() {
		for _, how := range []string{"frozen", "stopped", "wrong password"} {
			t.Run(real.program+" "+how, func(t *testing.T) {
				t.Parallel()
				port, process := real.run(t)
				up := &Proxy{Type: real.typ, Host: "127.0.0.1", Port: port, Username: "user", Password: "pass"}
				target := serve(t, echo)
				d := &Dialer{Policy: nearby, Upstream: up}
				c, err := d.DialContext(within(t, waitLimit), "tcp", target.addr()) // the server may reach this machine; the Policy may not
				if err == nil || !strings.Contains(err.Error(), "blocked") {
					t.Fatalf("%v, %v", c, err)
				}
				d.Policy.Exempt = []string{target.addr()}
				if c, err = d.DialContext(within(t, waitLimit), "tcp", target.addr()); err != nil {
					t.Fatal(err)
				}
				roundTrip(t, c)
				c.Close()
				switch how {
				case "frozen":
					process.Signal(syscall.SIGSTOP)
				case "stopped":
					process.Kill()
					process.Wait()
				default:
					up.Password = "wrong"
				}
				moved, took := fallsBack(t, up, nil, 1)
				if moved == nil {
					t.Fatalf("after %v it is still in use", took)
				}
				if how == "wrong password" && moved.Why.Code != AuthFailed {
					t.Errorf("the fault is %v", moved.Why)
				}
			})
		}
	}
}

// run starts the server on a port of its own.
func (p realProxy) run(t *testing.T) (port int, process *os.Process) {
	t.Helper()
	path, err := exec.LookPath(p.program)
	if err != nil {
		t.Skipf("%s is not installed: this server is not tried", p.program)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	dir := t.TempDir()
	args, config := p.start(dir, port)
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	until(t, p.program+" listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return port, cmd.Process
}
