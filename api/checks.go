package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-json-experiment/json"

	"warren/pool"
	"warren/proxy"
	"warren/runs"
	"warren/store"
)

// The operations that check proxies, one or many, and the list of a proxy's checks.

type checkBody struct{ Body *pool.Check }

func (checkBody) example() any { return exampleCheck() }

func exampleCheck() pool.Check {
	return pool.Check{ID: new(exampleProxyID), OK: true, Status: "alive", ExitIP: new("203.0.113.7"), IPVersion: new(4),
		Country: new("DE"), CountryName: new("Germany"), Timezone: new("Europe/Berlin"), TimezoneSource: new("exit"), Locale: new("de-DE"),
		Latitude: new(52.52), Longitude: new(13.4), GeoSource: new("answer"), LatencyMs: new(int64(84)), PlainHTTP: new(true),
		RemoteDNS: true, UsedByProfiles: []string{exampleProfileID},
		Timings: pool.Timings{ResolveMs: new(int64(3)), ConnectMs: new(int64(21)), HandshakeMs: new(int64(22)),
			FirstByteMs: new(int64(41))}, CheckedAt: exampleTime(), DurationMs: 92}
}

func (s *API) checkProxy(ctx context.Context, in *struct {
	ProxyPath
	Body *noInput `required:"false"`
}) (*checkBody, error) {
	px, err := s.pool.Get(ctx, callerOf(ctx).Sees, in.ID)
	if err != nil {
		return nil, err
	}
	c, err := s.pool.Check(ctx, px)
	return &checkBody{c}, err
}

// checkRequest is a proxy as addProxy takes it.
type checkRequest struct {
	Body proxyInput

	value proxy.Proxy
}

// unsavedCheckBody is the check of a proxy that has no id.
type unsavedCheckBody checkBody

func (unsavedCheckBody) example() any {
	c := exampleCheck()
	c.ID, c.UsedByProfiles = nil, []string{}
	return c
}

// Resolve checks the request by itself.
func (in *checkRequest) Resolve(ctx huma.Context) []error {
	var f faults
	in.value = in.Body.create(&f)
	f.workspace(callerOf(ctx.Context()), "body.workspaceId", in.Body.WorkspaceID)
	return f.errors()
}

func (s *API) checkUnsavedProxy(ctx context.Context, in *checkRequest) (*unsavedCheckBody, error) {
	c, err := s.pool.Try(ctx, in.value)
	return &unsavedCheckBody{c}, err
}

// checkList are the parameters of the list of a proxy's checks.
type checkList struct {
	ProxyPath
	Page  int `query:"page" minimum:"1" maximum:"1000000000" default:"1" doc:"Counts from 1."`
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"Objects a page, 1 to 200."`
}

// checkListBody is a list of checks.
type checkListBody listBody[pool.Check]

func (checkListBody) example() any { return exampleList(exampleCheck()) }

func (s *API) listChecks(ctx context.Context, in *checkList) (*checkListBody, error) {
	row, err := s.proxyRow(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	q, c := s.store.Read(), callerOf(ctx)
	total, err := q.CountProxyChecks(ctx, store.CountProxyChecksParams{ProxyID: row.ID, Workspaces: c.Sees.Filter()})
	if err != nil {
		return nil, err
	}
	p := Paging{Page: in.Page, Limit: in.Limit}
	rows, err := q.ListProxyChecks(ctx, store.ListProxyChecksParams{ProxyID: row.ID, Workspaces: c.Sees.Filter(),
		Limit: int64(in.Limit) + 1, Offset: p.offset()})
	if err != nil {
		return nil, err
	}
	noPlace := func(store.ProxyCheck) (int64, string) { return 0, "" } // this list has pages alone
	out, err := answerList(pageOf(rows, total, in.Limit, noPlace), p, func(row store.ProxyCheck) (pool.Check, error) {
		c := pool.Check{UsedByProfiles: []string{}}
		return c, json.Unmarshal([]byte(row.Result), &c)
	})
	return (*checkListBody)(out), err
}

// checkAllInput says which proxies to check: those that fit all given members.
type checkAllInput struct {
	IDs         opt[[]string] `json:"ids,omitempty" nullable:"false" doc:"At most 10,000."`
	Tag         opt[string]   `json:"tag,omitempty" nullable:"false" doc:"Those that have this tag."`
	WorkspaceID opt[string]   `json:"workspaceId,omitempty" nullable:"false" doc:"Those of this workspace."`
}

func (checkAllInput) example() any { return map[string]any{"tag": "de"} }

// maxChecked is how many ids a call may name.
const maxChecked = 10_000

type checkAllRequest struct {
	Body *checkAllInput `required:"false"`
}

// Resolve checks the request by itself.
func (in *checkAllRequest) Resolve(ctx huma.Context) []error {
	completable(ctx, in)
	var f faults
	if in.Body == nil {
		in.Body = &checkAllInput{}
	}
	const leaveOut = "Leave this out instead of sending null."
	f.require(!in.Body.IDs.Null, "body.ids", leaveOut)
	f.require(!in.Body.Tag.Null, "body.tag", leaveOut)
	f.require(!in.Body.WorkspaceID.Null, "body.workspaceId", leaveOut)
	f.atMost(maxChecked, "ids", "body.ids", len(in.Body.IDs.Value))
	return f.errors()
}

func (in *checkAllRequest) storedFaults(ctx context.Context, s *API) (f faults, err error) {
	if len(in.Body.IDs.Value) > maxChecked {
		return nil, nil
	}
	rows, err := in.Body.find(ctx, s.store.Read(), callerOf(ctx))
	if err == nil {
		f.unknownIDs(in.Body.IDs.Value, rows)
	}
	return f, err
}

// rows reads the proxies that are asked for. An id of none is a fault.
func (in *checkAllInput) rows(ctx context.Context, q *store.Queries, c *caller) ([]store.ListProxiesToCheckRow, error) {
	rows, err := in.find(ctx, q, c)
	if err != nil {
		return nil, err
	}
	var f faults
	f.unknownIDs(in.IDs.Value, rows)
	if in.Tag.given() {
		rows = slices.DeleteFunc(rows, func(row store.ListProxiesToCheckRow) bool { return !runs.HasTag(row.Tags, in.Tag.Value) })
	}
	return rows, f.problem()
}

// find reads the proxies of the ids and the workspace. The tag is not applied.
func (in *checkAllInput) find(ctx context.Context, q *store.Queries, c *caller) ([]store.ListProxiesToCheckRow, error) {
	var workspace *string
	if in.WorkspaceID.given() {
		workspace = &in.WorkspaceID.Value
	}
	if !in.IDs.Set {
		return q.ListProxiesToCheck(ctx, store.ListProxiesToCheckParams{WorkspaceID: workspace, Workspaces: c.Sees.Filter()})
	}
	ids, err := json.Marshal(in.IDs.Value)
	if err != nil {
		return nil, err
	}
	rows, err := q.ListProxiesToCheckByID(ctx, store.ListProxiesToCheckByIDParams{
		Ids: string(ids), WorkspaceID: workspace, Workspaces: c.Sees.Filter()})
	out := make([]store.ListProxiesToCheckRow, len(rows))
	for i, row := range rows {
		out[i] = store.ListProxiesToCheckRow(row)
	}
	return out, err
}

// unknownIDs notes ids without a row.
func (f *faults) unknownIDs(ids []string, rows []store.ListProxiesToCheckRow) {
	known := make(map[string]bool, len(rows))
	for _, row := range rows {
		known[row.ID] = true
	}
	for i, id := range ids {
		if !known[id] {
			f.add(element("body.ids", i), "There is no such proxy, or this key may not see it.", cut(id))
		}
	}
}

// checkAllBody is the answer: a stream of lines.
type checkAllBody struct {
	ContentType string `header:"Content-Type"`
	Total       int    `header:"X-Total-Count" doc:"How many lines there will be, when all goes well."`
	Buffering   string `header:"X-Accel-Buffering" doc:"no: reverse proxies pass it on as it comes."`
	Body        func(huma.Context)
}

func (s *API) checkAll(ctx context.Context, in *checkAllRequest) (*checkAllBody, error) {
	rows, err := in.Body.rows(ctx, s.store.Read(), callerOf(ctx))
	if err != nil {
		return nil, err
	}
	targets := make([]pool.Proxy, 0, len(rows))
	for _, row := range rows {
		targets = append(targets, s.pool.Open(store.Proxy{ID: row.ID, WorkspaceID: row.WorkspaceID,
			Type: row.Type, Host: row.Host, Port: row.Port, Username: row.Username, Password: row.Password, Revision: row.Revision}))
	}
	about(ctx, in.Body.WorkspaceID.Value, "", map[string]any{"count": len(targets)})
	return &checkAllBody{"application/x-ndjson", len(targets), "no", func(hc huma.Context) {
		if err := s.streamChecks(hc, targets); err != nil {
			s.log.Error("checks broke off", "request", requestID(hc.Context()), "cause", err)
			panic(http.ErrAbortHandler) // a client must not take a part for the whole
		}
	}}, nil
}

// streamChecks checks proxies and writes a line for each as it ends. A reader that has left, or a server that stops, ends it without an
// error.
func (s *API) streamChecks(hc huma.Context, targets []pool.Proxy) error {
	ctx, cancel := context.WithCancel(hc.Context())
	defer cancel()
	lines, failed := make(chan *pool.Check, 64), make(chan error, 1)
	go func() {
		defer close(lines)
		failed <- s.pool.CheckMany(ctx, targets, func(c *pool.Check) {
			select {
			case lines <- c:
			case <-ctx.Done():
			}
		})
	}()
	_, w := humago.Unwrap(hc)
	err := http.NewResponseController(w).Flush() // the head at once: the first line may take a check's time
	if err == nil {
		err = s.writeLines(w, lines)
	}
	cancel()
	for range lines { // the checks under way end before this does
	}
	return cmp.Or(err, <-failed)
}

// writeLines writes the lines that are ready in one write. It gives up a reader that takes nothing for writeTime.
func (s *API) writeLines(w http.ResponseWriter, lines <-chan *pool.Check) error {
	rc := http.NewResponseController(w)
	var text []byte
	for c := range lines {
		line, err := json.Marshal(c)
		if err != nil {
			return err
		}
		if text = append(append(text, line...), '\n'); len(lines) > 0 && len(text) < 1<<15 {
			continue
		}
		rc.SetWriteDeadline(time.Now().Add(s.writeTime)) //nolint:errcheck // without a deadline the write says it
		if _, err := w.Write(text); err != nil {
			return nil
		}
		if err := rc.Flush(); err != nil {
			return nil
		}
		text = text[:0]
	}
	rc.SetWriteDeadline(time.Time{}) //nolint:errcheck // as above
	return nil
}
