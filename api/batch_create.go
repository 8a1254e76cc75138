package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"warren/events"
	"warren/store"
)

// Makes many profiles with the same settings in one transaction: all of them, or none.

const (
	// maxBatchCreate is how many profiles one request may make. Other writes wait for the transaction meanwhile.
	maxBatchCreate = 10_000
	// maxBatchAnswer is the largest answer, in bytes. It bounds what a small request with long notes writes to the disk.
	maxBatchAnswer = 16 << 20
	// maxFirstNumber is the largest number that names may count from.
	maxFirstNumber = 1_000_000_000
)

// numberMark is what each profile's number replaces in the name.
const numberMark = "{n}"

// batchCreateInput is what the profiles of one request share, and what tells them apart.
type batchCreateInput struct {
	Count       opt[int64]        `json:"count" nullable:"false" minimum:"1" maximum:"10000" doc:"How many profiles to create." example:"3"`
	FirstNumber opt[int64]        `json:"firstNumber,omitempty" minimum:"0" maximum:"1000000000" doc:"What {n} is in the first name. Default: 1."`
	Proxies     opt[proxiesInput] `json:"proxies,omitempty" doc:"Instead of proxyId. \"each\": proxies that no profile uses yet and that are not known to be dead, oldest first, one for each profile. An object: proxies with the tag that are not known to be dead: random; leastUsed (by the fewest profiles); roundRobin (in turn, oldest first); with each one for each profile, those with the fewest profiles first. A list of ids: one for each profile, in order."`
	TemplateID  opt[string]       `json:"templateId,omitempty" doc:"A template of the same workspace: what the request leaves out is from it, proxies too." example:"0199a1c2-7d3e-7a10-8a55-01234567beef"`
	ProfileInput
}

func (batchCreateInput) example() any {
	return map[string]any{"count": 3, "name": "Shop {n}", "os": "win", "tags": []string{"shop"}, "proxyId": exampleProxyID}
}

// batchCreate is a request for many profiles.
type batchCreate struct {
	Body batchCreateInput

	workspace string
}

// Resolve checks the request by itself.
func (in *batchCreate) Resolve(ctx huma.Context) []error {
	completable(ctx, in)
	var f faults
	f.require(in.Body.Name.Set, "body.name", enterName)
	in.Body.check(&f)
	f.mayStartWithServer(callerOf(ctx.Context()), &in.Body.ProfileInput)
	in.workspace = f.workspace(callerOf(ctx.Context()), "body.workspaceId", in.Body.WorkspaceID)
	return f.errors()
}

// check normalises the members, and notes what is wrong with each by itself.
func (in *batchCreateInput) check(f *faults) {
	before := len(*f)
	in.ProfileInput.check(f)
	if last := in.name(in.count() - 1); len(*f) == before && in.Name.given() && last != in.Name.Value {
		f.line("body.name", last, 1, 200) // the last number is the longest
	}
	if !in.Proxies.given() {
		return
	}
	f.require(!in.ProxyID.Set, "body.proxyId", "Give either proxyId or proxies, not both.")
	f.leakingWebRTC(in.WebRTC.Value)
	in.Proxies.Value.normalizeTag(f)
	if ids := in.Proxies.Value.IDs; ids != nil && in.count() > 0 && len(ids) != in.count() {
		f.add("body.proxies", fmt.Sprintf("List one proxy for each profile: there are %d proxies for %d profiles.",
			len(ids), in.count()), nil)
	}
}

// count is how many profiles there are to make; 0: none that the schema takes.
func (in *batchCreateInput) count() int {
	if !in.Count.given() || in.Count.Value < 1 || in.Count.Value > maxBatchCreate {
		return 0
	}
	return int(in.Count.Value)
}

// name is the name of the profile at a place, which counts from 0.
func (in *batchCreateInput) name(place int) string {
	first := int64(1)
	in.FirstNumber.merge(&first, 1)
	return strings.ReplaceAll(in.Name.Value, numberMark, strconv.FormatInt(min(first, maxFirstNumber)+int64(place), 10))
}

// manyProfiles are profiles to make.
type manyProfiles struct {
	row  store.Profile // what they share
	each []store.NewProfile
}

// newProfiles returns the profiles of a request, without their settings and proxies.
func (in *batchCreate) newProfiles() *manyProfiles {
	m := &manyProfiles{row: newProfile(in.workspace), each: make([]store.NewProfile, in.Body.count())}
	for i, id := range store.NewIDs(len(m.each)) {
		m.each[i] = store.NewProfile{ID: id, Name: in.Body.name(i)}
	}
	return m
}

func (in *batchCreate) storedFaults(ctx context.Context, s *API) (faults, error) {
	return s.mergeMany(ctx, s.store.Read(), in, in.newProfiles())
}

// mergeMany writes the settings and the proxies of a request into its profiles, and returns the faults that the database
// and this server show.
func (s *API) mergeMany(ctx context.Context, q *store.Queries, in *batchCreate, m *manyProfiles) (faults, error) {
	var own *proxiesInput
	if in.Body.Proxies.given() {
		own = &in.Body.Proxies.Value
	}
	whole, f, err := s.mergeNew(ctx, q, &in.Body.ProfileInput, in.Body.TemplateID, own, &m.row)
	if err != nil || len(m.each) == 0 {
		return f, err
	}
	if err := s.fitsAnswer(m, &f); err != nil {
		return nil, err
	}
	if whole.proxies == nil {
		for i := range m.each {
			m.each[i].ProxyID = m.row.ProxyID
		}
		return f, nil
	}
	ids, err := s.dealNew(ctx, q, whole, m.row, len(m.each), &f)
	for i := range ids {
		m.each[i].ProxyID = &ids[i]
	}
	return f, err
}

// fitsAnswer notes more profiles than one answer may hold.
func (s *API) fitsAnswer(m *manyProfiles, f *faults) error {
	last, err := s.madeProfile(m.row, m.each[len(m.each)-1])
	if err != nil {
		return err
	}
	text, err := appendBody(nil, last)
	if most := maxBatchAnswer / max(1, len(text)); len(m.each) > most {
		f.add("body.count", fmt.Sprintf("Create at most %d profiles at once: their settings are too long for more.", most), nil)
	}
	return err
}

// createProfiles makes the profiles in one transaction, or none of them. It publishes one event: one for each profile would
// push every other event out of the log.
func (s *API) createProfiles(ctx context.Context, in *batchCreate) (*listBody[profileJSON], error) {
	if made := requestOf(ctx).made; made != "" {
		nothingToRecord(ctx)
		return s.madeBefore(ctx, made)
	}
	fresh := in.newProfiles()
	first, last := fresh.each[0].ID, fresh.each[len(fresh.each)-1].ID
	about(ctx, in.workspace, "", map[string]any{"count": len(fresh.each), "first": first, "last": last})
	var m *manyProfiles
	err := s.change(ctx, func(q *store.Queries) error {
		m = &manyProfiles{row: fresh.row, each: slices.Clone(fresh.each)}
		f, err := s.mergeMany(ctx, q, in, m)
		if err := cmp.Or(err, f.problem()); err != nil {
			return err
		}
		if _, err := q.EnsureWorkspace(ctx, store.EnsureWorkspaceParams{ID: m.row.WorkspaceID, Now: m.row.CreatedAt}); err != nil {
			return err
		}
		if err := q.AddProfiles(ctx, manyOf(m.row), m.each); err != nil {
			return err
		}
		return recordCreated(ctx, q, first+" "+last)
	})
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "profile.batch_created", Workspace: m.row.WorkspaceID, Data: profilesCreated{len(m.each)}})
	out := make([]profileJSON, len(m.each))
	for i, p := range m.each {
		if out[i], err = s.madeProfile(m.row, p); err != nil {
			return nil, err
		}
	}
	return &listBody[profileJSON]{wholeList(out)}, nil
}

// profilesCreated is what the event profile.batch_created says.
type profilesCreated struct {
	Count int `json:"count"`
}

// madeProfile is one of many profiles as the API shows it.
func (s *API) madeProfile(shared store.Profile, p store.NewProfile) (profileJSON, error) {
	shared.ID, shared.Name, shared.ProxyID = p.ID, p.Name, p.ProxyID
	return s.profile(shared)
}

// madeBefore answers a repeated request whose first answer is not stored: with what is there of the profiles that it made,
// from their first id to their last.
func (s *API) madeBefore(ctx context.Context, made string) (*listBody[profileJSON], error) {
	first, last, _ := strings.Cut(made, " ")
	rows, err := s.store.Read().ListProfilesFromTo(ctx, store.ListProfilesFromToParams{First: first, Last: last,
		Workspaces: callerOf(ctx).Sees.Filter()})
	out := make([]profileJSON, len(rows))
	for i := 0; err == nil && i < len(rows); i++ {
		out[i], err = s.profile(rows[i])
	}
	return &listBody[profileJSON]{wholeList(out)}, err
}
