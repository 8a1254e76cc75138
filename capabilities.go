package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/shim"
	"warren/store"
)

// This file holds what opens one run without a key: the run's first capability, which start answers, and those that are made beside it.
// A capability is 256 random bits. Of those that are made its SHA-256 alone is kept, here and in the run's process, which gives them
// to the next server. All of them end with their run.

// maxCapabilities is how many capabilities a run may have beside its first.
const maxCapabilities = 100

// capability opens one run.
type capability struct {
	shim.Capability
	run  *profileRun
	own  bool            // start answers it; it is no object of the API
	life context.Context // what it let in lives in it
	end  context.CancelFunc
}

// expired says whether its time is over, by the clock on the wall: timers stand still while a machine sleeps.
func (c *capability) expired() bool { return c.ExpiresAt != 0 && now() >= c.ExpiresAt }

// hold ties a request to the capability that let it in: it ends when that does. leave must be called.
func (c *capability) hold(r *http.Request) (_ *http.Request, leave func()) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(c.life, cancel)
	return r.WithContext(ctx), func() {
		stop()
		cancel()
	}
}

// withCapability finds what a secret opens. It is looked up by its hash, so that no comparison tells how near a guess was.
func (rs *runs) withCapability(secret string) *capability {
	if secret == "" {
		return nil
	}
	hash := sha256.Sum256([]byte(secret))
	rs.mu.Lock()
	c := rs.byCap[hash]
	rs.mu.Unlock()
	if c == nil || subtle.ConstantTimeCompare(c.Hash, hash[:]) != 1 || c.expired() || c.life.Err() != nil {
		return nil
	}
	return c
}

// admit makes the run's first capability open it.
func (rs *runs) admit(r *profileRun) {
	r.mu.Lock()
	hash := sha256.Sum256([]byte(r.answer.capability))
	r.mu.Unlock()
	rs.open(r, shim.Capability{Hash: hash[:]}, true)
}

// open makes a capability open the run, unless the run is over.
func (rs *runs) open(r *profileRun, about shim.Capability, own bool) {
	if len(about.Hash) != sha256.Size {
		return
	}
	c := &capability{Capability: about, run: r, own: own}
	if about.ExpiresAt == 0 {
		c.life, c.end = context.WithCancel(context.Background())
	} else {
		c.life, c.end = context.WithDeadline(context.Background(), time.UnixMilli(about.ExpiresAt))
	}
	key := [sha256.Size]byte(about.Hash)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.byProfile[r.profileID] != r || rs.byCap[key] != nil {
		c.end()
		return
	}
	rs.byCap[key] = c
}

// dropCapabilities takes out what opened a run that is over; the mutex is held. Connections have the time of an answer to tell their clients how
// the run ended.
func (rs *runs) dropCapabilities(r *profileRun) {
	for k, c := range rs.byCap {
		if c.run == r {
			delete(rs.byCap, k)
			time.AfterFunc(answerTime, c.end)
		}
	}
}

// granted are the capabilities that were made for the run and whose time is not over, newest first. The others are forgotten.
func (rs *runs) granted(r *profileRun) (out []*capability) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for k, c := range rs.byCap {
		switch {
		case c.run != r || c.own:
		case c.expired():
			delete(rs.byCap, k)
			c.end()
		default:
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *capability) int { return strings.Compare(b.ID, a.ID) })
	return out
}

// keepGranted has the run's process keep these capabilities.
func (r *profileRun) keepGranted(ctx context.Context, all []*capability, more ...shim.Capability) error {
	client, err := r.process()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // half of it serves nobody
	defer cancel()
	for _, c := range all {
		more = append(more, c.Capability)
	}
	if err := client.SetCapabilities(ctx, more); err != nil {
		return capabilityBusy(err)
	}
	return nil
}

func capabilityLimit() *problem {
	return conflict("capability_limit", "The run has 100 capabilities, and may not have more. Revoke those that nobody needs (GET lists them), or have them expire (expiresInMs).")
}

func capabilityBusy(err error) *problem {
	return conflict("profile_busy", "The run's process did not take the change. Try again; if that does not help, stop the profile.").because(err)
}

// grant makes another capability open the run: its process knows first, so that the next server does too.
func (rs *runs) grant(ctx context.Context, r *profileRun, about shim.Capability) error {
	r.granting.Lock()
	defer r.granting.Unlock()
	have := rs.granted(r)
	if len(have) >= maxCapabilities {
		return capabilityLimit()
	}
	if err := r.keepGranted(ctx, have, about); err != nil {
		return err
	}
	rs.open(r, about, false)
	return nil
}

// revoke ends a capability and what it let in. It is over here at once, and gone when the run's process has forgotten it too.
func (rs *runs) revoke(ctx context.Context, r *profileRun, id string) error {
	r.granting.Lock()
	defer r.granting.Unlock()
	have := rs.granted(r)
	i := slices.IndexFunc(have, func(c *capability) bool { return c.ID == id })
	if i < 0 {
		return notFound("capability")
	}
	c := have[i]
	c.end()
	if err := r.keepGranted(ctx, slices.Delete(have, i, i+1)); err != nil {
		return err
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.byCap, [sha256.Size]byte(c.Hash))
	return nil
}

// capabilityInput is what a capability is made of.
type capabilityInput struct {
	ExpiresInMs opt[int64] `json:"expiresInMs,omitempty" minimum:"1000" maximum:"2592000000" doc:"How long it opens the run; null or absent: until the run ends."`
	Readonly    bool       `json:"readonly,omitempty" nullable:"true" doc:"It opens the live view alone, to watch."`
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
	return f.errors()
}

// CapabilityJSON is a capability as everyone who may read sees it: without what opens the run.
type CapabilityJSON struct {
	ID        string     `json:"id"`
	ProfileID string     `json:"profileId"`
	RunID     string     `json:"runId" doc:"The run that it opens. It ends with that."`
	Name      string     `json:"name"`
	Readonly  bool       `json:"readonly"`
	CreatedAt timestamp  `json:"createdAt"`
	ExpiresAt *timestamp `json:"expiresAt" doc:"null: when the run ends."`
}

// madeCapabilityJSON is a capability with its addresses, this once.
type madeCapabilityJSON struct {
	CapabilityJSON
	LiveURL    string  `json:"liveUrl" doc:"The live view, a page. What stands behind # is the secret."`
	CdpURL     *string `json:"cdpUrl" doc:"For Playwright's connectOverCDP; null with readonly."`
	WsEndpoint *string `json:"wsEndpoint" doc:"For puppeteer.connect and other CDP clients; null with readonly."`
}

func capabilityFrom(c *capability) (CapabilityJSON, error) {
	j := CapabilityJSON{ID: c.ID, ProfileID: c.run.profileID, RunID: c.run.id, Name: c.Name, Readonly: c.Readonly, CreatedAt: timestamp(c.CreatedAt)}
	if c.ExpiresAt != 0 {
		j.ExpiresAt = ptr(timestamp(c.ExpiresAt))
	}
	return j, nil
}

func (s *server) createCapability(ctx context.Context, in *capabilityRequest) (*struct {
	Location string `header:"Location"`
	Body     madeCapabilityJSON
}, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	run := s.runs.of(row.ID)
	if run == nil || !run.goesOn() {
		return nil, notRunning()
	}
	secret := newCapability()
	hash := sha256.Sum256([]byte(secret))
	about := shim.Capability{ID: newID(), Hash: hash[:], Name: in.Body.Name, Readonly: in.Body.Readonly, CreatedAt: now()}
	if in.Body.ExpiresInMs.given() {
		about.ExpiresAt = about.CreatedAt + in.Body.ExpiresInMs.Value
	}
	if err := s.runs.grant(ctx, run, about); err != nil {
		return nil, err
	}
	out := &struct {
		Location string `header:"Location"`
		Body     madeCapabilityJSON
	}{Location: apiPrefix + "/profiles/" + row.ID + "/capabilities/" + about.ID}
	if out.Body.CapabilityJSON, err = capabilityFrom(&capability{Capability: about, run: run}); err != nil {
		return nil, err
	}
	ws, cdp, live := s.endpoints(ctx, secret)
	if out.Body.LiveURL = live; !about.Readonly {
		out.Body.CdpURL, out.Body.WsEndpoint = &cdp, &ws
	}
	s.tellCapability("capability.created", run, about.ID)
	return out, nil
}

// goesOn says whether the run has begun and is not on its way out.
func (r *profileRun) goesOn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status == "running" && r.client != nil
}

func (s *server) tellCapability(kind string, run *profileRun, id string) {
	s.events.publish(kind, run.workspaceID, map[string]any{"id": id, "profileId": run.profileID, "runId": run.id})
}

func (s *server) listCapabilities(ctx context.Context, in *struct {
	ProfilePath
	Paging
}) (*listBody[CapabilityJSON], error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	var all []*capability
	if run := s.runs.of(row.ID); run != nil {
		all = s.runs.granted(run)
	}
	from := int(min(in.offset(), int64(len(all))))
	if in.After != "" {
		if from = 1 + slices.IndexFunc(all, func(c *capability) bool { return c.ID == in.After }); from == 0 {
			from = len(all)
		}
	}
	rest := all[from:]
	n := min(in.Limit, len(rest))
	return answerList(store.Page[*capability]{Rows: rest[:n], Total: int64(len(all)), More: n < len(rest)}, in.Paging, capabilityFrom)
}

func (s *server) revokeCapability(ctx context.Context, in *struct {
	ProfilePath
	CapabilityID string `path:"capabilityId" doc:"The capability's id."`
}) (*struct{}, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	run := s.runs.of(row.ID)
	if run == nil {
		return nil, notFound("capability")
	}
	if err := s.runs.revoke(ctx, run, in.CapabilityID); err != nil {
		return nil, err
	}
	s.tellCapability("capability.revoked", run, in.CapabilityID)
	return nil, nil
}
