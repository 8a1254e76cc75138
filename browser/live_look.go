package browser

import (
	"context"
	"encoding/json"
	"time"
)

// This file asks the page that is shown what no event of DevTools tells: the mouse's shape, lists that Chrome draws outside of the page, and what is
// selected. It asks in a world of its own, where the page's scripts neither see nor change it (Page.createIsolatedWorld). Frames of other origins
// answer for themselves only: in them the mouse keeps its arrow.

const (
	// findScript finds the element at a point, also in frames of the page's own origin, and how far off such a frame begins.
	findScript = `const find = (x, y, doc = document, dx = 0, dy = 0) => {
	let at = doc.elementFromPoint(x - dx, y - dy);
	while (at?.shadowRoot?.elementFromPoint(x - dx, y - dy) && at.shadowRoot.elementFromPoint(x - dx, y - dy) !== at) at = at.shadowRoot.elementFromPoint(x - dx, y - dy);
	if (at?.tagName === "IFRAME") {
		let within = null;
		try { within = at.contentDocument } catch {}
		if (within) {
			const box = at.getBoundingClientRect();
			return find(x, y, within, dx + box.left + at.clientLeft, dy + box.top + at.clientTop);
		}
	}
	return [at, dx, dy];
};`

	// cursorScript tells the shape of the mouse: what the page says, or where it leaves that open what a browser shows.
	cursorScript = `((x, y) => {` + findScript + `
	const [at] = find(x, y);
	if (!at) return "default";
	const view = at.ownerDocument.defaultView, says = view.getComputedStyle(at).cursor;
	const word = says.replace(/url\([^)]*\)[^,]*,\s*/g, "").trim();
	if (word !== "auto") return word.slice(0, 40);
	if (at.closest("a[href], area[href]")) return "pointer";
	if (at.closest('textarea, [contenteditable=""], [contenteditable="true"]')) return "text";
	if (at.matches("input")) return /^(text|search|url|tel|email|password|number|)$/.test(at.type) ? "text" : "default";
	if (at.closest("button, select, option, img, video, canvas, svg")) return "default";
	const range = at.ownerDocument.caretRangeFromPoint?.(x, y);
	if (range?.startContainer.nodeType === 3) {
		const letter = range.cloneRange();
		letter.selectNodeContents(range.startContainer);
		for (const box of letter.getClientRects())
			if (x >= box.left && x <= box.right && y >= box.top && y <= box.bottom) return "text";
	}
	return "default";
})`

	// listScript tells of the list at a point, null where there is none, and keeps it for pickScript. The page wrote its words, so they are cut: each, and
	// all together so that the list does not fill what may wait for a viewer.
	listScript = `((x, y) => {` + findScript + `
	const [at, dx, dy] = find(x, y);
	const list = at?.closest?.("select");
	if (!list || list.disabled || list.multiple || list.size > 1) return null;
	globalThis.list = list;
	list.focus();
	const box = list.getBoundingClientRect();
	let room = 1 << 19;
	const cut = (words) => {
		const short = String(words).slice(0, Math.min(500, room));
		room -= short.length;
		return short;
	};
	return {x: box.left + dx, y: box.top + dy, width: box.width, height: box.height, selected: [...list.selectedOptions].map((o) => o.index),
		options: [...list.options].slice(0, 5000).map((o) => ({text: cut(o.label || o.text), value: cut(o.value),
			disabled: o.disabled || o.parentElement.disabled === true, group: cut(o.parentElement.label || "")}))};
})`

	// pickScript chooses from that list as a person does: the page hears of it.
	pickScript = `((index) => {
	const list = globalThis.list;
	delete globalThis.list;
	if (!list?.isConnected || !list.options[index] || list.selectedIndex === index) return false;
	list.selectedIndex = index;
	list.dispatchEvent(new Event("input", {bubbles: true, composed: true}));
	list.dispatchEvent(new Event("change", {bubbles: true}));
	return true;
})`

	// selectedScript tells the selected text.
	selectedScript = `(() => {
	const of = (doc) => {
		const at = doc.activeElement;
		if (at?.tagName === "IFRAME") { try { if (at.contentDocument) return of(at.contentDocument) } catch {} }
		if (at && "selectionStart" in at && at.selectionStart !== null && at.type !== "password") {
			const text = at.value.slice(at.selectionStart, at.selectionEnd);
			if (text) return text;
		}
		return String(doc.getSelection() ?? "");
	};
	return of(document).slice(0, 1 << 20);
})()`
)

// evaluate runs an expression on the page that is shown.
func (l *live) evaluate(ctx context.Context, session, expression string, value any) error {
	l.mu.Lock()
	p := page{target: l.active, session: session}
	l.mu.Unlock()
	return l.b.mux.owner.evaluate(ctx, p, expression, value)
}

func called(function string, arguments ...any) string {
	text := function + "("
	for i, a := range arguments {
		b, err := json.Marshal(a)
		if err != nil {
			b = []byte("null")
		}
		if i > 0 {
			text += ", "
		}
		text += string(b)
	}
	return text + ")"
}

const (
	lookPeriod    = 80 * time.Millisecond // how often the page is asked for the mouse's shape, at most
	cursorTimeout = time.Second           // and how long it may take to say
	listTimeout   = 2 * time.Second       // how long a click waits to hear whether it opens a list: a page that is slow to tell takes the click no sooner
)

// look is the question for the mouse's shape. live.mu guards it.
type look struct {
	busy  bool
	x, y  float64
	again bool
	said  string
}

// lookUnder tells viewers the shape of the mouse at a place. One question is under way at a time.
func (l *live) lookUnder(v *viewer, session string, x, y float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.under.x, l.under.y, l.under.again = x, y, true
	if l.under.busy {
		return
	}
	l.under.busy = true
	go func() {
		for {
			l.mu.Lock()
			x, y := l.under.x, l.under.y
			if !l.under.again || l.session != session || len(l.viewers) == 0 {
				l.under.busy = false
				l.mu.Unlock()
				return
			}
			l.under.again = false
			l.mu.Unlock()
			pause := time.NewTimer(lookPeriod)
			ctx, cancel := context.WithTimeout(context.Background(), cursorTimeout)
			var shape string
			err := l.evaluate(ctx, session, called(cursorScript, x, y), &shape)
			cancel()
			if err == nil {
				l.shaped(shape)
			}
			<-pause.C
		}
	}()
}

func (l *live) shaped(shape string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if shape != l.under.said && len(shape) < 40 {
		l.under.said = shape
		l.tellAll(map[string]string{"type": "cursor", "cursor": shape})
	}
}
