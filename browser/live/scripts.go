package live

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"warren/browser"
)

// The scripts ask a page what no CDP event tells. They run in an isolated world, where the page's own scripts neither see nor change them
// (CDP Page.createIsolatedWorld). Frames of other origins stay closed to them: there the cursor is an arrow.
const (
	// findScript finds the element at a point, also within frames of the page's own origin, and the offset of such a frame.
	findScript = `const find = (x, y, doc = document, dx = 0, dy = 0) => {
	let at = doc.elementFromPoint(x - dx, y - dy);
	while (at?.shadowRoot?.elementFromPoint(x - dx, y - dy) && at.shadowRoot.elementFromPoint(x - dx, y - dy) !== at)
		at = at.shadowRoot.elementFromPoint(x - dx, y - dy);
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

	// cursorScript returns the shape of the mouse cursor: the page's choice, or what a browser shows where the page has none.
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

	// listScript describes the drop-down list at a point, null for none, and keeps it for chooseScript. It limits each of the page's texts,
	// and their sum, so that a list does not fill a viewer's outbox.
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
	return {x: box.left + dx, y: box.top + dy, width: box.width, height: box.height,
		selected: [...list.selectedOptions].map((o) => o.index),
		options: [...list.options].slice(0, 5000).map((o) => ({text: cut(o.label || o.text), value: cut(o.value),
			disabled: o.disabled || o.parentElement.disabled === true, group: cut(o.parentElement.label || "")}))};
})`

	// chooseScript selects an option of that list and sends the events that a person's choice causes.
	chooseScript = `((index) => {
	const list = globalThis.list;
	delete globalThis.list;
	if (!list?.isConnected || !list.options[index] || list.selectedIndex === index) return false;
	list.selectedIndex = index;
	list.dispatchEvent(new Event("input", {bubbles: true, composed: true}));
	list.dispatchEvent(new Event("change", {bubbles: true}));
	return true;
})`

	// selectionScript returns the selected text.
	selectionScript = `(() => {
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

// evaluate runs an expression on the page that is shown, for at most timeout.
func (l *View) evaluate(session string, timeout time.Duration, expression string, value any) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	l.mu.Lock()
	p := browser.Page{Target: l.active, Session: session}
	l.mu.Unlock()
	return l.chrome.Evaluate(ctx, p, expression, value)
}

// call returns the source of a call of a script.
func call(script string, arguments ...any) string {
	texts := make([]string, len(arguments))
	for i, a := range arguments {
		text, _ := json.Marshal(a) // numbers always marshal
		texts[i] = string(text)
	}
	return script + "(" + strings.Join(texts, ", ") + ")"
}
