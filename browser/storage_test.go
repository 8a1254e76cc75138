package browser

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"warren/state"
	"warren/testnet"
)

// everything is an expression that fills a database with all that IndexedDB takes.
const everything = `new Promise((resolve, reject) => {
  const r = indexedDB.open('all', 3)
  r.onerror = () => reject(r.error)
  r.onupgradeneeded = () => {
    const db = r.result
    const inline = db.createObjectStore('inline', {keyPath: ['a', 'b.c']})
    inline.createIndex('by', ['x', 'y'])
    inline.createIndex('tags', 'tags', {multiEntry: true, unique: true})
    inline.put({a: 1, b: {c: 'x'}, tags: ['t1', 't2'], __proto__: null})
    db.createObjectStore('counted', {autoIncrement: true}).put('first')
    db.createObjectStore('empty', {keyPath: ''})
    const s = db.createObjectStore('values')
    const shared = {s: 1}, round = {}
    round.itself = round
    const own = JSON.parse('{"__proto__": 1, "toJSON": 2}')
    const values = [undefined, null, NaN, -0, 1e400, -1e400, 12345678901234567890n, 'a\u0000b\ud800', new Date(5), new Date(NaN), /a\/b/giu,
      new TypeError('no'), new Uint8Array([1, 2, 255]), new Float64Array([1.5, NaN]), new BigInt64Array([-1n]), new ArrayBuffer(3),
      new DataView(new ArrayBuffer(2)), new Map([[{}, new Set([1, 'x'])]]), [shared, shared], round, own, {plain: [1, {deep: true}]},
      new Blob(['blob'], {type: 'text/plain'}), new File(['file'], 'n.txt', {lastModified: 7}), [], {}]
    values.forEach((v, i) => s.put(v, i))
    for (const k of [-0, 1e400, 'text', new Date(9), new Uint8Array([7, 8]).buffer, [1, ['x', new Date(3)]]]) s.put('key', k)
  }
  r.onsuccess = () => { r.result.close(); localStorage.setItem('half\ud800', '\udc00 é \u0000'); localStorage.setItem('', ''); resolve('') }
})`

// TestStorageThereAndBack: what pages have stored comes out, goes into another profile, and comes out the same. No request leaves, and
// a page that keeps a database does not hang anything.
func TestStorageThereAndBack(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	origins := []string{"https://a.example", "http://b.test:8080", "https://empty.example"}
	first := p.start()
	fill := []visit{{origin: origins[0], expression: everything}, {origin: origins[1], expression: everything}}
	if err := first.visitAll(t.Context(), fill); err != nil || fill[0].err != nil || fill[1].err != nil {
		t.Fatal(err, fill[0].err, fill[1].err)
	}
	got, faults, err := first.ReadStorage(t.Context(), origins, true, true)
	if err != nil || len(faults) > 0 || len(got) != 2 {
		t.Fatalf("%v, faults %v, %d origins", err, faults, len(got))
	}
	other := newProfile(t)
	second := other.start()
	for _, replace := range []bool{false, true} { // over nothing, and over the same
		if faults, err := second.WriteStorage(t.Context(), got, replace); err != nil || len(faults) > 0 {
			t.Fatal(err, faults)
		}
		again, faults, err := second.ReadStorage(t.Context(), origins, true, true)
		if err != nil || len(faults) > 0 || textOf(t, again) != textOf(t, got) {
			t.Fatalf("%v, faults %v:\n%s\nwant\n%s", err, faults, textOf(t, again), textOf(t, got))
		}
	}
	second.Stop(t.Context(), false)
	stored, err := ReadStoredOrigins(other.dir)
	if err != nil || len(stored.Local) != 2 || !slices.Equal(stored.Databases, []string{origins[1], origins[0]}) {
		t.Fatalf("%v: the files have %+v", err, stored)
	}
	for i := range got {
		got[i].IndexedDB = nil
	}
	slices.Reverse(got)
	if textOf(t, stored.Local) != textOf(t, got) {
		t.Errorf("the files have\n%s\nwant\n%s", textOf(t, stored.Local), textOf(t, got))
	}
	for _, x := range []*profile{p, other} {
		asked := slices.DeleteFunc(x.site.Asked(), func(a string) bool { return a == "accounts.google.com:443" }) // Chrome itself
		if len(asked) > 0 {
			t.Errorf("the relay was asked for %v", asked)
		}
	}
}

func textOf(t *testing.T, all []state.Origin) string {
	t.Helper()
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestOffline: a run without a network changes a profile's state. No packet asks for anything, and the tabs of the last session come back,
// also after a run that was killed.
func TestOffline(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	b := p.start()
	if err := b.OpenPages(t.Context(), []string{"http://tab.test/tab"}); err != nil {
		t.Fatal(err)
	}
	pageAt(t, b, "/tab")
	b.Stop(t.Context(), false)
	asked := len(p.site.Asked())

	cookie := state.Cookie{Name: "a", Value: "1", Domain: "a.test", Path: "/", Session: true}
	for _, killed := range []bool{true, false} {
		spec := p.spec()
		spec.Offline = true
		b = p.open(spec)
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if pages := b.mux.controller.openPages(); len(pages) != 1 || pages[0].URL != BlankPage {
			t.Errorf("an offline run has the tabs %v", pages)
		}
		stored := []state.Origin{{Origin: "https://a.test", LocalStorage: []state.Item{{Name: "n", Value: "v"}}}}
		if faults, err := b.WriteStorage(t.Context(), stored, false); err != nil || len(faults) > 0 {
			t.Fatal(err, faults)
		}
		if err := b.mux.setCookies(t.Context(), []cookieParam{paramOf(cookie)}); err != nil {
			t.Fatal(err)
		}
		if killed {
			b.proc.kill() // nothing puts the tabs back: as if this process had died too
			b.Stop(t.Context(), true)
			if err := settleSession(&spec); err != nil {
				t.Fatal(err)
			}
			continue
		}
		b.Stop(t.Context(), false)
	}
	if got := p.site.Asked()[asked:]; len(got) > 0 {
		t.Errorf("a run without a network asked for %v", got)
	}

	b = p.start()
	pageAt(t, b, "/tab")
	if got, err := b.Cookies(t.Context()); err != nil || len(got) != 1 || got[0].Key() != cookie.Key() || !got[0].Session {
		t.Errorf("the cookies are %v (%v)", got, err)
	}
	got, faults, err := b.ReadStorage(t.Context(), []string{"https://a.test"}, true, false)
	if err != nil || len(faults) > 0 || len(got) != 1 {
		t.Errorf("the storage is %v, %v, %v", got, faults, err)
	}
}

// TestClear: an offline run clears what it is told to, of the origins that are named, and nothing else.
func TestClear(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	b := p.start()
	if err := b.OpenPages(t.Context(), []string{"http://tab.test/tab"}); err != nil {
		t.Fatal(err)
	}
	pageAt(t, b, "/tab")
	var stored []state.Origin
	var cookies []state.Cookie
	for _, host := range []string{"a.test", "b.test"} {
		stored = append(stored, state.Origin{Origin: "https://" + host, LocalStorage: []state.Item{{Name: "n", Value: "v"}}})
		cookies = append(cookies, state.Cookie{Name: "c", Value: "1", Domain: host, Path: "/", Secure: true, Session: true})
	}
	if _, err := b.WriteStorage(t.Context(), stored, false); err != nil {
		t.Fatal(err)
	}
	if refused, err := b.WriteCookies(t.Context(), cookies, nil); err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	for _, origin := range []string{"https://a.test", "https://b.test"} {
		call(t, b, "", "Browser.setPermission",
			map[string]any{"permission": map[string]string{"name": "geolocation"}, "setting": "denied", "origin": origin})
	}
	b.Stop(t.Context(), false)

	clear := func(o ClearOptions) (hosts []string) {
		t.Helper()
		spec := p.spec()
		spec.Offline, spec.Clear = true, &o
		b := p.open(spec)
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := b.ClearData(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, err := b.Cookies(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range left {
			hosts = append(hosts, c.Domain)
		}
		b.Stop(t.Context(), false)
		files, err := ReadStoredOrigins(p.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range files.Local {
			hosts = append(hosts, o.Origin)
		}
		slices.Sort(hosts)
		return hosts
	}
	want := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("there is %v, want %v", got, want)
		}
	}
	want(clear(ClearOptions{Kinds: []string{"cookies", "storage"}, Since: time.Now().Add(time.Hour)}), "a.test", "b.test", "https://a.test",
		"https://b.test")
	one := ClearOptions{Kinds: []string{"cookies", "storage", "cache"}, Origins: []string{"https://a.test"}}
	want(clear(one), "b.test", "https://b.test")
	want(clear(ClearOptions{Kinds: []string{"history"}}), "b.test", "https://b.test")
	want(clear(ClearOptions{Kinds: []string{"storage", "permissions"}}), "b.test")
}

// TestStorageOfABusyPage: a page that keeps a database open is no obstacle to a read. A write that would change the database's version is
// given up and told, and does not happen later either.
func TestStorageOfABusyPage(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	p.site.Mux.HandleFunc("/keeps", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(`<script>const r = indexedDB.open('kept', 1); r.onupgradeneeded = () => r.result.createObjectStore('s').put('old', 1)
			r.onsuccess = () => document.title = 'kept'</script>`))
	})
	b := p.start()
	if err := b.OpenPages(t.Context(), []string{"http://app.localhost/keeps"}); err != nil {
		t.Fatal(err)
	}
	page := pageAt(t, b, "/keeps")
	testnet.Eventually(t, "the page keeps the database", func() bool { return evaluate(t, b, page, "document.title") == `"kept"` })
	origin := []string{"http://app.localhost"}
	got, faults, err := b.ReadStorage(t.Context(), origin, false, true)
	if err != nil || len(faults) > 0 || len(got) != 1 || len(got[0].IndexedDB) != 1 {
		t.Fatalf("%v, %v, %v", got, faults, err)
	}
	before := textOf(t, got)
	got[0].IndexedDB[0].Version, got[0].IndexedDB[0].Stores[0].Records = 2, nil
	if faults, err := b.WriteStorage(t.Context(), got, false); err != nil || len(faults) != 1 {
		t.Errorf("%v, %v", faults, err)
	}
	b.closeAndWait(page.Target)
	got, faults, err = b.ReadStorage(t.Context(), origin, false, true)
	if after := textOf(t, got); err != nil || len(faults) > 0 || after != before {
		t.Errorf("%v, %v: %s, want %s", faults, err, after, before)
	}
}

// TestFilesOfLocalStorage: files of a Chromium 156 whose log is older than its manifest says, as after a compaction during a write, have
// all 300 origins with 5 entries each. The library refuses the log as damaged.
func TestFilesOfLocalStorage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "leveldb")
	if err := os.CopyFS(dir, os.DirFS("testdata/localstorage")); err != nil {
		t.Fatal(err)
	}
	got, err := readLocalStorage(dir)
	if err != nil || len(got.Local) != 300 {
		t.Fatalf("%d origins: %v", len(got.Local), err)
	}
	for _, o := range got.Local {
		if len(o.LocalStorage) != 5 || o.LocalStorage[4].Name != "k4" || len(o.LocalStorage[4].Value) != 50 {
			t.Errorf("%s has %v", o.Origin, o.LocalStorage)
		}
	}
}
