package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/store"
)

// The operations on capabilities.

// capabilityInput is what a capability is made of.
type capabilityInput struct {
	ExpiresInMs opt[int64] `json:"expiresInMs,omitempty" minimum:"1000" maximum:"2592000000" doc:"How long it opens the run; null or absent: until the run ends."`
	Readonly    bool       `json:"readonly,omitempty" nullable:"true" doc:"It opens the live view alone, to watch."`
	Files       bool       `json:"files,omitempty" nullable:"true" doc:"Who has it may use files of the machine for uploads and downloads, which this key needs the scope files for; else those of the run's own folder alone."`
	Name        string     `json:"name,omitempty" nullable:"true" doc:"Whom it is for: at most 100 characters." example:"the client in Lyon"`
}

type capabilityRequest struct {
	ProfilePath
	Body *capabilityInput `required:"false"`
}

// Resolve checks what a schema cannot.
func (in *capabilityRequest) Resolve(huma.Context) []error {
	var f faults
	if in.Body == nil {
		in.Body = &capabilityInput{}
	}
	in.Body.Name = f.line("body.name", in.Body.Name, 0, 100)
	if in.Body.Files && in.Body.Readonly {
		f.add("body.files", "is for who drives: with readonly the live view is watched alone", true)
	}
	return f.errors()
}

// CapabilityJSON is a capability as everyone who may read sees it: without what opens the run.
type CapabilityJSON struct {
	ID        string     `json:"id"`
	ProfileID string     `json:"profileId"`
	RunID     string     `json:"runId" doc:"The run that it opens. It ends with that."`
	Name      string     `json:"name"`
	Readonly  bool       `json:"readonly"`
	Files     bool       `json:"files" doc:"Whether who has it may use files of the machine."`
	CreatedAt time.Time  `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	ExpiresAt *time.Time `json:"expiresAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"null: when the run ends. With the key that made it it ends in any case." example:"2026-11-21T14:06:00.000Z"`
}

// madeCapabilityJSON is a capability with its addresses, this once.
type madeCapabilityJSON struct {
	CapabilityJSON
	LiveURL    string  `json:"liveUrl" doc:"The live view, a page. What stands behind # is the secret."`
	CdpURL     *string `json:"cdpUrl" doc:"For Playwright's connectOverCDP; null with readonly."`
	WsEndpoint *string `json:"wsEndpoint" doc:"For puppeteer.connect and other CDP clients; null with readonly."`
}

func capabilityFrom(c *capability) (CapabilityJSON, error) {
	j := CapabilityJSON{ID: c.ID, ProfileID: c.run.profileID, RunID: c.run.id, Name: c.Name, Readonly: c.Readonly, Files: c.Files, CreatedAt: millis(c.CreatedAt)}
	if c.ExpiresAt != 0 {
		j.ExpiresAt = new(millis(c.ExpiresAt))
	}
	return j, nil
}

func (s *server) createCapability(ctx context.Context, in *capabilityRequest) (*struct {
	Location string `header:"Location"`
	Body     madeCapabilityJSON
}, error) {
	if no := callerOf(ctx).may(scopeFiles); in.Body.Files && no != nil {
		return nil, no
	}
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	var life time.Duration
	if in.Body.ExpiresInMs.given() {
		life = time.Duration(in.Body.ExpiresInMs.Value) * time.Millisecond
	}
	made, secret, err := s.runs.grantNew(ctx, row.ID, callerOf(ctx).asker(), grantOptions{in.Body.Name, in.Body.Readonly, in.Body.Files, life})
	if err != nil {
		return nil, err
	}
	out := &struct {
		Location string `header:"Location"`
		Body     madeCapabilityJSON
	}{Location: apiPrefix + "/profiles/" + row.ID + "/capabilities/" + made.ID}
	if out.Body.CapabilityJSON, err = capabilityFrom(made); err != nil {
		return nil, err
	}
	ws, cdp, live := s.endpoints(ctx, secret)
	if out.Body.LiveURL = live; !made.Readonly {
		out.Body.CdpURL, out.Body.WsEndpoint = &cdp, &ws
	}
	return out, nil
}

func (s *server) listCapabilities(ctx context.Context, in *struct {
	ProfilePath
	Paging
}) (*listBody[CapabilityJSON], error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	all := s.runs.granted(row.ID)
	from := int(min(in.offset(), int64(len(all))))
	if in.After != "" {
		_, id, err := s.goOn(ctx, in.After, "capability", func(id string) (int64, error) { return s.runs.grantedOnce(row.ID, id) })
		if err != nil && !errors.Is(err, store.ErrNoRow) {
			return nil, err
		}
		if from = slices.IndexFunc(all, func(c *capability) bool { return c.ID < id }); from < 0 || err != nil {
			from = len(all)
		}
	}
	rest := all[from:]
	n := min(in.Limit, len(rest))
	page := store.Page[*capability]{Rows: rest[:n], Total: int64(len(all)), More: n < len(rest)}
	if n > 0 {
		page.Next = store.Place{Order: byTime, ID: rest[n-1].ID}
	}
	return answerList(page, in.Paging, capabilityFrom)
}

func (s *server) revokeCapability(ctx context.Context, in *struct {
	ProfilePath
	CapabilityID string `path:"capabilityId" doc:"The capability's id."`
}) (*struct{}, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	return nil, s.runs.revoke(ctx, row.ID, in.CapabilityID)
}

// addresses fills in where the run of a start's answer is driven and watched: by the caller, with the caller's rights.
func (s *server) addresses(ctx context.Context, answer *startJSON) error {
	secret, err := s.runs.ownSecret(ctx, answer, callerOf(ctx).asker())
	if err != nil {
		return err
	}
	answer.WsEndpoint, answer.CdpURL, answer.LiveURL = s.endpoints(ctx, secret)
	return nil
}
