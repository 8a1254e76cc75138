package shim

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"warren/browser"
)

// Serves the shim's socket. Its folder has mode 0700 and the socket belongs to the owner, so that only the server's
// user can connect.

// handler answers the server. Requests thaw a frozen browser, but for those that never need it.
func (p *process) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", p.awake(p.browserHandler()))
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, r *http.Request) { writeJSON(w, p.snapshot()) })
	mux.HandleFunc("GET /watch", p.watch)
	mux.HandleFunc("GET /stats", p.serveStats)
	mux.HandleFunc("GET /hosts", func(w http.ResponseWriter, r *http.Request) { writeJSON(w, p.hosts()) })
	mux.HandleFunc("GET /output", func(w http.ResponseWriter, r *http.Request) { writeJSON(w, p.browser.Output()) })
	mux.HandleFunc("GET /traffic", p.serveTraffic)
	mux.HandleFunc("GET /downloads", p.serveDownloads)
	mux.HandleFunc("PUT /yield", refuseExpired(p.serveYield))
	mux.HandleFunc("PUT /upstreams", refuseExpired(p.serveUpstreams))
	mux.HandleFunc("PUT /rules", refuseExpired(p.serveRules))
	mux.HandleFunc("PUT /capabilities", refuseExpired(p.serveCapabilities))
	mux.HandleFunc("DELETE /debug-port", p.serveCloseDebugPort)
	return mux
}

// browserHandler answers the requests that need the browser.
func (p *process) browserHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("DELETE /downloads", p.serveRemoveDownload)
	mux.HandleFunc("POST /stop", p.serveStop)
	mux.HandleFunc("PUT /identity", refuseExpired(p.serveIdentity))
	mux.HandleFunc("POST /picture", p.servePicture)
	p.stateKeeper().handle(mux)
	p.handleClients(mux)
	return mux
}

// handleClients adds the handlers that clients reach.
func (p *process) handleClients(mux *http.ServeMux) {
	mux.Handle("/cdp/", http.StripPrefix("/cdp", p.yielding.endAt(p.recordUse(p.browser.Gateway()))))
	mux.Handle("/live/", http.StripPrefix("/live", p.yielding.endAt(p.live())))
}

// live serves the live view and adds the ids of the profile and the run.
func (p *process) live() http.Handler {
	view := p.view.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Warren-Profile", p.spec.ProfileID)
		r.Header.Set("X-Warren-Run", p.spec.RunID)
		view.ServeHTTP(w, r)
	})
}

// watch streams notices to a server, current ones first, and the end as the last line. While the connection is open,
// the run counts as watched.
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
	sent := map[string]time.Time{}
	for {
		news, changed := p.newNotices(sent)
		for _, n := range news {
			writeJSON(w, watchLine{Notice: &n})
		}
		http.NewResponseController(w).Flush() //nolint:errcheck // the server may be gone
		select {
		case <-changed:
		case <-p.ended:
			writeJSON(w, p.end)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// serveStop ends the run and answers when the browser has exited.
func (p *process) serveStop(w http.ResponseWriter, r *http.Request) {
	p.stop <- r.URL.Query().Get("force") == "true"
	select {
	case <-p.ended:
		writeJSON(w, p.end)
	case <-r.Context().Done():
	}
}

// serveYield makes the run yield for the milliseconds that ?ms= says.
func (p *process) serveYield(w http.ResponseWriter, r *http.Request) {
	ms, err := strconv.Atoi(r.URL.Query().Get("ms"))
	if err != nil || ms > int(maxYield/time.Millisecond) {
		http.Error(w, "ms is no number, or more than the longest time", http.StatusBadRequest)
		return
	}
	p.yielding.begin(time.Duration(ms) * time.Millisecond)
	writeJSON(w, struct{}{})
}

// serveIdentity changes what open and later pages see: time zone, position and languages. Other members need a
// restart. It answers with the languages that pages see now, since Chrome may refuse a change.
func (p *process) serveIdentity(w http.ResponseWriter, r *http.Request) {
	var id Identity
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&id); err != nil {
		http.Error(w, "not an identity", http.StatusBadRequest)
		return
	}
	languages, err := p.browser.SetIdentity(r.Context(), id)
	if err != nil {
		p.log.Warn("pages did not take all of another identity", "cause", err)
	}
	if _, kept := errors.AsType[*browser.LanguagesError](err); err != nil && !kept {
		http.Error(w, "the browser did not take it", http.StatusBadGateway)
		return
	}
	writeJSON(w, identityResult{languages})
}

// identityResult is the part of a changed identity that may differ from the request.
type identityResult struct {
	Languages []string `json:"languages"` // null: the host's; older processes answer null, since they cannot change languages
}

// serveCapabilities stores the run's capabilities for the next server. The server alone checks a client's capability.
func (p *process) serveCapabilities(w http.ResponseWriter, r *http.Request) {
	var all []Capability
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&all); err != nil {
		http.Error(w, "no capabilities", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.capabilities = all
	p.mu.Unlock()
	writeJSON(w, struct{}{})
}

// Refuses a change that the server has given up. A shim that was suspended would otherwise apply it on resuming,
// after the server has reported that nothing changed. Of two changes the older could be applied last.

// deadlineHeader holds the deadline of a change in Unix milliseconds. Both sides read the same clock.
const deadlineHeader = "X-Warren-Until"

// setDeadline tells the run's process when the caller gives up.
func setDeadline(ctx context.Context, r *http.Request) {
	if until, bounded := ctx.Deadline(); bounded && r.Method == http.MethodPut {
		r.Header.Set(deadlineHeader, strconv.FormatInt(until.UnixMilli(), 10))
	}
}

// refuseExpired refuses changes whose deadline has passed.
func refuseExpired(change http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		until, err := strconv.ParseInt(r.Header.Get(deadlineHeader), 10, 64)
		if err == nil && time.Now().UnixMilli() >= until {
			http.Error(w, "it came too late", http.StatusRequestTimeout)
			return
		}
		change(w, r)
	}
}
