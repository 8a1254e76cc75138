package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// child is a process under test.
type child struct {
	cmd     *exec.Cmd
	address string // the address it serves on, from its output
	dead    chan struct{}
}

// spawn starts a program and waits for a line with mark. The rest of the line is the address. env is added to our
// environment.
func (b *bench) spawn(ctx context.Context, mark string, env []string, program string, args ...string) (*child, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	return b.spawnCommand(ctx, mark, cmd)
}

// spawnCommand is spawn for a command with its environment.
func (b *bench) spawnCommand(ctx context.Context, mark string, cmd *exec.Cmd) (*child, error) {
	log := &strings.Builder{}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, dead: make(chan struct{})}
	found := make(chan string, 1)
	go func() {
		defer close(c.dead)
		in := bufio.NewScanner(out)
		for in.Scan() {
			if _, rest, ok := strings.Cut(in.Text(), mark); ok {
				found <- rest
				break
			}
		}
		io.Copy(io.Discard, out) //nolint:errcheck // no more output is expected
		cmd.Wait()               //nolint:errcheck // an early exit shows as the missing line
	}()
	b.cleanup = append(b.cleanup, c.stop)
	select {
	case c.address = <-found:
		return c, nil
	case <-c.dead:
		return nil, fmt.Errorf("%s ended before it served: %s", strings.Join(cmd.Args, " "), log)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// role starts this program in one of its roles.
func (b *bench) role(ctx context.Context, args ...string) (*child, error) {
	return b.spawn(ctx, "up ", nil, b.exe, args...)
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// stop ends the process with SIGTERM, and after 30 s with SIGKILL. It may be called twice.
func (c *child) stop() {
	c.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // the process may have exited
	select {
	case <-c.dead:
	case <-time.After(30 * time.Second):
		c.cmd.Process.Kill() //nolint:errcheck // the process may have exited
		<-c.dead
	}
}

// warren is a server under test and its key.
type warren struct {
	*child
	key string
}

// serve starts the binary under test on a data folder, with the far side as check service. A program in before runs it.
func (b *bench) serve(ctx context.Context, data string, before ...string) (*warren, error) {
	return b.serveWith(ctx, data, nil, before...)
}

// serveWith starts the binary under test with variables of its environment.
func (b *bench) serveWith(ctx context.Context, data string, settings []string, before ...string) (*warren, error) {
	return b.serveKeyed(ctx, data, newKey(), settings, before...)
}

func newKey() string { return "bench-" + rand.Text() }

// serveKeyed is serveWith with an administrator's key.
func (b *bench) serveKeyed(ctx context.Context, data, key string, settings []string, before ...string) (*warren, error) {
	w := &warren{key: key}
	command := append(before, b.warren, "serve", "--listen=127.0.0.1:0", "--data="+data, "--headless=always",
		"--check-url=http://"+farName+"/ip")
	var err error
	w.child, err = b.spawn(ctx, "warren: listening on ", append(settings, "WARREN_API_KEY="+w.key), command[0], command[1:]...)
	return w, err
}

// serveEmpty starts the binary under test on an empty data folder. settings are variables of its environment.
func (b *bench) serveEmpty(ctx context.Context, settings ...string) (*warren, error) {
	data, err := b.data()
	if err != nil {
		return nil, err
	}
	return b.serveWith(ctx, data, settings)
}

// data creates an empty data folder.
func (b *bench) data() (string, error) { return os.MkdirTemp(b.dir, "data-") }

// shortDir creates a folder until the end. Its path is short, since Chrome creates unix sockets below it.
func (b *bench) shortDir(prefix string) (string, error) {
	dir, err := os.MkdirTemp("", prefix)
	b.cleanup = append(b.cleanup, func() { os.RemoveAll(dir) })
	return dir, err
}

// create creates a profile and returns its id.
func (w *warren) create(ctx context.Context, profile map[string]any) (string, error) {
	var made struct{ ID string }
	err := w.call(ctx, "POST", "/profiles", profile, &made)
	return made.ID, err
}

// call sends a request and reads the answer into out, which may be nil.
func (w *warren) call(ctx context.Context, method, path string, in, out any) error {
	_, err := w.ask(ctx, method, path, in, out)
	return err
}

// ask does what call does, and returns the answer's header.
func (w *warren) ask(ctx context.Context, method, path string, in, out any) (http.Header, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, w.address+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+w.key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
	if out == nil {
		return res.Header, nil
	}
	return res.Header, json.Unmarshal(text, out)
}
