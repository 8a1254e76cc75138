package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Grants, lists and revokes capabilities: secrets that give access to one run without a key.

// capabilityInput describes a capability to grant.
type capabilityInput struct {
	ExpiresInMs opt[int64] `json:"expiresInMs,omitempty" minimum:"1000" maximum:"2592000000" doc:"How long it is valid; null or absent: until the run ends."`
	Readonly    bool       `json:"readonly,omitempty" nullable:"true" doc:"Only watch, in the live view."`
	Files       bool       `json:"files,omitempty" nullable:"true" doc:"Allow files of the machine for uploads and downloads; the key needs the scope files. Otherwise only files in the run's own folder."`
	Name        string     `json:"name,omitempty" nullable:"true" doc:"Who it is for: at most 100 characters." example:"the client in Lyon"`
}

func (capabilityInput) example() any {
	return map[string]any{"name": "the client in Lyon", "readonly": true, "expiresInMs": 3600000}
}

type capabilityRequest struct {
	ProfilePath
	Body *capabilityInput `required:"false"`
}

func (capabilityRequest) problems() []*problem.Error {
	return []*problem.Error{runs.NotRunning(), runs.CapabilityLimit()}
}

// Resolve implements huma.Resolver. It checks what a schema cannot.
func (in *capabilityRequest) Resolve(huma.Context) []error {
	var f faults
	if in.Body == nil {
		in.Body = &capabilityInput{}
	}
	in.Body.Name = f.line("body.name", in.Body.Name, 0, 100)
	if in.Body.Files && in.Body.Readonly {
		f.add("body.files", "A read-only view cannot use files. Choose one of the two.", true)
	}
	return f.errors()
}

// CapabilityJSON is a capability as every reader sees it: without its secret.
type CapabilityJSON struct {
	ID        string     `json:"id"`
	ProfileID string     `json:"profileId"`
	RunID     string     `json:"runId" doc:"The run that it opens. It ends with the run."`
	Name      string     `json:"name"`
	Readonly  bool       `json:"readonly"`
	Files     bool       `json:"files" doc:"Whether it allows files of the machine."`
	CreatedAt time.Time  `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	ExpiresAt *time.Time `json:"expiresAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"null: when the run ends. It always ends with the key that created it." example:"2026-11-21T14:06:00.000Z"`
}

func (CapabilityJSON) example() any {
	return CapabilityJSON{ID: exampleProfileID, ProfileID: exampleProfileID, RunID: exampleRunID, Name: "the client in Lyon",
		Readonly: true, CreatedAt: exampleTime(), ExpiresAt: new(exampleTime().Add(time.Hour))}
}

// madeCapabilityJSON is a new capability with its addresses, which only this answer has.
type madeCapabilityJSON struct {
	CapabilityJSON
	LiveURL    string  `json:"liveUrl" doc:"The page of the live view. The part after # is the secret."`
	CdpURL     *string `json:"cdpUrl" doc:"For Playwright's connectOverCDP; null with readonly."`
	WsEndpoint *string `json:"wsEndpoint" doc:"For puppeteer.connect and other CDP clients; null with readonly."`
}

func (madeCapabilityJSON) example() any {
	return madeCapabilityJSON{CapabilityJSON: CapabilityJSON{}.example().(CapabilityJSON), LiveURL: "http://127.0.0.1:7777/live#CAPABILITY"}
}

// createdCapability is the answer of createCapability.
type createdCapability struct {
	Location string `header:"Location"`
	Body     madeCapabilityJSON
}

func capabilityFrom(c *runs.Capability) CapabilityJSON {
	j := CapabilityJSON{ID: c.ID, ProfileID: c.ProfileID(), RunID: c.RunID(), Name: c.Name, Readonly: c.Readonly, Files: c.Files,
		CreatedAt: runs.Millis(c.CreatedAt)}
	if c.ExpiresAt != 0 {
		j.ExpiresAt = new(runs.Millis(c.ExpiresAt))
	}
	return j
}

func (s *API) createCapability(ctx context.Context, in *capabilityRequest) (*createdCapability, error) {
	if no := callerOf(ctx).may(scopeFiles); in.Body.Files && no != nil {
		return nil, no
	}
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	made, secret, err := s.runs.Grant(ctx, row.ID, callerOf(ctx).asker(), runs.GrantOptions{Name: in.Body.Name, Readonly: in.Body.Readonly,
		Files: in.Body.Files, Life: time.Duration(in.Body.ExpiresInMs.Value) * time.Millisecond})
	if err != nil {
		return nil, err
	}
	about(ctx, row.WorkspaceID, row.ID, map[string]any{"capabilityId": made.ID, "name": in.Body.Name, "readonly": in.Body.Readonly,
		"files": in.Body.Files})
	out := &createdCapability{Prefix + "/profiles/" + row.ID + "/capabilities/" + made.ID,
		madeCapabilityJSON{CapabilityJSON: capabilityFrom(made)}}
	ws, cdp, live := s.endpoints(ctx, secret)
	if out.Body.LiveURL = live; !made.Readonly {
		out.Body.CdpURL, out.Body.WsEndpoint = &cdp, &ws
	}
	return out, nil
}

func (s *API) listCapabilities(ctx context.Context, in *struct {
	ProfilePath
	Paging
}) (*listBody[CapabilityJSON], error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	all := s.runs.Granted(row.ID)
	from := int(min(in.offset(), int64(len(all))))
	if in.After != "" {
		_, id, err := s.goOn(ctx, in.After, "capability", func(id string) (int64, error) { return s.runs.WasGranted(row.ID, id) })
		if err != nil && !errors.Is(err, store.ErrNoRow) {
			return nil, err
		}
		if from = slices.IndexFunc(all, func(c *runs.Capability) bool { return c.ID < id }); from < 0 || err != nil {
			from = len(all)
		}
	}
	place := func(c *runs.Capability) (int64, string) { return 0, c.ID }
	page := pageOf(all[from:], int64(len(all)), in.Limit, place)
	return answerList(page, in.Paging, func(c *runs.Capability) (CapabilityJSON, error) { return capabilityFrom(c), nil })
}

// capabilityRevoke names a capability to revoke.
type capabilityRevoke struct {
	ProfilePath
	CapabilityID string `path:"capabilityId" doc:"The capability's id."`
}

func (capabilityRevoke) problems() []*problem.Error {
	return []*problem.Error{problem.Missing("capability"), runs.CapabilityBusy(nil)}
}

func (s *API) revokeCapability(ctx context.Context, in *capabilityRevoke) (*struct{}, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	return nil, s.runs.Revoke(ctx, row.ID, in.CapabilityID)
}

// addresses fills in the addresses of a started run. They carry the caller's rights.
func (s *API) addresses(ctx context.Context, answer *runs.Started) error {
	secret, err := s.runs.OwnSecret(ctx, answer, callerOf(ctx).asker())
	if err != nil {
		return err
	}
	answer.WsEndpoint, answer.CdpURL, answer.LiveURL = s.endpoints(ctx, secret)
	return nil
}
