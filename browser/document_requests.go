package browser

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"time"
)

// Chrome restores tabs as soon as it runs, on a busy machine before it listens to DevTools. Their first requests carry the host's client
// hints, or none, and a page from the cache sees the host's identity. So the gate keeps all traffic until the controller is attached, and
// tabs that began before that load again.

// earlyRequests is what the controller knows of document requests while the gate is closed. controller.mu guards it.
type earlyRequests struct {
	over        bool                 // the gate is open
	intercepted map[string]bool      // frames whose document request was paused
	stopped     map[string]bool      // the controller's sessions whose document was stopped
	uncertain   map[string]time.Time // pages that may or may not show a document, and since when
	reloaded    map[string]time.Time // when pages were reloaded whose request has not been paused yet
}

// reloadLimit is how long a page may take to send its request again. A page with a service worker may never send one.
const reloadLimit = 10 * time.Second

// reloadEarlyTabs reloads every tab that loaded before request interception was on. Chrome does not say which tabs have begun to load. So
// every such tab is stopped, and Network.loadingFailed tells where there was a document to stop. A tab that was stopped before it had
// asked tells nothing, so every tab that is shown goes on. Background tabs that have not begun stay as they are. Requests of a page from
// the cache are dropped at the gate, since its renderer may stop too late. A form's answer out of the cache stays as it was stopped,
// maybe half of it. Only the form could bring the rest, and it is not sent again.
//
// all says that every tab of the web loads again: those whose request was paused had no cookies yet either.
func (ctl *controller) reloadEarlyTabs(ctx context.Context, g *gate, all bool) {
	unlooked := ctl.earlyPages(all)
	if len(unlooked) == 0 {
		return
	}
	stopped := make([]bool, len(unlooked))
	var wg sync.WaitGroup
	for i, p := range unlooked {
		wg.Go(func() { stopped[i] = ctl.stopLoading(ctx, p) })
	}
	wg.Wait()
	g.dropWaiting()
	for i, p := range unlooked {
		wg.Go(func() {
			ctl.markUncertain(p.Target)
			switch there := ctl.mux.call(ctx, p.Session, pageCheck, mainFrame(p), nil) == nil; {
			case there:
				ctl.reloadOnce(p)
			case (stopped[i] || ctl.isShown(ctx, p)) && ctl.isUncertain(p.Target):
				ctl.resumeNavigation(ctx, p) // without effect if the page has come out of the cache meanwhile: so it stays uncertain
			}
		})
	}
	wg.Wait()
}

// shownLimit is how long a page may take to say whether it is shown.
const shownLimit = 2 * time.Second

// isShown reports whether a tab is the one that its window shows. In doubt it is.
func (ctl *controller) isShown(ctx context.Context, p Page) bool {
	ctx, cancel := context.WithTimeout(ctx, shownLimit)
	defer cancel()
	var hidden bool
	err := ctl.evaluate(ctx, p, "document.hidden", &hidden)
	return err != nil || !hidden
}

// pageCheck is a command that succeeds if a page of the web is shown.
const pageCheck = "Storage.getStorageKeyForFrame"

func mainFrame(p Page) any { return map[string]string{"frameId": p.Target} }

// markUncertain marks a page that may or may not show a document. A renderer shows a page from the cache before the browser process knows
// of it. At that time there is neither a document to stop nor one to reload.
func (ctl *controller) markUncertain(target string) {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	ctl.early.uncertain[target] = time.Now()
}

// isUncertain reports whether a page is uncertain.
func (ctl *controller) isUncertain(target string) bool {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	_, doubted := ctl.early.uncertain[target]
	return doubted
}

// takeUncertain reports whether a page was uncertain until now, and clears the mark.
func (ctl *controller) takeUncertain(target string) bool {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	since, doubted := ctl.early.uncertain[target]
	delete(ctl.early.uncertain, target)
	return doubted && time.Since(since) < reloadLimit
}

// onPageChanged is called on the reading goroutine when Chrome announces a change of a page, as it does for a new document.
func (ctl *controller) onPageChanged(target string) {
	ctl.mu.Lock()
	_, doubted := ctl.early.uncertain[target]
	ctl.mu.Unlock()
	if p, known := ctl.page(target); doubted && known {
		ctl.mux.send(p.Session, pageCheck, mainFrame(p), func(a answer) {
			if a.err() == nil {
				ctl.reloadOnce(p)
			}
		})
	}
}

// reloadOnce reloads an uncertain page that shows a document, once.
func (ctl *controller) reloadOnce(p Page) {
	if ctl.takeUncertain(p.Target) {
		ctl.sendAgain(p, "Page.reload", nil)
	}
}

// stopLoading stops a tab (CDP Page.stopLoading), and reports whether it was loading a document.
func (ctl *controller) stopLoading(ctx context.Context, p Page) bool {
	ctl.mux.send(p.Session, "Network.enable", nil, nil)
	err := ctl.mux.call(ctx, p.Session, "Page.stopLoading", nil, nil)
	ctl.mux.send(p.Session, "Network.disable", nil, nil)
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	return err == nil && ctl.early.stopped[p.Session]
}

// openGate opens the gate. All later document requests are paused.
func (ctl *controller) openGate(g *gate) {
	ctl.mu.Lock()
	ctl.early.over = true
	ctl.early.intercepted, ctl.early.stopped = nil, nil
	ctl.mu.Unlock()
	g.open()
}

// earlyPages returns the pages of the web: all of them, or those whose document request was not paused.
func (ctl *controller) earlyPages(every bool) (all []Page) {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	for _, p := range ctl.pages {
		if strings.HasPrefix(p.URL, "http") && (every || !ctl.early.intercepted[p.Target]) {
			all = append(all, p)
		}
	}
	return all
}

// resumeNavigation repeats a stopped navigation (CDP Page.navigateToHistoryEntry). As when Chrome restores a tab, a form is not sent again.
func (ctl *controller) resumeNavigation(ctx context.Context, p Page) {
	var history navigationHistory
	err := ctl.mux.call(ctx, p.Session, "Page.getNavigationHistory", nil, &history)
	entry, ok := history.current()
	if err != nil || !ok {
		ctl.mux.log.Warn("a restored tab was stopped and cannot be sent on", "error", err)
		return
	}
	ctl.sendAgain(p, "Page.navigateToHistoryEntry", map[string]any{"entryId": entry.ID})
}

// sendAgain sends a command that makes a page request its document again.
func (ctl *controller) sendAgain(p Page, method string, params any) {
	ctl.mu.Lock()
	ctl.early.reloaded[p.Target] = time.Now()
	ctl.mu.Unlock()
	ctl.mux.log.Info("a restored tab is loaded again: its first request was on its way before it could be looked at", "target", p.Target)
	ctl.mux.send(p.Session, method, params, nil)
}

// onLoadingFailed handles Network.loadingFailed (CDP): it records that a document was stopped.
func (ctl *controller) onLoadingFailed(s *session, params []byte) {
	var p struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(params, &p) != nil || p.Type != "Document" {
		return
	}
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	if !ctl.early.over {
		ctl.early.stopped[s.id] = true
	}
}

// onDocumentRequest records that a document request is paused. It reports whether the request must fail: a reload for the sake of client
// hints must not send a form twice.
func (ctl *controller) onDocumentRequest(frame, method string) (refused bool) {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	if !ctl.early.over {
		ctl.early.intercepted[frame] = true
	}
	delete(ctl.early.uncertain, frame)
	at, again := ctl.early.reloaded[frame]
	delete(ctl.early.reloaded, frame)
	return again && time.Since(at) < reloadLimit && method != "GET" && method != "HEAD"
}

// pausedRequest is what is read of Fetch.requestPaused (CDP).
type pausedRequest struct {
	ID      string `json:"requestId"`
	Frame   string `json:"frameId"`
	Request struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	} `json:"request"`
}

// onRequestPaused is called on the reading goroutine for each document request. The request continues when no client's session is being
// attached.
func (ctl *controller) onRequestPaused(params []byte) {
	var p pausedRequest
	if err := json.Unmarshal(params, &p); err != nil {
		ctl.mux.log.Warn("a paused request cannot be read", "error", err)
	}
	if isFile(p.Request.URL) { // clients' sessions end before the request continues
		if ctl.mux.block(p.Frame, false); ctl.shouldClose(p.Request.URL) {
			ctl.mux.send("", "Fetch.failRequest", map[string]any{"requestId": p.ID, "errorReason": "BlockedByClient"}, nil)
			return
		}
	}
	if ctl.onDocumentRequest(p.Frame, p.Request.Method) {
		// the page stays where it is
		ctl.mux.send("", "Fetch.failRequest", map[string]any{"requestId": p.ID, "errorReason": "Aborted"}, nil)
		return
	}
	over := ctl.attaching.pending()
	if over == nil {
		ctl.continueRequest(p)
		return
	}
	ctl.mux.log.Debug("a document waits until clients' sessions are there", "frame", p.Frame)
	go func() {
		select {
		case <-over:
		case <-time.After(ctl.attaching.limit / 4):
		}
		ctl.continueRequest(p)
	}()
}

// continueRequest continues a document request with the identity's client hints.
func (ctl *controller) continueRequest(p pausedRequest) {
	asItIs := map[string]any{"requestId": p.ID}
	var headers []header
	if ctl.emulation.hints != nil {
		headers = ctl.emulation.hints.rewrite(p.Request.Headers)
	}
	if headers == nil {
		ctl.mux.send("", "Fetch.continueRequest", asItIs, nil)
		return
	}
	ctl.mux.send("", "Fetch.continueRequest", map[string]any{"requestId": p.ID, "headers": headers}, func(a answer) {
		if err := a.err(); err != nil && a.lost == nil { // a wrong hint is better than a page that waits forever
			ctl.mux.log.Warn("a request kept its hints", "error", err)
			ctl.mux.send("", "Fetch.continueRequest", asItIs, nil)
		}
	})
}

// gate is a listener that accepts nothing before it is opened. Earlier connections wait.
type gate struct {
	net.Listener
	opened, closed chan struct{}
	open, shut     func()
}

func newGate(l net.Listener) *gate {
	g := &gate{Listener: l, opened: make(chan struct{}), closed: make(chan struct{})}
	g.open, g.shut = sync.OnceFunc(func() { close(g.opened) }), sync.OnceFunc(func() { close(g.closed) })
	return g
}

// Accept waits until the gate is open. It fails with net.ErrClosed if the gate was closed instead.
func (g *gate) Accept() (net.Conn, error) {
	select {
	case <-g.opened:
		return g.Listener.Accept()
	case <-g.closed:
		return nil, net.ErrClosed
	}
}

// dropWait is how long dropWaiting waits for another connection.
const dropWait = 20 * time.Millisecond

// dropWaiting closes the connections that wait now. The gate must not be open.
func (g *gate) dropWaiting() {
	l, ok := g.Listener.(*net.TCPListener)
	if !ok {
		return
	}
	for range 1000 { // bounded, since a page may reconnect at once
		if l.SetDeadline(time.Now().Add(dropWait)) != nil {
			return
		}
		c, err := l.Accept()
		if err != nil {
			break
		}
		c.Close()
	}
	_ = l.SetDeadline(time.Time{})
}

func (g *gate) Close() error {
	g.shut()
	return g.Listener.Close()
}
