package main

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"

	"warren/identity"
	"warren/shim"
	"warren/store"
)

// What a run was started with, and which changes of its profile wait for the next start.

// runRecord is what the database keeps of a run that goes on: the start's answer, without its capability, and what the run was
// started with.
type runRecord struct {
	*startJSON
	Began *startedWith `json:"began,omitempty"`
}

// startedWith is what a run was started with. What is applied since is written into it.
type startedWith struct {
	Members  map[string]string `json:"members"` // of the profile, as they were; those that identity does not have
	Identity shim.Identity     `json:"identity"`
	Settings identity.Settings `json:"settings"`
}

func (p *plan) startedWith() *startedWith {
	return &startedWith{fixedMembers(p.row), p.spec.Identity, p.resolved.Settings}
}

// fixedMembers are the settings that a browser has from its start to its end, beside what its pages are told.
func fixedMembers(row store.Profile) map[string]string {
	text := func(v any) string {
		b, _ := json.Marshal(v) //nolint:errcheck // numbers and booleans
		return string(b)
	}
	return map[string]string{"webrtc": row.WebRTC, "headless": text(row.Headless), "startUrls": row.StartURLs, "allowLocal": row.AllowLocal, "localhostVia": row.LocalhostVia,
		"backgroundTraffic": row.BackgroundTraffic, "idleTimeoutMs": text(row.IdleTimeoutMs), "maxRunMs": text(row.MaxRunMs)}
}

// pending names, in order, the members of the profile as it is now that wait for the next start. wanted is what it comes to now, zone
// this machine's time zone.
func (b *startedWith) pending(row store.Profile, wanted shim.Identity, zone string) []string {
	out := []string{}
	for name, value := range fixedMembers(row) {
		was, known := b.Members[name]
		if !known && name == "localhostVia" { // the run is from before there was one
			was = "[]"
		}
		if was != value {
			out = append(out, name)
		}
	}
	has := b.Identity
	for name, same := range map[string]bool{"os": has.OS == wanted.OS, "browserVersion": has.Version == wanted.Version,
		"timezone": cmp.Or(has.Timezone, zone) == cmp.Or(wanted.Timezone, zone), "locale": slices.Equal(has.Languages, wanted.Languages),
		"geolocation": reflect.DeepEqual(has.Geolocation, wanted.Geolocation), "screen": reflect.DeepEqual(has.Screen, wanted.Screen)} {
		if !same {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// next is what the pages of a run are to be told now. What cannot be changed while it runs stays, and so does what has to follow an exit
// that is not known: this machine's own is not shown in the middle of a run.
func (b *startedWith) next(wanted identity.Resolution, zone string) shim.Identity {
	id := b.Identity
	if !slices.Contains(wanted.Missing, "timezone") && cmp.Or(id.Timezone, zone) != cmp.Or(wanted.Values.Timezone, zone) {
		id.Timezone = cmp.Or(wanted.Values.Timezone, zone, id.Timezone) // the process was started with one: this machine's has to be named
	}
	if !slices.Contains(wanted.Missing, "geolocation") {
		id.Geolocation = told(wanted.Values).Geolocation
	}
	if len(wanted.Values.Languages) > 0 { // this machine's are known to a browser that was started with them, and to no other
		id.Languages = wanted.Values.Languages
	}
	return id
}

// show writes what has changed into the run's answer, and where it came from.
func (b *startedWith) show(answer *startJSON, before startedWith, settings identity.Settings) {
	if b.Identity.Timezone != before.Identity.Timezone {
		answer.Effective.Timezone, b.Settings.Timezone = b.Identity.Timezone, settings.Timezone
	}
	if !reflect.DeepEqual(b.Identity.Geolocation, before.Identity.Geolocation) {
		answer.Effective.Geolocation, b.Settings.Geolocation = shownPosition(b.Identity.Geolocation), settings.Geolocation
	}
	if !slices.Equal(b.Identity.Languages, before.Identity.Languages) {
		answer.Effective.Locale, b.Settings.Locale = b.Identity.Languages, settings.Locale
	}
}

// majorOf is the first number of a version.
func majorOf(version string) (n int) {
	fmt.Sscanf(version, "%d.", &n) //nolint:errcheck // none: 0
	return n
}
