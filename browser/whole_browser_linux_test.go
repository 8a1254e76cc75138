package browser

import (
	"testing"

	"warren/testnet"
)

// TestWholeBrowser: with windows a client can neither see nor record the requests of a page that a person has open. Its commands on pages'
// sessions work. No client can end the browser, which others use too.
func TestWholeBrowser(t *testing.T) {
	for _, windows := range []bool{true, false} {
		p := newProfile(t)
		s := p.spec()
		if windows {
			s.Headless = false
			s.ExtraEnv = []string{"DISPLAY=" + testnet.Display(t), "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
		}
		b := p.open(s)
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := dial(t, serveGateway(t, b)+"/")
		_, session := c.openTab("http://a.test/one")
		again := field(t, c.call("", "Target.attachToBrowserTarget", nil), "sessionId")
		for _, root := range []string{"", again} {
			for method, params := range map[string]map[string]any{
				"Fetch.enable":  {"patterns": []any{map[string]any{"urlPattern": "file:*"}}},
				"Tracing.start": {"transferMode": "ReturnAsStream"}} {
				m := c.try(root, method, params)
				if refused := m.Error != nil && m.Error.Message == notBrowserWide; refused != windows {
					t.Errorf("%s on a browser's session, windows %v: %s %v", method, windows, m.Result, m.Error)
				}
			}
			for _, method := range []string{"Browser.crash", "Browser.crashGpuProcess"} {
				if m := c.try(root, method, nil); m.Error == nil || m.Error.Message != notOffered {
					t.Errorf("%s: %s %v", method, m.Result, m.Error)
				}
			}
		}
		c.call(session, "Fetch.enable", nil)
		if windows {
			c.call(session, "Tracing.start", map[string]any{"transferMode": "ReturnAsStream"})
		}
	}
}
