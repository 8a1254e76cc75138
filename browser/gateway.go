package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
)

// gateway is the DevTools HTTP interface of a run, like that of Chrome's debugging port
// (content/browser/devtools/devtools_http_handler.cc).
type gateway struct {
	b       *Browser
	id      string // of the browser socket; new for each run
	clients atomic.Int64
	traffic clientTraffic
	guard   func() *guard // returns the filter of clients' commands
}

func newGateway(b *Browser) *gateway {
	return &gateway{b: b, id: uuid.NewString(), guard: sync.OnceValue(b.newGuard)}
}

func (b *Browser) newGuard() *guard {
	g := newGuard(&b.spec)
	g.extensions, g.filesDropped = b.extensions, &b.mux.controller.filesDropped
	return g
}

// baseHeader holds the start of the addresses in answers, "ws://host:port/path". The server sets it.
const baseHeader = "X-Warren-Base"

// FilesHeader says that a client or viewer may use files of this machine, not only those of the run. The server sets it and removes what a
// client sent.
const FilesHeader = "X-Warren-Files"

// protocol lists the protocol's domains, commands and events for /json/protocol. Chrome serves it on its port only.
//
//go:embed protocol.json
var protocol []byte

// Gateway returns the HTTP handler for DevTools clients. It serves /json/version, /json/list, /json/protocol, PUT /json/new, and the
// sockets /devtools/browser/{id} and /devtools/page/{id}; the browser's socket is also at "/". Addresses in answers start with the
// request's X-Warren-Base. A request whose Origin is not that of X-Warren-Base is refused. X-Warren-Files gives access to files of this
// machine. The caller authenticates.
func (b *Browser) Gateway() http.Handler {
	g := b.gateway
	mux := http.NewServeMux()
	for _, end := range []string{"", "/{$}"} {
		mux.HandleFunc("GET /json/version"+end, g.serveRunning(g.version))
		mux.HandleFunc("GET /json"+end, g.serveRunning(g.list))
		mux.HandleFunc("GET /json/list"+end, g.serveRunning(g.list))
		mux.HandleFunc("GET /json/protocol"+end, serveJSON(func(*http.Request) (any, error) { return json.RawMessage(protocol), nil }))
	}
	mux.HandleFunc("PUT /json/new", g.serveRunning(g.newPage))
	mux.HandleFunc("GET /json/activate/{id}", g.serveRunning(pageCommand("Target.activateTarget", "Target activated")))
	mux.HandleFunc("GET /json/close/{id}", g.serveRunning(pageCommand("Target.closeTarget", "Target is closing")))
	mux.HandleFunc("GET /devtools/browser/{id}", g.browserSocket)
	mux.HandleFunc("GET /devtools/page/{id}", g.pageSocket)
	mux.HandleFunc("GET /{$}", g.browserSocket)
	return SameOrigin(g.noteClient(mux))
}

// noteClient tells the run's downloads about a client before its request is handled.
func (g *gateway) noteClient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m, err := g.b.running(); err == nil {
			m.downloads.noteClient(r.Header.Get(FilesHeader) != "")
		}
		next.ServeHTTP(w, r)
	})
}

// Clients returns the number of open sockets of the gateway.
func (b *Browser) Clients() int { return int(b.gateway.clients.Load()) }

// ClientTraffic returns what the gateway's sockets have carried.
func (b *Browser) ClientTraffic() ClientTraffic {
	t := &b.gateway.traffic
	return ClientTraffic{t.in.Load(), t.out.Load(), t.bytesIn.Load(), t.bytesOut.Load()}
}

// SameOrigin refuses requests of pages of other origins. Programs send no Origin. The same-origin policy of browsers does not cover
// WebSockets.
func SameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origins := r.Header.Values("Origin")
		if len(origins) > 1 || len(origins) == 1 && !isOrigin(baseURL(r), origins[0]) {
			http.Error(w, "this origin is not allowed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOrigin reports whether origin is that of a page at base's host.
func isOrigin(base, origin string) bool {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return false
	}
	scheme := map[string]string{"ws": "http", "wss": "https", "http": "http", "https": "https"}[u.Scheme]
	return scheme != "" && strings.EqualFold(origin, scheme+"://"+u.Host)
}

// baseURL returns what addresses for this client start with, without a slash at the end.
func baseURL(r *http.Request) string {
	if b := r.Header.Get(baseHeader); b != "" {
		return strings.TrimRight(b, "/")
	}
	return "ws://" + r.Host
}

// httpError is an answer with another status than 200.
type httpError struct {
	status  int
	message string
}

func (e *httpError) Error() string { return e.message }

// serveJSON serves the result of f as JSON, or as plain text if it is a string.
func serveJSON(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), queryTimeout)
		defer cancel()
		value, err := f(r.WithContext(ctx))
		if err != nil {
			writeError(w, err)
			return
		}
		text, isText := value.(string)
		body := []byte(text)
		kind := "text/plain; charset=UTF-8"
		if !isText {
			kind = "application/json; charset=UTF-8"
			if body, err = json.MarshalIndent(value, "", "   "); err != nil {
				writeError(w, err)
				return
			}
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(body)
	}
}

// serveRunning is serveJSON for what only a running browser can answer.
func (g *gateway) serveRunning(f func(*mux, *http.Request) (any, error)) http.HandlerFunc {
	return serveJSON(func(r *http.Request) (any, error) {
		m, err := g.b.running()
		if err != nil {
			return nil, err
		}
		return f(m, r)
	})
}

// writeError answers an error. Chrome's own errors have status 500, as on its port.
func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	he, isHTTP := errors.AsType[*httpError](err)
	switch {
	case isHTTP:
		status = he.status
	case errors.Is(err, errNotStarted), errors.Is(err, errPipeEnded):
		status = http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
	}
	http.Error(w, err.Error(), status)
}

// version serves /json/version.
func (g *gateway) version(m *mux, r *http.Request) (any, error) {
	var v struct {
		ProtocolVersion string `json:"protocolVersion"`
		Product         string `json:"product"`
		Revision        string `json:"revision"`
		UserAgent       string `json:"userAgent"`
		JSVersion       string `json:"jsVersion"`
	}
	if err := m.call(r.Context(), "", "Browser.getVersion", nil, &v); err != nil {
		return nil, err
	}
	return map[string]string{
		"Browser":              v.Product,
		"Protocol-Version":     v.ProtocolVersion,
		"User-Agent":           v.UserAgent,
		"V8-Version":           v.JSVersion,
		"WebKit-Version":       "537.36 (" + v.Revision + ")",
		"webSocketDebuggerUrl": baseURL(r) + "/devtools/browser/" + g.id,
	}, nil
}

// targetEntry is one target of /json/list.
type targetEntry struct {
	Description          string `json:"description"`
	DevtoolsFrontendURL  string `json:"devtoolsFrontendUrl"`
	ID                   string `json:"id"`
	ParentID             string `json:"parentId,omitempty"`
	Title                string `json:"title"`
	Type                 string `json:"type"`
	URL                  string `json:"url"`
	WebSocketDebuggerURL string `json:"webSocketDebuggerUrl"`
}

func entryOf(r *http.Request, t TargetInfo) targetEntry {
	address := baseURL(r) + "/devtools/page/" + t.TargetID
	scheme, rest, _ := strings.Cut(address, "://")
	return targetEntry{
		DevtoolsFrontendURL:  "devtools://devtools/bundled/inspector.html?" + scheme + "=" + rest,
		ID:                   t.TargetID,
		ParentID:             t.ParentID,
		Title:                t.Title,
		Type:                 t.Type,
		URL:                  t.URL,
		WebSocketDebuggerURL: address,
	}
}

// list serves /json/list.
func (g *gateway) list(m *mux, r *http.Request) (any, error) {
	targets, err := m.targets(r.Context())
	all := []targetEntry{}
	for _, t := range targets {
		if isControlled(t.Type) && !m.isSettingsPage(t.TargetID) && !m.isHidden(t) {
			all = append(all, entryOf(r, t))
		}
	}
	return all, err
}

// newPage serves PUT /json/new?{url}.
func (g *gateway) newPage(m *mux, r *http.Request) (any, error) {
	address, err := url.QueryUnescape(r.URL.RawQuery)
	if err == nil && address == "" {
		address = BlankPage
	}
	if err != nil || CheckURL(address) != nil {
		return nil, &httpError{http.StatusBadRequest, "only http, https and about:blank can be opened here"}
	}
	var made reference
	if err := m.call(r.Context(), "", "Target.createTarget", map[string]string{"url": BlankPage}, &made); err != nil {
		return nil, err
	}
	if address != BlankPage {
		go m.controller.navigateNewTab(made.TargetID, address, nil, func() {}) // the client attaches after this answer
	}
	return entryOf(r, TargetInfo{TargetID: made.TargetID, Type: "page", URL: address}), nil
}

// pageCommand serves a command on one page, with done as the answer.
func pageCommand(method, done string) func(*mux, *http.Request) (any, error) {
	return func(m *mux, r *http.Request) (any, error) {
		id := r.PathValue("id")
		targets, err := m.targets(r.Context())
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(targets, func(t TargetInfo) bool { return t.TargetID == id && !m.isHidden(t) }) {
			return nil, &httpError{http.StatusNotFound, "No such target id: " + id}
		}
		return done, m.call(r.Context(), "", method, map[string]string{"targetId": id}, nil)
	}
}
