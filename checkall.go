package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-json-experiment/json"

	"warren/store"
)

// This file checks many proxies at once.

// checkAllInput says which. Members that are there narrow it together.
type checkAllInput struct {
	IDs         opt[[]string] `json:"ids,omitempty" nullable:"false" doc:"At most 10,000."`
	Tag         opt[string]   `json:"tag,omitempty" nullable:"false" doc:"Those that have this tag."`
	WorkspaceID opt[string]   `json:"workspaceId,omitempty" nullable:"false" doc:"Those of this workspace."`
}

// maxChecked is how many ids a call may name.
const maxChecked = 10_000

type checkAllRequest struct {
	Body *checkAllInput `required:"false"`

	rows []store.ListProxiesToCheckRow
}

// Resolve checks everything at once, also what only the database knows.
func (in *checkAllRequest) Resolve(ctx huma.Context) []error {
	var f faults
	if in.Body == nil {
		in.Body = &checkAllInput{}
	}
	b, req := in.Body, requestOf(ctx.Context())
	for _, m := range []struct {
		name string
		null bool
	}{{"ids", b.IDs.Null}, {"tag", b.Tag.Null}, {"workspaceId", b.WorkspaceID.Null}} {
		if m.null {
			f.add("body."+m.name, "cannot be null: leave it out", nil)
		}
	}
	if n := len(b.IDs.Value); n > maxChecked {
		f.add("body.ids", fmt.Sprintf("must have at most %d ids; it has %d", maxChecked, n), nil)
		return f.errors()
	}
	rows, err := b.find(ctx.Context(), req.server.store.Read(), req.caller)
	if err != nil {
		return []error{internal(err)}
	}
	f.unknownIDs(b.IDs.Value, rows)
	in.rows = rows
	if b.Tag.given() {
		in.rows = slices.DeleteFunc(rows, func(row store.ListProxiesToCheckRow) bool { return !hasTag(row.Tags, b.Tag.Value) })
	}
	return f.errors()
}

// find reads what is asked for, but for the tag.
func (in *checkAllInput) find(ctx context.Context, q *store.Queries, c *caller) ([]store.ListProxiesToCheckRow, error) {
	var workspace *string
	if in.WorkspaceID.given() {
		workspace = &in.WorkspaceID.Value
	}
	if !in.IDs.Set {
		return q.ListProxiesToCheck(ctx, store.ListProxiesToCheckParams{WorkspaceID: workspace, Workspaces: c.filter})
	}
	ids, err := json.Marshal(append([]string{}, in.IDs.Value...))
	if err != nil {
		return nil, err
	}
	rows, err := q.ListProxiesToCheckByID(ctx, store.ListProxiesToCheckByIDParams{Ids: string(ids), WorkspaceID: workspace, Workspaces: c.filter})
	out := make([]store.ListProxiesToCheckRow, len(rows))
	for i, row := range rows {
		out[i] = store.ListProxiesToCheckRow(row)
	}
	return out, err
}

// unknownIDs notes the ids for which there is no row.
func (f *faults) unknownIDs(ids []string, rows []store.ListProxiesToCheckRow) {
	known := make(map[string]bool, len(rows))
	for _, row := range rows {
		known[row.ID] = true
	}
	for i, id := range ids {
		if !known[id] {
			f.add(fmt.Sprintf("body.ids[%d]", i), "is no proxy that this key sees there", cut(id))
		}
	}
}

// checkAllBody is the stream of an answer.
type checkAllBody struct {
	ContentType string `header:"Content-Type"`
	Total       int    `header:"X-Total-Count" doc:"How many lines there will be, when all goes well."`
	Buffering   string `header:"X-Accel-Buffering" doc:"no: reverse proxies pass it on as it comes."`
	Body        func(huma.Context)
}

func (s *server) checkAll(_ context.Context, in *checkAllRequest) (*checkAllBody, error) {
	targets := make([]probed, 0, len(in.rows))
	for _, row := range in.rows {
		targets = append(targets, s.probedOf(store.Proxy{ID: row.ID, WorkspaceID: row.WorkspaceID, Type: row.Type, Host: row.Host, Port: row.Port,
			Username: row.Username, Password: row.Password, Revision: row.Revision}))
	}
	return &checkAllBody{"application/x-ndjson", len(targets), "no", func(hc huma.Context) {
		if err := s.streamChecks(hc, targets); err != nil {
			s.log.Error("checks broke off", "request", requestID(hc.Context()), "cause", err)
			panic(http.ErrAbortHandler) // so that nobody takes a part for the whole
		}
	}}, nil
}

// streamChecks checks proxies and writes a line for each as it ends. It is an error when that cannot go on, but not when the reader
// has left or the server stops, which is the end of it too.
func (s *server) streamChecks(hc huma.Context, targets []probed) error {
	ctx, cancel := context.WithCancel(hc.Context())
	defer cancel()
	defer context.AfterFunc(s.runs.ctx, cancel)()
	lines, failed := make(chan *checkJSON, 64), make(chan error, 1)
	go func() {
		defer close(lines)
		failed <- s.runs.checkMany(ctx, targets, func(c *checkJSON) {
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
	for range lines { // those that are under way end before this does
	}
	return cmp.Or(err, <-failed)
}

// writeLines writes what comes, in as few writes as it comes in. A reader that takes nothing is given up.
func (s *server) writeLines(w http.ResponseWriter, lines <-chan *checkJSON) error {
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
		rc.SetWriteDeadline(time.Now().Add(s.events.patience)) //nolint:errcheck // without a deadline the write says it
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

// probedOf is a row as a check of many needs it.
func (s *server) probedOf(row store.Proxy) probed {
	p, err := s.open(row)
	return probed{row.ID, row.WorkspaceID, row.Revision, p, err, true}
}

// checkMany checks proxies, many at once, and gives each result to then as it comes, from several goroutines. Workspaces take turns,
// also with those of other callers. It returns when all are done, or soon after ctx has ended; with an error when a result could not be
// kept: then no further check begins.
func (rs *runs) checkMany(ctx context.Context, targets []probed, then func(*checkJSON)) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	of := map[string][]probed{}
	for _, p := range targets {
		of[p.workspace] = append(of[p.workspace], p)
	}
	var wg sync.WaitGroup
	for workspace, list := range of {
		wg.Go(func() { rs.checkWorkspace(ctx, giveUp, workspace, list, then) })
	}
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// checkWorkspace is checkMany for proxies of one workspace.
func (rs *runs) checkWorkspace(ctx context.Context, giveUp context.CancelCauseFunc, workspace string, list []probed, then func(*checkJSON)) {
	var alive, dead atomic.Int64
	rs.limiter.Run(ctx, workspace, len(list), func(i int) {
		c, err := rs.checkOne(ctx, list[i])
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			giveUp(err)
			return
		case c.OK:
			alive.Add(1)
		default:
			dead.Add(1)
		}
		then(c)
	})
	rs.events.publish("proxy.all_checked", workspace, map[string]any{"alive": alive.Load(), "dead": dead.Load()})
}
