//go:build !windows

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"
	"github.com/coder/websocket"

	"warren/testnet"
)

// TestPageSocket: a socket of /devtools/page is the page, without a session id, and ends with it.
func TestPageSocket(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	target, _ := dial(t, url+"/").openTab("http://a.test/page")
	pageAt(t, b, "/page")
	c := dial(t, url+"/devtools/page/"+target)
	if got := c.value("", "location.host"); got != `"a.test"` {
		t.Errorf("host %s", got)
	}
	c.call("", "Page.enable", nil)
	c.send("", "Page.navigate", map[string]any{"url": "http://a.test/next"})
	if m := c.event("Page.loadEventFired"); m.SessionID != "" {
		t.Errorf("the event has a session: %+v", m)
	}
	if n := b.ClientTraffic(); n.Received < 3 || n.Sent < 3 || n.BytesReceived < 50 || n.BytesSent < 50 {
		t.Errorf("the messages that were counted: %+v", n)
	}
	c.send("", "Page.close", nil)
	testnet.AwaitClosed(t, "the socket's end", c.ended, testnet.Patience)
	if websocket.CloseStatus(c.err) != websocket.StatusNormalClosure {
		t.Errorf("ended with %v", c.err)
	}
	_, answer, err := websocket.Dial(t.Context(), url+"/devtools/page/nonsense", nil)
	if err == nil || answer.StatusCode != 404 {
		t.Errorf("an unknown page: %v", err)
	}
}

// TestChromedpRemote: chromedp's own remote allocator is a client like any other.
func TestChromedpRemote(t *testing.T) {
	b := newProfile(t).start()
	alloc, cancel := remote.NewAllocator(t.Context(), strings.Replace(serveGateway(t, b), "http", "ws", 1))
	defer cancel()
	ctx, cancelTab := chromedp.NewContext(alloc)
	defer cancelTab()
	if err := chromedp.Do(ctx, chromedp.Navigate("http://a.test/remote")); err != nil {
		t.Fatal(err)
	}
	if title, err := chromedp.Run(ctx, chromedp.Title()); err != nil || title != "/remote" {
		t.Errorf("title %q, %v", title, err)
	}
}
