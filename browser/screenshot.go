package browser

import (
	"context"
	"fmt"
	"time"
)

// ScreenshotOptions describes a screenshot.
type ScreenshotOptions struct {
	Tab      string // target id as in /json/list; "" is the tab in front
	Format   string // png, jpeg or webp
	Quality  int    // of jpeg and webp, 0 to 100
	FullPage bool   // the whole scrollable page, not only the visible part
}

// PDFOptions describes a PDF. Lengths are in inches; 0 is Chrome's default.
type PDFOptions struct {
	Tab           string // target id as in /json/list; "" is the tab in front
	Landscape     bool
	Background    bool // prints backgrounds too
	Width, Height float64
	Scale         float64 // 0.1 to 2
}

// Screenshot returns a picture of a page (CDP Page.captureScreenshot). It uses the controller's session, so that the page's scripts do not
// notice. It fails with a *PageError.
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

// maxPageSize is the largest width and height of a picture, in CSS pixels. It is the limit of a GPU texture and of software rendering; the
// part beyond it would repeat.
const maxPageSize = 16384

// fullPageClip returns the area of the whole scrollable page (CDP Page.getLayoutMetrics).
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
		return nil, &PageError{
			"too_large", fmt.Errorf("the page is %g x %g pixels, more than %d", m.Content.Width, m.Content.Height, maxPageSize)}
	}
	return map[string]any{"x": 0, "y": 0, "width": m.Content.Width, "height": m.Content.Height, "scale": 1}, nil
}

// PDF prints a page (CDP Page.printToPDF). It fails with a *PageError.
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

// retryAfter is how long a picture may take before it is requested again.
const retryAfter = 2 * time.Second

// capture runs a command whose result has data. After again, and then after twice as long each time, it sends the command once more, and
// takes the first answer; 0: never. For a background tab Chrome draws a frame on request, and on a busy machine it may miss that frame and
// wait for the next one. Another command draws the next frame.
func (b *Browser) capture(ctx context.Context, p Page, method string, params any, again time.Duration) ([]byte, error) {
	answers := make(chan answer, 1)
	for {
		b.mux.send(p.Session, method, params, func(a answer) {
			select {
			case answers <- a:
			default: // a later answer
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

// decodeCapture returns the data of an answer, if the page may be shown.
func (b *Browser) decodeCapture(p Page, method string, a answer) ([]byte, error) {
	var r struct {
		Data []byte `json:"data"`
	}
	if err := a.decode(&r); err != nil {
		return nil, &PageError{"refused", fmt.Errorf("%s: %w", method, err)}
	}
	if b.mux.isBlocked(p.Target) { // it has become blocked meanwhile
		return nil, &PageError{"no_tab", errNotShown}
	}
	return r.Data, nil
}
