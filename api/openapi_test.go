package api

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// rewriteOpenAPI: go test -run TestCommittedDocument -rewrite-openapi ./api
var rewriteOpenAPI = flag.Bool("rewrite-openapi", false, "write docs/openapi.json anew")

// TestDocumentIsValid: openapi.json is valid OpenAPI 3.1 and describes every operation.
func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	served := a.do(t, "GET", "//openapi.json", nil).want(t, 200)
	if !strings.HasPrefix(served.text("openapi"), "3.1.") || !bytes.Equal(served.body, a.srv.openapi) {
		t.Errorf("version %q", served.text("openapi"))
	}
	if err := a.doc.Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
		t.Error(err)
	}
	ids := map[string]bool{}
	for _, op := range a.doc.operations {
		o, name := op.route.Operation, op.method+" "+op.path
		if o.Summary == "" || len(o.Description) < 10 || o.OperationID == "" || ids[o.OperationID] || len(o.Tags) != 1 {
			t.Errorf("%s: id %q, summary %q, description %q, tags %v", name, o.OperationID, o.Summary, o.Description, o.Tags)
		}
		ids[o.OperationID] = true
		for _, p := range o.Parameters {
			if p.Value.Description == "" && len(p.Value.Schema.Value.Enum) == 0 {
				t.Errorf("%s: parameter %s has no description", name, p.Value.Name)
			}
		}
		open := o.Security != nil && (len(*o.Security) == 0 || len((*o.Security)[0]) == 0)
		if open != (routeTable()[name].scope == "") {
			t.Errorf("%s: open %v, but the route table says %q", name, open, routeTable()[name].scope)
		}
		if sc := routeTable()[name].scope; sc != "" && sc != "any" && !strings.Contains(o.Description, "Scope: `"+sc+"`") {
			t.Errorf("%s: the description does not name its scope %s: %q", name, sc, o.Description)
		}
		if strings.HasPrefix(op.path, Prefix) && o.Responses.Default() == nil {
			for _, status := range append([]int{401, 403, 421, 422, 500}, map[string][]int{"POST": {400, 413, 415}, "PUT": {400, 412, 413,
				415}, "PATCH": {400, 412, 413, 415}}[op.method]...) {
				versioned := !strings.Contains(op.path, "/snapshots")
				if (status != 412 || versioned) && o.Responses.Status(status) == nil {
					t.Errorf("%s does not document %d", name, status)
				}
			}
			if strings.Contains(op.path, "{id}") && o.Responses.Status(404) == nil {
				t.Errorf("%s does not document 404", name)
			}
		}
	}
}

// TestExamples: every request and every success has an example that fits its schema, and every error one by its code.
func TestExamples(t *testing.T) {
	t.Parallel()
	doc := newAPI(t).doc
	n := 0
	fits := func(where string, media *openapi3.MediaType, value any) {
		t.Helper()
		n++
		if media.Schema == nil || media.Schema.Value == nil {
			t.Errorf("%s: no schema", where)
			return
		}
		if err := media.Schema.Value.VisitJSON(value, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: the example does not fit: %v", where, err)
		}
	}
	for _, op := range doc.operations {
		o, name := op.route.Operation, op.method+" "+op.path
		if o.RequestBody != nil {
			if len(o.RequestBody.Value.Content) == 0 {
				t.Errorf("%s: no content of the request", name)
			}
			for kind, media := range o.RequestBody.Value.Content {
				if media.Example == nil {
					t.Errorf("%s: no example of the request as %s", name, kind)
				} else {
					fits(name+" request", media, media.Example)
				}
			}
		}
		for status, response := range o.Responses.Map() {
			code, _ := strconv.Atoi(status)
			for kind, media := range response.Value.Content {
				where := name + " " + status + " " + kind
				if kind == "application/problem+json" {
					if len(media.Examples) == 0 {
						t.Errorf("%s: no example", where)
					}
					for label, e := range media.Examples {
						fits(where+" "+label, media, e.Value.Value)
						m, ok := e.Value.Value.(map[string]any)
						if !ok || m["code"] != label || code != 0 && m["status"] != float64(code) ||
							!slices.Contains(problemCodes()[int(m["status"].(float64))], label) {
							t.Errorf("%s: example %s is %v", where, label, m)
						}
					}
					continue
				}
				if media.Example == nil {
					t.Errorf("%s: no example", where)
				} else {
					fits(where, media, media.Example)
				}
			}
			if code >= 200 && code < 300 && code != 204 && len(response.Value.Content) == 0 {
				t.Errorf("%s %s: no content", name, status)
			}
		}
	}
	t.Logf("%d examples", n)
}

// TestExamplesWork: the example of each request is accepted as it is.
func TestExamplesWork(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	a := newAPI(t)
	proxy := a.do(t, "POST", "/proxies", `{"type":"http","host":"127.0.0.1","port":1}`).want(t, 201).text("id")
	profile, gone := a.profile(t), a.profile(t)
	a.do(t, "DELETE", "/profiles/"+gone, nil).want(t, 204)
	a.putData(t, profile)
	template, schedule, webhook := a.template(t), a.schedule(t), a.webhook(t)
	snapshot := a.do(t, "POST", "/profiles/"+profile+"/snapshots", nil).want(t, 201).text("id")
	a.do(t, "DELETE", "/profiles/"+a.profile(t), nil).want(t, 204)
	for _, op := range a.doc.operations {
		// checkUnsavedProxy's host is looked up: that takes its time. leakTest, createCapability, putUpload and failbackProfile need a
		// browser, and so do clearProfile and the writes of cookies and storage. rotateProxy needs an address that changes the exit,
		// createSessionKey a code, importProfiles and addExtension a file, replayDelivery a delivery. Their own tests send them.
		if id := op.route.Operation.OperationID; op.route.Operation.RequestBody == nil || slices.Contains([]string{"checkUnsavedProxy",
			"leakTest", "createCapability", "failbackProfile", "rotateProxy", "putUpload", "importProfiles", "createSessionKey",
			"addExtension", "clearProfile", "putCookies", "putStorageState", "replayDelivery"}, id) {
			continue
		}
		text, err := json.Marshal(op.route.Operation.RequestBody.Value.Content["application/json"].Example)
		if err != nil {
			t.Fatal(err)
		}
		id := map[bool]string{true: profile, false: proxy}[strings.Contains(op.path, "/profiles")]
		switch {
		case strings.Contains(op.path, "/workspaces"):
			id = "default"
		case strings.Contains(op.path, "/templates"):
			id = template
		case strings.Contains(op.path, "/schedules"):
			id = schedule
		case strings.Contains(op.path, "/webhooks"):
			id = webhook
		}
		if strings.HasSuffix(op.path, "restore") {
			id = gone
		}
		body := strings.NewReplacer(exampleProxyID, proxy, exampleSnapshotID, snapshot).Replace(string(text))
		if strings.HasSuffix(op.path, "start") {
			body = `{"dryRun":true,` + body[1:]
		}
		path := strings.NewReplacer("{id}", id, "{snapshotId}", snapshot).Replace(op.path)
		r := a.do(t, op.method, strings.TrimPrefix(path, Prefix), body)
		if r.status >= 300 {
			t.Errorf("%s\n%s", r, body)
		}
	}
}

// TestCommittedDocument: docs/openapi.json is what the server serves, except for the version. So each change of the contract is in a
// diff.
func TestCommittedDocument(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var doc map[string]any
	if err := json.Unmarshal(a.srv.openapi, &doc); err != nil {
		t.Fatal(err)
	}
	doc["info"].(map[string]any)["version"] = "0"
	want, err := json.Marshal(doc, json.Deterministic(true), jsonIndent())
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	const file = "../docs/openapi.json"
	if *rewriteOpenAPI {
		if err := os.MkdirAll("docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(file, want, 0o644), os.Chmod(file, 0o644)); err != nil { // serve's umask is strict
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what the server serves (from byte %d: %.200s); write it anew: make openapi", file, differ(have, want),
			want[differ(have, want):])
	}
}

func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// registered reads the routes from the source: the first argument of add and stream that is a pattern.
func registered(t testing.TB) (patterns []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "routes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := ""
		switch f := call.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		if name != "add" && name != "stream" {
			return true
		}
		for _, arg := range call.Args {
			if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, "/") {
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				patterns = append(patterns, s)
				break
			}
		}
		return true
	})
	return patterns
}

// TestEveryRouteIsDocumented: the mux and openapi.json have the same routes.
func TestEveryRouteIsDocumented(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	routes := registered(t)
	if len(routes) < 25 {
		t.Fatalf("only %d routes were found in routes.go", len(routes))
	}
	documented := map[string]bool{}
	for _, op := range a.doc.operations {
		documented[op.method+" "+strings.TrimPrefix(op.path, Prefix)] = true
	}
	for _, r := range routes {
		method, path, ok := strings.Cut(r, " ")
		if !ok {
			method, path = "GET", r
		}
		found := documented[method+" "+path]
		if open, _, wild := strings.Cut(path, "{path...}"); wild { // paths below are Chrome's own; some are documented
			for name := range documented {
				found = found || strings.HasPrefix(name, method+" "+open)
			}
		}
		if !found {
			t.Errorf("%s is served and not documented", r)
		}
	}
	for _, op := range a.doc.operations {
		if !strings.HasPrefix(op.path, Prefix) {
			continue // beside the API; TestScopes calls each of them
		}
		req := httptest.NewRequest(op.method, strings.ReplaceAll(op.path, "{id}", "x"), nil)
		_, pattern := a.srv.mux.Handler(req)
		if want := op.method + " " + op.path; pattern != want && !(strings.Contains(pattern, "/cdp") && strings.Contains(want, "/cdp")) &&
			!(strings.HasSuffix(pattern, "/live/{path...}") && strings.Contains(want, "/live/")) {
			t.Errorf("%s is documented; the mux serves it by %q", want, pattern)
		}
	}
}

// TestTheCheckHasTeeth: the check finds answers with an extra, missing or mistyped member, and undocumented statuses.
func TestTheCheckHasTeeth(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	good := a.do(t, "GET", "/profiles/"+a.profile(t), nil).want(t, 200)
	op := a.doc.find("GET", good.req.URL.Path)
	for what, change := range map[string]func(*answer){
		"one more member":    func(r *answer) { r.body = bytes.Replace(r.body, []byte(`{"id"`), []byte(`{"more":1,"id"`), 1) },
		"one member less":    func(r *answer) { r.body = bytes.Replace(r.body, []byte(`"run":null,`), nil, 1) },
		"another type":       func(r *answer) { r.body = bytes.Replace(r.body, []byte(`"name":"p"`), []byte(`"name":1`), 1) },
		"null for a text":    func(r *answer) { r.body = bytes.Replace(r.body, []byte(`"name":"p"`), []byte(`"name":null`), 1) },
		"a word of no enum":  func(r *answer) { r.body = bytes.Replace(r.body, []byte(`"stopped"`), []byte(`"asleep"`), 1) },
		"an unknown status":  func(r *answer) { r.status = 418 },
		"another media type": func(r *answer) { r.header = maps.Clone(r.header); r.header.Set("Content-Type", "text/plain") },
		"an odd time": func(r *answer) {
			r.body = regexp.MustCompile(`"createdAt":"[^"]*"`).ReplaceAll(r.body, []byte(`"createdAt":5`))
		},
	} {
		bad := *good
		bad.sent = nil
		change(&bad)
		var caught recorderT
		checkAgainst(&caught, op, &bad)
		if caught.errors == 0 {
			t.Errorf("%s is not seen", what)
		}
	}
}

// recorderT counts the errors of a check.
type recorderT struct {
	testing.TB
	errors int
}

func (r *recorderT) Helper()               {}
func (r *recorderT) Errorf(string, ...any) { r.errors++ }

// TestSchemaAndServerAgree changes bodies at random places. The server refuses what the schema refuses. It accepts what the schema
// accepts, except for rules that a schema cannot express.
func TestSchemaAndServerAgree(t *testing.T) {
	t.Parallel()
	needIsolation(t)
	a := newAPI(t)
	profile, proxy := a.profile(t), a.proxy(t, "host", "127.0.0.1", "port", 1, "username", "u")
	ruled := regexp.MustCompile(`^body\.(name|os|tags.*|notes|startUrls.*|timezone|locale|allowLocal.*|` +
		`localhostVia.*|allowHosts.*|denyHosts.*|args.*|fallbackProxyIds.*|workspaceId|workspaces.*|` +
		`proxyId|host|url|username|password|type|rotateUrl|expiresAt|scopes|port|path|events.*|` +
		`cron|timeZone|action|tag|profileIds.*|proxyIds.*)$`)
	ofKept := regexp.MustCompile(`^PUT body\.temporary$`) // a profile that is kept never becomes temporary
	n, taken, refused := 0, 0, 0
	for _, b := range bodiedOperations(profile, proxy) {
		if b.method == "PATCH" || b.path == "/proxies/check" { // the same bodies as PUT and add
			continue
		}
		op := a.doc.find(b.method, Prefix+b.path)
		for _, m := range b.members {
			for _, v := range sampled(variants()) {
				if strings.HasSuffix(b.path, "/start") && m.name == "dryRun" {
					continue
				}
				base := maps.Clone(b.base)
				if b.path == "/proxies" {
					base["username"] = fmt.Sprint("u", n)
				}
				delete(base, m.name)
				body := bodied{base: base}.with(m.name, v)
				n++
				req := a.request(t, b.method, b.path, body)
				schemaSays := fitsRequest(op, req, body)
				r := a.send(t, req) // reports bodies that are accepted against the schema
				switch {
				case r.status < 300:
					taken++
				case r.status == 422 && schemaSays == nil:
					for _, at := range r.faults() {
						webrtc := at == "body.webrtc" && (strings.Contains(v, "default") || m.name == "proxyId")
						if !ruled.MatchString(at) && !ofKept.MatchString(b.method+" "+at) && !webrtc {
							t.Errorf("%s %s: openapi.json allows %s, the server refuses %s: %s", b.method, b.path, body, at, r)
						}
					}
					refused++
				// webrtc default was taken a moment ago, and root's browser cannot have it
				case r.status == 503 && r.text("code") == "isolation_unavailable":
					refused++
				case r.status == 422, r.status == 409 && schemaSays == nil:
					refused++
				default:
					t.Errorf("%s of %s (schema: %v)", r, body, schemaSays)
				}
			}
		}
	}
	if !testing.Short() && (taken < 100 || refused < 500) {
		t.Errorf("%d bodies: %d taken, %d refused: one side is hardly tried", n, taken, refused)
	}
	t.Logf("%d bodies: %d taken, %d refused", n, taken, refused)
}

// variants are values of every type, at and beyond limits.
func variants() []string {
	return []string{`null`, `true`, `false`, `0`, `1.0`, `1e3`, `1.5`, `-1`, `65536`, `2592000001`, `1e30`, `""`, `"x"`, `"auto"`, `"off"`,
		`"default"`,
		`"win"`, `"124"`, `"socks5"`, `"read"`, `"warn"`, `[]`, `["x"]`, `["read"]`, `["de"]`, `["https://a.example/"]`, `[null]`, `[1]`,
		`{}`, `{"latitude":1,"longitude":2}`, `{"latitude":1,"longitude":2,"accuracy":null}`,
		`{"latitude":90.5,"longitude":2}`, `{"latitude":1,"longitude":2,"x":1}`, `{"width":1920,"height":1080}`,
		`{"width":1920,"height":1080,"deviceScaleFactor":null}`, `{"width":1920,"height":1080,"deviceScaleFactor":0.4}`,
		`{"width":319,"height":1080}`, `"2999-01-01T00:00:00Z"`, `"Europe/Berlin"`}
}

// jsonIndent formats the document for diffs.
func jsonIndent() json.Options { return jsontext.WithIndent("  ") }
