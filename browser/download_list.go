package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// This file keeps what became of a run's downloads, and keeps them within their quota.

// States of a Download.
const (
	DownloadInProgress = "in_progress"
	DownloadComplete   = "complete"
	DownloadCancelled  = "cancelled"
)

// DownloadOverQuota is why a download was cancelled that had no room.
const DownloadOverQuota = "files_quota"

// Download is a file that was downloaded in a run, or was to be.
type Download struct {
	ID       string    `json:"id"`   // Chrome's
	Name     string    `json:"name"` // as the site wants it, made harmless; no other of the run has it
	File     string    `json:"file"` // where it lies below the folder of downloads, with slashes; "" before it is complete
	URL      string    `json:"url"`
	State    string    `json:"state"`
	Reason   string    `json:"reason,omitempty"` // why it was cancelled, where we know
	Received int64     `json:"received"`
	Total    int64     `json:"total"` // 0: not known
	BeganAt  time.Time `json:"beganAt"`
	EndedAt  time.Time `json:"endedAt"` // zero before the end
}

// downloadList is the list of a run's downloads. downloads.mu guards it.
type downloadList struct {
	list      []*Download
	byID      map[string]*Download
	names     map[string]bool
	urlBytes  int           // bytes of the addresses
	unchecked []*Download   // complete, and not looked at for the quota yet
	changed   chan struct{} // holds a token when the list has changed
	quotaDue  chan struct{} // holds a token when the quota is to be looked at
}

const (
	maxDownloads = 10_000  // in one run; further ones are cancelled
	maxURL       = 2048    // bytes of an address that are kept, while all of them have less than maxURLs
	maxURLBytes  = 1 << 20 // then fewURL: the server reads the list whole
	shortURL     = 128
	quotaPeriod  = 100 * time.Millisecond // how often the folder is looked at while something is downloaded
)

// Downloads lists the run's downloads, the first first: those in its own folder, those under way, and those that were cancelled.
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

// DownloadsChanged holds a token when Downloads has changed since it was last taken; nil before the browser was launched.
func (b *Browser) DownloadsChanged() <-chan struct{} {
	m, err := b.running()
	if err != nil {
		return nil
	}
	return m.downloads.changed
}

// DownloadsRedirected reports whether a client that may use files of the machine has told Chrome where downloads go.
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

// DownloadPath returns the path of a download's file in the run's own folder, "" if it does not lie there. id is Chrome's GUID.
func (b *Browser) DownloadPath(id string) string {
	d := b.mux.downloads
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.byID[id]; one != nil && one.File != "" {
		return filepath.Join(d.dir, filepath.FromSlash(one.File))
	}
	return ""
}

// RemoveDownload removes a download by its name, and its file. One under way is cancelled.
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
	if one.File != "" { // the file first: while it is there it is listed
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

// forget takes a download off the list. d.mu is held.
func (d *downloads) forget(one *Download) {
	d.list = slices.DeleteFunc(d.list, func(o *Download) bool { return o == one })
	delete(d.byID, one.ID)
	delete(d.names, one.Name)
	d.urlBytes -= len(one.URL)
	d.signalChange()
}

// signalChange says that the list has changed. d.mu is held.
func (d *downloads) signalChange() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// cancel has Chrome give a download up. It takes the id only with the browser context, which its events do not tell.
func (d *downloads) cancel(id string) {
	d.mu.Lock()
	contexts := []string{""}
	for c := range d.contexts {
		contexts = append(contexts, c)
	}
	d.mu.Unlock()
	for _, c := range contexts {
		params := map[string]string{"guid": id}
		if c != "" {
			params["browserContextId"] = c
		}
		d.mux.send("", "Browser.cancelDownload", params, d.onContextAnswer(c))
	}
}

// downloadEvent is what is read of Browser.downloadWillBegin and Browser.downloadProgress.
type downloadEvent struct {
	GUID     string  `json:"guid"`
	URL      string  `json:"url"`
	Name     string  `json:"suggestedFilename"`
	Total    float64 `json:"totalBytes"`
	Received float64 `json:"receivedBytes"`
	State    string  `json:"state"`
	Path     string  `json:"filePath"`
}

// onEvent notes an event of a download, and tells the clients that want to hear of downloads and that Chrome does not tell. It runs on the reading goroutine.
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
		session := ""
		if s.id != s.client.base {
			session = s.id
		}
		s.client.send(encodeEvent(session, method, params))
	}
	select {
	case d.quotaDue <- struct{}{}:
	default:
	}
}

// encodeEvent is a message as Chrome writes it.
func encodeEvent(session, method string, params []byte) []byte {
	b := append(appendString([]byte(`{"method":`), method), `,"params":`...)
	b = append(b, params...)
	if session != "" {
		b = appendString(append(b, `,"sessionId":`...), session)
	}
	return append(b, '}')
}

// add notes a new download, if there is room. d.mu is held.
func (d *downloads) add(p downloadEvent) bool {
	if d.byID[p.GUID] != nil {
		return true
	}
	if len(d.list) >= maxDownloads || d.restricted && isFile(p.URL) { // a file that a person opened is not for those who may use none
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

// uniqueName is a harmless name that no other download has. d.mu is held.
func (d *downloads) uniqueName(suggested string) string {
	suggested = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) { // such as those that turn what follows around
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

// update notes how far a download is, and returns the event as clients are told it. d.mu is held.
func (d *downloads) update(p downloadEvent, params []byte) []byte {
	one := d.byID[p.GUID]
	file := ""
	if p.State == "completed" {
		file = d.findFile(p)
	}
	if one == nil { // it was taken off the list meanwhile
		if file != "" {
			_ = os.Remove(filepath.Join(d.dir, filepath.FromSlash(file)))
		}
		return params
	}
	one.Received, one.Total = int64(p.Received), int64(p.Total)
	switch {
	case p.State == "completed" && file == "": // it went elsewhere: to where a person or a client with more rights has it
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

// withPath is an event with another filePath.
func withPath(params []byte, shown string) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(params, &all) != nil {
		return params
	}
	all["filePath"] = appendString(nil, shown)
	changed, _ := json.Marshal(all) // it was read from JSON
	return changed
}

// findFile says where the file of a download lies below the run's own folder, "" when it does not. Older Chromes do not tell. d.mu is held.
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

// watchQuota keeps the folder within its quota until ctx ends: whenever something happened, and again and again while something is under way.
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

// enforceQuota cancels what has no room, and removes what had none and was quicker. It says whether something is under way.
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
