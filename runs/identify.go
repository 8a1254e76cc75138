package runs

import (
	"cmp"
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
	"warren/shim"
	"warren/store"
)

// Converts between profiles and checks, package identity and the shim. Describes the host: its system and its time zone.

// declared returns the settings of a profile that concern its identity.
func declared(row store.Profile) identity.Declared {
	return identity.Declared{OS: row.OS, BrowserVersion: row.BrowserVersion, Timezone: row.Timezone, Locale: row.Locale,
		Geolocation: row.Geolocation, Screen: orEmpty(row.Screen), WebRTC: row.WebRTC, Consistency: row.Consistency}
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
