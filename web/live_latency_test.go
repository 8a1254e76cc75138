package web

import (
	"fmt"
	"image/color"
	"strings"
	"testing"
)

// liveLatency: the page shows the time from an input to the picture that includes it. Late pictures do not count.
func liveLatency(t *testing.T, e *liveEnd, p *driveTab) {
	left, top, _, _ := box(p)
	press := func() int {
		e.forget()
		p.mouse("mouseWheel", left+50, top+50, map[string]any{"deltaX": 0, "deltaY": 10})
		waitFor(t, "the wheel", func() bool { return len(e.of("mouse")) > 0 })
		return int(e.of("mouse")[0]["n"].(float64))
	}
	shown := func() (text string) {
		p.eval("document.querySelector('.live-speed').textContent", &text)
		return text
	}
	n := press()
	p.eval("new Promise((go) => setTimeout(go, 1100))", nil) // the page's own clock decides what is late
	e.frame(2, n, color.White)
	waitFor(t, "the ack", func() bool { return len(e.of("ack")) > 0 })
	if strings.Contains(shown(), " ms") {
		t.Errorf("a picture that came after a second was taken for the input's: %q", shown())
	}
	// Repeats if a busy machine took more than a second from the press to the picture.
	for frame := 3; !strings.Contains(shown(), " ms"); frame += 2 {
		if frame > 60 {
			t.Fatalf("no picture was taken for its input's: %q", shown())
		}
		n = press()
		e.frame(frame, n-1, color.Black) // from before the input
		p.eval("new Promise((go) => setTimeout(go, 100))", nil)
		e.frame(frame+1, n, color.White)
		waitFor(t, "the acks", func() bool { return len(e.of("ack")) >= 2 })
		p.eval("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))", nil) // the display follows the pictures
	}
	var ms int
	if _, err := fmt.Sscanf(strings.TrimPrefix(shown(), "From input to picture: "), "%d ms", &ms); err != nil || ms < 100 || ms > 1000 {
		t.Errorf("shown: %q, want 100 ms or somewhat more (%v)", shown(), err)
	}
	e.say(`{"type":"pong","t":0}`)
	p.until("/round trip: /.test(document.querySelector('.live-speed').title)")
}
