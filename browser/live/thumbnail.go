package live

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"warren/browser"
)

const (
	thumbnailWidth, thumbnailHeight = 320, 240
	thumbnailQuality                = 60              // of JPEG, 0 to 100
	thumbnailAge                    = 5 * time.Second // for how long a thumbnail is reused
	thumbnailTimeout                = 3 * time.Second // for a page to be drawn
)

// thumbnail is the last thumbnail of the tab in front. View.mu guards it.
type thumbnail struct {
	busy  chan struct{} // closed when the thumbnail that is being taken is done; nil: none is
	jpeg  []byte
	taken time.Time
}

// Thumbnail returns a JPEG of the tab in front, at most 320 by 240 pixels and 5 s old; while somebody watches, it is the newest frame of
// the view. The page is not disturbed: it is neither resized nor brought to the front, and its next frame is taken (CDP
// Page.startScreencast). Thumbnail fails with a *browser.PageError.
func (l *View) Thumbnail(ctx context.Context) ([]byte, error) {
	t := &l.thumbnail
	for {
		l.mu.Lock()
		switch {
		case l.capture.last != nil:
			defer l.mu.Unlock()
			return l.capture.last.jpeg, nil
		case t.jpeg != nil && time.Since(t.taken) < thumbnailAge:
			defer l.mu.Unlock()
			return t.jpeg, nil
		case t.busy == nil:
			t.busy = make(chan struct{})
			l.mu.Unlock()
			jpeg, err := l.takeThumbnail(ctx)
			l.mu.Lock()
			defer l.mu.Unlock()
			if err == nil {
				t.jpeg, t.taken = jpeg, time.Now()
			}
			close(t.busy)
			t.busy = nil
			return jpeg, err
		}
		busy := t.busy
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, &browser.PageError{Kind: "not_answering", Err: ctx.Err()}
		}
	}
}

// takeThumbnail takes the next frame of the tab in front.
func (l *View) takeThumbnail(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, thumbnailTimeout)
	defer cancel()
	p, err := l.chrome.PageOf(ctx, "")
	if err != nil {
		return nil, err
	}
	feed, err := l.chrome.subscribe()
	if err != nil {
		return nil, &browser.PageError{Kind: "no_page", Err: err}
	}
	defer feed.Close()
	l.sendUnlessShown(p, feed, "Page.startScreencast", map[string]any{"format": "jpeg", "quality": thumbnailQuality,
		"maxWidth": thumbnailWidth, "maxHeight": thumbnailHeight, "everyNthFrame": 1, "maxFramesInFlight": 1})
	defer l.sendUnlessShown(p, feed, "Page.stopScreencast", nil)
	for {
		news, err := feed.Next(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, &browser.PageError{Kind: "not_answering", Err: errors.New("the page was not drawn in time")}
		case err != nil:
			return nil, &browser.PageError{Kind: "no_page", Err: err}
		}
		if e, ok := news.(browser.Event); ok && e.Session == p.Session && e.Method == "Page.screencastFrame" {
			var frame struct {
				Data []byte `json:"data"`
			}
			if json.Unmarshal(e.Params, &frame) != nil || len(frame.Data) == 0 {
				continue
			}
			if _, ok := l.chrome.Page(p.Target); !ok {
				return nil, &browser.PageError{Kind: "no_page", Err: errors.New("the page has gone")}
			}
			return frame.Data, nil
		}
	}
}

// sendUnlessShown sends a command to a page that viewers do not see. The screencast of a page that they see is the view's own.
func (l *View) sendUnlessShown(p browser.Page, f feed, method string, params any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != p.Session {
		f.Send(p.Session, method, params, nil)
	}
}
