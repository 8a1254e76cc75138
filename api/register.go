package api

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"warren/nodes"
	"warren/store"
)

// useOurErrors sets huma's package-wide hooks once. huma's error model repeats what was sent, passwords included, and its matching
// of names ignores case.
var useOurErrors = sync.OnceFunc(func() {
	huma.NewError = newHumaError
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		if status == http.StatusUnprocessableEntity {
			req := requestOf(ctx.Context())
			errs = append(errs, req.queryFaults.errors()...)
			errs = append(errs, req.moreFaults(ctx.Context(), errs)...)
		}
		return newHumaError(status, msg, errs...)
	}
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
})

func (s *API) humaConfig() huma.Config {
	c := huma.DefaultConfig("Warren", s.cfg.Version["version"])
	c.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	c.CreateHooks = nil // no $schema members, no Link headers
	c.DocsPath, c.SchemasPath, c.OpenAPIPath = "", "", ""
	c.Formats = map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()}
	c.DefaultFormat = "application/json"
	c.Transformers = []huma.Transformer{func(ctx huma.Context, _ string, v any) (any, error) {
		if p, ok := v.(*Problem); ok {
			v = occurrence(ctx.Context(), s.log, p.cause)
			requestOf(ctx.Context()).code = p.Code
		}
		_, isList := v.(lister)
		body, err := newBody(v) // not in the format's Marshal: the header is not sent yet, so Content-Length can be set
		if err == nil && isList {
			body = s.compressors.compress(ctx, body)
		}
		if err == nil {
			ctx.SetHeader("Content-Length", strconv.Itoa(len(*body)))
		}
		return body, err
	}}
	describeAPI(c.OpenAPI)
	return c
}

// jsonFormat decodes JSON strictly (bodies.go).
func jsonFormat() huma.Format {
	return huma.Format{
		Marshal:   func(w io.Writer, v any) error { return v.(*body).writeTo(w) },
		Unmarshal: readBody,
	}
}

// answeredBy is the API, and the servers that answer what is registered with it.
type answeredBy struct {
	*API
	where place
}

// add registers an operation: who answers it, the scope that it needs, its method and path, its id and summary, and its handler.
func add[I, O any](s answeredBy, scope store.Right, pattern, id, summary string, h func(context.Context, *I) (*O, error)) {
	method, p, _ := strings.Cut(pattern, " ")
	op := huma.Operation{
		OperationID: id, Method: method, Path: p, Summary: summary,
		MaxBodyBytes:    bodyLimit(pattern) + 1, // huma refuses a body whose size equals the limit
		BodyReadTimeout: -1,                     // else a request without its optional body fails after 5 s
		Middlewares: huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
			checkQuery(ctx)
			next(ctx)
		}},
	}
	describeOperation(&op, scope, s.where)
	s.needs[method+" "+Prefix+p], s.places[method+" "+Prefix+p] = scope, s.where
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		if err := requestOf(ctx).queryFaults.problem(); err != nil {
			return nil, newProblem(fromError(err))
		}
		out, err := h(ctx, in)
		if err == nil {
			err = s.finishAudit(ctx, method == http.MethodGet)
		}
		if err != nil {
			return nil, newProblem(fromError(s.withUse(ctx, err)))
		}
		return out, nil
	})
	s.addExamples(method, p, s.where, reflect.TypeFor[I](), reflect.TypeFor[O]())
}

// addExamples adds the examples of an operation to the document: of its request, its answer and its errors.
func (s *API) addExamples(method, path string, where place, in, out reflect.Type) {
	o := s.api.OpenAPI()
	problems := problemsOf(path, in, s.idempotency.covers(method+" "+Prefix+path))
	if where != anywhere {
		problems = append(problems, exampleElsewhere(), nodes.Failed("warren-1"))
	}
	if where == atPlace {
		problems = append(problems, noMorePlaces())
	}
	addProblemExamples(o, problems)
	op := operations(o.Paths[path])[method]
	if op.RequestBody != nil {
		if media := op.RequestBody.Content["application/json"]; media != nil {
			media.Example = plain(cmp.Or(exampleOf(in), any(map[string]any{})))
		}
	}
	for status, response := range op.Responses {
		code, err := strconv.Atoi(status)
		if media := response.Content["application/json"]; media != nil && err == nil && code < 300 {
			media.Example = plain(exampleOf(out))
		}
		if media := response.Content["application/problem+json"]; media != nil {
			media.Examples = problemExamples(problems, code)
		}
	}
}

// operations returns the operations of a path, by method.
func operations(item *huma.PathItem) map[string]*huma.Operation {
	return map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put,
		http.MethodPatch: item.Patch, http.MethodDelete: item.Delete}
}

// operationIDs returns the ids of the described operations, by pattern.
func (s *API) operationIDs() map[string]string {
	ids := map[string]string{"GET /metrics": "metrics"}
	for path, item := range s.api.OpenAPI().Paths {
		for method, op := range operations(item) {
			if op != nil {
				ids[method+" "+Prefix+path] = op.OperationID
			}
		}
	}
	for _, p := range serverPaths {
		ids[p.path] = p.id
	}
	return ids
}

// checkQuery records unknown query parameters, and those given twice that take one value. They are reported together with all other
// faults; huma's own check would report them alone.
func checkQuery(ctx huma.Context) {
	u := ctx.URL()
	if u.RawQuery == "" {
		return
	}
	f := &requestOf(ctx.Context()).queryFaults
	query, err := url.ParseQuery(u.RawQuery)
	f.require(err == nil, "query", "The query cannot be read. Write & between parameters, and % as %25.")
	for name, values := range query {
		if !utf8.ValidString(name + strings.Join(values, "")) {
			f.add("query."+strings.ToValidUTF8(name, ""), "This is not UTF-8 text.", nil)
			continue
		}
		params := ctx.Operation().Parameters
		i := slices.IndexFunc(params, func(p *huma.Param) bool { return p.In == "query" && p.Name == name })
		switch {
		case i < 0:
			f.add("query."+name, "Unknown parameter. Remove it, or check its spelling.", nil)
		case len(values) > 1 && params[i].Schema.Type != huma.TypeArray:
			f.add("query."+name, "Give this parameter once.", nil)
		}
	}
}

// stream registers a handler that huma does not serve: a stream, a socket or a file.
func (s answeredBy) stream(scope store.Right, pattern string, h func(w http.ResponseWriter, r *http.Request) error) {
	s.outside(scope, strings.Replace(pattern, "/", Prefix+"/", 1), h)
}

// outside registers a handler that huma does not serve, at a path outside the API's prefix.
func (s answeredBy) outside(scope store.Right, pattern string, h func(w http.ResponseWriter, r *http.Request) error) {
	s.needs[pattern], s.places[pattern] = scope, s.where
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			writeProblem(w, r, s.log, fromError(s.withUse(r.Context(), err)))
		}
	})
}
