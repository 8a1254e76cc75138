package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// This file takes pictures and papers of pages, over the owner's sessions: the page has no session more than before, and its scripts see nothing of it.

// Shot says what a screenshot is to be.
type Shot struct {
	Tab      string // a target's id, as /json/list has it; "" is the tab in front
	Format   string // png, jpeg or webp
	Quality  int    // of jpeg and webp, 0 to 100
	FullPage bool   // all that can be scrolled to, not only what is seen
}

// Paper says what a PDF is to be. Lengths are inches; 0 is Chrome's own.
type Paper struct {
	Tab           string // as Shot's
	Landscape     bool
	Background    bool // print backgrounds too
	Width, Height float64
	Scale         float64 // 0.1 to 2
}

// PageError is why there is no picture of a page. Kind is no_page, no_tab, not_answering, too_large or refused.
type PageError struct {
	Kind string
	Err  error
}

func (e *PageError) Error() string { return fmt.Sprintf("%s: %v", e.Kind, e.Err) }

func (e *PageError) Unwrap() error { return e.Err }

// Screenshot takes a picture of a page (Page.captureScreenshot). It fails with a *PageError.
func (b *Browser) Screenshot(ctx context.Context, s Shot) ([]byte, error) {
	p, err := b.pageOf(ctx, s.Tab)
	if err != nil {
		return nil, err
	}
	params := map[string]any{"format": s.Format, "optimizeForSpeed": s.Format == "png"}
	if s.Format != "png" {
		params["quality"] = s.Quality
	}
	if s.FullPage {
		clip, err := b.wholePage(ctx, p)
		if err != nil {
			return nil, err
		}
		params["clip"], params["captureBeyondViewport"] = clip, true
	}
	return b.data(ctx, p, "Page.captureScreenshot", params, againAfter)
}

// maxPage is how long or wide a page may be in a picture, in CSS pixels: a texture of the GPU, and of software rendering, ends there, and what lies
// beyond would be drawn as a repetition.
const maxPage = 16384

// wholePage is the clip of all that a page can be scrolled to (Page.getLayoutMetrics).
func (b *Browser) wholePage(ctx context.Context, p page) (map[string]any, error) {
	var m struct {
		Content struct {
			Width  float64 `json:"width"`
			Height float64 `json:"height"`
		} `json:"cssContentSize"`
	}
	if err := b.mux.call(ctx, p.session, "Page.getLayoutMetrics", nil, &m); err != nil {
		return nil, pageError(ctx, err)
	}
	if m.Content.Width > maxPage || m.Content.Height > maxPage {
		return nil, &PageError{"too_large", fmt.Errorf("the page is %g x %g pixels, more than %d", m.Content.Width, m.Content.Height, maxPage)}
	}
	return map[string]any{"x": 0, "y": 0, "width": m.Content.Width, "height": m.Content.Height, "scale": 1}, nil
}

// PDF prints a page (Page.printToPDF). It fails with a *PageError.
func (b *Browser) PDF(ctx context.Context, s Paper) ([]byte, error) {
	p, err := b.pageOf(ctx, s.Tab)
	if err != nil {
		return nil, err
	}
	params := map[string]any{"landscape": s.Landscape, "printBackground": s.Background, "preferCSSPageSize": s.Width == 0}
	for name, value := range map[string]float64{"paperWidth": s.Width, "paperHeight": s.Height, "scale": s.Scale} {
		if value != 0 {
			params[name] = value
		}
	}
	return b.data(ctx, p, "Page.printToPDF", params, 0)
}

// againAfter is how long a picture may take before it is asked for once more.
const againAfter = 2 * time.Second

// data carries out a command that answers data. Where again is not 0 it sends the command anew after that time, and after twice as long each time, and
// the first answer counts: Chrome draws a tab behind for its picture alone, and on a busy machine waits for a frame that it has drawn already. Another
// command has it draw the next one.
func (b *Browser) data(ctx context.Context, p page, method string, params any, again time.Duration) ([]byte, error) {
	answers := make(chan answer, 1)
	for {
		b.mux.send(p.session, method, params, func(a answer) {
			select {
			case answers <- a:
			default: // it is not the first
			}
		})
		var late <-chan time.Time
		if again > 0 {
			late = time.After(again)
		}
		select {
		case a := <-answers:
			return b.picture(p, method, a)
		case <-ctx.Done():
			return nil, pageError(ctx, fmt.Errorf("%s: %w", method, ctx.Err()))
		case <-late:
			again *= 2
		}
	}
}

// picture is the data of an answer, if the page may be shown.
func (b *Browser) picture(p page, method string, a answer) ([]byte, error) {
	var r struct {
		Data []byte `json:"data"`
	}
	if err := a.err(); err != nil {
		return nil, &PageError{"refused", fmt.Errorf("%s: %w", method, err)}
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		return nil, &PageError{"refused", err}
	}
	if b.mux.isShut(p.target) { // meanwhile
		return nil, &PageError{"no_tab", errNotShown}
	}
	return r.Data, nil
}

var errNotShown = errors.New("the tab shows a file, or a page of the browser's own: these are a person's at the browser alone")

func pageError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &PageError{"not_answering", err}
	}
	return &PageError{"refused", err}
}

// pageOf is the page of a tab, "" for the one in front.
func (b *Browser) pageOf(ctx context.Context, tab string) (page, error) {
	if _, err := b.running(); err != nil {
		return page{}, &PageError{"no_page", err}
	}
	named := tab != ""
	if !named {
		tab, _ = b.live.front()
	}
	if tab == "" {
		return page{}, &PageError{"no_page", errors.New("no page is open")}
	}
	b.mux.owner.awaitDressed(ctx, tab)
	if b.mux.isShut(tab) {
		return page{}, &PageError{"no_tab", errNotShown}
	}
	p, ok := b.mux.owner.page(tab)
	if !ok && named {
		return page{}, &PageError{"no_tab", errors.New("there is no tab of this id")}
	}
	if !ok {
		return page{}, &PageError{"no_page", errors.New("the page has gone")}
	}
	return p, nil
}

const (
	smallWidth, smallHeight = 320, 240
	smallQuality            = 60
	smallAge                = 5 * time.Second // how old a small picture may be
	smallTimeout            = 3 * time.Second // how long a page may take to be drawn
)

// small is the last small picture of the tab in front. live.mu guards it.
type small struct {
	busy    chan struct{} // closed when the one who takes a picture is done; nil: nobody does
	jpeg    []byte
	taken   time.Time
	session string      // on which a picture is being taken, "" for none
	frames  chan []byte // gets it
}

// SmallPicture is a picture of the tab in front as it looks, JPEG, at most 320 by 240 pixels unless somebody watches it anyway, and some seconds old at most.
// The page is not disturbed: its next frame is taken as viewers get it (Page.startScreencast), it is neither resized nor brought to the front. It
// fails with a *PageError.
func (b *Browser) SmallPicture(ctx context.Context) ([]byte, error) {
	l := b.live
	for {
		l.mu.Lock()
		switch {
		case l.cast.last != nil:
			defer l.mu.Unlock()
			return l.cast.last.jpeg, nil
		case l.small.jpeg != nil && time.Since(l.small.taken) < smallAge:
			defer l.mu.Unlock()
			return l.small.jpeg, nil
		case l.small.busy == nil:
			l.small.busy = make(chan struct{})
			l.mu.Unlock()
			return b.takeSmall(ctx)
		}
		busy := l.small.busy
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, pageError(ctx, ctx.Err())
		}
	}
}

// takeSmall takes the next frame of the tab in front.
func (b *Browser) takeSmall(ctx context.Context) (jpeg []byte, err error) {
	l := b.live
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil {
			l.small.jpeg, l.small.taken = jpeg, time.Now()
		}
		close(l.small.busy)
		l.small.busy = nil
	}()
	ctx, cancel := context.WithTimeout(ctx, smallTimeout)
	defer cancel()
	p, err := b.pageOf(ctx, "")
	if err != nil {
		return nil, err
	}
	frames := make(chan []byte, 1)
	l.mu.Lock()
	l.small.session, l.small.frames = p.session, frames
	shown := l.session == p.session // somebody has begun to watch it: then a frame comes by itself
	l.mu.Unlock()
	if !shown {
		b.mux.send(p.session, "Page.startScreencast", map[string]any{"format": "jpeg", "quality": smallQuality, "maxWidth": smallWidth, "maxHeight": smallHeight,
			"everyNthFrame": 1, "maxFramesInFlight": 1}, nil)
	}
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.small.session, l.small.frames = "", nil
		if l.session != p.session { // else it is the view's
			b.mux.send(p.session, "Page.stopScreencast", nil, nil)
		}
	}()
	select {
	case jpeg = <-frames:
		return jpeg, nil
	case <-b.done:
		return nil, &PageError{"no_page", errPipeEnded}
	case <-ctx.Done():
		return nil, &PageError{"not_answering", errors.New("the page was not drawn in time")}
	}
}

// smallFrame takes a frame that a small picture waits for. It says whether nobody else does. It runs on the reading goroutine.
func (l *live) smallFrame(s *session, method string, params []byte) (taken bool) {
	if method != "Page.screencastFrame" || s == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.small.session != s.id || l.small.frames == nil {
		return false
	}
	var p struct {
		Data []byte `json:"data"`
	}
	if json.Unmarshal(params, &p) == nil && len(p.Data) > 0 {
		select {
		case l.small.frames <- p.Data:
		default:
		}
	}
	return l.session != s.id
}
