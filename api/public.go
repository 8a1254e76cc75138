package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"warren/problem"
	"warren/store"
)

// Answers what needs no key: health, version, the client's address and the web pages.

// servePublic answers a request for a public path. It reports whether the path is one.
func (s *API) servePublic(w http.ResponseWriter, r *http.Request) (bool, error) {
	if !isRead(r) {
		return false, nil
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

// serveReady answers /readyz: the database takes writes and a browser is installed.
func (s *API) serveReady(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if err := s.store.Ready(ctx); errors.Is(err, store.ErrDiskFull) {
		return problem.New(problem.Unavailable, "disk_full",
			"The disk that holds the data folder is full: nothing can be changed. Make room on it.").Because(err)
	} else if err != nil {
		return problem.New(problem.Unavailable, "database_busy", "The database does not take writes. The log says why.").Because(err)
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
