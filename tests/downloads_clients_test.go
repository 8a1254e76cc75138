package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Playwright and Puppeteer, with a key that may not use files of the machine.
func TestDownloadsOfClients(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	dir := nodeClients(t)
	s := newTestbed(t).serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	_, key := s.key(map[string]any{"name": "driver", "scopes": []string{"run"}})
	var run runView
	status, text := s.ask("POST", s.base+apiPrefix+"/profiles/"+id+"/start", map[string]string{"Authorization": "Bearer " + key})
	if err := json.Unmarshal([]byte(text), &run); status != 200 || err != nil {
		t.Fatal(status, text, err)
	}
	s.saves(id, run, "unasked.txt", "unasked")
	told, err := json.Marshal(map[string]string{"cdpUrl": run.CdpURL, "wsEndpoint": run.WsEndpoint,
		"api": s.base + apiPrefix + "/profiles/" + id, "key": key,
		"site": s.world.url("/"), "nowhere": filepath.Join(dir, "nowhere"), "mine": filepath.Join(dir, "mine.txt")})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "downloads.mjs")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "WARREN_RUN="+string(told))
	stop := time.AfterFunc(2*enough, func() { cmd.Process.Kill() })
	defer stop.Stop()
	code, out, errs := exitOf(t, cmd)
	want := "playwright-download playwright-upload playwright-near puppeteer-download puppeteer-upload"
	if got := strings.Join(strings.Fields(out), " "); code != 0 || got != want {
		t.Errorf("the clients ended with %d: %s, want %s\n%s", code, got, want, errs)
	}
}
