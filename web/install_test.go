package web

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
)

// installation is an installation as the API answers it, with other members.
func installation(status string, more map[string]any) map[string]any {
	all := map[string]any{"version": "131", "status": status, "step": "downloading", "doneBytes": 40_000_000, "totalBytes": 160_000_000,
		"browser": nil, "error": nil, "createdAt": "2026-11-27T08:00:00.000Z", "endedAt": nil}
	for name, value := range more {
		all[name] = value
	}
	return all
}

// installBrowser: an administrator installs a browser from the settings, sees how far it is, why it failed, and at its end the browser
// in the list, all from events. Other keys see the commands.
func installBrowser(t *testing.T, d *driven) {
	const ended = "2026-11-27T08:01:00.000Z"
	chrome := map[string]any{"path": "/b/chrome", "product": "Chrome", "version": "131.0.6778.204", "major": 131, "source": "installed"}
	var have, asked atomic.Int32
	var refused atomic.Bool
	answer := func(method, path string) (int, any) {
		switch {
		case path == "/api/v1/browsers/installation" && method == "GET":
			asked.Add(1)
			if refused.Load() {
				return 403, map[string]any{"status": 403, "code": "installation_not_allowed", "detail": "off"}
			}
			return 404, map[string]any{"status": 404, "code": "installation_not_found", "detail": "none"}
		case path == "/api/v1/browsers/installation":
			return 204, nil
		case path == "/api/v1/browsers" && method == "POST":
			return 202, installation("running", map[string]any{"step": "looking", "doneBytes": 0, "totalBytes": 0})
		case path == "/api/v1/browsers":
			return 200, map[string]any{"data": []any{chrome}[:have.Load()], "total": have.Load()}
		case strings.HasPrefix(path, "/api/v1/summary"):
			none := noCounts().(map[string]any)
			none["browsers"] = have.Load()
			return 200, none
		}
		return oneOfEach(method, path)
	}
	p, h := bench(t, d, "profiles", 1280, answer)
	p.until("document.querySelector('.no-browser .install-form') && document.querySelector('.connection.good')")
	p.eval("location.hash = '#/settings/browsers'", nil)
	p.until("document.querySelector('.settings .install-form input')")
	tell := func(kind string, data map[string]any) {
		t.Helper()
		text, err := json.Marshal(map[string]any{"id": kind, "type": kind, "data": data})
		if err != nil {
			t.Fatal(err)
		}
		h.events <- "id: 1\nevent: " + kind + "\ndata: " + string(text) + "\n\n"
	}
	p.eval("document.querySelector('.install-form input').focus(); document.querySelector('.install-form input').select()", nil)
	p.do("Input.insertText", map[string]any{"text": "131"})
	p.eval("document.querySelector('.install-form button').focus()", nil)
	p.key("Enter", "Enter", 13, 0, "\r")
	p.until("document.querySelector('.install-progress')?.textContent.includes('Looking')")
	p.until("document.activeElement.textContent === 'Cancel'") // the button that was pressed is gone
	tell("browser.progress", installation("running", nil))
	p.until("document.querySelector('.install-progress').textContent.includes('40 MB of 160 MB')")
	p.until("document.querySelector('.install-progress progress').position === 0.25")
	p.click("Cancel")
	tell("browser.failed", installation("failed", map[string]any{"endedAt": ended, "error": map[string]any{"status": 502,
		"code": "mirror_unreachable", "detail": "The installation failed: it broke off. Check the network."}}))
	p.until("document.querySelector('.install .problem')?.textContent.includes('it broke off')")
	p.click("Try 131 again")
	waitFor(t, "the second request", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.sent) == 3
	})
	have.Store(1)
	tell("browser.installed", installation("done", map[string]any{"createdAt": ended, "endedAt": ended, "browser": chrome}))
	p.until("document.querySelector('.install-end')?.textContent.includes('131.0.6778.204 is installed')")
	p.until("document.querySelector('.plain-table tbody th')?.textContent.includes('131.0.6778.204')")
	h.mu.Lock()
	wantSent(t, h.sent, `POST /api/v1/browsers {"version":"131"}`, "DELETE /api/v1/browsers/installation",
		`POST /api/v1/browsers {"version":"131"}`)
	h.mu.Unlock()
	if n := asked.Load(); n != 1 {
		t.Errorf("the installation was asked for %d times: events tell of it", n)
	}
	p.wantQuiet()
	refused.Store(true)
	p, _ = bench(t, d, "settings/browsers", 1280, answer)
	p.until("document.querySelector('.copy-line code')?.textContent.startsWith('warren browser install')")
	p.until("document.querySelector('.settings').textContent.includes('set to install none') && !document.querySelector('.install')")
}
