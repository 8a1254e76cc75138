package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// gatewayTime is how long one side answers per round.
const gatewayTime = time.Second

// measureGateway compares two ways to control a page: through the server and the run's process, and by a WebSocket
// straight to a bare browser's port.
func (b *bench) measureGateway(ctx context.Context) error {
	if runtime.GOOS == "windows" { // a bare browser needs other pipes there
		return nil
	}
	server, err := b.serveEmpty(ctx)
	if err != nil {
		return err
	}
	defer server.stop()
	s := &starts{bench: b, server: server}
	run, plan, err := s.startWithPlan(ctx)
	if err != nil {
		return err
	}
	floor, address, err := listeningBare(run.Browser.Path, plan)
	if err != nil {
		return err
	}
	defer func() {
		floor.Process.Signal(os.Interrupt) //nolint:errcheck // the process may have exited
		floor.Wait()                       //nolint:errcheck // the exit code does not matter
	}()
	through := func(address string) trial {
		return func(ctx context.Context, _ int) ([]float64, error) { return driveOnce(ctx, address) }
	}
	target, err := url.Parse(address)
	if err != nil {
		return err
	}
	copier, err := b.role(ctx, "copy", target.Host)
	if err != nil {
		return err
	}
	defer copier.stop()
	target.Host = copier.address
	got, err := b.play(ctx, "gateway", 3*b.rounds, side{"ours", through(run.WsEndpoint)}, side{"floor", through(address)},
		side{"copy", through(target.String())})
	if err != nil {
		return err
	}
	for i, f := range []figure{{name: "Runtime.evaluate through the gateway, in turn", unit: "/s", aim: 0.9, atLeast: true},
		{name: "  the same, 16 under way", unit: "/s", aim: 0.8, atLeast: true},
		{name: "connect to first evaluate", unit: "ms"}} {
		f.ours, f.floor = got[0][i], got[1][i]
		beside := figure{name: "  beside a process that only copies", unit: f.unit, ours: got[0][i], floor: got[2][i]}
		if !f.atLeast {
			beside.aim = 1.1
		}
		b.table = append(b.table, f, beside)
	}
	return nil
}

// startedRun is the part of a start's answer that is used.
type startedRun struct {
	WsEndpoint string
	Browser    struct{ Path string }
}

// startWithPlan starts a profile, and returns the plan of a bare start on another one.
func (s *starts) startWithPlan(ctx context.Context) (run startedRun, plan bareStart, err error) {
	var ids [2]string
	for i := range ids {
		if ids[i], err = s.server.create(ctx, map[string]any{"name": fmt.Sprint("bench ", i)}); err != nil {
			return run, plan, err
		}
	}
	if err := s.server.call(ctx, "POST", "/profiles/"+ids[0]+"/start", struct{}{}, &run); err != nil {
		return run, plan, err
	}
	plan, err = s.prepareBare(ctx, ids[1])
	return run, plan, err
}

// copyFloor is the minimum between a client and a browser: it copies bytes in both directions. args: the browser's
// address.
func copyFloor(c *net.TCPConn, args []string) error {
	up, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	defer up.Close()
	go func() {
		copyPlain(up, c)
		up.Close() //nolint:errcheck // the connection may be closed
	}()
	copyPlain(c, up)
	return nil
}

// copyPlain is io.Copy by read and write: splice(2) needs more calls for small messages.
func copyPlain(w io.Writer, r io.Reader) {
	io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{r}) //nolint:errcheck // the end is passed on either way
}

// listeningBare starts a browser with a DevTools port on loopback, and returns its address.
func listeningBare(path string, plan bareStart) (*exec.Cmd, string, error) {
	args := slices.Clone(plan.args)
	for i, a := range args {
		if strings.HasPrefix(a, "--remote-debugging-pipe") {
			args[i] = "--remote-debugging-port=0"
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.SysProcAttr = plan.env, withSandbox()
	words, err := cmd.StderrPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }) //nolint:errcheck // the process may have exited
	defer late.Stop()
	lines := bufio.NewReader(words)
	for said := []string{}; ; {
		line, err := lines.ReadString('\n')
		if _, address, ok := strings.Cut(strings.TrimSpace(line), "DevTools listening on "); ok {
			go io.Copy(io.Discard, lines) //nolint:errcheck // until the browser exits
			return cmd, address, nil
		}
		if said = append(said, line); err != nil {
			return nil, "", errors.Join(fmt.Errorf("the bare browser opened no port; it said: %s", strings.Join(said, "")), cmd.Wait())
		}
	}
}

// driveOnce connects, and evaluates on a page for a while: one command at a time, then sixteen.
func driveOnce(ctx context.Context, address string) ([]float64, error) {
	var connected []float64
	for range 9 {
		begun := time.Now()
		d, err := connect(ctx, address)
		if err != nil {
			return nil, err
		}
		connected = append(connected, milliseconds(time.Since(begun)))
		d.socket.CloseNow()               //nolint:errcheck // the round is over
		time.Sleep(50 * time.Millisecond) // lets the browser finish before the next connection
	}
	d, err := connect(ctx, address)
	if err != nil {
		return nil, err
	}
	defer d.socket.CloseNow() //nolint:errcheck // the round is over
	one, err := d.perSecond(ctx, 1)
	if err != nil {
		return nil, err
	}
	many, err := d.perSecond(ctx, 16)
	return []float64{one, many, median(connected)}, err
}

// connect attaches to the first page and evaluates once.
func connect(ctx context.Context, address string) (*page, error) {
	p, err := attach(ctx, address)
	if err != nil {
		return nil, err
	}
	return p, p.do(ctx, "Runtime.evaluate", map[string]any{"expression": "1"})
}

// perSecond counts answers per second with underWay commands in flight.
func (d *page) perSecond(ctx context.Context, underWay int) (float64, error) {
	send := func() error {
		d.last++
		return d.socket.Write(ctx, websocket.MessageText, fmt.Appendf(nil,
			`{"id":%d,"method":"Runtime.evaluate","params":{"expression":"1"},"sessionId":%q}`, d.last, d.session))
	}
	for range underWay {
		if err := send(); err != nil {
			return 0, err
		}
	}
	n, begun := 0, time.Now()
	for time.Since(begun) < gatewayTime {
		if _, _, err := d.socket.Read(ctx); err != nil {
			return 0, err
		}
		n++
		if err := send(); err != nil {
			return 0, err
		}
	}
	took := time.Since(begun).Seconds()
	for range underWay {
		if _, _, err := d.socket.Read(ctx); err != nil {
			return 0, err
		}
	}
	return float64(n) / took, nil
}
