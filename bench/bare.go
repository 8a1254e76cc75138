package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"warren/browser"
)

// bare is a browser without our server and shim: the floor of a start.
type bare struct {
	cmd     *exec.Cmd
	in, out *os.File // our ends of its DevTools pipe
	words   bytes.Buffer
	watch   browser.Stopwatch // of the start: launch, attach, ready
}

// startBare starts the browser and waits for its first answer to Runtime.evaluate on a page: the fewest DevTools
// messages that prove that it takes commands.
func startBare(ctx context.Context, path string, args, env []string) (*bare, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	defer childOut.Close()
	b := &bare{cmd: exec.Command(path, args...), in: in, out: out}
	b.cmd.Env, b.cmd.ExtraFiles = env, []*os.File{childIn, childOut} // descriptors 3 and 4, for --remote-debugging-pipe
	b.cmd.Stderr = &b.words
	b.cmd.SysProcAttr = withSandbox()
	b.watch.Set()
	if err := b.cmd.Start(); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	b.watch.Lap("launch")
	ready := make(chan error, 1)
	go func() { ready <- b.evaluate() }()
	select {
	case err = <-ready:
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(time.Minute):
		err = errors.New("the bare browser took no commands within a minute")
	}
	if err != nil {
		b.cmd.Process.Kill() //nolint:errcheck // the process may have exited
		err = errors.Join(err, b.stop())
		return nil, fmt.Errorf("%w; it said: %s", err, b.words.String())
	}
	return b, nil
}

// evaluate attaches to the first page and evaluates an expression there.
func (b *bare) evaluate() error {
	if err := b.send(1, "", "Target.setAutoAttach", `{"autoAttach":true,"waitForDebuggerOnStart":false,"flatten":true}`); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(b.out, 64<<10)
	for asked := false; ; {
		text, err := lines.ReadBytes(0)
		if err != nil {
			return err
		}
		var m struct {
			ID     int
			Method string
			Error  json.RawMessage
			Params struct {
				SessionID  string
				TargetInfo struct{ Type string }
			}
		}
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m); err != nil {
			return err
		}
		switch {
		case m.Error != nil:
			return fmt.Errorf("DevTools: %s", m.Error)
		case m.ID == 2:
			b.watch.Lap("ready")
			return nil
		case !asked && m.Method == "Target.attachedToTarget" && m.Params.TargetInfo.Type == "page":
			asked = true
			b.watch.Lap("attach")
			if err := b.send(2, m.Params.SessionID, "Runtime.evaluate", `{"expression":"1"}`); err != nil {
				return err
			}
		}
	}
}

func (b *bare) send(id int, session, method, params string) error {
	at := ""
	if session != "" {
		at = fmt.Sprintf(`"sessionId":%q,`, session)
	}
	_, err := fmt.Fprintf(b.in, "{\"id\":%d,%s\"method\":%q,\"params\":%s}\x00", id, at, method, params)
	return err
}

// stop closes the browser as a user does, and waits for its exit.
func (b *bare) stop() error {
	b.send(3, "", "Browser.close", "{}") //nolint:errcheck // the browser may have exited
	go func() {
		for buffer := make([]byte, 64<<10); ; { // drains the pipe, so that the browser does not block
			if _, err := b.out.Read(buffer); err != nil {
				return
			}
		}
	}()
	b.cmd.Wait() //nolint:errcheck // the exit code does not matter
	return errors.Join(b.in.Close(), b.out.Close())
}
