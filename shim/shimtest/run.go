// Package shimtest replaces a run's process in tests. It answers on the run's socket and starts no browser.
package shimtest

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"warren/shim"
)

// Run answers like the process of one run. It records what the server sends and what clients request.
type Run struct {
	server        *http.Server
	stopRequested chan struct{} // closed when the server requests a stop
	ended         chan struct{}
	once          sync.Once

	mu           sync.Mutex
	state        shim.State
	refusedPaths map[string]bool
	holdsStop    bool
	end          shim.End
	requests     []*http.Request
	upstreams    []shim.Upstreams
	identities   []shim.Identity
	rules        []shim.Rules
	capabilities []shim.Capability
}

// Serve answers at DIR/NAME.sock until the run or the test ends. state is the answer to GET /state.
func Serve(t testing.TB, dir, name string, state shim.State) *Run {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(dir, name+".sock"))
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{stopRequested: make(chan struct{}), ended: make(chan struct{}), state: state, refusedPaths: map[string]bool{}}
	r.server = &http.Server{Handler: r.handler()} //nolint:gosec // one client, on a socket of this test
	go r.server.Serve(l)                          //nolint:errcheck // it ends with the run
	t.Cleanup(func() { r.server.Close() })
	return r
}

func (r *Run) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) { answer(w, r.State()) })
	mux.HandleFunc("GET /watch", r.watch)
	mux.HandleFunc("GET /traffic", func(w http.ResponseWriter, _ *http.Request) { answer(w, []shim.Traffic{}) })
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) { answer(w, shim.Stats{}) })
	mux.HandleFunc("GET /output", func(w http.ResponseWriter, _ *http.Request) { answer(w, []string{"ERROR:bus.cc(407) no bus"}) })
	mux.HandleFunc("POST /stop", r.stop)
	mux.HandleFunc("PUT /upstreams", func(w http.ResponseWriter, q *http.Request) { receive(r, w, q, &r.upstreams, r.swap) })
	mux.HandleFunc("PUT /rules", func(w http.ResponseWriter, q *http.Request) { receive(r, w, q, &r.rules, noReply[shim.Rules]) })
	mux.HandleFunc("PUT /identity", func(w http.ResponseWriter, q *http.Request) { receive(r, w, q, &r.identities, languages) })
	mux.HandleFunc("PUT /capabilities", func(w http.ResponseWriter, q *http.Request) {
		var all [][]shim.Capability
		receive(r, w, q, &all, noReply[[]shim.Capability])
		if len(all) > 0 {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.capabilities = all[0]
		}
	})
	mux.HandleFunc("POST /picture", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }) // as a process that ends
	mux.HandleFunc("/", r.serveClient)
	return mux
}

// receive appends what the server sends to list, and answers reply of it. A path that Refuse names is answered with 502.
func receive[T any](r *Run, w http.ResponseWriter, q *http.Request, list *[]T, reply func(T) any) {
	var sent T
	err := json.NewDecoder(q.Body).Decode(&sent)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refusedPaths[q.URL.Path] || err != nil {
		http.Error(w, "not now", http.StatusBadGateway)
		return
	}
	*list = append(*list, sent)
	answer(w, reply(sent))
}

func noReply[T any](T) any { return struct{}{} }

func languages(id shim.Identity) any { return map[string]any{"languages": id.Languages} }

// swap makes the first proxy of a list the one in use. The lock is held.
func (r *Run) swap(u shim.Upstreams) any {
	r.state.Upstreams, r.state.UpstreamAt = nil, 0
	for _, up := range u.List {
		r.state.Upstreams = append(r.state.Upstreams, shim.UpstreamMark{ID: up.ID, Revision: up.Revision})
	}
	return shim.Swap{Swapped: true}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the server may be gone
}

// watch stays open until the run ends. Its last line is the end report.
func (r *Run) watch(w http.ResponseWriter, q *http.Request) {
	w.WriteHeader(http.StatusOK)
	http.NewResponseController(w).Flush() //nolint:errcheck // the server may be gone
	select {
	case <-r.ended:
		r.mu.Lock()
		defer r.mu.Unlock()
		answer(w, r.end)
	case <-q.Context().Done():
	}
}

// stop ends the run. With HoldStop it only records the request.
func (r *Run) stop(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	holds := r.holdsStop
	select {
	case <-r.stopRequested:
	default:
		close(r.stopRequested)
	}
	r.mu.Unlock()
	if !holds {
		go r.End(shim.End{Outcome: shim.Stopped})
	}
	select {
	case <-r.ended:
		answer(w, r.end)
	case <-q.Context().Done():
	}
}

// serveClient records a client's request. A socket stays open until its other side closes it.
func (r *Run) serveClient(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.requests = append(r.requests, q.Clone(q.Context()))
	r.mu.Unlock()
	if q.Header.Get("Upgrade") == "" {
		w.Header().Set("Content-Type", "application/octet-stream")
		io.WriteString(w, "the run") //nolint:errcheck // the client may be gone
		return
	}
	ws, err := websocket.Accept(w, q, &websocket.AcceptOptions{InsecureSkipVerify: true,
		Subprotocols: []string{"warren.live", "warren.cdp"}})
	if err != nil {
		return
	}
	defer ws.CloseNow()  //nolint:errcheck // it may be closed
	ws.Read(q.Context()) //nolint:errcheck // it waits for the end
}

// End ends the run with a report. Its socket closes.
func (r *Run) End(e shim.End) {
	r.once.Do(func() {
		r.mu.Lock()
		r.end = e
		r.mu.Unlock()
		close(r.ended)
		go r.server.Shutdown(context.Background()) //nolint:errcheck // answers under way are finished
	})
}

// HoldStop makes the run ignore stop requests until End.
func (r *Run) HoldStop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holdsStop = true
}

// Stopping is closed when the server has requested a stop.
func (r *Run) Stopping() <-chan struct{} { return r.stopRequested }

// Refuse sets whether requests to path, such as /capabilities, are answered with 502.
func (r *Run) Refuse(path string, refuse bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusedPaths[path] = refuse
}

// State returns the run's state.
func (r *Run) State() shim.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Requests returns the clients' requests, in order.
func (r *Run) Requests() []*http.Request { return copyList(r, &r.requests) }

// Upstreams returns the proxy changes, in order.
func (r *Run) Upstreams() []shim.Upstreams { return copyList(r, &r.upstreams) }

// Identities returns the identities that were sent, in order.
func (r *Run) Identities() []shim.Identity { return copyList(r, &r.identities) }

// Rules returns the host rules that were sent, in order.
func (r *Run) Rules() []shim.Rules { return copyList(r, &r.rules) }

// Capabilities returns those that the server sent last.
func (r *Run) Capabilities() []shim.Capability { return copyList(r, &r.capabilities) }

func copyList[T any](r *Run, list *[]T) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]T{}, *list...)
}
