package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/go-json-experiment/json"
)

// Checks every answer in the tests: against its operation in the OpenAPI document, and against the rules of all answers. The
// validator is kin-openapi, which shares no code with the generator of the document.

// apiDocument is an OpenAPI document with its paths as patterns.
type apiDocument struct {
	*openapi3.T
	operations []documented
	faces      sync.Map // the shapes that were checked against the document
}

var aWord = regexp.MustCompile(`^[a-z_]{0,20}$`)

// shape returns a JSON value without what no schema checks: text other than words, which an enum may list, and numbers unless whole
// is set.
func shape(v any, whole bool) string {
	switch x := v.(type) {
	case map[string]any:
		var b strings.Builder
		for _, k := range slices.Sorted(maps.Keys(x)) {
			b.WriteString(k + ":" + shape(x[k], whole) + ",")
		}
		return "{" + b.String() + "}"
	case []any:
		var kinds []string
		for _, e := range x {
			if s := shape(e, whole); !slices.Contains(kinds, s) {
				kinds = append(kinds, s)
			}
		}
		return "[" + strings.Join(kinds, ",") + "]"
	case string:
		if !aWord.MatchString(x) {
			return "text"
		}
		return x
	case float64:
		if !whole {
			return "number"
		}
	}
	return fmt.Sprint(v)
}

// sampled returns every eighth element in short mode: the race detector needs code paths, not cases.
func sampled[T any](all []T) []T {
	if !testing.Short() {
		return all
	}
	var out []T
	for i := 0; i < len(all); i += 8 {
		out = append(out, all[i])
	}
	return out
}

func decoded(text []byte) (v any) {
	if json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}

// documented is one operation of the document.
type documented struct {
	method, path string // path from the root, with {names}
	pattern      *regexp.Regexp
	route        routers.Route
}

// parsedDocuments caches parsed documents: all servers of one binary serve the same text, and parsing takes longer than a test.
var parsedDocuments sync.Map

func loadDocument(t testing.TB, text []byte) *apiDocument {
	t.Helper()
	if d, ok := parsedDocuments.Load(string(text)); ok {
		return d.(*apiDocument)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatalf("openapi.json does not load: %v", err)
	}
	d := &apiDocument{T: doc}
	for path, item := range doc.Paths.Map() {
		full := Prefix + path
		if len(item.Servers) > 0 {
			full = strings.TrimSuffix(item.Servers[0].URL, "/") + path
		}
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\\\{[^}]*\\\}`).ReplaceAllString(regexp.QuoteMeta(full), "([^/]+)") + "$")
		for method, op := range item.Operations() {
			d.operations = append(d.operations, documented{method, full, pattern, routers.Route{Spec: doc, Path: full, PathItem: item,
				Method: method, Operation: op}})
		}
	}
	slices.SortFunc(d.operations, func(a, b documented) int { // fixed paths come before those with a {name}
		return strings.Compare(strings.ReplaceAll(a.path, "{", "\x7f")+a.method, strings.ReplaceAll(b.path, "{", "\x7f")+b.method)
	})
	parsedDocuments.Store(string(text), d)
	return d
}

// find returns the operation of a request, or nil.
func (d *apiDocument) find(method, path string) *documented {
	for i, op := range d.operations {
		if (op.method == method || method == http.MethodHead && op.method == http.MethodGet) && op.pattern.MatchString(path) {
			return &d.operations[i]
		}
	}
	return nil
}

// check applies every rule to an answer.
func (a *testAPI) check(t testing.TB, r *answer) {
	t.Helper()
	for name := range r.header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" {
			t.Errorf("%s\nhas the header %s", r, name)
		}
	}
	id := r.header.Get("X-Request-Id")
	if id == "" || r.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s\nlacks X-Request-Id or nosniff: %v", r, r.header)
	}
	if r.status >= 400 {
		a.checkProblem(t, r, id)
	}
	if op := a.doc.find(r.req.Method, r.req.URL.EscapedPath()); op != nil {
		face := fmt.Sprint(op.method, op.path, r.status, r.header.Get("Content-Type"), r.text("code"))
		if r.status < 400 { // members of errors are checked one by one above
			face += shape(r.at(""), false) + shape(decoded(r.sent), true)
		}
		if _, known := a.doc.faces.LoadOrStore(face, true); !known {
			checkAgainst(t, op, r) // one of each shape: the validator compiles the schema each time
		}
	} else if r.status < 400 && strings.HasPrefix(r.req.URL.Path, Prefix) {
		t.Errorf("%s\nis an answer of an operation that openapi.json does not know", r)
	}
}

// problemCodes are the codes of the contract by status.
func problemCodes() map[int][]string {
	return map[int][]string{
		400: {"malformed_json"}, 401: {"unauthorized"}, 403: {"forbidden", "origin_not_allowed", "installation_not_allowed"},
		404: {"profile_not_found", "proxy_not_found", "key_not_found", "workspace_not_found", "run_not_found", "tab_not_found",
			"capability_not_found", "download_not_found", "job_not_found", "installation_not_found", "snapshot_not_found",
			"template_not_found", "schedule_not_found", "webhook_not_found", "delivery_not_found",
			"extension_not_found", "passkey_not_found", "node_not_found",
			"not_found"},
		405: {"method_not_allowed"},
		409: {"profile_running", "profile_busy", "proxy_missing", "proxy_in_use", "proxy_taken", "idempotency_conflict", "duplicate",
			"profile_not_running", "browser_too_old", "profile_damaged", "no_page", "capability_limit", "template_limit", "schedule_limit",
			"webhook_limit", "webhook_disabled",
			"no_rotate_url", "no_proxy_to_pick",
			"download_in_progress", "password_unreadable", "browsers_busy", "profile_empty", "snapshot_damaged", "snapshot_in_use",
			"extension_in_use", "passkeys_unreadable", "quota_exceeded", "workspace_not_empty", "node_draining",
			"node_alive", "node_unreachable", "profiles_elsewhere", "extension_missing"},
		410: {"cursor_gone", "login_link_gone"},
		412: {"etag_mismatch"}, 413: {"body_too_large"}, 415: {"unsupported_media_type"}, 421: {"host_not_allowed"},
		422: {"validation_failed", "identity_mismatch", "archive_refused"},
		429: {"rate_limited", "start_queue_full", "too_many_connections", "too_many_jobs"},
		500: {"internal"}, 502: {"proxy_unreachable", "rotate_failed", "node_failed"},
		503: {"browser_not_found", "browser_failed", "isolation_unavailable", "capacity_exceeded", "database_busy", "database_damaged",
			"server_stopping", "data_unwritable", "disk_failed", "node_conflict", "no_server"},
		504: {"start_timeout", "page_not_answering"}, 507: {"disk_full", "files_quota"},
	}
}

// checkProblem requires the form of every error (RFC 9457; contract, Errors).
func (a *testAPI) checkProblem(t testing.TB, r *answer, id string) {
	t.Helper()
	if ct := r.header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("%s\nhas Content-Type %q, want application/problem+json", r, ct)
		return
	}
	if r.req.Method == http.MethodHead {
		return
	}
	if err := json.Unmarshal(r.body, new(Problem), json.RejectUnknownMembers(true)); err != nil {
		t.Errorf("%s\nhas other members: %v", r, err)
	}
	for _, name := range []string{"type", "title", "detail", "code", "instance"} {
		if r.text(name) == "" {
			t.Errorf("%s\nlacks %s", r, name)
		}
	}
	if r.at("status") != float64(r.status) || r.text("instance") != "urn:warren:request:"+id &&
		r.header.Get("Idempotency-Replayed") == "" || r.text("title") != http.StatusText(r.status) {
		t.Errorf("%s\nsays another status, title or request (%s)", r, id)
	}
	if !slices.Contains(problemCodes()[r.status], r.text("code")) {
		t.Errorf("%s\nhas a code that contract.md does not have for this status", r)
	}
	if r.status == 422 && len(r.faults()) == 0 {
		t.Errorf("%s\nnames no fault", r)
	}
	if r.status == 401 && r.header.Get("WWW-Authenticate") != "Bearer" || r.status == 405 && r.header.Get("Allow") == "" {
		t.Errorf("%s\nlacks WWW-Authenticate or Allow: %v", r, r.header)
	}
	if r.status >= 500 && r.text("code") == "internal" {
		t.Errorf("%s\nis an internal error; the log says\n%s", r, a.log)
	}
}

// checkAgainst requires that the status and the body are documented, and that an accepted request fits its schema.
func checkAgainst(t testing.TB, op *documented, r *answer) {
	t.Helper()
	options := &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	in := &openapi3filter.RequestValidationInput{Request: r.req, Route: &op.route, Options: options}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: r.status, Header: r.header, Options: options}
	out.SetBodyBytes(r.body)
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		t.Errorf("%s\ndoes not fit openapi.json (%s): %v", r, op.route.Operation.OperationID, err)
	}
	if r.status >= 300 || len(r.sent) == 0 {
		return
	}
	if err := fitsRequest(op, r.req, r.sent); err != nil {
		t.Errorf("%s\nwas taken, but openapi.json does not allow it: %v\n%s", r, err, r.sent)
	}
}

// fitsRequest returns nil if openapi.json accepts the body.
func fitsRequest(op *documented, req *http.Request, body []byte) error {
	if op.route.Operation.RequestBody == nil || op.route.Operation.RequestBody.Value.Content["application/json"] == nil ||
		strings.HasPrefix(req.Header.Get("Content-Type"), "text/") {
		return nil
	}
	clone := req.Clone(context.Background())
	clone.Header.Set("Content-Type", "application/json") // only the body matters; other media types of JSON are accepted too
	clone.Body = io.NopCloser(bytes.NewReader(body))
	in := &openapi3filter.RequestValidationInput{Request: clone, Route: &op.route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true}}
	return openapi3filter.ValidateRequestBody(context.Background(), in, op.route.Operation.RequestBody.Value)
}
