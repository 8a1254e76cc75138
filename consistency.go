package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/language"

	"warren/problem"
	"warren/store"
)

// This file looks for contradictions between what a profile declares and where its proxy comes out. It compares with the proxy's check
// alone, and where that does not tell, there is no finding.

// farAway is from where on a declared position contradicts the exit's, in kilometres. What is looked up for an address is often
// another city of the same country; less would find faults where there are none.
const farAway = 500

// findingJSON is one contradiction.
type findingJSON struct {
	Code     string `json:"code" enum:"timezone_mismatch,locale_mismatch,geolocation_mismatch,exit_unknown"`
	Location string `json:"location" doc:"The member of the profile." example:"profile.timezone"`
	Message  string `json:"message" doc:"What contradicts what, and what to do."`
}

// contradictions finds where a profile and its exit disagree. Without a proxy there is nothing to disagree with. Members that are auto
// follow the exit, and so never contradict it. An unknown exit is no contradiction: exitUnknown says what it is.
func contradictions(row store.Profile, around surroundings) []findingJSON {
	out := []findingJSON{}
	if !around.proxied || around.exit == nil {
		return out
	}
	for _, c := range []struct {
		member string
		says   string
	}{{"timezone", zoneContradicts(row, around)}, {"locale", languageContradicts(row, around)}, {"geolocation", positionContradicts(row, around)}} {
		if c.says != "" {
			out = append(out, findingJSON{c.member + "_mismatch", "profile." + c.member, c.says})
		}
	}
	return out
}

// exitUnknown is the finding that nothing can be compared.
func exitUnknown() findingJSON {
	return findingJSON{"exit_unknown", "profile.proxyId", "has an exit that is not known, so that nothing can be compared with it. Check the proxy (POST /proxies/:id/check), or set consistency to warn."}
}

// findings are the contradictions that a start meets: with block an unknown exit is one.
func findings(row store.Profile, around surroundings) []findingJSON {
	if around.proxied && around.exit == nil && row.Consistency == "block" {
		return []findingJSON{exitUnknown()}
	}
	return contradictions(row, around)
}

// zoneContradicts compares what clocks show throughout the year, since a zone has several names, and many zones show the same.
func zoneContradicts(row store.Profile, around surroundings) string {
	exit := around.exitZone()
	if exit == "" || row.Timezone == "auto" || is(around.exit.TimezoneSource, "country") && hasManyTimes(*around.exit.Country) {
		return ""
	}
	theirs, err := time.LoadLocation(exit)
	if err != nil {
		return ""
	}
	ours, name := around.local, "this machine's "+around.zone
	if row.Timezone != "system" {
		name = row.Timezone
		if ours, err = time.LoadLocation(name); err != nil {
			return ""
		}
	}
	if ours == nil || sameZone(ours, theirs, time.Now()) {
		return ""
	}
	return fmt.Sprintf("is %s, and the proxy comes out in %s, where clocks show another time. Set it to auto or to %s.", strings.TrimSpace(name), exit, exit)
}

// hasManyTimes says whether clocks of one country show different times (tzdata 2026a, zone.tab): the country's first zone says
// little then.
func hasManyTimes(country string) bool {
	return slices.Contains(strings.Fields("AQ AU BR CA CD CL CN EC ES FM GL ID KI MN MX NZ PF PG PT RU UA UM US"), country)
}

// languageContradicts compares the region of the first language with the exit's country. A language without one fits where it is
// spoken: it is the country's likely one, or CLDR has a locale of it for the country (as it has fr-CH, and en-DE).
func languageContradicts(row store.Profile, around surroundings) string {
	var tags []string
	if around.exit.Country == nil || json.Unmarshal([]byte(row.Locale), &tags) != nil || len(tags) == 0 {
		return ""
	}
	country, first := *around.exit.Country, tags[0]
	tag, err := language.Parse(first)
	if err != nil {
		return ""
	}
	contradiction := fmt.Sprintf("begins with %s, and the proxy comes out in %s. Set it to auto, or to languages of that country.", first, country)
	region, confidence := tag.Region()
	if confidence == language.Exact {
		if !region.IsCountry() || region.Canonicalize().String() == country { // 419 is no country
			return ""
		}
		return contradiction
	}
	if isSpoken(tag, country) {
		return ""
	}
	return contradiction
}

func isSpoken(tag language.Tag, country string) bool {
	region, err := language.ParseRegion(country)
	if err != nil {
		return true
	}
	base, _ := tag.Base()
	if likely, err := language.Compose(region); err == nil {
		if b, _ := likely.Base(); b == base {
			return true
		}
	}
	there, err := language.Compose(base, region)
	if err != nil {
		return true
	}
	_, known := language.CompactIndex(there)
	return known
}

func positionContradicts(row store.Profile, around surroundings) string {
	var p position
	exit := around.exit
	if exit.Latitude == nil || exit.Longitude == nil || json.Unmarshal([]byte(row.Geolocation), &p) != nil || p.Latitude == nil || p.Longitude == nil {
		return ""
	}
	km := distance(*p.Latitude, *p.Longitude, *exit.Latitude, *exit.Longitude)
	if km <= farAway {
		return ""
	}
	return fmt.Sprintf("is %d km from where the proxy is said to come out. Set it to auto, or to a place within %d km.", int(math.Round(km)), farAway)
}

// distance is the length of the great circle between two positions, in kilometres (haversine; the earth as a sphere of 6371 km).
func distance(lat1, lon1, lat2, lon2 float64) float64 {
	rad := func(degrees float64) float64 { return degrees * math.Pi / 180 }
	a, b := math.Sin(rad(lat2-lat1)/2), math.Sin(rad(lon2-lon1)/2)
	return 2 * 6371 * math.Asin(math.Sqrt(min(1, a*a+math.Cos(rad(lat1))*math.Cos(rad(lat2))*b*b)))
}

// identityMismatch refuses a start whose profile contradicts its exit.
func identityMismatch(found []findingJSON) *problem.Error {
	p := problem.New(problem.Invalid, "identity_mismatch", "The browser was not started, because the profile's consistency is block and what it declares does not fit where its proxy comes out. `errors` names each contradiction and what to do.")
	for _, f := range found {
		p.Faults = append(p.Faults, problem.Fault{Location: f.Location, Message: f.Message})
	}
	return p
}

// mismatchWarnings are the findings of a start that goes on all the same.
func mismatchWarnings(row store.Profile, around surroundings) []warningJSON {
	if row.Consistency != "warn" {
		return nil
	}
	var out []warningJSON
	for _, f := range contradictions(row, around) {
		out = append(out, warningJSON{"identity_mismatch", strings.TrimPrefix(f.Location, "profile.") + " " + f.Message})
	}
	return out
}
