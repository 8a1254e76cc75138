package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/pool"
	"warren/problem"
	"warren/store"
	"warren/web"
)

const apiPrefix = "/api/v1"

// maxBody is the largest body of an ordinary operation, in bytes.
const maxBody = 1 << 20

// server answers HTTP. Its dependencies are its fields; everything it needs is there before it serves.
type server struct {
	cfg       *serveConfig
	log       *slog.Logger
	store     *store.Store
	keys      *keyring
	tickets   *tickets
	guesses   *guesses
	streams   *streams
	uploads   *streams      // by profile
	listing   chan struct{} // holds a token for each list of downloads that is being read
	runs      *runs
	events    *events.Log
	pool      *pool.Pool
	site      *web.Site
	api       huma.API
	mux       *http.ServeMux
	needs     map[string]store.Right // what each pattern of mux needs
	once      *idempotency
	sockets   keyedSockets
	hosts     map[string]bool // the Host values that requests may carry
	origins   map[string]bool // the Origin values that are ours
	port      string          // that this server listens on
	writeTime time.Duration   // how long a reader of a stream may take for one write
	openapi   []byte
}

// request is what is known of the request under way; it travels in the context.
type request struct {
	id     string
	base   string // how the client reached this server: scheme://host, and the path that a reverse proxy has it under
	caller *caller
	place  *store.GetIdempotencyParams // where the answer will be kept, with an Idempotency-Key
	server *server
	http   *http.Request   // as it came in
	accept string          // what the client wants, where there is something to choose
	extra  []problem.Fault // query parameters that the operation does not know
	answer answerWriter
}

type requestKey struct{}

func requestOf(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	if r == nil {
		return &request{}
	}
	return r
}

func requestID(ctx context.Context) string { return requestOf(ctx).id }
func callerOf(ctx context.Context) *caller { return requestOf(ctx).caller }

// routes is the table of operations: one line each, method and path together.
func (s *server) routes() {
	// The ten operations of interface.md.
	add(s, scopeRead, "GET /profiles", "listProfiles", "List the profiles of a workspace", s.listProfiles)
	add(s, scopeRead, "GET /profiles/{id}", "getProfile", "Get one profile", s.getProfile)
	add(s, scopeWrite, "POST /profiles", "createProfile", "Create a profile", s.createProfile)
	add(s, scopeWrite, "PUT /profiles/{id}", "updateProfile", "Update a profile", s.updateProfile)
	add(s, scopeWrite, "DELETE /profiles/{id}", "deleteProfile", "Delete a profile", s.deleteProfile)
	add(s, scopeRun, "POST /profiles/{id}/start", "startProfile", "Start a profile's browser", s.startProfile)
	add(s, scopeRead, "GET /proxies", "listProxies", "List the proxies of a workspace", s.listProxies)
	add(s, scopeWrite, "POST /proxies", "addProxy", "Add a proxy", s.addProxy)
	add(s, scopeRun, "POST /proxies/{id}/check", "checkProxy", "Check a proxy", s.checkProxy)
	add(s, scopeWrite, "DELETE /proxies/{id}", "deleteProxy", "Delete a proxy", s.deleteProxy)
	// Beyond the ten.
	add(s, scopeWrite, "PATCH /profiles/{id}", "patchProfile", "Update a profile (the same as PUT)", s.updateProfile)
	add(s, scopeRun, "POST /profiles/{id}/stop", "stopProfile", "Stop a profile's browser", s.stopProfile)
	add(s, scopeRun, "POST /profiles/{id}/restart", "restartProfile", "Restart a profile's browser", s.restartProfile)
	add(s, scopeRun, "POST /profiles/{id}/failback", "failbackProfile", "Take a run back to its profile's own proxy", s.failback)
	add(s, scopeRun, "POST /profiles/{id}/capabilities", "createCapability", "Let somebody else drive or watch a run", s.createCapability)
	add(s, scopeRead, "GET /profiles/{id}/capabilities", "listCapabilities", "List what was made to drive or watch a run", s.listCapabilities)
	add(s, scopeRun, "DELETE /profiles/{id}/capabilities/{capabilityId}", "revokeCapability", "Revoke a capability", s.revokeCapability)
	add(s, scopeRun, "GET /profiles/{id}/downloads", "listDownloads", "List what a profile's browser downloaded", s.listDownloads)
	add(s, scopeRun, "DELETE /profiles/{id}/downloads/{name}", "deleteDownload", "Delete a download, or cancel it", s.deleteDownload)
	add(s, scopeRun, "GET /profiles/{id}/screenshot", "screenshotProfile", "Take a picture of a page", s.screenshot)
	add(s, scopeRun, "GET /profiles/{id}/pdf", "printProfile", "Print a page as PDF", s.pdf)
	add(s, scopeRun, "POST /profiles/{id}/leak-test", "leakTest", "Try every way out of a profile's browser", s.leakTest)
	add(s, scopeRead, "GET /profiles/{id}/explain", "explainProfile", "Say where each effective setting of a profile came from", s.explainProfile)
	add(s, scopeWrite, "POST /profiles/{id}/restore", "restoreProfile", "Take a profile out of the trash", s.restoreProfile)
	add(s, scopeRead, "POST /profiles/batch", "batchProfiles", "Do one thing to many profiles", s.batch)
	add(s, scopeRead, "GET /profiles/{id}/runs", "listProfileRuns", "List a profile's runs", s.listProfileRuns)
	add(s, scopeRead, "GET /runs", "listRuns", "List what runs now", s.listRuns)
	add(s, scopeRead, "GET /runs/{runId}/hosts", "listRunHosts", "List the hosts that a run connected to", s.listRunHosts)
	add(s, scopeRead, "GET /pressure", "getPressure", "Say how much room there is for more runs", s.pressure)
	add(s, scopeRead, "GET /proxies/{id}", "getProxy", "Get one proxy", s.getProxy)
	add(s, scopeRead, "GET /proxies/{id}/traffic", "proxyTraffic", "Say what went through a proxy", s.proxyTraffic)
	add(s, scopeRead, "GET /profiles/{id}/traffic", "profileTraffic", "Say what a profile's browsers sent and got", s.profileTraffic)
	add(s, scopeWrite, "PUT /proxies/{id}", "updateProxy", "Update a proxy", s.updateProxy)
	add(s, scopeWrite, "PATCH /proxies/{id}", "patchProxy", "Update a proxy (the same as PUT)", s.updateProxy)
	add(s, scopeRun, "POST /proxies/{id}/rotate", "rotateProxy", "Make a proxy change its exit", s.rotateProxy)
	add(s, scopeRun, "POST /proxies/check-all", "checkAllProxies", "Check many proxies at once", s.checkAll)
	add(s, scopeRead, "GET /proxies/{id}/checks", "listProxyChecks", "List the last checks of a proxy", s.listChecks)
	add(s, scopeRun, "POST /proxies/check", "checkUnsavedProxy", "Check a proxy that is not saved", s.checkUnsavedProxy)
	add(s, scopeWrite, "POST /proxies/import", "importProxies", "Import a list of proxies", s.importProxies)
	add(s, scopeRead, "GET /proxies/export", "exportProxies", "Export proxies", s.exportProxies)
	add(s, scopeSecrets, "GET /proxies/{id}/secret", "proxySecret", "Show a proxy's password", s.proxySecret)
	add(s, scopeAdmin, "GET /audit", "listAudit", "List who saw secrets", s.listAudit)
	add(s, scopeAdmin, "GET /keys", "listKeys", "List the API keys", s.listKeys)
	add(s, scopeAdmin, "POST /keys", "createKey", "Create an API key", s.createKey)
	add(s, scopeAdmin, "DELETE /keys/{id}", "revokeKey", "Revoke an API key", s.revokeKey)
	add(s, scopeAny, "POST /tickets", "createTicket", "Let a web page open one socket", s.createTicket)
	add(s, scopeRead, "GET /browsers", "listBrowsers", "List the browsers of this machine", s.listBrowsers)
	add(s, scopeRead, "GET /workspaces", "listWorkspaces", "List the workspaces with their counts", s.listWorkspaces)
	// Streams and sockets, which huma does not do.
	s.stream(scopeRead, "GET /events", s.streamEvents)
	s.stream(scopeRun, "GET /profiles/{id}/downloads/{name}", s.getDownload)
	s.stream(scopeRun, "PUT /profiles/{id}/uploads/{name}", s.putUpload)
	s.stream(scopeRun, "/profiles/{id}/cdp", s.profileGateway)
	s.stream(scopeRun, "/profiles/{id}/cdp/{path...}", s.profileGateway)
	s.stream(scopeRun, "GET /profiles/{id}/live", s.profileLive)
	s.stream(scopeRun, "GET /profiles/{id}/live/{path...}", s.profileLive)
}

// newServer wires the operations. The listener's address completes the list of hosts.
func newServer(s *server) *server {
	useOurErrors()
	s.mux, s.needs, s.streams = http.NewServeMux(), map[string]store.Right{}, newStreams(maxConnections())
	s.sockets = keyedSockets{byKey: map[string]map[context.Context]context.CancelFunc{}}
	s.uploads, s.listing = newUploads(), make(chan struct{}, listsAtOnce)
	s.api = humago.NewWithPrefix(s.mux, apiPrefix, s.humaConfig())
	s.routes()
	s.openapi = s.describe()
	return s
}

// useOurErrors replaces huma's package-wide hooks, once: its own error model repeats what was sent,
// passwords included, and its matching of names ignores case.
var useOurErrors = sync.OnceFunc(func() {
	huma.NewError = newHumaError
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		if status == http.StatusUnprocessableEntity {
			for _, f := range requestOf(ctx.Context()).extra {
				errs = append(errs, f)
			}
		}
		return newHumaError(status, msg, errs...)
	}
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
})

func (s *server) humaConfig() huma.Config {
	c := huma.DefaultConfig("Warren", version)
	c.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	c.CreateHooks = nil // no $schema members, no Link headers
	c.DocsPath, c.SchemasPath, c.OpenAPIPath = "", "", ""
	c.Formats = map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()}
	c.DefaultFormat = "application/json"
	c.Transformers = []huma.Transformer{func(ctx huma.Context, _ string, v any) (any, error) {
		if p, ok := v.(*Problem); ok {
			v = occurrence(ctx.Context(), s.log, p.told)
		}
		body, err := newBody(v) // here and not in the format: the status is not sent yet, so that the length can be told
		if err == nil {
			ctx.SetHeader("Content-Length", strconv.Itoa(len(*body)))
		}
		return body, err
	}}
	describeAPI(c.OpenAPI)
	return c
}

// jsonFormat reads JSON strictly (bodies.go), and names that differ in case are refused.
func jsonFormat() huma.Format {
	return huma.Format{
		Marshal:   func(w io.Writer, v any) error { return v.(*body).writeTo(w) },
		Unmarshal: readBody,
	}
}

// add registers one operation: who may call it, where it is, and what it does.
func add[I, O any](s *server, scope store.Right, pattern, id, summary string, h func(context.Context, *I) (*O, error)) {
	method, p, _ := strings.Cut(pattern, " ")
	op := huma.Operation{
		OperationID: id, Method: method, Path: p, Summary: summary,
		MaxBodyBytes:    bodyLimit(pattern) + 1, // huma refuses a body of exactly the limit
		BodyReadTimeout: -1,                     // else an optional body that is absent ends the request after 5 s
		Middlewares: huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
			noteOddQuery(ctx)
			next(ctx)
		}},
	}
	describeOperation(&op, scope)
	s.needs[method+" "+apiPrefix+p] = scope
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		if extra := requestOf(ctx).extra; len(extra) > 0 {
			return nil, shown(problem.NotValid(extra...))
		}
		out, err := h(ctx, in)
		if err != nil {
			return nil, shown(fromError(err))
		}
		return out, nil
	})
}

// noteOddQuery looks for query parameters that the operation does not know, or that stand twice where one is meant. They are
// told together with every other fault; huma's own check ends the request before it has looked at the rest.
func noteOddQuery(ctx huma.Context) {
	u := ctx.URL()
	if u.RawQuery == "" {
		return
	}
	req := requestOf(ctx.Context())
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		req.extra = append(req.extra, problem.Fault{Location: "query", Message: "cannot be read: write & between parameters, and % as %25"})
	}
	for name, values := range query {
		if !utf8.ValidString(name + strings.Join(values, "")) {
			req.extra = append(req.extra, problem.Fault{Location: "query." + strings.ToValidUTF8(name, ""), Message: "is not UTF-8"})
			continue
		}
		params := ctx.Operation().Parameters
		i := slices.IndexFunc(params, func(p *huma.Param) bool { return p.In == "query" && p.Name == name })
		switch {
		case i < 0:
			req.extra = append(req.extra, problem.Fault{Location: "query." + name, Message: "is not a parameter of this operation"})
		case len(values) > 1 && params[i].Schema.Type != huma.TypeArray:
			req.extra = append(req.extra, problem.Fault{Location: "query." + name, Message: "stands more than once"})
		}
	}
}

// stream registers what is no single JSON answer.
func (s *server) stream(scope store.Right, pattern string, h func(w http.ResponseWriter, r *http.Request) error) {
	method, p, ok := strings.Cut(pattern, " ")
	if !ok {
		method, p = "", pattern
	} else {
		method += " "
	}
	s.needs[method+apiPrefix+p] = scope
	s.mux.HandleFunc(method+apiPrefix+p, func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			writeProblem(w, r, s.log, fromError(err))
		}
	})
}

// ServeHTTP lets a request in step by step: an id, the Host, what needs no key, the Origin, the key, the operation.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := &request{id: requestIDFrom(r), base: s.baseOf(r), server: s, http: r}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, req))
	req.answer.ResponseWriter = w
	w = &req.answer
	body := awaitBody(w, r)
	defer s.catch(w, r, req)
	w.Header()["X-Request-Id"] = []string{req.id}
	w.Header()["X-Content-Type-Options"] = []string{"nosniff"}
	w.Header()["Cache-Control"] = []string{"no-store"}
	if err := s.serve(w, r, req); err != nil {
		body.hurry()
		writeProblem(w, r, s.log, fromError(err))
	}
}

// bodyTime is how long a request's body may take to come, and restTime what is left of it when the request is refused: net/http reads
// the rest before it answers, and may not wait for ever.
const (
	bodyTime = 30 * time.Second
	restTime = time.Second
)

// timedBody is a request's body that has to come in time. Its end lifts the limit: the answer may take longer.
type timedBody struct {
	io.ReadCloser
	conn *http.ResponseController
	step time.Duration // above 0 the limit is for each part that comes, and not for the whole
	done bool
}

// awaitBody sets the limit for r's body, when there is one. A server cannot do without: its own ReadTimeout would end long answers too.
func awaitBody(w http.ResponseWriter, r *http.Request) *timedBody {
	if r.ContentLength == 0 || r.Body == nil {
		return nil
	}
	b := &timedBody{ReadCloser: r.Body, conn: http.NewResponseController(w)}
	b.conn.SetReadDeadline(time.Now().Add(bodyTime)) //nolint:errcheck // there is a connection, but in tests of handlers
	r.Body = b
	return b
}

func (b *timedBody) Read(p []byte) (int, error) {
	if b.step > 0 && !b.done {
		b.conn.SetReadDeadline(time.Now().Add(b.step)) //nolint:errcheck // as above
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.done {
		b.done = true
		b.conn.SetReadDeadline(time.Time{}) //nolint:errcheck // as above
	}
	return n, err
}

// hurry shortens the limit of what nobody will read.
func (b *timedBody) hurry() {
	if b != nil && !b.done {
		b.conn.SetReadDeadline(time.Now().Add(restTime)) //nolint:errcheck // as above
	}
}

// catch makes a fault of our own code an error like any other: the log has the cause, the client does not, and the server
// goes on. An answer that has begun already is broken off.
func (s *server) catch(w http.ResponseWriter, r *http.Request, req *request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	err := fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	if req.answer.begun {
		s.log.Error("request broke off", "request", req.id, "cause", err)
		panic(http.ErrAbortHandler)
	}
	writeProblem(w, r, s.log, problem.Hidden(err))
}

// answerWriter is a ResponseWriter that knows whether the answer has begun.
type answerWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *answerWriter) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *answerWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (s *server) serve(w http.ResponseWriter, r *http.Request, req *request) error {
	if !s.mayNameHost(r) {
		return foreignHost()
	}
	if done, err := s.serveOpen(w, r); done || err != nil {
		return err
	}
	if err := s.checkOrigin(r); err != nil {
		return err
	}
	if strings.HasPrefix(r.URL.Path, "/cdp/") && isClean(r.URL.Path) {
		return s.capabilityGateway(w, r)
	}
	if strings.HasPrefix(r.URL.Path, "/live/") && isClean(r.URL.Path) && isRead(r) {
		return s.capabilityLive(w, r)
	}
	caller, err := s.authenticate(r)
	if problem.Is(err, problem.Unauthorized) && len(r.Header["Authorization"]) > 0 {
		return s.guessed(r)
	}
	if err != nil {
		return err
	}
	req.caller = caller
	if r.URL.Path == "/openapi.json" && isRead(r) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(s.openapi) //nolint:errcheck // the client may be gone
		return nil
	}
	return s.dispatch(w, r)
}

// isClean says whether a path is written as it is meant. Chrome's own addresses may end in a slash, and clients use that.
func isClean(p string) bool {
	clean := path.Clean(p)
	return p == clean || strings.Contains(p, "/cdp/") && p == clean+"/"
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

func foreignHost() *problem.Error {
	return problem.New(problem.Misdirected, "host_not_allowed",
		"This server does not answer to the host name of the request. Use the address that it printed, or start it with --allow-host NAME.")
}

// serveOpen answers what needs no key.
func (s *server) serveOpen(w http.ResponseWriter, r *http.Request) (bool, error) {
	if !isRead(r) {
		return false, nil
	}
	switch r.URL.Path {
	case "/healthz":
		return true, writeJSON(w, r, http.StatusOK, map[string]string{"status": "ok"})
	case "/readyz":
		return true, s.serveReady(w, r)
	case "/version":
		return true, writeJSON(w, r, http.StatusOK, versionInfo())
	case "/ip":
		return true, s.serveIP(w, r)
	}
	if h, ok := s.site.Lookup(r.URL.Path); ok {
		h.ServeHTTP(w, r)
		return true, nil
	}
	return false, nil
}

// dispatch hands the request to its operation, if the caller's key has the scope for it: that is asked before anything of the body is read,
// and before anything is kept. What the mux refuses by itself gets our form of error.
func (s *server) dispatch(w http.ResponseWriter, r *http.Request) error {
	if !isClean(r.URL.Path) {
		return problem.New(problem.NotFound, "not_found", "There is nothing at this address. GET /openapi.json lists what there is.")
	}
	h, pattern := s.mux.Handler(r)
	if pattern == "" {
		refused := &refusal405{header: http.Header{}}
		h.ServeHTTP(refused, r)
		allow := refused.header.Get("Allow")
		if s.isReadOnly(r.URL.Path) {
			allow = "GET, HEAD"
		}
		if allow != "" {
			w.Header().Set("Allow", allow)
			return problem.New(problem.WrongMethod, "method_not_allowed",
				"This address takes other methods: "+allow+".")
		}
		return problem.New(problem.NotFound, "not_found", "There is nothing at this address. GET /openapi.json lists what there is.")
	}
	need, ok := s.needs[pattern]
	if !ok {
		return fmt.Errorf("nobody said what %s needs", pattern) // by add and stream alone anything comes here
	}
	if p := callerOf(r.Context()).may(need); p != nil {
		return p
	}
	if ct := r.Header.Get("Content-Type"); ct != "" {
		r.Header.Set("Content-Type", strings.ToLower(ct)) // media types have no case (RFC 9110, 8.3.1); huma compares bytes
	}
	requestOf(r.Context()).accept = strings.Join(r.Header.Values("Accept"), ",")
	r.Header["Accept"] = []string{"application/json"} // there is nothing to choose, and "json" is no name for it
	if slices.Contains(slowOperations(), strings.Replace(pattern, " "+apiPrefix, " ", 1)) {
		ctx, leave, err := s.lasting(r.Context())
		if err != nil {
			return err
		}
		defer leave()
		r = r.WithContext(ctx)
	}
	if key := r.Header.Get("Idempotency-Key"); key != "" && s.once.covers(pattern) {
		return s.once.serve(w, r, key, s.mux)
	}
	s.mux.ServeHTTP(w, r)
	return nil
}

// isReadOnly says whether something beside the API stands at the path; none of it takes other methods.
func (s *server) isReadOnly(path string) bool {
	switch path {
	case "/healthz", "/readyz", "/version", "/ip", "/openapi.json":
		return true
	}
	_, ok := s.site.Lookup(path)
	return ok
}

// refusal405 takes the mux's own refusal apart: only its Allow header is of use.
type refusal405 struct{ header http.Header }

func (w *refusal405) Header() http.Header         { return w.header }
func (w *refusal405) Write(b []byte) (int, error) { return len(b), nil }
func (w *refusal405) WriteHeader(int)             {}

// requestIDFrom takes the caller's request id when it is harmless, else makes one.
func requestIDFrom(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id != "" && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == "" {
		return id
	}
	return store.NewID()
}

func writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) error {
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body) //nolint:errcheck // the client may be gone
	}
	return nil
}

// serveReady says whether the server can do its work: the database takes writes and a browser is there.
func (s *server) serveReady(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if err := s.store.Ready(ctx); errors.Is(err, store.ErrDiskFull) {
		return problem.New(problem.Unavailable, "disk_full", "The disk that holds the data folder is full: nothing can be changed. Make room on it.").Because(err)
	} else if err != nil {
		return problem.New(problem.Unavailable, "database_busy", "The database does not take writes. The log says why.").Because(err)
	}
	if _, err := s.runs.browser(ctx); err != nil {
		return problem.New(problem.Unavailable, "browser_not_found", "There is no browser to run. `warren doctor` says what to do.").Because(err)
	}
	return writeJSON(w, r, http.StatusOK, map[string]string{"database": "ok", "browser": "ok"})
}

// serveIP tells the caller its address: text where that is asked for, else JSON.
func (s *server) serveIP(w http.ResponseWriter, r *http.Request) error {
	ip := s.clientIP(r)
	if strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, err := io.WriteString(w, ip+"\n")
		return err
	}
	return writeJSON(w, r, http.StatusOK, map[string]string{"ip": ip})
}

// clientIP is the address of whoever calls. X-Forwarded-For counts only from the proxies of --behind-proxy,
// read from the right: the last address that is none of them.
func (s *server) clientIP(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	addr := peer.Addr().Unmap().WithZone("")
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && s.trusted(addr); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		addr = next.Unmap()
	}
	return addr.String()
}

func (s *server) trustedPeer(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && s.trusted(peer.Addr().Unmap())
}

func (s *server) trusted(a netip.Addr) bool {
	for _, p := range s.cfg.proxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
