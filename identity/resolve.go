package identity

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/text/language"
)

// exitAccuracy is the accuracy, in metres, of a position from an address database. Such a position names a city at best.
// With 50 m a page would take it for a street.
const exitAccuracy = 25_000

// Resolve resolves every setting. A declared value that cannot be read is an error.
func Resolve(d Declared, env Environment) (Resolution, error) {
	var r Resolution
	r.system(d, env)
	r.timezone(d, env)
	r.Settings.WebRTC = Setting{d.WebRTC, FromProfile, ""}
	if err := r.locale(d, env); err != nil {
		return r, err
	}
	if err := r.geolocation(d, env); err != nil {
		return r, err
	}
	if err := r.screen(d); err != nil {
		return r, err
	}
	r.attribute(d.Sources)
	return r, nil
}

func (r *Resolution) system(d Declared, env Environment) {
	r.Settings.OS = Setting{d.OS, FromProfile, "It is this machine's own: nothing of it is emulated."}
	if d.OS != env.OS {
		r.Values.OS = d.OS
		r.Settings.OS.Detail = "Emulated: this machine's own is " + env.OS + ". See `differences`."
	}
	own := strconv.Itoa(env.Browser)
	switch {
	case d.BrowserVersion == "" && env.Browser == 0:
		r.Settings.BrowserVersion = Setting{nil, ByDefault, "That of the browser that runs; none is installed."}
	case d.BrowserVersion == "":
		r.Settings.BrowserVersion = Setting{own, ByDefault, "That of the browser that runs."}
	case d.BrowserVersion == own:
		r.Settings.BrowserVersion = Setting{own, FromProfile, "It is that of the browser that runs: nothing of it is emulated."}
	default:
		r.Values.Version = d.BrowserVersion
		r.Settings.BrowserVersion = Setting{d.BrowserVersion, FromProfile, "Emulated. See `differences`."}
		if env.Browser != 0 {
			r.Settings.BrowserVersion.Detail = "Emulated: the browser that runs is of version " + own + ". See `differences`."
		}
	}
}

func (r *Resolution) timezone(d Declared, env Environment) {
	s, zone := Setting{nil, FromHost, ""}, env.exitZone()
	if env.Zone != "" {
		s.Value = env.Zone
	}
	switch {
	case d.Timezone == "system":
		s.Detail = "The profile wants this machine's."
	case d.Timezone != "auto":
		r.Values.Timezone, s = d.Timezone, Setting{d.Timezone, FromProfile, ""}
	case !env.Proxied:
		s.Detail = "It is auto, and there is no proxy to follow."
	case zone == "":
		s.Detail = "It is auto, and the exit's is not known."
		r.Missing = append(r.Missing, "timezone")
	default:
		r.Values.Timezone, s = zone, Setting{zone, FromExit, "It is auto, and " + env.Exit.checkDetail()}
		if env.Exit.ZoneOfCountry {
			s.Detail += " It is the first zone of the exit's country: the check told no other."
		}
		r.Followed = append(r.Followed, "timezone")
	}
	r.Settings.Timezone = s
}

func (r *Resolution) locale(d Declared, env Environment) error {
	s := Setting{nil, FromHost, ""}
	switch exit := env.Exit; {
	case d.Locale == "system":
		s.Detail = "The profile wants this machine's languages, which the browser knows when it runs."
	case d.Locale != "auto":
		if err := json.Unmarshal([]byte(d.Locale), &r.Values.Languages); err != nil {
			return err
		}
		s = Setting{r.Values.Languages, FromProfile, ""}
	case !env.Proxied:
		s.Detail = "It is auto, and there is no proxy to follow: this machine's languages, which the browser knows when it runs."
	case exit == nil || exit.Locale == "":
		s.Detail = "It is auto, and the exit's country is not known: this machine's languages, which the browser knows when it runs."
		r.Missing = append(r.Missing, "locale")
	default:
		r.Values.Languages = Languages(exit.Locale)
		s = Setting{r.Values.Languages, FromExit,
			"It is auto, and " + exit.checkDetail() + " These are Chrome's languages for " + exit.Locale + "."}
		r.Followed = append(r.Followed, "locale")
	}
	r.Settings.Locale = s
	return nil
}

func (r *Resolution) geolocation(d Declared, env Environment) error {
	s := Setting{nil, ByDefault, "It is auto, and there is no proxy to follow: pages ask, as Chrome does."}
	switch exit := env.Exit; {
	case d.Geolocation == "off":
		r.Values.Position, s = &Position{Off: true}, Setting{"off", FromProfile, "Pages are denied it."}
	case d.Geolocation != "auto":
		p, err := readPosition(d.Geolocation)
		if err != nil {
			return fmt.Errorf("the stored geolocation cannot be read: %w", err)
		}
		r.Values.Position, s = p, Setting{*p, FromProfile, ""}
	case env.Proxied && exit.hasPosition():
		p := Position{Latitude: *exit.Latitude, Longitude: *exit.Longitude, Accuracy: exitAccuracy}
		r.Values.Position, s = &p, Setting{p, FromExit, "It is auto, and " + exit.checkDetail()}
		r.Followed = append(r.Followed, "geolocation")
	case env.Proxied && exit != nil:
		s.Detail = "It is auto, and the check told no position: pages ask, as Chrome does."
	case env.Proxied:
		s.Detail = "It is auto, and the exit is not known: pages ask, as Chrome does."
		r.Missing = append(r.Missing, "geolocation")
	}
	r.Settings.Geolocation = s
	return nil
}

var errNoPosition = errors.New("it is no position")

// readPosition reads a declared position. All three members are required.
func readPosition(text string) (*Position, error) {
	var p struct {
		Latitude  *float64 `json:"latitude"`
		Longitude *float64 `json:"longitude"`
		Accuracy  *float64 `json:"accuracy"`
	}
	err := json.Unmarshal([]byte(text), &p)
	if err != nil || p.Latitude == nil || p.Longitude == nil || p.Accuracy == nil {
		return nil, cmp.Or(err, errNoPosition)
	}
	return &Position{Latitude: *p.Latitude, Longitude: *p.Longitude, Accuracy: *p.Accuracy}, nil
}

func (r *Resolution) screen(d Declared) error {
	r.Settings.Screen = Setting{nil, ByDefault, "The display's; without windows it is 1440 x 900."}
	if d.Screen == "" {
		return nil
	}
	var v Screen
	if err := json.Unmarshal([]byte(d.Screen), &v); err != nil {
		return err
	}
	r.Values.Screen = &v
	r.Settings.Screen = Setting{v, FromProfile, ""}
	return nil
}

// exitZone returns the exit's time zone; "" if this machine does not know it.
func (env Environment) exitZone() string {
	if env.Exit == nil || !IsZone(env.Exit.Timezone) {
		return ""
	}
	return env.Exit.Timezone
}

// checkDetail describes the check that found the exit.
func (x *Exit) checkDetail() string {
	return "the check of " + x.CheckedAt.UTC().Format("2006-01-02T15:04:05.000Z") + " tells it."
}

func (x *Exit) hasPosition() bool { return x != nil && x.Latitude != nil && x.Longitude != nil }

// IsZone reports whether name is a time zone of the IANA database (RFC 6557) that this program knows.
func IsZone(name string) bool {
	// A machine's zone folder also has names that are not IANA's.
	switch name {
	case "", "auto", "system", "Local", "Factory", "posixrules", "localtime":
		return false
	}
	if len(name) > 64 || strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/") {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// SameZone reports whether two zones show the same time throughout the year of at. Names do not matter, because a zone
// has several and Chrome chooses one.
func SameZone(a, b *time.Location, at time.Time) bool {
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

// Languages returns navigator.languages of a Chrome whose language is tag (Chromium, components_locale_settings,
// IDS_ACCEPT_LANGUAGES). That is usually the tag, its language, and English. Where Chrome has one translation for
// several countries, the tag's country is kept.
func Languages(tag string) []string {
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
