package web

import (
	"strings"
	"sync"
	"testing"
)

// Tests what the page shows when a read fails, and when another person has changed an object.

// TestWhatCouldNotBeReadIsReadAgain: a list and an object whose read failed temporarily appear without a further
// event.
func TestWhatCouldNotBeReadIsReadAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	answer := func(method, path string) (int, any) {
		mu.Lock()
		asked[path]++
		n := asked[path]
		mu.Unlock()
		busy := map[string]any{"status": 503, "code": "database_busy", "title": "Service Unavailable", "detail": "The database is busy."}
		status, body := oneOfEach(method, path)
		switch {
		case strings.HasPrefix(path, "/api/v1/proxies?") && n == 1:
			return 503, busy
		case path == "/api/v1/proxies/x1" && n <= 2:
			return 503, busy
		case path == "/api/v1/proxies/x1":
			body.(map[string]any)["name"] = "Hamburg"
		}
		return status, body
	}
	_, _ = use(t, "proxies", `await there('.row[data-id=x1]');
		await fetch('/say', { method: 'POST', body: 'id: 7\nevent: proxy.updated\n' +
			'data: {"id":"7","type":"proxy.updated","at":"2026-01-01T00:00:00.000Z","workspaceId":"default",' +
			'"data":{"id":"x1","changed":["name"]}}\n\n' });
		await until(() => document.querySelector('.row[data-id=x1] .title').textContent === 'Hamburg');`, answer)
	mu.Lock()
	defer mu.Unlock()
	lists := 0
	for path, n := range asked {
		if strings.HasPrefix(path, "/api/v1/proxies?") {
			lists += n
		}
	}
	if asked["/api/v1/proxies/x1"] != 3 || lists != 2 {
		t.Errorf("the page asked %v", asked)
	}
}

// TestCheckedWhileItIsRead: what a check found about a proxy stays, though an answer that was begun before the check comes later. Another
// proxy of the same answer is not read again.
func TestCheckedWhileItIsRead(t *testing.T) {
	t.Parallel()
	_, _ = use(t, "proxies", `
		const { ProxyCache } = await import('/modules/static/proxycache.js');
		const asked = [], waiting = [], checked = { id: 'a', ok: true, status: 'alive' };
		const get = (path, { id }) => { asked.push(id.join()); return new Promise((come) => waiting.push(come)); };
		const cache = new ProxyCache({ get });
		const comes = async (n) => { while (waiting.length < n) await drawn(); return waiting[n - 1]; };
		cache.watch('a', () => {});
		cache.watch('b', () => {});
		const old = await comes(1);
		cache.checked([checked]);
		old({ data: [{ id: 'a', lastCheck: null }, { id: 'b', lastCheck: null }] });
		(await comes(2))({ data: [{ id: 'a', lastCheck: checked }] });
		while (cache.get('a').lastCheck !== checked) await drawn();
		if (asked.join(' ') !== 'a,b a') throw new Error('the cache asked for ' + asked.join(' '));`, oneOfEach)
}

// TestTwoPeopleChangeAProxy: the form starts from the current values, and does not overwrite another person's
// changes.
func TestTwoPeopleChangeAProxy(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	changed := false
	answer := func(method, path string) (int, any) {
		mu.Lock()
		defer mu.Unlock()
		status, body := oneOfEach(method, path)
		if path != "/api/v1/proxies/x1" {
			return status, body
		}
		if method == "PUT" && !changed {
			changed = true
			return 412, map[string]any{"status": 412, "code": "etag_mismatch", "title": "Precondition Failed",
				"detail": "The object has changed since it was read. Read it again, and send its new ETag."}
		}
		_, body = oneOfEach("GET", path)
		tag := `"1"`
		if changed {
			tag, body.(map[string]any)["host"] = `"2"`, "theirs.example"
		}
		return 200, versioned{tag, body}
	}
	dom, sent := use(t, "proxies", `await press('x1', 'e');
		set(await there('dialog input[name=name]'), 'Mine'); await drawn(); (await named('Save')).click();
		await until(() => document.querySelector('dialog')?.textContent.includes('theirs.example'));
		(await until(() => [...document.querySelectorAll('dialog .conflict button')].at(-1))).click(); await drawn();
		(await named('Save')).click(); await until(() => !document.querySelector('dialog'));`, answer)
	wantSent(t, sent, `PUT /api/v1/proxies/x1 {"name":"Mine"} if "1"`, `PUT /api/v1/proxies/x1 {"name":"Mine"} if "2"`,
		"POST /api/v1/proxies/x1/check")
	if strings.Contains(dom, "Someone else changed this meanwhile") {
		t.Error("the conflict still stands there")
	}
}
