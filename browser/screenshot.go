package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// This file takes pictures and papers of pages, over the owner's sessions: the page has no session more than before, and its scripts see nothing of it.

// ScreenshotOptions says what a screenshot is to be.
type ScreenshotOptions struct {
	Tab      string // a target's id, as /json/list has it; "" is the tab in front
	Format   string // png, jpeg or webp
	Quality  int    // of jpeg and webp, 0 to 100
	FullPage bool   // all that can be scrolled to, not only what is seen
}

// PDFOptions says what a PDF is to be. Lengths are inches; 0 is Chrome's own.
type PDFOptions struct {
	Tab           string // as Shot's
	Landscape     bool
	Background    bool // print backgrounds too
	Width, Height float64
	Scale         float64 // 0.1 to 2
}

// Screenshot takes a picture of a page (Page.captureScreenshot). It fails with a *PageError.
func (b *Browser) Screenshot(ctx context.Context, s ScreenshotOptions) ([]byte, error) {
	p, err := b.PageOf(ctx, s.Tab)
	if err != nil {
		return nil, err
	}
	params := map[string]any{"format": s.Format, "optimizeForSpeed": s.Format == "png"}
	if s.Format != "png" {
		params["quality"] = s.Quality
	}
	if s.FullPage {
		clip, err := b.fullPageClip(ctx, p)
		if err != nil {
			return nil, err
		}
		params["clip"], params["captureBeyondViewport"] = clip, true
	}
	return b.capture(ctx, p, "Page.captureScreenshot", params, retryAfter)
}

// maxPageSize is how long or wide a page may be in a picture, in CSS pixels: a texture of the GPU, and of software rendering, ends there, and what lies
// beyond would be drawn as a repetition.
const maxPageSize = 16384

// fullPageClip is the clip of all that a page can be scrolled to (Page.getLayoutMetrics).
func (b *Browser) fullPageClip(ctx context.Context, p Page) (map[string]any, error) {
	var m struct {
		Content struct {
			Width  float64 `json:"width"`
			Height float64 `json:"height"`
		} `json:"cssContentSize"`
	}
	if err := b.mux.call(ctx, p.Session, "Page.getLayoutMetrics", nil, &m); err != nil {
		return nil, pageError(ctx, err)
	}
	if m.Content.Width > maxPageSize || m.Content.Height > maxPageSize {
		return nil, &PageError{"too_large", fmt.Errorf("the page is %g x %g pixels, more than %d", m.Content.Width, m.Content.Height, maxPageSize)}
	}
	return map[string]any{"x": 0, "y": 0, "width": m.Content.Width, "height": m.Content.Height, "scale": 1}, nil
}

// PDF prints a page (Page.printToPDF). It fails with a *PageError.
func (b *Browser) PDF(ctx context.Context, s PDFOptions) ([]byte, error) {
	p, err := b.PageOf(ctx, s.Tab)
	if err != nil {
		return nil, err
	}
	params := map[string]any{"landscape": s.Landscape, "printBackground": s.Background, "preferCSSPageSize": s.Width == 0}
	for name, value := range map[string]float64{"paperWidth": s.Width, "paperHeight": s.Height, "scale": s.Scale} {
		if value != 0 {
			params[name] = value
		}
	}
	return b.capture(ctx, p, "Page.printToPDF", params, 0)
}

// retryAfter is how long a picture may take before it is asked for once more.
const retryAfter = 2 * time.Second

// capture carries out a command that answers data. Where again is not 0 it sends the command anew after that time, and after twice as long each time, and
// the first answer counts: Chrome draws a tab behind for its picture alone, and on a busy machine waits for a frame that it has drawn already. Another
// command has it draw the next one.
func (b *Browser) capture(ctx context.Context, p Page, method string, params any, again time.Duration) ([]byte, error) {
	answers := make(chan answer, 1)
	for {
		b.mux.send(p.Session, method, params, func(a answer) {
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
			return b.decodeCapture(p, method, a)
		case <-ctx.Done():
			return nil, pageError(ctx, fmt.Errorf("%s: %w", method, ctx.Err()))
		case <-late:
			again *= 2
		}
	}
}

// decodeCapture is the data of an answer, if the page may be shown.
func (b *Browser) decodeCapture(p Page, method string, a answer) ([]byte, error) {
	var r struct {
		Data []byte `json:"data"`
	}
	if err := a.err(); err != nil {
		return nil, &PageError{"refused", fmt.Errorf("%s: %w", method, err)}
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		return nil, &PageError{"refused", err}
	}
	if b.mux.isBlocked(p.Target) { // meanwhile
		return nil, &PageError{"no_tab", errNotShown}
	}
	return r.Data, nil
}
