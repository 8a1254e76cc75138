package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"image/jpeg"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"golang.org/x/sync/errgroup"
)

const (
	liveWidth, liveHeight = 1280, 720
	liveClicks            = 40              // per round
	liveMoving            = 3 * time.Second // how long a moving page is watched
	liveCrowd             = 5               // concurrent viewers, for the cost of one more
)

// livePage toggles between red and green on a click. move() starts an animation.
const livePage = `data:text/html,<body style="margin:0;background:rgb(255,0,0)" ` +
	`onmousedown="document.body.style.background=(this.on=!this.on)?'rgb(0,255,0)':'rgb(255,0,0)'">` +
	`<div id=m style="position:absolute;top:400px;width:300px;height:200px;` +
	`background:repeating-linear-gradient(45deg,black,white 9px)"></div>` +
	`<script>function move(){let x=0;(function next(){m.style.left=(x=x>900?0:x+7)+'px';requestAnimationFrame(next)})()}</script>`

// measureLive compares the live view with Chrome's own screencast over a direct DevTools socket. It measures from a
// viewer's input to the changed picture.
func (b *bench) measureLive(ctx context.Context) error {
	found, err := findSandboxed(ctx, "live")
	if found == nil {
		return err
	}
	ours, err := b.ourLive(ctx)
	if err != nil {
		return err
	}
	direct, err := b.directCast(ctx, found.Path)
	if err != nil {
		return err
	}
	got, err := b.play(ctx, "live", b.rounds, side{"live view", ours.round}, side{"direct", direct.round})
	if err != nil {
		return err
	}
	b.table = append(b.table,
		figure{name: "live view: input to changed pixel, median", unit: "ms", ours: got[0][0], floor: got[1][0]},
		figure{name: "live view: input to changed pixel, p95", unit: "ms", ours: got[0][1], floor: got[1][1]},
		figure{name: "live view: frames of a moving page", unit: "/s", ours: got[0][2], floor: got[1][2],
			aim: 0.9, atLeast: true})
	if canMeasureProcesses {
		b.table = append(b.table,
			figure{name: "  the same: CPU of a frame, browser included", unit: "ms", ours: got[0][3], floor: got[1][3]},
			figure{name: "live view: processor of server and shim, one viewer more", unit: "% of a core", ours: got[0][4]})
	}
	return nil
}

// liveSide is one side: it clicks, and takes the next frame.
type liveSide struct {
	click  func(ctx context.Context) error
	frame  func(ctx context.Context) (picture []byte, err error) // acknowledges the previous frame first
	moves  func(ctx context.Context) error
	stills func(ctx context.Context) error
	crowd  func(ctx context.Context) (float64, error) // nil: not measured
	pid    int                                        // of the process that all others of this side descend from
}

// round returns the median and the 95th percentile of the milliseconds from a click to the frame that shows it.
// Of a moving page there follow frames per second and milliseconds of processor time per frame, of the browser and all
// that is between it and the viewer. The last one is the cost of one more viewer in percent of a core.
func (l *liveSide) round(ctx context.Context, _ int) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := l.stills(ctx); err != nil {
		return nil, err
	}
	was, err := l.frame(ctx)
	if err != nil {
		return nil, err
	}
	var took []float64
	for range liveClicks {
		time.Sleep(50 * time.Millisecond) // people wait for the effect of a click
		begun := time.Now()
		if err := l.click(ctx); err != nil {
			return nil, err
		}
		for green := isGreen(was); ; {
			if was, err = l.frame(ctx); err != nil {
				return nil, err
			}
			came := time.Since(begun)
			if isGreen(was) != green {
				took = append(took, milliseconds(came))
				break
			}
		}
	}
	slices.Sort(took)
	if err := l.moves(ctx); err != nil {
		return nil, err
	}
	pids := withDescendants(l.pid)
	n, before := 0, cpuOf(pids)
	for begun := time.Now(); time.Since(begun) < liveMoving; n++ {
		if _, err := l.frame(ctx); err != nil {
			return nil, err
		}
	}
	each := milliseconds(cpuOf(pids)-before) / float64(n)
	out := []float64{median(took), took[len(took)*95/100], float64(n) / liveMoving.Seconds(), each, 0}
	if l.crowd != nil {
		if out[4], err = l.crowd(ctx); err != nil {
			return nil, err
		}
	}
	return out, l.stills(ctx) // a page that moves on would take the processor from the other side
}

// isGreen reads the page's colour from a corner.
func isGreen(picture []byte) bool {
	p, err := jpeg.Decode(bytes.NewReader(picture))
	if err != nil {
		return false
	}
	r, g, _, _ := p.At(5, 5).RGBA()
	return g > r
}

// prepare attaches to the first page of a browser, and sets the size that both sides have.
func prepare(ctx context.Context, address string) (*page, error) {
	p, err := attach(ctx, address)
	if err != nil {
		return nil, err
	}
	return p, p.do(ctx, "Emulation.setDeviceMetricsOverride",
		map[string]any{"width": liveWidth, "height": liveHeight, "deviceScaleFactor": 1, "mobile": false})
}

// openLive opens the page under test, and waits until it is drawn.
func (p *page) openLive(ctx context.Context) error {
	if err := p.do(ctx, "Page.navigate", map[string]any{"url": livePage}); err != nil {
		return err
	}
	const drawn = `new Promise((done) => document.readyState === "complete" ? done() : addEventListener("load", done))` +
		`.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))`
	return p.do(ctx, "Runtime.evaluate", map[string]any{"expression": drawn, "awaitPromise": true})
}

func (p *page) move(ctx context.Context) error {
	return p.do(ctx, "Runtime.evaluate", map[string]any{"expression": "move()"})
}

// ourLive starts a profile and watches it.
func (b *bench) ourLive(ctx context.Context) (*liveSide, error) {
	w, err := b.serveEmpty(ctx)
	if err != nil {
		return nil, err
	}
	id, err := w.create(ctx, map[string]any{"name": "live", "headless": true})
	if err != nil {
		return nil, err
	}
	return watch(ctx, w, id)
}

// watch starts a profile by a server, unless it runs, and watches it through that server.
func watch(ctx context.Context, w *warren, id string) (*liveSide, error) {
	var run struct{ WsEndpoint, LiveURL string }
	if err := w.call(ctx, "POST", "/profiles/"+id+"/start", map[string]any{}, &run); err != nil {
		return nil, err
	}
	d, err := prepare(ctx, run.WsEndpoint)
	if err != nil {
		return nil, err
	}
	address := strings.Replace(strings.Replace(run.LiveURL, "/live#", "/live/", 1), "http", "ws", 1)
	v, err := view(ctx, address)
	if err != nil {
		return nil, err
	}
	return &liveSide{pid: w.pid(), frame: v.frame, moves: d.move, stills: d.openLive,
		click: func(ctx context.Context) error {
			for _, kind := range []string{"down", "up"} {
				m := map[string]any{"type": "mouse", "kind": kind, "x": 600, "y": 300, "button": "left", "clicks": 1,
					"buttons": map[string]int{"down": 1}[kind]}
				if err := wsjson.Write(ctx, v.socket, m); err != nil {
					return err
				}
			}
			return nil
		},
		crowd: func(ctx context.Context) (float64, error) { return viewerCost(ctx, w, address, v) }}, nil
}

// viewer is a client of the live view (docs/live.md).
type viewer struct {
	socket  *websocket.Conn
	drawing int64
}

func view(ctx context.Context, address string) (*viewer, error) {
	socket, err := dialSocket(ctx, address)
	return &viewer{socket: socket}, err
}

func (v *viewer) frame(ctx context.Context) ([]byte, error) {
	if v.drawing != 0 {
		if err := wsjson.Write(ctx, v.socket, map[string]any{"type": "ack", "seq": v.drawing}); err != nil {
			return nil, err
		}
		v.drawing = 0
	}
	for {
		kind, msg, err := v.socket.Read(ctx)
		if err != nil {
			return nil, err
		}
		if kind != websocket.MessageBinary {
			continue
		}
		n := int(binary.BigEndian.Uint16(msg))
		var head struct{ Seq int64 }
		if err := json.Unmarshal(msg[2:2+n], &head); err != nil {
			return nil, err
		}
		v.drawing = head.Seq
		return msg[2+n:], nil
	}
}

// viewerCost returns what one more viewer costs server and shim while the page moves, in percent of a core. It is the
// difference between a crowd and one viewer, divided by the additional viewers.
func viewerCost(ctx context.Context, w *warren, address string, first *viewer) (float64, error) {
	pids := append(childrenOf(w.pid()), w.pid()) // a server's children are shims
	alone, err := watched(ctx, pids, first)
	if err != nil {
		return 0, err
	}
	all := []*viewer{first}
	for range liveCrowd - 1 {
		v, err := view(ctx, address)
		if err != nil {
			return 0, err
		}
		defer v.socket.CloseNow() //nolint:errcheck // the round is over
		all = append(all, v)
	}
	together, err := watched(ctx, pids, all...)
	return (together - alone) / (liveCrowd - 1), err
}

// watched returns the CPU time of processes while viewers watch, in percent of a core.
func watched(ctx context.Context, pids []int, all ...*viewer) (float64, error) {
	begun, before := time.Now(), cpuOf(pids)
	var watching errgroup.Group
	for _, v := range all {
		watching.Go(func() error {
			for time.Since(begun) < liveMoving {
				if _, err := v.frame(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := watching.Wait()
	return 100 * (cpuOf(pids) - before).Seconds() / time.Since(begun).Seconds(), err
}

// withDescendants returns a process and all that descend from it.
func withDescendants(pid int) []int {
	pids := []int{pid}
	for _, child := range childrenOf(pid) {
		pids = append(pids, withDescendants(child)...)
	}
	return pids
}

func cpuOf(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		sum += cpu(pid)
	}
	return sum
}

// directCast watches a bare browser over its own port.
func (b *bench) directCast(ctx context.Context, path string) (*liveSide, error) {
	dir, err := b.data()
	if err != nil {
		return nil, err
	}
	bare, err := b.spawn(ctx, "DevTools listening on ", nil, "/bin/sh", "-c", `exec "$0" "$@" 2>&1`, path, "--headless=new",
		"--no-sandbox", "--no-first-run", "--remote-debugging-port=0", "--user-data-dir="+dir, "about:blank")
	if err != nil {
		return nil, err
	}
	d, err := prepare(ctx, bare.address)
	if err != nil {
		return nil, err
	}
	c, err := cast(ctx, bare.address)
	if err != nil {
		return nil, err
	}
	return &liveSide{pid: bare.pid(), frame: c.frame, click: c.click, moves: d.move, stills: d.openLive}, nil
}

// caster is Chrome's own screencast, in a page session with its own connection.
type caster struct {
	*page
	unacked int
}

// cast starts a screencast with the live view's parameters.
func cast(ctx context.Context, address string) (*caster, error) {
	p, err := prepare(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := p.do(ctx, "Page.enable", nil); err != nil {
		return nil, err
	}
	c := &caster{page: p}
	return c, c.send(ctx, "Page.startScreencast", map[string]any{"format": "jpeg", "quality": 80, "maxWidth": liveWidth,
		"maxHeight": liveHeight, "everyNthFrame": 1, "maxFramesInFlight": 1, "sendLastFrame": true})
}

func (c *caster) send(ctx context.Context, method string, params any) error {
	c.last++
	return wsjson.Write(ctx, c.socket, map[string]any{"id": c.last, "sessionId": c.session, "method": method, "params": params})
}

func (c *caster) click(ctx context.Context) error {
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		event := map[string]any{"type": kind, "x": 600, "y": 300, "button": "left", "clickCount": 1}
		if err := c.send(ctx, "Input.dispatchMouseEvent", event); err != nil {
			return err
		}
	}
	return nil
}

func (c *caster) frame(ctx context.Context) ([]byte, error) {
	if c.unacked != 0 {
		if err := c.send(ctx, "Page.screencastFrameAck", map[string]any{"sessionId": c.unacked}); err != nil {
			return nil, err
		}
		c.unacked = 0
	}
	for {
		var m struct {
			Method string
			Params struct {
				Data      []byte
				SessionID int
			}
		}
		if err := wsjson.Read(ctx, c.socket, &m); err != nil {
			return nil, err
		}
		if m.Method == "Page.screencastFrame" {
			c.unacked = m.Params.SessionID
			return m.Params.Data, nil
		}
	}
}
