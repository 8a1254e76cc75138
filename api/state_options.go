package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"warren/problem"
	"warren/state"
	"warren/store"
)

// Reads what the writes of cookies and storage have in common: their query, their media type, their body.

// stateOptions are the options of a write.
type stateOptions struct {
	format         state.Format // "": the content decides
	json           bool         // the media type says so
	domains        []string
	mode           state.Mode
	dryRun, agreed bool
}

// cookieFormats returns the media types of cookies, with the format that each one means where the query names none.
func cookieFormats() map[string]state.Format {
	return map[string]state.Format{"": "", "application/json": "", "text/json": "", "application/octet-stream": "",
		"text/plain": state.Netscape}
}

// storageFormats returns the media types of a storageState.
func storageFormats() map[string]state.Format {
	return map[string]state.Format{"": "", "application/json": "", "text/json": "", "application/octet-stream": ""}
}

// stateWrite returns the profile of a write and its options. The error has all faults of the query.
func (s *API) stateWrite(r *http.Request, kinds map[string]state.Format) (row store.Profile, in stateOptions, err error) {
	if row, err = s.writableProfile(r.Context(), r.PathValue("id")); err != nil {
		return row, in, err
	}
	cookies := kinds["text/plain"] != ""
	in, err = readStateOptions(r.URL.RawQuery, cookies)
	if err != nil {
		return row, in, err
	}
	kind := r.Header.Get("Content-Type")
	if kind != "" {
		if kind, _, err = mime.ParseMediaType(kind); err != nil {
			return row, in, wrongStateType(cookies)
		}
	}
	format, known := kinds[kind]
	if !known {
		return row, in, wrongStateType(cookies)
	}
	if in.format == "" {
		in.format = format
	}
	in.json = strings.HasSuffix(kind, "/json")
	return row, in, nil
}

// readStateOptions reads the query of a write.
func readStateOptions(raw string, cookies bool) (in stateOptions, err error) {
	var f faults
	query, err := url.ParseQuery(raw)
	f.require(err == nil, "query", "The query cannot be read. Write & between parameters, and % as %25.")
	known := []string{"domain", "mode", "confirm", "dryRun"}
	if cookies {
		known = append(known, "format")
	}
	for name, values := range query {
		switch {
		case !slices.Contains(known, name):
			f.add("query."+name, "Unknown parameter. Remove it, or check its spelling.", nil)
		case len(values) > 1 && name != "domain":
			f.add("query."+name, "Give this parameter once.", nil)
		}
	}
	in.domains = f.domains(query["domain"])
	in.mode = state.Mode(query.Get("mode"))
	if !query.Has("mode") {
		in.mode = state.Merge
	}
	f.require(slices.Contains([]state.Mode{state.Merge, state.ReplaceDomains, state.ReplaceAll}, in.mode), "query.mode",
		"Choose one of these: merge, replace-domains, replace-all.")
	in.format = state.Format(query.Get("format"))
	f.require(!query.Has("format") || slices.Contains(state.Formats(), in.format), "query.format",
		"Choose one of these: playwright, netscape, cookie-editor, cdp.")
	in.dryRun, in.agreed = f.truth(query, "dryRun"), f.truth(query, "confirm")
	f.require(in.mode != state.ReplaceAll || in.agreed || in.dryRun, "query.confirm",
		"Say confirm=true: replace-all removes all that the file does not have.")
	f.require(in.mode != state.ReplaceAll || len(in.domains) == 0, "query.domain",
		"Choose replace-domains, or leave the domains out: replace-all is about all of them.")
	f.require(in.mode != state.ReplaceDomains || len(in.domains) == 0 || cookies, "query.domain",
		"Name domains with merge alone: replace-domains takes those of the file.")
	return in, f.problem()
}

// truth reads a query parameter that is true or false.
func (f *faults) truth(query url.Values, name string) bool {
	if !query.Has(name) {
		return false
	}
	yes, err := strconv.ParseBool(query.Get(name))
	f.require(err == nil, "query."+name, "Choose true or false.")
	return yes
}

// mayReplace refuses a replacement by a file of which nothing can be taken: it would only remove. A file that names cookies to remove is
// taken as a whole, since one of its cookies may stand for one that goes.
func (in *stateOptions) mayReplace(file *state.Cookies) error {
	if len(file.Refused) == 0 {
		return nil
	}
	var f faults
	if file.Remove != nil {
		for _, r := range file.Refused[:min(len(file.Refused), maxFaults)] {
			at := "body." + r.Place
			if r.Place == "" {
				at = element("body.cookies", r.Index)
			}
			f.add(at, r.Reason, nil)
		}
		p := problem.NotValid(f...)
		p.Message = "With `remove` a file is taken as a whole, and nothing was changed. `errors` says why."
		return p
	}
	if in.mode == state.Merge || len(file.Cookies) > 0 {
		return nil
	}
	for i, r := range file.Refused[:min(len(file.Refused), maxFaults)] {
		f.add(element("body", i), r.Reason, nil)
	}
	p := problem.NotValid(f...)
	p.Message = "No cookie of the file can be taken, and nothing was changed. `errors` says why."
	return p
}

// stateBody is the body of a write. It may take long as long as bytes arrive, and ends with the caller's key.
func stateBody(r *http.Request) io.Reader {
	if b, ok := r.Body.(*timedBody); ok {
		b.step = bodyTime
	}
	return keyedBody{r.Body, r.Context()}
}

// stateProblem is the error for a file that cannot be read.
func stateProblem(r *http.Request, err error) error {
	var file *state.FileError
	switch {
	case !errors.As(err, &file):
		return uploadProblem(r, err)
	case file.Large:
		return problem.New(problem.TooLarge, "body_too_large", file.Error())
	}
	return unreadableState(file.Error())
}

func unreadableState(message string) *problem.Error {
	p := problem.New(problem.Malformed, "malformed_json",
		"The file cannot be read, and nothing was changed. `errors` says where it breaks.")
	p.Faults = []problem.Fault{{Location: "body", Message: message}}
	return p
}

// wrongStateType is the error for another media type.
func wrongStateType(cookies bool) *problem.Error {
	also := ""
	if cookies {
		also = ", or a Netscape cookies.txt as text/plain"
	}
	return problem.New(problem.Unsupported, "unsupported_media_type", fmt.Sprintf("Send JSON as application/json%s.", also))
}
