package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// realProxy is a proxy server that Debian packages, as a process of its own.
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
			return []string{"-d", "-c", filepath.Join(dir, "conf")},
				fmt.Sprintf("Port %d\nListen 127.0.0.1\nTimeout 600\nBasicAuth user pass\nAllow 127.0.0.1\nLogFile \"%s/log\"\n", port, dir)
		}},
	}
}

// TestRealProxiesFailOver: a relay leaves real servers that are frozen, stopped, or asked with a wrong password.
func TestRealProxiesFailOver(t *testing.T) {
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
				moved, took := failsOver(t, up, nil, 1)
				if moved == nil {
					t.Fatalf("after %v it is still in use", took)
				}
				if how == "wrong password" && moved.Cause.Code != AuthFailed {
					t.Errorf("the fault is %v", moved.Cause)
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

// TestRealProxiesWithoutTunnels: plain sites are reached through squid with Debian's rules and a login by Digest, and through tinyproxy
// with such rules.
func TestRealProxiesWithoutTunnels(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.80:80")
	if err != nil {
		t.Skipf("a site at port 80 is needed: %v", err)
	}
	site := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) {
		fmt.Fprintf(w, "%s %s", rq.Method, rq.Host)
	})}
	go site.Serve(l)
	t.Cleanup(func() { site.Close() })
	for _, real := range []realProxy{
		{"tinyproxy", HTTP, func(dir string, port int) ([]string, string) {
			return []string{"-d", "-c", filepath.Join(dir, "conf")},
				fmt.Sprintf("Port %d\nListen 127.0.0.1\nTimeout 600\nBasicAuth user pass\nConnectPort 443\nLogFile \"%s/log\"\n", port, dir)
		}},
		{"squid", HTTP, func(dir string, port int) ([]string, string) {
			for _, up := range []string{dir, filepath.Dir(dir)} { // squid drops root before it reads the files
				os.Chmod(up, 0o755)
			}
			os.WriteFile(filepath.Join(dir, "users"), []byte("user:pass\n"), 0o644)
			return []string{"-N", "-f", filepath.Join(dir, "conf")},
				fmt.Sprintf("http_port 127.0.0.1:%d\npid_filename none\naccess_log none\ncache_log /dev/null\ncache deny all\n"+
					"shutdown_lifetime 0 seconds\nauth_param digest program /usr/lib/squid/digest_file_auth %s/users\n"+
					"auth_param digest children 1\nauth_param digest realm tests\nacl SSL_ports port 443\n"+
					"acl known proxy_auth REQUIRED\nhttp_access deny CONNECT !SSL_ports\nhttp_access allow known\n"+
					"http_access deny all\n", port, dir)
		}},
	} {
		t.Run(real.program, func(t *testing.T) {
			t.Parallel()
			port, _ := real.run(t)
			d := &Dialer{Policy: Policy{AllowPrivate: true, Exempt: []string{"127.0.0.80:80"}},
				Upstream: &Proxy{Type: HTTP, Host: "127.0.0.1", Port: port, Username: "user", Password: "pass"}}
			_, address := startRelay(t, d)
			tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				return tunnelTo(t, address, "127.0.0.80", 80), nil
			}}
			defer tr.CloseIdleConnections()
			client := &http.Client{Transport: tr, Timeout: waitLimit}
			for range 3 {
				resp, err := client.Get("http://127.0.0.80/")
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if string(got) != "GET 127.0.0.80" || err != nil {
					t.Errorf("%s: %.200q, %v", resp.Status, got, err)
				}
			}
		})
	}
}
