package browser

import "encoding/json"

// This file lets viewers drag things within a page. Chrome would hand a drag to the system, where no event of DevTools reaches it: while a viewer holds a
// button down it hands it to the view instead (Input.setInterceptDrags), which goes on with it as the mouse does.

// drag is what is being dragged. live.mu guards it.
type drag struct {
	data json.RawMessage // Input.DragData; nil: nothing is
	over bool            // the page knows of it
}

// dragIntercepted is Input.dragIntercepted. l.mu is held. What a page may not be handed by clients is not dropped by viewers either: the page says itself
// what is dragged, and where nothing takes it Chrome may open it.
func (l *live) dragIntercepted(params []byte) {
	var p struct {
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(params, &p) == nil && l.b.gateway.guard().of(false).refusal("Input.dispatchDragEvent", params) == "" {
		l.drag = drag{data: p.Data}
	}
}

// dragMouse goes on with a drag where there is one, and says so. A button that goes up drops it, and goes up as well.
func (v *viewer) dragMouse(session string, w *wish) bool {
	l := v.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.Kind == "down" {
		l.drag = drag{}
		l.ask(session, "Input.setInterceptDrags", map[string]any{"enabled": true}, nil)
	}
	if l.drag.data == nil || w.Kind == "wheel" {
		if w.Kind == "up" {
			l.ask(session, "Input.setInterceptDrags", map[string]any{"enabled": false}, nil)
		}
		return false
	}
	kinds := []string{"dragOver"}
	if !l.drag.over {
		kinds = []string{"dragEnter", "dragOver"}
	}
	if w.Kind == "up" {
		kinds = append(kinds, "drop")
	}
	for _, kind := range kinds {
		v.input(session, w.N, "Input.dispatchDragEvent", map[string]any{"type": kind, "x": w.X, "y": w.Y, "data": l.drag.data, "modifiers": w.Modifiers}, nil)
	}
	l.drag.over = true
	if w.Kind != "up" {
		return true
	}
	l.drag = drag{}
	l.ask(session, "Input.setInterceptDrags", map[string]any{"enabled": false}, nil)
	return false
}
