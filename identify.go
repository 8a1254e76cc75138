package main

import (
	"cmp"
	"fmt"
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

// This file puts profiles and checks into the words of package identity, and its answers into those of a run.

// declared are the settings of a profile that concern its identity.
func declared(row store.Profile) identity.Declared {
	d := identity.Declared{OS: row.OS, BrowserVersion: row.BrowserVersion, Timezone: row.Timezone, Locale: row.Locale, Geolocation: row.Geolocation,
		WebRTC: row.WebRTC, Consistency: row.Consistency}
	if row.Screen != nil {
		d.Screen = *row.Screen
	}
	return d
}

// exitFrom is where a proxy comes out by a good check; nil is not known.
func exitFrom(c *pool.Check) *identity.Exit {
	if c == nil {
		return nil
	}
	return &identity.Exit{Country: orEmpty(c.Country), Timezone: orEmpty(c.Timezone), ZoneOfCountry: orEmpty(c.TimezoneSource) == "country", Locale: orEmpty(c.Locale),
		Latitude: c.Latitude, Longitude: c.Longitude, CheckedAt: c.CheckedAt}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// told is what a browser is told, in the words of its process.
func told(v identity.Values) shim.Identity {
	id := shim.Identity{OS: v.OS, Version: v.Version, Timezone: v.Timezone, Languages: v.Languages}
	if p := v.Position; p != nil {
		id.Geolocation = &shim.Position{Off: p.Off, Latitude: p.Latitude, Longitude: p.Longitude, Accuracy: p.Accuracy}
	}
	if s := v.Screen; s != nil {
		id.Screen = &shim.Screen{Width: s.Width, Height: s.Height, DeviceScaleFactor: s.DeviceScaleFactor}
	}
	return id
}

// untold is the converse of told, of what makes a difference to be detected.
func untold(id shim.Identity) identity.Values {
	v := identity.Values{OS: id.OS, Version: id.Version, Languages: id.Languages}
	if id.Screen != nil {
		v.Screen = new(identity.Screen)
	}
	return v
}

// differs warns when pages say another time zone or other languages than they were told.
func differs(asked shim.Identity, st *shim.State) []warningJSON {
	var members []string
	if asked.Timezone != "" && st.Timezone != "" && st.Timezone != asked.Timezone {
		want, err := time.LoadLocation(asked.Timezone)
		have, err2 := time.LoadLocation(st.Timezone)
		if err != nil || err2 != nil || !identity.SameZone(want, have, time.Now()) {
			members = append(members, fmt.Sprintf("timezone (%s, asked for was %s)", st.Timezone, asked.Timezone))
		}
	}
	if asked.Languages != nil && len(st.Languages) > 0 && !slices.Equal(st.Languages, asked.Languages) {
		members = append(members, fmt.Sprintf("locale (%s, asked for was %s)", strings.Join(st.Languages, ","), strings.Join(asked.Languages, ",")))
	}
	if members == nil {
		return nil
	}
	return []warningJSON{{"identity_differs", "Pages say another " + strings.Join(members, " and ") + "."}}
}

// effective is what the browser shows. Before it runs (st is nil) what only it knows is left out.
func (p *plan) effective(st *shim.State) effectiveJSON {
	id := p.spec.Identity
	e := effectiveJSON{OS: p.row.OS, BrowserVersion: cmp.Or(id.Version, strconv.Itoa(p.installed.Major)), Timezone: cmp.Or(id.Timezone, p.env.Zone),
		Locale: append([]string{}, id.Languages...), Geolocation: shownPosition(id.Geolocation), WebRTC: p.row.WebRTC}
	if s := id.Screen; s != nil {
		e.Screen = &identity.Screen{Width: s.Width, Height: s.Height, DeviceScaleFactor: s.DeviceScaleFactor}
	}
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

// shownPosition is a position as start's answer has it: an object, "off" or null.
func shownPosition(g *shim.Position) jsontext.Value {
	var v any
	switch {
	case g != nil && g.Off:
		v = "off"
	case g != nil:
		v = identity.Position{Latitude: g.Latitude, Longitude: g.Longitude, Accuracy: g.Accuracy}
	}
	b, err := json.Marshal(v)
	if err != nil { // numbers that came out of JSON go back into it
		return jsontext.Value("null")
	}
	return b
}

// identityMismatch refuses a start whose profile contradicts its exit.
func identityMismatch(found []identity.Mismatch) *problem.Error {
	p := problem.New(problem.Invalid, "identity_mismatch", "The browser was not started, because the profile's consistency is block and what it declares does not fit where its proxy comes out. `errors` names each contradiction and what to do.")
	for _, f := range found {
		p.Faults = append(p.Faults, problem.Fault{Location: f.Location, Message: f.Message})
	}
	return p
}

// mismatchWarnings are the findings of a start that goes on all the same.
func mismatchWarnings(row store.Profile, env identity.Environment) []warningJSON {
	if row.Consistency != "warn" {
		return nil
	}
	var out []warningJSON
	for _, f := range identity.Mismatches(declared(row), env) {
		out = append(out, warningJSON{"identity_mismatch", strings.TrimPrefix(f.Location, "profile.") + " " + f.Message})
	}
	return out
}

// emulated warns of a system or version that the browser is not of, and names what pages can tell that by.
func (p *plan) emulated() []warningJSON {
	id, codes := p.spec.Identity, []string{}
	if id.OS == "" && id.Version == "" {
		return nil
	}
	for _, d := range identity.Detectable(identity.Values{OS: id.OS, Version: id.Version}, p.installed.Major) {
		if d.Code != "webdriver" { // every run has it
			codes = append(codes, d.Code)
		}
	}
	return []warningJSON{{"emulated", fmt.Sprintf("What runs is %s %d on %s; system and version are emulated as declared. A page can tell all the same by: %s. GET /api/v1/profiles/%s/explain says more of each.",
		p.installed.Product, p.installed.Major, identity.HostSystem(), strings.Join(codes, ", "), p.row.ID)}}
}
