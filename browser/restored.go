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

// early is what the owner knows of documents while the gate is closed.
type early struct {
	over    bool                 // the gate is open
	asked   map[string]bool      // frames whose document was looked at on its way out
	stopped map[string]bool      // the owner's sessions whose document was on its way and came to nothing
	doubted map[string]time.Time // pages of which nobody knows whether they are there, and since when
	again   map[string]time.Time // when pages were sent to their address again that have not asked for it yet
}

// againTime is how long a page may take to ask again. One that has a service worker may never.
const againTime = 10 * time.Second

// recall has every tab load again that was on its way, or there, before anybody looked at its requests. Which ones Chrome has begun to load nobody can
// ask: it stops all where it is told to, and says of which there was a document to stop (Network.loadingFailed). Those that it has not begun, in the
// background, stay as they are. What a page that came out of the cache has asked for is turned away at the gate: its renderer may stop too late. All
// that is asked here the browser process answers, which does not wait for pages.
func (o *owner) recall(ctx context.Context, g *gate) {
	unlooked := o.unlooked()
	if len(unlooked) == 0 {
		return
	}
	stopped := make([]bool, len(unlooked))
	var wg sync.WaitGroup
	for i, p := range unlooked {
		wg.Go(func() { stopped[i] = o.stop(ctx, p) })
	}
	wg.Wait()
	g.drop()
	for i, p := range unlooked {
		wg.Go(func() {
			o.doubt(p.Target)
			switch there := o.mux.call(ctx, p.Session, isThere, frameOf(p), nil) == nil; {
			case there:
				o.reload(p)
			case stopped[i] && o.decide(p.Target):
				o.backTo(ctx, p)
			}
		})
	}
	wg.Wait()
}

// isThere is the command that Chrome answers without an error where a page of the web is shown.
const isThere = "Storage.getStorageKeyForFrame"

func frameOf(p Page) any { return map[string]string{"frameId": p.Target} }

// doubt notes a page of which nobody knows yet whether it is there. A renderer shows what comes out of the cache before the browser process knows of it, and
// then there is neither a document to stop nor one that is there: only half of it may be shown.
func (o *owner) doubt(target string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.early.doubted[target] = time.Now()
}

// decide reports whether a page was in doubt until now, and ends that.
func (o *owner) decide(target string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	since, doubted := o.early.doubted[target]
	delete(o.early.doubted, target)
	return doubted && time.Since(since) < againTime
}

// pageChanged is called on the reading goroutine when Chrome tells of a page anew, as it does when the browser process has a document of it.
func (o *owner) pageChanged(target string) {
	o.mu.Lock()
	_, doubted := o.early.doubted[target]
	o.mu.Unlock()
	if p, known := o.page(target); doubted && known {
		o.mux.send(p.Session, isThere, frameOf(p), func(a answer) {
			if a.err() == nil {
				o.reload(p)
			}
		})
	}
}

// reload loads a page that is there again, once.
func (o *owner) reload(p Page) {
	if o.decide(p.Target) {
		o.repeat(p, "Page.reload", nil)
	}
}

// stop ends what a tab is loading (Page.stopLoading), and reports whether that was a document.
func (o *owner) stop(ctx context.Context, p Page) bool {
	o.mux.send(p.Session, "Network.enable", nil, nil)
	err := o.mux.call(ctx, p.Session, "Page.stopLoading", nil, nil)
	o.mux.send(p.Session, "Network.disable", nil, nil)
	o.mu.Lock()
	defer o.mu.Unlock()
	return err == nil && o.early.stopped[p.Session]
}

// admit opens the gate. What asks for its document from now on is looked at.
func (o *owner) admit(g *gate) {
	o.mu.Lock()
	o.early.over = true
	o.early.asked, o.early.stopped = nil, nil
	o.mu.Unlock()
	g.open()
}

// unlooked returns the pages of the web whose document nobody has looked at on its way out.
func (o *owner) unlooked() (all []Page) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.pages {
		if strings.HasPrefix(p.URL, "http") && !o.early.asked[p.Target] {
			all = append(all, p)
		}
	}
	return all
}

// backTo sends a tab to where it was going (Page.navigateToHistoryEntry): as Chrome does when it restores it, with a form's answer from the cache only.
func (o *owner) backTo(ctx context.Context, p Page) {
	var history navigationHistory
	err := o.mux.call(ctx, p.Session, "Page.getNavigationHistory", nil, &history)
	entry, ok := history.current()
	if err != nil || !ok {
		o.mux.log.Warn("a restored tab was stopped and cannot be sent on", "error", err)
		return
	}
	o.repeat(p, "Page.navigateToHistoryEntry", map[string]any{"entryId": entry.ID})
}

// repeat does it, and notes that the page will ask again.
func (o *owner) repeat(p Page, method string, params any) {
	o.mu.Lock()
	o.early.again[p.Target] = time.Now()
	o.mu.Unlock()
	o.mux.log.Info("a restored tab is loaded again: its first request was on its way before it could be looked at", "target", p.Target)
	o.mux.send(p.Session, method, params, nil)
}

// unloaded notes that a document of a page came to nothing.
func (o *owner) unloaded(s *session, params []byte) {
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

// looked notes that a document's request is looked at, and reports whether it must not be made: nobody sends a form twice for the sake of its hints.
func (o *owner) looked(frame, method string) (refused bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.early.over {
		o.early.asked[frame] = true
	}
	delete(o.early.doubted, frame)
	at, again := o.early.again[frame]
	delete(o.early.again, frame)
	return again && time.Since(at) < againTime && method != "GET" && method != "HEAD"
}
