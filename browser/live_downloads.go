package browser

import (
	"encoding/json"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// This file offers the browser's downloads to viewers.

// offers are the downloads of this view. live.mu guards it.
type offers struct {
	list    []*offer // oldest first
	offered bool     // Chrome was told to tell of them
	told    time.Time
}

type offer struct {
	id, name, url   string // id is Chrome's
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

func (d *offer) message() downloadMessage {
	return downloadMessage{"download", d.id, d.name, d.state, d.received, d.total, d.url}
}

// find is the download of an id, nil for none.
func (o *offers) find(id string) *offer {
	if i := slices.IndexFunc(o.list, func(d *offer) bool { return d.id == id }); i >= 0 {
		return o.list[i]
	}
	return nil
}

// add takes one more, in place of the oldest that is over where there are many. It reports false where all of them go on.
func (o *offers) add(d *offer) bool {
	if len(o.list) >= keptDownloads {
		i := slices.IndexFunc(o.list, func(old *offer) bool { return old.state != "running" })
		if i < 0 {
			return false
		}
		o.list = slices.Delete(o.list, i, i+1)
	}
	o.list = append(o.list, d)
	return true
}

// offerDownloads begins to offer what is downloaded from now on. Where a client that may use files of the machine has claimed downloads, they stay its own.
func (l *live) offerDownloads(m *mux) {
	claimed := m.downloads.claimed()
	l.mu.Lock()
	l.files.offered = !claimed
	l.mu.Unlock()
}

const (
	keptDownloads  = 100                    // of a run are offered
	downloadPeriod = 250 * time.Millisecond // how often viewers hear how far downloads are
)

// downloadEvent is Browser.downloadWillBegin or Browser.downloadProgress. l.mu is held.
func (l *live) downloadEvent(method string, params []byte) {
	var p struct {
		GUID     string  `json:"guid"`
		URL      string  `json:"url"`
		Name     string  `json:"suggestedFilename"`
		Total    float64 `json:"totalBytes"`
		Received float64 `json:"receivedBytes"`
		State    string  `json:"state"`
		Path     string  `json:"filePath"`
	}
	if json.Unmarshal(params, &p) != nil || !l.files.offered {
		return
	}
	d := l.files.find(p.GUID)
	if method == "Browser.downloadWillBegin" {
		if d != nil {
			return
		}
		if d = (&offer{id: p.GUID, name: fileName(p.Name), url: cut(p.URL, maxAddress), state: "running"}); l.files.add(d) {
			l.tellAll(d.message())
		}
		return
	}
	if d == nil {
		return
	}
	d.received, d.total = int64(p.Received), int64(p.Total)
	switch p.State {
	case "completed":
		if d.state, d.path = "done", l.b.mux.downloads.pathOf(p.GUID); d.path == "" {
			d.path = p.Path
		}
	case "canceled":
		d.state = "failed"
	default:
		if time.Since(l.files.told) < downloadPeriod {
			return
		}
		l.files.told = time.Now()
	}
	l.tellAll(d.message())
}

// serveDownload gives a viewer a file.
func (l *live) serveDownload(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(readonlyHeader) != "" {
		http.Error(w, "this link is for watching only", http.StatusForbidden)
		return
	}
	l.mu.Lock()
	d := l.files.find(r.PathValue("id"))
	var name, path string
	if d != nil && d.state == "done" {
		name, path = d.name, d.path
	}
	l.mu.Unlock()
	if own := l.b.mux.downloads.dir; r.Header.Get(filesHeader) == "" && filepath.Dir(path) != own && filepath.Dir(filepath.Dir(path)) != own {
		path = "" // it lies elsewhere on the machine
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
