//go:build !windows

package live

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"go.uber.org/goleak"

	"warren/browser"
	"warren/testnet"
)

// TestMain lets the test's binary be the child that enters a namespace, as the server's binary is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == browser.ChildArgument {
		fmt.Fprintln(os.Stderr, browser.EnterNamespace())
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// liveSite is the page of the live view's tests.
const liveSite = `<!doctype html><title>Live</title>
<style>html { overflow: hidden } body { margin: 0; font: 20px sans-serif; background: #f00 }
.b { position: absolute; left: 20px; width: 300px; height: 40px; margin: 0; padding: 0; box-sizing: border-box }</style>
<input class=b id=text style="top: 20px"><button class=b id=paint style="top: 80px; cursor: pointer">paint</button>
<select class=b id=list style="top: 140px"><option>one<option>two<option disabled>three<option value=4>four</select>
<input class=b id=files type=file multiple style="top: 200px"><button class=b id=ask style="top: 260px">ask</button>
<a class=b id=load href="/download" style="top: 320px">download</a>
<a class=b id=open href="/second" target=_blank style="top: 380px">open</a>
<div class=b id=pad style="left: 400px; top: 20px; touch-action: none">touch</div>
<div class=b id=from draggable=true style="left: 400px; top: 80px">drag</div><div class=b id=to style="left: 400px; top: 140px">here</div>
<script>
from.ondragstart = (e) => { e.dataTransfer.setData("text/plain", "dragged"); say("drag") };
to.ondragover = (e) => e.preventDefault();
to.ondrop = (e) => { e.preventDefault(); say("dropped:" + e.dataTransfer.getData("text/plain")) };
const log = [], say = (what) => { log.push(what); document.body.dataset.log = log.join(" ") };
paint.onclick = () => { document.body.style.background = "#0f0"; say("painted") };
list.onchange = () => say("list:" + list.value);
files.onchange = async () => say("files:" + (await Promise.all([...files.files].map(
	async (f) => f.name + "=" + (await f.text()).slice(0, 20) + "#" + f.size))).join(","));
ask.onclick = () => say("asked:" + prompt("Who?", "nobody"));
text.oninput = () => say("input:" + text.value);
text.addEventListener("compositionend", (e) => say("composed:" + e.data));
addEventListener("keydown", (e) => say("key:" + e.key + (e.ctrlKey ? "+ctrl" : "")));
addEventListener("wheel", (e) => say("wheel:" + Math.sign(e.deltaY)));
pad.addEventListener("touchstart", (e) => say("touch:" + e.touches.length));
pad.addEventListener("touchend", (e) => say("untouch:" + e.touches.length));
document.body.dataset.ready = "yes";
</script>`

// stage is a run that shows liveSite, and its live view.
type stage struct {
	t       *testing.T
	browser *browser.Browser
	view    *View
	site    *testnet.Site
}

// liveBrowser starts a run that shows liveSite, and serves its live view at the address. changes modify the spec.
func liveBrowser(t *testing.T, changes ...func(*browser.Spec)) (r *stage, address string) {
	t.Helper()
	found, err := browser.Find(t.Context(), "")
	if err != nil {
		t.Skipf("needs a Chromium: %v", err)
	}
	if missing := browser.CheckIsolation(); missing != nil && os.Geteuid() == 0 {
		t.Skipf("needs namespaces, or an ordinary user: as root no browser runs without: %v", missing)
	}
	temp, err := os.MkdirTemp("", "wb") // a short path: Chrome makes a unix socket below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	s := browser.Spec{Path: found.Path, UserDataDir: filepath.Join(t.TempDir(), "profile"), TempDir: filepath.Join(temp, "t"),
		Headless: true}
	for _, change := range changes {
		change(&s)
	}
	site := testnet.NewSite(t) // first: it ends last, when the browser's connections have ended
	b, err := browser.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if t.Failed() {
			t.Logf("the browser said last:\n%s", strings.Join(b.Exit().Lines, "\n"))
		}
	})
	r = &stage{t: t, browser: b, view: New(b), site: site}
	r.serveSite()
	r.site.Serve(b.Listener())
	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.OpenPages(t.Context(), []string{"http://a.test/live"}); err != nil {
		t.Fatal(err)
	}
	return r, r.serve()
}

// serveSite adds liveSite to the site.
func (r *stage) serveSite() {
	r.site.Mux.HandleFunc("/live", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, liveSite)
	})
	r.site.Mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, liveSite)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	r.site.Mux.HandleFunc("/download", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="a report.txt"`)
		fmt.Fprint(w, "what was downloaded")
	})
}

// serve serves the live view as the server does: a header marks links that only watch.
func (r *stage) serve() string {
	h := r.view.Handler()
	mux := http.NewServeMux()
	mux.Handle("/watch/", http.StripPrefix("/watch", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set(readonlyHeader, "1")
		h.ServeHTTP(w, r)
	})))
	mux.Handle("/", h)
	return r.serveHandler(mux)
}

func (r *stage) serveHandler(h http.Handler) string {
	s := httptest.NewServer(h)
	r.t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s.URL
}

// command runs a command on a session of the controller.
func (r *stage) command(session, method string, params, result any) {
	r.t.Helper()
	feed, err := r.browser.Subscribe()
	if err != nil {
		r.t.Fatal(err)
	}
	defer feed.Close()
	feed.Send(session, method, params, method)
	for {
		news, err := feed.Next(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		if a, ok := news.(browser.Answer); ok {
			if a.Err == nil && result != nil {
				a.Err = json.Unmarshal(a.Result, result)
			}
			if a.Err != nil {
				r.t.Fatalf("%s: %v", method, a.Err)
			}
			return
		}
	}
}

// crash crashes the renderer of a session's page. Chrome does not answer.
func (r *stage) crash(session string) {
	r.view.mu.Lock()
	defer r.view.mu.Unlock()
	r.view.feed.Send(session, "Page.crash", nil, nil)
}

// client connects a DevTools client. The returned function sends a command and waits for its answer.
func (r *stage) client() (call func(session, method string, params any) map[string]any) {
	r.t.Helper()
	address := r.serveHandler(r.browser.Gateway())
	socket, _, err := websocket.Dial(r.t.Context(), strings.Replace(address, "http", "ws", 1), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { socket.CloseNow() })
	id := 0
	return func(session, method string, params any) map[string]any {
		r.t.Helper()
		id++
		command := map[string]any{"id": id, "method": method, "params": params}
		if session != "" {
			command["sessionId"] = session
		}
		if err := wsjson.Write(r.t.Context(), socket, command); err != nil {
			r.t.Fatal(err)
		}
		for {
			var m struct {
				ID     int
				Result map[string]any
				Error  any
			}
			if err := wsjson.Read(r.t.Context(), socket, &m); err != nil || m.Error != nil {
				r.t.Fatalf("%s: %v, %v", method, m.Error, err)
			}
			if m.ID == id {
				return m.Result
			}
		}
	}
}

// ask sends an HTTP request.
func ask(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// watcher is a viewer as a program. It draws each frame at once.
type watcher struct {
	t      *testing.T
	r      *stage
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

func watch(t *testing.T, r *stage, address string) *watcher {
	t.Helper()
	return watchAs(t, &watcher{t: t, r: r}, address)
}

func watchAs(t *testing.T, w *watcher, address string) *watcher {
	t.Helper()
	socket, _, err := websocket.Dial(
		t.Context(), strings.Replace(address, "http", "ws", 1), &websocket.DialOptions{Subprotocols: []string{"warren.live"}})
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
				time.Sleep(w.delay(len(msg))) // the slow link of the test
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
	late := time.After(testnet.Patience)
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
			w.t.Fatalf("not within %v: %s; the last messages: %v", testnet.Patience, what, said[max(0, len(said)-6):])
		}
	}
}

// hears waits for a message of a type with the members of want, and returns the newest one.
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

// forget makes hears ignore earlier messages.
func (w *watcher) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = nil
}

// sees waits for a frame whose pixel at a position of the page has about the given colour.
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

// colour returns that of a pixel.
func colour(picture image.Image, x, y int) color.RGBA {
	return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)
}

func near(a, b color.RGBA) bool {
	off := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return off(a.R, b.R)+off(a.G, b.G)+off(a.B, b.B) < 60
}

// page runs an expression in the page that is shown, in the view's own world.
func (w *watcher) page(expression string) string {
	var value any
	if err := w.r.view.evaluate(w.session(), 10*time.Second, expression, &value); err != nil {
		return err.Error()
	}
	return fmt.Sprint(value)
}

// logs waits until the page has recorded something.
func (w *watcher) logs(what string) {
	w.t.Helper()
	last := ""
	defer func() {
		if w.t.Failed() {
			w.t.Logf("the page noted %s", last)
		}
	}()
	testnet.Eventually(w.t, "the page notes "+what, func() bool {
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
