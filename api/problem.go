package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/disk"
	"warren/pool"
	"warren/problem"
	"warren/runs"
	"warren/snapshots"
	"warren/store"
)

// Writes errors, for every part of the API. Every error is application/problem+json (RFC 9457). `code` is for programs and never
// changes. `detail` is for people and says what to do next. A 5xx hides its cause from the client. Values that may be secret are not
// repeated.

// Problem is an error as a client sees it (RFC 9457).
type Problem struct {
	Type     string          `json:"type" doc:"A URI that names the kind of error." example:"urn:warren:problem:profile_not_found"`
	Title    string          `json:"title" doc:"The HTTP status in words." example:"Not Found"`
	Status   int             `json:"status" doc:"The HTTP status." example:"404"`
	Detail   string          `json:"detail" doc:"What happened and what to do next, for people." example:"There is no profile with this id."`
	Code     string          `json:"code" doc:"What happened, for programs. It never changes." example:"profile_not_found"`
	Instance string          `json:"instance" doc:"The id of the request, as in X-Request-Id and in the log." example:"urn:warren:request:0199a1c2"`
	Errors   []problem.Fault `json:"errors,omitempty" doc:"All faults of the request."`

	// Members of single codes (contract, Errors).
	ExistingID string        `json:"existingId,omitempty" doc:"With duplicate: the existing object."`
	ProfileIDs []string      `json:"profileIds,omitempty" doc:"With proxy_in_use and extension_in_use: the profiles that use it. With profile_running: those of an export that run. With profiles_elsewhere: those of other servers."`
	Quota      string        `json:"quota,omitempty" doc:"With quota_exceeded: the quota of the workspace, such as profiles."`
	Limit      *int64        `json:"limit,omitempty" doc:"With quota_exceeded: what it is."`
	Use        *int64        `json:"use,omitempty" doc:"With quota_exceeded: what is used now."`
	Contents   *ContentsJSON `json:"contents,omitempty" doc:"With workspace_not_empty: what it has."`
	Check      *pool.Check   `json:"check,omitempty" doc:"With proxy_unreachable: the check that failed."`
	ExitCode   *int          `json:"exitCode,omitempty" doc:"With browser_failed: the browser's exit code."`
	Lines      []string      `json:"lines,omitempty" doc:"With browser_failed and start_timeout: the browser's last lines."`

	Damaged   []snapshots.Damage `json:"damaged,omitempty" doc:"With profile_damaged: what the browser cannot open."`
	Snapshots []SnapshotJSON     `json:"snapshots,omitempty" doc:"With profile_damaged: what there is to go back to, newest first."`

	cause   *problem.Error
	headers http.Header
}

// statuses maps each kind of error to its HTTP status.
var statuses = map[problem.Kind]int{
	problem.Internal:     http.StatusInternalServerError,
	problem.Invalid:      http.StatusUnprocessableEntity,
	problem.NotFound:     http.StatusNotFound,
	problem.Conflict:     http.StatusConflict,
	problem.TooMany:      http.StatusTooManyRequests,
	problem.Unavailable:  http.StatusServiceUnavailable,
	problem.Timeout:      http.StatusGatewayTimeout,
	problem.Upstream:     http.StatusBadGateway,
	problem.Storage:      http.StatusInsufficientStorage,
	problem.Cancelled:    statusCancelled,
	problem.Malformed:    http.StatusBadRequest,
	problem.Unauthorized: http.StatusUnauthorized,
	problem.Forbidden:    http.StatusForbidden,
	problem.WrongMethod:  http.StatusMethodNotAllowed,
	problem.Slow:         http.StatusRequestTimeout,
	problem.Gone:         http.StatusGone,
	problem.Changed:      http.StatusPreconditionFailed,
	problem.TooLarge:     http.StatusRequestEntityTooLarge,
	problem.Unsupported:  http.StatusUnsupportedMediaType,
	problem.Misdirected:  http.StatusMisdirectedRequest,
}

// newProblem returns an error as its answer shows it, without the request that it belongs to.
func newProblem(e *problem.Error) *Problem {
	status := statuses[e.Kind]
	p := &Problem{Type: "urn:warren:problem:" + e.Code, Title: http.StatusText(status), Status: status, Detail: e.Message, Code: e.Code,
		Errors: normalizeFaults(e.Faults), cause: e, headers: http.Header{}}
	switch d := e.Details.(type) {
	case *Problem: // of another server
		there := *d
		there.cause, there.headers, p = e, p.headers, &there
	case pool.Existing:
		p.ExistingID = string(d)
	case pool.Users:
		p.ProfileIDs = d
	case *pool.Check:
		p.Check = d
	case usedQuota:
		p.Quota, p.Limit, p.Use = d.name, &d.limit, &d.use
	case ContentsJSON:
		p.Contents = &d
	case runs.LastWords:
		p.ExitCode, p.Lines = d.ExitCode, d.Lines
	case runs.DamagedData:
		p.Damaged = d.Damaged
		for _, s := range d.Snapshots {
			p.Snapshots = append(p.Snapshots, snapshotFrom(s, d.Head))
		}
	}
	switch e.Kind {
	case problem.Cancelled:
		p.Title = "Client Closed Request"
	case problem.Unauthorized:
		p.headers.Set("WWW-Authenticate", "Bearer")
	}
	if e.RetryAfter > 0 {
		p.headers.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	return p
}

// problemFrom reads an answer of another server.
func problemFrom(text []byte) (*problem.Error, error) {
	p := new(Problem)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, err
	}
	e := &problem.Error{Kind: problem.Internal, Code: p.Code, Message: p.Detail, Faults: p.Errors, Details: p}
	for kind, status := range statuses {
		if status == p.Status {
			e.Kind = kind
		}
	}
	return e, nil
}

// Error implements error: huma passes problems on as errors.
func (p *Problem) Error() string { return p.cause.Error() }

// Unwrap returns the error that p shows.
func (p *Problem) Unwrap() error { return p.cause }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header { return p.headers }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

func databaseBusy(err error) *problem.Error {
	if errors.Is(err, store.ErrUnknown) {
		return problem.New(problem.Unavailable, "database_busy", "The connection to the database was lost while it made the change, so "+
			"that it is not known whether it did. Look before you ask again.").Because(err)
	}
	return problem.New(problem.Unavailable, "database_busy", "The database is locked by another program, or does not answer. Nothing was "+
		"changed. Try again in a moment.").After(time.Second).Because(err)
}

func databaseDamaged(err error) *problem.Error {
	return problem.New(problem.Unavailable, "database_damaged",
		"The database is damaged: nothing can be changed. Stop the server and restore a backup. The log says what was found.").Because(err)
}

// statusCancelled is the logged status of a request whose client has disconnected (nginx's 499).
const statusCancelled = 499

// fromError returns the problem of an error. Errors of the store have kinds of their own; unknown errors are internal.
func fromError(err error) *problem.Error {
	var p *problem.Error
	if errors.As(err, &p) {
		return p
	}
	err = store.Typed(err)
	switch {
	case errors.Is(err, store.ErrDiskFull), disk.IsFull(err):
		return problem.DiskFull(err)
	case errors.Is(err, store.ErrIO), disk.IsBroken(err):
		return problem.DiskFailed(err)
	case errors.Is(err, store.ErrBusy):
		return databaseBusy(err)
	case errors.Is(err, store.ErrDamaged):
		return databaseDamaged(err)
	case errors.Is(err, store.ErrGone):
		return cursorGone()
	case errors.Is(err, store.ErrClosed):
		return pool.Stopping()
	case errors.Is(err, context.Canceled):
		return problem.New(problem.Cancelled, "cancelled", "The client disconnected, or its key was revoked or has expired.").Because(err)
	}
	return problem.Hidden(err)
}

// cursorGone is the error for an `after` whose place in the list is unknown.
func cursorGone() *problem.Error {
	return problem.New(problem.Gone, "cursor_gone",
		"The place of `after` is unknown: its object was deleted, or `after` belongs to another order. "+
			"Start again, and pass each page's `next` as `after`: that works even if objects are deleted meanwhile.")
}

// refusedByHuma returns the problem for a status that huma answers by itself.
func refusedByHuma(status int) *problem.Error {
	switch status {
	case http.StatusBadRequest:
		return problem.New(problem.Malformed, "malformed_json",
			"The body is not the JSON object that this operation takes. `errors` says where it breaks.")
	case http.StatusRequestEntityTooLarge:
		return problem.New(problem.TooLarge, "body_too_large",
			"The body is larger than 1 MiB (imports: 16 MiB, session-keys: 1 KiB).")
	case http.StatusUnsupportedMediaType:
		return problem.New(problem.Unsupported, "unsupported_media_type", "Send the body as JSON, with Content-Type: application/json.")
	case http.StatusRequestTimeout:
		return problem.New(problem.Slow, "request_timeout", "The body did not arrive in time.")
	case http.StatusUnprocessableEntity:
		return problem.NotValid()
	}
	return problem.Hidden(nil)
}

// newHumaError replaces huma.NewError (v2.37.2, error.go). huma's own model repeats the body, and with it passwords. The function
// has many cases because huma reports every kind of fault through it.
func newHumaError(status int, msg string, errs ...error) huma.StatusError {
	if status == 0 { // huma asks once for the type
		return &Problem{}
	}
	if msg == "cannot read request body" { // the client disconnected, or sent invalid chunks
		status, errs = http.StatusBadRequest, nil
	}
	faults := []problem.Fault{}
	for _, err := range errs {
		var p *problem.Error
		var f problem.Fault
		var d *huma.ErrorDetail
		switch {
		case errors.As(err, &p):
			return newProblem(p)
		case errors.As(err, &f):
			faults = append(faults, f)
		case errors.As(err, &d):
			faults = append(faults, faultOf(d))
		case err != nil && status >= 500:
			return newProblem(problem.Hidden(err))
		}
	}
	p := refusedByHuma(status)
	switch status {
	case http.StatusUnsupportedMediaType:
	case http.StatusBadRequest: // an unreadable body has no other faults
		p.Faults = slices.DeleteFunc(faults, func(f problem.Fault) bool { return strings.HasPrefix(f.Location, "body.") })
	default:
		p.Faults = faults
	}
	return newProblem(p)
}

// maxFaults is how many faults one error lists. No honest request has more.
const maxFaults = 200

// normalizeFaults sorts faults by location and keeps the first of each, so that equal requests get equal errors. It truncates
// locations, which may hold names of the caller's choice, and removes values that must not be repeated.
func normalizeFaults(in []problem.Fault) []problem.Fault {
	faults := slices.Clone(in)
	slices.SortStableFunc(faults, func(a, b problem.Fault) int { return strings.Compare(a.Location, b.Location) })
	faults = slices.CompactFunc(faults, func(a, b problem.Fault) bool { return a.Location == b.Location })
	if more := len(faults) - maxFaults; more > 0 {
		faults = append(faults[:maxFaults], problem.Fault{Location: "body",
			Message: fmt.Sprintf("There are %d more faults like these.", more)})
	}
	for i := range faults {
		f := &faults[i]
		f.Location, f.Message = truncate(f.Location, 120), truncate(f.Message, 300)
		if !isEchoable(f.Location, f.Value) {
			f.Value = nil
		}
	}
	return faults
}

// truncate returns at most n bytes of s, as valid UTF-8.
func truncate(s string, n int) string {
	if len(s) > n {
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// faultOf converts a fault of huma. huma's value can be a whole object or the whole body. normalizeFaults decides whether it is
// repeated.
func faultOf(d *huma.ErrorDetail) problem.Fault {
	f := problem.Fault{Location: d.Location, Message: d.Message}
	if member, ok := strings.CutPrefix(d.Message, "expected required property "); ok {
		member, _, _ = strings.Cut(member, " ")
		return problem.Fault{Location: d.Location + "." + member, Message: cmp.Or(memberMessages[member], "This is required.")}
	}
	f.Message = schemaWords(d.Location, d.Message)
	if d.Location == "body" {
		return f
	}
	f.Value = d.Value
	return f
}

// withoutQuotes removes what is between backquotes. The decoder quotes text that it cannot parse, which may be part of a password.
func withoutQuotes(s string) string {
	before, rest, found := strings.Cut(s, " `")
	end := strings.LastIndexByte(rest, '`')
	if !found || end < 0 {
		return s
	}
	return before + rest[end+1:]
}

// isEchoable reports whether an error may repeat a value. People put secrets into the wrong member. So numbers and booleans of
// members without secrets may be repeated, and short words where the member is an enumeration.
func isEchoable(location string, value any) bool {
	place, member, _ := strings.Cut(location, ".")
	member = member[strings.LastIndexByte(member, '.')+1:]
	switch v := value.(type) {
	case float64, bool, int, int64:
		return !slices.Contains([]string{"password", "url", "username", "rotateUrl", "key", "secret"}, member)
	case string:
		plain := v != "" && len(v) <= 20 && strings.Trim(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+_./") == ""
		return plain && (place == "query" || slices.Contains([]string{"os", "webrtc", "timezone", "preflight"}, member))
	}
	return false
}

// writeProblem sends an error as the answer to r.
func writeProblem(w http.ResponseWriter, r *http.Request, log *slog.Logger, e *problem.Error) {
	p := occurrence(r.Context(), log, e)
	requestOf(r.Context()).code = p.Code
	for k, v := range p.headers {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", "application/problem+json")
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte(`{"code":"internal"}`)
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		w.Write(body) //nolint:errcheck // the client may have disconnected
	}
}

// occurrence returns an error as the answer to one request, with the request's id as its instance (RFC 9457, 3.1.5). Causes of 5xx
// are logged here.
func occurrence(ctx context.Context, log *slog.Logger, e *problem.Error) *Problem {
	p, req := newProblem(e), requestOf(ctx)
	p.Instance = "urn:warren:request:" + req.id
	failed := p.Status >= 500 && e.Cause != nil
	if req.found.problem(p.Code, failed); failed {
		log.LogAttrs(ctx, slog.LevelError, "request failed", append(req.attributes(p.Status), slog.Any("cause", e.Cause))...)
	}
	return p
}
