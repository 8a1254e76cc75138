package tests

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/testnet"
)

// TestDemo: the demo shows each step without a warning, and where the proxy comes out. The browser that it leaves to its user has
// one tab. Ctrl-C removes its folder, and testbed sees that its processes are gone.
func TestDemo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no test can send Ctrl-C there")
	}
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	said, cmd, exited := new(testnet.Buffer), g.command("demo"), make(chan struct{})
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(exited); cmd.Wait() }()
	s := &liveServer{testbed: g, cmd: cmd, log: said, exited: exited}
	t.Cleanup(s.end)
	testnet.Eventually(t, "the demo tells its links", func() bool { return strings.Contains(said.String(), "Ctrl-C") || isClosed(exited) })
	link := regexp.MustCompile(`(http://\S+)/#key=(\S+)`).FindStringSubmatch(said.String())
	if link == nil || !strings.Contains(said.String(), "in Portugal, ") || strings.Contains(said.String(), "warning") {
		t.Fatalf("the demo said:\n%s", said)
	}
	s.base, s.token = link[1], link[2]
	var running struct{ Data []runView }
	if s.do("GET", "/runs", nil, 200, &running); len(running.Data) != 1 {
		t.Fatalf("%d browsers run", len(running.Data))
	}
	res, err := http.Get(s.start(running.Data[0].ProfileID, nil).CdpURL + "/json/list") // it runs already
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var tabs []struct{ Type, URL string }
	if err := json.NewDecoder(res.Body).Decode(&tabs); err != nil {
		t.Fatal(err)
	}
	if len(tabs) != 1 || tabs[0].URL != "http://site.warren.test/again" {
		t.Errorf("the browser's tabs are %+v", tabs)
	}
	cmd.Process.Signal(syscall.SIGINT)
	<-exited
	if left, err := filepath.Glob(filepath.Join(g.dir, "t", "warren-demo-*")); len(left) > 0 || err != nil {
		t.Errorf("its folder stays: %v %v", left, err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it exited with %d: %s", code, said)
	}
}

// TestDemoCluster: each step of the demonstration of several servers works, and it ends all that it has started.
func TestDemoCluster(t *testing.T) {
	testnet.Long(t)
	if runtime.GOOS == "windows" {
		t.Skip("PostgreSQL is not started there")
	}
	needBrowser(t)
	testnet.Postgres(t) // skips
	temp, err := os.MkdirTemp("", "wdc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	if err := os.Chmod(temp, 0o711); err != nil { // PostgreSQL's account passes through
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "demo-cluster")
	if out, err := exec.Command("go", "build", "-o", program, "../deploy/demo-cluster").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g := newTestbed(t)
	said, cmd := new(testnet.Buffer), exec.Command(program, "-warren", builtBinary, "-exit")
	cmd.Env, cmd.Dir = append(g.environ(), "TMPDIR="+temp), g.dir
	cmd.Stdout, cmd.Stderr = said, said
	late := time.AfterFunc(5*time.Minute, func() { cmd.Process.Signal(syscall.SIGTERM) })
	defer late.Stop()
	if err := cmd.Run(); err != nil || !strings.Contains(said.String(), "All of it took") {
		t.Fatalf("%v:\n%s", err, said)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "warren-cluster-*")); len(left) > 0 || err != nil {
		t.Errorf("its folder stays: %v %v", left, err)
	}
}
