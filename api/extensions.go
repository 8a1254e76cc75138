package api

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"warren/events"
	"warren/extensions"
	"warren/pool"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Lists and deletes extensions. api/extensions_add.go adds them.

// ExtensionJSON is an extension as the API shows it.
type ExtensionJSON struct {
	ID                      string    `json:"id,omitempty" doc:"Not in the answer of a dry run." example:"0199a1c2-7d3e-7a10-8a55-0123456789ab"`
	WorkspaceID             string    `json:"workspaceId" example:"default"`
	ExtensionID             string    `json:"extensionId" doc:"Chrome's id, which follows from the extension's key." example:"cjpalhdlnbpafiamejdnhcphjbkeiagm"`
	Name                    string    `json:"name" example:"Blocker"`
	Description             string    `json:"description"`
	Version                 string    `json:"version" example:"1.59.0"`
	MinimumChromeVersion    *string   `json:"minimumChromeVersion" doc:"The oldest Chrome that it says it runs in."`
	SHA256                  string    `json:"sha256" doc:"Of the file that was sent." example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	Bytes                   int64     `json:"bytes" doc:"Unpacked." example:"8412334"`
	Files                   int64     `json:"files" example:"312"`
	Permissions             []string  `json:"permissions" nullable:"false"`
	HostPermissions         []string  `json:"hostPermissions" nullable:"false" doc:"With the pages of its content scripts."`
	OptionalPermissions     []string  `json:"optionalPermissions" nullable:"false" doc:"What it may ask a person for later."`
	OptionalHostPermissions []string  `json:"optionalHostPermissions" nullable:"false"`
	May                     []string  `json:"may" nullable:"false" doc:"What that is, in words."`
	MayAsk                  []string  `json:"mayAsk" nullable:"false" doc:"The same of what it may ask for later."`
	CreatedAt               time.Time `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
}

func (ExtensionJSON) example() any {
	e := ExtensionJSON{ID: exampleRunID, WorkspaceID: "default", ExtensionID: "cjpalhdlnbpafiamejdnhcphjbkeiagm", Name: "Blocker",
		Version: "1.59.0", SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Bytes: 8412334, Files: 312,
		Permissions: []string{"storage", "tabs"}, HostPermissions: []string{"<all_urls>"}, OptionalPermissions: []string{},
		OptionalHostPermissions: []string{}, MayAsk: []string{}, CreatedAt: exampleTime()}
	e.May = extensions.Words(e.Permissions, e.HostPermissions)
	return e
}

func extensionFrom(row store.Extension) (ExtensionJSON, error) {
	e := ExtensionJSON{ID: row.ID, WorkspaceID: row.WorkspaceID, ExtensionID: row.ExtensionID, Name: row.Name,
		Description: row.Description, Version: row.Version, MinimumChromeVersion: orNull(row.MinimumChrome), SHA256: row.Sha256,
		Bytes: row.Bytes, Files: row.Files, Permissions: runs.StringsOf(row.Permissions), HostPermissions: runs.StringsOf(row.Hosts),
		OptionalPermissions: runs.StringsOf(row.OptionalPermissions), OptionalHostPermissions: runs.StringsOf(row.OptionalHosts),
		CreatedAt: runs.Millis(row.CreatedAt)}
	e.May = extensions.Words(e.Permissions, e.HostPermissions)
	e.MayAsk = extensions.Words(e.OptionalPermissions, e.OptionalHostPermissions)
	return e, nil
}

// extensionBody is an extension as an answer.
type extensionBody struct{ Body ExtensionJSON }

// ExtensionPath names one extension.
type ExtensionPath struct {
	ID string `path:"id" doc:"The extension's id here, not Chrome's."`
}

// extensionGet names the extension to read.
type extensionGet struct{ ExtensionPath }

func (extensionGet) problems() []*problem.Error {
	return []*problem.Error{problem.Missing("extension")}
}

// extensionRow returns an extension that the caller sees.
func extensionRow(ctx context.Context, q *store.Queries, id string) (store.Extension, error) {
	row, err := q.GetExtension(ctx, store.GetExtensionParams{ID: id, Workspaces: callerOf(ctx).Sees.Filter()})
	if errors.Is(err, store.ErrNoRow) {
		return row, problem.Missing("extension")
	}
	return row, err
}

func (s *API) getExtension(ctx context.Context, in *extensionGet) (*extensionBody, error) {
	row, err := extensionRow(ctx, s.store.Read(), in.ID)
	if err != nil {
		return nil, err
	}
	e, err := extensionFrom(row)
	return &extensionBody{e}, err
}

// extensionList are the parameters of a list of extensions.
type extensionList struct {
	InWorkspace
	Paging
}

func (s *API) listExtensions(ctx context.Context, in *extensionList) (*listBody[ExtensionJSON], error) {
	q, sees, workspace := s.store.Read(), callerOf(ctx).Sees.Filter(), orNull(in.WorkspaceID)
	return listByTime(ctx, s, in.Paging, timeList[store.Extension, ExtensionJSON]{
		kind: "extension",
		at:   func(e store.Extension) (int64, string) { return e.CreatedAt, e.ID },
		count: func() (int64, error) {
			return q.CountExtensions(ctx, store.CountExtensionsParams{WorkspaceID: workspace, Workspaces: sees})
		},
		// Ids are in the order of creation, so that a deleted one still has its place.
		find: func(id string) (store.Extension, error) {
			if uuid.Validate(id) != nil {
				return store.Extension{}, store.ErrNoRow
			}
			return store.Extension{ID: id}, nil
		},
		rows: func(_ int64, id string, limit, offset int64) ([]store.Extension, error) {
			return q.ListExtensions(ctx, store.ListExtensionsParams{Workspaces: sees, WorkspaceID: workspace, After: orNull(id),
				Limit: limit, Offset: offset})
		},
		show: extensionFrom})
}

// extensionDelete names an extension to delete.
type extensionDelete struct{ ExtensionPath }

func (extensionDelete) problems() []*problem.Error {
	return []*problem.Error{problem.Missing("extension"), extensionInUse([]string{exampleProfileID})}
}

// maxExtensionUsers is how many profiles the error extension_in_use names.
const maxExtensionUsers = 1000

func extensionInUse(profiles []string) *problem.Error {
	return problem.New(problem.Conflict, "extension_in_use", "Profiles have this extension: `profileIds` names them (1,000 at most). "+
		"Take it from them first.").With(pool.Users(profiles))
}

// deleteExtension deletes an extension that no profile names. Its files go when no other workspace has the same package, and no run has
// it loaded: a run may go on after its profile has lost the extension.
func (s *API) deleteExtension(ctx context.Context, in *extensionDelete) (*struct{}, error) {
	defer s.runs.HoldPackages()() // so that nobody adds the package between
	sees := callerOf(ctx).Sees.Filter()
	var row store.Extension
	kept := true
	err := s.change(ctx, func(q *store.Queries) (err error) {
		if row, err = extensionRow(ctx, q, in.ID); err != nil {
			return err
		}
		users, err := q.ListProfilesWithExtension(ctx, store.ListProfilesWithExtensionParams{WorkspaceID: row.WorkspaceID,
			Extension: row.ID, Workspaces: sees, Limit: maxExtensionUsers})
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return extensionInUse(users)
		}
		if row, err = q.DeleteExtension(ctx, store.DeleteExtensionParams{ID: row.ID, Workspaces: sees}); err != nil {
			return err
		}
		aboutExtension(ctx, row)
		kept, err = q.HasPackage(ctx, row.Sha256)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !kept && !s.runs.PackagesInUse()[row.Sha256] {
		if err := s.runs.Packages().Remove(row.Sha256); err != nil {
			s.log.Warn("the files of a deleted extension stay for a while", "extension", row.ID, "cause", err)
		}
	}
	s.events.Publish(events.Event{Type: "extension.deleted", Workspace: row.WorkspaceID, Data: objectEvent{row.ID}})
	return nil, nil
}

// aboutExtension says which code that sees pages is added or deleted.
func aboutExtension(ctx context.Context, row store.Extension) {
	about(ctx, row.WorkspaceID, row.ID, map[string]any{"extensionId": row.ExtensionID, "name": truncate(row.Name, maxMember),
		"version": row.Version, "sha256": row.Sha256})
}

// sweepPackages has remove called with the packages that workspaces have or that runs have loaded, while no package comes or goes.
func (s *API) sweepPackages(ctx context.Context, remove func(keep map[string]bool) error) error {
	defer s.runs.HoldPackages()()
	sums, err := s.store.Read().ListPackages(ctx)
	if err != nil {
		return err
	}
	keep := s.runs.PackagesInUse()
	for _, sum := range sums {
		keep[sum] = true
	}
	return remove(keep)
}

// isRejected returns the faults of a package, nil if the error is another one.
func isRejected(err error) error {
	rejected, ok := errors.AsType[extensions.Faults](err)
	if !ok {
		return nil
	}
	var f faults
	for i, message := range rejected {
		f.add(element("body", i), message, nil)
	}
	return f.problem()
}
