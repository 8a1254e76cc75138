//go:build !windows

package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"warren/testnet"
)

// loading is a run with downloads and a home folder of its own.
type loading struct {
	t     *testing.T
	b     *Browser
	files string // the run's own folder
	home  string // Chrome's
	guest string // address of the gateway for clients that may not use files of this machine
	full  string // and for those that may
}

func startLoading(t *testing.T, changes ...func(*Spec)) *loading {
	t.Helper()
	p := newProfile(t)
	l := &loading{t: t, files: filepath.Join(t.TempDir(), "files"), home: t.TempDir()}
	p.site.Mux.HandleFunc("/get", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+url.PathEscape(r.FormValue("name")))
		fmt.Fprint(w, r.FormValue("text"))
	})
	p.site.Mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) { // sends some bytes at once, and then nothing more
		w.Header().Set("Content-Disposition", "attachment; filename=endless.bin")
		if n := r.FormValue("declared"); n != "" {
			w.Header().Set("Content-Length", n)
		}
		w.Write(make([]byte, 1<<20))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	for _, name := range []string{"downloads", "uploads"} {
		if err := os.MkdirAll(filepath.Join(l.files, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := p.spec()
	s.FilesDir, s.ExtraEnv = l.files, []string{"HOME=" + l.home, "XDG_CONFIG_HOME=" + filepath.Join(l.home, "config")}
	for _, change := range changes {
		change(&s)
	}
	l.b = p.open(s)
	if err := l.b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.guest, l.full = serveGatewayTo(t, l.b, false), serveGatewayTo(t, l.b, true)
	return l
}

// tab opens a loaded page. Chrome closes an empty tab when it downloads.
func (l *loading) tab(c *tester, context string) (target, session string) {
	l.t.Helper()
	params := map[string]any{"url": "http://a.test/"}
	if context != "" {
		params["browserContextId"] = context
	}
	target = field(l.t, c.call("", "Target.createTarget", params), "targetId")
	session = field(l.t, c.call("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}), "sessionId")
	c.becomes(session, "document.title", `"/"`)
	return target, session
}

// get downloads a file in a page of the client.
func (l *loading) get(c *tester, session, name, text string) {
	l.t.Helper()
	c.call(session, "Page.navigate", map[string]any{"url": "http://a.test/get?" + url.Values{"name": {name}, "text": {text}}.Encode()})
}

// ends waits for the end of a download, and returns the path that the client was told.
func (c *tester) ends(state string) (path string) {
	c.t.Helper()
	for {
		var p downloadEvent
		if err := json.Unmarshal(c.event("Browser.downloadProgress").Params, &p); err != nil {
			c.t.Fatal(err)
		}
		if p.State == state {
			return p.Path
		}
	}
}

// listed waits until the download with a name has a state.
func (l *loading) listed(name, state string) (one Download) {
	l.t.Helper()
	testnet.Eventually(l.t, name+" is "+state, func() bool {
		i := slices.IndexFunc(l.b.Downloads(), func(d Download) bool { return d.Name == name && d.State == state })
		if i >= 0 {
			one = l.b.Downloads()[i]
		}
		return i >= 0
	})
	return one
}

// requests returns the number of requests of clients about downloads.
func (l *loading) requests() int {
	d := l.b.mux.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.requests)
}

// outside lists the files in Chrome's home that a person would find.
func (l *loading) outside() (out []string) {
	filepath.WalkDir(l.home, func(path string, entry fs.DirEntry, err error) error { //nolint:errcheck // the function returns none
		if name := filepath.Base(path); err == nil && entry.IsDir() && path != l.home &&
			(strings.HasPrefix(name, ".") || name == "config") {
			return filepath.SkipDir
		}
		if err == nil && !entry.IsDir() {
			out = append(out, path)
		}
		return nil
	})
	return out
}

// leavesTheMachine checks that nothing was written outside of the run's own folder.
func (l *loading) leavesTheMachine(wanted string) {
	l.t.Helper()
	if _, err := os.Lstat(wanted); !errors.Is(err, fs.ErrNotExist) {
		l.t.Errorf("the folder that the client named: %v", err)
	}
	if got := l.outside(); len(got) > 0 {
		l.t.Errorf("outside of the run's folder lie %v", got)
	}
}

// holds checks the contents of a file in the run's own folder.
func (l *loading) holds(one Download, want string) {
	l.t.Helper()
	got, err := os.ReadFile(filepath.Join(l.files, "downloads", filepath.FromSlash(one.File)))
	if err != nil || string(got) != want {
		l.t.Errorf("%s holds %q (%v), want %q", one.Name, got, err, want)
	}
}

// TestGuestsDownloadIntoTheRunsFolder: downloads of a client that may not use files of this machine go to the run's own folder, whatever
// folder it names. Its events name the folder that it wanted.
func TestGuestsDownloadIntoTheRunsFolder(t *testing.T) {
	l := startLoading(t)
	c := dial(t, l.guest+"/")
	_, page := l.tab(c, "")
	wanted := filepath.Join(t.TempDir(), "wanted")
	begun := regexp.MustCompile(`^[0-9a-f-]{36}$`)

	// Without a request nothing is written to the user's own folder either.
	l.get(c, page, "unasked.txt", "unasked")
	l.holds(l.listed("unasked.txt", DownloadComplete), "unasked")

	// By GUID, as Playwright does; by name, as Puppeteer does; twice.
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allowAndName", "downloadPath": wanted, "eventsEnabled": true})
	l.get(c, page, "a report.txt", "first")
	if path := c.ends("completed"); filepath.Dir(path) != wanted || !begun.MatchString(filepath.Base(path)) {
		t.Errorf("the client was told of %s", path)
	}
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": wanted + "/", "eventsEnabled": true})
	l.get(c, page, "a report.txt", "second")
	if path := c.ends("completed"); path != wanted+"/a report (1).txt" {
		t.Errorf("the client was told of %s", path)
	}
	l.holds(l.listed("a report.txt", DownloadComplete), "first")
	l.holds(l.listed("a report (1).txt", DownloadComplete), "second")

	// The run's own folder is not replaced: a client that can read it finds the file where Chrome wrote it.
	own := filepath.Join(l.files, "downloads")
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allowAndName", "downloadPath": own, "eventsEnabled": true})
	l.get(c, page, "own.txt", "own")
	if got, err := os.ReadFile(c.ends("completed")); string(got) != "own" {
		t.Errorf("in the run's own folder: %q %v", got, err)
	}

	l.leavesTheMachine(wanted)
}

// TestGuestsDownloadOfPagesAndContexts: the same for a single page, and for browser contexts under any id.
func TestGuestsDownloadOfPagesAndContexts(t *testing.T) {
	l := startLoading(t)
	c := dial(t, l.guest+"/")
	_, page := l.tab(c, "")
	wanted := filepath.Join(t.TempDir(), "wanted")

	// For a page, in a browser context of the client, and over a page socket.
	c.call(page, "Page.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": wanted})
	l.get(c, page, "page.txt", "page")
	l.holds(l.listed("page.txt", DownloadComplete), "page")
	context := field(t, c.call("", "Target.createBrowserContext", nil), "browserContextId")
	target, theirs := l.tab(c, context)
	l.get(c, theirs, "context.txt", "context")
	l.holds(l.listed("context.txt", DownloadComplete), "context")
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": wanted, "browserContextId": context})
	l.get(c, theirs, "told.txt", "told")
	l.holds(l.listed("told.txt", DownloadComplete), "told")
	alone := dial(t, l.guest+"/devtools/page/"+target)
	alone.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": wanted, "eventsEnabled": true})
	l.get(alone, "", "alone.txt", "alone")
	l.holds(l.listed("alone.txt", DownloadComplete), "alone")
	if path := alone.ends("completed"); path != wanted+"/alone.txt" {
		t.Errorf("the page's client was told of %s", path)
	}

	unflat := field(t, c.call("", "Target.attachToTarget", map[string]any{"targetId": target}), "sessionId")
	message := fmt.Sprintf(`{"id":1,"method":"Page.setDownloadBehavior","params":{"behavior":"allow","downloadPath":%q}}`, wanted)
	if m := c.try("", "Target.sendMessageToTarget", map[string]any{"sessionId": unflat, "message": message}); m.Error == nil {
		t.Error("a behaviour within a message was taken")
	}
	message = `{"id":1,"method":"Page.enable"}`
	c.call("", "Target.sendMessageToTarget", map[string]any{"sessionId": unflat, "message": message})

	// The id of the profile's own browser context means no id.
	var all struct {
		Own string `json:"defaultBrowserContextId"`
	}
	if err := json.Unmarshal(c.call("", "Target.getBrowserContexts", nil), &all); err != nil || all.Own == "" {
		t.Fatal(err, all)
	}
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "deny", "browserContextId": all.Own, "eventsEnabled": true})
	l.get(c, page, "denied again.txt", "")
	c.ends("canceled")
	other := dial(t, l.guest+"/")
	other.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": wanted})
	l.get(c, page, "other.txt", "other")
	l.holds(l.listed("other.txt", DownloadComplete), "other")
	before := l.requests()
	other.socket.CloseNow()
	testnet.Eventually(t, "the other has left", func() bool { return l.requests() < before })
	l.get(c, page, "denied once more.txt", "")
	l.listed("denied once more.txt", DownloadCancelled)
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": wanted})
	l.get(c, page, "after.txt", "after")
	l.holds(l.listed("after.txt", DownloadComplete), "after")
	l.leavesTheMachine(wanted)
}

// TestGuestsDeny: deny is carried out, default means the run's own folder, and what Chrome does not accept is refused.
func TestGuestsDeny(t *testing.T) {
	l := startLoading(t)
	c := dial(t, l.guest+"/")
	_, page := l.tab(c, "")
	wanted := filepath.Join(t.TempDir(), "wanted")
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "deny", "eventsEnabled": true})
	l.get(c, page, "denied.txt", "denied")
	c.ends("canceled")
	l.listed("denied.txt", DownloadCancelled)
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "default"})
	l.get(c, page, "default.txt", "default")
	l.holds(l.listed("default.txt", DownloadComplete), "default")
	for _, p := range []map[string]any{
		{"behavior": "allow"}, {"behavior": "allow", "downloadPath": 5}, {"behavior": "else", "downloadPath": wanted},
		{"downloadPath": wanted},
		{"behavior": "allow", "downloadPath": wanted, "browserContextId": "none"},
		{"behavior": "allow", "downloadPath": strings.Repeat("x", 5000)}} {
		if m := c.try("", "Browser.setDownloadBehavior", p); m.Error == nil {
			t.Errorf("%v was taken", p)
		}
	}
	l.leavesTheMachine(wanted)
	made := field(t, c.call("", "Target.createBrowserContext", nil), "browserContextId")
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "deny", "browserContextId": made})
	c.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": made})
	d := l.b.mux.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.contexts) > 0 || len(d.revision) != 1 || len(d.requests) != 1 {
		t.Errorf("of contexts that are none, or none any more, it keeps %v, %v and %v", d.contexts, d.revision, d.requests)
	}
}

// TestDownloadsOfSeveralClients: a client that may use files of this machine gets downloads where it wants them. When it leaves, the
// previous behaviour is restored.
func TestDownloadsOfSeveralClients(t *testing.T) {
	l := startLoading(t)
	wanted, guests := filepath.Join(t.TempDir(), "wanted"), filepath.Join(t.TempDir(), "guests")
	guest := dial(t, l.guest+"/")
	_, page := l.tab(guest, "")
	guest.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": guests, "eventsEnabled": true})
	full := dial(t, l.full+"/")
	full.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": wanted, "eventsEnabled": true})
	l.get(guest, page, "elsewhere.txt", "elsewhere")
	if path := full.ends("completed"); path != filepath.Join(wanted, "elsewhere.txt") {
		t.Errorf("the client was told of %s", path)
	}
	if got, err := os.ReadFile(filepath.Join(wanted, "elsewhere.txt")); string(got) != "elsewhere" {
		t.Errorf("it finds %q %v", got, err)
	}
	guest.ends("completed")
	testnet.Eventually(t, "what lies elsewhere is not listed", func() bool { return len(l.b.Downloads()) == 0 })

	full.socket.CloseNow()
	testnet.Eventually(t, "it has left", func() bool { return l.requests() == 1 })
	l.get(guest, page, "again.txt", "again")
	if path := guest.ends("completed"); path != guests+"/again.txt" {
		t.Errorf("the guest was told of %s", path)
	}
	l.holds(l.listed("again.txt", DownloadComplete), "again")

	// A guest's request ends with the guest, and not earlier: its deny applies while it is connected.
	other := dial(t, l.guest+"/")
	other.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "deny", "eventsEnabled": true})
	l.get(guest, page, "denied.txt", "denied")
	guest.ends("canceled")
	other.socket.CloseNow()
	testnet.Eventually(t, "the other has left", func() bool { return l.requests() == 1 })
	l.get(guest, page, "allowed.txt", "allowed")
	if path := guest.ends("completed"); path != guests+"/allowed.txt" {
		t.Errorf("the guest was told of %s", path)
	}
	if got := l.outside(); len(got) > 0 {
		t.Errorf("outside lie %v", got)
	}
}

// TestDownloadNames: whatever a site calls a file, its name in the list is safe and unique, and the file lies in the run's own folder.
func TestDownloadNames(t *testing.T) {
	l := startLoading(t)
	c := dial(t, l.guest+"/")
	_, page := l.tab(c, "")
	c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": "/etc/cron.d", "eventsEnabled": true})
	names := []string{"../../../../etc/passwd", "/etc/passwd", "..", ".", "", ".bashrc", `..\..\x.txt`, "CON", "nul.txt",
		strings.Repeat("x", 400) + ".txt",
		strings.Repeat("ü", 200) + ".pdf", "a\x00b", "a\u202egpj.exe", "a\u2066b\u200b.txt", "new\nline", "a:b", "~/x", "x.crdownload",
		"  .. ", "same", "same"}
	for i, name := range names {
		l.get(c, page, name, fmt.Sprint(i))
		if path := c.ends("completed"); filepath.Dir(path) != "/etc/cron.d" {
			t.Errorf("%q: the client was told of %s", name, path)
		}
	}
	all, seen := l.b.Downloads(), map[string]bool{}
	if len(all) != len(names) {
		t.Fatalf("%d downloads, want %d", len(all), len(names))
	}
	for i, one := range all {
		if seen[one.Name] || one.Name == "" || len(one.Name) > 255 || !utf8.ValidString(one.Name) ||
			strings.ContainsAny(one.Name, "/\\\x00\n\u202e\u2066\u200b") || one.Name == ".." {
			t.Errorf("%q is called %q", names[i], one.Name)
		}
		seen[one.Name] = true
		if !regexp.MustCompile(`^[1-9][0-9]*/[0-9a-f-]{36}$`).MatchString(one.File) {
			t.Errorf("%q lies at %q", names[i], one.File)
		}
		l.holds(one, fmt.Sprint(i))
	}
	if !seen["same"] || !seen["same (1)"] {
		t.Errorf("the names are %v", seen)
	}
	if entries, err := os.ReadDir(l.files); err != nil || len(entries) != 2 {
		t.Errorf("in the run's folder lie %v %v", entries, err)
	}
	if _, err := os.ReadDir("/etc/cron.d"); err == nil && len(l.outside()) > 0 {
		t.Errorf("outside lie %v", l.outside())
	}
}

// TestDownloadQuota: a download that exceeds the quota is cancelled, with or without a declared length, and leaves nothing. Removed files
// free their space.
func TestDownloadQuota(t *testing.T) {
	l := startLoading(t, func(s *Spec) { s.FilesQuota = 1<<20 + 100 })
	c := dial(t, l.guest+"/")
	_, page := l.tab(c, "")
	load := func(query string) {
		c.call(page, "Page.navigate", map[string]any{"url": "http://a.test/endless" + query})
	}
	load("?declared=2000000")
	if one := l.listed("endless.bin", DownloadCancelled); one.Reason != DownloadOverQuota {
		t.Errorf("declared: %+v", one)
	}
	load("") // 1 MiB fits
	testnet.Eventually(t, "it comes", func() bool {
		return slices.ContainsFunc(l.b.Downloads(), func(d Download) bool { return d.Name == "endless (1).bin" && d.Received == 1<<20 })
	})
	load("")
	testnet.Eventually(t, "one of the two is cancelled", func() bool {
		return slices.ContainsFunc(l.b.Downloads(), func(d Download) bool {
			return d.Name != "endless.bin" && d.State == DownloadCancelled && d.Reason == DownloadOverQuota
		})
	})
	for _, one := range l.b.Downloads() {
		if err := l.b.RemoveDownload(one.Name); err != nil {
			t.Error(err)
		}
	}
	testnet.Eventually(t, "nothing is left", func() bool { return SizeOf(l.files) == 0 })
	l.get(c, page, "quick.bin", strings.Repeat("x", 2000))
	l.holds(l.listed("quick.bin", DownloadComplete), strings.Repeat("x", 2000))
	if err := l.b.RemoveDownload("quick.bin"); err != nil || SizeOf(l.files) != 0 || len(l.b.Downloads()) != 0 {
		t.Errorf("removed: %v, %d bytes, %v", err, SizeOf(l.files), l.b.Downloads())
	}
	if err := l.b.RemoveDownload("quick.bin"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestAddressesOfDownloadsAreBounded: the list of downloads stays small, however many there are and however long their addresses.
func TestAddressesOfDownloadsAreBounded(t *testing.T) {
	d := newDownloads(nil)
	p := downloadEvent{URL: "data:," + strings.Repeat("&", maxURL)}
	for i := range maxDownloads {
		if p.GUID, p.Name = fmt.Sprint(i), fmt.Sprint(i); !d.add(p) {
			t.Fatalf("download %d is refused", i)
		}
	}
	total := 0
	for _, one := range d.list {
		total += len(one.URL)
	}
	if most := maxURLBytes + maxURL + maxDownloads*shortURL; total > most || total != d.urlBytes || len(d.list[0].URL) != maxURL {
		t.Errorf("%d bytes of addresses are kept, %d are counted, at most %d may be; the first has %d", total, d.urlBytes, most,
			len(d.list[0].URL))
	}
	for len(d.list) > 0 {
		d.forget(d.list[len(d.list)-1])
	}
	if d.urlBytes != 0 {
		t.Errorf("without downloads %d bytes are counted", d.urlBytes)
	}
}
