package web

import (
	"fmt"
	"strings"
	"testing"
)

// broken returns what does not fit: cells that are higher than their row, and text in more lines than a cell has. It also
// finds rows of another height, cells that are not below their head, and what makes the page or the grid wider than it is.
const broken = `(() => {
	const out = [], grid = document.querySelector('.grid'), say = (what, it) => out.push(what + ': ' + it.textContent.trim().slice(0, 40));
	const cards = grid.classList.contains('is-cards');
	const heads = [...grid.querySelectorAll('.grid-head .cell')].map((it) => it.getBoundingClientRect());
	for (const row of grid.querySelectorAll('.grid-body .row')) {
		const at = row.getBoundingClientRect();
		const usual = grid.querySelector('.grid-body .row').getBoundingClientRect().height;
		if (Math.round(at.height) !== Math.round(usual)) say('another height', row);
		[...row.querySelectorAll(':scope > .cell')].forEach((cell, i) => {
			const box = cell.getBoundingClientRect();
			if (!cards && (Math.abs(box.left - heads[i].left) > 1 || Math.abs(box.width - heads[i].width) > 1)) say('not below its head',
				cell);
			if (box.top < at.top - 1 || box.bottom > at.bottom + 1 || box.right > at.right + 1) say('outside of its row', cell);
			if (cell.scrollHeight > cell.clientHeight + 1) say('higher than its cell', cell);
		});
		for (const button of row.querySelectorAll('button, a, input')) {
			const box = button.getBoundingClientRect();
			if (box.height && (box.bottom > at.bottom + 1 || box.right > at.right + 1)) say('a control outside', button);
		}
		for (const it of row.querySelectorAll('.two-lines > *, .one-line, .title, .tag bdi, .status')) {
			const lines = new Set([...it.getClientRects()].filter((r) => r.width > 1).map((r) => Math.round(r.top)));
			if (lines.size > 1 || it.getBoundingClientRect().height > 30) say('in several lines', it);
		}
	}
	// What is no text of its own cell gets no ellipsis from it: a name, a tag, a number beside a place.
	for (const it of document.querySelectorAll('.row :is(.title, .tag, .sub, .status, .number), .side :is(.badge, .view > a)')) {
		const box = it.getBoundingClientRect(), frame = it.closest('.cell, .side'), edge = frame.getBoundingClientRect();
		if (box.width > 1 && (box.right > edge.right + 1 || box.left < edge.left - 1)) say('cut off', it);
	}
	for (const it of document.querySelectorAll('.row .is-number .one-line, .row .status, .row time')) {
		if (it.scrollWidth > it.clientWidth + 1 && it.clientWidth) say('a figure without its end', it);
	}
	if (grid.scrollWidth > grid.clientWidth + 1) out.push('the grid is ' + grid.scrollWidth + ' wide in ' + grid.clientWidth);
	const page = document.documentElement;
	if (page.scrollWidth > page.clientWidth + 1) out.push('the page is ' + page.scrollWidth + ' wide in ' + page.clientWidth);
	for (const it of document.querySelectorAll('.page-head, .tools, .filters, .places, .side')) {
		const box = it.getBoundingClientRect();
		if (box.right > page.clientWidth + 1) out.push('outside of the page: ' + it.className);
	}
	for (const it of document.querySelectorAll('.button, .badge, .total, h1')) {
		if (it.getClientRects().length > 1 || it.getBoundingClientRect().height > 60) say('a label in several lines', it);
	}
	return out;
})()`

const longName = "Ein sehr langer Name mit vielen Wörtern, der in keine Spalte passt, und-ohne-ein-Leerzeichen-dazwischen-geht-es-auch"

// ownView is a saved view whose name is longer than the sidebar is wide.
const ownView = `JSON.stringify([{ label: '` + longName + `', params: { search: 'a' } }])`

// wideRows answers with objects whose every text is as long as it gets.
func wideRows(method, path string) (int, any) {
	run := map[string]any{"runId": "r", "startedAt": "2026-11-22T08:00:00.000Z", "pid": 131072, "headless": true,
		"browser": map[string]any{"product": "Chromium", "version": "156.0.8078.79"},
		"proxy":   map[string]any{"exitIp": "2001:db8:85a3:8d3:1319:8a2e:370:7348", "country": "AR", "latencyMs": 12345},
		"effective": map[string]any{"os": "linux", "browserVersion": "156", "timezone": "America/Argentina/Buenos_Aires",
			"locale": []string{"es-AR"}},
		"isolation": map[string]any{"network": "namespace", "files": "namespace", "sandbox": true}}
	usage := map[string]any{"cpuPercent": 100.5, "memoryBytes": 1262 << 20, "memoryKind": "pss", "processes": 112, "bytesUp": 123456789,
		"bytesDown": 987654321, "clients": 12, "viewers": 2}
	tags := []string{longName, "shop", "vip", "eu"}
	profile := func(i int, status string) map[string]any {
		p := shop(i)
		p["name"], p["tags"], p["status"], p["proxyId"], p["trashedAt"] = longName, tags, status, "x0", "2026-11-22T08:00:00.000Z"
		p["lastRun"] = map[string]any{"reason": "crashed", "endedAt": "2026-11-22T08:00:00.000Z", "startedAt": "2026-11-21T08:00:00.000Z",
			"signal": "segmentation fault"}
		if status == "running" {
			p["run"] = run
		}
		return p
	}
	check := func(ok bool) map[string]any {
		return map[string]any{"ok": ok, "exitIp": "2001:db8:85a3:8d3:1319:8a2e:370:7348", "country": "AR", "countryName": "Argentina",
			"latencyMs": 12345,
			"timezone":  "America/Argentina/Buenos_Aires", "checkedAt": "2026-11-22T08:00:00.000Z",
			"error": map[string]any{"code": "auth_unsupported", "stage": "auth", "message": longName}}
	}
	proxy := func(i int, status string) map[string]any {
		return map[string]any{"id": fmt.Sprint("x", i), "workspaceId": "default", "name": longName, "type": "socks5",
			"host": strings.Repeat("long.", 20) + "example",
			"port": 65535, "username": longName, "tags": tags, "status": status, "profileCount": 123456, "uptime": 1,
			"lastCheck": check(status == "alive")}
	}
	list := func(data ...any) any { return map[string]any{"data": data, "total": len(data), "hasMore": false} }
	switch {
	case strings.HasPrefix(path, "/api/v1/profiles?"):
		return 200, list(profile(0, "running"), profile(1, "failed"), profile(2, "stopped"), profile(3, "starting"))
	case strings.HasPrefix(path, "/api/v1/proxies?"):
		return 200, list(proxy(0, "alive"), proxy(1, "dead"), proxy(2, "unknown"))
	case strings.HasPrefix(path, "/api/v1/runs"):
		return 200, list(map[string]any{"profileId": "p0", "usage": usage})
	}
	return oneOfEach(method, path)
}

// gridCells: at no width, in no density and with no name does a cell, a control or the page exceed its place. 640 and 960
// pixels are also what 1280 and 1920 have at a zoom of 200 %.
func gridCells(t *testing.T, d *driven) {
	for _, place := range []string{"profiles", "proxies", "running", "trash", "profiles?search=a&tag=" + longName +
		"&status=running&os=win"} {
		p, _ := bench(t, d, place, 1280, wideRows)
		p.eval("localStorage.setItem('warren.views', "+ownView+"), location.reload()", nil)
		p.until("document.querySelector('.grid-body .row:not(.is-coming, .is-brief)')")
		for _, width := range []int{390, 640, 768, 960, 1024, 1241, 1280, 1366, 1440, 1600, 1920, 2560} {
			p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1,
				"mobile": false})
			for _, density := range []string{"", "document.querySelectorAll('.grid-body .row').forEach((it) => it.focus())"} {
				if density != "" {
					p.eval(density, nil) // the focused row shows all its controls
				}
				var words []string
				p.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done("+broken+"))))", &words)
				if len(words) > 0 {
					t.Errorf("%s at %d pixels: %q", place, width, words)
				}
			}
		}
	}
}
