package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/language"

	"warren/shim"
	"warren/store"
)

// This file decides what a run's pages are told: of each setting the value, and where it came from. Nothing here guesses: what the
// exit does not tell is the machine's own.

// The sources of a setting.
const (
	fromProfile = "profile" // it is declared
	fromExit    = "exit"    // it is auto, and the proxy's last good check tells it
	fromHost    = "host"    // this machine's own
	byDefault   = "default" // the browser's own
)

// exitAccuracy is how exact a position that was looked up for an address is said to be, in metres. It is that of a city at best, and
// 25 km is the reach of one; a page that is told 50 m would believe a street.
const exitAccuracy = 25_000

// settingJSON is one setting as pages see it.
type settingJSON struct {
	Value  any    `json:"value" doc:"As start's effective shows it; null: not known before the browser runs, or the browser's own."`
	Source string `json:"source" enum:"profile,exit,host,default"`
	Detail string `json:"detail" doc:"Why, for people."`
}

// settingsJSON are all of them.
type settingsJSON struct {
	OS             settingJSON `json:"os"`
	BrowserVersion settingJSON `json:"browserVersion"`
	Timezone       settingJSON `json:"timezone"`
	Locale         settingJSON `json:"locale"`
	Geolocation    settingJSON `json:"geolocation"`
	Screen         settingJSON `json:"screen"`
	WebRTC         settingJSON `json:"webrtc"`
}

// surroundings are what a profile's settings depend on beside the profile.
type surroundings struct {
	proxied bool
	exit    *checkJSON     // the good check that says where the proxy comes out; nil: not known
	os      string         // the machine's, in a profile's words
	zone    string         // the name of the machine's time zone, "" when it has none that is known
	local   *time.Location // the machine's time zone
	major   int            // of the browser that runs; 0: none is installed
}

// here are the surroundings of this machine, without a proxy.
func here(major int) surroundings {
	return surroundings{os: hostOS(), zone: hostZone(), local: time.Local, major: major}
}

// dropUnknownZone takes a TZ away that names no time zone: libraries read it as UTC, browsers as no zone at all. What /etc/localtime says counts then, for
// this process and for what it starts.
func dropUnknownZone(log *slog.Logger) {
	name, set := os.LookupEnv("TZ")
	if !set || hostZone() != "" {
		return
	}
	os.Unsetenv("TZ") //nolint:errcheck // it is set
	log.Warn("TZ names no time zone and is ignored: give an IANA name such as Europe/Berlin", "TZ", name, "instead", hostZone())
}

// hostZone is the IANA name of this machine's time zone; "" when it cannot be told.
func hostZone() string {
	if name, ok := os.LookupEnv("TZ"); ok {
		name = cmp.Or(strings.TrimPrefix(name, ":"), "UTC")
		if !isZone(name) {
			return ""
		}
		return name
	}
	target, err := os.Readlink("/etc/localtime")
	if _, name, ok := strings.Cut(target, "zoneinfo/"); err == nil && ok && isZone(name) {
		return name
	}
	return ""
}

// isZone says whether s names a time zone, by itself.
func isZone(s string) bool { return s != "auto" && s != "system" && isTimezone(s) }

// resolution is what a profile's settings come to.
type resolution struct {
	identity shim.Identity
	settings settingsJSON
	missing  []string // the members that are auto, and of which the exit tells nothing
	followed []string // those that follow the exit
}

// resolve decides every setting. The row holds what the API has checked; what cannot be read of it is an error.
func resolve(row store.Profile, around surroundings) (resolution, error) {
	var r resolution
	r.system(row, around)
	r.timezone(row, around)
	r.settings.WebRTC = settingJSON{row.WebRTC, fromProfile, ""}
	if err := r.locale(row, around); err != nil {
		return r, err
	}
	if err := r.geolocation(row, around); err != nil {
		return r, err
	}
	return r, r.screen(row)
}

func (r *resolution) system(row store.Profile, around surroundings) {
	r.settings.OS = settingJSON{row.OS, fromProfile, "It is this machine's own: nothing of it is emulated."}
	if row.OS != around.os {
		r.identity.OS = row.OS
		r.settings.OS.Detail = "Emulated: this machine's own is " + around.os + ". See `differences`."
	}
	own := strconv.Itoa(around.major)
	switch {
	case row.BrowserVersion == "" && around.major == 0:
		r.settings.BrowserVersion = settingJSON{nil, byDefault, "That of the browser that runs; none is installed."}
	case row.BrowserVersion == "":
		r.settings.BrowserVersion = settingJSON{own, byDefault, "That of the browser that runs."}
	case row.BrowserVersion == own:
		r.settings.BrowserVersion = settingJSON{own, fromProfile, "It is that of the browser that runs: nothing of it is emulated."}
	default:
		r.identity.Version = row.BrowserVersion
		r.settings.BrowserVersion = settingJSON{row.BrowserVersion, fromProfile, "Emulated. See `differences`."}
		if around.major != 0 {
			r.settings.BrowserVersion.Detail = "Emulated: the browser that runs is of version " + own + ". See `differences`."
		}
	}
}

func (r *resolution) timezone(row store.Profile, around surroundings) {
	host := settingJSON{nilIfEmpty(around.zone), fromHost, ""}
	switch row.Timezone {
	case "system":
		host.Detail = "The profile wants this machine's."
	case "auto":
		if !around.proxied {
			host.Detail = "It is auto, and there is no proxy to follow."
			break
		}
		if zone := around.exitZone(); zone != "" {
			r.identity.Timezone = zone
			r.settings.Timezone = settingJSON{zone, fromExit, "It is auto, and " + around.told()}
			if is(around.exit.TimezoneSource, "country") {
				r.settings.Timezone.Detail += " It is the first zone of the exit's country: the check told no other."
			}
			r.followed = append(r.followed, "timezone")
			return
		}
		host.Detail = "It is auto, and the exit's is not known."
		r.missing = append(r.missing, "timezone")
	default:
		r.identity.Timezone = row.Timezone
		r.settings.Timezone = settingJSON{row.Timezone, fromProfile, ""}
		return
	}
	r.settings.Timezone = host
}

func (r *resolution) locale(row store.Profile, around surroundings) error {
	host := settingJSON{nil, fromHost, ""}
	switch row.Locale {
	case "system":
		host.Detail = "The profile wants this machine's languages, which the browser knows when it runs."
	case "auto":
		if !around.proxied {
			host.Detail = "It is auto, and there is no proxy to follow: this machine's languages, which the browser knows when it runs."
			break
		}
		if exit := around.exit; exit != nil && exit.Locale != nil {
			r.identity.Languages = languagesOf(*exit.Locale)
			r.settings.Locale = settingJSON{r.identity.Languages, fromExit, "It is auto, and " + around.told() + " These are Chrome's languages for " + *exit.Locale + "."}
			r.followed = append(r.followed, "locale")
			return nil
		}
		host.Detail = "It is auto, and the exit's country is not known: this machine's languages, which the browser knows when it runs."
		r.missing = append(r.missing, "locale")
	default:
		if err := json.Unmarshal([]byte(row.Locale), &r.identity.Languages); err != nil {
			return err
		}
		r.settings.Locale = settingJSON{r.identity.Languages, fromProfile, ""}
		return nil
	}
	r.settings.Locale = host
	return nil
}

func (r *resolution) geolocation(row store.Profile, around surroundings) error {
	asks := settingJSON{nil, byDefault, "It is auto, and there is no proxy to follow: pages ask, as Chrome does."}
	switch exit := around.exit; {
	case row.Geolocation == "off":
		r.identity.Geolocation = &shim.Position{Off: true}
		r.settings.Geolocation = settingJSON{"off", fromProfile, "Pages are denied it."}
		return nil
	case row.Geolocation != "auto":
		var p position
		if err := json.Unmarshal([]byte(row.Geolocation), &p); err != nil || p.Latitude == nil || p.Longitude == nil || p.Accuracy == nil {
			return fmt.Errorf("the stored geolocation cannot be read: %w", cmp.Or(err, errNoPosition))
		}
		r.identity.Geolocation = &shim.Position{Latitude: *p.Latitude, Longitude: *p.Longitude, Accuracy: *p.Accuracy}
		r.settings.Geolocation = settingJSON{p, fromProfile, ""}
		return nil
	case around.proxied && exit != nil && exit.Latitude != nil && exit.Longitude != nil:
		r.identity.Geolocation = &shim.Position{Latitude: *exit.Latitude, Longitude: *exit.Longitude, Accuracy: exitAccuracy}
		r.settings.Geolocation = settingJSON{position{exit.Latitude, exit.Longitude, ptr(float64(exitAccuracy))}, fromExit, "It is auto, and " + around.told()}
		r.followed = append(r.followed, "geolocation")
		return nil
	case around.proxied && exit != nil:
		asks.Detail = "It is auto, and the check told no position: pages ask, as Chrome does."
	case around.proxied:
		asks.Detail = "It is auto, and the exit is not known: pages ask, as Chrome does."
		r.missing = append(r.missing, "geolocation")
	}
	r.settings.Geolocation = asks
	return nil
}

var errNoPosition = errors.New("it is no position")

func (r *resolution) screen(row store.Profile) error {
	r.settings.Screen = settingJSON{nil, byDefault, "The display's; without windows it is 1440 x 900."}
	if row.Screen == nil {
		return nil
	}
	var v screen
	if err := json.Unmarshal([]byte(*row.Screen), &v); err != nil {
		return err
	}
	r.identity.Screen = &shim.Screen{Width: v.Width, Height: v.Height, DeviceScaleFactor: v.DeviceScaleFactor}
	r.settings.Screen = settingJSON{v, fromProfile, ""}
	return nil
}

// exitZone is the exit's time zone, if this machine knows one of that name.
func (a surroundings) exitZone() string {
	if a.exit == nil || a.exit.Timezone == nil || !isZone(*a.exit.Timezone) {
		return ""
	}
	return *a.exit.Timezone
}

// told says where the exit is known from.
func (a surroundings) told() string {
	return "the check of " + a.exit.CheckedAt.String() + " tells it."
}

func nilIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func is(p *string, s string) bool { return p != nil && *p == s }

// languagesOf is what Chrome shows as navigator.languages where its language is tag: as its translations have it (Chromium,
// components_locale_settings, IDS_ACCEPT_LANGUAGES), mostly the tag, its language, and English. Where Chrome has one translation for
// several countries, the country of the tag is kept.
func languagesOf(tag string) []string {
	t, err := language.Parse(tag)
	if err != nil {
		return []string{tag}
	}
	b, _ := t.Base()
	base, english := b.String(), []string{"en-US", "en"}
	switch base {
	case "en":
		return slices.Compact(append([]string{tag}, english...))
	case "ar", "fa", "ja": // without a country
		return append([]string{base}, english...)
	case "bg", "ca", "cs", "el", "es", "th": // without English
		return []string{tag, base}
	case "zh":
		if script, _ := t.Script(); script.String() == "Hans" {
			return []string{tag, base}
		}
	}
	return append([]string{tag, base}, english...)
}

// sameZone says whether two zones show the same time throughout the year of at. Their names do not matter: a zone has several, and Chrome
// answers with one of its own choice.
func sameZone(a, b *time.Location, at time.Time) bool {
	noon := time.Date(at.Year(), 1, 1, 12, 0, 0, 0, time.UTC)
	for range 366 {
		_, x := noon.In(a).Zone()
		if _, y := noon.In(b).Zone(); x != y {
			return false
		}
		noon = noon.AddDate(0, 0, 1)
	}
	return true
}

// differs warns when pages say another time zone or other languages than they were told.
func differs(asked shim.Identity, st *shim.State) []warningJSON {
	var members []string
	if asked.Timezone != "" && st.Timezone != "" && st.Timezone != asked.Timezone {
		want, err := time.LoadLocation(asked.Timezone)
		have, err2 := time.LoadLocation(st.Timezone)
		if err != nil || err2 != nil || !sameZone(want, have, time.Now()) {
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
	e := effectiveJSON{OS: p.row.OS, BrowserVersion: cmp.Or(id.Version, strconv.Itoa(p.installed.Major)), Timezone: cmp.Or(id.Timezone, p.around.zone),
		Locale: append([]string{}, id.Languages...), Geolocation: shownPosition(id.Geolocation), WebRTC: p.row.WebRTC}
	if s := id.Screen; s != nil {
		e.Screen = &screen{s.Width, s.Height, s.DeviceScaleFactor}
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
		v = position{&g.Latitude, &g.Longitude, &g.Accuracy}
	}
	b, err := json.Marshal(v)
	if err != nil { // numbers that came out of JSON go back into it
		return jsontext.Value("null")
	}
	return b
}
