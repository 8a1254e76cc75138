package live

import (
	"encoding/json"
	"mime"
	"net/http"
	"os"
	"slices"
	"time"

	"warren/browser"
)

// downloads are the downloads that viewers are offered. View.mu guards them.
type downloads struct {
	list    []*download // oldest first
	offered bool        // new ones are offered: no client has redirected downloads
	sent    time.Time   // when viewers were last told of progress
}

type download struct {
	id, name, url   string // id is Chrome's GUID
	state           string // running, done or failed
	received, total int64
	path            string
}

type downloadMessage struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	Name     string `json:"name"`
	State    string `json:"state"`
	Received int64  `json:"received"`
	Total    int64  `json:"total"`
	URL      string `json:"url"`
}

const (
	maxDownloads   = 100                    // that are offered
	downloadPeriod = 250 * time.Millisecond // between two messages about progress
)

func (d *download) message() downloadMessage {
	return downloadMessage{"download", d.id, d.name, d.state, d.received, d.total, d.url}
}

// find returns the download with an id, nil for none.
func (o *downloads) find(id string) *download {
	if i := slices.IndexFunc(o.list, func(d *download) bool { return d.id == id }); i >= 0 {
		return o.list[i]
	}
	return nil
}

// add appends a download. A full list drops the oldest one that has ended, or refuses when all of them are running.
func (o *downloads) add(d *download) bool {
	if len(o.list) >= maxDownloads {
		i := slices.IndexFunc(o.list, func(old *download) bool { return old.state != "running" })
		if i < 0 {
			return false
		}
		o.list = slices.Delete(o.list, i, i+1)
	}
	o.list = append(o.list, d)
	return true
}

// onDownloadEvent handles Browser.downloadWillBegin and Browser.downloadProgress (CDP). l.mu is held.
func (l *View) onDownloadEvent(method string, params []byte) {
	var p struct {
		GUID     string  `json:"guid"`
		URL      string  `json:"url"`
		Name     string  `json:"suggestedFilename"`
		Total    float64 `json:"totalBytes"`
		Received float64 `json:"receivedBytes"`
		State    string  `json:"state"`
		Path     string  `json:"filePath"`
	}
	if json.Unmarshal(params, &p) != nil || !l.downloads.offered {
		return
	}
	d := l.downloads.find(p.GUID)
	if method == "Browser.downloadWillBegin" {
		if d == nil {
			d = &download{id: p.GUID, name: browser.FileName(p.Name), url: truncate(p.URL, maxAddress), state: "running"}
			if l.downloads.add(d) {
				l.broadcast(d.message())
			}
		}
		return
	}
	if d == nil {
		return
	}
	d.received, d.total = int64(p.Received), int64(p.Total)
	switch p.State {
	case "completed":
		if d.state, d.path = "done", l.chrome.DownloadPath(p.GUID); d.path == "" {
			d.path = p.Path
		}
	case "canceled":
		d.state = "failed"
	default:
		if time.Since(l.downloads.sent) < downloadPeriod {
			return
		}
		l.downloads.sent = time.Now()
	}
	l.broadcast(d.message())
}

// serveDownload answers a downloaded file. A viewer that may not use files of this machine gets only files of the run's own folder.
func (l *View) serveDownload(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(readonlyHeader) != "" {
		http.Error(w, "this link is for watching only", http.StatusForbidden)
		return
	}
	l.mu.Lock()
	d := l.downloads.find(r.PathValue("id"))
	var name, path string
	if d != nil && d.state == "done" {
		name, path = d.name, d.path
	}
	l.mu.Unlock()
	if path != "" && r.Header.Get(browser.FilesHeader) == "" && !l.chrome.OwnsDownload(path) {
		path = ""
	}
	file, err := os.Open(path)
	if path == "" || err != nil {
		http.Error(w, "there is no such download", http.StatusNotFound)
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	http.ServeContent(w, r, "", time.Time{}, file)
}
