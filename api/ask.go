package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"warren/nodes"
	"warren/runs"
)

// Asks other servers of the database on behalf of a request: a part of a batch, or a start that comes with a create.

// ask sends a request to another server for the caller of ctx, and reads its answer into out; nil: it is not needed. The error is the
// problem that was answered.
func (s *API) ask(ctx context.Context, to nodes.Info, method, path string, in, out any) error {
	text, err := s.askText(ctx, to, method, path, in)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// askText is ask for an answer that is no JSON value.
func (s *API) askText(ctx context.Context, to nodes.Info, method, path string, in any) ([]byte, error) {
	body := []byte{}
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, "https://"+nodes.ServerName(to.ID)+Prefix+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req := requestOf(ctx)
	if req.authorization != "" {
		r.Header.Set("Authorization", req.authorization)
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	s.sign(r, req)
	res, err := s.nodes.Transport(to.ID, to.Address).RoundTrip(r)
	if err != nil {
		return nil, failedThere(to, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, failedThere(to, err)
	}
	if res.StatusCode < http.StatusBadRequest {
		return text, nil
	}
	p, err := problemFrom(text)
	if err != nil {
		return nil, nodes.Failed(to.Name).Because(err)
	}
	return nil, p
}

// askTime is how long a list waits for other servers.
const askTime = 5 * time.Second

// askAll asks every other server that serves, at once. Those that do not answer are left out. A request that was passed on asks nobody.
func askAll[T any](ctx context.Context, s *API, path string) ([]T, error) {
	if requestOf(ctx).peer != "" {
		return nil, nil
	}
	others, err := s.nodes.Others(ctx)
	if err != nil {
		return nil, err
	}
	others = slices.DeleteFunc(others, func(n nodes.Info) bool { return n.State != nodes.Up })
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	answers := make(chan *T, len(others))
	for _, to := range others {
		go func() {
			out := new(T)
			if err := s.ask(ctx, to, http.MethodGet, path, nil, out); err != nil {
				s.log.Debug("a server does not answer, and is left out of a list", "node", to.Name, "cause", err)
				out = nil
			}
			answers <- out
		}()
	}
	var all []T
	for range others {
		if one := <-answers; one != nil {
			all = append(all, *one)
		}
	}
	return all, nil
}

// startAnywhere starts or restarts a profile on the server that has it, or that fits it best, with the profile's settings.
func (s *API) startAnywhere(ctx context.Context, id, action string) (started *runs.Started, err error) {
	by := s.runs.Start
	if action == "restart" {
		by = s.runs.Restart
	}
	err = s.tryPlaces(ctx, id, true, func(to nodes.Info, _ bool) error {
		if !to.Self {
			started = new(runs.Started)
			return s.ask(ctx, to, http.MethodPost, "/profiles/"+id+"/"+action, nil, started)
		}
		answer, err := s.startBy(ctx, &startRequest{ProfilePath: ProfilePath{ID: id}, Body: &startInput{}}, by)
		if err == nil {
			started = answer.Body.started
		}
		return err
	})
	return started, err
}

// stopAnywhere stops a profile on the server that has it.
func (s *API) stopAnywhere(ctx context.Context, path ProfilePath) error {
	to, err := s.elsewhere(ctx, path.ID)
	if err == nil && to == nil {
		_, err = s.stopProfile(ctx, &stopRequest{ProfilePath: path})
	} else if err == nil {
		err = s.ask(ctx, *to, http.MethodPost, "/profiles/"+path.ID+"/stop", nil, nil)
	}
	return err
}

// deleteAnywhere deletes a profile on the server that has it.
func (s *API) deleteAnywhere(ctx context.Context, path ProfilePath, permanent bool) error {
	to, err := s.elsewhere(ctx, path.ID)
	if err == nil && to == nil {
		_, err = s.deleteProfile(ctx, &profileDelete{ProfilePath: path, Permanent: permanent})
	} else if err == nil {
		err = s.ask(ctx, *to, http.MethodDelete, "/profiles/"+path.ID+"?permanent="+strconv.FormatBool(permanent), nil, nil)
	}
	return err
}

// setProxyAnywhere gives a profile a proxy on the server that runs it, whose run follows. One that does not run is changed here.
func (s *API) setProxyAnywhere(ctx context.Context, path ProfilePath, proxy opt[string]) (*ProfileBody, error) {
	row, err := s.profileRow(ctx, path.ID, false)
	if err != nil {
		return nil, err
	}
	to, err := s.elsewhere(ctx, path.ID)
	if err != nil || to == nil || row.Status == "stopped" {
		return s.changeProfile(ctx, profileUpdate{ProfilePath: path, Body: ProfileInput{ProxyID: proxy}})
	}
	if err := s.ask(ctx, *to, http.MethodPut, "/profiles/"+path.ID, map[string]*string{"proxyId": orNull(proxy.Value)}, nil); err != nil {
		return nil, err
	}
	return s.getProfile(ctx, &profileGet{ProfilePath: path})
}

// elsewhere returns the server that has a profile's data, if that is another one; nil: it is this one, or none.
func (s *API) elsewhere(ctx context.Context, id string) (*nodes.Info, error) {
	if s.nodes.Owner() == "" {
		return nil, nil
	}
	at, err := s.ownerOfProfile(ctx, id) // an id that is none is in no path that is asked for
	if err != nil || at == "" || at == s.nodes.Owner() {
		return nil, err
	}
	to, err := s.nodes.Other(ctx, at)
	if err != nil {
		return nil, err
	}
	return &to, nil
}
