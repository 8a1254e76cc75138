package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/pool"
	"warren/problem"
	"warren/runs"
	"warren/state"
)

// Reads and writes the storage of a profile as Playwright's storageState, and clears what it has.

// storageRead says what of a profile's storage is read.
type storageRead struct {
	ProfilePath
	DomainQuery
	IndexedDB bool `query:"indexedDB" default:"true" doc:"With the databases of pages (IndexedDB)."`
}

func (storageRead) problems() []*problem.Error { return stateProblems() }

func (s *API) getStorageState(ctx context.Context, in *storageRead) (*huma.StreamResponse, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	got, err := s.runs.Storage(ctx, row,
		runs.StorageOptions{Domains: in.Domain, Cookies: true, LocalStorage: true, IndexedDB: in.IndexedDB, Passkeys: true})
	if err != nil {
		return nil, err
	}
	file := &state.StorageFile{Cookies: state.Cookies{Cookies: got.Cookies}, Origins: got.Origins, Failed: failures(got.Failed),
		Credentials: state.CredentialsOf(got.Passkeys, in.Domain)}
	detail := map[string]any{"count": len(got.Cookies), "origins": len(got.Origins), "passkeys": len(file.Credentials),
		"domains": in.Domain}
	if err := s.audit(ctx, "storage.read", row.WorkspaceID, row.ID, detail); err != nil {
		return nil, err
	}
	at := time.Now()
	lost := state.Lost(state.Playwright, got.Cookies)
	if got.Partitioned > 0 {
		lost = append(lost, state.NoteOf("partitioned_storage", got.Partitioned))
	}
	return s.stateAnswer(ctx, "application/json", lost, suspects(got.Cookies, at),
		func(w io.Writer) error { return state.WriteStorageState(w, file, at) }), nil
}

func failures(in []runs.StorageFault) (out []state.Failure) {
	for _, f := range in {
		out = append(out, state.Failure(f))
	}
	return out
}

// putStorageState is PUT /profiles/{id}/storage-state.
func (s *API) putStorageState(w http.ResponseWriter, r *http.Request) error {
	row, in, err := s.stateWrite(r, storageFormats())
	if err != nil {
		return err
	}
	file, err := state.ReadStorageState(stateBody(r), time.Now())
	if err != nil {
		return stateProblem(r, err)
	}
	if len(file.Origins) == 0 && !file.HasCredentials {
		if err := in.mayReplace(&file.Cookies); err != nil {
			return err
		}
	}
	c := &stateChange{API: s, row: row, in: in, file: &file.Cookies, origins: state.OriginsOf(file.Origins, in.domains),
		hasPasskeys: file.HasCredentials, passkeys: state.CredentialsOf(file.Credentials, in.domains)}
	if n := len(c.passkeys); n > 0 && row.Passkeys == "off" {
		file.Cookies.Notices = append(file.Cookies.Notices, state.NoteOf("passkeys_off", n))
	}
	if err := c.do(r.Context(), "storage.write", c.changeStorage); err != nil {
		return err
	}
	return writeJSON(w, r, http.StatusOK, c.answer())
}

func (c *stateChange) changeStorage(ctx context.Context) error {
	var passkeys runs.PasskeyPlan
	if c.hasPasskeys {
		passkeys = c.plannedPasskeys
	}
	change, err := c.runs.SetStorage(ctx, c.row, c.planned, passkeys, c.origins, c.in.mode)
	c.refused, c.failed = change.Refused, failures(change.Failed)
	return err
}

// plannedPasskeys computes the change from the profile's passkeys. A file that does not mention them changes none.
func (c *stateChange) plannedPasskeys(have []state.Credential) (set []state.Credential, remove []string, err error) {
	c.passkeyPlan = state.PlanCredentials(have, c.passkeys, c.in.mode)
	if n := c.passkeyPlan.All; n > state.MaxCredentials {
		return nil, nil, problem.NotValid(problem.Fault{Location: "body.credentials", Message: fmt.Sprintf(
			"The profile would have %d passkeys, and may have %d. Delete some before, or leave some out.", n, state.MaxCredentials)})
	}
	return c.passkeyPlan.Set, c.passkeyPlan.Remove, nil
}

// clearInput says what is cleared.
type clearInput struct {
	Kinds   []string      `json:"kinds" minItems:"1" enum:"cache,cookies,history,storage,downloads,permissions" doc:"What is cleared."`
	Origins opt[[]string] `json:"origins,omitempty" maxItems:"1000" doc:"Only what belongs to these origins, such as https://shop.example; null or absent: all."`
	Since   opt[string]   `json:"since,omitempty" format:"date-time" doc:"Only what is newer than this moment; null or absent: all."`

	since time.Time
}

func (clearInput) example() any { return map[string]any{"kinds": []string{"cache", "history"}} }

// Resolve checks the request by itself.
func (in *clearInput) Resolve(huma.Context) []error {
	var f faults
	slices.Sort(in.Kinds)
	in.Kinds = slices.Compact(in.Kinds)
	for i, o := range in.Origins.Value {
		f.require(state.CheckOrigin(o) == nil, element("body.origins", i), "Enter an origin such as https://shop.example, without a path.")
	}
	f.require(!in.Origins.given() || len(in.Origins.Value) > 0, "body.origins", "Name at least one origin, or null for all.")
	for i, kind := range in.Kinds {
		f.require(len(in.Origins.Value) == 0 || kind != "history" && kind != "downloads", element("body.kinds", i),
			"Leave origins out: "+kind+" is of no origin.")
	}
	if in.Since.given() {
		at, err := time.Parse(time.RFC3339, in.Since.Value)
		f.require(err == nil && !at.After(time.Now()), "body.since", "Enter a time in the past, such as 2026-11-21T14:06:00Z.")
		in.since = at
	}
	return f.errors()
}

// clearRequest names a profile and what of it is cleared.
type clearRequest struct {
	ProfilePath
	Body clearInput
}

func (clearRequest) problems() []*problem.Error { return append(stateProblems(), runs.StillRunning()) }

// Cleared says what was cleared.
type Cleared struct {
	Bytes int64 `json:"bytes" doc:"How much smaller the profile is on the disk." example:"48211000"`
}

func (Cleared) example() any { return Cleared{Bytes: 48211000} }

func (s *API) clearProfile(ctx context.Context, in *clearRequest) (*struct{ Body Cleared }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	detail := map[string]any{"kinds": in.Body.Kinds, "origins": len(in.Body.Origins.Value), "since": in.Body.Since.Value}
	if err := s.audit(ctx, "profile.clear", row.WorkspaceID, row.ID, detail); err != nil {
		return nil, err
	}
	done, err := s.runs.Clear(context.WithoutCancel(ctx), row,
		runs.ClearOptions{Kinds: in.Body.Kinds, Origins: in.Body.Origins.Value, Since: in.Body.since})
	return &struct{ Body Cleared }{Cleared{done.Bytes}}, err
}

// stateProblems returns the errors of a browser that is needed for cookies and storage.
func stateProblems() []*problem.Error {
	return append([]*problem.Error{runs.StartsJustNow(), pool.Stopping()}, noBrowserProblems()...)
}
