package web

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
)

// The server's end of the live view, for tests of the page: it records messages, and sends what a test wants.

const testCapability = "c4pability-0123456789-abcdefghijklmnopqrst"

// liveEnd is the server's end of the live view.
type liveEnd struct {
	t      *testing.T
	site   *Site
	server *httptest.Server
	refuse int // the status for upgrades; 0: accept

	mu       sync.Mutex
	conn     *websocket.Conn
	opened   int
	ended    int      // sockets
	asked    []string // the requests: "GET /live/… warren.live"
	messages []map[string]any
	pieces   []string // binary messages: the header as JSON, then the bytes
}

func newLiveEnd(t *testing.T) *liveEnd {
	t.Helper()
	e := &liveEnd{t: t, site: newSite(t)}
	e.server = httptest.NewServer(e)
	t.Cleanup(func() {
		e.server.CloseClientConnections()
		e.server.Close()
	})
	return e
}

func (e *liveEnd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h, ok := e.site.Lookup(r.URL.Path); ok {
		h.ServeHTTP(w, r)
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/modules/"); ok {
		serveModule(w, name)
		return
	}
	e.mu.Lock()
	e.asked = append(e.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Sec-Websocket-Protocol")))
	refuse := e.refuse
	e.mu.Unlock()
	switch {
	case r.URL.Path == "/api/v1/tickets":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"ticket":"t1cket","expiresAt":"2030-01-01T00:00:00.000Z"}`)
	case r.URL.Path == "/live/"+testCapability || strings.HasSuffix(r.URL.Path, "/live"):
		if refuse != 0 {
			w.WriteHeader(refuse)
			fmt.Fprint(w, `{"detail":"The run has ended."}`)
			return
		}
		e.serveSocket(w, r)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"p1","name":"Shop","data":[],"total":0}`)
	}
}

func (e *liveEnd) serveSocket(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		w.WriteHeader(http.StatusUpgradeRequired)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"warren.live"}})
	if err != nil {
		return
	}
	conn.SetReadLimit(4 << 20)
	e.mu.Lock()
	e.conn = conn
	e.opened++
	e.mu.Unlock()
	for {
		kind, body, err := conn.Read(context.Background())
		if err != nil {
			e.mu.Lock()
			e.ended++
			e.mu.Unlock()
			return
		}
		e.mu.Lock()
		var m map[string]any
		if kind == websocket.MessageBinary {
			n := int(binary.BigEndian.Uint16(body))
			e.pieces = append(e.pieces, string(body[2:2+n]), string(body[2+n:]))
		} else if json.Unmarshal(body, &m) == nil && m["type"] == "ping" {
			pong := fmt.Appendf(nil, `{"type":"pong","t":%v}`, m["t"])
			conn.Write(context.Background(), websocket.MessageText, pong) //nolint:errcheck // the connection may be closed
		} else {
			e.messages = append(e.messages, m)
		}
		e.mu.Unlock()
	}
}

// say sends messages, given as JSON.
func (e *liveEnd) say(messages ...string) {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range messages {
		if err := e.conn.Write(context.Background(), websocket.MessageText, []byte(m)); err != nil {
			e.t.Fatal(err)
		}
	}
}

// frame sends a picture of one colour, or for nil bytes that are no picture.
func (e *liveEnd) frame(seq, input int, c color.Color) {
	e.t.Helper()
	header := fmt.Sprintf(`{"seq":%d,"tab":"T1","width":1280,"height":720,"scale":1,"offsetTop":0,"at":1,"input":%d}`, seq, input)
	var out bytes.Buffer
	binary.Write(&out, binary.BigEndian, uint16(len(header))) //nolint:errcheck,gosec // a buffer takes all
	out.WriteString(header)
	if c == nil {
		out.WriteString("no picture")
	} else {
		img := image.NewRGBA(image.Rect(0, 0, 640, 360))
		draw.Draw(img, img.Bounds(), image.NewUniform(c), image.Point{}, draw.Src)
		if err := jpeg.Encode(&out, img, nil); err != nil {
			e.t.Fatal(err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.conn.Write(context.Background(), websocket.MessageBinary, out.Bytes()); err != nil {
		e.t.Fatal(err)
	}
}

// of returns the messages of some types since the last forget.
func (e *liveEnd) of(types ...string) (list []map[string]any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.messages {
		if slices.Contains(types, m["type"].(string)) {
			list = append(list, m)
		}
	}
	return list
}

func (e *liveEnd) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.messages, e.pieces = nil, nil
}

func (e *liveEnd) times() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.opened
}

const (
	hello    = `{"type":"hello","viewer":"v1","readonly":false,"profileId":"p1","runId":"r1","headless":true}`
	oneTab   = `{"type":"tabs","active":"T1","tabs":[{"id":"T1","title":"One","url":"http://one.example/","crashed":false}]}`
	onePage  = `{"type":"page","tab":"T1","url":"http://one.example/","title":"One","loading":false,"canGoBack":true,"canGoForward":false}`
	controls = `{"type":"control","holder":"v1","you":true,"viewers":[{"id":"v1","name":"Viewer 1","readonly":false}],"asking":[]}`
	watching = `{"type":"control","holder":"v2","you":false,"viewers":[` +
		`{"id":"v1","name":"Viewer 1","readonly":false},{"id":"v2","name":"Ann","readonly":false}],"asking":[]}`
)

// greet waits for the viewer, gives it control, and sends a picture.
func (e *liveEnd) greet(p *driveTab) {
	e.t.Helper()
	before := e.times()
	waitFor(e.t, "the socket", func() bool { return e.times() > before || before > 0 })
	e.say(hello, oneTab, onePage, controls)
	e.frame(1, 0, color.RGBA{0, 0, 255, 255})
	p.until("document.querySelector('canvas') && !document.querySelector('canvas').hidden && !document.querySelector('.typing').disabled")
}
