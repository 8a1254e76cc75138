package browser

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// viewer is one who watches: a socket, the newest frame that it has not got yet, and messages on their way to it. live.mu guards what is not the
// socket's own.
type viewer struct {
	live     *live
	id       string
	name     string
	known    string // the name that others were told of last
	naming   bool   // they were told within namePause
	readonly bool
	files    bool // it may use files of the machine, and not the run's own alone
	socket   *websocket.Conn
	out      *queue        // messages on their way
	wake     chan struct{} // holds a token when a frame may be sent

	profileID, runID string // told to it

	width, height int    // of the largest picture that is of use to it
	next          *frame // the newest that it has not got
	drawing       int64  // the frame that it has got and not drawn, 0 for none
	sent          time.Time
	took          time.Duration // for a frame to be drawn, on average; 0: not known
	link          time.Duration // the least that an answer to nothing took: the link's own time
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
	// viewerMessage is the largest message that a viewer may send, in bytes: a piece of a file, or a long text.
	viewerMessage = 1<<20 + 64<<10
	// viewerLimit is how many bytes of messages may wait for a viewer before it is cut off. Frames do not wait.
	viewerLimit = 4 << 20
	// writeTimeout is how long a viewer may take to read one message.
	writeTimeout = 10 * time.Second
	// pingPeriod is how often a viewer is asked whether it is there, and pingTimeout how long it may take.
	pingPeriod, pingTimeout = 20 * time.Second, 20 * time.Second
	// maxName is how long a viewer's name may be, in bytes.
	maxName = 240
	// namePause is how long others hear of no other name of a viewer's after one.
	namePause = time.Second
)

// denial is why a viewer's wish is not carried out.
type denial struct{ code, message string }

func unknownWord(member, word string) *denial {
	return &denial{"bad_message", fmt.Sprintf("%s is not a word for %q here.", quoted(word), member)}
}

// quoted is a viewer's word as it may stand in an answer.
func quoted(word string) string {
	if len(word) > 40 {
		word = word[:40]
	}
	return fmt.Sprintf("%q", word)
}

// serve is a viewer's whole life.
func (l *live) serve(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Upgrade", "websocket")
		http.Error(w, "this is the socket of the live view: open it as a WebSocket, or open the page at liveUrl", http.StatusUpgradeRequired)
		return
	}
	m, err := l.b.running()
	if err != nil {
		refuse(w, err)
		return
	}
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // sameOrigin has checked, against the address that the viewer used
		CompressionMode:    websocket.CompressionDisabled,
		Subprotocols:       []string{"warren.live"},
	})
	if err != nil {
		return // Accept has answered
	}
	socket.SetReadLimit(viewerMessage)
	v := &viewer{live: l, socket: socket, out: newQueue(viewerLimit), wake: make(chan struct{}, 1),
		readonly:  r.Header.Get(readonlyHeader) != "" || r.URL.Query().Get("readonly") == "1",
		files:     r.Header.Get(filesHeader) != "",
		profileID: r.Header.Get("X-Warren-Profile"), runID: r.Header.Get("X-Warren-Run")}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	m.downloads.welcome(v.files || v.readonly)
	l.join(m, v)
	read := make(chan struct{})
	go func() { defer close(read); defer cancel(); v.read(ctx) }()
	go v.keepAlive(ctx, cancel)
	v.write(ctx)
	l.leave(v)
	v.farewell()
	cancel() // not before: it cuts the connection, and with it the last word (websocket.Conn.Read)
	<-read
}

// farewell closes the socket with the reason.
func (v *viewer) farewell() {
	select {
	case <-v.live.b.done:
		reason := fmt.Sprintf("the browser %v", v.live.b.Exit())
		v.lastWord(reason)
		_ = v.socket.Close(websocket.StatusGoingAway, reason)
	default:
		_ = v.socket.CloseNow()
	}
}

func (v *viewer) lastWord(reason string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	text, _ := json.Marshal(map[string]string{"type": "bye", "reason": reason}) // strings always marshal
	_ = v.socket.Write(ctx, websocket.MessageText, text)
}

// keepAlive asks the viewer now and then whether it is there (RFC 6455, 5.5.2), notes how long its link takes for that, and ends one that does not
// answer any more.
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
		if took := time.Since(asked); v.link == 0 || took < v.link {
			v.link = took
		}
		v.live.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// write gives the viewer what there is for it until one of both ends.
func (v *viewer) write(ctx context.Context) {
	for {
		kind, message, closed := v.nextMessage()
		if closed {
			return
		}
		if message == nil {
			select {
			case <-v.out.ready:
			case <-v.wake:
			case <-v.out.done:
			case <-v.live.b.done:
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
	}
}

// nextMessage is what the viewer gets next: messages first, then the newest frame if it has drawn the last one. It is nil when there is nothing.
func (v *viewer) nextMessage() (kind websocket.MessageType, message []byte, closed bool) {
	if text, over := v.out.pop(); text != nil {
		return websocket.MessageText, text, false
	} else if over {
		return 0, nil, true
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
	meta.Input = v.inputSeen(f)
	head, err := json.Marshal(meta)
	if err != nil {
		return 0, nil, false // numbers of Chrome's own always marshal
	}
	message = make([]byte, 0, 2+len(head)+len(f.jpeg))
	message = binary.BigEndian.AppendUint16(message, uint16(len(head))) //nolint:gosec // a few hundred bytes
	message = append(append(message, head...), f.jpeg...)
	return websocket.MessageBinary, message, false
}

// inputSeen is the highest input that Chrome had carried out when it made the frame. l.mu is held.
func (v *viewer) inputSeen(f *frame) int64 {
	made := time.UnixMicro(int64(f.meta.At * 1000))
	n := int64(0)
	for _, in := range v.inputs {
		if in.answered.Before(f.came) && in.asked.Before(made) {
			n = max(n, in.n)
		}
	}
	return n
}

// show gives the viewer a frame, in place of one that it has not got yet. l.mu is held.
func (v *viewer) show(f *frame) {
	v.next = f
	v.nudge()
}

func (v *viewer) nudge() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// isIdle reports whether the viewer has drawn all that it got. l.mu is held.
func (v *viewer) isIdle() bool { return v.drawing == 0 && v.next == nil }

// drew is the viewer's word that a frame is drawn. l.mu is held.
func (v *viewer) drew(seq int64) {
	if seq != v.drawing || seq == 0 {
		return
	}
	v.drawing = 0
	took := time.Since(v.sent)
	if v.took == 0 {
		v.took = took
	}
	v.took = (3*v.took + took) / 4
	v.nudge()
	v.live.cast.adapt(v.live)
	v.live.cast.pump(v.live)
}

// transfer is how long a frame takes to get over, beyond what anything takes. l.mu is held.
func (v *viewer) transfer() (time.Duration, bool) { return v.took - v.link, v.took > 0 }

// forgetTransfer forgets the average: frames become other ones. l.mu is held.
func (v *viewer) forgetTransfer() { v.took = 0 }

// tell gives the viewer a message.
func (v *viewer) tell(message any) {
	text, err := encoded(message)
	if err != nil {
		return // plain values always marshal
	}
	v.send(text)
}

// send cuts a viewer off that does not read.
func (v *viewer) send(text []byte) {
	if errors.Is(v.out.put(text), errTooSlow) {
		v.out.close()
	}
}

func (v *viewer) refuse(about string, r *denial) {
	v.tell(map[string]string{"type": "error", "code": r.code, "message": r.message, "about": about})
}

// read takes what the viewer sends until its socket ends.
func (v *viewer) read(ctx context.Context) {
	for {
		kind, msg, err := v.socket.Read(ctx)
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			if r := v.receiveFile(msg); r != nil {
				v.refuse("chooser", r)
			}
			continue
		}
		v.receive(msg)
	}
}
