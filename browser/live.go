package browser

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
)

// live is the live view of a run: viewers see the active tab and one of them works it. docs/live.md describes what goes over their sockets.
//
// Everything that it asks of Chrome goes over the owner's sessions: a session of its own on a page would be one more that has to be told what the
// profile says. Events come on the mux' reading goroutine, which nothing here keeps waiting.
type live struct {
	b    *Browser
	busy atomic.Bool // somebody watches: what nobody sees is not looked at

	mu       sync.Mutex
	viewers  []*viewer // in the order in which they came
	lastID   int
	holder   *viewer   // has the controls
	asking   []*viewer // want them
	tabs     []liveTab
	active   string // the tab that is shown, "" for none
	session  string // the owner's on it
	page     pageMessage
	history  historyQuestion
	cast     cast
	prompts  map[string]prompt // by id: what pages wait for
	files    offers
	script   scriptState
	under    look
	drag     drag
	small    small
	settling bool          // a look for the tab in front is under way
	again    bool          // and another is due after it
	over     chan struct{} // closed when nobody watches any more
}

// liveTab is a page as viewers see it in the list.
type liveTab struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	URL     string `json:"url"`
	Crashed bool   `json:"crashed"`

	reborn bool // its renderer is new after a crash, and has loaded no document yet that viewers saw
}

func newLive(b *Browser) *live {
	density := 1.0
	if s := b.spec.Identity.Screen; s != nil {
		density = s.DeviceScaleFactor
	}
	return &live{b: b, cast: cast{density: density, period: levelPeriod}, prompts: map[string]prompt{}}
}

// readonlyHeader says that the viewer may watch only. Who serves the live view sets it, and takes away what a client sent.
const readonlyHeader = "X-Warren-Readonly"

// Live returns the handler of the live view: the viewers' socket at "/", and the files that the browser has downloaded at /downloads/{id}. A request
// with an Origin that is not X-Warren-Base's is refused. X-Warren-Readonly lets watch only; X-Warren-Profile and X-Warren-Run are told to viewers. Authentication is the caller's.
func (b *Browser) Live() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", b.live.serve)
	mux.HandleFunc("GET /downloads/{id}", b.live.serveDownload)
	return sameOrigin(mux)
}

// Viewers is how many watch.
func (b *Browser) Viewers() int {
	b.live.mu.Lock()
	defer b.live.mu.Unlock()
	return len(b.live.viewers)
}

// join takes a viewer in. The first begins the view.
func (l *live) join(m *mux, v *viewer) {
	l.mu.Lock()
	l.lastID++
	v.id = "v" + strconv.Itoa(l.lastID)
	l.viewers = append(l.viewers, v)
	if l.holder == nil && !v.readonly {
		l.hold(v)
	}
	v.tell(struct {
		Type      string `json:"type"`
		Viewer    string `json:"viewer"`
		Readonly  bool   `json:"readonly"`
		Headless  bool   `json:"headless"`
		OS        string `json:"os"`
		ProfileID string `json:"profileId,omitempty"`
		RunID     string `json:"runId,omitempty"`
	}{"hello", v.id, v.readonly, l.b.spec.Headless, hostOS(), v.profileID, v.runID})
	first := len(l.viewers) == 1
	if !first {
		l.welcome(v)
	}
	l.controlChanged()
	if first {
		l.over = make(chan struct{})
	}
	over := l.over
	l.mu.Unlock()
	if first {
		l.busy.Store(true)
		l.begin(m, over)
	}
}

// welcome tells a viewer that comes later what the others know. l.mu is held.
func (l *live) welcome(v *viewer) {
	v.tell(l.tabsMessage())
	if l.active != "" {
		v.tell(l.page)
	}
	for _, p := range l.prompts {
		v.tell(p.message)
	}
	for _, d := range l.files.list {
		v.tell(d.message())
	}
	if l.script.Active {
		v.tell(l.script)
	}
	if f := l.cast.last; f != nil {
		v.show(f)
	}
}

// leave takes a viewer out. With the last one the view ends.
func (l *live) leave(v *viewer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.viewers = slices.DeleteFunc(l.viewers, func(o *viewer) bool { return o == v })
	l.asking = slices.DeleteFunc(l.asking, func(o *viewer) bool { return o == v })
	v.letGo()
	if l.holder == v {
		l.hold(nil)
		if len(l.asking) > 0 {
			l.hold(l.asking[0])
		}
	}
	if len(l.viewers) == 0 {
		l.busy.Store(false)
		l.end()
		return
	}
	l.controlChanged()
	l.cast.wishSoon(l)
	l.cast.pump(l)
}

// begin asks Chrome for the list of tabs and shows the one in front (Target.setDiscoverTargets).
func (l *live) begin(m *mux, over <-chan struct{}) {
	m.send("", "Target.setDiscoverTargets", map[string]any{"discover": false}, nil) // the owner has asked already: they are all told of anew
	discover(m)
	l.offerDownloads(m)
	go l.keepTitles(over)
	l.settle()
}

// end gives up what the view had asked for: the run is as it was before the first viewer came. l.mu is held.
func (l *live) end() {
	m := l.b.mux
	close(l.over)
	l.release(m)
	l.files.offered = false
	l.tabs, l.asking, l.prompts, l.script = nil, nil, map[string]prompt{}, scriptState{}
}

// tellAll gives every viewer a message. l.mu is held.
func (l *live) tellAll(message any) {
	text, err := encoded(message)
	if err != nil {
		return // plain values always marshal
	}
	for _, v := range l.viewers {
		v.send(text)
	}
}

// ask sends a command over the owner's session. then gets the result, on the reading goroutine and without l.mu; it is not called where Chrome refuses.
func (l *live) ask(session, method string, params any, then func(json.RawMessage)) {
	l.b.mux.send(session, method, params, func(a answer) {
		if err := a.err(); err != nil {
			l.b.log.Debug("the live view was refused a command", "method", method, "error", err)
			return
		}
		if then != nil {
			then(a.Result)
		}
	})
}

// happened gets each event of the owner's sessions while somebody watches, s is nil for those of the browser itself. It says whether the event was
// for viewers, and needs nobody else. It runs on the reading goroutine.
func (l *live) happened(s *session, method string, params []byte) (taken bool) {
	if l.smallFrame(s, method, params) {
		return true
	}
	if !l.busy.Load() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.viewers) == 0 {
		return false
	}
	if s == nil {
		return l.browserEvent(method, params)
	}
	if method == "Inspector.targetReloadedAfterCrash" {
		l.revived(s)
	}
	if s.id != l.session {
		return false
	}
	return l.pageEvent(method, params)
}

func newPromptID() string { return uuid.NewString()[:8] }
