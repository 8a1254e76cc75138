package tests

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
	"time"

	"warren/extensions"
	"warren/leaks"
	"warren/shim"
	"warren/testnet"
)

// directExtension is an extension that sends all but the test's own site past the relay. It learns the relay's address from the settings.
const directExtension = `chrome.proxy.settings.get({}, ({value}) => {
	const relay = value.rules.singleProxy
	const data = 'function FindProxyForURL(url, host) { return /warren[.]test$/.test(host) ? "SOCKS5 ' + relay.host + ":" + relay.port +
		'" : "DIRECT" }'
	chrome.proxy.settings.set({value: {mode: "pac_script", pacScript: {data, mandatory: true}}, scope: "regular"})
})`

// runDirect runs the leak test's page beside the extension. confined says what the run is told of it.
func runDirect(t *testing.T, network string, confined bool) (*leaks.Test, error) {
	t.Helper()
	browser := needBrowser(t)
	dir := filepath.Join(t.TempDir(), "extension")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	key := []byte("an extension that goes another way")
	for name, text := range map[string]string{
		"manifest.json": `{"manifest_version": 3, "name": "direct", "version": "1", "permissions": ["proxy"], "background": ` +
			`{"service_worker": "direct.js"}, "key": "` + base64.StdEncoding.EncodeToString(key) + `"}`,
		"direct.js": directExtension,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g := newTestbed(t)
	spec := g.loopbackSpec(browser)
	spec.Network, spec.ForOnce = network, true
	spec.Extensions = []shim.Extension{{ID: extensions.ID(key), Path: dir, Confined: confined}}
	if confined && network == shim.Loopback {
		_, _, err := shim.Launch(t.Context(), builtBinary, spec)
		return nil, err
	}
	canaries, err := leaks.Open(leaks.Options{Budget: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(canaries.Close)
	spec.Resolver = canaries.Resolver()
	runLeakPage(t, canaries, spec, 3*time.Minute)
	return canaries, nil
}

// TestExtensionLeaks: an extension that chooses another proxy, and goes to this machine and its network directly, gets nothing out of a
// namespace.
func TestExtensionLeaks(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	if err := shim.CheckIsolation(); err != nil {
		t.Skipf("needs a namespace: %v", err)
	}
	canaries, _ := runDirect(t, shim.Namespace, true)
	for _, c := range canaries.Channels() {
		if t.Logf("%v %-18s %s", c.Passed, c.Name, c.Seen); !c.Passed {
			t.Errorf("%s: %s", c.Name, c.Seen)
		}
	}
	if hits := canaries.CanaryHits(); len(hits) > 0 {
		t.Errorf("it came out: %+v", hits)
	}
}

// TestExtensionLeaksOnLoopback: without a namespace such an extension comes out, and the leak test shows it. So a run refuses it.
func TestExtensionLeaksOnLoopback(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	if os.Geteuid() == 0 { // who never runs without a namespace
		rerunAsOrdinary(t)
		return
	}
	if _, err := runDirect(t, shim.Loopback, true); err == nil {
		t.Error("a run without a namespace took it")
	}
	if canaries, _ := runDirect(t, shim.Loopback, false); len(canaries.CanaryHits()) == 0 {
		t.Error("without a namespace nothing came out either: this test sees nothing")
	}
}
