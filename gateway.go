package main

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"warren/problem"
	"warren/shim"
)

// This file lets CDP clients in: by a run's capability, or by the API key. The frames are the shim's to read.

// endpoints are the addresses of a run, as the client that asks reaches this server.
func (s *server) endpoints(ctx context.Context, secret string) (ws, cdp, live string) {
	base := requestOf(ctx).base
	return "ws" + strings.TrimPrefix(base, "http") + "/cdp/" + secret, base + "/cdp/" + secret, base + "/live#" + secret
}

// capabilityGateway is /cdp/<capability>/…: who has the capability drives that run, without a key.
func (s *server) capabilityGateway(w http.ResponseWriter, r *http.Request) error {
	secret, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/cdp/"), "/")
	c := s.runs.withCapability(secret)
	if c == nil || c.Readonly {
		return noSuchRun()
	}
	done, err := s.streams.enter(c.Key)
	if err != nil {
		return err
	}
	defer done()
	ctx, leave := c.hold(r.Context())
	defer leave()
	r = r.WithContext(ctx)
	return s.passOn(w, r, c.run, shim.Rights{Files: c.Files}, "/cdp/"+secret)
}

func noSuchRun() *problem.Error {
	return problem.New(problem.NotFound, "run_not_found", "There is no run with this capability. It dies with its run and with the key that it was made for; start the profile again for a new one.")
}

// profileGateway is /api/v1/profiles/{id}/cdp/…: the same for who has a key.
func (s *server) profileGateway(w http.ResponseWriter, r *http.Request) error {
	return s.withKey(r, func(r *http.Request, run *profileRun) error {
		return s.passOn(w, r, run, shim.Rights{Files: callerOf(r.Context()).has(scopeFiles)}, apiPrefix+"/profiles/"+r.PathValue("id")+"/cdp")
	})
}

// withKey finds the run of the path's profile, and ends what pass does with it when the caller's key ends.
func (s *server) withKey(r *http.Request, pass func(*http.Request, *profileRun) error) error {
	row, err := s.profileRow(r.Context(), r.PathValue("id"), false)
	if err != nil {
		return err
	}
	run := s.runs.of(row.ID)
	if run == nil {
		return notRunning()
	}
	ctx, leave, err := s.lasting(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	return pass(r.WithContext(ctx), run)
}

// lasting counts what the caller's key holds open, and gives a context that ends with the key. leave must be called.
func (s *server) lasting(ctx context.Context) (_ context.Context, leave func(), err error) {
	caller := callerOf(ctx)
	done, err := s.streams.enter(caller.KeyID)
	if err != nil {
		return nil, nil, err
	}
	ctx, end := s.sockets.enter(ctx, caller)
	if err := s.keys.confirm(ctx, caller); err != nil { // it may have been revoked before it was known here
		end()
		done()
		return nil, nil, err
	}
	return ctx, func() { end(); done() }, nil
}

func (s *server) passOn(w http.ResponseWriter, r *http.Request, run *profileRun, may shim.Rights, prefix string) error {
	client, err := run.process()
	if err != nil {
		return err
	}
	base := "ws" + strings.TrimPrefix(requestOf(r.Context()).base, "http") + prefix
	w.Header().Del("Cache-Control")
	client.Gateway(may, base, prefix, s.runIsOver).ServeHTTP(w, r)
	return nil
}

// runIsOver answers when a run's process has gone.
func (s *server) runIsOver(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, r, s.log, noSuchRun())
}

// keyedSockets are the connections that were let in by a key: they end with it. Those that a capability opened end with that.
type keyedSockets struct {
	mu    sync.Mutex
	byKey map[string]map[context.Context]context.CancelFunc
}

// enter gives a context that ends when the caller's key is revoked or its time is over; leave must be called.
func (k *keyedSockets) enter(ctx context.Context, c *caller) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	if !c.Expires.IsZero() { // its end is no deadline that was missed, but the same as being revoked
		timer := time.AfterFunc(time.Until(c.Expires), cancel)
		end := cancel
		cancel = func() { timer.Stop(); end() }
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byKey[c.KeyID] == nil {
		k.byKey[c.KeyID] = map[context.Context]context.CancelFunc{}
	}
	k.byKey[c.KeyID][ctx] = cancel
	return ctx, func() {
		cancel()
		k.mu.Lock()
		defer k.mu.Unlock()
		if delete(k.byKey[c.KeyID], ctx); len(k.byKey[c.KeyID]) == 0 {
			delete(k.byKey, c.KeyID)
		}
	}
}

// dismiss ends the connections of a key, which was revoked.
func (k *keyedSockets) dismiss(keyID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, cancel := range k.byKey[keyID] {
		cancel()
	}
}
