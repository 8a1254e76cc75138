// Package live serves the live view of a run: viewers see the tab in front, and one of them controls it. docs/live.md describes the
// messages on their sockets.
//
// The view sends its commands on the controller's sessions. A session of its own would be one more that needs the identity's overrides.
package live

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"warren/browser"
)

// View is the live view of one run.
type View struct {
	chrome  chrome
	spec    browser.Spec
	log     *slog.Logger
	watched atomic.Bool // there are viewers

	mu        sync.Mutex
	viewers   []*viewer // in the order in which they joined
	lastID    int
	holder    *viewer   // has the controls; nil: nobody
	requests  []*viewer // have asked for the controls
	feed      feed      // from the first viewer to the last; then it is closed
	ended     chan struct{}
	tabs      []tab
	active    string // target of the tab that is shown, "" for none
	session   string // the controller's session on it
	page      pageMessage
	history   *historyQuery
	capture   capture
	prompts   map[string]prompt // by id
	downloads downloads
	client    clientMessage
	cursor    cursorQuery
	drag      drag
	lookup    frontLookup
	windows   windows

	thumbnail thumbnail

	frames atomic.Int64 // that were sent to viewers
}

// chrome is the running browser, a *browser.Browser. Tests replace it.
type chrome interface {
	subscribe() (feed, error)
	Spec() browser.Spec
	Logger() *slog.Logger
	PID() int
	Clients() int
	Done() <-chan struct{}
	Exit() browser.Exit
	Front() (target string, visible bool)
	Page(target string) (browser.Page, bool)
	PageOf(ctx context.Context, tab string) (browser.Page, error)
	Evaluate(ctx context.Context, p browser.Page, expression string, value any) error
	ResizeWindow(ctx context.Context, p browser.Page, width, height int) (before browser.Window, err error)
	RestoreWindow(ctx context.Context, w browser.Window) error
	AwaitOverrides(ctx context.Context, target string)
	Hides(t browser.TargetInfo) bool
	HasClient(target string) bool
	PermitPasskey(target string) bool
	LeaveDialog(e browser.Event)
	MayDrop(params []byte) bool
	KeepDownloads()
	DownloadsRedirected() bool
	OwnsDownload(path string) bool
	DownloadPath(id string) string
}

// feed is the view's connection to Chrome, a *browser.Subscription.
type feed interface {
	Next(ctx context.Context) (browser.News, error)
	Send(session, method string, params, tag any)
	Show(target string, dialogs bool)
	Close()
}

type realChrome struct{ *browser.Browser }

func (c realChrome) subscribe() (feed, error) { return c.Subscribe() }

// New returns the live view of a run. The browser need not have been started.
func New(b *browser.Browser) *View { return newView(realChrome{b}) }

func newView(c chrome) *View {
	l := &View{chrome: c, spec: c.Spec(), log: c.Logger(), capture: capture{density: 1, period: levelPeriod},
		tabs: []tab{}, prompts: map[string]prompt{}}
	if s := l.spec.Identity.Screen; s != nil {
		l.capture.density = s.DeviceScaleFactor
	}
	return l
}

// readonlyHeader marks the request of a viewer that must not control the browser. The server sets it and removes what a client sent.
const readonlyHeader = "X-Warren-Readonly"

// Handler returns the HTTP handler of the view: the viewers' WebSocket at "/", and downloaded files at /downloads/{id}. It refuses a
// request whose Origin is not that of X-Warren-Base. X-Warren-Readonly forbids control; viewers are told X-Warren-Profile and X-Warren-Run.
// The caller authenticates.
func (l *View) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", l.serve)
	mux.HandleFunc("GET /downloads/{id}", l.serveDownload)
	return browser.SameOrigin(mux)
}

// Frames returns how many frames were sent to viewers.
func (l *View) Frames() int64 { return l.frames.Load() }

// Viewers returns the number of connected viewers. Tiles do not count, so that they keep no run from being idle.
func (l *View) Viewers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.people()
}

// people returns the number of viewers that are no tiles. l.mu is held.
func (l *View) people() (n int) {
	for _, v := range l.viewers {
		if !v.tile {
			n++
		}
	}
	return n
}

// join adds a viewer. The first one begins the view. It fails if the browser cannot be watched.
func (l *View) join(v *viewer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := len(l.viewers) == 0
	if first {
		feed, err := l.chrome.subscribe()
		if err != nil {
			return err
		}
		l.feed, l.ended, l.history = feed, make(chan struct{}), &historyQuery{}
	}
	l.lastID++
	v.id, v.feed = "v"+strconv.Itoa(l.lastID), l.feed
	l.viewers = append(l.viewers, v)
	if l.holder == nil && !v.readonly {
		l.giveControl(v)
	}
	v.send(struct {
		Type      string `json:"type"`
		Viewer    string `json:"viewer"`
		Readonly  bool   `json:"readonly"`
		Headless  bool   `json:"headless"`
		OS        string `json:"os"`
		Passkeys  bool   `json:"passkeys,omitempty"` // pages wait for a person who allows one
		ProfileID string `json:"profileId,omitempty"`
		RunID     string `json:"runId,omitempty"`
	}{"hello", v.id, v.readonly, l.spec.Headless, browser.HostOS(), l.spec.Passkeys == browser.PasskeysAsk, v.profileID, v.runID})
	if !first {
		l.sendState(v)
	}
	l.controlChanged()
	if first {
		l.begin()
	}
	return nil
}

// sendState tells a later viewer what the others know. l.mu is held.
func (l *View) sendState(v *viewer) {
	v.send(l.tabsMessage())
	if l.active != "" {
		v.send(l.page)
	}
	for _, p := range l.prompts {
		v.send(p.message)
	}
	for _, d := range l.downloads.list {
		v.send(d.message())
	}
	if l.client.Active {
		v.send(l.client)
	}
	if l.windows.resized() {
		v.send(l.windows.message())
	}
	if f := l.capture.last; f != nil {
		v.offer(f)
	}
}

// leave removes a viewer. The last one ends the view.
func (l *View) leave(v *viewer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.viewers = slices.DeleteFunc(l.viewers, func(o *viewer) bool { return o == v })
	l.requests = slices.DeleteFunc(l.requests, func(o *viewer) bool { return o == v })
	v.dropInput()
	if l.holder == v {
		l.giveControl(nil)
		if len(l.requests) > 0 {
			l.giveControl(l.requests[0])
		}
	}
	if l.people() == 0 && l.windows.resized() {
		l.changeWindow(windowWish{})
	}
	if len(l.viewers) == 0 {
		l.end()
		return
	}
	l.controlChanged()
	l.capture.resizeSoon(l)
	l.capture.acknowledge(l)
}

// begin asks Chrome for the list of tabs and shows the tab in front (CDP Target.setDiscoverTargets). l.mu is held.
func (l *View) begin() {
	l.watched.Store(true)
	l.downloads.offered = !l.chrome.DownloadsRedirected()
	// the controller's: Chrome then repeats all targets
	l.feed.Send("", "Target.setDiscoverTargets", map[string]any{"discover": false}, nil)
	l.feed.Send("", "Target.setDiscoverTargets", map[string]any{"discover": true}, nil)
	go l.receive(l.feed)
	go l.pollTitles(l.ended)
	l.followFront()
}

// end undoes what the view has asked of Chrome. l.mu is held.
func (l *View) end() {
	l.watched.Store(false)
	close(l.ended)
	l.release()
	l.feed.Close()
	l.downloads.offered = false
	l.tabs, l.requests, l.prompts, l.client = []tab{}, nil, map[string]prompt{}, clientMessage{}
}

// receive handles news until the feed is closed.
func (l *View) receive(f feed) {
	for {
		news, err := f.Next(context.Background())
		if err != nil {
			return
		}
		switch n := news.(type) {
		case browser.Event:
			if !l.onEvent(f, n) && n.Claimed {
				l.chrome.LeaveDialog(n)
			}
		case browser.Answer:
			if then, ok := n.Tag.(func(browser.Answer)); ok {
				then(n)
			}
		case browser.Blocked:
			l.onBlocked(n.Target)
		case browser.ClientInput:
			l.onClientInput(n)
		}
	}
}

// onEvent handles an event of Chrome's, and reports whether the view has taken it on.
func (l *View) onEvent(f feed, e browser.Event) (handled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.viewers) == 0 || l.feed != f:
		return false
	case e.Session == "":
		l.onBrowserEvent(e.Method, e.Params)
		return true
	}
	if e.Method == "Inspector.targetReloadedAfterCrash" {
		l.onRendererRestart(e)
	}
	return e.Session == l.session && l.onPageEvent(e)
}

// broadcast sends a message to every viewer. l.mu is held.
func (l *View) broadcast(message any) {
	text := encode(message)
	for _, v := range l.viewers {
		v.enqueue(text)
	}
}

// command sends a command on the controller's session. then gets the result, without l.mu; it is not called if Chrome refuses. l.mu is
// held.
func (l *View) command(session, method string, params any, then func(json.RawMessage)) {
	l.feed.Send(session, method, params, func(a browser.Answer) {
		if a.Err != nil {
			l.log.Debug("the live view was refused a command", "method", method, "error", a.Err)
			return
		}
		if then != nil {
			then(a.Result)
		}
	})
}

// newPromptID returns the id of a prompt.
func newPromptID() string { return uuid.NewString()[:8] }
