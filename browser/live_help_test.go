//go:build !windows

package browser

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// liveSite is what the tests of the live view look at.
const liveSite = `<!doctype html><title>Live</title>
<style>html { overflow: hidden } body { margin: 0; font: 20px sans-serif; background: #f00 } .b { position: absolute; left: 20px; width: 300px; height: 40px; margin: 0; padding: 0; box-sizing: border-box }</style>
<input class=b id=text style="top: 20px"><button class=b id=paint style="top: 80px; cursor: pointer">paint</button>
<select class=b id=list style="top: 140px"><option>one<option>two<option disabled>three<option value=4>four</select>
<input class=b id=files type=file multiple style="top: 200px"><button class=b id=ask style="top: 260px">ask</button>
<a class=b id=load href="/download" style="top: 320px">download</a><a class=b id=open href="/second" target=_blank style="top: 380px">open</a>
<div class=b id=pad style="left: 400px; top: 20px; touch-action: none">touch</div>
<div class=b id=from draggable=true style="left: 400px; top: 80px">drag</div><div class=b id=to style="left: 400px; top: 140px">here</div>
<script>
from.ondragstart = (e) => { e.dataTransfer.setData("text/plain", "dragged"); say("drag") };
to.ondragover = (e) => e.preventDefault();
to.ondrop = (e) => { e.preventDefault(); say("dropped:" + e.dataTransfer.getData("text/plain")) };
const log = [], say = (what) => { log.push(what); document.body.dataset.log = log.join(" ") };
paint.onclick = () => { document.body.style.background = "#0f0"; say("painted") };
list.onchange = () => say("list:" + list.value);
files.onchange = async () => say("files:" + (await Promise.all([...files.files].map(async (f) => f.name + "=" + (await f.text()).slice(0, 20) + "#" + f.size))).join(","));
ask.onclick = () => say("asked:" + prompt("Who?", "nobody"));
text.oninput = () => say("input:" + text.value);
text.addEventListener("compositionend", (e) => say("composed:" + e.data));
addEventListener("keydown", (e) => say("key:" + e.key + (e.ctrlKey ? "+ctrl" : "")));
addEventListener("wheel", (e) => say("wheel:" + Math.sign(e.deltaY)));
pad.addEventListener("touchstart", (e) => say("touch:" + e.touches.length));
pad.addEventListener("touchend", (e) => say("untouch:" + e.touches.length));
document.body.dataset.ready = "yes";
</script>`

// liveBrowser is a run that shows liveSite, and the address of its live view. changes change what it is started with.
func liveBrowser(t *testing.T, changes ...func(*Spec)) (*Browser, string) {
	t.Helper()
	p := newProfile(t)
	s := p.spec()
	for _, change := range changes {
		change(&s)
	}
	p.net.mux.HandleFunc("/live", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, liveSite)
	})
	p.net.mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, liveSite)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	p.net.mux.HandleFunc("/download", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="a report.txt"`)
		fmt.Fprint(w, "what was downloaded")
	})
	b := p.open(s)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.OpenPages(t.Context(), []string{"http://a.test/live"}); err != nil {
		t.Fatal(err)
	}
	return b, serveLive(t, b)
}

// serveLive serves a run's live view: as the server does, a readonly link by its header.
func serveLive(t *testing.T, b *Browser) string {
	t.Helper()
	h := b.Live()
	mux := http.NewServeMux()
	mux.Handle("/watch/", http.StripPrefix("/watch", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set(readonlyHeader, "1")
		h.ServeHTTP(w, r)
	})))
	mux.Handle("/", h)
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s.URL
}

// watcher is a viewer as a program. It draws each frame at once.
type watcher struct {
	t      *testing.T
	b      *Browser
	base   string // of the live view's addresses
	socket *websocket.Conn
	ended  chan struct{}
	err    error

	mu      sync.Mutex
	said    []map[string]any // every message, oldest first
	meta    frameMeta        // of the newest frame
	picture []byte
	frames  int
	changed chan struct{} // closed and replaced with each message or frame
	delay   func(bytes int) time.Duration
	lazy    bool // it draws nothing
}

func watch(t *testing.T, b *Browser, address string) *watcher {
	t.Helper()
	return watchAs(t, &watcher{t: t, b: b}, address)
}

func watchAs(t *testing.T, w *watcher, address string) *watcher {
	t.Helper()
	socket, _, err := websocket.Dial(t.Context(), strings.Replace(address, "http", "ws", 1), &websocket.DialOptions{Subprotocols: []string{"warren.live"}})
	if err != nil {
		t.Fatal(err)
	}
	socket.SetReadLimit(-1)
	w.base = strings.TrimSuffix(strings.TrimSuffix(address, "/watch/"), "?readonly=1")
	w.socket, w.ended, w.changed = socket, make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { socket.CloseNow(); <-w.ended })
	go w.read()
	return w
}

func (w *watcher) read() {
	defer close(w.ended)
	for {
		kind, msg, err := w.socket.Read(context.Background())
		if err != nil {
			w.err = err
			return
		}
		w.mu.Lock()
		if kind == websocket.MessageText {
			var m map[string]any
			if json.Unmarshal(msg, &m) == nil {
				w.said = append(w.said, m)
			}
		} else {
			n := int(binary.BigEndian.Uint16(msg))
			w.meta, w.picture = frameMeta{}, msg[2+n:]
			_ = json.Unmarshal(msg[2:2+n], &w.meta)
			w.frames++
		}
		close(w.changed)
		w.changed = make(chan struct{})
		seq, lazy := w.meta.Seq, w.lazy
		w.mu.Unlock()
		if kind == websocket.MessageBinary && !lazy {
			if w.delay != nil {
				time.Sleep(w.delay(len(msg))) // the link of the test, which takes its time
			}
			w.send(map[string]any{"type": "ack", "seq": seq})
		}
	}
}

func (w *watcher) send(message map[string]any) {
	text, err := json.Marshal(message)
	if err == nil {
		err = w.socket.Write(context.Background(), websocket.MessageText, text)
	}
	if err != nil && w.t.Context().Err() == nil {
		w.t.Logf("send: %v", err)
	}
}

// until waits until what a viewer knows fulfils a condition.
func (w *watcher) until(what string, yes func() bool) {
	w.t.Helper()
	late := time.After(patient)
	for {
		w.mu.Lock()
		ok, changed := yes(), w.changed
		said := w.said
		w.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-w.ended:
			select {
			case <-changed: // before the end
				continue
			default:
			}
			w.t.Fatalf("%s: the socket ended: %v", what, w.err)
		case <-late:
			w.t.Fatalf("not within %v: %s; the last messages: %v", patient, what, said[max(0, len(said)-6):])
		}
	}
}

// hears waits for a message of a type whose members are those of want, the newest of them, and returns it.
func (w *watcher) hears(kind string, want map[string]any) (found map[string]any) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s %v", kind, want), func() bool {
		for i := len(w.said) - 1; i >= 0; i-- {
			if m := w.said[i]; m["type"] == kind {
				found = m
				for k, v := range want {
					if k != "newest" && fmt.Sprint(m[k]) != fmt.Sprint(v) {
						found = nil
					}
				}
				if found != nil || want["newest"] != nil {
					break
				}
			}
		}
		return found != nil
	})
	return found
}

// forget makes hears look at what comes from now on.
func (w *watcher) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = nil
}

// sees waits for a frame whose pixel at a place of the page has about the given colour.
func (w *watcher) sees(x, y float64, want color.RGBA) {
	w.t.Helper()
	w.until(fmt.Sprintf("%v at %g, %g", want, x, y), func() bool {
		if w.picture == nil {
			return false
		}
		picture, err := jpeg.Decode(bytes.NewReader(w.picture))
		if err != nil {
			return false
		}
		size := picture.Bounds().Size()
		return near(colour(picture, int(x*float64(size.X)/w.meta.Width), int(y*float64(size.Y)/w.meta.Height)), want)
	})
}

// colour is that of a pixel.
func colour(picture image.Image, x, y int) color.RGBA {
	return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)
}

func near(a, b color.RGBA) bool {
	off := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return off(a.R, b.R)+off(a.G, b.G)+off(a.B, b.B) < 60
}

// page runs an expression in the page that is shown, beside what its scripts see.
func (w *watcher) page(expression string) string {
	w.b.live.mu.Lock()
	session := w.b.live.session
	w.b.live.mu.Unlock()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	var value any
	if err := w.b.live.evaluate(ctx, session, expression, &value); err != nil {
		return err.Error()
	}
	return fmt.Sprint(value)
}

// logs waits until the page has noted something.
func (w *watcher) logs(what string) {
	w.t.Helper()
	last := ""
	defer func() {
		if w.t.Failed() {
			w.t.Logf("the page noted %s", last)
		}
	}()
	eventually(w.t, "the page notes "+what, func() bool {
		last = w.page(`" " + document.body.dataset.log + " "`)
		return strings.Contains(last, " "+what+" ")
	})
}

func (w *watcher) click(x, y float64) {
	for _, kind := range []string{"move", "down", "up"} {
		button, buttons := "left", map[string]int{"down": 1}[kind]
		if kind == "move" {
			button = "none"
		}
		w.send(map[string]any{"type": "mouse", "kind": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clicks": 1, "n": 1})
	}
}

func (w *watcher) key(key, code string, keyCode int, text string) {
	for _, kind := range []string{"down", "up"} {
		m := map[string]any{"type": "key", "kind": kind, "key": key, "code": code, "keyCode": keyCode}
		if kind == "down" {
			m["text"] = text
		}
		w.send(m)
	}
}

var (
	red   = color.RGBA{255, 0, 0, 255}
	green = color.RGBA{0, 255, 0, 255}
)
