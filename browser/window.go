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
	return b.setWindow(ctx, window.ID, map[string]any{"left": display.Left, "top": display.Top,
		"width": min(want.Width, display.Width), "height": min(want.Height, display.Height)})
}

// Window is a window of the browser and its bounds. Lengths are the display's, in CSS pixels. State is CDP's Browser.WindowState.
type Window struct {
	ID     int
	Bounds WindowBounds
}

// WindowBounds are those of Browser.getWindowForTarget (CDP).
type WindowBounds struct {
	Left   int    `json:"left"`
	Top    int    `json:"top"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	State  string `json:"windowState"`
}

// Chrome with windows makes none narrower than this. A profile without windows must not have one either.
const minWindowWidth, minWindowHeight = 500, 300

// ResizeWindow gives the window of a page a size with which the page's viewport is width by height CSS pixels, as a person does who drags
// the window's edge. The window stays within the screen that pages see, and the screen and its pixel ratio stay. ResizeWindow returns the
// window as it was.
func (b *Browser) ResizeWindow(ctx context.Context, p Page, width, height int) (before Window, err error) {
	var seen struct{ Width, Height, AvailWidth, AvailHeight int }
	const expression = `({Width: innerWidth, Height: innerHeight, AvailWidth: screen.availWidth, AvailHeight: screen.availHeight})`
	if err := b.mux.controller.evaluate(ctx, p, expression, &seen); err != nil {
		return before, err
	}
	var window struct {
		ID     int          `json:"windowId"`
		Bounds WindowBounds `json:"bounds"`
	}
	if err := b.mux.call(ctx, "", "Browser.getWindowForTarget", map[string]string{"targetId": p.Target}, &window); err != nil {
		return before, err
	}
	before = Window(window)
	if before.Bounds.State != "normal" {
		if err := b.setWindow(ctx, before.ID, map[string]any{"windowState": "normal"}); err != nil {
			return before, err
		}
	}
	within := func(want, least, most int) int { return min(max(want, least), max(most, least)) }
	return before, b.setWindow(ctx, before.ID, map[string]any{
		"width":  within(width+before.Bounds.Width-seen.Width, minWindowWidth, seen.AvailWidth),
		"height": within(height+before.Bounds.Height-seen.Height, minWindowHeight, seen.AvailHeight)})
}

// RestoreWindow gives a window the bounds that it had before ResizeWindow.
func (b *Browser) RestoreWindow(ctx context.Context, w Window) error {
	at := w.Bounds
	err := b.setWindow(ctx, w.ID, map[string]any{"left": at.Left, "top": at.Top, "width": at.Width, "height": at.Height})
	if err == nil && at.State != "normal" {
		err = b.setWindow(ctx, w.ID, map[string]any{"windowState": at.State})
	}
	return err
}

// setWindow changes some bounds of a window (CDP Browser.setWindowBounds).
func (b *Browser) setWindow(ctx context.Context, id int, bounds map[string]any) error {
	return b.mux.call(ctx, "", "Browser.setWindowBounds", map[string]any{"windowId": id, "bounds": bounds}, nil)
}
