package api

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/problem"
	"warren/runs"
	"warren/snapshots"
	"warren/store"
)

// Clones profiles: their settings, and their data from a snapshot.

// maxClones is how many clones one request may make.
const maxClones = 100

// cloneInput says what clones get.
type cloneInput struct {
	Name       opt[string] `json:"name,omitempty" doc:"1 to 200 characters; {n} is each clone's number. Default: the profile's name and (copy)." example:"Shop {n}"`
	Count      opt[int64]  `json:"count,omitempty" minimum:"1" maximum:"100" doc:"How many. Default: 1."`
	WithData   opt[bool]   `json:"withData,omitempty" doc:"With the profile's data: cookies, storage, history, extensions. Default: only its settings, unless snapshotId is given."`
	SnapshotID opt[string] `json:"snapshotId,omitempty" doc:"With the data of this snapshot. Without it the data are those of now, and the profile must not run."`
	Temporary  bool        `json:"temporary,omitempty" nullable:"true" doc:"The clones are temporary: each is deleted with its data when its run has ended."`
}

func (cloneInput) example() any {
	return map[string]any{"name": "Shop {n}", "count": 2, "withData": true}
}

type cloneRequest struct {
	ProfilePath
	Body *cloneInput `required:"false"`
}

func (cloneRequest) problems() []*problem.Error {
	return []*problem.Error{runs.StillRunning(), snapshots.Empty(), snapshots.Damaged(nil)}
}

// Resolve implements huma.Resolver. It checks what a schema cannot.
func (in *cloneRequest) Resolve(huma.Context) []error {
	var f faults
	if in.Body == nil {
		in.Body = &cloneInput{}
	}
	if in.Body.Name.given() {
		in.Body.Name.Value = f.line("body.name", in.Body.Name.Value, 1, 200)
	}
	if in.Body.SnapshotID.given() && in.Body.WithData.given() && !in.Body.WithData.Value {
		f.add("body.withData", "A snapshot is data. Leave snapshotId out to clone the settings alone.", nil)
	}
	return f.errors()
}

// count is how many clones there are to make.
func (in *cloneInput) count() int {
	count := int64(1)
	in.Count.merge(&count, 1)
	return int(min(count, maxClones))
}

// nameOf is the name of the clone at a place, which counts from 0. A name without a number is followed by one, if there are several.
func (in *cloneInput) nameOf(original string, place int) string {
	name := in.Name.Value
	if !in.Name.given() {
		name = original + " (copy)"
	}
	number := strconv.Itoa(place + 1)
	switch {
	case strings.Contains(name, numberMark):
		name = strings.ReplaceAll(name, numberMark, number)
	case in.count() > 1:
		name = shortened(name, 200-len(number)-1) + " " + number
	}
	return shortened(name, 200)
}

// shortened cuts a text to at most so many characters.
func shortened(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most])
	}
	return text
}

// cloneAnswer is one clone, or a list of several.
type cloneAnswer struct {
	one  *profileJSON
	many *list[profileJSON]
}

func (cloneAnswer) example() any { return profileJSON{}.example() }

// MarshalJSON writes the one that there is.
func (a cloneAnswer) MarshalJSON() ([]byte, error) {
	if a.many != nil {
		return json.Marshal(a.many)
	}
	return json.Marshal(a.one)
}

// Schema is either shape.
func (cloneAnswer) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[profileJSON](), true, ""),
		r.Schema(reflect.TypeFor[list[profileJSON]](), true, "")}}
}

// cloneBody is the answer of a clone.
type cloneBody struct {
	ETag     string `header:"ETag" doc:"Of a single clone."`
	Location string `header:"Location" doc:"Of a single clone."`
	Body     cloneAnswer
}

func (s *API) cloneProfile(ctx context.Context, in *cloneRequest) (*cloneBody, error) {
	if made := requestOf(ctx).made; made != "" {
		nothingToRecord(ctx)
		before, err := s.madeBefore(ctx, made)
		if err != nil {
			return nil, err
		}
		return in.answer(before.Body.Data), nil
	}
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	from, err := s.dataToClone(ctx, in.Body, row)
	if err != nil {
		return nil, err
	}
	m := in.Body.clonesOf(row)
	if owner := s.nodes.Owner(); from != nil && owner != "" {
		m.row.NodeID = &owner
	}
	ids := make([]string, len(m.each))
	for i, p := range m.each {
		ids[i] = p.ID
	}
	about(ctx, row.WorkspaceID, row.ID, map[string]any{"count": len(ids), "profileIds": some(ids), "data": from != nil})
	insert := func(q *store.Queries) error { return s.insertClones(ctx, q, m) }
	if from == nil {
		err = s.change(ctx, insert)
	} else if err = s.hasRoom(ctx, row.WorkspaceID); err == nil {
		err = recordedUnless(ctx, s.runs.Snapshots().Clone(context.WithoutCancel(ctx), *from, ids, withEntry(ctx, insert)))
	}
	if err != nil {
		return nil, err
	}
	out := make([]profileJSON, len(m.each))
	for i, p := range m.each {
		s.events.Publish(events.Event{Type: "profile.created", Workspace: row.WorkspaceID, Data: objectEvent{p.ID}})
		if out[i], err = s.madeProfile(m.row, p); err != nil {
			return nil, err
		}
	}
	return in.answer(out), nil
}

// answer is the clones as the request wants them: one by itself, several as a list.
func (in *cloneRequest) answer(made []profileJSON) *cloneBody {
	if in.Body.count() == 1 && len(made) == 1 {
		return &cloneBody{etag(1), Prefix + "/profiles/" + made[0].ID, cloneAnswer{one: &made[0]}}
	}
	return &cloneBody{Body: cloneAnswer{many: new(wholeList(made))}}
}

// dataToClone returns the snapshot with whose data clones begin; nil: with none.
func (s *API) dataToClone(ctx context.Context, in *cloneInput, row store.Profile) (*store.Snapshot, error) {
	var from store.Snapshot
	var err error
	switch {
	case in.SnapshotID.given():
		from, err = s.snapshotOf(ctx, row, in.SnapshotID.Value)
	case in.WithData.Value:
		from, err = s.runs.DataOf(context.WithoutCancel(ctx), row.ID)
	default:
		return nil, nil
	}
	return &from, err
}

// clonesOf returns clones of a profile: its settings, with ids and names of their own. What its runs have left is not theirs.
func (in *cloneInput) clonesOf(original store.Profile) *manyProfiles {
	fresh := newProfile(original.WorkspaceID)
	m := &manyProfiles{row: original, each: make([]store.NewProfile, in.count())}
	m.row.ID, m.row.Status, m.row.Revision = "", fresh.Status, fresh.Revision
	m.row.CreatedAt, m.row.UpdatedAt = fresh.CreatedAt, fresh.UpdatedAt
	m.row.LastRun, m.row.LastStartedAt, m.row.DiskBytes, m.row.HeadID, m.row.SnapshotDue = nil, 0, 0, nil, false
	m.row.NodeID = nil
	m.row.Temporary = in.Temporary
	for i, id := range store.NewIDs(len(m.each)) {
		m.each[i] = store.NewProfile{ID: id, Name: in.nameOf(original.Name, i), ProxyID: original.ProxyID}
	}
	return m
}

// insertClones writes the rows of clones.
func (s *API) insertClones(ctx context.Context, q *store.Queries, m *manyProfiles) error {
	if m.row.ProxyID != nil { // it may have been deleted meanwhile
		var f faults
		if err := f.unknownProxy(ctx, q, callerOf(ctx), m.row.WorkspaceID, "body", *m.row.ProxyID); err != nil {
			return err
		}
		if err := f.problem(); err != nil {
			return err
		}
	}
	if err := q.AddProfiles(ctx, manyOf(m.row), m.each); err != nil {
		return err
	}
	return recordCreated(ctx, q, m.each[0].ID+" "+m.each[len(m.each)-1].ID)
}
