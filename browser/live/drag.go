package live

import "encoding/json"

// drag is a drag and drop within the page. Chrome would pass a drag to the operating system, where no DevTools event reaches it. While a
// viewer holds a mouse button, Chrome passes it to the view instead (CDP Input.setInterceptDrags), which continues it with the mouse.
// View.mu guards it.
type drag struct {
	data  json.RawMessage // Input.DragData (CDP); nil: nothing is dragged
	enter bool            // the page has got dragEnter
}

// onDrag begins a drag (CDP Input.dragIntercepted), unless Chrome might open what the page is dragging. l.mu is held.
func (l *View) onDrag(params []byte) {
	var p struct {
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(params, &p) == nil && l.chrome.MayDrop(params) {
		l.drag = drag{data: p.Data}
	}
}

// dragMouse continues a drag, and reports whether that is all that a mouse event does. A button that goes up drops, and goes up as well.
func (v *viewer) dragMouse(session string, q *request) bool {
	l := v.live
	l.mu.Lock()
	defer l.mu.Unlock()
	intercept := func(on bool) { l.command(session, "Input.setInterceptDrags", map[string]any{"enabled": on}, nil) }
	if q.Kind == "down" {
		l.drag = drag{}
		intercept(true)
	}
	if l.drag.data == nil || q.Kind == "wheel" {
		if q.Kind == "up" {
			intercept(false)
		}
		return false
	}
	kinds := []string{"dragOver"}
	if !l.drag.enter {
		kinds = []string{"dragEnter", "dragOver"}
	}
	if q.Kind == "up" {
		kinds = append(kinds, "drop")
	}
	for _, kind := range kinds {
		params := map[string]any{"type": kind, "x": q.X, "y": q.Y, "data": l.drag.data, "modifiers": q.Modifiers}
		v.input(session, q.N, "Input.dispatchDragEvent", params, nil)
	}
	l.drag.enter = true
	if q.Kind != "up" {
		return true
	}
	l.drag = drag{}
	intercept(false)
	return false
}
