package browser

import (
	"testing"

	"warren/testnet"
)

// TestNoIncognitoWindow: nothing opens the profile's own incognito window in a browser without windows, since its downloads ignore
// DevTools. Clients' contexts are not affected.
func TestNoIncognitoWindow(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	c := dial(t, serveGateway(t, b)+"/")
	_, session := c.openTab("http://a.test/one")
	c.becomes(session, "location.href", `"http://a.test/one"`)
	for _, kind := range []string{"rawKeyDown", "keyUp"} { // Ctrl+Shift+N
		c.call(session, "Input.dispatchKeyEvent",
			map[string]any{"type": kind, "modifiers": 10, "key": "N", "code": "KeyN", "windowsVirtualKeyCode": 78,
				"nativeVirtualKeyCode": 57})
	}
	run := withExtension(t, b)
	run(`const w = await chrome.windows.create({incognito: true, url: 'http://a.test/incognito'}); await chrome.tabs.create({url: ` +
		`'http://a.test/said-' + (w ? 'opened' : 'null')})`)
	run(`await chrome.tabs.create({url: 'http://a.test/asked'})`)
	testnet.Eventually(t, "the extension was asked", func() bool {
		for _, at := range urls(t, b) {
			if at == "http://a.test/asked" {
				return true
			}
		}
		return false
	})
	for _, at := range urls(t, b) {
		if at == "http://a.test/incognito" || at == "http://a.test/said-opened" {
			t.Errorf("an incognito window is there: %s", at)
		}
	}
	targets, err := b.mux.targets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range targets {
		if info.Type == "page" && info.Context != b.mux.downloads.ownContext {
			t.Errorf("a page of another context: %s", info.URL)
		}
	}
	context := field(t, c.call("", "Target.createBrowserContext", nil), "browserContextId")
	c.call("", "Target.createTarget", map[string]any{"url": "http://a.test/context", "browserContextId": context})
}
