package live

import (
	"context"
	"time"

	"warren/browser"
)

// windows are the browser's windows that viewers have resized. View.mu guards them.
type windows struct {
	before map[int]browser.Window // as they were, by id
	busy   bool                   // a change is under way
	next   *windowWish            // the newest wish meanwhile
}

// windowWish is a viewport's wanted size in CSS pixels; without a viewer, that every window gets its own bounds back.
type windowWish struct {
	by            *viewer
	width, height int
}

// windowMessage tells viewers whether a window has a viewer's size; docs/live.md.
type windowMessage struct {
	Type    string `json:"type"`
	Resized bool   `json:"resized"`
}

// windowTimeout bounds one change of a window.
const windowTimeout = 5 * time.Second

func (w *windows) resized() bool { return len(w.before) > 0 }

func (w *windows) message() windowMessage { return windowMessage{"window", w.resized()} }

// window handles a viewer's wish for a size of the window that is shown. l.mu is held.
func (v *viewer) window(q *request) *refusal {
	switch q.Do {
	case "fit":
		if q.Width < 1 || q.Height < 1 || q.Width > maxWidth || q.Height > maxHeight {
			return &refusal{"bad_message", "width and height are 1 or more, and at most 3840 and 2160."}
		}
		v.live.changeWindow(windowWish{v, q.Width, q.Height})
	case "restore":
		v.live.changeWindow(windowWish{})
	default:
		return unknownWord("do", q.Do)
	}
	return nil
}

// changeWindow carries out a wish. While another one is under way, only the newest waits. l.mu is held.
func (l *View) changeWindow(wish windowWish) {
	w := &l.windows
	if w.busy {
		w.next = &wish
		return
	}
	w.busy = true
	go func() {
		for next := &wish; next != nil; {
			next = l.windowDone(*next, l.carryOut(*next))
		}
	}()
}

// windowDone tells viewers of a change, and returns the next wish.
func (l *View) windowDone(wish windowWish, err error) (next *windowWish) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &l.windows
	if err != nil {
		l.log.Debug("the live view did not change a window", "error", err)
		if wish.by != nil {
			wish.by.sendError("window", &refusal{"window_failed", "The browser's window did not take this size."})
		}
	}
	l.broadcast(w.message())
	next, w.next = w.next, nil
	w.busy = next != nil
	return next
}

// carryOut changes the window of the tab that is shown, or all of them back.
func (l *View) carryOut(wish windowWish) error {
	ctx, cancel := context.WithTimeout(context.Background(), windowTimeout)
	defer cancel()
	l.mu.Lock()
	page, before := browser.Page{Target: l.active, Session: l.session}, l.windows.before
	l.mu.Unlock()
	if wish.by == nil {
		return l.restoreWindows(ctx, before)
	}
	was, err := l.chrome.ResizeWindow(ctx, page, wish.width, wish.height)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := before[was.ID]; !known && was.ID != 0 {
		if before == nil {
			before = map[int]browser.Window{}
			l.windows.before = before
		}
		before[was.ID] = was
	}
	return err
}

// restoreWindows gives windows their bounds back, and forgets them: one that has closed needs none.
func (l *View) restoreWindows(ctx context.Context, before map[int]browser.Window) (failed error) {
	for _, w := range before {
		if err := l.chrome.RestoreWindow(ctx, w); err != nil {
			failed = err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.windows.before = nil
	return failed
}
