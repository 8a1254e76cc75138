package api

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"warren/identity"
	"warren/runs"
	"warren/store"
)

// The table of a profile's settings, and what create and update make of it.

// ProfileInput is a profile as a request brings it: all of it on create, the members to change on update.
type ProfileInput struct {
	WorkspaceID       opt[string]         `json:"workspaceId,omitempty" doc:"The workspace that owns it; it never changes. Default: the key's only workspace, else default." example:"default"`
	Name              opt[string]         `json:"name,omitempty" nullable:"false" doc:"1 to 200 characters. Need not be unique." example:"Shop, Berlin"`
	OS                opt[string]         `json:"os,omitempty" doc:"win, mac or linux (windows, macos, darwin and lin are taken too). Default: this machine's." example:"win"`
	BrowserVersion    opt[digits]         `json:"browserVersion,omitempty" doc:"A major version, \"1\" to \"999\". Default: that of the installed browser."`
	Tags              opt[[]string]       `json:"tags,omitempty" doc:"At most 50, each of 1 to 64 characters. Replaces the list." example:"[\"shop\",\"de\"]"`
	Notes             opt[string]         `json:"notes,omitempty" doc:"At most 10,000 characters."`
	ProxyID           opt[string]         `json:"proxyId,omitempty" doc:"A proxy of the same workspace. null: direct."`
	FallbackProxyIDs  opt[[]string]       `json:"fallbackProxyIds,omitempty" doc:"At most 10 proxies of the same workspace, in order: what stands in for proxyId while the browser runs, when it is dead. Nothing stands in for a direct connection."`
	FallbackCountry   opt[string]         `json:"fallbackCountry,omitempty" enum:"same,any" doc:"same (the default): only fallbacks whose last good check came out in the country of proxyId's are used; where either is not known it is left out, and start warns (fallback_left_out)."`
	StartURLs         opt[[]string]       `json:"startUrls,omitempty" doc:"At most 20 pages to open: http, https or about:blank." example:"[\"https://example.com/\"]"`
	Timezone          opt[string]         `json:"timezone,omitempty" doc:"auto (of the exit), system, or an IANA name." example:"Europe/Berlin"`
	Locale            opt[locale]         `json:"locale,omitempty" doc:"auto (of the exit), system, or a list of language tags (BCP 47)."`
	Geolocation       opt[geolocation]    `json:"geolocation,omitempty" doc:"auto (of the exit), off, or a position."`
	WebRTC            opt[string]         `json:"webrtc,omitempty" enum:"proxy_only,off,default" doc:"default is refused with a proxy: it would tell the machine's addresses."`
	Screen            opt[screen]         `json:"screen,omitempty" doc:"null: the browser's own."`
	Headless          opt[bool]           `json:"headless,omitempty" doc:"null: headed where there is a display, else headless."`
	IdleTimeoutMs     opt[int64]          `json:"idleTimeoutMs,omitempty" minimum:"1000" maximum:"2592000000" doc:"The run is closed when it was idle for so long: no DevTools client and no viewer is connected and, unless it is headless, nothing goes through its proxy. An event run.expiring comes before."`
	MaxRunMs          opt[int64]          `json:"maxRunMs,omitempty" minimum:"1000" maximum:"2592000000" doc:"The run is closed after so long. An event run.expiring comes before."`
	BackgroundTraffic opt[string]         `json:"backgroundTraffic,omitempty" enum:"refuse,allow" doc:"What the relay does with the services that Chrome itself asks (updates, variations and the like; docs/background-traffic.md): refuse, or let them through the proxy."`
	AllowLocal        opt[[]string]       `json:"allowLocal,omitempty" doc:"At most 20 services of this machine or its network, as host:port, that pages may reach, beside the proxy: localhost or an address. Only where the server lets profiles reach private networks." example:"[\"localhost:3000\"]"`
	LogHosts          opt[bool]           `json:"logHosts,omitempty" doc:"Keep which hosts a run connects to, 1,000 names at most (GET /runs/{runId}/hosts). Default: false, and nothing is kept anywhere. Takes effect at once; false forgets what the run has kept."`
	LocalhostVia      opt[viaList]        `json:"localhostVia,omitempty" doc:"At most 20 ports of this machine that pages reach on purpose, beside the proxy: 3000 is localhost:3000 (and *.localhost, 127.0.0.1 and [::1]), app.test:3000 is http://app.test:3000 served by this machine's port 3000, by no site of that name. allowLocal opens an address as it is, of the network too; this gives names to ports of this machine. Only where the server lets profiles reach private networks."`
	AllowHosts        opt[[]string]       `json:"allowHosts,omitempty" doc:"At most 1,000 rules. When there are any, pages reach no host that none of them names: example.com (and every name below), *.example.com (names below alone), cdn-*.example.com, an address or a prefix (192.0.2.0/24), each with a port behind a colon or without, or *. Takes effect at once, as denyHosts does." example:"[\"example.com\",\"*.example.net:443\"]"`
	DenyHosts         opt[[]string]       `json:"denyHosts,omitempty" doc:"At most 1,000 rules as those of allowHosts: hosts that pages do not reach, even if allowHosts names them. Open connections against new rules are ended."`
	Temporary         opt[bool]           `json:"temporary,omitempty" doc:"Delete the profile with its data when its run has ended, without the trash. Only at create or clone; false keeps a temporary one. Default: false."`
	Snapshots         opt[string]         `json:"snapshots,omitempty" enum:"on,off" doc:"Whether a snapshot of the data is made at each graceful stop. null (the default): as the server's --snapshots says."`
	StartWithServer   opt[bool]           `json:"startWithServer,omitempty" doc:"Start the browser when the server starts, after those that were running, in the order in which the profiles were made. Default: false."`
	Args              opt[[]string]       `json:"args,omitempty" doc:"At most 30 switches for the browser's command line, from a list (docs/arguments.md). All others are refused: those of proxies, DNS, debugging, folders, the sandbox, extensions, certificates and features, and what other settings declare." example:"[\"--mute-audio\"]"`
	Extensions        opt[[]extensionUse] `json:"extensions,omitempty" doc:"At most 20 extensions of the same workspace, loaded before the first page. Replaces the list. They apply from the next start." example:"[{\"id\":\"0199a1c2-7d3e-7a10-8a55-0123456789ab\",\"enabled\":true}]"`
	Passkeys          opt[string]         `json:"passkeys,omitempty" enum:"off,auto,ask" doc:"Whether pages make and use passkeys (docs/passkeys.md). off (the default): they have none of the profile's. auto: they do so by themselves. ask: a person allows each use in the live view. Applies from the next start."`
	Limits            opt[runLimits]      `json:"limits,omitempty" doc:"What the run may use of the machine, where the kernel lets the server limit it (docs/limits.md). null, and each member that is absent: as the server's --run-memory, --run-cpu and --run-pids say. Takes effect at once; a limit of memory below what the run has is pending."`
	FreezeAfter       opt[int64]          `json:"freezeAfter,omitempty" minimum:"0" maximum:"2592000" doc:"After so many seconds the processes of a browser that nobody needs are stopped where they are, and its memory is given back (docs/limits.md). It goes on at once when somebody comes. 0: never. null (the default): as the server's --freeze-after says. Applies from the next start."`
	Placement         opt[placement]      `json:"placement,omitempty" doc:"On which servers its first start may place it, where several share a database (GET /nodes): those that have all of these labels, at most 32, as --label gives them. null (the default): on any. A change after the first start does not move the profile: its data stay where they are. A server with a database of its own keeps it, and it has no effect there."`
	Consistency       opt[string]         `json:"consistency,omitempty" enum:"off,warn,block" doc:"What start does when timezone, locale or geolocation contradict where the proxy comes out: nothing, a warning for each (the default), or refuse (422 identity_mismatch), also while the exit is unknown."`
}

// settings is the table of a profile's settings. Each row has the member's name in JSON, when a running browser takes a change, the
// default, the way from the member to its column, and the member's check. A new setting is a row here, a field of ProfileInput and of
// profileJSON, a column with its queries, and a field of the web form. TestSettings fails where one is missing.
var settings = []setting{
	newSetting("name", runs.NoEffect, "", text[string], lineOf(1, 200)),
	newSetting("os", runs.NextStart, identity.HostSystem(), text[string], (*faults).system),
	newSetting("browserVersion", runs.NextStart, "", text[digits], (*faults).browserVersion),
	newSetting("tags", runs.NoEffect, "[]", jsonList[[]string], (*faults).tags),
	newSetting("notes", runs.NoEffect, "", text[string], textOf(10000)),
	newSetting("proxyId", runs.AtOnce, nil, pointer[string], nil),
	newSetting("fallbackProxyIds", runs.AtOnce, "[]", jsonList[[]string], (*faults).fallbacks),
	newSetting("fallbackCountry", runs.AtOnce, "same", text[string], nil),
	newSetting("startUrls", runs.NextStart, "[]", jsonList[[]string], (*faults).startURLs),
	newSetting("timezone", runs.AtOnce, "auto", text[string], (*faults).timezone),
	newSetting("locale", runs.AtOnce, "auto", text[locale], (*faults).locale),
	newSetting("geolocation", runs.AtOnce, "auto", text[geolocation], (*faults).geolocation),
	newSetting("webrtc", runs.NextStart, "proxy_only", text[string], nil),
	newSetting("screen", runs.NextStart, nil, jsonText[screen], wholeScreen),
	newSetting("headless", runs.NextStart, nil, pointer[bool], nil),
	newSetting("idleTimeoutMs", runs.NextStart, nil, pointer[int64], nil),
	newSetting("maxRunMs", runs.NextStart, nil, pointer[int64], nil),
	newSetting("backgroundTraffic", runs.NextStart, "refuse", text[string], nil),
	newSetting("allowLocal", runs.NextStart, "[]", jsonSet[[]string], (*faults).localTargets),
	newSetting("logHosts", runs.AtOnce, false, asIs[bool], nil),
	newSetting("localhostVia", runs.NextStart, "[]", jsonSet[viaList], (*faults).viaEntries),
	newSetting("allowHosts", runs.AtOnce, "[]", jsonSet[[]string], (*faults).hostRules),
	newSetting("denyHosts", runs.AtOnce, "[]", jsonSet[[]string], (*faults).hostRules),
	newSetting("temporary", runs.NoEffect, false, asIs[bool], nil),
	newSetting("snapshots", runs.NoEffect, nil, pointer[string], nil),
	newSetting("args", runs.NextStart, "[]", jsonList[[]string], (*faults).arguments),
	newSetting("startWithServer", runs.NoEffect, false, asIs[bool], nil),
	newSetting("extensions", runs.NextStart, "[]", jsonUses, (*faults).extensionUses),
	newSetting("passkeys", runs.NextStart, "off", text[string], nil),
	newSetting("limits", runs.AtOnce, nil, jsonText[runLimits], nil),
	newSetting("freezeAfter", runs.NextStart, nil, pointer[int64], nil),
	newSetting("placement", runs.NoEffect, nil, jsonText[placement], (*faults).placement),
	newSetting("consistency", runs.NoEffect, "warn", text[string], nil),
}

// setting is one row of the table of settings.
type setting struct {
	name   string
	effect runs.Effect
	rule
}

// rule ties a member of a request to a column of a row.
type rule interface {
	check(in *ProfileInput, f *faults)          // normalises the member's value, and notes what the schema cannot
	merge(in *ProfileInput, row *store.Profile) // writes the member into the column; null sets the default
	reset(row *store.Profile)                   // sets the default

	given(in *ProfileInput) bool          // the member has a value. null is one of a setting that can be null
	returns(in *ProfileInput) bool        // the member is null, and null is no value of the setting
	take(in, from *ProfileInput)          // copies the member
	json(in *ProfileInput) (string, bool) // the member's value as JSON; false: it is absent or null
}

// newSetting makes a row for a member of type T and a column of type C. The column has the Go name of the member's field. valid may be
// nil: the schema checks the member. Types that do not fit panic when the program starts.
func newSetting[T, C any](name string, effect runs.Effect, byDefault C, convert func(T) C, valid func(*faults, string, T) T) setting {
	members := reflect.VisibleFields(reflect.TypeFor[ProfileInput]())
	member := slices.IndexFunc(members, func(f reflect.StructField) bool { return strings.HasPrefix(f.Tag.Get("json"), name+",") })
	if member < 0 {
		panic(name + " is no member of ProfileInput")
	}
	column, ok := reflect.TypeFor[store.Profile]().FieldByName(members[member].Name)
	if !ok {
		panic(name + " is no column of profiles")
	}
	r := &ruleOf[T, C]{"body." + name, member, column.Index[0], byDefault, convert, valid}
	r.member(new(ProfileInput))
	r.column(new(store.Profile))
	return setting{name, effect, r}
}

// ruleOf is the rule of a member of type T and a column of type C.
type ruleOf[T, C any] struct {
	location           string
	memberAt, columnAt int // fields of ProfileInput and of store.Profile
	byDefault          C
	convert            func(T) C
	valid              func(f *faults, location string, value T) T
}

func (r *ruleOf[T, C]) member(in *ProfileInput) *opt[T] {
	return reflect.ValueOf(in).Elem().Field(r.memberAt).Addr().Interface().(*opt[T])
}

func (r *ruleOf[T, C]) column(row *store.Profile) *C {
	return reflect.ValueOf(row).Elem().Field(r.columnAt).Addr().Interface().(*C)
}

func (r *ruleOf[T, C]) check(in *ProfileInput, f *faults) {
	if m := r.member(in); r.valid != nil && m.given() {
		m.Value = r.valid(f, r.location, m.Value)
	}
}

func (r *ruleOf[T, C]) merge(in *ProfileInput, row *store.Profile) {
	switch m := r.member(in); {
	case m.Null:
		r.reset(row)
	case m.Set:
		*r.column(row) = r.convert(m.Value)
	}
}

func (r *ruleOf[T, C]) reset(row *store.Profile) { *r.column(row) = r.byDefault }

func (r *ruleOf[T, C]) given(in *ProfileInput) bool { return r.member(in).Set && !r.returns(in) }

func (r *ruleOf[T, C]) returns(in *ProfileInput) bool {
	isValue := reflect.TypeFor[C]().Kind() == reflect.Pointer || r.location == "body.browserVersion" // null: the browser's own
	return r.member(in).Null && !isValue
}

func (r *ruleOf[T, C]) take(in, from *ProfileInput) { *r.member(in) = *r.member(from) }

func (r *ruleOf[T, C]) json(in *ProfileInput) (string, bool) {
	b, err := json.Marshal(r.member(in).Value)
	return string(b), err == nil && r.member(in).given() // what came out of JSON goes back into it
}

// The ways from a member's value to its column.

func asIs[T any](v T) T { return v }

func pointer[T any](v T) *T { return &v }

func text[T ~string](v T) string { return string(v) }

// jsonList returns a list as JSON.
func jsonList[S ~[]string](v S) string {
	b, err := json.Marshal([]string(v))
	if err != nil { // strings that came out of JSON go back into it
		return "[]"
	}
	return string(b)
}

// jsonSet returns a list as JSON, each element once.
func jsonSet[S ~[]string](v S) string {
	seen := make(map[string]bool, len(v))
	var once []string
	for _, s := range v {
		if !seen[s] {
			seen[s] = true
			once = append(once, s)
		}
	}
	return jsonList(once)
}

// jsonText returns a value as JSON.
func jsonText[T any](v T) *string {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil { // numbers that came out of JSON go back into it
		return nil
	}
	return new(string(b))
}

// check normalises the members of the request, and notes what is wrong with them. It reads nothing but the request.
func (in *ProfileInput) check(f *faults) {
	f.require(!in.Name.Null, "body.name", enterName)
	for _, s := range settings {
		s.check(in, f)
	}
	if in.ProxyID.given() {
		f.leakingWebRTC(in.WebRTC.Value)
	}
}

// merge writes the members of the request into a row, and that they are the profile's own; null sets the default.
func (in *ProfileInput) merge(row *store.Profile) {
	sources := identity.ReadSources(row.Sources)
	for _, s := range settings {
		s.merge(in, row)
		switch {
		case s.name == "name":
		case s.given(in):
			sources.Set(s.name, identity.FromProfile)
		case s.returns(in):
			sources.Set(s.name, identity.ByDefault)
		}
	}
	row.Sources = sources.Text()
	if in.ProxyID.Set {
		row.ProxyMissing = false
	}
}

// newProfile returns the row of a profile that has every setting at its default.
func newProfile(workspace string) store.Profile {
	at := now()
	row := store.Profile{ID: store.NewID(), WorkspaceID: workspace, Status: "stopped", Revision: 1, CreatedAt: at, UpdatedAt: at,
		Sources: identity.Sources{}.Text()}
	for _, s := range settings {
		s.reset(&row)
	}
	return row
}

// DefaultProfile returns a profile with every setting at its default, which is stored nowhere.
func DefaultProfile() store.Profile { return newProfile("default") }

// maxFallbacks is how many fallbacks a profile may name.
const maxFallbacks = 10

// fallbacks notes too many fallbacks, and those that stand twice.
func (f *faults) fallbacks(location string, ids []string) []string {
	if !f.atMost(maxFallbacks, "proxies", location, len(ids)) {
		return ids
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			f.add(element(location, i), "This proxy is in the list already. Remove one of the two.", cut(id))
		}
	}
	return ids
}

// checkProxies notes what is wrong with the proxies that the request names. merged is the profile as the request would have it.
func (in *ProfileInput) checkProxies(ctx context.Context, q *store.Queries, c *caller, merged store.Profile, f *faults) error {
	var own string
	if merged.ProxyID != nil {
		own = *merged.ProxyID
	}
	if in.ProxyID.given() {
		if err := f.unknownProxy(ctx, q, c, merged.WorkspaceID, "body.proxyId", own); err != nil {
			return err
		}
		if !in.FallbackProxyIDs.Set && slices.Contains(runs.StringsOf(merged.FallbackProxyIDs), own) {
			f.add("body.proxyId", isFallback, cut(own))
		}
	}
	for i, id := range in.FallbackProxyIDs.Value {
		location := element("body.fallbackProxyIds", i)
		if err := f.unknownProxy(ctx, q, c, merged.WorkspaceID, location, id); err != nil {
			return err
		}
		if id == own {
			f.add(location, "This is the profile's own proxy. Choose another one as its fallback.", cut(id))
		}
	}
	if merged.ProxyID != nil {
		f.leakingWebRTC(merged.WebRTC)
	}
	return nil
}

// leakingWebRTC notes a webrtc that is refused beside a proxy.
func (f *faults) leakingWebRTC(webrtc string) {
	f.require(webrtc != "default", "body.webrtc", runs.LeakingWebRTC)
}

// unknownProxy notes a proxy that the caller does not see, or that is of another workspace.
func (f *faults) unknownProxy(ctx context.Context, q *store.Queries, c *caller, workspace, location, id string) error {
	p, err := q.GetProxy(ctx, store.GetProxyParams{ID: id, Workspaces: c.Sees.Filter()})
	if errors.Is(err, store.ErrNoRow) || err == nil && p.WorkspaceID != workspace {
		f.add(location, notInWorkspace, cut(id))
		return nil
	}
	return err
}
