package tests

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"warren/testnet"
)

// Real clients use the gateway.

// Playwright and Puppeteer, as their users have them, by capability and, through a reverse proxy with TLS, by key; one after the other and
// both at once. Then the programs of docs/clients.md, as they stand there.
func TestGatewayClients(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	dir, f := nodeClients(t), newFront(t)
	s := newTestbed(t).serve(f.flags()...)
	f.lead(t, s.base)
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	run := s.start(id, map[string]any{"debugPort": true})
	text, err := json.Marshal(map[string]string{"cdpUrl": run.CdpURL, "wsEndpoint": run.WsEndpoint, "key": liveKey,
		"apiUrl": f.base + apiPrefix + "/profiles/" + id + "/cdp", "site": s.world.url("")})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "clients.mjs")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "WARREN_RUN="+string(text), "NODE_EXTRA_CA_CERTS="+f.certificate(t, dir))
	stop := time.AfterFunc(2*enough, func() { cmd.Process.Kill() })
	defer stop.Stop()
	code, out, errs := exitOf(t, cmd)
	want := "playwright-cdpUrl playwright-wsEndpoint playwright-bearer puppeteer-wsEndpoint puppeteer-bearer both-at-once"
	if got := strings.Join(strings.Fields(out), " "); code != 0 || got != want {
		t.Errorf("the clients ended with %d: %s, want %s\n%s", code, got, want, errs)
	}
	if p := s.get(id); p.Status != "running" || p.Run.RunID != run.RunID {
		t.Errorf("the clients left the profile %s", p.Status)
	}
	c := dialCDP(t, run.WsEndpoint, nil)
	if urls, _ := c.pages(); len(urls) != 1 {
		t.Errorf("the clients left the pages %v", urls)
	}
	s.snippets(dir, id, run)
}

// A page posts up to 100 MB while Playwright and Puppeteer listen to its requests, which carry their bodies. No
// connection is cut.
func TestUploadsBesideClients(t *testing.T) {
	testnet.Long(t)
	if withRace {
		t.Skip("is about gigabytes, which take the race detector minutes")
	}
	t.Parallel()
	needBrowser(t)
	dir := nodeClients(t)
	s := newTestbed(t).serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	run := s.start(id, nil)
	text, err := json.Marshal(map[string]string{"cdpUrl": run.CdpURL, "wsEndpoint": run.WsEndpoint, "site": s.world.url("")})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "uploads.mjs")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "WARREN_RUN="+string(text))
	stop := time.AfterFunc(4*enough, func() { cmd.Process.Kill() })
	defer stop.Stop()
	code, out, errs := exitOf(t, cmd)
	want := "playwright-4 playwright-10 playwright-20 playwright-40 playwright-100 " +
		"puppeteer-4 puppeteer-10 puppeteer-20 puppeteer-40 puppeteer-100"
	if got := strings.Join(strings.Fields(out), " "); code != 0 || got != want {
		t.Errorf("the clients ended with %d: %s, want %s\n%s", code, got, want, errs)
	}
}

// nodeClients installs the clients in a folder of the test's own, or skips the test.
func nodeClients(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs %s: %v", name, err)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "clients"))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("needs npm's registry: npm ci: %v\n%s", err, out)
	}
	return dir
}

// program is one of docs/clients.md, ready to run.
type program struct {
	name string
	cmd  func() *exec.Cmd
}

// programs takes the programs out of docs/clients.md. What this machine cannot run is left out, and said.
func programs(t testing.TB, dir string) (out []program) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?ms)^```(js|go) (\\w+)\\.(\\w+)\n(.*?)^```$").FindAllSubmatch(text, -1)
	if len(found) != 4 {
		t.Fatalf("%d programs in docs/clients.md, want 4", len(found))
	}
	for _, m := range found {
		name, file := string(m[2]), filepath.Join(dir, string(m[2])+"."+string(m[3]))
		if err := os.WriteFile(file, m[4], 0o600); err != nil {
			t.Fatal(err)
		}
		args, needs := []string{"node", file}, ""
		if string(m[1]) == "go" { // in this module, which has the library already
			args, needs = []string{filepath.Join(dir, name)}, "go"
		} else if name == "selenium" {
			needs = "chromedriver"
		}
		if _, err := exec.LookPath(needs); needs != "" && err != nil {
			t.Logf("the program %s is left out: %v", name, err)
			continue
		}
		if needs == "go" {
			if out, err := exec.Command("go", "build", "-o", args[0], file).CombinedOutput(); err != nil {
				t.Fatalf("%s does not build: %v\n%s", name, err, out)
			}
		}
		out = append(out, program{name, func() *exec.Cmd { return exec.Command(args[0], args[1:]...) }})
	}
	return out
}

// snippets runs the programs on a fresh run, with the very strings that start answered. Each does all that it says,
// and the next one's page gets the cookies of those before. After the stop each is refused, and says so.
func (s *liveServer) snippets(dir, id string, run runView) {
	t := s.t
	all := programs(t, dir)
	driver, _ := exec.LookPath("chromedriver")
	did := func(p program) (code int, out, errs string) {
		cmd := p.cmd()
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CDP_URL="+run.CdpURL, "WS_ENDPOINT="+run.WsEndpoint, "DEBUGGER_ADDRESS="+*run.DebuggerAddress,
			"PAGE="+s.world.url("/by-"+p.name),
			"SE_CHROMEDRIVER="+driver, "SE_OFFLINE=true", "SE_AVOID_STATS=true")
		stop := time.AfterFunc(2*enough, func() { cmd.Process.Kill() })
		defer stop.Stop()
		return exitOf(t, cmd)
	}
	works := func(p program) {
		code, out, errs := did(p)
		picture, _ := os.ReadFile(filepath.Join(dir, p.name+".png"))
		if code != 0 || strings.TrimSpace(out) != "/by-"+p.name || !bytes.HasPrefix(picture, []byte("\x89PNG")) {
			t.Errorf("%s ended with %d: %q, a picture of %d bytes\n%s", p.name, code, out, len(picture), errs)
		}
	}
	var wg sync.WaitGroup
	for _, p := range all[:2] { // Playwright and Puppeteer at once
		wg.Go(func() { works(p) })
	}
	wg.Wait()
	for i, p := range all[2:] {
		works(p)
		for _, before := range all[:i+2] {
			if v := s.world.await(t, "/by-"+p.name, 1); !strings.Contains(v.cookie, before.name+"=was-here") {
				t.Errorf("the page of %s got the cookies %q: %s's is missing", p.name, v.cookie, before.name)
			}
		}
	}
	c := dialCDP(t, run.WsEndpoint, nil)
	urls, _ := c.pages()
	for _, p := range all {
		if !slices.Contains(urls, s.world.url("/by-"+p.name)) {
			t.Errorf("the page of %s is not among %v", p.name, urls)
		}
	}
	if again := s.get(id); again.Status != "running" || again.Run.RunID != run.RunID {
		t.Errorf("the programs left the profile %s", again.Status)
	}
	s.stop(id)
	if c, err := net.Dial("tcp", *run.DebuggerAddress); err == nil {
		c.Close()
		t.Error("the debug port outlives its run")
	}
	for _, p := range all {
		if p.name == "selenium" { // chromedriver tries the port for a minute before it says so
			continue
		}
		wg.Go(func() {
			if code, out, errs := did(p); code == 0 || !strings.Contains(out+errs, "404") {
				t.Errorf("%s after the stop ended with %d: %s %s", p.name, code, out, errs)
			}
		})
	}
	wg.Wait()
}
