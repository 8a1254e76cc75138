package web

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// broken returns the words of the table that are split over lines, and what exceeds the page's column.
const broken = `(() => {
	const out = [], main = document.querySelector('main');
	const edge = main.getBoundingClientRect().right - parseFloat(getComputedStyle(main).paddingRight) + 2;
	const walk = document.createTreeWalker(document.querySelector('table.running'), NodeFilter.SHOW_TEXT);
	for (let node = walk.nextNode(); node; node = walk.nextNode()) {
		for (const { index, 0: word } of node.data.matchAll(/[^\s:/-]+/g)) {
			const range = new Range();
			range.setStart(node, index);
			range.setEnd(node, index + word.length);
			if (new Set([...range.getClientRects()].filter((it) => it.width > 1).map((it) => Math.round(it.top))).size > 1) out.push(word);
		}
	}
	for (const it of document.querySelectorAll('table.running :is(td, a, button)'))
		if (it.getBoundingClientRect().right > edge) out.push('outside: ' + it.textContent);
	for (const it of document.querySelectorAll('table.running tbody tr')) {
		const { height } = it.getBoundingClientRect();
		if (getComputedStyle(it).display === 'table-row' && height > 210) out.push('as high as ' + height);
	}
	return out;
})()`

// runningCells: at no width does a cell of the running page break a word or exceed the page.
func runningCells(t *testing.T, d *driven) {
	run := map[string]any{"startedAt": "2026-11-22T08:00:00.000Z", "pid": 131072, "headless": true,
		"browser": map[string]any{"product": "Chromium", "version": "156.0.8078.79"},
		"effective": map[string]any{"os": "linux", "browserVersion": "156", "timezone": "America/Argentina/Buenos_Aires",
			"locale": []string{"es-AR"}},
		"isolation": map[string]any{"network": "namespace", "files": "namespace", "sandbox": true}}
	profile := func(id, name, ip string) map[string]any {
		of := map[string]any{"proxy": map[string]any{"exitIp": ip, "country": "AR"}}
		for k, v := range run {
			of[k] = v
		}
		return map[string]any{"id": id, "workspaceId": "default", "name": name, "os": "linux", "tags": []string{},
			"status": "running", "run": of}
	}
	profiles := []any{profile("p1", "Shop account, Berlin", "203.0.113.207"), profile("p2", "Shop", "2001:db8:85a3:8d3:1319:8a2e:370:7348")}
	usage := map[string]any{"cpuPercent": 100.5, "memoryBytes": 1262 << 20, "memoryKind": "pss", "processes": 112, "bytesUp": 123456789,
		"bytesDown": 987654321, "clients": 12, "viewers": 2}
	h := &scriptedSite{site: newSite(t), script: "", done: make(chan string, 100), answer: func(_, path string) (int, any) {
		switch {
		case strings.HasPrefix(path, "/api/v1/profiles?"):
			return 200, map[string]any{"data": profiles, "total": len(profiles)}
		case strings.HasPrefix(path, "/api/v1/runs"):
			return 200, map[string]any{"data": []any{map[string]any{"profileId": "p1", "usage": usage},
				map[string]any{"profileId": "p2", "usage": usage}}, "total": 2}
		}
		return 200, map[string]any{"data": []any{}, "total": 0}
	}}
	server := httptest.NewServer(h)
	defer server.Close()
	defer server.CloseClientConnections()
	p := d.open(t, server.URL+"/#/running", 1280, 800, 1, `sessionStorage.setItem('warren.key', 'k')`)
	defer p.close()
	p.until("document.querySelector('[data-id=p2] .cell-uses')?.innerText.includes('112 processes')")
	for _, width := range []int{390, 768, 1024, 1241, 1280, 1366, 1440, 1600, 1601, 1920} {
		p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false})
		var words []string
		if p.eval(broken, &words); len(words) > 0 {
			t.Errorf("at %d pixels: %q", width, words)
		}
	}
}
