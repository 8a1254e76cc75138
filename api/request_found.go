package api

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// found is what the log says of a request beside what the request itself says. A batch finds several things at once. What a body
// names is not among it: it may be a secret in the wrong member.
type found struct {
	mu        sync.Mutex
	workspace string // of the object
	code      string // of the problem that is the answer
	logged    bool   // the log has the failure and its cause
}

func (f *found) inWorkspace(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.workspace = id
}

// problem keeps the code of an answer. logged reports whether the log has its cause.
func (f *found) problem(code string, logged bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.code, f.logged = code, logged
}

func (f *found) all() (workspace, code string, logged bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.workspace, f.code, f.logged
}

// attributes describe a request in the log: request, operation, route, object, key, workspace, status, problem and the
// milliseconds since its header was read.
func (r *request) attributes(status int) []slog.Attr {
	out := make([]slog.Attr, 0, 12) // room for those that its line adds
	add := func(name, value string) {
		if value != "" {
			out = append(out, slog.String(name, value))
		}
	}
	workspace, code, _ := r.found.all()
	add("request", r.id)
	if r.api != nil {
		add("operation", r.api.operations[r.route])
	}
	add("route", r.route)
	add("object", r.object(status))
	if r.caller != nil {
		add("key", r.caller.KeyID)
		workspace = cmp.Or(workspace, r.caller.Sees.Single())
	}
	add("workspace", workspace)
	out = append(out, slog.Int("status", status))
	if status >= http.StatusBadRequest {
		add("problem", code)
	}
	if !r.begun.IsZero() {
		out = append(out, slog.Float64("ms", float64(time.Since(r.begun).Microseconds())/1000))
	}
	return out
}

// object returns the id of what a request created, or of what its path names first. What a refused request names may be no id.
func (r *request) object(status int) string {
	if r.http == nil || r.answer.ResponseWriter == nil || status >= http.StatusBadRequest {
		return ""
	}
	if made := r.answer.Header().Get("Location"); status == http.StatusCreated && made != "" {
		return idOrNone(made[strings.LastIndexByte(made, '/')+1:])
	}
	_, pattern, _ := strings.Cut(r.route, " ")
	named := strings.Split(r.http.URL.Path, "/")
	for i, part := range strings.Split(pattern, "/") {
		if strings.HasPrefix(part, "{") && i < len(named) {
			return idOrNone(named[i])
		}
	}
	return ""
}

// idOrNone returns an id that the server has made, and nothing for any other text.
func idOrNone(text string) string {
	if len(text) != 36 || uuid.Validate(text) != nil {
		return ""
	}
	return text
}
