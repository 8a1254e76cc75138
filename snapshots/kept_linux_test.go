package snapshots

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"warren/packs"
	"warren/testnet"
)

// fillPage makes a site store what it can. What it stores is on the disk some seconds later, or when the browser closes.
const fillPage = `(async () => {
	document.cookie = "kept=1; max-age=86400"; document.cookie = "session=1"
	localStorage.kept = "of localStorage"; sessionStorage.kept = "of the tab"
	const opening = indexedDB.open("kept", 1)
	opening.onupgradeneeded = () => { const db = opening.result
		db.createObjectStore("all"); db.createObjectStore("loop", {autoIncrement: true}) }
	const db = window.db = await new Promise((ok, no) => { opening.onsuccess = () => ok(opening.result); opening.onerror = no })
	const change = db.transaction("all", "readwrite", {durability: "strict"})
	change.objectStore("all").put("of IndexedDB", "text"); change.objectStore("all").put(new Blob(["of a blob"]), "blob")
	await new Promise((ok) => change.oncomplete = ok)
	await (await caches.open("kept")).addAll(["/one", "/two"])
	await navigator.serviceWorker.register("/worker.js"); await navigator.serviceWorker.ready
	const file = await (await navigator.storage.getDirectory()).getFileHandle("kept", {create: true}), w = await file.createWritable()
	await w.write("of a file"); await w.close()
	return "filled" })()`

// readPage reads it back.
const readPage = `(async () => {
	const opening = indexedDB.open("kept", 1)
	const db = await new Promise((ok, no) => { opening.onsuccess = () => ok(opening.result); opening.onerror = no })
	const read = (what) => new Promise((ok) => { const r = db.transaction(what[0]).objectStore(what[0])[what[1]](what[2])
		r.onsuccess = () => ok(r.result); r.onerror = () => ok(r.error.name) })
	const opened = async () => (await (await (await navigator.storage.getDirectory()).getFileHandle("kept")).getFile()).text()
	return [localStorage.kept, await read(["all", "get", "text"]), await (await read(["all", "get", "blob"])).text(), await opened(),
		Notification.permission].join() })()`

const filled = "of localStorage,of IndexedDB,of a blob,of a file,granted"

// clone makes a folder of what a snapshot of another one keeps.
func clone(t *testing.T, from, into string) {
	t.Helper()
	v, err := packs.NewVault(packs.Folder(t.TempDir()), make([]byte, packs.SecretSize))
	must(t, err)
	saved, err := v.Save(t.Context(), from, packs.SaveOptions{Subject: packs.Subject{ID: "t1", Owner: "w|p"}, Filter: leftOut{}})
	must(t, err)
	must(t, v.Load(t.Context(), saved.Tree, into, packs.LoadOptions{}))
	t.Logf("%d files of %.1f MiB are kept", len(saved.Tree.Files), float64(saved.Tree.Bytes())/(1<<20))
}

// TestNothingIsLost: a browser that starts with what snapshots keep of a profile has everything, whether the profile was stopped or
// its browser ran and wrote.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	p := newProfiles(t)
	p.seed("first")
	r := p.start("first")
	r.open("/one", "/two")
	r.tab("/two")
	page := r.tab("/one")
	if got := r.eval(page, fillPage); got != "filled" {
		t.Fatal(got)
	}
	if got := r.eval(page, readPage); got != filled {
		t.Fatalf("the page reads %s", got)
	}
	t.Run("while it writes", func(t *testing.T) { copyWhileItWrites(t, r, page) })
	r.stop()
	t.Run("broken", func(t *testing.T) { breakEach(t, p.folder("first")) })
	p.savePassword("first", "alice", "hunter2")
	clone(t, p.folder("first"), p.folder("second"))
	p.down.Store(true)
	r = p.start("second")
	one := r.tab("/one")
	if urls, _ := r.tabs(); !slices.Equal(urls, []string{origin + "/one", origin + "/two"}) {
		t.Errorf("the tabs are %v", urls)
	}
	if got := r.eval(one, readPage); got != filled {
		t.Errorf("the page reads %s", got)
	}
	if got := r.eval(one, `document.cookie`); !strings.Contains(got, "kept=1") || !strings.Contains(got, "session=1") {
		t.Errorf("the cookies are %q", got)
	}
	if got := r.eval(one, `sessionStorage.kept`); got != "of the tab" {
		t.Errorf("the tab's own storage has %s", got)
	}
	if got := r.eval(one, `document.title`); got != "site" {
		t.Errorf("while the site is down its worker answered %q", got)
	}
	testnet.Eventually(t, "the extension knows this page, and those of before", func() bool {
		return r.eval(one, `(({seen, history}) => seen > 1 && history == "/one,/two")(document.documentElement.dataset)`) == "true"
	})
	testnet.Eventually(t, "the password is filled in", func() bool {
		return r.eval(one, `document.querySelector("#pass").matches(":autofill")`) == "true"
	})
	r.stop()
}

// writeLoop makes a page write all the time.
const writeLoop = `(() => { let i = 0; window.loop = setInterval(() => { i++
	document.cookie = "loop" + i % 100 + "=" + i + "; max-age=86400"
	localStorage.loop = i; localStorage["part" + i % 50] = "x".repeat(500) + i
	db.transaction("loop", "readwrite").objectStore("loop").add("y".repeat(2000) + i) }, 2) })()`

// copyWhileItWrites copies the folder of a running profile some times. Each copy has what was on the disk before it began, and a
// browser starts with the last one.
func copyWhileItWrites(t *testing.T, r *browserRun, page string) {
	chrome := filepath.Join(r.p.folder("first"), "chrome", "Default")
	r.eval(page, writeLoop)
	for file, text := range map[string]string{"Cookies": "session", "Local Storage/leveldb/*.log": "of localStorage"} {
		testnet.Eventually(t, file+" has it", func() bool { return diskHas(t, filepath.Join(chrome, file), text) })
	}
	records := `new Promise((ok) => { const r = db.transaction("loop").objectStore("loop").count(); r.onsuccess = () => ok(r.result) })`
	before := ""
	for round := range 3 {
		before = r.eval(page, records)
		into := r.p.folder(fmt.Sprint("live", round))
		torn, err := copyLive(t.Context(), r.p.folder("first"), into)
		must(t, err)
		if len(torn) > 0 {
			t.Errorf("round %d: torn are %q", round, torn)
		}
		if n := settleAll(t, into); n < 10 {
			t.Errorf("round %d: there are %d databases", round, n)
		}
	}
	r.eval(page, `clearInterval(window.loop)`)
	copied := r.p.start("live2")
	one := copied.open("/one")
	if got := copied.eval(one, readPage); got != filled {
		t.Errorf("the page reads %s", got)
	}
	if got := copied.eval(one, `document.cookie`); !strings.Contains(got, "kept=1") {
		t.Errorf("the cookies are %q", got)
	}
	got := copied.eval(one, `new Promise((ok) => { indexedDB.open("kept", 1).onsuccess = (e) => {
		const r = e.target.result.transaction("loop").objectStore("loop").getAll()
		r.onsuccess = () => ok(r.result.length >= `+before+` && r.result.every((v, i) => v == "y".repeat(2000) + (i + 1))) } })`)
	if got != "true" {
		t.Errorf("all %s records of before are there, without a hole: %s", before, got)
	}
	copied.stop()
}

// diskHas reports whether one of the files of a pattern has a text.
func diskHas(t *testing.T, pattern, text string) bool {
	t.Helper()
	files, err := filepath.Glob(pattern)
	must(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		has, err := os.ReadFile(file)
		return err == nil && bytes.Contains(has, []byte(text))
	})
}
