package runs

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"

	"warren/cgroup"
	"warren/identity"
	"warren/shim"
	"warren/store"
)

// Compares what a run was started with to its profile, and says which changes wait for the next start.

// Effect says when a running browser takes a change of a profile's setting.
type Effect uint8

const (
	NoEffect  Effect = iota // no run has the setting: it describes the profile, or only a start reads it
	AtOnce                  // the running browser takes the change; what it does not take is pending
	NextStart               // the change is pending until the next start
)

// Effects returns the settings that a run has, by their JSON names, and when a running browser takes a change of each.
func Effects() map[string]Effect {
	out := map[string]Effect{}
	for _, name := range []string{"proxyId", "fallbackProxyIds", "fallbackCountry"} {
		out[name] = AtOnce // by the run's relay (reconcile.go)
	}
	for _, s := range fixedSettings(store.Profile{}) {
		out[s.name] = NextStart
	}
	for _, s := range slices.Concat(ruleSettings(shim.Rules{}, shim.Rules{}), toldSettings(shim.Identity{}, shim.Identity{}, ""),
		limitSettings(cgroup.Limits{}, cgroup.Limits{})) {
		out[s.name] = s.effect
	}
	return out
}

// fixedSetting is a setting that a browser has from its start to its end, beside its identity.
type fixedSetting struct {
	name   string
	value  string
	absent string // the value of runs whose record is older than the setting
}

func fixedSettings(row store.Profile) []fixedSetting {
	text := func(v any) string {
		b, _ := json.Marshal(v) //nolint:errcheck // numbers and booleans
		return string(b)
	}
	return []fixedSetting{
		{name: "webrtc", value: row.WebRTC},
		{name: "headless", value: text(row.Headless)},
		{name: "startUrls", value: row.StartURLs},
		{name: "args", value: row.Args, absent: "[]"},
		{name: "allowLocal", value: row.AllowLocal},
		{name: "localhostVia", value: row.LocalhostVia, absent: "[]"},
		{name: "backgroundTraffic", value: row.BackgroundTraffic},
		{name: "idleTimeoutMs", value: text(row.IdleTimeoutMs)},
		{name: "maxRunMs", value: text(row.MaxRunMs)},
		{name: "freezeAfter", value: text(row.FreezeAfter), absent: "null"},
		{name: "extensions", value: row.Extensions, absent: "[]"},
		{name: "passkeys", value: row.Passkeys, absent: "off"},
	}
}

// toldSetting is a setting that pages see or that the run's relay keeps to, and whether the browser has it as the profile wants it.
type toldSetting struct {
	name   string
	effect Effect
	same   bool
}

// toldSettings compares what a browser has to what its profile comes to now. zone is the host's time zone.
func toldSettings(has, wanted shim.Identity, zone string) []toldSetting {
	return []toldSetting{
		{"os", NextStart, has.OS == wanted.OS},
		{"browserVersion", NextStart, has.Version == wanted.Version},
		{"screen", NextStart, reflect.DeepEqual(has.Screen, wanted.Screen)},
		{"timezone", AtOnce, cmp.Or(has.Timezone, zone) == cmp.Or(wanted.Timezone, zone)},
		{"locale", AtOnce, slices.Equal(has.Languages, wanted.Languages)},
		{"geolocation", AtOnce, reflect.DeepEqual(has.Geolocation, wanted.Geolocation)},
	}
}

// ruleSettings compares the host rules that a run keeps to with those of its profile.
func ruleSettings(has, wanted shim.Rules) []toldSetting {
	return []toldSetting{
		{"allowHosts", AtOnce, slices.Equal(wanted.Allow, has.Allow)},
		{"denyHosts", AtOnce, slices.Equal(wanted.Deny, has.Deny)},
		{"logHosts", AtOnce, wanted.Log == has.Log},
	}
}

// differing returns the names of the settings that the run does not have as the profile wants them.
func differing(all []toldSetting) (names []string) {
	for _, s := range all {
		if !s.same {
			names = append(names, s.name)
		}
	}
	return names
}

// runRecord is what the database keeps of a run that goes on: the start's answer without its capability, and what the run was
// started with.
type runRecord struct {
	*Started
	Began *startedWith `json:"began,omitempty"`
}

// group returns the run's control group; nil: it has none, or is not known.
func (r runRecord) group() *cgroup.Group {
	if r.Began == nil {
		return nil
	}
	return r.Began.Group
}

// startedWith is what a run was started with. Settings that are applied later are written into it.
type startedWith struct {
	Members  map[string]string `json:"members"` // the profile's fixedSettings at the start
	Identity shim.Identity     `json:"identity"`
	Settings identity.Settings `json:"settings"`
	Group    *cgroup.Group     `json:"group,omitempty"`    // nil: it has none
	Limits   cgroup.Limits     `json:"limits"`             // in force, where the group has the controller
	Packages []string          `json:"packages,omitempty"` // SHA-256 of the packages of extensions that it has loaded
}

func (p *plan) startedWith() *startedWith {
	members := map[string]string{}
	for _, s := range fixedSettings(p.row) {
		members[s.name] = s.value
	}
	return &startedWith{Members: members, Identity: p.spec.Identity, Settings: p.resolved.Settings, Group: p.spec.Group, Limits: p.limits,
		Packages: p.packages()}
}

// pending returns, sorted, the settings that differ from what the browser was started with. wanted is the resolved identity, zone the
// host's time zone.
func (b *startedWith) pending(row store.Profile, wanted shim.Identity, zone string) []string {
	out := []string{}
	for _, s := range fixedSettings(row) {
		was, known := b.Members[s.name]
		if !known {
			was = s.absent
		}
		if was != s.value {
			out = append(out, s.name)
		}
	}
	out = append(out, differing(toldSettings(b.Identity, wanted, zone))...)
	slices.Sort(out)
	return out
}

// nextIdentity returns the identity that a running browser should show. Settings that need a start stay. Settings that
// follow an unknown exit stay too, so that the host's own never show during a run.
func (b *startedWith) nextIdentity(wanted identity.Resolution, zone string) shim.Identity {
	id := b.Identity
	if !slices.Contains(wanted.Missing, "timezone") && cmp.Or(id.Timezone, zone) != cmp.Or(wanted.Values.Timezone, zone) {
		id.Timezone = cmp.Or(wanted.Values.Timezone, zone, id.Timezone) // the process has a zone, so the host's must be named
	}
	if !slices.Contains(wanted.Missing, "geolocation") {
		id.Geolocation = shimIdentity(wanted.Values).Geolocation
	}
	if len(wanted.Values.Languages) > 0 { // empty: the host's, which only a browser started with them knows
		id.Languages = wanted.Values.Languages
	}
	return id
}

// updateAnswer copies the changed settings and their sources into the run's answer.
func (b *startedWith) updateAnswer(answer *Started, before startedWith, settings identity.Settings) {
	if b.Identity.Timezone != before.Identity.Timezone {
		answer.Effective.Timezone, b.Settings.Timezone = b.Identity.Timezone, settings.Timezone
	}
	if !reflect.DeepEqual(b.Identity.Geolocation, before.Identity.Geolocation) {
		answer.Effective.Geolocation, b.Settings.Geolocation = positionJSON(b.Identity.Geolocation), settings.Geolocation
	}
	if !slices.Equal(b.Identity.Languages, before.Identity.Languages) {
		answer.Effective.Locale, b.Settings.Locale = b.Identity.Languages, settings.Locale
	}
}

// majorVersion returns the first number of a version; 0 if it has none.
func majorVersion(version string) (n int) {
	fmt.Sscanf(version, "%d.", &n) //nolint:errcheck // none: 0
	return n
}

// limitSettings compares the limits that a run has with those of its profile.
func limitSettings(has, wanted cgroup.Limits) []toldSetting {
	return []toldSetting{{"limits", AtOnce, has == wanted}}
}
