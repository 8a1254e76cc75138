package runs

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/identity"
	"warren/pool"
	"warren/problem"
	"warren/shim"
	"warren/store"
)

// Converts between profiles and checks, package identity and the shim. Describes the host: its system and its time zone.
// Explains what a profile's pages see: the source of each setting, its mismatches, and what pages can detect.

// declared returns the settings of a profile that concern its identity.
func declared(row store.Profile) identity.Declared {
	return identity.Declared{OS: row.OS, BrowserVersion: row.BrowserVersion, Timezone: row.Timezone, Locale: row.Locale,
		Geolocation: row.Geolocation, Screen: orEmpty(row.Screen), WebRTC: row.WebRTC, Consistency: row.Consistency,
		Sources: identity.ReadSources(row.Sources)}
}

// exitFrom converts a good check; nil: not known.
func exitFrom(c *pool.Check) *identity.Exit {
	if c == nil {
		return nil
	}
	return &identity.Exit{Country: orEmpty(c.Country), Timezone: orEmpty(c.Timezone),
		ZoneOfCountry: orEmpty(c.TimezoneSource) == "country", Locale: orEmpty(c.Locale),
		Latitude: c.Latitude, Longitude: c.Longitude, CheckedAt: c.CheckedAt}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// shimIdentity converts resolved values into what the run's process gets.
func shimIdentity(v identity.Values) shim.Identity {
	return shim.Identity{OS: v.OS, Version: v.Version, Timezone: v.Timezone, Languages: v.Languages,
		Geolocation: (*shim.Position)(v.Position), Screen: (*shim.Screen)(v.Screen)}
}

// identityValues converts back, as far as Detectable needs it.
func identityValues(id shim.Identity) identity.Values {
	return identity.Values{OS: id.OS, Version: id.Version, Languages: id.Languages, Screen: (*identity.Screen)(id.Screen)}
}

// identityWarnings warns if pages show another time zone or other languages than requested.
func identityWarnings(requested shim.Identity, st *shim.State) []Warning {
	var members []string
	if requested.Timezone != "" && st.Timezone != "" && st.Timezone != requested.Timezone {
		want, err := time.LoadLocation(requested.Timezone)
		have, err2 := time.LoadLocation(st.Timezone)
		if err != nil || err2 != nil || !identity.SameZone(want, have, time.Now()) {
			members = append(members, fmt.Sprintf("timezone (%s, requested was %s)", st.Timezone, requested.Timezone))
		}
	}
	if requested.Languages != nil && len(st.Languages) > 0 && !slices.Equal(st.Languages, requested.Languages) {
		members = append(members, fmt.Sprintf("locale (%s, requested was %s)", strings.Join(st.Languages, ","),
			strings.Join(requested.Languages, ",")))
	}
	if members == nil {
		return nil
	}
	return []Warning{{"identity_differs", "Pages show another " + strings.Join(members, " and ") + "."}}
}

// effective returns what pages see. Before the browser runs (st is nil), values that only the browser knows are left
// out.
func (p *plan) effective(st *shim.State) Effective {
	id := p.spec.Identity
	e := Effective{OS: p.row.OS, BrowserVersion: cmp.Or(id.Version, strconv.Itoa(p.installed.Major)),
		Timezone: cmp.Or(id.Timezone, p.env.Zone), Locale: append([]string{}, id.Languages...),
		Geolocation: positionJSON(id.Geolocation), Screen: (*identity.Screen)(id.Screen), WebRTC: p.row.WebRTC}
	if st == nil {
		return e
	}
	if id.Version == "" {
		e.BrowserVersion = strconv.Itoa(st.Browser.Major)
	}
	e.UserAgent, e.Timezone = st.UserAgent, cmp.Or(st.Timezone, e.Timezone)
	if len(st.Languages) > 0 {
		e.Locale = st.Languages
	}
	return e
}

// positionJSON returns a position as in the start's answer: an object, "off" or null.
func positionJSON(g *shim.Position) jsontext.Value {
	var v any
	switch {
	case g != nil && g.Off:
		v = "off"
	case g != nil:
		v = identity.Position(*g)
	}
	b, err := json.Marshal(v)
	if err != nil { // these numbers were parsed from JSON, so they always marshal
		return jsontext.Value("null")
	}
	return b
}

// mismatchWarnings returns the mismatches of a start that continues despite them.
func mismatchWarnings(row store.Profile, env identity.Environment) []Warning {
	if row.Consistency != "warn" {
		return nil
	}
	var out []Warning
	for _, f := range identity.Mismatches(declared(row), env) {
		out = append(out, Warning{"identity_mismatch", strings.TrimPrefix(f.Location, "profile.") + " " + f.Message})
	}
	return out
}

// emulationWarnings warns if system or version are emulated, and names what makes that detectable.
func (p *plan) emulationWarnings() []Warning {
	id, codes := p.spec.Identity, []string{}
	if id.OS == "" && id.Version == "" {
		return nil
	}
	for _, d := range identity.Detectable(identity.Values{OS: id.OS, Version: id.Version}, p.installed.Major) {
		if d.Code != "webdriver" { // every run has it
			codes = append(codes, d.Code)
		}
	}
	return []Warning{{"emulated", fmt.Sprintf("What runs is %s %d on %s; system and version are emulated as declared. A page "+
		"can still detect that by: %s. GET /api/v1/profiles/%s/explain explains each.",
		p.installed.Product, p.installed.Major, identity.HostSystem(), strings.Join(codes, ", "), p.row.ID)}}
}

// localEnvironment returns this machine's environment without a proxy. browser is the major version that runs; 0: none.
func localEnvironment(browser int) identity.Environment {
	return identity.Environment{OS: identity.HostSystem(), Zone: HostZone(), Local: time.Local, Browser: browser, Now: time.Now()}
}

// DropUnknownZone unsets a TZ that names no time zone. Libraries read such a name as UTC, and browsers as no zone at
// all. /etc/localtime then applies to this process and its children.
func DropUnknownZone(log *slog.Logger) {
	name, set := os.LookupEnv("TZ")
	if !set || HostZone() != "" {
		return
	}
	os.Unsetenv("TZ") //nolint:errcheck // it is set
	log.Warn("TZ names no time zone and is ignored: give an IANA name such as Europe/Berlin", "TZ", name, "instead", HostZone())
}

// HostZone returns the IANA name of this machine's time zone; "" if it is unknown.
func HostZone() string {
	if name, ok := os.LookupEnv("TZ"); ok {
		name = cmp.Or(strings.TrimPrefix(name, ":"), "UTC")
		if !identity.IsZone(name) {
			return ""
		}
		return name
	}
	target, err := os.Readlink("/etc/localtime")
	if _, name, ok := strings.Cut(target, "zoneinfo/"); err == nil && ok && identity.IsZone(name) {
		return name
	}
	return ""
}

func hostRules(row store.Profile) shim.Rules {
	return shim.Rules{Allow: StringsOf(row.AllowHosts), Deny: StringsOf(row.DenyHosts), Log: row.LogHosts}
}

// Explanation is the explanation of one profile.
type Explanation struct {
	ID          string                `json:"id" doc:"The profile's id."`
	Status      string                `json:"status" enum:"stopped,starting,running,stopping,failed"`
	Effective   identity.Settings     `json:"effective" doc:"Of a running profile what its pages see, else what they would see."`
	Browser     *UsedBrowser          `json:"browser" doc:"What runs, or would run; null: none is installed."`
	Exit        *Egress               `json:"exit" doc:"Where the proxy came out at its last good check; null: no proxy. What is not known is null."`
	Consistency string                `json:"consistency" enum:"off,warn,block"`
	Findings    []identity.Mismatch   `json:"findings" doc:"What contradicts the exit. A start of now would meet it."`
	Differences []identity.Difference `json:"differences" doc:"What a page can tell apart all the same."`
	TemplateID  *string               `json:"templateId" doc:"The template that the profile was created with; it may have changed since, or be deleted."`
	Sources     identity.Sources      `json:"sources" doc:"Where the profile has each setting from: profile (a request set it), template or workspace (it got the value at its creation, or when a request set the setting to null), or default (the server's). Of pending members: what the next start has."`
	Pending     []string              `json:"pending" doc:"Members of the profile that were changed since and wait for the next start. Empty when it does not run."`
}

// Explain describes what the profile's pages see, or would see.
func (m *Manager) Explain(ctx context.Context, sees store.Scope, row store.Profile) (*Explanation, error) {
	out := Explanation{ID: row.ID, Consistency: row.Consistency, Pending: []string{}}
	var run *Info
	out.Status, run = m.Status(row.ID, m.StatusElse(row))
	env, err := m.explainBrowser(ctx, row, &out)
	if err != nil {
		return nil, err
	}
	proxyID := row.ProxyID
	if run != nil {
		if proxyID = nil; run.Proxy != nil {
			proxyID = &run.Proxy.ID
		}
	}
	if proxyID != nil {
		if err := m.explainExit(ctx, sees, *proxyID, &env, &out); err != nil {
			return nil, err
		}
	}
	resolved, err := identity.Resolve(declared(row), env)
	if err != nil {
		return nil, err
	}
	values := shimIdentity(resolved.Values)
	out.Effective, out.Findings = resolved.Settings, identity.Mismatches(declared(row), env)
	if r := m.runOf(row.ID); r != nil && run != nil {
		r.mu.Lock()
		if began := r.startedWith; began != nil {
			values, out.Effective = began.Identity, began.Settings
		}
		r.mu.Unlock()
		showEffective(&out.Effective, run.Effective)
		out.Browser, out.Pending, env.Browser = &run.Browser, run.Pending, majorVersion(run.Browser.Version)
	}
	out.Differences = identity.Detectable(identityValues(values), env.Browser)
	return &out, nil
}

// explainBrowser finds the browser that would run.
func (m *Manager) explainBrowser(ctx context.Context, row store.Profile, out *Explanation) (identity.Environment, error) {
	p := &plan{row: row}
	b, err := m.chooseBrowser(ctx, p, true)
	if ctx.Err() != nil {
		return identity.Environment{}, ctx.Err()
	}
	if err != nil { // without a browser the rest is still explained
		return localEnvironment(0), nil
	}
	out.Browser = &UsedBrowser{Product: b.Product, Version: b.Version, Path: b.Path, Match: p.match}
	return localEnvironment(b.Major), nil
}

// explainExit finds the last known exit of a proxy.
func (m *Manager) explainExit(ctx context.Context, sees store.Scope, proxyID string, env *identity.Environment, out *Explanation) error {
	px, err := m.pool.Get(ctx, sees, proxyID)
	if problem.Is(err, problem.NotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	check, err := m.pool.LastGood(ctx, px)
	if err != nil {
		return err
	}
	env.Proxied, env.Exit = true, exitFrom(check)
	out.Exit = &Egress{ID: px.ID, Type: px.Type}
	if check != nil {
		out.Exit.setCheck(check)
	}
	return nil
}

// showEffective copies what pages really see into the settings.
func showEffective(s *identity.Settings, e Effective) {
	s.OS.Value, s.BrowserVersion.Value, s.Timezone.Value, s.Locale.Value = e.OS, e.BrowserVersion, e.Timezone, e.Locale
	s.Geolocation.Value, s.WebRTC.Value, s.Screen.Value = nil, e.WebRTC, nil
	json.Unmarshal(e.Geolocation, &s.Geolocation.Value) //nolint:errcheck // null where it cannot be read
	if s.Timezone.Value == "" {
		s.Timezone.Value = nil
	}
	if e.Screen != nil {
		s.Screen.Value = e.Screen
	}
}
