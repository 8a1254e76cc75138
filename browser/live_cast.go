package browser

import (
	"encoding/json"
	"time"
)

// This file is the capture of the tab that is shown: one for all viewers (Page.startScreencast). Chrome makes the next frame only when the last one was
// acknowledged, and that is done when a viewer has drawn it: nothing queues up anywhere.

// frame is a picture of the tab, on its way to viewers.
type frame struct {
	seq  int64
	jpeg []byte
	meta frameMeta
	came time.Time
}

// frameMeta is what a viewer is told of a frame; docs/live.md.
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

// cast is the capture. live.mu guards it.
type cast struct {
	on      bool
	serial  int // grows with each capture, so that late answers to an old one are known
	seq     int64
	last    *frame
	unacked int64 // the frame that Chrome waits to hear of, 0 for none
	acked   time.Time
	timing  bool // a frame that came too soon is acknowledged in a moment
	width   int  // of the picture that viewers wish, in pixels
	height  int
	wishing bool    // another size is taken over in a moment
	density float64 // of the screen: pixels to one of CSS

	pageWidth, pageHeight float64 // in pixels; 0: not known

	level   int           // of levels
	period  time.Duration // levelPeriod; tests set another
	changed time.Time
}

const (
	// frameTime is the least time between two frames: 30 in a second are enough to see what one does, and cost half of what 60 do.
	frameTime = time.Second / 30

	// sizePause is how long viewers' sizes wait for others.
	sizePause = 200 * time.Millisecond

	defaultWidth, defaultHeight = 1280, 720
	maxWidth, maxHeight         = 3840, 2160
)

// level is how much of a picture goes over a link: JPEG's quality (0 to 100) and the share of the wished size.
type level struct {
	quality int
	scale   float64
}

func levels() []level { return []level{{80, 1}, {65, 1}, {50, 1}, {40, 0.75}, {30, 0.5}} }

// start begins to capture the tab that is shown.
func (c *cast) start(l *live) {
	c.on, c.unacked, c.last = true, 0, nil
	c.serial++
	if c.width == 0 {
		c.width, c.height = l.wishedSize()
	}
	at := levels()[c.level]
	width, height := float64(c.width), float64(c.height)
	if at.scale < 1 && c.pageWidth > 0 { // a page that is smaller than what viewers could see is made smaller still
		width, height = min(width, c.pageWidth), min(height, c.pageHeight)
	}
	l.ask(l.session, "Page.startScreencast", map[string]any{
		"format": "jpeg", "quality": at.quality, "everyNthFrame": 1, "maxFramesInFlight": 1, "sendLastFrame": true,
		"maxWidth": int(width * at.scale), "maxHeight": int(height * at.scale),
	}, nil)
}

func (c *cast) stop(l *live) {
	if c.on {
		l.ask(l.session, "Page.stopScreencast", nil, nil)
	}
	c.lost()
}

// lost forgets a capture that ended with its page.
func (c *cast) lost() {
	c.on, c.unacked, c.last = false, 0, nil
	c.serial++
	c.timing = false
}

// restart makes the capture one of another size or level.
func (c *cast) restart(l *live) {
	c.changed = time.Now()
	if c.on {
		last := c.last
		c.stop(l)
		c.start(l)
		c.last = last // until the first of the new ones
	}
}

// wishedSize is the largest picture that any viewer can use.
func (l *live) wishedSize() (width, height int) {
	for _, v := range l.viewers {
		width, height = max(width, v.width), max(height, v.height)
	}
	if width == 0 || height == 0 {
		return defaultWidth, defaultHeight
	}
	return width, height
}

// wishSoon is wish after sizePause, once for all sizes that come meanwhile: each new one begins the capture anew.
func (c *cast) wishSoon(l *live) {
	if c.wishing {
		return
	}
	c.wishing = true
	time.AfterFunc(sizePause, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if c.wishing = false; len(l.viewers) > 0 {
			c.wish(l)
		}
	})
}

// wish takes over what viewers wish now.
func (c *cast) wish(l *live) {
	if width, height := l.wishedSize(); width != c.width || height != c.height {
		c.width, c.height = width, height
		c.restart(l)
	}
}

// frame takes a frame from Chrome (Page.screencastFrame) to who can draw it now; who cannot gets the newest when it can.
func (c *cast) frame(l *live, params []byte) {
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
	f := &frame{seq: c.seq, jpeg: p.Data, came: time.Now()}
	f.meta = frameMeta{Seq: c.seq, Tab: l.active, Width: p.Metadata.Width, Height: p.Metadata.Height, Scale: p.Metadata.Scale,
		OffsetTop: p.Metadata.OffsetTop, At: p.Metadata.Timestamp * 1000}
	c.last, c.unacked = f, p.SessionID
	c.pageWidth, c.pageHeight = p.Metadata.Width*c.density, p.Metadata.Height*c.density
	for _, v := range l.viewers {
		v.show(f)
	}
	c.pump(l)
}

// pump acknowledges a frame to Chrome when a viewer can draw another, and no sooner than frameTime after the one before.
func (c *cast) pump(l *live) {
	if c.unacked == 0 || c.timing || !l.anyIdle() {
		return
	}
	if wait := frameTime - time.Since(c.acked); wait > 0 {
		serial := c.serial
		c.timing = true
		time.AfterFunc(wait, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if c.serial == serial {
				c.timing = false
				c.pump(l)
			}
		})
		return
	}
	c.acked = time.Now()
	l.ask(l.session, "Page.screencastFrameAck", map[string]int64{"sessionId": c.unacked}, nil)
	c.unacked = 0
}

// anyIdle reports whether a viewer could draw a frame now. l.mu is held.
func (l *live) anyIdle() bool {
	for _, v := range l.viewers {
		if v.isIdle() {
			return true
		}
	}
	return false
}

const (
	slowFrame   = 150 * time.Millisecond // what a frame may take to get over, beyond the link's own time, before smaller ones are made
	quickFrame  = 50 * time.Millisecond  // and below which better ones are
	levelPeriod = 2 * time.Second        // for how long that must have been so
)

// adapt changes the level with the best of the viewers' links: who has a worse one gets fewer frames.
func (c *cast) adapt(l *live) {
	best, any := time.Duration(0), false
	for _, v := range l.viewers {
		if t, known := v.transfer(); known && (!any || t < best) {
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
		v.forgetTransfer()
	}
	c.restart(l)
}
