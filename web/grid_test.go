package web

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Uses the grids like a person, in one Chromium: a script moves and presses, and a server answers as the API does.

// TestWorkbench shares one browser among the trials of the lists.
func TestWorkbench(t *testing.T) {
	t.Parallel()
	d := drive(t)
	t.Run("a hundred thousand rows", func(t *testing.T) { longGrid(t, d) })
	t.Run("a list that is counted no further", func(t *testing.T) { uncountedGrid(t, d) })
	t.Run("cells", func(t *testing.T) { gridCells(t, d) })
	t.Run("columns", func(t *testing.T) { gridColumns(t, d) })
	t.Run("keyboard", func(t *testing.T) { gridKeys(t, d) })
	t.Run("many at once", func(t *testing.T) { bulk(t, d) })
	t.Run("all that match", func(t *testing.T) { bulkJob(t, d) })
	t.Run("the whole trash", func(t *testing.T) { wholeTrash(t, d) })
	t.Run("the server goes", func(t *testing.T) { serverGone(t, d) })
	t.Run("no browser", func(t *testing.T) { noBrowser(t, d) })
	t.Run("damaged data", func(t *testing.T) { damagedData(t, d) })
	t.Run("a changed form", func(t *testing.T) { changedForm(t, d) })
	t.Run("pictures", func(t *testing.T) { listPictures(t, d) })
	t.Run("the log, and limits", func(t *testing.T) { logAndLimits(t, d) })
	t.Run("an installation", func(t *testing.T) { installBrowser(t, d) })
}

// bench opens a place of the page with a server that answers so.
func bench(t *testing.T, d *driven, place string, width int, answer func(method, path string) (int, any)) (*driveTab, *scriptedSite) {
	t.Helper()
	h := &scriptedSite{site: newSite(t), answer: answer, events: make(chan string, 1), done: make(chan string, 100)}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	p := d.open(t, server.URL+"/#/"+place, width, 800, 1, `sessionStorage.setItem('warren.key', 'k')`)
	t.Cleanup(p.close)
	return p, h
}

// rowsOf returns the API's answer for a list of so many profiles, by its page and limit.
func rowsOf(all int, exact bool) func(method, path string) (int, any) {
	return func(method, path string) (int, any) {
		query, ok := strings.CutPrefix(path, "/api/v1/profiles?")
		if !ok {
			return oneOfEach(method, path)
		}
		asked, _ := url.ParseQuery(query) //nolint:errcheck // the page wrote it
		page, _ := strconv.Atoi(asked.Get("page"))
		limit, _ := strconv.Atoi(asked.Get("limit"))
		data := []any{}
		for i := (page - 1) * limit; i < min(page*limit, all); i++ {
			data = append(data, shop(i))
		}
		total := all
		if !exact {
			total = min(all, 10_000)
		}
		return 200, map[string]any{"data": data, "total": total, "totalIsExact": exact, "page": page, "limit": limit,
			"hasMore": page*limit < all}
	}
}

func shop(i int) map[string]any {
	return map[string]any{"id": fmt.Sprint("p", i), "workspaceId": "default", "name": fmt.Sprint("Shop ", i), "os": "linux",
		"browserVersion": "156",
		"tags":           []string{"shop"}, "status": "stopped", "createdAt": "2026-11-01T08:00:00.000Z",
		"updatedAt": "2026-11-01T08:00:00.000Z"}
}

// longGrid: a hundred thousand profiles scroll as one list. Few rows are drawn, and few pages are read, wherever one is. A list
// that flies by shows names alone, and all cells when it rests.
func longGrid(t *testing.T, d *driven) {
	const all = 100_000
	var mu sync.Mutex
	asked := 0
	answer := rowsOf(all, true)
	p, _ := bench(t, d, "profiles", 1280, func(method, path string) (int, any) {
		mu.Lock()
		if strings.HasPrefix(path, "/api/v1/profiles?") {
			asked++
		}
		mu.Unlock()
		return answer(method, path)
	})
	p.until("document.querySelector('.row[data-id=p0]')")
	p.eval("window.grid = document.querySelector('.grid'), grid.scrollTop = grid.scrollHeight", nil)
	p.until("document.querySelector('.row[data-id=p99999]')")
	p.eval("grid.scrollTop = grid.scrollHeight / 2", nil)
	p.until("document.querySelector('.row[data-id=p50000]')")
	var state struct {
		Drawn, Count, Coming int
		Label                string
	}
	p.until("!document.querySelector('.is-coming')")
	p.eval("({ drawn: document.querySelectorAll('.row').length, count: Number(grid.getAttribute('aria-rowcount')), "+
		"label: document.querySelector('.row[data-id=p50000]').getAttribute('aria-rowindex') })", &state)
	if state.Drawn > 60 || state.Count != all+1 || state.Label != "50002" {
		t.Errorf("drawn and counted: %+v", state)
	}
	mu.Lock()
	read := asked
	mu.Unlock()
	if read > 12 {
		t.Errorf("%d pages were read for three places in the list", read)
	}
	var flew bool
	p.eval("grid.scrollTop = 0", nil)
	p.until("document.querySelector('.row[data-id=p0]')")
	p.eval("new Promise((done) => { let frames = 0; const next = () => { grid.scrollTop += 400; "+
		"if (document.querySelector('.is-brief')) done(true); else if (frames++ > 600) done(false); "+
		"else requestAnimationFrame(next); }; next(); })", &flew)
	if !flew {
		t.Error("a list that flies by draws every cell of its rows")
	}
	p.until("!document.querySelector('.is-brief, .is-coming') && document.querySelector('.grid-body .row .cell-status')")
}

// uncountedGrid: a list that was counted to 10,000 says so, and grows to its true end when one scrolls there.
func uncountedGrid(t *testing.T, d *driven) {
	p, _ := bench(t, d, "profiles?search=shop", 1280, rowsOf(10_120, false))
	p.until("document.querySelector('h1 .total')?.textContent === '10,000+'")
	p.until("[...document.querySelectorAll('[role=status]')].some((it) => it.textContent === '10,000+ profiles match')")
	p.until("(document.querySelector('.grid').scrollTop = 1e9, document.querySelector('.row[data-id=p10119]'))")
	p.until("document.querySelector('h1 .total').textContent === '10,120'")
}

// gridColumns: the order of the server is asked for at a click, and columns that were hidden and moved stay so.
func gridColumns(t *testing.T, d *driven) {
	var mu sync.Mutex
	var last string
	answer := rowsOf(3, true)
	p, _ := bench(t, d, "profiles", 1600, func(method, path string) (int, any) {
		if strings.HasPrefix(path, "/api/v1/profiles?") {
			mu.Lock()
			last = path
			mu.Unlock()
		}
		return answer(method, path)
	})
	heads := func() (names []string) {
		p.eval("[...document.querySelectorAll('[role=columnheader]')].map((it) => it.textContent.trim()).filter(Boolean)", &names)
		return names
	}
	p.until("document.querySelector('.row[data-id=p2]')")
	p.click("Name")
	p.until("document.querySelector('[aria-sort=ascending]')?.textContent.trim() === 'Name' && " +
		"location.hash.includes('sort=name&order=asc')")
	waitFor(t, "a list by name", func() bool { mu.Lock(); defer mu.Unlock(); return strings.Contains(last, "sort=name&order=asc") })
	p.click("Name")
	waitFor(t, "the other way round", func() bool { mu.Lock(); defer mu.Unlock(); return strings.Contains(last, "sort=name&order=desc") })
	before := heads()
	p.click("View: columns, order and density")
	p.until("document.querySelector('.column-list')")
	p.eval("[...document.querySelectorAll('.column-list label')].find((it) => it.textContent.trim() === "+
		"'Tags').querySelector('input').click()", nil)
	p.until("![...document.querySelectorAll('[role=columnheader]')].some((it) => it.textContent.trim() === 'Tags')")
	p.click("Move Proxy left")
	p.until("document.querySelectorAll('[role=columnheader]')[2].textContent.trim() === 'Proxy'")
	now := heads()
	p.eval("window.before = true, void setTimeout(() => location.reload())", nil)
	p.until("!window.before && document.querySelectorAll('[role=columnheader]')[2]?.textContent.trim() === 'Proxy'")
	if kept := heads(); fmt.Sprint(kept) != fmt.Sprint(now) || fmt.Sprint(kept) == fmt.Sprint(before) {
		t.Errorf("columns before %q, changed %q, after a reload %q", before, now, kept)
	}
	p.click("View: columns, order and density")
	p.click("Comfortable")
	p.until("document.querySelector('.row[data-id=p0]').offsetHeight === 52")
	p.eval("localStorage.clear()", nil)
}

// gridKeys: rows are walked, chosen and opened by keys alone, and Escape goes back to the row.
func gridKeys(t *testing.T, d *driven) {
	p, _ := bench(t, d, "profiles", 1280, rowsOf(1000, true))
	press := func(key string, code int, modifiers int) { p.key(key, "", code, modifiers, "") }
	at := func(id string) { p.until(fmt.Sprintf("document.activeElement.dataset.id === %q", id)) }
	p.until("document.querySelector('.row[data-id=p9]')")
	press("j", 74, 0)
	at("p0")
	press("ArrowDown", 40, 0)
	at("p1")
	press("x", 88, 0)
	p.until("document.querySelector('.bulk-count')?.textContent === '1 selected'")
	press("End", 35, 0)
	at("p999")
	press("Home", 36, 0)
	at("p0")
	press("PageDown", 34, 0)
	p.until("Number(document.activeElement.dataset.index) > 8")
	press("X", 88, 8) // with Shift: what is between
	p.until("document.querySelectorAll('.row.is-chosen').length > 5 && Number(document.activeElement.dataset.index) === " +
		"document.querySelectorAll('.row.is-chosen').length")
	press("Enter", 13, 0)
	p.until("document.querySelector('.drawer h2')?.textContent.startsWith('Shop')")
	p.eval("new MutationObserver((_, it) => { if (!document.querySelector('.drawer')) { it.disconnect(); "+
		"setTimeout(() => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }))); } })"+
		".observe(document.body, { childList: true, subtree: true })", nil) // a dialog that is opened at once stays
	press("Escape", 27, 0)
	p.until("!document.querySelector('.drawer') && location.hash === '#/profiles'")
	p.eval("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))", nil) // what is done after drawing is done
	p.until("document.querySelector('dialog h2')?.textContent === 'Keyboard shortcuts'")
	press("Escape", 27, 0)
	p.until("!document.querySelector('dialog')")
	press("/", 191, 0)
	p.until("document.activeElement.type === 'search'")
	p.eval("document.activeElement.blur()", nil)
	press("?", 191, 8)
	p.until("document.querySelector('dialog h2')?.textContent === 'Keyboard shortcuts'")
	press("Escape", 27, 0)
	p.until("!document.querySelector('dialog')")
	press("k", 75, 2)
	p.until("document.querySelector('.palette') && document.activeElement.getAttribute('role') === 'combobox'")
	p.do("Input.insertText", map[string]any{"text": "trash"})
	p.until("document.querySelector('.palette-line[aria-selected=true]')?.textContent === 'Trash'")
	press("Enter", 13, 0)
	p.until("document.querySelector('h1').textContent.startsWith('Trash')")
	p.wantQuiet()
}

// refuses answers a batch: the second profile is refused, as often as it is asked for.
func refuses(_, path string) (int, any) {
	if path != "/api/v1/profiles/batch" {
		return rowsOf(60, true)("GET", path)
	}
	return 200, map[string]any{"results": []any{map[string]any{"id": "p0", "status": 200}, map[string]any{"id": "p1", "status": 503,
		"error": map[string]any{"status": 503, "code": "start_queue_full", "title": "Service Unavailable",
			"detail": "Many browsers are starting. Try again soon."}}}}
}

// bulk: what was chosen is started, what failed is named with its reason, and tried again alone.
func bulk(t *testing.T, d *driven) {
	p, h := bench(t, d, "profiles", 1280, refuses)
	p.until("document.querySelector('.row[data-id=p1]')")
	for _, id := range []string{"p0", "p1"} {
		p.tick(id)
	}
	p.click("Start")
	p.until("document.querySelector('.work-words')?.textContent === '1 done'")
	p.until("!document.querySelector('.bulk')")
	p.click("Why it failed")
	p.until("document.querySelector('dialog .reason')?.textContent.includes('Too many browsers are starting') && " +
		"document.querySelector('dialog .names').textContent === 'Shop 1'")
	p.click("Try these again")
	waitFor(t, "the second request", func() bool { h.mu.Lock(); defer h.mu.Unlock(); return len(h.sent) == 2 })
	wantSent(t, h.sent, `POST /api/v1/profiles/batch {"action":"start","ids":["p0","p1"]}`,
		`POST /api/v1/profiles/batch {"action":"start","ids":["p1"]}`)
	p.wantQuiet()
}

// tick chooses a row with the mouse: what a script clicks is drawn only after the browser is done with the click. The checkbox shows it.
func (p *driveTab) tick(id string) {
	p.d.t.Helper()
	var at struct{ X, Y float64 }
	box := fmt.Sprintf("document.querySelector('[data-id=%s] [type=checkbox]')", id)
	p.eval("(({ x, y }) => ({ x: x + 5, y: y + 5 }))("+box+".getBoundingClientRect())", &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.mouse(kind, at.X, at.Y, map[string]any{"button": "left", "clickCount": 1})
	}
	p.until(box + ".checked")
}

// bulkJob: "all that match" is one job of the server, which is told what is left out. Its events show how far it is.
func bulkJob(t *testing.T, d *driven) {
	var mu sync.Mutex
	status, done := "running", 0
	answer := func(method, path string) (int, any) {
		mu.Lock()
		defer mu.Unlock()
		job := map[string]any{"id": "j1", "action": "tag", "status": status, "total": 1005, "done": done, "failed": 0, "failures": []any{}}
		switch path {
		case "/api/v1/profiles/batch":
			return 202, job
		case "/api/v1/jobs/j1":
			return 200, job
		}
		return rowsOf(1006, true)(method, path)
	}
	p, h := bench(t, d, "profiles?search=shop&tag=a&tag=b", 1280, answer)
	p.until("document.querySelector('.row[data-id=p1]')")
	p.click("Select all")
	p.until("document.querySelector('.bulk-count')?.textContent === '1,006 selected'")
	p.click("Select Shop 1")
	p.until("document.querySelector('.bulk-count').textContent === '1,005 selected'")
	p.click("Tag…")
	p.until("document.querySelector('dialog input[name=tags]')")
	p.eval(`document.querySelector('dialog input[name=tags]').focus()`, nil)
	p.do("Input.insertText", map[string]any{"text": "vip,"})
	p.until("document.querySelector('dialog .tag')?.textContent.includes('vip')")
	p.click("Apply")
	p.until("!document.querySelector('dialog[open]')") // nothing asks whether what was applied should be discarded
	p.until("document.querySelector('.work-words')?.textContent === '0 of 1,005'")
	event := func(kind string, done int) {
		h.events <- fmt.Sprintf("id: %d\nevent: %s\ndata: {\"type\":%q,\"data\":{\"id\":\"j1\",\"done\":%d,\"failed\":0}}\n\n", done+1,
			kind, kind, done)
	}
	event("job.progress", 400)
	p.until("document.querySelector('.work-words').textContent === '400 of 1,005' && document.querySelector('.work progress').value " +
		"=== 400")
	mu.Lock()
	status, done = "done", 1005
	mu.Unlock()
	event("job.ended", 1005)
	p.until("document.querySelector('.work-words').textContent === '1,005 done'")
	wantSent(t, h.sent,
		`POST /api/v1/profiles/batch {"action":"tag","tags":["vip"],"filter":{"search":"shop","tag":["a","b"],"except":["p1"]}}`)
	p.wantQuiet()
}

// wholeTrash: "all" is all that match, also those that no row has shown, but for those that were taken out.
func wholeTrash(t *testing.T, d *driven) {
	const all = 260
	list := rowsOf(all, true)
	p, h := bench(t, d, "trash", 1280, func(method, path string) (int, any) {
		if method == "DELETE" {
			return 200, map[string]any{}
		}
		return list(method, path)
	})
	p.until("document.querySelector('.row[data-id=p1]')")
	p.until(`document.querySelector('.lead').textContent.startsWith('Deleted profiles stay here for 7 days')`)
	p.click("Select all")
	p.click("Select Shop 1")
	p.until("document.querySelector('.bulk-count')?.textContent === '259 selected'")
	p.eval("document.querySelector('.bulk .danger-quiet').click()", nil)
	p.until("document.querySelector('dialog h2')?.textContent === 'Delete 259 profiles permanently?'")
	p.eval("document.querySelector('dialog .danger').click()", nil)
	p.until("document.querySelector('.work-words')?.textContent === '259 done'")
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.sent); n != all-1 || slices.Contains(h.sent, "DELETE /api/v1/profiles/p1") {
		t.Errorf("%d requests were sent: %.200q", n, h.sent)
	}
}

// serverGone: while the server does not answer, a bar says so and nothing can be started; what was typed stays. It comes back by itself.
func serverGone(t *testing.T, d *driven) {
	h := &scriptedSite{site: newSite(t), answer: rowsOf(3, true), events: make(chan string, 1), done: make(chan string, 1)}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	p := d.open(t, server.URL+"/#/profiles", 1280, 800, 1, `sessionStorage.setItem('warren.key', 'k')`)
	t.Cleanup(p.close)
	p.until("document.querySelector('.row[data-id=p1]') && document.querySelector('.connection.good')")
	p.click("New profile")
	p.until("document.querySelector('dialog input[name=name]')")
	p.eval("document.querySelector('dialog input[name=name]').focus()", nil)
	p.do("Input.insertText", map[string]any{"text": "Typed"})
	p.do("Network.enable", nil)
	p.do("Network.emulateNetworkConditions", map[string]any{"offline": true, "latency": 0, "downloadThroughput": -1,
		"uploadThroughput": -1})
	server.CloseClientConnections()
	p.until("document.querySelector('.gone p')?.textContent.includes('Warren does not answer.')")
	p.until("[...document.querySelectorAll('.grid [aria-label^=Start]')].every((it) => it.disabled)")
	p.do("Network.emulateNetworkConditions", map[string]any{"offline": false, "latency": 0, "downloadThroughput": -1,
		"uploadThroughput": -1})
	p.until("!document.querySelector('.gone p') && document.querySelector('dialog input[name=name]').value === 'Typed'")
	p.until("[...document.querySelectorAll('.grid [aria-label^=Start]')].some((it) => !it.disabled)")
}

// noBrowser: where no browser is installed, each Start of the list and of the drawer is off and says why. An event of a browser ends that.
func noBrowser(t *testing.T, d *driven) {
	var mu sync.Mutex
	there := []any{}
	list := rowsOf(3, true)
	p, h := bench(t, d, "profiles/p1", 1280, func(method, path string) (int, any) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case strings.HasPrefix(path, "/api/v1/summary"):
			counts := noCounts().(map[string]any)
			counts["browsers"] = len(there)
			return 200, counts
		case path == "/api/v1/browsers":
			return 200, map[string]any{"data": there, "total": len(there)}
		case path == "/api/v1/profiles/p1":
			return 200, versioned{`"1"`, shop(1)}
		}
		return list(method, path)
	})
	const starts = "[...document.querySelectorAll('%s button')].filter((it) => it.textContent === 'Start')"
	const off = "(%[1]s).length > 0 && (%[1]s).every((it) => it.disabled && it.title.startsWith('No browser is installed'))"
	for _, place := range []string{".grid", ".drawer-head"} {
		p.until(fmt.Sprintf(off, fmt.Sprintf(starts, place)))
	}
	for _, tab := range []string{"connect", "share"} {
		p.eval(fmt.Sprintf("location.hash = '#/profiles/p1/%s'", tab), nil)
		p.until(fmt.Sprintf(off, fmt.Sprintf(starts, ".drawer-body")))
		p.until("document.querySelector('.drawer-body .quiet-box .hint')?.textContent.startsWith('No browser is installed')")
	}
	mu.Lock()
	there = append(there, map[string]any{"path": "/usr/bin/chromium"})
	mu.Unlock()
	h.events <- "id: 1\nevent: browser.installed\ndata: {\"id\":\"1\",\"type\":\"browser.installed\"," +
		"\"data\":{\"version\":\"156\",\"status\":\"done\"," +
		"\"createdAt\":\"2026-11-27T10:00:00.000Z\",\"endedAt\":\"2026-11-27T10:00:09.000Z\"}}\n\n"
	p.until(fmt.Sprintf("(%s).every((it) => !it.disabled && !it.title)", fmt.Sprintf(starts, ".drawer")))
	p.wantQuiet()
}

// changedForm: Escape, Cancel, the X, a link and the browser's Back do not throw a changed form away without a question.
func changedForm(t *testing.T, d *driven) {
	p, _ := bench(t, d, "trash", 1280, rowsOf(3, true))
	// before its document has loaded a page replaces the entry of its history (HTML, 7.4.2.2), and Back would leave the page
	p.until("document.readyState === 'complete' && document.querySelector('h1')?.textContent.startsWith('Trash')")
	p.eval("location.hash = '#/profiles'", nil)
	p.until("document.querySelector('.row[data-id=p1]')")
	leave := map[string]func(){
		"Escape": func() { p.key("Escape", "Escape", 27, 0, "") },
		"Cancel": func() { p.click("Cancel") },
		"the X":  func() { p.click("Close") },
		"Back":   func() { p.eval("history.back()", nil) },
		"a link": func() { p.eval("location.hash = '#/proxies'", nil) },
	}
	p.click("New profile")
	p.until("document.querySelector('dialog input[name=name]')")
	p.key("Escape", "Escape", 27, 0, "") // nothing was typed: no question
	p.until("!document.querySelector('dialog')")
	p.click("New profile")
	p.until("document.querySelector('dialog input[name=name]')")
	p.eval("document.querySelector('dialog input[name=name]').focus()", nil)
	p.do("Input.insertText", map[string]any{"text": "Kept"})
	for name, way := range leave {
		way()
		p.until("[...document.querySelectorAll('dialog h2')].some((it) => it.textContent === 'Discard your changes?')")
		p.click("Keep editing")
		p.until("![...document.querySelectorAll('dialog h2')].some((it) => it.textContent === 'Discard your changes?')")
		var kept string
		if p.eval("document.querySelector('dialog input[name=name]')?.value ?? 'gone'", &kept); kept != "Kept" {
			t.Errorf("after %s the form has %q", name, kept)
		}
	}
	p.key("Escape", "Escape", 27, 0, "")
	p.click("Discard")
	p.until("!document.querySelector('dialog')")
	p.wantQuiet()
}
