//go:build !windows

package live

import (
	"fmt"
	"slices"
	"testing"
)

// TestFramesAsFastAsTheyAreDrawn: Chrome may make the next frame as soon as a viewer has drawn the last one. While none has, it may not,
// and of the frames that come all the same only the newest is kept.
func TestFramesAsFastAsTheyAreDrawn(t *testing.T) {
	l, v, c := quietView()
	c.answer("{}")
	arrive := func(n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.capture.onFrame(l, fmt.Appendf(nil, `{"data":"AAAA","sessionId":%d,"metadata":{"timestamp":%d}}`, n, n))
	}
	draw := func() (seq int64) {
		if _, message, _ := v.nextMessage(); message == nil {
			t.Fatal("there is no frame to draw")
		}
		return v.drawing
	}
	drawn := func(seq int64) {
		l.mu.Lock()
		defer l.mu.Unlock()
		v.acknowledge(seq)
	}
	l.capture.on = true
	for n := range 200 { // far more than a second has at any rate
		arrive(n + 1)
		if got := c.sent(); got != nil {
			t.Fatalf("frame %d is not drawn, and Chrome is sent %v", n, got)
		}
		drawn(draw())
		if got := c.sent(); !slices.Equal(got, []string{"Page.screencastFrameAck"}) {
			t.Fatalf("frame %d is drawn, and Chrome is sent %v", n, got)
		}
	}
	arrive(201)
	slow := draw()
	for n := range 5 {
		arrive(202 + n)
	}
	if got := c.sent(); got != nil {
		t.Errorf("the viewer is still drawing, and Chrome is sent %v", got)
	}
	drawn(slow)
	if got := c.sent(); got != nil {
		t.Errorf("a frame waits for the viewer, and Chrome is sent %v", got)
	}
	if seq := draw(); seq != 206 {
		t.Errorf("then it draws frame %d, want the newest", seq)
	}
	if v.next != nil {
		t.Error("another frame is kept")
	}
}
