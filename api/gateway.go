package api

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Connects CDP clients and viewers with runs, by a capability or an API key. The process of the run handles frames and input.

// endpoints returns the addresses of a run, as the client reaches this server.
func (s *API) endpoints(ctx context.Context, secret string) (ws, cdp, live string) {
	base := requestOf(ctx).base
	if at := s.nodes.Owner(); at != "" {
		secret = at + "." + secret
	}
	return "ws" + strings.TrimPrefix(base, "http") + "/cdp/" + secret, base + "/cdp/" + secret, base + "/live#" + secret
}

// passTo hands a request to the process of a run. prefix is the part of the path that the process does not need.
type passTo func(w http.ResponseWriter, r *http.Request, process *runs.Process, may runs.Rights, prefix string)

// byCapability serves /cdp/<capability>/… and /live/<capability>/…: a capability gives access to one run without a key. A readonly one
// only watches. Where several servers share a database, it begins with the one that has the run, and a dot.
func (s *API) byCapability(w http.ResponseWriter, r *http.Request, root string, pass passTo) error {
	given, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, root), "/")
	secret := given
	if at, rest, named := strings.Cut(given, "."); named {
		if secret = rest; at != s.nodes.Owner() {
			return s.passCapability(w, r, at)
		}
	}
	c := s.runs.OpenedBy(secret)
	if c == nil || c.Readonly && root != "/live/" {
		return noSuchRun()
	}
	done, err := s.keyQuota.acquire(c.Key)
	if err != nil {
		return err
	}
	defer done()
	ctx, release := c.Hold(r.Context())
	defer release()
	process, err := c.Process()
	if err != nil {
		return err
	}
	if err := s.recordOpening(r, c, strings.Trim(root, "/")+".open"); err != nil {
		return err
	}
	pass(w, r.WithContext(ctx), process, runs.Rights{Readonly: c.Readonly, Files: c.Files}, root+given)
	return nil
}

// recordOpening records that somebody with a capability opens a connection that stays. Its key is the one that the capability was made
// for.
func (s *API) recordOpening(r *http.Request, c *runs.Capability, action string) error {
	if !isUpgrade(r) {
		return nil
	}
	req := requestOf(r.Context())
	req.remote = s.clientIP(r)
	req.audit = auditState{action: action, workspace: c.Workspace(), object: c.Profile(), by: newCaller(store.Holder{KeyID: c.Key}),
		detail: map[string]any{"capabilityId": c.ID, "readonly": c.Readonly}}
	if strings.HasPrefix(c.Key, environmentID) {
		req.audit.by.KeyID, req.audit.by.Name = environmentID, environmentName
	} else if key, err := s.store.Read().GetKey(r.Context(), store.GetKeyParams{ID: c.Key}); err == nil {
		req.audit.by.Name = key.Name
	} else if !errors.Is(err, store.ErrNoRow) {
		return err
	}
	return s.change(r.Context(), func(*store.Queries) error { return nil })
}

func noSuchRun() *problem.Error {
	return problem.New(problem.NotFound, "run_not_found", "There is no run with this capability. "+
		"It ends with its run and with the key that it was made for; start the profile again for a new one.")
}

// byKey serves /api/v1/profiles/{id}/<name>/… for callers with a key. The request's context ends with the key.
func (s *API) byKey(name string, pass passTo) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
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
		about(ctx, row.WorkspaceID, row.ID, nil)
		if isUpgrade(r) {
			if err := s.finishAudit(ctx, true); err != nil {
				return err
			}
		}
		pass(w, r.WithContext(ctx), process, runs.Rights{Files: callerOf(ctx).has(scopeFiles)},
			Prefix+"/profiles/"+r.PathValue("id")+"/"+name)
		return nil
	}
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

// serveCDP is passTo for CDP clients.
func (s *API) serveCDP(w http.ResponseWriter, r *http.Request, process *runs.Process, may runs.Rights, prefix string) {
	base := "ws" + strings.TrimPrefix(requestOf(r.Context()).base, "http") + prefix
	w.Header().Del("Cache-Control")
	process.Gateway(may, base, prefix, s.writeRunNotFound).ServeHTTP(w, r)
}

// serveLive is passTo for viewers. Those that ask for ?readonly only watch; 0 and false mean no.
func (s *API) serveLive(w http.ResponseWriter, r *http.Request, process *runs.Process, may runs.Rights, prefix string) {
	asked := slices.ContainsFunc(r.URL.Query()["readonly"], func(v string) bool { return v != "0" && v != "false" })
	may.Readonly = may.Readonly || asked
	process.Live(may, prefix, s.writeRunNotFound).ServeHTTP(w, r)
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

// ids returns the ids of the keys that have requests.
func (k *keyContexts) ids() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Keys(k.byKey))
}

// cancelKey ends the contexts of a revoked key.
func (k *keyContexts) cancelKey(keyID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, cancel := range k.byKey[keyID] {
		cancel()
	}
}

// passCapability sends a request with a capability to the server that has the run.
func (s *API) passCapability(w http.ResponseWriter, r *http.Request, at string) error {
	if s.nodes.Owner() == "" || requestOf(r.Context()).peer != "" {
		return noSuchRun()
	}
	to, err := s.nodes.Other(r.Context(), at)
	if err != nil {
		return err
	}
	return s.passToNode(w, r, to, nil)
}
