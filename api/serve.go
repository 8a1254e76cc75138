package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"warren/problem"
	"warren/store"
)

// Serves a request: identifies it, checks host, origin and key, and dispatches it to its operation.

// ServeHTTP answers one request. It checks the Host first, then serves what needs no key, then checks Origin and key, then
// dispatches.
func (s *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := &request{id: requestIDFrom(r), base: s.baseOf(r), http: r, api: s, begun: time.Now(), peer: s.nodes.Peer(r),
		authorization: r.Header.Get("Authorization")}
	if req.peer != "" {
		s.receive(r, req)
	}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, req))
	req.answer.ResponseWriter = w
	w = &req.answer
	body := limitBodyTime(w, r)
	defer s.logRequest(req)
	defer s.recordRefusal(r.Context())
	defer s.catch(w, r, req)
	w.Header()["X-Request-Id"] = []string{req.id}
	w.Header()["X-Content-Type-Options"] = []string{"nosniff"}
	w.Header()["Cache-Control"] = []string{"no-store"}
	if err := s.serve(w, r, req); err != nil {
		body.shortenDeadline()
		writeProblem(w, r, s.log, fromError(err))
	}
}

// catch turns a panic of a handler into a 500. The log gets the cause, the client does not. An answer that has begun is aborted.
func (s *API) catch(w http.ResponseWriter, r *http.Request, req *request) {
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

func (s *API) serve(w http.ResponseWriter, r *http.Request, req *request) error {
	if !s.isHostAllowed(r) {
		return foreignHost()
	}
	if done, err := s.servePublic(w, r); done || err != nil {
		req.route = r.URL.Path // one that needs no key has no secret
		return err
	}
	if err := s.checkOrigin(r); err != nil {
		return err
	}
	if strings.HasPrefix(r.URL.Path, "/cdp/") && isClean(r.URL.Path) {
		req.route = "/cdp/{capability}"
		return s.byCapability(w, r, "/cdp/", s.serveCDP)
	}
	if strings.HasPrefix(r.URL.Path, "/live/") && isClean(r.URL.Path) && isRead(r) {
		req.route = "/live/{capability}"
		return s.byCapability(w, r, "/live/", s.serveLive)
	}
	caller, err := s.authenticate(r, req.peer != "")
	if problem.Is(err, problem.Unauthorized) && len(r.Header["Authorization"]) > 0 {
		return s.rejectKey(r)
	}
	if err != nil && !(problem.Is(err, problem.Unauthorized) && s.takesNoKey(r)) {
		return err
	}
	req.caller = caller
	return s.dispatch(w, r)
}

// dispatch checks the scope of the caller's key and passes the request to its operation. The check comes first, so that nothing is
// read or stored for a request without the scope.
func (s *API) dispatch(w http.ResponseWriter, r *http.Request) error {
	pattern, err := s.operationOf(w, r)
	if err != nil {
		return err
	}
	requestOf(r.Context()).route = pattern
	need, ok := s.needs[pattern]
	if !ok {
		return fmt.Errorf("no scope is registered for %s", pattern) // only add and stream register patterns
	}
	req := requestOf(r.Context())
	req.remote = s.clientIP(req.http)
	s.beginAudit(req, pattern)
	if p := callerOf(r.Context()).may(need); p != nil {
		return p
	}
	if done, err := s.passOn(w, r, pattern); done || err != nil {
		return err
	}
	return s.operate(w, r, pattern)
}

// nothingHere is the error of an address without an operation.
func nothingHere() *problem.Error {
	return problem.New(problem.NotFound, "not_found", "There is nothing at this address. GET /openapi.json lists what there is.")
}

// operationOf returns the pattern of the operation at an address. The error is not_found or method_not_allowed.
func (s *API) operationOf(w http.ResponseWriter, r *http.Request) (pattern string, err error) {
	if !isClean(r.URL.Path) {
		return "", nothingHere()
	}
	h, pattern := s.mux.Handler(r)
	if pattern != "" {
		return pattern, nil
	}
	refused := &refusal405{header: http.Header{}}
	h.ServeHTTP(refused, r)
	allow := refused.header.Get("Allow")
	if s.isReadOnly(r.URL.Path) {
		allow = "GET, HEAD"
	}
	if allow == "" {
		return "", nothingHere()
	}
	w.Header().Set("Allow", allow)
	return "", problem.New(problem.WrongMethod, "method_not_allowed", "This address takes other methods: "+allow+".")
}

// operate passes a request to its operation, once for each Idempotency-Key.
func (s *API) operate(w http.ResponseWriter, r *http.Request, pattern string) error {
	req := requestOf(r.Context())
	if ct := r.Header.Get("Content-Type"); ct != "" {
		r.Header.Set("Content-Type", strings.ToLower(ct)) // media types are case-insensitive (RFC 9110, 8.3.1); huma compares bytes
	}
	req.accept = strings.Join(r.Header.Values("Accept"), ",")
	r.Header["Accept"] = []string{"application/json"} // operations answer JSON alone; request.accept keeps the original
	if pattern == auditRoute && asksForLines(r) {
		return s.exportAudit(w, r)
	}
	if s.slow[pattern] {
		ctx, release, err := s.longLived(r.Context())
		if err != nil {
			return err
		}
		defer release()
		r = r.WithContext(ctx)
	}
	if key := r.Header.Get("Idempotency-Key"); key != "" && s.idempotency.covers(pattern) && !readsItsBody(pattern) {
		return s.idempotency.serve(w, r, key, s.mux)
	}
	s.mux.ServeHTTP(w, r)
	return nil
}

// takesNoKey reports whether the operation also takes requests without a key.
func (s *API) takesNoKey(r *http.Request) bool {
	_, pattern := s.mux.Handler(r)
	return s.needs[pattern] == scopeNone
}

// refusal405 records the mux's own 405 answer: only its Allow header is used.
type refusal405 struct{ header http.Header }

func (w *refusal405) Header() http.Header         { return w.header }
func (w *refusal405) Write(b []byte) (int, error) { return len(b), nil }
func (w *refusal405) WriteHeader(int)             {}

// Answers what needs no key: health, version, the client's address, the description of the API and the web pages.

// servePublic answers a request for a public path, or what servers ask each other. It reports whether it is one.
func (s *API) servePublic(w http.ResponseWriter, r *http.Request) (bool, error) {
	if isAction(r) {
		return true, s.actFor(w, r)
	}
	if !isRead(r) {
		return false, nil
	}
	if isPackage(r) {
		return true, s.servePackage(w, r)
	}
	switch r.URL.Path {
	case "/healthz":
		return true, writeJSON(w, r, http.StatusOK, map[string]string{"status": "ok"})
	case "/readyz":
		return true, s.serveReady(w, r)
	case "/version":
		return true, writeJSON(w, r, http.StatusOK, s.cfg.Version)
	case "/ip":
		return true, s.serveIP(w, r)
	case "/openapi.json":
		w.Header().Set("Content-Type", "application/json")
		w.Write(s.openapi) //nolint:errcheck // the client may have disconnected
		return true, nil
	}
	if h, ok := s.site.Lookup(r.URL.Path); ok {
		h.ServeHTTP(w, r)
		return true, nil
	}
	return false, nil
}

// isReadOnly reports whether a path outside the API answers GET and HEAD alone.
func (s *API) isReadOnly(path string) bool {
	switch path {
	case "/healthz", "/readyz", "/version", "/ip", "/openapi.json":
		return true
	}
	_, ok := s.site.Lookup(path)
	return ok
}

// serveReady answers /readyz: the database takes writes, no other server uses this one's id, and a browser is installed.
func (s *API) serveReady(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if err := s.store.Ready(ctx); errors.Is(err, store.ErrDiskFull) {
		return problem.New(problem.Unavailable, "disk_full",
			"The disk that holds the data folder is full: nothing can be changed. Make room on it.").Because(err)
	} else if errors.Is(err, store.ErrDamaged) {
		return databaseDamaged(err)
	} else if errors.Is(err, store.ErrIO) {
		return problem.DiskFailed(err)
	} else if err != nil {
		return problem.New(problem.Unavailable, "database_busy", "The database does not take writes. The log says why.").Because(err)
	}
	if p := s.nodes.Fault(); p != nil {
		return p
	}
	if _, err := s.runs.Browser(ctx); err != nil {
		return problem.New(problem.Unavailable, "browser_not_found",
			"There is no browser to run. `warren doctor` says what to do.").Because(err)
	}
	return writeJSON(w, r, http.StatusOK, map[string]string{"database": "ok", "browser": "ok"})
}

// serveIP answers /ip with the client's address: as text if Accept begins with text/plain, else as JSON.
func (s *API) serveIP(w http.ResponseWriter, r *http.Request) error {
	ip := s.clientIP(r)
	if strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, err := io.WriteString(w, ip+"\n")
		return err
	}
	return writeJSON(w, r, http.StatusOK, map[string]string{"ip": ip})
}
