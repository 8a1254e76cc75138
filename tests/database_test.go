package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"warren/testnet"
)

// A server whose database is in PostgreSQL goes on with its runs when that is killed: clients drive the browser, and pages go through the
// proxy. What needs the database is refused. When it is back everything is as it was, and a browser that ended meanwhile has ended. A
// second server that is started with another secret key ends with a reason.
func TestDatabaseDies(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	database := testnet.OwnPostgres(t)
	g := newTestbed(t)
	url := database.NewDatabase()
	s := g.serve("--store", url)
	proxied := map[string]any{"proxyId": s.addProxy(nil)}
	stays, ends := s.profile(proxied), s.profile(proxied)
	run, other := s.start(stays, nil), s.start(ends, nil)
	c := dialCDP(t, run.WsEndpoint, nil)
	page := c.open(s.world.url("/before"))
	events := s.listen()
	database.Kill()

	c.awaitURL(c.open(s.world.url("/meanwhile")), s.world.url("/meanwhile"))
	s.world.await(t, "/meanwhile", 1)
	if got := c.eval(page, "location.pathname"); got != "/before" {
		t.Errorf("the page is at %s", got)
	}
	for _, request := range [][2]string{{"GET", "/profiles/" + stays}, {"GET", "/profiles"}, {"POST", "/profiles/" + stays + "/start"}} {
		s.refused(request[0], request[1], nil, 503, "database_busy")
	}
	joins := map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
	if status, text := s.ask("GET", strings.Replace(other.WsEndpoint, "ws://", "http://", 1), joins); status != 503 ||
		!strings.Contains(text, "database_busy") {
		t.Errorf("who joins is written down first, and got %d %s", status, text)
	}
	if browser, err := os.FindProcess(other.PID); err != nil || browser.Kill() != nil {
		t.Fatalf("kill the other browser: %v", err)
	}

	database.Start()
	testnet.Eventually(t, "the server works again", func() bool {
		r, err := s.try("GET", "/profiles/"+stays, nil)
		return err == nil && r.status == 200
	})
	if p := s.get(stays); p.Status != "running" || p.Run == nil || p.Run.RunID != run.RunID {
		t.Errorf("the profile shows %s, %+v", p.Status, p.Run)
	}
	events.await("run.ended", "failed", ends)
	testnet.Eventually(t, "the end is written", func() bool {
		p := s.get(ends)
		return p.LastRun != nil && p.LastRun.Reason == "crashed"
	})
	if again := s.start(stays, nil); !again.Reused || again.RunID != run.RunID {
		t.Errorf("a start gave %+v, want the run that is there", again)
	}
	s.stop(stays)

	key := filepath.Join(g.dir, "other.key")
	if err := os.WriteFile(key, []byte(strings.Repeat("ab", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := g.command("serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(g.dir, "second"), "--store", url, "--secret-key-file", key)
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); !exited || !strings.Contains(string(out), "secret key does not fit") {
		t.Errorf("a server with another key: %v\n%s", err, out)
	}
}
