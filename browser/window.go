package browser

import (
	"context"
	"time"
)

// fitTimeout bounds the resizing of a window at the start. A wrong size is no reason to fail.
const fitTimeout = 2 * time.Second

// fitWindow gives the browser's window the size of the declared screen, as far as it fits on the display. Pages see the size of the display
// itself.
func (b *Browser) fitWindow(ctx context.Context) {
	want, pages := b.spec.Identity.Screen, b.mux.controller.openPages()
	if want == nil || b.spec.Headless || len(pages) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fitTimeout)
	defer cancel()
	if err := b.resizeWindow(ctx, pages[0], *want); err != nil {
		b.log.Warn("the window did not get its size", "error", err)
	}
}

func (b *Browser) resizeWindow(ctx context.Context, p Page, want Screen) error {
	var display struct{ Left, Top, Width, Height int }
	const expression = `({Left: screen.availLeft, Top: screen.availTop, Width: screen.availWidth, Height: screen.availHeight})`
	if err := b.mux.controller.evaluate(ctx, p, expression, &display); err != nil {
		return err
	}
	var window struct {
		ID int `json:"windowId"`
	}
	if err := b.mux.call(ctx, "", "Browser.getWindowForTarget", map[string]string{"targetId": p.Target}, &window); err != nil {
		return err
	}
	bounds := map[string]int{"left": display.Left, "top": display.Top, "width": min(want.Width, display.Width),
		"height": min(want.Height, display.Height)}
	return b.mux.call(ctx, "", "Browser.setWindowBounds", map[string]any{"windowId": window.ID, "bounds": bounds}, nil)
}
