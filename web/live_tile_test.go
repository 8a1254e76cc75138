package web

import (
	"image/color"
	"slices"
	"strings"
	"testing"
)

// liveTile: a tile watches, draws, and asks for the next picture a second later. Out of view or hidden it has no socket, and it comes
// back. Beyond that it sends nothing.
func liveTile(t *testing.T, d *driven) {
	e := newLiveEnd(t)
	p := d.open(t, e.server.URL+"/#/running", 1000, 800, 2, "sessionStorage.setItem('warren.key', 'k')")
	defer p.close()
	p.until("document.querySelector('main h1')")
	p.eval(`(async () => {
		const load = (name) => import('/modules/static/' + name);
		const [{ watchTile }, { Api }] = [await load('live/tile.js'), await load('api.js')];
		const tile = document.createElement('div');
		tile.className = 'tile';
		tile.style = 'position: fixed; top: 0; left: 0; width: 320px';
		tile.append(document.createElement('canvas'));
		document.body.append(tile);
		window.endTile = watchTile(new Api('k'), 'p1', tile.firstChild);
		window.moveTile = (top) => { tile.style.top = top; };
	})()`, nil)
	waitFor(t, "the socket", func() bool { return e.times() == 1 })
	e.mu.Lock()
	asked := slices.Clone(e.asked)
	e.mu.Unlock()
	if !slices.Contains(asked, "GET /api/v1/profiles/p1/live?tile=1 warren.live, warren.ticket.t1cket") {
		t.Errorf("asked for %q", asked)
	}
	waitFor(t, "its size", func() bool { return len(e.of("size")) == 1 })
	if m := e.of("size")[0]; m["width"] != 636.0 || m["height"] != 396.0 { // within a border
		t.Errorf("its size is %v", m)
	}
	pictures := func(red uint8, seq int) {
		t.Helper()
		e.frame(seq, 0, color.RGBA{red, 0, 0, 255})
		waitFor(t, "the ack", func() bool { list := e.of("ack"); return len(list) > 0 && list[len(list)-1]["seq"] == float64(seq) })
		var pixel []int
		p.eval("[...document.querySelector('.tile canvas').getContext('2d').getImageData(9, 9, 1, 1).data]", &pixel)
		if pixel[0] < int(red)-5 || pixel[0] > int(red)+5 {
			t.Errorf("after the frame the tile shows %v", pixel)
		}
	}
	e.say(hello, oneTab, onePage, watching)
	pictures(255, 1)
	pictures(100, 2)
	for i, away := range [][2]string{{"moveTile('2000px')", "moveTile('0')"},
		{"Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })", "delete document.hidden"}} {
		p.eval(away[0]+"; document.dispatchEvent(new Event('visibilitychange'))", nil)
		waitFor(t, "the end of the socket", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.ended == i+1 })
		p.eval(away[1]+"; document.dispatchEvent(new Event('visibilitychange'))", nil)
		waitFor(t, "the next socket", func() bool { return e.times() == i+2 })
	}
	pictures(200, 3)
	e.conn.CloseNow() //nolint:errcheck // the connection is meant to break
	waitFor(t, "another attempt", func() bool { return e.times() == 4 })
	p.eval("endTile()", nil)
	waitFor(t, "the end", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.ended == 4 })
	for _, m := range e.messages {
		if kind := m["type"].(string); !strings.Contains("size ack", kind) {
			t.Errorf("a tile sent %v", m)
		}
	}
	p.wantQuiet()
}
