package web

import (
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// runningAPI has many running profiles, and counts the requests for their pictures.
type runningAPI struct {
	site *Site

	mu       sync.Mutex
	pictures map[string]int // requests per profile
	at       int            // requests in progress
	most     int            // maximum of at
	usage    int            // requests for the runs
	held     chan struct{}  // closed when pictures may be answered
}

const running = 40

func (a *runningAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h, ok := a.site.Lookup(r.URL.Path); ok {
		h.ServeHTTP(w, r)
		return
	}
	if id, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/profiles/"), "/screenshot"); ok {
		a.picture(w, r, id)
		return
	}
	if r.URL.Path == "/api/v1/events" {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": hello\n\n")
		http.NewResponseController(w).Flush() //nolint:errcheck // the client may be gone
		<-r.Context().Done()
		return
	}
	if r.URL.Path == "/api/v1/summary" {
		json.NewEncoder(w).Encode(noCounts()) //nolint:errcheck // the client may be gone
		return
	}
	var data []any
	for i := range running {
		p := map[string]any{"id": fmt.Sprint("p", i), "workspaceId": "default", "name": fmt.Sprint("Shop ", i), "os": "linux",
			"browserVersion": "156", "tags": []string{}, "status": "running"}
		run := map[string]any{"profileId": p["id"], "runId": fmt.Sprint("r", i), "startedAt": "2026-01-01T00:00:00.000Z"}
		p["run"] = run
		if r.URL.Path != "/api/v1/runs" {
			data = append(data, p)
			continue
		}
		run = maps.Clone(run)
		if i > 0 { // the first one's is unknown
			run["usage"] = map[string]any{"cpuPercent": 3.14, "memoryBytes": 262144000, "memoryKind": "pss", "processes": 12,
				"bytesUp": 1500, "bytesDown": nil, "connections": 1, "clients": 1, "viewers": 2}
		}
		data = append(data, run)
	}
	if r.URL.Path == "/api/v1/runs" {
		a.mu.Lock()
		a.usage++
		a.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"data": data, "total": len(data)}) //nolint:errcheck // the client may be gone
}

func (a *runningAPI) picture(w http.ResponseWriter, r *http.Request, id string) {
	a.mu.Lock()
	a.pictures[id]++
	a.at++
	a.most = max(a.most, a.at)
	a.mu.Unlock()
	select {
	case <-a.held:
	case <-r.Context().Done():
	}
	defer func() {
		a.mu.Lock()
		a.at--
		a.mu.Unlock()
	}()
	switch {
	case r.Header.Get("Authorization") != "Bearer k" || r.URL.RawQuery != "size=small":
		w.WriteHeader(http.StatusBadRequest)
	case id == "p1":
		w.WriteHeader(http.StatusConflict)
	case id == "p2":
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		img := image.NewRGBA(image.Rect(0, 0, 320, 180))
		draw.Draw(img, img.Bounds(), image.NewUniform(color.RGBA{255, 0, 0, 255}), image.Point{}, draw.Src)
		w.Header().Set("Content-Type", "image/jpeg")
		jpeg.Encode(w, img, nil) //nolint:errcheck // the client may be gone
	}
}

func (a *runningAPI) count(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pictures[id]
}

// listPictures: running profiles show pictures and usage. Pictures are fetched one after another, and again after a
// while, but not for invisible rows. A profile without a picture is not fetched again.
func listPictures(t *testing.T, d *driven) {
	a := &runningAPI{site: newSite(t), pictures: map[string]int{}, held: make(chan struct{})}
	server := httptest.NewServer(a)
	defer server.Close()
	defer server.CloseClientConnections()
	p := d.open(t, server.URL+"/#/profiles", 1500, 800, 1, `sessionStorage.setItem('warren.key', 'k');
		{ const real = setTimeout; window.setTimeout =
			(work, ms, ...rest) => real(work, ms > 4000 && ms <= 15_000 ? ms / 150 : ms, ...rest); }`)
	defer p.close()
	waitFor(t, "the first question", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.at > 0 })
	// A second request would come now.
	p.eval("document.dispatchEvent(new Event('visibilitychange')), new Promise((go) => setTimeout(go, 200))", nil)
	close(a.held)
	p.until("[...document.querySelectorAll('.preview:not(.is-empty) canvas')].some((it) => it.getContext('2d')." +
		"getImageData(100, 100, 1, 1).data[0] > 250)")
	waitFor(t, "a second picture of the first", func() bool { return a.count("p0") >= 3 })
	waitFor(t, "three tries of one that has none yet", func() bool { return a.count("p2") >= 3 })
	before := a.count("p0")
	waitFor(t, "more pictures of the first", func() bool { return a.count("p0") >= before+2 })
	if none, later, unseen := a.count("p1"), a.count("p2"), a.count(fmt.Sprint("p", running-1)); none != 1 || later != 3 || unseen != 0 {
		t.Errorf("asked %d times for one without a picture, %d times for one without a picture yet, and %d times for an invisible one",
			none, later, unseen)
	}
	if a.most != 1 {
		t.Errorf("%d pictures were asked for at once", a.most)
	}
	p.eval("document.querySelector('.grid').scrollTop = 1e6", nil)
	waitFor(t, "the last one's picture", func() bool { return a.count(fmt.Sprint("p", running-1)) > 0 })
	p.eval("location.hash = '#/running'", nil)
	p.until("document.querySelector('[data-id=p3] .cell-resources')?.innerText.includes('262 MB · CPU 3.1 %')")
	var words []string
	p.eval("['p3', 'p0'].map((id) => ['resources', 'traffic', 'clients'].map((cell) => "+
		"document.querySelector(`[data-id=${id}] .cell-${cell}`).innerText).join(' '))", &words)
	const uses = "262 MB · CPU 3.1 % ↓ 0 B ↑ 1.5 kB 1 client 2 viewers"
	if got := strings.Join(strings.Fields(words[0]), " "); got != uses || strings.Join(strings.Fields(words[1]), " ") != "– – –" {
		t.Errorf("what runs use: %q", words)
	}
	a.mu.Lock()
	reads := a.usage
	a.mu.Unlock()
	waitFor(t, "newer figures", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return a.usage > reads+1 })
	var link string
	p.eval("document.querySelector('[aria-label=\"View Shop 3\"]').hash", &link)
	if link != "#/live?profile=p3" {
		t.Errorf("View leads to %q", link)
	}
	p.wantQuiet()
}
