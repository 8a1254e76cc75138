package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"warren/identity"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Fills the settings that a request leaves out: from the profile's template, then from its workspace's defaults. A profile takes the
// values, and does not follow later changes of either (docs/decisions/2026-11-28-templates-are-copied.md).

// templateSettings are settings for new profiles, as a request brings them and as the database holds them.
type templateSettings struct {
	ProfileInput
	Proxies opt[proxiesInput] `json:"proxies,omitempty" doc:"Instead of proxyId: where each new profile gets a proxy of its own choice from, as in batch-create, but no list."`
}

// readTemplateSettings reads what text has written.
func readTemplateSettings(text string) (in templateSettings, err error) {
	return in, json.Unmarshal([]byte(text), &in)
}

// text returns the settings for the database: the members that are not null, normalised.
func (in *templateSettings) text() (string, error) {
	o := newObject(nil)
	for _, s := range settings {
		if value, given := s.json(&in.ProfileInput); given && s.name != "name" {
			o.raw(s.name, value)
		}
	}
	if in.Proxies.given() {
		rareMember(o, "proxies", &in.Proxies.Value)
	}
	b, err := o.end()
	return string(b), err
}

// members names the members that the request has.
func (in *templateSettings) members() []string {
	names := membersOf(in.ProfileInput)
	if in.Proxies.Set {
		names = append(names, "proxies")
	}
	return names
}

// change merges a request. null takes a setting out. A proxyId and proxies replace each other.
func (in *templateSettings) change(by *templateSettings) {
	for _, s := range settings {
		if s.given(&by.ProfileInput) || s.returns(&by.ProfileInput) {
			s.take(&in.ProfileInput, &by.ProfileInput)
		}
	}
	switch {
	case by.Proxies.Set:
		in.Proxies = by.Proxies
		if by.Proxies.given() && !by.ProxyID.Set {
			in.ProxyID = opt[string]{}
		}
	case by.ProxyID.given():
		in.Proxies = opt[proxiesInput]{}
	}
}

// check normalises the members, and notes what is wrong with each by itself.
func (in *templateSettings) check(f *faults) {
	in.ProfileInput.check(f)
	if !in.Proxies.given() {
		return
	}
	f.require(!in.ProxyID.given(), "body.proxyId", "Give either proxyId or proxies, not both.")
	f.require(in.Proxies.Value.IDs == nil, "body.proxies",
		`Choose "each", {"tag","pick"} or {"tag","each"}: a list of proxies would end with the first profiles.`)
	f.leakingWebRTC(in.WebRTC.Value)
	in.Proxies.Value.normalizeTag(f)
}

// checkStored notes what the database and this server show of a change. whole is what the change would make.
func (in *templateSettings) checkStored(ctx context.Context, s *API, q *store.Queries, whole *templateSettings, workspace string,
	f *faults) error {
	s.checkBypasses(&in.ProfileInput, f)
	if err := checkExtensions(ctx, q, workspace, in.Extensions.Value, f); err != nil {
		return err
	}
	if !in.ProxyID.Set && !in.FallbackProxyIDs.Set && !in.Proxies.Set && !in.WebRTC.Set {
		return nil // a proxy that was deleted since is found when a profile is created
	}
	row := newProfile(workspace)
	whole.merge(&row)
	if whole.Proxies.given() {
		f.leakingWebRTC(row.WebRTC)
	}
	return whole.checkProxies(ctx, q, callerOf(ctx), row, f)
}

// layer is settings for new profiles, and where they are from.
type layer struct {
	source   string // identity.FromTemplate or identity.FromWorkspace
	location string // of the request's member that chose it
	title    string // for people
	templateSettings
}

// layers returns what a profile of a workspace gets the settings from that it does not give itself, in order.
func (s *API) layers(ctx context.Context, q *store.Queries, workspace string, template opt[string], f *faults) (all []layer, err error) {
	if template.given() {
		l, err := templateLayer(ctx, q, callerOf(ctx), workspace, template.Value)
		switch {
		case problem.Is(err, problem.NotFound):
			f.add("body.templateId", "Choose a template of this workspace. There is none with this id.", nil)
		case err != nil:
			return nil, err
		default:
			all = append(all, l)
		}
	}
	text, err := q.GetDefaults(ctx, workspace)
	if errors.Is(err, store.ErrNoRow) || err == nil && text == "{}" {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	in, err := readTemplateSettings(text)
	return append(all, layer{identity.FromWorkspace, "body.workspaceId", "The workspace's defaults", in}), err
}

// templateLayer returns a template of a workspace that the caller sees.
func templateLayer(ctx context.Context, q *store.Queries, c *caller, workspace, id string) (layer, error) {
	row, err := q.GetTemplate(ctx, store.GetTemplateParams{ID: id, Workspaces: c.Sees.Filter()})
	if err == nil && row.WorkspaceID != workspace {
		err = store.ErrNoRow
	}
	if err != nil {
		return layer{}, orNotFound(store.Typed(err), "template")
	}
	in, err := readTemplateSettings(row.Settings)
	return layer{identity.FromTemplate, "body.templateId", fmt.Sprintf("The template %q", row.Name), in}, err
}

// inherited is a request with the settings that it leaves out.
type inherited struct {
	ProfileInput
	proxies *proxiesInput     // where its proxies are from instead of proxyId; nil: from none
	from    map[string]*layer // where each of the members is from that it leaves out
}

// inherit completes a request for new profiles. ownProxies says that it chooses proxies in another way than by proxyId.
func inherit(in *ProfileInput, ownProxies bool, layers []layer) *inherited {
	out := &inherited{ProfileInput: *in, from: map[string]*layer{}}
	for _, s := range settings {
		if s.name != "name" && s.name != "proxyId" && !s.given(in) {
			out.takeFirst(s, layers)
		}
	}
	for i := range layers {
		l := &layers[i]
		switch {
		case in.ProxyID.Set || ownProxies || out.from["proxyId"] != nil || out.from["proxies"] != nil:
		case l.ProxyID.given():
			out.ProxyID, out.from["proxyId"] = l.ProxyID, l
		case l.Proxies.given():
			out.proxies, out.from["proxies"] = &l.Proxies.Value, l
		}
	}
	return out
}

// takeFirst takes a member from the first layer that has it.
func (i *inherited) takeFirst(s setting, layers []layer) {
	for k := range layers {
		if s.given(&layers[k].ProfileInput) {
			s.take(&i.ProfileInput, &layers[k].ProfileInput)
			i.from[s.name] = &layers[k]
			return
		}
	}
}

// attribute records in a row where the settings are from that the request left out.
func (i *inherited) attribute(row *store.Profile) {
	if len(i.from) == 0 {
		return
	}
	sources := identity.ReadSources(row.Sources)
	for name, l := range i.from {
		if name == "proxies" {
			name = "proxyId"
		}
		sources.Set(name, l.source)
	}
	row.Sources = sources.Text()
}

// locate moves faults of members that the request leaves out to the member that has brought them.
func (i *inherited) locate(found faults) (out faults) {
	for _, fault := range found {
		name := memberAt(fault.Location)
		l := i.from[name]
		if l == nil {
			out = append(out, fault)
			continue
		}
		message := name + ": " + fault.Message
		if k := slices.IndexFunc(out, func(f problem.Fault) bool { return f.Location == l.location }); k >= 0 {
			out[k].Message += " " + message
			continue
		}
		out.add(l.location, l.title+" cannot be used here. "+message, nil)
	}
	return out
}

// memberAt is the member of a body at a location: proxies at body.proxies.tag.
func memberAt(location string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(location, "body."), "[")
	name, _, _ = strings.Cut(name, ".")
	return name
}

// mergeNew merges a request for new profiles into a row, with the settings that it leaves out. It returns the faults that the database
// and this server show. own is where the request gets proxies from instead of from proxyId; nil: from none.
func (s *API) mergeNew(ctx context.Context, q *store.Queries, in *ProfileInput, template opt[string], own *proxiesInput,
	row *store.Profile) (*inherited, faults, error) {
	var f faults
	layers, err := s.layers(ctx, q, row.WorkspaceID, template, &f)
	if err != nil {
		return nil, nil, err
	}
	whole := inherit(in, own != nil, layers)
	more, err := s.merge(ctx, q, &whole.ProfileInput, row)
	if err != nil {
		return nil, nil, err
	}
	if whole.proxies != nil || own != nil {
		more.leakingWebRTC(row.WebRTC)
	}
	whole.attribute(row)
	if own != nil {
		whole.proxies = own
		sources := identity.ReadSources(row.Sources)
		sources.Set("proxyId", identity.FromProfile)
		row.Sources = sources.Text()
	}
	if template.given() {
		row.TemplateID = &template.Value
	}
	return whole, append(f, whole.locate(more)...), nil
}

// dealNew chooses proxies for new profiles with the settings of row. It returns none with a fault.
func (s *API) dealNew(ctx context.Context, q *store.Queries, whole *inherited, row store.Profile, count int, f *faults) ([]string, error) {
	taken, err := s.deals.taken(ctx, q)
	if err != nil {
		return nil, err
	}
	var found faults
	ids, err := whole.proxies.choose(ctx, q, callerOf(ctx), deal{workspace: row.WorkspaceID, count: count,
		fallbacks: runs.StringsOf(row.FallbackProxyIDs), taken: taken}, &found)
	*f = append(*f, whole.locate(found)...)
	return ids, err
}

// returned are the members of a change that are null: they return to what a new profile of the template and the workspace gets.
func (s *API) returned(ctx context.Context, q *store.Queries, in *ProfileInput, row *store.Profile) (*inherited, error) {
	out := &inherited{ProfileInput: *in, from: map[string]*layer{}}
	if !slices.ContainsFunc(settings, func(s setting) bool { return s.returns(in) }) {
		return out, nil
	}
	var template opt[string]
	if row.TemplateID != nil {
		template = opt[string]{Set: true, Value: *row.TemplateID}
	}
	var gone faults
	layers, err := s.layers(ctx, q, row.WorkspaceID, template, &gone)
	for _, s := range settings {
		if s.returns(in) {
			out.takeFirst(s, layers)
		}
	}
	return out, err
}
