package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// States of a Download.
const (
	DownloadInProgress = "in_progress"
	DownloadComplete   = "complete"
	DownloadCancelled  = "cancelled"
)

// DownloadOverQuota is the reason of a download that was cancelled because it exceeded the quota.
const DownloadOverQuota = "files_quota"

// Download is a file that was, or is being, downloaded in a run.
type Download struct {
	ID       string    `json:"id"`   // Chrome's GUID
	Name     string    `json:"name"` // suggested by the site, made safe; unique within the run
	File     string    `json:"file"` // where it lies below the folder of downloads, with slashes; "" before it is complete
	URL      string    `json:"url"`
	State    string    `json:"state"`
	Reason   string    `json:"reason,omitempty"` // why it was cancelled, if known
	Received int64     `json:"received"`
	Total    int64     `json:"total"` // bytes; 0: unknown
	BeganAt  time.Time `json:"beganAt"`
	EndedAt  time.Time `json:"endedAt"` // zero before the end
}

// downloadList holds the downloads of a run. downloads.mu guards it.
type downloadList struct {
	list      []*Download
	byID      map[string]*Download
	names     map[string]bool
	urlBytes  int           // bytes of all addresses
	unchecked []*Download   // complete downloads that the quota has not been applied to
	changed   chan struct{} // holds a token when the list has changed
	quotaDue  chan struct{} // holds a token when the quota must be checked
}

const (
	maxDownloads = 10_000  // of a run; further ones are cancelled
	maxURL       = 2048    // bytes that are kept of an address, as long as all addresses have less than maxURLBytes
	maxURLBytes  = 1 << 20 // then shortURL bytes are kept, since the server reads the whole list
	shortURL     = 128
	quotaPeriod  = 100 * time.Millisecond // between two checks of the folder during a download
)

// Downloads lists the run's downloads, oldest first: those in its own folder, those under way, and the cancelled ones.
func (b *Browser) Downloads() []Download {
	m, err := b.running()
	if err != nil {
		return nil
	}
	d := m.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Download, 0, len(d.list))
	for _, one := range d.list {
		out = append(out, *one)
	}
	return out
}

// IsDownloading reports whether a download is under way.
func (b *Browser) IsDownloading() bool {
	return slices.ContainsFunc(b.Downloads(), func(d Download) bool { return d.State == DownloadInProgress })
}

// DownloadsChanged returns a channel that holds a token after a change of Downloads; nil before the launch.
func (b *Browser) DownloadsChanged() <-chan struct{} {
	m, err := b.running()
	if err != nil {
		return nil
	}
	return m.downloads.changed
}

// DownloadsRedirected reports whether a client that may use files of this machine has set where downloads go.
func (b *Browser) DownloadsRedirected() bool {
	d := b.mux.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.touched) > 0
}

// OwnsDownload reports whether a path lies in the run's own folder for downloads.
func (b *Browser) OwnsDownload(path string) bool {
	dir := b.mux.downloads.dir
	return filepath.Dir(path) == dir || filepath.Dir(filepath.Dir(path)) == dir
}

// DownloadPath returns the path of a download's file in the run's own folder, "" if it lies elsewhere. id is Chrome's GUID.
func (b *Browser) DownloadPath(id string) string {
	d := b.mux.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.byID[id]; one != nil && one.File != "" {
		return filepath.Join(d.dir, filepath.FromSlash(one.File))
	}
	return ""
}

// RemoveDownload removes a download and its file, by name, and cancels it if it is under way. It fails with fs.ErrNotExist for an unknown
// name.
func (b *Browser) RemoveDownload(name string) error {
	m, err := b.running()
	if err != nil {
		return err
	}
	d := m.downloads
	d.mu.Lock()
	i := slices.IndexFunc(d.list, func(o *Download) bool { return o.Name == name })
	if i < 0 {
		d.mu.Unlock()
		return fs.ErrNotExist
	}
	one := *d.list[i]
	if one.File != "" { // the file first, since a file must not exist without its entry
		if err := os.Remove(filepath.Join(d.dir, filepath.FromSlash(one.File))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.mu.Unlock()
			return err
		}
	}
	d.forget(d.list[i])
	d.mu.Unlock()
	if one.State == DownloadInProgress {
		d.cancel(one.ID)
	}
	return nil
}

// forget removes a download from the list. d.mu is held.
func (d *downloads) forget(one *Download) {
	d.list = slices.DeleteFunc(d.list, func(o *Download) bool { return o == one })
	delete(d.byID, one.ID)
	delete(d.names, one.Name)
	d.urlBytes -= len(one.URL)
	d.signalChange()
}

// signalChange fills the channel of DownloadsChanged. d.mu is held.
func (d *downloads) signalChange() { putToken(d.changed) }

// cancel cancels a download in Chrome. Chrome requires the browser context, which its events do not tell, so all of them are tried.
func (d *downloads) cancel(id string) {
	d.mu.Lock()
	contexts := append(slices.Collect(maps.Keys(d.contexts)), "")
	d.mu.Unlock()
	for _, c := range contexts {
		params := map[string]string{"guid": id}
		if c != "" {
			params["browserContextId"] = c
		}
		d.mux.send("", "Browser.cancelDownload", params, d.onContextAnswer(c))
	}
}

// downloadEvent is what is read of Browser.downloadWillBegin and Browser.downloadProgress (CDP).
type downloadEvent struct {
	GUID     string  `json:"guid"`
	URL      string  `json:"url"`
	Name     string  `json:"suggestedFilename"`
	Total    float64 `json:"totalBytes"`
	Received float64 `json:"receivedBytes"`
	State    string  `json:"state"`
	Path     string  `json:"filePath"`
}

// onEvent handles an event about a download, and passes it on to restricted clients that want such events. It runs on the reading
// goroutine.
func (d *downloads) onEvent(method string, params []byte) {
	var p downloadEvent
	if d.dir == "" || json.Unmarshal(params, &p) != nil || p.GUID == "" {
		return
	}
	d.mu.Lock()
	tooMany := false
	if method == "Browser.downloadWillBegin" {
		tooMany = !d.add(p)
	} else {
		params = d.update(p, params)
	}
	listeners := slices.Clone(d.listeners)
	d.mu.Unlock()
	if tooMany {
		d.cancel(p.GUID)
	}
	for _, s := range listeners {
		s.client.sendEvent(s, method, json.RawMessage(params))
	}
	putToken(d.quotaDue)
}

// add adds a new download; false if it must be cancelled. d.mu is held.
func (d *downloads) add(p downloadEvent) bool {
	if d.byID[p.GUID] != nil {
		return true
	}
	if len(d.list) >= maxDownloads || d.restricted && isFile(p.URL) { // a file that a person opened is not for restricted clients
		return false
	}
	most := maxURL
	if d.urlBytes >= maxURLBytes {
		most = shortURL
	}
	if len(p.URL) > most {
		p.URL = strings.ToValidUTF8(p.URL[:most], "")
	}
	d.urlBytes += len(p.URL)
	one := &Download{ID: p.GUID, Name: d.uniqueName(p.Name), URL: p.URL, State: DownloadInProgress, BeganAt: time.Now().UTC()}
	d.list, d.byID[one.ID], d.names[one.Name] = append(d.list, one), one, true
	d.signalChange()
	return true
}

// uniqueName returns a safe name that no other download has. d.mu is held.
func (d *downloads) uniqueName(suggested string) string {
	suggested = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) { // such as characters that reverse the direction of the text
			return '_'
		}
		return r
	}, suggested)
	start, end := withoutEnding(suggested)
	if most := maxFileName - len(end); len(start) > most {
		suggested = strings.ToValidUTF8(start[:most], "") + end
	}
	name := FileName(suggested)
	start, end = withoutEnding(name)
	for i := 1; d.names[name]; i++ {
		name = fmt.Sprintf("%s (%d)%s", start, i, end)
	}
	return name
}

// update records the progress of a download, and returns the event as restricted clients get it. d.mu is held.
func (d *downloads) update(p downloadEvent, params []byte) []byte {
	one := d.byID[p.GUID]
	file := ""
	if p.State == "completed" {
		file = d.findFile(p)
	}
	if one == nil { // it was removed meanwhile
		if file != "" {
			_ = os.Remove(filepath.Join(d.dir, filepath.FromSlash(file)))
		}
		return params
	}
	one.Received, one.Total = int64(p.Received), int64(p.Total)
	switch {
	case p.State == "completed" && file == "": // it went elsewhere: where a person or another client wanted it
		d.forget(one)
	case p.State == "completed":
		one.State, one.File, one.EndedAt = DownloadComplete, file, time.Now().UTC()
		d.unchecked = append(d.unchecked, one)
		params = withPath(params, d.clientPath(file, one.Name))
	case p.State == "canceled":
		one.State, one.EndedAt = DownloadCancelled, time.Now().UTC()
	default:
		return params
	}
	d.signalChange()
	return params
}

// withPath returns an event with another filePath.
func withPath(params []byte, shown string) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(params, &all) != nil {
		return params
	}
	all["filePath"] = appendString(nil, shown)
	changed, _ := json.Marshal(all) // all was decoded from JSON
	return changed
}

// findFile returns the path of a download's file below the run's own folder, "" if it lies elsewhere. Older versions of Chrome do not tell
// the path. d.mu is held.
func (d *downloads) findFile(p downloadEvent) string {
	if filepath.Base(p.GUID) != p.GUID {
		return ""
	}
	for i := range len(d.aliases) + 1 {
		file := p.GUID
		if i > 0 {
			file = strconv.Itoa(i) + "/" + p.GUID
		}
		full := filepath.Join(d.dir, filepath.FromSlash(file))
		if p.Path != "" && filepath.Clean(p.Path) != full {
			continue
		}
		if info, err := os.Lstat(full); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

// watchQuota enforces the quota until ctx ends: after every event, and periodically during downloads.
func (d *downloads) watchQuota(ctx context.Context) {
	again := time.NewTimer(0)
	defer again.Stop()
	for d.quota > 0 && d.dir != "" {
		select {
		case <-d.quotaDue:
		case <-again.C:
		case <-ctx.Done():
			return
		}
		if d.enforceQuota() {
			again.Reset(quotaPeriod)
		}
	}
}

// enforceQuota cancels downloads that would exceed the quota, and deletes files that have exceeded it. It reports whether downloads are
// under way.
func (d *downloads) enforceQuota() (busy bool) {
	used := SizeOf(d.root)
	var over []string
	d.mu.Lock()
	for _, one := range d.unchecked {
		if used <= d.quota || d.byID[one.ID] != one {
			continue
		}
		if err := os.Remove(filepath.Join(d.dir, filepath.FromSlash(one.File))); err == nil {
			used -= max(one.Received, fileCost)
			one.State, one.Reason, one.File = DownloadCancelled, DownloadOverQuota, ""
			d.signalChange()
		}
	}
	d.unchecked = nil
	for _, one := range d.list {
		if one.State != DownloadInProgress {
			continue
		}
		busy = true
		need := max(0, one.Total-one.Received)
		if used+need <= d.quota {
			used += need
			continue
		}
		if one.Reason == "" {
			one.Reason = DownloadOverQuota
			over = append(over, one.ID)
			d.signalChange()
		}
	}
	d.mu.Unlock()
	for _, id := range over {
		d.cancel(id)
	}
	return busy
}
