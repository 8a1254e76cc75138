package api

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"

	"warren/events"
	"warren/extensions"
	"warren/pool"
	"warren/problem"
	"warren/store"
)

// Adds extensions. A package is received whole and checked before anything is written.

// maxAdding is how many packages are unpacked at a time. Each may take a second of one processor.
const maxAdding = 2

// extensionKinds are the media types of packages.
func extensionKinds() []string {
	return []string{"application/zip", "application/x-chrome-extension", "application/octet-stream"}
}

// addOptions are the query parameters of addExtension.
type addOptions struct {
	workspace string
	dryRun    bool
}

// readAddOptions reads the query, and returns all its faults at once.
func readAddOptions(c *caller, raw string) (in addOptions, err error) {
	var f faults
	query, err := url.ParseQuery(raw)
	f.require(err == nil, "query", "The query cannot be read. Write & between parameters, and % as %25.")
	for name, values := range query {
		switch {
		case name != "workspaceId" && name != "dryRun":
			f.add("query."+name, "Unknown parameter. Remove it, or check its spelling.", nil)
		case len(values) > 1:
			f.add("query."+name, "Give this parameter once.", nil)
		}
	}
	f.require(!query.Has("dryRun") || slices.Contains([]string{"true", "false"}, query.Get("dryRun")), "query.dryRun",
		"Enter true or false.")
	in.dryRun = query.Get("dryRun") == "true"
	in.workspace = f.workspace(c, "query.workspaceId", opt[string]{Set: query.Has("workspaceId"), Value: query.Get("workspaceId")})
	return in, f.problem()
}

// addExtension is POST /extensions.
func (s *API) addExtension(w http.ResponseWriter, r *http.Request) error {
	in, err := readAddOptions(callerOf(r.Context()), r.URL.RawQuery)
	if err != nil {
		return err
	}
	if !slices.Contains(extensionKinds(), mediaType(r.Header.Get("Content-Type"))) {
		return unsupportedPackage()
	}
	if b, ok := r.Body.(*timedBody); ok {
		b.step = bodyTime // a large file may take longer as long as bytes arrive
	}
	key := r.Header.Get("Idempotency-Key")
	if err := checkIdempotencyKey(key); err != nil {
		return err
	}
	file, size, sum, err := s.runs.Packages().Receive(keyedBody{r.Body, r.Context()}, extensions.MaxBytes)
	if errors.Is(err, extensions.ErrTooLarge) {
		return packageTooLarge()
	}
	if err != nil {
		return uploadProblem(r, err)
	}
	defer s.runs.Packages().Discard(file)
	take := func(w http.ResponseWriter, r *http.Request) error { return s.takePackage(w, r, file, size, sum, in) }
	if key == "" {
		return take(w, r)
	}
	hash, err := hex.DecodeString(sum)
	if err != nil {
		return err
	}
	return s.idempotency.once(w, r, key, [32]byte(hash), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := take(w, r); err != nil {
			writeProblem(w, r, s.log, fromError(err))
		}
	}))
}

func unsupportedPackage() *problem.Error {
	return problem.New(problem.Unsupported, "unsupported_media_type", "Send the package as application/zip, as "+
		"application/x-chrome-extension or as application/octet-stream.")
}

func packageTooLarge() *problem.Error {
	return problem.New(problem.TooLarge, "body_too_large", "The package is larger than 100 MiB.")
}

func duplicateExtension(id string) *problem.Error {
	return problem.New(problem.Conflict, "duplicate", "This workspace has the same package already: `existingId` names it.").
		With(pool.Existing(id))
}

// takePackage checks a package, and adds it unless the run is dry.
func (s *API) takePackage(w http.ResponseWriter, r *http.Request, file io.ReaderAt, size int64, sum string, in addOptions) error {
	ctx := r.Context()
	if made := requestOf(ctx).made; made != "" { // all that is missing is the answer
		row, err := extensionRow(ctx, s.store.Read(), made)
		if err != nil {
			return err
		}
		return s.answerExtension(w, r, http.StatusCreated, row)
	}
	select {
	case s.adding <- struct{}{}:
		defer func() { <-s.adding }()
	case <-ctx.Done():
		return ctx.Err()
	}
	p, err := extensions.Read(file, size)
	if err != nil {
		return cmp.Or(isRejected(err), err)
	}
	row := extensionRowOf(p, sum, in.workspace)
	if in.dryRun {
		if err := hasPackage(ctx, s.store.Read(), row); err != nil {
			return err
		}
		row.ID = ""
		return s.answerExtension(w, r, http.StatusOK, row)
	}
	if err := s.insertExtension(ctx, p, row); err != nil {
		return err
	}
	s.events.Publish(events.Event{Type: "extension.created", Workspace: row.WorkspaceID, Data: objectEvent{row.ID}})
	return s.answerExtension(w, r, http.StatusCreated, row)
}

// extensionRowOf is the row of a package.
func extensionRowOf(p *extensions.Package, sum, workspace string) store.Extension {
	return store.Extension{ID: store.NewID(), WorkspaceID: workspace, ExtensionID: p.ID, Name: shortened(p.Name, maxExtensionName),
		Description: shortened(p.Description, maxDescription), Version: p.Version,
		MinimumChrome: shortened(p.MinimumChrome, maxExtensionName), Sha256: sum, Bytes: p.Bytes,
		Files: int64(p.Files), Rules: p.Rules, Permissions: jsonList(p.Permissions),
		OptionalPermissions: jsonList(p.OptionalPermissions), Hosts: jsonList(p.Hosts), OptionalHosts: jsonList(p.OptionalHosts),
		CreatedAt: now()}
}

// How many bytes of a manifest's texts are kept.
const (
	maxExtensionName = 300
	maxDescription   = 1000
)

// hasPackage returns the error for a package that the workspace has.
func hasPackage(ctx context.Context, q *store.Queries, row store.Extension) error {
	first, err := q.GetExtensionOfPackage(ctx, store.GetExtensionOfPackageParams{WorkspaceID: row.WorkspaceID, Sha256: row.Sha256})
	if errors.Is(err, store.ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	return duplicateExtension(first.ID)
}

// insertExtension unpacks a package and writes its row. The files come first: a row without them is of no use, and files without a row are
// removed at the next start. A package that is there already, but whose files are gone, gets them back.
func (s *API) insertExtension(ctx context.Context, p *extensions.Package, row store.Extension) error {
	defer s.runs.HoldPackages()()
	if err := s.runs.Packages().Unpack(p, row.Sha256); err != nil {
		return err
	}
	aboutExtension(ctx, row)
	err := s.change(ctx, func(q *store.Queries) error {
		if err := hasPackage(ctx, q, row); err != nil {
			return err
		}
		if err := s.workspaces.ensure(ctx, q, row.WorkspaceID, row.CreatedAt); err != nil {
			return err
		}
		if err := q.InsertExtension(ctx, store.InsertExtensionParams(row)); err != nil {
			return err
		}
		return recordCreated(ctx, q, row.ID)
	})
	s.workspaces.wrote(row.WorkspaceID, err)
	return err
}

func (s *API) answerExtension(w http.ResponseWriter, r *http.Request, status int, row store.Extension) error {
	e, err := extensionFrom(row)
	if err != nil {
		return err
	}
	if status == http.StatusCreated {
		w.Header().Set("Location", Prefix+"/extensions/"+row.ID)
	}
	return writeJSON(w, r, status, e)
}
