package live

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"warren/browser"
)

// viewer is one connected viewer. View.mu guards all fields that may change, except the outbox.
type viewer struct {
	live      *View
	feed      feed
	id        string
	name      string
	announced string // the name that others were told last
	renaming  bool   // within namePause after that
	readonly  bool
	tile      bool // a small picture among others: it watches, and others do not hear of it
	files     bool // may use files of this machine, not only those of the run
	socket    *websocket.Conn
	out       outbox
	wake      chan struct{} // holds a token when there may be something to write

	profileID, runID string

	width, height int    // of the largest useful picture, in pixels
	next          *frame // the newest frame that was not sent yet
	drawing       int64  // the frame that was sent and is not drawn yet, 0 for none
	sent          time.Time
	drawTime      time.Duration // from sending a frame to its acknowledgement, average; 0: unknown
	roundTrip     time.Duration // shortest WebSocket ping; 0: unknown
	inputs        []handledInput
	moves, wheels gesture
	upload        *upload
}

// handledInput is an input that Chrome has carried out.
type handledInput struct {
	n               int64
	asked, answered time.Time
}

const (
	// viewerMessage is the largest message of a viewer, in bytes: a piece of a file, or a long text.
	viewerMessage = 1<<20 + 64<<10
	// outboxLimit is how many bytes of messages may wait for a viewer. A viewer with more is disconnected. Frames do not count.
	outboxLimit = 4 << 20
	// writeTimeout bounds the write of one message.
	writeTimeout = 10 * time.Second
	// pingPeriod is the time between two pings, pingTimeout the longest wait for a pong (RFC 6455, 5.5.2).
	pingPeriod, pingTimeout = 20 * time.Second, 20 * time.Second
	// maxName is the longest name of a viewer, in bytes.
	maxName = 240
	// namePause is the least time between two announcements of a viewer's name.
	namePause = time.Second
)

// refusal is the reason why a viewer's request is not carried out.
type refusal struct{ code, message string }

func unknownWord(member, word string) *refusal {
	if len(word) > 40 {
		word = word[:40]
	}
	return &refusal{"bad_message", fmt.Sprintf("%q is not a word for %q here.", word, member)}
}

// serve handles a viewer's connection from its request to its end.
func (l *View) serve(w http.ResponseWriter, r *http.Request) {
	if !browser.IsUpgrade(w, r, "this is the socket of the live view: open it as a WebSocket, or open the page at liveUrl") {
		return
	}
	if l.chrome.PID() == 0 {
		http.Error(w, "the browser has not been started", http.StatusServiceUnavailable)
		return
	}
	socket, err := browser.AcceptSocket(w, r, "warren.live", viewerMessage)
	if err != nil {
		return // it is answered
	}
	v := &viewer{live: l, socket: socket, wake: make(chan struct{}, 1),
		readonly:  r.Header.Get(readonlyHeader) != "" || r.URL.Query().Get("readonly") == "1" || r.URL.Query().Get("tile") == "1",
		tile:      r.URL.Query().Get("tile") == "1",
		files:     r.Header.Get(browser.FilesHeader) != "",
		profileID: r.Header.Get("X-Warren-Profile"), runID: r.Header.Get("X-Warren-Run")}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if !v.files && !v.readonly {
		l.chrome.KeepDownloads()
	}
	if err := l.join(v); err != nil {
		_ = socket.Close(websocket.StatusInternalError, err.Error())
		return
	}
	read := make(chan struct{})
	go func() { defer close(read); defer cancel(); v.read(ctx) }()
	go v.keepAlive(ctx, cancel)
	v.write(ctx)
	l.leave(v)
	v.closeSocket()
	cancel() // after closeSocket: a cancelled read cuts the connection (websocket.Conn.Read)
	<-read
}

// closeSocket closes the socket, with a last message when the browser has exited.
func (v *viewer) closeSocket() {
	select {
	case <-v.live.chrome.Done():
		reason := fmt.Sprintf("the browser %v", v.live.chrome.Exit())
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = v.socket.Write(ctx, websocket.MessageText, encode(map[string]string{"type": "bye", "reason": reason}))
		_ = v.socket.Close(websocket.StatusGoingAway, reason)
	default:
		_ = v.socket.CloseNow()
	}
}

// keepAlive pings the viewer, records the round-trip time, and disconnects a viewer that does not answer (RFC 6455, 5.5.2).
func (v *viewer) keepAlive(ctx context.Context, cancel func()) {
	tick := time.NewTicker(pingPeriod)
	defer tick.Stop()
	for {
		asked := time.Now()
		waiting, done := context.WithTimeout(ctx, pingTimeout)
		err := v.socket.Ping(waiting)
		done()
		if err != nil {
			cancel()
			return
		}
		v.live.mu.Lock()
		if took := time.Since(asked); v.roundTrip == 0 || took < v.roundTrip {
			v.roundTrip = took
		}
		v.live.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// write sends messages and frames until the viewer or the browser ends.
func (v *viewer) write(ctx context.Context) {
	for {
		kind, message, closed := v.nextMessage()
		if closed {
			return
		}
		if message == nil {
			select {
			case <-v.wake:
			case <-v.live.chrome.Done():
				return
			case <-ctx.Done():
				return
			}
			continue
		}
		writing, cancel := context.WithTimeout(ctx, writeTimeout)
		err := v.socket.Write(writing, kind, message)
		cancel()
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			v.live.frames.Add(1)
		}
	}
}

// nextMessage returns what to write next: messages first, then the newest frame if the viewer has drawn the previous one. message is nil
// when there is nothing to write.
func (v *viewer) nextMessage() (kind websocket.MessageType, message []byte, closed bool) {
	if text, closed := v.out.take(); text != nil || closed {
		return websocket.MessageText, text, text == nil
	}
	l := v.live
	l.mu.Lock()
	defer l.mu.Unlock()
	f := v.next
	if f == nil || v.drawing != 0 {
		return 0, nil, false
	}
	v.next, v.drawing, v.sent = nil, f.seq, time.Now()
	meta := f.meta
	meta.Input = v.inputShown(f)
	head, err := json.Marshal(meta)
	if err != nil {
		return 0, nil, false // Chrome's own numbers always marshal
	}
	message = make([]byte, 0, 2+len(head)+len(f.jpeg))
	message = binary.BigEndian.AppendUint16(message, uint16(len(head))) //nolint:gosec // a few hundred bytes
	message = append(append(message, head...), f.jpeg...)
	return websocket.MessageBinary, message, false
}

// inputShown returns the highest number of an input that Chrome had carried out when it made the frame. l.mu is held.
func (v *viewer) inputShown(f *frame) int64 {
	made := time.UnixMicro(int64(f.meta.At * 1000))
	n := int64(0)
	for _, in := range v.inputs {
		if in.answered.Before(f.received) && in.asked.Before(made) {
			n = max(n, in.n)
		}
	}
	return n
}

// offer makes f the viewer's next frame, in place of one that was not sent yet. l.mu is held.
func (v *viewer) offer(f *frame) {
	v.next = f
	v.signal()
}

// signal wakes write.
func (v *viewer) signal() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// isIdle reports whether the viewer has drawn every frame that it was offered. l.mu is held.
func (v *viewer) isIdle() bool { return v.drawing == 0 && v.next == nil }

// acknowledge notes that the viewer has drawn a frame. l.mu is held.
func (v *viewer) acknowledge(seq int64) {
	if seq != v.drawing || seq == 0 {
		return
	}
	v.drawing = 0
	if took := time.Since(v.sent); !v.tile { // a tile waits on purpose, which tells nothing about its link
		if v.drawTime == 0 {
			v.drawTime = took
		}
		v.drawTime = (3*v.drawTime + took) / 4
	}
	v.signal()
	v.live.capture.adapt(v.live)
	v.live.capture.acknowledge(v.live)
}

// transferTime returns how long a frame takes beyond the link's round trip; false if that is unknown. l.mu is held.
func (v *viewer) transferTime() (time.Duration, bool) {
	return v.drawTime - v.roundTrip, v.drawTime > 0
}

// send sends a message to the viewer.
func (v *viewer) send(message any) { v.enqueue(encode(message)) }

// enqueue appends an encoded message to the outbox. A full outbox disconnects the viewer.
func (v *viewer) enqueue(text []byte) {
	v.out.put(text)
	v.signal()
}

func (v *viewer) sendError(about string, r *refusal) {
	v.send(map[string]string{"type": "error", "code": r.code, "message": r.message, "about": about})
}

// read handles what the viewer sends until its socket ends.
func (v *viewer) read(ctx context.Context) {
	for {
		kind, msg, err := v.socket.Read(ctx)
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			if r := v.receivePiece(msg); r != nil {
				v.sendError("chooser", r)
			}
			continue
		}
		v.receive(msg)
	}
}

// outbox holds encoded messages that wait for a viewer, at most outboxLimit bytes and one message more.
type outbox struct {
	mu     sync.Mutex
	items  [][]byte
	bytes  int
	closed bool // the viewer was too slow: it gets what is left, and nothing more
}

func (o *outbox) put(text []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed = o.closed || o.bytes > outboxLimit; !o.closed {
		o.items, o.bytes = append(o.items, text), o.bytes+len(text)
	}
}

// take removes the oldest message, nil for none. closed means that no more will come.
func (o *outbox) take() (text []byte, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.items) > 0 {
		text, o.items[0] = o.items[0], nil
		o.items = o.items[1:]
		o.bytes -= len(text)
	}
	return text, o.closed
}
