package identity

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/language"
)

// farAway is the distance in kilometres from which a declared position contradicts the exit. Address databases often
// name another city of the same country.
const farAway = 500

// Mismatch is a contradiction between a profile's settings and its proxy's exit.
type Mismatch struct {
	Code     string `json:"code" enum:"timezone_mismatch,locale_mismatch,geolocation_mismatch,exit_unknown"`
	Location string `json:"location" doc:"The member of the profile." example:"profile.timezone"`
	Message  string `json:"message" doc:"What contradicts what, and what to do."`
}

// Mismatches compares a profile's settings with its exit. Settings that are auto follow the exit and never contradict
// it. Without a proxy there is no mismatch. An unknown exit is a mismatch if consistency is block.
func Mismatches(d Declared, env Environment) []Mismatch {
	out := []Mismatch{}
	if !env.Proxied {
		return out
	}
	if env.Exit == nil {
		if d.Consistency == "block" {
			out = append(out, exitUnknown())
		}
		return out
	}
	for _, c := range []struct{ member, says string }{
		{"timezone", zoneMismatch(d, env)}, {"locale", languageMismatch(d, env)}, {"geolocation", positionMismatch(d, env)},
	} {
		if c.says != "" {
			out = append(out, Mismatch{c.member + "_mismatch", "profile." + c.member, c.says})
		}
	}
	return out
}

func exitUnknown() Mismatch {
	return Mismatch{"exit_unknown", "profile.proxyId", "It is not known where the proxy comes out, so nothing can be compared. " +
		"Check the proxy, or set consistency to warn."}
}

// zoneMismatch compares the clocks throughout the year, because many zones show the same time.
func zoneMismatch(d Declared, env Environment) string {
	exit := env.exitZone()
	if exit == "" || d.Timezone == "auto" || env.Exit.ZoneOfCountry && hasManyTimes(env.Exit.Country) {
		return ""
	}
	theirs, err := time.LoadLocation(exit)
	if err != nil {
		return ""
	}
	ours, name := env.Local, "this machine's "+env.Zone
	if d.Timezone != "system" {
		name = d.Timezone
		if ours, err = time.LoadLocation(name); err != nil {
			return ""
		}
	}
	if ours == nil || SameZone(ours, theirs, env.Now) {
		return ""
	}
	return fmt.Sprintf("The time zone is %s, but the proxy is in %s, where clocks show another time. Choose auto or %s.",
		strings.TrimSpace(name), exit, exit)
}

// hasManyTimes reports whether a country has several times of day (tzdata 2026a, zone.tab), so that its first zone means
// little.
func hasManyTimes(country string) bool {
	return slices.Contains(strings.Fields("AQ AU BR CA CD CL CN EC ES FM GL ID KI MN MX NZ PF PG PT RU UA UM US"), country)
}

// languageMismatch compares the region of the first language with the exit's country. A language without a region fits
// where it is spoken.
func languageMismatch(d Declared, env Environment) string {
	var tags []string
	country := env.Exit.Country
	if country == "" || json.Unmarshal([]byte(d.Locale), &tags) != nil || len(tags) == 0 {
		return ""
	}
	tag, err := language.Parse(tags[0])
	if err != nil {
		return ""
	}
	region, confidence := tag.Region()
	switch {
	case confidence == language.Exact && (!region.IsCountry() || region.Canonicalize().String() == country): // 419 is no country
		return ""
	case confidence != language.Exact && isSpoken(tag, country):
		return ""
	}
	return fmt.Sprintf("The first language is %s, but the proxy is in %s. Choose auto, or a language of that country.", tags[0], country)
}

// isSpoken reports whether a language without a region fits a country. It does if it is the country's likely language,
// or if CLDR has a locale of the two, such as fr-CH or en-DE.
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

func positionMismatch(d Declared, env Environment) string {
	exit := env.Exit
	p, err := readPosition(d.Geolocation)
	if !exit.hasPosition() || err != nil {
		return ""
	}
	km := distance(p.Latitude, p.Longitude, *exit.Latitude, *exit.Longitude)
	if km <= farAway {
		return ""
	}
	return fmt.Sprintf("The location is %d km from the proxy. Choose auto, or a place within %d km.",
		int(math.Round(km)), farAway)
}

// distance returns the great-circle distance of two positions in kilometres (haversine; a sphere of radius 6371 km).
// Arguments are degrees.
func distance(lat1, lon1, lat2, lon2 float64) float64 {
	rad := func(degrees float64) float64 { return degrees * math.Pi / 180 }
	a, b := math.Sin(rad(lat2-lat1)/2), math.Sin(rad(lon2-lon1)/2)
	return 2 * 6371 * math.Asin(math.Sqrt(min(1, a*a+math.Cos(rad(lat1))*math.Cos(rad(lat2))*b*b)))
}
