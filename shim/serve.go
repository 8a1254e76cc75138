package shim

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"warren/browser"
)

// This file is the shim's side of the socket. Its folder is 0700 and the socket is the owner's alone: who can connect is
// the user that runs the server.

func (p *process) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, r *http.Request) { send(w, p.snapshot()) })
	mux.HandleFunc("GET /watch", p.watch)
	mux.HandleFunc("GET /stats", p.serveStats)
	mux.HandleFunc("GET /hosts", func(w http.ResponseWriter, r *http.Request) { send(w, p.hosts()) })
	mux.HandleFunc("GET /traffic", p.serveTraffic)
	mux.HandleFunc("GET /downloads", p.serveDownloads)
	mux.HandleFunc("DELETE /downloads", p.serveRemoveDownload)
	mux.HandleFunc("POST /stop", p.serveStop)
	mux.HandleFunc("PUT /upstreams", inTime(p.serveUpstreams))
	mux.HandleFunc("PUT /rules", inTime(p.serveRules))
	mux.HandleFunc("PUT /identity", inTime(p.serveIdentity))
	mux.HandleFunc("POST /picture", p.servePicture)
	mux.HandleFunc("PUT /capabilities", inTime(p.serveCapabilities))
	mux.HandleFunc("DELETE /debug-port", p.serveCloseDebugPort)
	p.handleClients(mux)
	return mux
}

// handleClients adds what clients get to.
func (p *process) handleClients(mux *http.ServeMux) {
	mux.Handle("/cdp/", http.StripPrefix("/cdp", p.noteUse(p.browser.Gateway())))
	mux.Handle("/live/", http.StripPrefix("/live", p.live()))
}

// live is the live view, which tells viewers what they look at.
func (p *process) live() http.Handler {
	view := p.view.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Warren-Profile", p.spec.ProfileID)
		r.Header.Set("X-Warren-Run", p.spec.RunID)
		view.ServeHTTP(w, r)
	})
}

func send(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.Encode(v) //nolint:errcheck // the server may be gone
}

// watch holds the line to a server: while it is open somebody cares for this run. Its lines are notices, those in force first; the last
// one is the end.
func (p *process) watch(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.watchers++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.watchers--
		p.unwatched = time.Now()
		p.mu.Unlock()
	}()
	w.WriteHeader(http.StatusOK)
	told := map[string]time.Time{}
	for {
		news, again := p.tell(told)
		for _, n := range news {
			send(w, watchLine{Notice: &n})
		}
		http.NewResponseController(w).Flush() //nolint:errcheck // the server may be gone
		select {
		case <-again:
		case <-p.ended:
			send(w, p.end)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// serveStop ends the run and answers when the browser is gone.
func (p *process) serveStop(w http.ResponseWriter, r *http.Request) {
	p.stop <- r.URL.Query().Get("force") == "true"
	select {
	case <-p.ended:
		send(w, p.end)
	case <-r.Context().Done():
	}
}

// serveIdentity changes what open and later pages are told, as far as that goes while the browser runs: time zone, position and languages. The answer
// is what they are told of the last, which Chrome may not take.
func (p *process) serveIdentity(w http.ResponseWriter, r *http.Request) {
	var id Identity
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&id); err != nil {
		http.Error(w, "not an identity", http.StatusBadRequest)
		return
	}
	told, err := p.browser.SetIdentity(r.Context(), id)
	if err != nil {
		p.log.Warn("pages did not take all of another identity", "cause", err)
	}
	if _, kept := errors.AsType[*browser.LanguagesError](err); err != nil && !kept {
		http.Error(w, "the browser did not take it", http.StatusBadGateway)
		return
	}
	send(w, toldIdentity{told})
}

// toldIdentity is what pages are told after a change, as far as that may not be what was asked for.
type toldIdentity struct {
	Languages []string `json:"languages"` // null: the host's. A process of before this was answered has no languages to change
}

// serveCapabilities keeps which capabilities the run has, for the next server. Who comes with one is the server's to judge.
func (p *process) serveCapabilities(w http.ResponseWriter, r *http.Request) {
	var all []Capability
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&all); err != nil {
		http.Error(w, "no capabilities", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.capabilities = all
	p.mu.Unlock()
	send(w, struct{}{})
}
