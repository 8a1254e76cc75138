package main

import (
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

	"warren/pool"
	"warren/problem"
	"warren/store"
)

// This file holds the kinds of error and is the only place that writes one. The rules are:
// every error is application/problem+json (RFC 9457); `code` is for programs and never changes;
// `detail` is for people and says what to do next; a 5xx never tells its cause to the client;
// nothing that may be a secret is repeated.

// Problem is an error as a client sees it (RFC 9457).
type Problem struct {
	Type     string          `json:"type" doc:"A URI that names the kind of error." example:"urn:warren:problem:profile_not_found"`
	Title    string          `json:"title" doc:"The HTTP status in words." example:"Not Found"`
	Status   int             `json:"status" doc:"The HTTP status." example:"404"`
	Detail   string          `json:"detail" doc:"What happened and what to do next, for people." example:"There is no profile with this id."`
	Code     string          `json:"code" doc:"What happened, for programs. It never changes." example:"profile_not_found"`
	Instance string          `json:"instance" doc:"This occurrence: the id of the request, as in X-Request-Id and in the log." example:"urn:warren:request:0199a1c2"`
	Errors   []problem.Fault `json:"errors,omitempty" doc:"Every fault of the request at once."`

	// What some codes carry beyond this (contract, Errors).
	ExistingID string      `json:"existingId,omitempty" doc:"With duplicate: the object that is there already."`
	ProfileIDs []string    `json:"profileIds,omitempty" doc:"With proxy_in_use: the profiles that use the proxy."`
	Check      *pool.Check `json:"check,omitempty" doc:"With proxy_unreachable: the check that failed."`
	ExitCode   *int        `json:"exitCode,omitempty" doc:"With browser_failed: the browser's exit code."`
	Lines      []string    `json:"lines,omitempty" doc:"With browser_failed and start_timeout: the browser's last lines."`

	told    *problem.Error
	headers http.Header
}

// statuses gives each kind of error its HTTP status.
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

// shown is an error as its answer has it, without the request that it belongs to.
func shown(e *problem.Error) *Problem {
	status := statuses[e.Kind]
	p := &Problem{Type: "urn:warren:problem:" + e.Code, Title: http.StatusText(status), Status: status, Detail: e.Message, Code: e.Code,
		Errors: tidy(e.Faults), told: e, headers: http.Header{}}
	switch d := e.Details.(type) {
	case pool.Existing:
		p.ExistingID = string(d)
	case pool.Users:
		p.ProfileIDs = d
	case *pool.Check:
		p.Check = d
	case LastWords:
		p.ExitCode, p.Lines = d.ExitCode, d.Lines
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

// Error makes it an error, which huma carries.
func (p *Problem) Error() string { return p.told.Error() }

// Unwrap gives the error that it shows.
func (p *Problem) Unwrap() error { return p.told }

// GetStatus is the HTTP status (huma.StatusError).
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders are those of the answer (huma.HeadersError).
func (p *Problem) GetHeaders() http.Header { return p.headers }

// ContentType is that of every error (huma.ContentTypeFilter).
func (p *Problem) ContentType(string) string { return "application/problem+json" }

func databaseBusy(err error) *problem.Error {
	return problem.New(problem.Unavailable, "database_busy",
		"Another program holds the database; nothing was changed. Try again in a moment.").After(time.Second).Because(err)
}

// statusCancelled is what logs call a request whose client has gone (nginx's 499); nobody is left to read it.
const statusCancelled = 499

// fromError gives any error its problem. What the store refuses has a kind of its own; what nobody knows is internal.
func fromError(err error) *problem.Error {
	var p *problem.Error
	if errors.As(err, &p) {
		return p
	}
	err = store.Typed(err)
	switch {
	case errors.Is(err, store.ErrDiskFull):
		return problem.DiskFull(err)
	case errors.Is(err, store.ErrBusy):
		return databaseBusy(err)
	case errors.Is(err, store.ErrGone):
		return cursorGone()
	case errors.Is(err, context.Canceled):
		return problem.New(problem.Cancelled, "cancelled", "The caller went away, or its key was revoked or has expired.").Because(err)
	}
	return problem.Hidden(err)
}

// cursorGone is for a walk through a list whose next place nobody knows.
func cursorGone() *problem.Error {
	return problem.New(problem.Gone, "cursor_gone", "The object that `after` names was deleted, or `after` is of a list in another order, so where the walk goes on is not known. Begin anew, and pass each page's `next` as `after`: that serves also when objects are deleted meanwhile.")
}

// refusedByHuma names what huma refuses by itself.
func refusedByHuma(status int) *problem.Error {
	switch status {
	case http.StatusBadRequest:
		return problem.New(problem.Malformed, "malformed_json", "The body is not the JSON object that this operation takes. `errors` says where it breaks.")
	case http.StatusRequestEntityTooLarge:
		return problem.New(problem.TooLarge, "body_too_large", "The body is larger than 1 MiB (imports: 16 MiB).")
	case http.StatusUnsupportedMediaType:
		return problem.New(problem.Unsupported, "unsupported_media_type", "Send the body as JSON, with Content-Type: application/json.")
	case http.StatusRequestTimeout:
		return problem.New(problem.Slow, "request_timeout", "The body did not arrive in time.")
	case http.StatusUnprocessableEntity:
		return problem.NotValid()
	}
	return problem.Hidden(nil)
}

// newHumaError replaces huma's own error model, which repeats the body and so passwords
// (huma v2.37.2, error.go, NewError).
func newHumaError(status int, msg string, errs ...error) huma.StatusError {
	if status == 0 { // huma asks once, for the type
		return &Problem{}
	}
	if msg == "cannot read request body" { // the client's side broke off, or sent broken chunks
		status, errs = http.StatusBadRequest, nil
	}
	faults := []problem.Fault{}
	for _, err := range errs {
		var p *problem.Error
		var f problem.Fault
		var d *huma.ErrorDetail
		switch {
		case errors.As(err, &p):
			return shown(p)
		case errors.As(err, &f):
			faults = append(faults, f)
		case errors.As(err, &d):
			faults = append(faults, faultOf(d))
		case err != nil && status >= 500:
			return shown(problem.Hidden(err))
		}
	}
	p := refusedByHuma(status)
	switch status {
	case http.StatusUnsupportedMediaType:
	case http.StatusBadRequest: // what was not read has no other faults
		p.Faults = slices.DeleteFunc(faults, func(f problem.Fault) bool { return strings.HasPrefix(f.Location, "body.") })
	default:
		p.Faults = faults
	}
	return shown(p)
}

// maxFaults is how many faults one error names: more than any request has that means well.
const maxFaults = 200

// tidy keeps the first fault of each location, sorted by location, so that one error has one face. What was sent is cut to
// what may be repeated: a location holds names that the caller chose.
func tidy(in []problem.Fault) []problem.Fault {
	faults := slices.Clone(in)
	slices.SortStableFunc(faults, func(a, b problem.Fault) int { return strings.Compare(a.Location, b.Location) })
	faults = slices.CompactFunc(faults, func(a, b problem.Fault) bool { return a.Location == b.Location })
	if more := len(faults) - maxFaults; more > 0 {
		faults = append(faults[:maxFaults], problem.Fault{Location: "body", Message: fmt.Sprintf("has %d more faults like these", more)})
	}
	for i := range faults {
		f := &faults[i]
		f.Location, f.Message = atMost(f.Location, 120), atMost(f.Message, 300)
		if !mayEcho(f.Location, f.Value) {
			f.Value = nil
		}
	}
	return faults
}

// atMost cuts s to n bytes of valid UTF-8.
func atMost(s string, n int) string {
	if len(s) > n {
		s = s[:n] + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// faultOf makes a fault of huma's detail. The value stays only where it is a short scalar of a member
// that holds no secret: huma gives the whole object for an unknown member, and the whole text for broken JSON.
func faultOf(d *huma.ErrorDetail) problem.Fault {
	f := problem.Fault{Location: d.Location, Message: d.Message}
	if member, ok := strings.CutPrefix(d.Message, "expected required property "); ok {
		member, _, _ = strings.Cut(member, " ")
		return problem.Fault{Location: d.Location + "." + member, Message: "is required"}
	}
	last := d.Location[strings.LastIndexByte(d.Location, '.')+1:]
	switch i := strings.LastIndexByte(f.Message, ' '); {
	case strings.Contains(f.Message[i+1:], "e+"): // a bound such as 1e+09
		if n, err := strconv.ParseFloat(f.Message[i+1:], 64); err == nil {
			f.Message = f.Message[:i+1] + strconv.FormatFloat(n, 'f', -1, 64)
		}
	case d.Message == "unexpected property":
		f.Message = "is not a member of this object"
	}
	if strings.HasPrefix(f.Message, "expected value to match") {
		if m, ok := shapeMessages[last]; ok {
			f.Message = m
		}
	}
	if d.Location == "body" {
		f.Message, _, _ = strings.Cut(strings.TrimPrefix(f.Message, "jsontext: "), "\n")
		f.Message = withoutQuotes(f.Message)
		return f
	}
	f.Value = d.Value
	return f
}

// withoutQuotes cuts what stands between backquotes: the decoder quotes what it did not understand, and that may be of a password.
func withoutQuotes(s string) string {
	before, rest, found := strings.Cut(s, " `")
	end := strings.LastIndexByte(rest, '`')
	if !found || end < 0 {
		return s
	}
	return before + rest[end+1:]
}

// mayEcho says whether what was sent may be repeated in an error. People put secrets into the wrong member: so numbers and
// booleans may, of members that hold no secret, and short plain words, where a word is chosen from a few.
func mayEcho(location string, value any) bool {
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

// shapeMessages says what members of several shapes take; the validator only knows that none fits.
var shapeMessages = map[string]string{
	"browserVersion": `must be a string of digits, "1" to "999"`,
	"locale":         `must be "auto", "system" or a list of language tags such as ["de-DE","en"]`,
	"proxyId":        `must be an id, null, or {"tag","pick"} with pick random, leastUsed, roundRobin or sticky`,
	"geolocation":    `must be "auto", "off" or {"latitude","longitude","accuracy"}`,
}

// writeProblem sends an error as the answer to r.
func writeProblem(w http.ResponseWriter, r *http.Request, log *slog.Logger, e *problem.Error) {
	p := occurrence(r.Context(), log, e)
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
		w.Write(body) //nolint:errcheck // the client may be gone
	}
}

// occurrence is an error as the answer to one request, which it names. What the client is not told is logged.
func occurrence(ctx context.Context, log *slog.Logger, e *problem.Error) *Problem {
	p := shown(e)
	p.Instance = "urn:warren:request:" + requestID(ctx)
	if p.Status >= 500 && e.Cause != nil {
		log.Error("request failed", "request", requestID(ctx), "code", p.Code, "cause", e.Cause)
	}
	return p
}
