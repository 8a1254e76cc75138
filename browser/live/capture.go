package live

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"warren/browser"
)

// frame is a picture of the tab that is shown.
type frame struct {
	seq      int64
	jpeg     []byte
	meta     frameMeta
	received time.Time
}

// frameMeta is what viewers are told about a frame; docs/live.md.
type frameMeta struct {
	Seq       int64   `json:"seq"`
	Tab       string  `json:"tab"`
	Width     float64 `json:"width"`
	Height    float64 `json:"height"`
	Scale     float64 `json:"scale"`
	OffsetTop float64 `json:"offsetTop"`
	At        float64 `json:"at"`
	Input     int64   `json:"input"`
}

// capture is the screencast of the tab that is shown, one for all viewers (CDP Page.startScreencast). Chrome makes a frame only after the
// previous one was acknowledged, and that happens once a viewer has drawn it. So frames queue up nowhere. View.mu guards it.
type capture struct {
	on       bool
	seq      int64
	last     *frame
	unacked  int64 // the frame that Chrome waits to have acknowledged, 0 for none
	width    int   // largest picture that a viewer can use, in pixels
	height   int
	resizing bool    // within sizePause
	density  float64 // device pixels per CSS pixel

	pageWidth, pageHeight float64 // in pixels; 0: unknown

	level   int           // index of levels
	period  time.Duration // levelPeriod; tests shorten it
	changed time.Time     // when size or level last changed
}

const (
	// sizePause collects the size changes of all viewers, since each change restarts the capture.
	sizePause = 200 * time.Millisecond

	defaultWidth, defaultHeight = 1280, 720
	maxWidth, maxHeight         = 3840, 2160
)

// level is a trade-off between picture and bandwidth: JPEG quality (0 to 100) and the share of the requested size.
type level struct {
	quality int
	scale   float64
}

func levels() []level { return []level{{80, 1}, {65, 1}, {50, 1}, {40, 0.75}, {30, 0.5}} }

// start captures the tab that is shown.
func (c *capture) start(l *View) {
	c.on, c.unacked, c.last = true, 0, nil
	if c.width == 0 {
		c.width, c.height = l.requestedSize()
	}
	at := levels()[c.level]
	width, height := float64(c.width), float64(c.height)
	if at.scale < 1 && c.pageWidth > 0 { // a page smaller than the requested size is scaled down too
		width, height = min(width, c.pageWidth), min(height, c.pageHeight)
	}
	l.command(l.session, "Page.startScreencast", map[string]any{
		"format": "jpeg", "quality": at.quality, "everyNthFrame": 1, "maxFramesInFlight": 1, "sendLastFrame": true,
		"maxWidth": int(width * at.scale), "maxHeight": int(height * at.scale),
	}, nil)
}

func (c *capture) stop(l *View) {
	if c.on {
		l.command(l.session, "Page.stopScreencast", nil, nil)
	}
	c.reset()
}

// reset forgets a capture that ended, as it does with its page.
func (c *capture) reset() {
	c.on, c.unacked, c.last = false, 0, nil
}

// restart begins a capture of another size or level.
func (c *capture) restart(l *View) {
	c.changed = time.Now()
	if c.on {
		last := c.last
		c.stop(l)
		c.start(l)
		c.last = last // until the first new frame
	}
}

// requestedSize returns the largest picture that a viewer can use. l.mu is held.
func (l *View) requestedSize() (width, height int) {
	for _, v := range l.viewers {
		width, height = max(width, v.width), max(height, v.height)
	}
	if width == 0 || height == 0 {
		return defaultWidth, defaultHeight
	}
	return width, height
}

// resizeSoon calls resize after sizePause, once for all changes until then.
func (c *capture) resizeSoon(l *View) {
	if c.resizing {
		return
	}
	c.resizing = true
	time.AfterFunc(sizePause, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if c.resizing = false; len(l.viewers) > 0 {
			c.resize(l)
		}
	})
}

// resize adopts the size that viewers request now.
func (c *capture) resize(l *View) {
	if width, height := l.requestedSize(); width != c.width || height != c.height {
		c.width, c.height = width, height
		c.restart(l)
	}
}

// onFrame offers a frame to all viewers (CDP Page.screencastFrame). A viewer that is still drawing gets the newest one later.
func (c *capture) onFrame(l *View, params []byte) {
	var p struct {
		Data      []byte `json:"data"`
		SessionID int64  `json:"sessionId"`
		Metadata  struct {
			OffsetTop float64 `json:"offsetTop"`
			Scale     float64 `json:"pageScaleFactor"`
			Width     float64 `json:"deviceWidth"`
			Height    float64 `json:"deviceHeight"`
			Timestamp float64 `json:"timestamp"` // seconds since 1970
		} `json:"metadata"`
	}
	if json.Unmarshal(params, &p) != nil || !c.on {
		return
	}
	c.seq++
	f := &frame{seq: c.seq, jpeg: p.Data, received: time.Now()}
	f.meta = frameMeta{Seq: c.seq, Tab: l.active, Width: p.Metadata.Width, Height: p.Metadata.Height, Scale: p.Metadata.Scale,
		OffsetTop: p.Metadata.OffsetTop, At: p.Metadata.Timestamp * 1000}
	c.last, c.unacked = f, p.SessionID
	c.pageWidth, c.pageHeight = p.Metadata.Width*c.density, p.Metadata.Height*c.density
	for _, v := range l.viewers {
		v.offer(f)
	}
	c.acknowledge(l)
}

// acknowledge acknowledges a frame to Chrome once a viewer can draw another one. The rate is Chrome's: it draws at most 60 frames a second
// without a display, and captures at most 100 (devtools_video_consumer.cc).
func (c *capture) acknowledge(l *View) {
	if c.unacked == 0 || !l.anyIdle() {
		return
	}
	l.command(l.session, "Page.screencastFrameAck", map[string]int64{"sessionId": c.unacked}, nil)
	c.unacked = 0
}

// anyIdle reports whether a viewer could draw a frame now. l.mu is held.
func (l *View) anyIdle() bool { return slices.ContainsFunc(l.viewers, (*viewer).isIdle) }

const (
	slowFrame   = 150 * time.Millisecond // transfer time above which frames become smaller
	quickFrame  = 50 * time.Millisecond  // transfer time below which frames become better
	levelPeriod = 2 * time.Second        // since the last change, before frames become better; a quarter of it, before they become smaller
)

// adapt changes the level by the best of the viewers' links. Viewers with worse links get fewer frames.
func (c *capture) adapt(l *View) {
	best, any := time.Duration(0), false
	for _, v := range l.viewers {
		if t, known := v.transferTime(); known && (!any || t < best) {
			best, any = t, true
		}
	}
	since := time.Since(c.changed)
	switch {
	case !any:
		return
	case best > slowFrame && since > c.period/4 && c.level < len(levels())-1:
		c.level++
	case best < quickFrame && since > c.period && c.level > 0:
		c.level--
	default:
		return
	}
	for _, v := range l.viewers {
		v.drawTime = 0 // frames of the new level take another time
	}
	c.restart(l)
}

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
