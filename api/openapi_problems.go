package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/problem"
)

// refused is a type of requests that names the errors of its operation, beside those that every operation may have.
type refused interface{ problems() []*problem.Error }

// problemsOf returns the errors that an operation may answer with: in is the type of its requests.
func problemsOf(path string, in reflect.Type, idempotent bool) []*problem.Error {
	var own []*problem.Error
	if r, ok := withBody[refused](in); ok {
		own = r.problems()
	}
	if idempotent {
		own = append(own, idempotencyConflict())
	}
	return slices.Concat(own, generalProblems(path))
}

// problemExamples names the errors of a status by their code. Status 0 means any. The examples themselves are components of the document.
func problemExamples(problems []*problem.Error, status int) map[string]*huma.Example {
	out := map[string]*huma.Example{}
	for _, p := range problems {
		if statuses[p.Kind] == status || status == 0 && p.Code == "unauthorized" {
			out[p.Code] = &huma.Example{Ref: "#/components/examples/" + p.Code}
		}
	}
	return out
}

// addProblemExamples adds an example of each error to the document's components. The last one of a code stays.
func addProblemExamples(o *huma.OpenAPI, problems []*problem.Error) {
	if o.Components.Examples == nil {
		o.Components.Examples = map[string]*huma.Example{}
	}
	for _, p := range problems {
		answer := newProblem(p)
		answer.Instance = "urn:warren:request:0199a1c2-7d3e-7a10-8a55-00000000000a"
		o.Components.Examples[p.Code] = &huma.Example{Summary: p.Message, Value: plain(answer)}
	}
}

// generalProblems returns the errors that every operation at the path may have.
func generalProblems(path string) []*problem.Error {
	var out []*problem.Error
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType} {
		out = append(out, refusedByHuma(status))
	}
	out[0].Faults = []problem.Fault{{Location: "body", Message: `invalid character 'n' at start of value after offset 12`}}
	objects := map[string]string{"profiles": "profile", "proxies": "proxy", "keys": "key", "runs": "run"}
	if object := objects[strings.Split(path, "/")[1]]; object != "" {
		out = append(out, problem.Missing(object))
	}
	return append(out, unauthorized(), tooManyWrongKeys(30*time.Second), (&caller{}).may(scopeWrite), foreignOrigin(), etagMismatch(),
		cursorGone(), foreignHost(), exampleFaults(), problem.Hidden(nil), databaseBusy(nil), problem.DiskFull(nil))
}

func exampleFaults() *problem.Error {
	return problem.NotValid(
		problem.Fault{Location: "body.name", Message: "must have 1 to 200 characters, after spaces at both ends are cut; it has 0"},
		problem.Fault{Location: "query.limit", Message: "expected number <= 200", Value: 500})
}
