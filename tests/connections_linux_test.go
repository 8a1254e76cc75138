package tests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A server that may have 400 descriptors holds 200 connections. Idle ones by the thousand give way to each other,
// busy ones stay, and requests with a key are always answered.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	prlimit, err := exec.LookPath("prlimit")
	if err != nil {
		t.Skip("needs prlimit (util-linux)")
	}
	dir := t.TempDir()
	ctx, end := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, prlimit, "--nofile=400:400", builtBinary, "serve", "--listen=127.0.0.1:0",
		"--data="+filepath.Join(dir, "d"))
	cmd.Env = append(os.Environ(), "WARREN_API_KEY="+liveKey)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was told to go
	defer end()
	line, err := bufio.NewReader(out).ReadString('\n')
	base := strings.TrimSpace(strings.TrimPrefix(line, "warren: listening on "))
	if err != nil || !strings.HasPrefix(base, "http://") {
		t.Fatal(line, err)
	}
	ask := func(client *http.Client, path string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+liveKey)
		res, err := client.Do(req)
		if err != nil {
			t.Fatalf("a good client: %v", err)
		}
		if res.StatusCode != 200 {
			t.Fatalf("a good client: %s", res.Status)
		}
		return res
	}
	alone := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	var ended atomic.Int32
	for range 50 { // at work: they stay
		body := ask(&http.Client{Transport: &http.Transport{}}, "/api/v1/events").Body
		defer body.Close()
		go func() { io.Copy(io.Discard, body); ended.Add(1) }() //nolint:errcheck // its end is what is counted
	}
	most, began := 0, time.Now()
	for i := range 3000 {
		c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 { // has sent one request, and waits
			fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", strings.TrimPrefix(base, "http://"))
		}
		if i%100 == 0 {
			ask(alone, "/api/v1/profiles").Body.Close()
			most = max(most, filesOf(t, cmd.Process.Pid))
		}
	}
	if n := ended.Load(); n > 0 {
		t.Errorf("%d streams ended", n)
	}
	if code, body := refusedStream(t, base); code != http.StatusTooManyRequests || !strings.Contains(body, "too_many_connections") {
		t.Errorf("the 51st stream of a key: %d %s", code, body)
	}
	if most > 300 {
		t.Errorf("the server held %d descriptors, want 200 connections and what it needs itself", most)
	}
	t.Logf("at most %d descriptors; %v", most, time.Since(began))
}

// refusedStream asks for one more stream of events than a key may have.
func refusedStream(t *testing.T, base string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", base+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+liveKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK { // else it does not end
		text, _ := io.ReadAll(res.Body)
		body = string(text)
	}
	return res.StatusCode, body
}

func filesOf(t *testing.T, pid int) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}
