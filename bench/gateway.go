package main

import (
	"bufio"
	"context"
	"encoding/json"
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
	data, err := b.data()
	if err != nil {
		return err
	}
	s := &starts{bench: b}
	if s.server, err = b.serve(ctx, data); err != nil {
		return err
	}
	defer s.server.stop()
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
	through := func(address string) func(context.Context, int) ([]float64, error) {
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
	for i, f := range []figure{{name: "Runtime.evaluate through the gateway, in turn", unit: "/s", aim: 0.7, atLeast: true},
		{name: "  the same, 16 under way", unit: "/s", aim: 0.7, atLeast: true},
		{name: "connect to first evaluate", unit: "ms", aim: 1.2}} {
		f.ours, f.floor = got[0][i], got[1][i]
		beside := figure{name: "  beside a process that only copies", unit: f.unit, ours: got[0][i], floor: got[2][i]}
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
	var ids [2]struct{ ID string }
	for i := range ids {
		if err := s.server.call(ctx, "POST", "/profiles", map[string]any{"name": fmt.Sprint("bench ", i)}, &ids[i]); err != nil {
			return run, plan, err
		}
	}
	if err := s.server.call(ctx, "POST", "/profiles/"+ids[0].ID+"/start", struct{}{}, &run); err != nil {
		return run, plan, err
	}
	plan, err = s.prepareBare(ctx, ids[1].ID)
	return run, plan, err
}

// copyFloor is the minimum between a client and a browser: it copies bytes in both directions. args: the browser's
// address.
func copyFloor(args []string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("up", l.Addr())
	return serveEach(l, func(c *net.TCPConn) error {
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
	})
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

// driver is a client attached to a page.
type driver struct {
	ws      *websocket.Conn
	session string
	last    int
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
		d.ws.CloseNow()                   //nolint:errcheck // the round is over
		time.Sleep(50 * time.Millisecond) // lets the browser finish before the next connection
	}
	d, err := connect(ctx, address)
	if err != nil {
		return nil, err
	}
	defer d.ws.CloseNow() //nolint:errcheck // the round is over
	one, err := d.perSecond(ctx, 1)
	if err != nil {
		return nil, err
	}
	many, err := d.perSecond(ctx, 16)
	return []float64{one, many, median(connected)}, err
}

// connect opens a socket, attaches to the first page, and evaluates once.
func connect(ctx context.Context, address string) (*driver, error) {
	ws, _, err := websocket.Dial(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1)
	d := &driver{ws: ws}
	var targets struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	var attached struct{ SessionID string }
	if err := d.call(ctx, "Target.getTargets", struct{}{}, &targets); err != nil {
		return nil, err
	}
	for _, t := range targets.TargetInfos {
		if t.Type == "page" {
			if err := d.call(ctx, "Target.attachToTarget", map[string]any{"targetId": t.TargetID, "flatten": true}, &attached); err != nil {
				return nil, err
			}
			d.session = attached.SessionID
			return d, d.call(ctx, "Runtime.evaluate", map[string]any{"expression": "1"}, nil)
		}
	}
	return nil, errors.New("the browser has no page")
}

// call sends a command and waits for its answer.
func (d *driver) call(ctx context.Context, method string, params, out any) error {
	d.last++
	msg := map[string]any{"id": d.last, "method": method, "params": params}
	if d.session != "" {
		msg["sessionId"] = d.session
	}
	text, err := json.Marshal(msg)
	if err == nil {
		err = d.ws.Write(ctx, websocket.MessageText, text)
	}
	for err == nil {
		var got struct {
			ID            int
			Result, Error json.RawMessage
		}
		if _, text, err = d.ws.Read(ctx); err == nil {
			err = json.Unmarshal(text, &got)
		}
		switch {
		case err != nil || got.ID != d.last:
		case got.Error != nil:
			return fmt.Errorf("%s: %s", method, got.Error)
		case out == nil:
			return nil
		default:
			return json.Unmarshal(got.Result, out)
		}
	}
	return err
}

// perSecond counts answers per second with underWay commands in flight.
func (d *driver) perSecond(ctx context.Context, underWay int) (float64, error) {
	send := func() error {
		d.last++
		return d.ws.Write(ctx, websocket.MessageText, fmt.Appendf(nil,
			`{"id":%d,"method":"Runtime.evaluate","params":{"expression":"1"},"sessionId":%q}`, d.last, d.session))
	}
	for range underWay {
		if err := send(); err != nil {
			return 0, err
		}
	}
	n, begun := 0, time.Now()
	for time.Since(begun) < gatewayTime {
		if _, _, err := d.ws.Read(ctx); err != nil {
			return 0, err
		}
		n++
		if err := send(); err != nil {
			return 0, err
		}
	}
	took := time.Since(begun).Seconds()
	for range underWay {
		if _, _, err := d.ws.Read(ctx); err != nil {
			return 0, err
		}
	}
	return float64(n) / took, nil
}
