package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"warren/store"
)

// Records what requests do. Every operation that is no plain read has an action in auditActions, or a reason in unaudited. Its entry is
// written in the transaction of its change (change), else before its answer (add). So a handler cannot forget it: it only says more
// about it (about).

// auditDetails is the most members of a list, and auditText the most bytes of a text, that an entry repeats.
const (
	auditDetails = 100
	auditText    = 200
)

// about says what the entry of the request is about. workspace "" is several, object "" is that of the address. detail has no secret.
func about(ctx context.Context, workspace, object string, detail map[string]any) {
	a := &requestOf(ctx).audit
	if a.action == "" || a.done { // jobs and batches share the request
		return
	}
	a.workspace, a.object, a.detail = workspace, object, detail
}

// nothingToRecord is for requests that were a trial, or that repeat another.
func nothingToRecord(ctx context.Context) {
	if a := &requestOf(ctx).audit; a.action != "" && !a.done {
		a.done = true
	}
}

// cutText returns at most auditText bytes of a text, as valid UTF-8.
func cutText(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), auditText)], "")
}

// some is a list of ids for an entry, cut where it is too long.
func some(ids []string) []string { return ids[:min(len(ids), auditDetails)] }

// change runs fn in a transaction, with the entry of the request. Either both are on disk afterwards or neither.
func (s *API) change(ctx context.Context, fn func(*store.Queries) error) error {
	return changeIn(ctx, s.store, fn)
}

func changeIn(ctx context.Context, st *store.Store, fn func(*store.Queries) error) error {
	err := st.Write(ctx, withEntry(ctx, fn))
	return recordedUnless(ctx, err)
}

// withEntry adds the entry of the request to a transaction. recordedUnless must follow.
func withEntry(ctx context.Context, fn func(*store.Queries) error) func(*store.Queries) error {
	return func(q *store.Queries) error {
		if err := fn(q); err != nil {
			return err
		}
		req := requestOf(ctx)
		if req.audit.action == "" || req.audit.done {
			return nil
		}
		return q.Record(req.entry("ok"))
	}
}

// recordedUnless notes that the transaction with the entry is on disk, unless it has failed.
func recordedUnless(ctx context.Context, err error) error {
	if err == nil {
		nothingToRecord(ctx)
	}
	return err
}

// audit records what the caller is about to do or to read. If it returns an error, the secret must not be answered.
func (s *API) audit(ctx context.Context, action, workspace, object string, detail map[string]any) error {
	entry := entryOf(ctx, action, workspace, object, detail)
	return recordedUnless(ctx, s.store.Write(ctx, func(q *store.Queries) error { return q.Record(entry) }))
}

// entryOf returns another entry of what the caller does, for the transaction that does it.
func entryOf(ctx context.Context, action, workspace, object string, detail map[string]any) store.AuditEntry {
	req := requestOf(ctx)
	e := req.entry("ok")
	e.Action, e.WorkspaceID, e.ObjectID, e.Detail = action, workspace, object, detailText(detail)
	return e
}

func detailText(detail map[string]any) string {
	if len(detail) == 0 {
		return "{}"
	}
	text, err := json.Marshal(detail, json.Deterministic(true))
	if err != nil {
		return `{"error":"the details cannot be written"}`
	}
	return string(text)
}

// entry returns the request's entry.
func (r *request) entry(result string) store.AuditEntry {
	a := r.audit
	by := r.caller
	if a.by != nil {
		by = a.by
	}
	e := store.AuditEntry{At: now(), WorkspaceID: a.workspace, Action: a.action, ObjectID: a.object, Result: result,
		Remote: r.remote, RequestID: r.id,
		Detail: detailText(a.detail)}
	if by != nil {
		e.KeyID, e.KeyName, e.Parent = by.KeyID, by.Name, by.parent
		if own := by.Sees.Workspaces(); e.WorkspaceID == "" && len(own) == 1 {
			e.WorkspaceID = own[0]
		}
	}
	return e
}

// beginAudit prepares the entry of a request: the action and the object are known by its address.
func (s *API) beginAudit(req *request, pattern string) {
	req.audit.action = s.actions[pattern]
	if req.audit.action == "" {
		return
	}
	_, address, _ := strings.Cut(pattern, " ")
	if address == "" {
		address = pattern
	}
	given := strings.Split(req.http.URL.Path, "/")
	for i, part := range strings.Split(address, "/") {
		name, variable := strings.CutPrefix(part, "{")
		name = strings.TrimSuffix(name, "}")
		switch {
		case !variable || i >= len(given) || strings.HasSuffix(name, "..."):
		case req.audit.object == "":
			req.audit.object = cutText(given[i])
		default:
			req.audit.detail = map[string]any{name: cutText(given[i])}
		}
	}
}

// finishAudit records a request that has done something without a transaction of its own, before its answer. If the entry cannot be
// written, a secret must not be answered (before). What was done already is no error then: the server's log has the entry.
func (s *API) finishAudit(ctx context.Context, before bool) error {
	req := requestOf(ctx)
	if req.audit.action == "" || req.audit.done {
		return nil
	}
	s.findWorkspace(ctx, req)
	err := s.change(context.WithoutCancel(ctx), func(*store.Queries) error { return nil })
	if err != nil && !before {
		s.log.Error("what was done is not in the audit log", "request", req.id, "action", req.audit.action, "object", req.audit.object,
			"key", req.caller.KeyID, "cause", err)
		return nil
	}
	return err
}

// findWorkspace looks up the workspace of the profile or the proxy of the address, which are in memory.
func (s *API) findWorkspace(ctx context.Context, req *request) {
	a := &req.audit
	if a.workspace != "" || a.object == "" || req.caller == nil {
		return
	}
	switch path := strings.TrimPrefix(req.http.URL.Path, Prefix); {
	case strings.HasPrefix(path, "/profiles/"):
		if row, err := s.store.Profile(ctx, req.caller.Sees, a.object, false); err == nil {
			a.workspace = row.WorkspaceID
		}
	case strings.HasPrefix(path, "/proxies/"):
		if row, err := s.pool.Get(ctx, req.caller.Sees, a.object); err == nil {
			a.workspace = row.WorkspaceID
		}
	}
}

// refusalsAMinute is how many refusals of a key are recorded in a minute, so that a client cannot fill the disk with them. The next one
// tells how many were left out.
const refusalsAMinute = 60

// refusals bounds the refusals that are recorded, by key.
type refusals struct {
	mu    sync.Mutex
	byKey map[string]*refusedKey
}

type refusedKey struct {
	since      time.Time
	n, leftOut int
}

// take reports whether a refusal is recorded, and how many were not since the last one.
func (r *refusals) take(keyID string) (leftOut int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.byKey[keyID]
	if k == nil {
		k = new(refusedKey)
		r.byKey[keyID] = k
	}
	if at := time.Now(); at.Sub(k.since) >= time.Minute {
		k.since, k.n = at, 0
	}
	if k.n++; k.n > refusalsAMinute {
		k.leftOut++
		return 0, false
	}
	leftOut, k.leftOut = k.leftOut, 0
	return leftOut, true
}

// recordRefusal records that a request of a known key was refused: any without the scope, and those that would have changed something.
// It comes after the answer, since nothing has changed.
func (s *API) recordRefusal(ctx context.Context) {
	req := requestOf(ctx)
	a := &req.audit
	if req.caller == nil || req.code == "" || req.answer.status < http.StatusBadRequest ||
		a.action == "" && req.answer.status != http.StatusForbidden {
		return
	}
	leftOut, ok := s.refusals.take(req.caller.KeyID)
	if !ok {
		return
	}
	if a.action == "" {
		a.action, a.detail = "request.refused", map[string]any{}
	}
	if a.detail == nil || a.workspace == "" { // else it is of a change that was undone
		s.findWorkspace(ctx, req)
	}
	detail := map[string]any{"method": req.http.Method, "path": cutText(auditPath(req.http))}
	for name, value := range a.detail {
		detail[name] = value
	}
	if leftOut > 0 {
		detail["leftOut"] = leftOut
	}
	a.detail = detail
	entry := req.entry(req.code)
	if err := s.store.Write(context.WithoutCancel(ctx), func(q *store.Queries) error { return q.Record(entry) }); err != nil {
		s.log.Warn("a refusal is not in the audit log", "request", req.id, "cause", err)
	}
}

// differences are the details of a change: the members of the request, and those that are different now, as they were and as they are.
// show shows a row as the API does, without secrets. The values of members that are not in toldMembers are left out.
func differences[R, J any](changed []string, before, after R, show func(R) (J, error)) map[string]any {
	detail := map[string]any{"changed": changed}
	had, has := membersShown(before, show), membersShown(after, show)
	from, to := map[string]any{}, map[string]any{}
	for _, name := range changed {
		a, b := string(had[name]), string(has[name])
		if !slices.Contains(toldMembers(), name) || a == b || max(len(a), len(b)) > auditText {
			continue
		}
		from[name], to[name] = had[name], has[name]
	}
	if len(to) > 0 {
		detail["from"], detail["to"] = from, to
	}
	return detail
}

// toldMembers are the members whose values an entry repeats. A new member is only named until it stands here. Texts of people, addresses of
// pages and what logs in are not here, since they may hold secrets.
func toldMembers() []string {
	return []string{"name", "tags", "os", "browserVersion", "consistency", "headless", "proxyId", "fallbackProxyIds", "fallbackCountry",
		"timezone", "locale", "geolocation", "screen", "webrtc", "extensions", "limits", "snapshots", "passkeys", "temporary",
		"startWithServer", "backgroundTraffic", "allowLocal", "localhostVia", "allowHosts", "denyHosts", "logHosts", "idleTimeoutMs",
		"freezeAfter", "placement",
		"maxRunMs", "type", "host", "port", "action", "catchUp", "cron", "enabled", "everyMs", "profileIds", "proxyIds", "tag", "timeZone"}
}

// membersShown returns the members of an object as JSON. What cannot be shown has none.
func membersShown[R, J any](row R, show func(R) (J, error)) (members map[string]jsontext.Value) {
	shown, err := show(row)
	if err != nil {
		return nil
	}
	text, err := json.Marshal(shown)
	if err != nil || json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}

// auditPath is the path of a request, without what may be a capability.
func auditPath(r *http.Request) string {
	if !strings.HasPrefix(r.URL.Path, Prefix) {
		return ""
	}
	return r.URL.Path
}
