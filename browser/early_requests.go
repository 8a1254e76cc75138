package browser

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"
)

// This file is about tabs of the last session. Chrome loads them as soon as it runs, on a busy machine before it listens to DevTools: what is on its way
// by then carries the host's client hints, or empty ones, and a page that comes out of the cache is told what the host is. So nothing gets out before the
// owner is there, and what has begun without it begins again.

// earlyRequests is what the owner knows of documents while the gate is closed.
type earlyRequests struct {
	over        bool                 // the gate is open
	intercepted map[string]bool      // frames whose document was looked at on its way out
	stopped     map[string]bool      // the owner's sessions whose document was on its way and came to nothing
	uncertain   map[string]time.Time // pages of which nobody knows whether they are there, and since when
	reloaded    map[string]time.Time // when pages were sent to their address again that have not asked for it yet
}

// reloadLimit is how long a page may take to ask again. One that has a service worker may never.
const reloadLimit = 10 * time.Second

// reloadEarlyTabs has every tab load again that was on its way, or there, before anybody looked at its requests. Which ones Chrome has begun to load nobody can
// ask: it stops all where it is told to, and says of which there was a document to stop (Network.loadingFailed). Those that it has not begun, in the
// background, stay as they are. What a page that came out of the cache has asked for is turned away at the gate: its renderer may stop too late. All
// that is asked here the browser process answers, which does not wait for pages.
func (o *controller) reloadEarlyTabs(ctx context.Context, g *gate) {
	unlooked := o.notIntercepted()
	if len(unlooked) == 0 {
		return
	}
	stopped := make([]bool, len(unlooked))
	var wg sync.WaitGroup
	for i, p := range unlooked {
		wg.Go(func() { stopped[i] = o.stopLoading(ctx, p) })
	}
	wg.Wait()
	g.dropWaiting()
	for i, p := range unlooked {
		wg.Go(func() {
			o.markUncertain(p.Target)
			switch there := o.mux.call(ctx, p.Session, pageCheck, mainFrame(p), nil) == nil; {
			case there:
				o.reloadOnce(p)
			case stopped[i] && o.takeUncertain(p.Target):
				o.resumeNavigation(ctx, p)
			}
		})
	}
	wg.Wait()
}

// pageCheck is the command that Chrome answers without an error where a page of the web is shown.
const pageCheck = "Storage.getStorageKeyForFrame"

func mainFrame(p Page) any { return map[string]string{"frameId": p.Target} }

// markUncertain notes a page of which nobody knows yet whether it is there. A renderer shows what comes out of the cache before the browser process knows of it, and
// then there is neither a document to stop nor one that is there: only half of it may be shown.
func (o *controller) markUncertain(target string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.early.uncertain[target] = time.Now()
}

// takeUncertain reports whether a page was in doubt until now, and ends that.
func (o *controller) takeUncertain(target string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	since, doubted := o.early.uncertain[target]
	delete(o.early.uncertain, target)
	return doubted && time.Since(since) < reloadLimit
}

// onPageChanged is called on the reading goroutine when Chrome tells of a page anew, as it does when the browser process has a document of it.
func (o *controller) onPageChanged(target string) {
	o.mu.Lock()
	_, doubted := o.early.uncertain[target]
	o.mu.Unlock()
	if p, known := o.page(target); doubted && known {
		o.mux.send(p.Session, pageCheck, mainFrame(p), func(a answer) {
			if a.err() == nil {
				o.reloadOnce(p)
			}
		})
	}
}

// reloadOnce loads a page that is there again, once.
func (o *controller) reloadOnce(p Page) {
	if o.takeUncertain(p.Target) {
		o.sendAgain(p, "Page.reload", nil)
	}
}

// stopLoading ends what a tab is loading (Page.stopLoading), and reports whether that was a document.
func (o *controller) stopLoading(ctx context.Context, p Page) bool {
	o.mux.send(p.Session, "Network.enable", nil, nil)
	err := o.mux.call(ctx, p.Session, "Page.stopLoading", nil, nil)
	o.mux.send(p.Session, "Network.disable", nil, nil)
	o.mu.Lock()
	defer o.mu.Unlock()
	return err == nil && o.early.stopped[p.Session]
}

// openGate opens the gate. What asks for its document from now on is looked at.
func (o *controller) openGate(g *gate) {
	o.mu.Lock()
	o.early.over = true
	o.early.intercepted, o.early.stopped = nil, nil
	o.mu.Unlock()
	g.open()
}

// notIntercepted returns the pages of the web whose document nobody has looked at on its way out.
func (o *controller) notIntercepted() (all []Page) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.pages {
		if strings.HasPrefix(p.URL, "http") && !o.early.intercepted[p.Target] {
			all = append(all, p)
		}
	}
	return all
}

// resumeNavigation sends a tab to where it was going (Page.navigateToHistoryEntry): as Chrome does when it restores it, with a form's answer from the cache only.
func (o *controller) resumeNavigation(ctx context.Context, p Page) {
	var history navigationHistory
	err := o.mux.call(ctx, p.Session, "Page.getNavigationHistory", nil, &history)
	entry, ok := history.current()
	if err != nil || !ok {
		o.mux.log.Warn("a restored tab was stopped and cannot be sent on", "error", err)
		return
	}
	o.sendAgain(p, "Page.navigateToHistoryEntry", map[string]any{"entryId": entry.ID})
}

// sendAgain does it, and notes that the page will ask again.
func (o *controller) sendAgain(p Page, method string, params any) {
	o.mu.Lock()
	o.early.reloaded[p.Target] = time.Now()
	o.mu.Unlock()
	o.mux.log.Info("a restored tab is loaded again: its first request was on its way before it could be looked at", "target", p.Target)
	o.mux.send(p.Session, method, params, nil)
}

// onLoadingFailed notes that a document of a page came to nothing.
func (o *controller) onLoadingFailed(s *session, params []byte) {
	var p struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(params, &p) != nil || p.Type != "Document" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.early.over {
		o.early.stopped[s.id] = true
	}
}

// onDocumentRequest notes that a document's request is looked at, and reports whether it must not be made: nobody sends a form twice for the sake of its hints.
func (o *controller) onDocumentRequest(frame, method string) (refused bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.early.over {
		o.early.intercepted[frame] = true
	}
	delete(o.early.uncertain, frame)
	at, again := o.early.reloaded[frame]
	delete(o.early.reloaded, frame)
	return again && time.Since(at) < reloadLimit && method != "GET" && method != "HEAD"
}
