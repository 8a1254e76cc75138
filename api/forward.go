package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strings"

	"warren/nodes"
	"warren/problem"
	"warren/store"
)

// Passes requests on, where several servers share a database, to the one that has the profile's data. It is the request that came, with
// the key of its caller, which that server checks again. No request is passed on twice.

// passOn sends a request on, if another server has what it is about. done: it was answered.
func (s *API) passOn(w http.ResponseWriter, r *http.Request, pattern string) (done bool, err error) {
	where := s.places[pattern]
	if where == anywhere || s.nodes.Owner() == "" {
		return false, nil
	}
	at, err := s.ownerOf(r.Context(), r.URL.Path)
	switch {
	case err != nil:
		return false, err
	case at == s.nodes.Owner(), at == "" && where != atPlace && where != atChoice:
		return false, nil
	case requestOf(r.Context()).peer != "":
		if at == "" || where == nearOwner {
			return false, nil
		}
		return false, movedMeanwhile()
	case at == "":
		return s.passToNew(w, r, where)
	}
	if where == nearOwner {
		return s.passNear(w, r, at)
	}
	to, err := s.nodes.Other(r.Context(), at)
	if err != nil {
		return false, err
	}
	return true, s.passToNode(w, r, to, nil)
}

// passNear sends a request to a server that can be reached. Otherwise this one answers it from the database.
func (s *API) passNear(w http.ResponseWriter, r *http.Request, at string) (done bool, err error) {
	to, err := s.nodes.Other(r.Context(), at)
	if unreachable := problem.HasCode(err, "node_unreachable"); unreachable || err == nil && to.State != nodes.Up {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, again, err := keepBody(r)
	if err != nil {
		return false, err
	}
	err = s.passToNode(w, r, to, nil)
	if problem.HasCode(err, "node_unreachable") { // nothing was sent
		again()
		return false, nil
	}
	return true, err
}

// keepBody reads a body of maxBody bytes at most, and one byte of a longer one. again makes the request have it once more.
func keepBody(r *http.Request) (body []byte, again func(), err error) {
	rest := r.Body
	if body, err = io.ReadAll(io.LimitReader(rest, maxBody+1)); err != nil {
		return nil, nil, problem.New(problem.Malformed, "malformed_json", "The body ended early.").Because(err)
	}
	again = func() { r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), rest)) }
	again()
	return body, again, nil
}

// movedMeanwhile is the error of a request that was passed on to a server that does not have the profile's data.
func movedMeanwhile() *problem.Error {
	return problem.New(problem.Conflict, "node_unreachable", "Another server has the profile's data meanwhile. Ask again.")
}

// ownerOf returns the id of the server that has what an address is about; "": none has it, or there is no such thing.
func (s *API) ownerOf(ctx context.Context, path string) (string, error) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(path, Prefix+"/"), "/")
	id, _, _ := strings.Cut(rest, "/")
	switch kind {
	case "jobs":
		at, _, named := strings.Cut(id, ".")
		if !named {
			return "", nil
		}
		return at, nil
	case "runs":
		run, err := s.store.Read().GetRun(ctx, store.GetRunParams{ID: id, Workspaces: callerOf(ctx).Sees.Filter()})
		if err != nil {
			return "", unlessNoRow(err)
		}
		id = run.ProfileID
	}
	return s.ownerOfProfile(ctx, id)
}

// ownerOfProfile is ownerOf for a profile.
func (s *API) ownerOfProfile(ctx context.Context, id string) (string, error) {
	row, err := s.store.Profile(ctx, callerOf(ctx).Sees, id, false)
	if errors.Is(err, store.ErrNoRow) {
		row, err = s.store.Profile(ctx, callerOf(ctx).Sees, id, true)
	}
	if err != nil || row.NodeID == nil {
		return "", unlessNoRow(err)
	}
	return *row.NodeID, nil
}

// unlessNoRow returns nil for store.ErrNoRow: the operation answers for what there is not.
func unlessNoRow(err error) error {
	if errors.Is(err, store.ErrNoRow) {
		return nil
	}
	return err
}

// passToNode sends a request to another server, and its answer back. With a judge, it sees an answer first: if it returns an error, that is
// returned, and nothing was answered.
func (s *API) passToNode(w http.ResponseWriter, r *http.Request, to nodes.Info, judge func(*http.Response) error) error {
	req := requestOf(r.Context())
	if b, ok := r.Body.(*timedBody); ok {
		b.step = bodyTime // how long it may be is that server's to say
	}
	own := takeHeaders(w.Header())
	var failed error
	pass := &httputil.ReverseProxy{
		Transport: s.nodes.Transport(to.ID, to.Address),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "https", nodes.ServerName(to.ID), p.In.Host
			s.sign(p.Out, req)
		},
		ModifyResponse: judge,
		ErrorHandler:   func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	pass.ServeHTTP(w, r)
	if failed == nil {
		nothingToRecord(r.Context()) // that server has done it
		return nil
	}
	for name, values := range own {
		w.Header()[name] = values
	}
	return failedThere(to, failed)
}

// takeHeaders removes what was set of an answer, and returns it.
func takeHeaders(h http.Header) http.Header {
	taken := h.Clone()
	clear(h)
	return taken
}

// sign says for whom a request to another server is.
func (s *API) sign(out *http.Request, req *request) {
	for _, name := range []string{headerClient, headerBase, headerCaller, headerUnused} {
		out.Header.Del(name)
	}
	out.Header.Set(headerClient, req.clientAddress())
	out.Header.Set(headerBase, req.base)
	out.Header.Set("X-Request-Id", req.id)
	if req.caller != nil && out.Header.Get("Authorization") == "" {
		out.Header.Set(headerCaller, req.caller.mark)
	}
	if req.unusedProxy {
		out.Header.Set(headerUnused, "1")
	}
}

// failedThere is the error of a request for which another server could not be asked, or did not answer.
func failedThere(to nodes.Info, err error) error {
	known, ours := errors.AsType[*problem.Error](err)
	switch {
	case ours:
		return known
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, nodes.ErrNotReached):
		return to.Unreachable().Because(err)
	}
	return nodes.Failed(to.Name).Because(err)
}
