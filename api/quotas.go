package api

import (
	"context"
	"errors"
	"fmt"

	"warren/problem"
	"warren/store"
)

// Quotas of workspaces. The database refuses the rows of profiles and proxies that are too many (schema.sql), and package runs the starts.

// QuotasJSON are the limits of a workspace. A quota below the present use is no fault: it refuses what is new.
type QuotasJSON struct {
	Profiles *int64 `json:"profiles" doc:"Profiles outside the trash; null: no limit." example:"100"`
	Running  *int64 `json:"running" doc:"Profiles that run at once, starting ones included; null: no limit." example:"10"`
	DiskMB   *int64 `json:"diskMb" doc:"Of 1,048,576 bytes each; null: no limit." example:"20480"`
	Proxies  *int64 `json:"proxies" doc:"null: no limit." example:"100"`
}

// quotaUseJSON is what a workspace uses of its quotas.
type quotaUseJSON struct {
	Profiles int64 `json:"profiles" example:"12"`
	Running  int64 `json:"running" example:"2"`
	DiskMB   int64 `json:"diskMb" doc:"What the folders of its profiles took when their last runs ended, with the trash, uploads and downloads, and its snapshots. Packages of extensions do not count." example:"1830"`
	Proxies  int64 `json:"proxies" example:"3"`
}

// quotasInput are quotas as a request brings them. A member that is absent stays.
type quotasInput struct {
	Profiles opt[int64] `json:"profiles,omitempty" minimum:"0" maximum:"1000000000" doc:"null: no limit."`
	Running  opt[int64] `json:"running,omitempty" minimum:"0" maximum:"1000000000" doc:"null: no limit."`
	DiskMB   opt[int64] `json:"diskMb,omitempty" minimum:"0" maximum:"1000000000" doc:"null: no limit."`
	Proxies  opt[int64] `json:"proxies,omitempty" minimum:"0" maximum:"1000000000" doc:"null: no limit."`
}

// orNull sets dst to the member's value, to nil if it is null, and leaves it if the member is absent.
func (o opt[T]) orNull(dst **T) {
	switch {
	case o.Null:
		*dst = nil
	case o.Set:
		*dst = &o.Value
	}
}

// mergeQuotas writes quotas into a row. null removes all of them.
func mergeQuotas(in opt[quotasInput], row *store.Workspace) {
	v := in.Value
	if in.Null {
		v = quotasInput{opt[int64]{Null: true}, opt[int64]{Null: true}, opt[int64]{Null: true}, opt[int64]{Null: true}}
	}
	v.Profiles.orNull(&row.QuotaProfiles)
	v.Running.orNull(&row.QuotaRunning)
	v.DiskMB.orNull(&row.QuotaDiskMb)
	v.Proxies.orNull(&row.QuotaProxies)
}

func quotasOf(row store.Workspace) QuotasJSON {
	return QuotasJSON{row.QuotaProfiles, row.QuotaRunning, row.QuotaDiskMb, row.QuotaProxies}
}

// usageOf returns what a workspace uses. elsewhere is how many of its profiles other servers run.
func (s *API) usageOf(row store.Workspace, elsewhere int64) quotaUseJSON {
	return quotaUseJSON{row.ProfileCount, int64(s.runs.RunningIn(row.ID)) + elsewhere, row.DataBytes >> 20, row.ProxyCount}
}

func quotaExceeded(workspace string, q usedQuota) *problem.Error {
	words := map[string]string{"profiles": "profiles outside the trash", "running": "profiles that run at once",
		"diskMb": "MiB of profiles' data", "proxies": "proxies"}
	return problem.New(problem.Conflict, "quota_exceeded", fmt.Sprintf("The workspace %s may have %d %s, and has %d. Remove some, or "+
		"ask an administrator to raise its quota `%s`.", workspace, q.limit, words[q.name], q.use, q.name)).With(q)
}

// exampleQuota is the refusal in the document.
func exampleQuota() *problem.Error {
	return quotaExceeded("default", usedQuota{"profiles", 100, 100})
}

// withUse completes the refusal of a quota with what it is and what is used now.
func (s *API) withUse(ctx context.Context, err error) error {
	refused, ok := errors.AsType[*store.QuotaError](err)
	if !ok {
		return err
	}
	workspace := refused.Workspace
	row, failed := s.store.Read().GetWorkspace(ctx, store.GetWorkspaceParams{ID: workspace})
	elsewhere, uncounted := s.runs.RunningElsewhere(ctx)
	if failed != nil || uncounted != nil {
		return errors.Join(failed, uncounted, err)
	}
	limits, use := quotasOf(row), s.usageOf(row, elsewhere[workspace])
	all := map[string]struct {
		limit *int64
		use   int64
	}{"profiles": {limits.Profiles, use.Profiles}, "running": {limits.Running, use.Running}, "diskMb": {limits.DiskMB, use.DiskMB},
		"proxies": {limits.Proxies, use.Proxies}}
	one := all[refused.Quota]
	if one.limit == nil { // it was removed meanwhile
		one.limit = &one.use
	}
	return quotaExceeded(workspace, usedQuota{refused.Quota, *one.limit, one.use})
}

// hasRoom refuses what would bring more data into a workspace whose disk quota is used up.
func (s *API) hasRoom(ctx context.Context, workspace string) error {
	row, err := s.store.Read().GetWorkspace(ctx, store.GetWorkspaceParams{ID: workspace})
	if errors.Is(err, store.ErrNoRow) { // it comes with its first object
		return nil
	}
	if err == nil && row.QuotaDiskMb != nil && row.DataBytes >= *row.QuotaDiskMb<<20 {
		return s.withUse(ctx, &store.QuotaError{Quota: "diskMb", Workspace: workspace})
	}
	return err
}
