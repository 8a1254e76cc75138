package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/testnet"
)

// TestExtensionGoesNowhere: an extension may set another proxy than the command line's. In a namespace it reaches nothing, neither a name
// nor this machine.
func TestExtensionGoesNowhere(t *testing.T) {
	needsNamespace(t)
	p := newProfile(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"manifest.json": `{"manifest_version": 3, "name": "direct", "version": "1", "permissions": ["proxy"], "background": ` +
			`{"service_worker": "direct.js"}}`,
		"direct.js": `chrome.proxy.settings.set({value: {mode: "direct"}, scope: "regular"})`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := p.start()
	page := b.mux.controller.openPages()[0].Session
	visit := func(url string) string {
		t.Helper()
		var went struct {
			ErrorText string `json:"errorText"`
		}
		if err := b.mux.call(t.Context(), page, "Page.navigate", map[string]string{"url": url}, &went); err != nil {
			t.Fatal(err)
		}
		return went.ErrorText
	}
	if failure := visit("http://a.test/before"); failure != "" {
		t.Fatalf("through the relay: %s", failure)
	}
	p.site.Await(t, "a.test/before")
	if err := b.mux.call(t.Context(), "", "Extensions.loadUnpacked", map[string]string{"path": dir}, nil); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, "the extension has its way", func() bool { return visit("http://a.test/after") == "net::ERR_NAME_NOT_RESOLVED" })
	for _, url := range []string{
		p.site.Server.URL + "/direct", strings.Replace(p.site.Server.URL, "127.0.0.1", "localhost", 1) + "/direct",
		"http://192.0.2.77/direct", "http://203.0.113.1/direct"} {
		if failure := visit(url); failure == "" {
			t.Errorf("%s was reached", url)
		}
	}
	for {
		select {
		case hit := <-p.site.Hits:
			if strings.HasSuffix(hit, "/direct") {
				t.Errorf("the site saw %s", hit)
			}
			continue
		default:
		}
		break
	}
}
