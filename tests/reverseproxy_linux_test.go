package tests

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"warren/testnet"

	"github.com/coder/websocket"
)

// reverseProxy is a program in front of a server, with a configuration of docs/reverse-proxies.md.
type reverseProxy struct {
	name    string                                 // of the configuration in the page, and of the program
	command []string                               // DIR and CONFIG stand for the test's folder and the whole configuration
	around  func(dir, snippet string) (all string) // makes a whole configuration of the page's part
}

func reverseProxies() []reverseProxy {
	return []reverseProxy{
		{"nginx", []string{"nginx", "-c", "CONFIG", "-p", "DIR"}, func(dir, snippet string) string {
			user := ""
			if os.Geteuid() == 0 {
				user = "user root;"
			}
			temps := ""
			for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
				temps += fmt.Sprintf("%s_temp_path %s/%[1]s;", kind, dir)
			}
			return fmt.Sprintf("daemon off; %s pid %s/pid; error_log stderr; events {} http { access_log off; %s %s }", user, dir, temps,
				snippet)
		}},
		{"caddy", []string{"caddy", "run", "--config", "CONFIG", "--adapter", "caddyfile"}, func(_, snippet string) string {
			return "{\nadmin off\nauto_https disable_redirects\n}\n" + snippet
		}},
		{"haproxy", []string{"haproxy", "-db", "-f", "CONFIG"}, func(_, snippet string) string { return snippet }},
		{"apache", []string{"apache2", "-X", "-f", "CONFIG"}, func(dir, snippet string) string {
			out := "ServerRoot " + dir + "\nPidFile " + dir + "/pid\nMutex file:" + dir + "\nErrorLog /dev/stderr\nServerName localhost\n"
			for _, module := range []string{"mpm_event", "authz_core", "ssl", "headers", "proxy", "proxy_http", "proxy_wstunnel"} {
				out += "LoadModule " + module + "_module /usr/lib/apache2/modules/mod_" + module + ".so\n"
			}
			if os.Geteuid() == 0 {
				out += "User www-data\nGroup www-data\n"
			}
			return out + "Listen " + regexp.MustCompile(`\*:(\d+)`).FindStringSubmatch(snippet)[1] + "\n" + snippet
		}},
	}
}

// configuration is the configuration of that name in docs/reverse-proxies.md.
func configuration(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/reverse-proxies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```"+name+"\n")
	snippet, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("docs/reverse-proxies.md has no configuration %s", name)
	}
	return snippet
}

// run starts the program on the port, in front of the server, until the test ends.
func (p reverseProxy) run(t *testing.T, kind, port, server string) {
	t.Helper()
	dir := t.TempDir()
	pem, key, both, config := filepath.Join(dir, "warren.pem"), filepath.Join(dir, "warren.key"), filepath.Join(dir, "warren-both.pem"),
		filepath.Join(dir, "config")
	writeCertificate(t, pem, key, 1)
	one, _ := os.ReadFile(pem)
	two, _ := os.ReadFile(key)
	snippet := strings.NewReplacer("127.0.0.1:7777", server, "warren.example {", "localhost:"+port+" {", "warren.example", "localhost",
		"443", port,
		"/etc/ssl/warren-both.pem", both, "/etc/ssl/warren.pem", pem, "/etc/ssl/warren.key", key).Replace(configuration(t, kind))
	for file, text := range map[string]string{both: string(one) + string(two), config: p.around(dir, snippet)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := append([]string{}, p.command...)
	for i, arg := range command {
		command[i] = strings.NewReplacer("DIR", dir, "CONFIG", config).Replace(arg)
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + command[0]) // where ordinary users may not look
	}
	if err != nil {
		t.Skipf("needs %s", command[0])
	}
	log := new(testnet.Buffer)
	cmd := exec.Command(path, command[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { cmd.Wait(); close(exited) }() //nolint:errcheck // it is ended by its group
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
		<-exited
		if t.Failed() {
			t.Logf("%s said:\n%s", p.name, log)
		}
	})
	eventually(t, p.name+" listens", enough, func() bool {
		select {
		case <-exited:
			t.Fatalf("%s ended: %s", p.name, log)
		default:
		}
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// keptPort is a free port outside the range that the system hands out (ip(7), ip_local_port_range). It stays free
// until the test's program listens there.
func keptPort(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	var low int
	if _, scanned := fmt.Sscan(string(text), &low); err != nil || scanned != nil || low < 3000 {
		t.Fatalf("no port is kept from others: %q %v %v", text, err, scanned)
	}
	for range 1000 {
		port := 2000 + rand.IntN(low-2000)
		if l, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// TestReverseProxies runs every configuration of docs/reverse-proxies.md whose program is installed. The page, the
// API, events, CDP and the live view come through. Headers with which a client lies about its way are ignored.
func TestReverseProxies(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	ports, flags := map[string]string{}, []string{"--behind-proxy", "127.0.0.0/8"}
	for _, p := range reverseProxies() {
		for _, kind := range []string{p.name, p.name + "-path"} {
			ports[kind] = fmt.Sprint(keptPort(t))
			flags = append(flags, "--allow-host", "localhost:"+ports[kind])
		}
	}
	s := newTestbed(t).serve(flags...)
	id := s.profile(nil)
	s.start(id, nil)
	for _, p := range reverseProxies() {
		for kind, prefix := range map[string]string{p.name: "", p.name + "-path": "/team/warren"} {
			t.Run(kind, func(t *testing.T) {
				p.run(t, kind, ports[kind], strings.TrimPrefix(s.base, "http://"))
				wantThrough(t, s, "https://localhost:"+ports[kind]+prefix, id)
			})
		}
	}
}

// wantThrough asks a server by the address that its proxy has.
func wantThrough(t *testing.T, s *liveServer, base, id string) {
	t.Helper()
	trust := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the certificate is the test's
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
	defer client.CloseIdleConnections()
	header := http.Header{"Authorization": {"Bearer " + liveKey}, "X-Forwarded-Prefix": {"/evil"}, "X-Forwarded-Host": {"evil.example"},
		"X-Forwarded-For": {"203.0.113.7"}}
	ask := func(method, address string) *http.Response {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), enough)
		t.Cleanup(cancel)
		req, err := http.NewRequestWithContext(ctx, method, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		if res.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(res.Body)
			t.Fatalf("%s %s: %s %s", method, address, res.Status, text)
		}
		return res
	}
	page := readAll(t, ask("GET", base+"/").Body)
	module := regexp.MustCompile(`src="([^"]+\.js)"`).FindStringSubmatch(page)
	if module == nil {
		t.Fatalf("the page has no module: %s", page)
	}
	ask("GET", base+"/"+strings.TrimPrefix(module[1], "./"))
	if ip := strings.TrimSpace(readAll(t, ask("GET", base+"/ip").Body)); strings.Contains(ip, "203.0.113.7") {
		t.Errorf("the client's word for its address is believed: %s", ip)
	}
	events := bufio.NewReader(ask("GET", base+apiPrefix+"/events").Body)
	if line, err := events.ReadString('\n'); err != nil || line != ": hello\n" {
		t.Fatalf("the events begin with %q, %v", line, err)
	}
	s.profile(map[string]any{"name": "told"})
	for line := ""; !strings.Contains(line, "profile.created"); {
		var err error
		if line, err = events.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	var run runView
	if err := json.Unmarshal([]byte(readAll(t, ask("POST", base+apiPrefix+"/profiles/"+id+"/start").Body)), &run); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(run.CdpURL, base+"/cdp/") || !strings.HasPrefix(run.LiveURL, base+"/live#") {
		t.Errorf("the addresses lead to %s and %s", run.CdpURL, run.LiveURL)
	}
	for _, address := range []string{run.WsEndpoint, "wss" + strings.TrimPrefix(base, "https") + apiPrefix + "/profiles/" + id + "/live"} {
		ctx, cancel := context.WithTimeout(t.Context(), enough)
		defer cancel()
		ws, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: client, HTTPHeader: header})
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		defer ws.CloseNow()
		if address == run.WsEndpoint {
			(&cdpClient{t: t, ws: ws}).call("", "Target.getTargetInfo", nil, nil)
		} else if _, _, err := ws.Read(ctx); err != nil {
			t.Errorf("the live view says nothing: %v", err)
		}
	}
}
