package tests

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestServerWithoutStandardError: a server goes on and stops in order when nobody takes its log: the reader hangs, it has gone, or the
// disk is full. The server's standard error is a journal's socket or a pipe as a rule.
func TestServerWithoutStandardError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open func(t *testing.T) (stderr *os.File)
		then func(r *os.File) // once the server serves
	}{
		"hangs":   {nil, func(*os.File) {}},
		"is gone": {nil, func(r *os.File) { r.Close() }},
		"is full": {func(t *testing.T) *os.File {
			f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip(err)
			}
			return f
		}, func(*os.File) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, stderr, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if c.open != nil {
				stderr.Close()
				stderr = c.open(t)
			} else if _, err := unix.FcntlInt(stderr.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil { // soon full
				t.Fatal(err)
			}
			logsToNobody(t, stderr, func() { c.then(r) })
		})
	}
}

// TestReaderIsGone: a command whose output nobody reads any more, as behind head, ends quietly and as done.
func TestReaderIsGone(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	for _, args := range [][]string{{"config", "print"}, {"config", "print", "--json"}, {"serve", "--help"}, {"--help"}, {"version"},
		{"browser", "list", "--data", g.data}, {"completion", "zsh"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd := g.command(args...)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = w, &said
		err = cmd.Run()
		w.Close()
		if err != nil || said.Len() > 0 {
			t.Errorf("%v: %v, %q", args, err, said.String())
		}
	}
}

// logsToNobody serves with a standard error, asks for what is logged, and stops the server.
func logsToNobody(t *testing.T, stderr *os.File, then func()) {
	t.Helper()
	g := newTestbed(t)
	cmd := g.command("serve", "--listen", "127.0.0.1:0", "--data", g.data, "--browser", "/nowhere/chromium", "--log-level", "debug")
	cmd.Stderr, cmd.Env = stderr, append(cmd.Env, "WARREN_API_KEY=") // it makes a key, and cannot print it
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() //nolint:errcheck // it has ended
	stderr.Close()
	in := bufio.NewReader(out)
	line, _ := in.ReadString('\n') //nolint:errcheck // an empty line is seen below
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "warren: listening on ")
	if !ok {
		t.Fatalf("the server does not serve: %q, %v", line, cmd.Wait())
	}
	then()
	key, err := os.ReadFile(filepath.Join(g.data, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	for range 30 { // more than 4 KiB of lines
		q, err := http.NewRequestWithContext(ctx, "GET", base+apiPrefix+"/profiles", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(key)))
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatalf("the server does not go on: %v", err)
		}
		a.Body.Close()
		if a.StatusCode != 200 {
			t.Fatalf("status %d", a.StatusCode)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, in) //nolint:errcheck // until it ends
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}
