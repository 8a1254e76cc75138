package web

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// chooseSize selects an option of the live view's sizes.
func chooseSize(p *driveTab, value string) {
	p.eval(fmt.Sprintf(`(() => { const field = document.querySelector('.live-size'); field.value = %q;
		field.dispatchEvent(new Event('change', { bubbles: true })); })()`, value), nil)
}

// liveSizes: a viewer sees the page in its own size, and scrolls it. Who drives can make the browser as large as the window, which then
// follows the window, until another size is chosen. Others cannot.
func liveSizes(t *testing.T, e *liveEnd, p *driveTab) {
	fit, _, _, _ := box(p)
	chooseSize(p, "own")
	p.until("document.querySelector('canvas').getBoundingClientRect().width === 1280")
	waitFor(t, "the size of a sharp picture", func() bool {
		list := e.of("size")
		return len(list) > 0 && list[len(list)-1]["width"] == 2560.0
	})
	p.eval("document.querySelector('.stage-room').scrollTo(200, 60)", nil)
	left, top, _, _ := box(p)
	if left != fit-200 {
		t.Errorf("the picture begins at %v, want 200 before %v", left, fit)
	}
	e.forget()
	p.mouse("mouseMoved", 500, 300, nil)
	waitFor(t, "the mouse", func() bool { return len(e.of("mouse")) > 0 })
	if m := e.of("mouse")[0]; math.Abs(m["x"].(float64)-500+left) > .01 || math.Abs(m["y"].(float64)-300+top) > .01 {
		t.Errorf("the mouse is at %v, %v, want %v, %v", m["x"], m["y"], 500-left, 300-top)
	}
	var room []float64
	size := func() []float64 {
		p.eval("(({ clientWidth, clientHeight }) => [clientWidth, clientHeight])(document.querySelector('.stage-room'))", &room)
		return room
	}
	fits := func(n int) {
		t.Helper()
		waitFor(t, "the wish for a window", func() bool { return len(e.of("window")) == n })
		if m := e.of("window")[n-1]; m["do"] != "fit" || m["width"] != size()[0] || m["height"] != size()[1] {
			t.Errorf("wished for %v in a room of %v", m, size())
		}
	}
	chooseSize(p, "fit")
	p.until("!document.querySelector('.is-zoomed')")
	e.forget()
	chooseSize(p, "window")
	fits(1)
	e.say(`{"type":"window","resized":true}`)
	p.until("document.querySelector('.live-size').value === 'window'")
	fits(2) // what the server has done is checked once
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": 900, "height": 700, "deviceScaleFactor": 2, "mobile": false})
	fits(3)
	e.say(`{"type":"window","resized":true}`)
	chooseSize(p, "fit")
	waitFor(t, "the way back", func() bool { list := e.of("window"); return list[len(list)-1]["do"] == "restore" })
	if n := len(e.of("window")); n != 4 {
		t.Errorf("%d wishes for windows, want 4", n)
	}
	e.say(watching)
	p.until("document.querySelector('.live-size').innerText.trim() === 'Fit\\n100 %'")
}

// liveFingers: two fingers zoom and move the picture, and the page hears of none. What was between them stays between them.
func liveFingers(t *testing.T, e *liveEnd, p *driveTab) {
	p.do("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": true, "maxTouchPoints": 2})
	p.until("matchMedia('(pointer: coarse)').matches")
	p.eval("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))", nil)
	e.forget()
	touch := func(kind string, points ...float64) {
		list := []map[string]any{}
		for i := 0; i < len(points); i += 2 {
			list = append(list, map[string]any{"x": points[i], "y": points[i+1], "id": i})
		}
		p.do("Input.dispatchTouchEvent", map[string]any{"type": kind, "touchPoints": list})
	}
	// at returns the page's point that a point of the screen shows, in shares of the page.
	at := func(x, y float64) string {
		left, top, width, height := box(p)
		return fmt.Sprintf("%.2f %.2f", (x-left)/width, (y-top)/height)
	}
	_, _, before, _ := box(p)
	between := at(500, 400)
	touch("touchStart", 450, 400)
	touch("touchStart", 450, 400, 550, 400)
	touch("touchMove", 400, 420, 600, 420)
	p.until(fmt.Sprintf("Math.abs(document.querySelector('canvas').getBoundingClientRect().width - %v) < 2", 2*before))
	if got := at(500, 420); got != between {
		t.Errorf("between the fingers was %s, and is %s", between, got)
	}
	touch("touchMove", 350, 420, 550, 420) // both move
	waitFor(t, "the picture has moved", func() bool { return at(450, 420) == between })
	touch("touchMove", 490, 420, 510, 420) // closer than they began
	p.until(fmt.Sprintf("Math.abs(document.querySelector('canvas').getBoundingClientRect().width - %v) < 2", before))
	touch("touchEnd")
	waitFor(t, "the touch is taken back", func() bool { return len(e.of("touch")) == 2 })
	if list := e.of("touch"); list[0]["kind"] != "start" || list[1]["kind"] != "cancel" {
		t.Errorf("the page hears of %v", list)
	}
	touch("touchStart", 500, 400)
	touch("touchEnd")
	waitFor(t, "one finger is the page's", func() bool { return len(e.of("touch")) == 4 })
	// Whatever the fingers do, the picture covers its room as far as it can.
	var bad []string
	p.eval(`(async () => {
		const { pinched, placed, fitScale } = await import('/modules/static/live/zoom.js');
		const bad = [], room = { width: 390, height: 600 }, page = { width: 1280, height: 720 };
		let [scale, scroll] = [fitScale(room, page), { left: 0, top: 0 }];
		for (let i = 0; i < 300; i++) {
			const finger = (n) => ({ x: (i * n * 37) % 390, y: (i * n * 53) % 600, apart: 1 + ((i * n * 71) % 500) });
			const next = pinched({ room, page, scale, scroll, from: finger(1), to: finger(2) });
			[scale, scroll] = [next.scale ?? fitScale(room, page), next.scroll];
			const { width, height } = placed(room, page, scale);
			if (scale < fitScale(room, page) || scale > 5 || scroll.left < 0 || scroll.top < 0 || scroll.left > Math.max(0, width - 390) ||
				scroll.top > Math.max(0, height - 600)) bad.push(JSON.stringify([scale, scroll]));
		}
		return bad;
	})()`, &bad)
	if len(bad) > 0 {
		t.Errorf("out of bounds: %q", bad)
	}
}

// liveClipboard: buttons copy the page's selection to this device and paste from it. If the browser keeps its clipboard closed, a field
// takes the text.
func liveClipboard(t *testing.T, e *liveEnd, p *driveTab) {
	origin := e.server.URL
	permit := func(name, setting string) {
		p.d.call("", "Browser.setPermission", map[string]any{"origin": origin, "setting": setting,
			"permission": map[string]any{"name": name}}, nil)
	}
	permit("clipboard-read", "granted")
	permit("clipboard-write", "granted")
	p.click("More")
	p.click("Copy what is selected")
	e.wantTyped("a copy", "copy false")
	e.say(`{"type":"copied","text":""}`)
	p.until("document.body.innerText.includes('Nothing is selected in the page.')")
	p.click("More")
	p.click("Copy what is selected")
	e.wantTyped("a copy", "copy false")
	e.say(`{"type":"copied","text":"selected “text” 🙂"}`)
	p.until("document.body.innerText.includes('Copied.')")
	p.click("More")
	p.click("Paste from this device")
	e.wantTyped("a paste", `text "selected “text” 🙂"`)
	permit("clipboard-read", "denied")
	p.click("More")
	p.click("Paste from this device")
	p.until("document.querySelector('dialog[open] textarea') === document.activeElement")
	p.do("Input.insertText", map[string]any{"text": strings.Repeat("x", 20_000)})
	p.click("Paste")
	const piece = 16_384
	e.wantTyped("a long paste by hand", fmt.Sprintf("text %q", strings.Repeat("x", piece)),
		fmt.Sprintf("text %q", strings.Repeat("x", 20_000-piece)))
	p.until("!document.querySelector('dialog[open]')")
}
