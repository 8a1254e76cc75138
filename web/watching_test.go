package web

import (
	"fmt"
	"strings"
	"testing"
)

// watched answers a log with all that an entry may be, and a profile whose last run had too little memory.
func watched(method, path string) (int, any) {
	entry := func(n int, action, result, key string, detail map[string]any) any {
		return map[string]any{"id": fmt.Sprint("e", n), "seq": n, "at": "2026-11-28T20:00:00.000Z", "action": action, "result": result,
			"keyId": key, "keyName": "ci", "parentId": nil, "workspaceId": "default", "objectId": "p1",
			"remote": "2001:db8::1234:5678:9abc:def0", "requestId": "r", "detail": detail}
	}
	mib := func(n int) int { return n << 20 }
	switch {
	case strings.HasPrefix(path, "/api/v1/audit"):
		data := []any{
			entry(6, "profile.update", "ok", "k", map[string]any{"changed": []string{"name", "notes", "limits"},
				"from": map[string]any{"name": "Shop", "limits": nil},
				"to":   map[string]any{"name": "Shop of Ann", "limits": map[string]any{"pids": 9}}}),
			entry(5, "profile.start", "browser_failed", "k", map[string]any{}),
			entry(4, "profile.delete", "forbidden", "k", map[string]any{}),
			entry(3, "a.newer_one", "ok", "k", map[string]any{}),
			entry(2, "profile.delete", "ok", "server", map[string]any{"name": "Old", "permanent": true, "reason": "trash"}),
			entry(1, "profile.create", "quota_exceeded", "environment", nil)}
		return 200, map[string]any{"data": data, "total": len(data), "totalIsExact": true, "hasMore": false}
	case path == "/api/v1/profiles/p1":
		profile := shop(1)
		profile["status"] = "failed"
		profile["lastRun"] = map[string]any{"reason": "out_of_memory", "status": "failed", "endedAt": "2026-11-28T20:00:00.000Z",
			"memory": map[string]any{"peakBytes": mib(512), "limitBytes": mib(512),
				"tab": map[string]any{"origin": "https://shop.example", "heapBytes": mib(300)}}}
		return 200, profile
	}
	return oneOfEach(method, path)
}

// logAndLimits: each entry of the log says what was done or was not, also one of a newer server, and fits its row. A run that had too
// little memory says what it had and which tab had most.
func logAndLimits(t *testing.T, d *driven) {
	p, _ := bench(t, d, "profiles/p1", 1280, watched)
	p.until("document.querySelector('.drawer .notice')?.innerText.includes('It had 512 MiB of the 512 MiB that it may have. " +
		"The tab with most was https://shop.example, with 300 MiB.')")
	p.eval("location.hash = '#/settings/activity'", nil)
	for _, width := range []int{1280, 1000} {
		p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false})
		for _, words := range []string{"Key ci changed Shop 1: name Shop → Shop of Ann, notes, limits",
			"Key ci could not start Shop 1", "Failed", "The browser did not start", "Key ci was not allowed to delete Shop 1",
			"Key ci: a.newer_one",
			"Warren deleted Shop 1, as its days in the trash were over", "The server’s key could not create Shop 1",
			"A quota is used up"} {
			p.until(fmt.Sprintf("document.querySelector('.grid-body').textContent.replace(/\\s+/g, ' ').includes(%q)", words))
		}
		var wrong []string
		p.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done("+broken+"))))", &wrong)
		if len(wrong) > 0 {
			t.Errorf("at %d pixels: %q", width, wrong)
		}
	}
	p.eval("document.querySelector('[aria-label=\"Details of entry 6\"]').click()", nil)
	p.until("['Name Shop Shop of Ann', 'Notes The value is not recorded', '{\"pids\":9}'].every((words) => " +
		"document.querySelector('dialog table')?.innerText.replace(/\\s+/g, ' ').includes(words))")
	p.wantQuiet()
}
