package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
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

// spawn starts a program and waits for a line with the prefix mark. The rest of the line is the address. env is added
// to our environment.
func (b *bench) spawn(ctx context.Context, mark string, env []string, program string, args ...string) (*child, error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
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
			if rest, ok := strings.CutPrefix(in.Text(), mark); ok {
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
		return nil, fmt.Errorf("%s ended before it served: %s", strings.Join(args, " "), log)
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
