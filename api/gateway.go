package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"warren/problem"
	"warren/runs"
)

// Connects CDP clients with runs, by a capability or an API key. The process of the run handles the frames.

// endpoints returns the addresses of a run, as the client reaches this server.
func (s *API) endpoints(ctx context.Context, secret string) (ws, cdp, live string) {
	base := requestOf(ctx).base
	return "ws" + strings.TrimPrefix(base, "http") + "/cdp/" + secret, base + "/cdp/" + secret, base + "/live#" + secret
}

// capabilityGateway serves /cdp/<capability>/…: a capability gives access to one run without a key.
func (s *API) capabilityGateway(w http.ResponseWriter, r *http.Request) error {
	secret, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/cdp/"), "/")
	c := s.runs.OpenedBy(secret)
	if c == nil || c.Readonly {
		return noSuchRun()
	}
	done, err := s.keyQuota.acquire(c.Key)
	if err != nil {
		return err
	}
	defer done()
	ctx, release := c.Hold(r.Context())
	defer release()
	r = r.WithContext(ctx)
	process, err := c.Process()
	if err != nil {
		return err
	}
	return s.serveCDP(w, r, process, runs.Rights{Files: c.Files}, "/cdp/"+secret)
}

func noSuchRun() *problem.Error {
	return problem.New(problem.NotFound, "run_not_found", "There is no run with this capability. "+
		"It ends with its run and with the key that it was made for; start the profile again for a new one.")
}

// profileGateway serves /api/v1/profiles/{id}/cdp/… for callers with a key.
func (s *API) profileGateway(w http.ResponseWriter, r *http.Request) error {
	return s.withKey(r, func(r *http.Request, process *runs.Process) error {
		return s.serveCDP(w, r, process, runs.Rights{Files: callerOf(r.Context()).has(scopeFiles)},
			Prefix+"/profiles/"+r.PathValue("id")+"/cdp")
	})
}

// withKey calls pass with the process of the profile's run. The request's context ends with the caller's key.
func (s *API) withKey(r *http.Request, pass func(*http.Request, *runs.Process) error) error {
	row, err := s.profileRow(r.Context(), r.PathValue("id"), false)
	if err != nil {
		return err
	}
	process, err := s.runs.Process(row.ID)
	if err != nil {
		return err
	}
	ctx, release, err := s.longLived(r.Context())
	if err != nil {
		return err
	}
	defer release()
	return pass(r.WithContext(ctx), process)
}

// longLived counts a request for the caller's quota. The returned context ends with the caller's key. The caller must call release.
func (s *API) longLived(ctx context.Context) (_ context.Context, release func(), err error) {
	caller := callerOf(ctx)
	done, err := s.keyQuota.acquire(caller.KeyID)
	if err != nil {
		return nil, nil, err
	}
	ctx, end := s.keyContexts.add(ctx, caller)
	if err := s.keys.confirm(ctx, caller); err != nil { // it may have been revoked before it was registered
		end()
		done()
		return nil, nil, err
	}
	return ctx, func() { end(); done() }, nil
}

func (s *API) serveCDP(w http.ResponseWriter, r *http.Request, process *runs.Process, may runs.Rights, prefix string) error {
	base := "ws" + strings.TrimPrefix(requestOf(r.Context()).base, "http") + prefix
	w.Header().Del("Cache-Control")
	process.Gateway(may, base, prefix, s.writeRunNotFound).ServeHTTP(w, r)
	return nil
}

// writeRunNotFound answers when the process of a run has ended.
func (s *API) writeRunNotFound(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, r, s.log, noSuchRun())
}

// keyContexts holds the contexts of long-lived requests by key id, so that revoking the key ends them. Connections by a capability
// end with the capability instead.
type keyContexts struct {
	mu    sync.Mutex
	byKey map[string]map[context.Context]context.CancelFunc
}

// add returns a context that ends when the caller's key is revoked or expires. The caller must call release.
func (k *keyContexts) add(ctx context.Context, c *caller) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	if !c.Expires.IsZero() { // cancelled as if revoked: DeadlineExceeded would look like a timeout
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

// cancelKey ends the contexts of a revoked key.
func (k *keyContexts) cancelKey(keyID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, cancel := range k.byKey[keyID] {
		cancel()
	}
}
