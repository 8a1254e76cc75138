package tests

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the tests of the page share: a person at a browser of their own, who looks at the page of a real server.

// person is somebody at the page, in a tab of their own browser.
type person struct {
	t    testing.TB
	c    *cdpClient
	view string
}

// opensPage opens the page at a place, such as "#/profiles", in a window of 1280 by 800 pixels.
func (s *liveServer) opensPage(t testing.TB, place string) *person {
	t.Helper()
	p := &person{t: t, c: ownBrowser(t, filepath.Join(s.dir, "own"))}
	p.view = p.c.open("about:blank")
	p.c.call(p.view, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 800, "deviceScaleFactor": 1,
		"mobile": false}, nil)
	p.c.call(p.view, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	p.c.call(p.view, "Page.navigate", map[string]any{"url": s.base + "/#key=" + liveKey}, nil)
	p.until("document.querySelector('main h1')?.textContent.startsWith('Profiles')")
	p.goes(place)
	return p
}

// is lets a part of a test go on with the same person.
func (p *person) is(t testing.TB) {
	p.t, p.c.t = t, t
}

func (p *person) goes(place string) { p.eval(fmt.Sprintf("location.hash = %q", place)) }

func (p *person) eval(expression string) string {
	p.t.Helper()
	return p.c.eval(p.view, expression)
}

func (p *person) until(expression string) {
	p.t.Helper()
	so := false
	defer func() {
		if !so {
			p.t.Logf("the page: %.1500s", p.eval("document.body.innerText"))
		}
	}()
	eventually(p.t, expression, enough, func() bool {
		result, err := p.c.try(p.view, "Runtime.evaluate", map[string]any{"returnByValue": true,
			"expression": "(() => { try { return Boolean(" + expression + "); } catch { return false; } })()"})
		so = err == nil && strings.Contains(string(result), `"value":true`) // an error: the page is about to be another one
		return so
	})
}

// reads waits until the page, or the part of it that a selector finds, has a text.
func (p *person) reads(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("[...document.querySelectorAll(%q)].some((it) => it.innerText.replace(/\\s+/g, ' ').includes(%q))", selector, text))
}

// clicks presses a control by its name, in the dialog on top if there is one.
func (p *person) clicks(name string) {
	p.t.Helper()
	find := fmt.Sprintf("[...([...document.querySelectorAll('dialog')].at(-1) || document).querySelectorAll('button, a, summary, "+
		"[role=tab], input[type=checkbox], input[type=radio]')].find((it) => !it.disabled && it.ariaDisabled !== 'true' && "+
		"it.checkVisibility() && "+
		"(it.ariaLabel || it.innerText || it.closest('label')?.innerText || '').replace(/\\s+/g, ' ').trim() === %q)", name)
	p.until(find)
	p.eval(find + ".click()")
}

// writes replaces the text of the field with a name.
func (p *person) writes(selector, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q)", selector))
	p.eval(fmt.Sprintf("document.querySelector(%q).focus(), document.activeElement.select?.()", selector))
	p.types(text)
}

// types types a text where the focus is.
func (p *person) types(text string) {
	p.t.Helper()
	p.c.call(p.view, "Input.insertText", map[string]any{"text": text}, nil)
}

// pressed are the codes of keys with a name of their own, and what they type.
var pressed = map[string]struct {
	code int
	text string
}{"Tab": {9, ""}, "Enter": {13, "\r"}, "Escape": {27, ""}, " ": {32, " "}, "End": {35, ""}, "Home": {36, ""}, "ArrowLeft": {37, ""},
	"ArrowUp": {38, ""}, "ArrowRight": {39, ""}, "ArrowDown": {40, ""}, "Delete": {46, ""}, "/": {191, "/"}}

// presses presses keys one after another, as a keyboard does: "Tab", "x", "Shift+X", "Ctrl+k".
func (p *person) presses(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		modifiers := 0
		for prefix, bit := range map[string]int{"Ctrl+": 2, "Shift+": 8} {
			if rest, ok := strings.CutPrefix(key, prefix); ok {
				key, modifiers = rest, bit
			}
		}
		known, ok := pressed[key]
		if !ok {
			known.code, known.text = int(strings.ToUpper(key)[0]), key
		}
		down := map[string]any{"type": "rawKeyDown", "key": key, "windowsVirtualKeyCode": known.code, "modifiers": modifiers}
		if known.text != "" && modifiers != 2 {
			down["type"], down["text"] = "keyDown", known.text
		}
		p.c.call(p.view, "Input.dispatchKeyEvent", down, nil)
		p.c.call(p.view, "Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": known.code,
			"modifiers": modifiers}, nil)
	}
}

// axNode is a node of Chromium's accessibility tree: what a screen reader is told.
type axNode struct {
	Ignored          bool
	Role, Name       struct{ Value any }
	BackendDOMNodeID int
	Properties       []struct {
		Name  string
		Value struct{ Value any }
	}
}

func (n axNode) role() string { return fmt.Sprint(n.Role.Value) }

func (n axNode) name() string {
	name, _ := n.Name.Value.(string)
	return strings.Join(strings.Fields(name), " ")
}

func (n axNode) focusable() bool {
	for _, p := range n.Properties {
		if p.Name == "focusable" {
			return p.Value.Value == true
		}
	}
	return false
}

// controls are the roles of what a person uses.
var controls = []string{"button", "link", "textbox", "searchbox", "checkbox", "combobox", "listbox", "option", "menu", "menuitem",
	"menuitemcheckbox", "menuitemradio", "radio", "switch", "tab", "tablist", "spinbutton", "slider", "dialog", "DisclosureTriangle",
	"treeitem", "ComboBoxSelect", "PopUpButton"}

// wantNames wants a name for each control of what is on the screen now, and for all else that can have the focus.
func (p *person) wantNames(where string) {
	p.t.Helper()
	var tree struct{ Nodes []axNode }
	p.c.call(p.view, "Accessibility.getFullAXTree", nil, &tree)
	seen := 0
	for _, n := range tree.Nodes {
		if n.Ignored || n.role() == "RootWebArea" || !n.focusable() && !slices.Contains(controls, n.role()) {
			continue
		}
		if seen++; n.name() != "" {
			continue
		}
		var node struct {
			Node struct {
				NodeName   string
				Attributes []string
			}
		}
		p.c.call(p.view, "DOM.describeNode", map[string]any{"backendNodeId": n.BackendDOMNodeID}, &node)
		if n.role() == "MenuListPopup" {
			continue // Chromium's own part of a select
		}
		p.t.Errorf("%s: a %s has no name: %s %q", where, n.role(), node.Node.NodeName, node.Node.Attributes)
	}
	if seen < 3 {
		p.t.Errorf("%s: %d controls were seen: is the test blind?", where, seen)
	}
}

// unseen says why the focused element cannot be seen, or "".
const unseen = `(() => {
	const at = document.activeElement, it = at.matches('.visually-hidden') ? at.closest('label') || at : at;
	const box = it.getBoundingClientRect();
	if (at === document.body) return 'the focus is nowhere';
	if (!it.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || box.width < 2 || box.height < 2) return 'hidden';
	const [left, right] = [Math.max(0, box.left), Math.min(innerWidth, box.right)];
	const [top, bottom] = [Math.max(0, box.top), Math.min(innerHeight, box.bottom)];
	if (left >= right || top >= bottom) return 'it is outside of the window';
	const seen = [.1, .5, .9].some((part) => {
		const hit = document.elementFromPoint(left + (right - left) * part, (top + bottom) / 2);
		return hit && (it.contains(hit) || hit.closest('label')?.contains(it));
	});
	return seen ? '' : 'something lies over it';
})()`

// focus returns what has the focus, as "role name". It must be seen, and have a role and a name.
func (p *person) focus() string {
	p.t.Helper()
	var at struct{ Result struct{ ObjectID string } }
	p.c.call(p.view, "Runtime.evaluate", map[string]any{"expression": "document.activeElement"}, &at)
	var tree struct{ Nodes []axNode }
	p.c.call(p.view, "Accessibility.getPartialAXTree", map[string]any{"objectId": at.Result.ObjectID, "fetchRelatives": false}, &tree)
	if len(tree.Nodes) == 0 {
		return ""
	}
	return tree.Nodes[0].role() + " " + tree.Nodes[0].name()
}

// at waits until the focus is on what begins so ("role name"), and is seen.
func (p *person) at(want string) {
	p.t.Helper()
	now := ""
	defer func() {
		if !strings.HasPrefix(now, want) {
			p.t.Logf("the focus is on %q: %s", now, p.eval("document.visibilityState + document.activeElement?.cloneNode().outerHTML"))
		}
	}()
	eventually(p.t, "the focus is on "+want, enough, func() bool {
		now = p.focus()
		return strings.HasPrefix(now, want)
	})
	p.wantSeen(want)
}

func (p *person) wantSeen(what string) {
	p.t.Helper()
	why := ""
	defer func() {
		if why != "" {
			p.t.Errorf("the focus is on %s: %s", what, why)
		}
	}()
	eventually(p.t, "what has the focus is seen", enough, func() bool { // a dialog may be on its way in
		why = p.eval(unseen)
		return why == ""
	})
}

// tabTo presses Tab until the focus is on what begins so. Each stop on the way is seen, and has a role and a name.
func (p *person) tabTo(want string) {
	p.t.Helper()
	var way []string
	for range 40 {
		p.presses("Tab")
		now := p.focus()
		way = append(way, now)
		role, name, _ := strings.Cut(now, " ")
		if name == "" || slices.Contains([]string{"generic", "none", ""}, role) {
			p.t.Fatalf("on the way to %s a stop has no role or no name: %q", want, way)
		}
		if p.wantSeen(now); strings.HasPrefix(now, want) {
			return
		}
	}
	p.t.Fatalf("Tab does not lead to %s, but to %q", want, way)
}
