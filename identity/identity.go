// Package identity decides what pages are told: from what a profile declares and where its proxy comes out. It is pure: it reads and writes
// nothing. What the exit does not tell is the host's own; nothing is guessed.
package identity

import (
	"time"
)

// Declared are the settings of a profile that concern its identity, as the profile has them.
type Declared struct {
	OS             string // win, mac or linux
	BrowserVersion string // a major version; "" is the browser's own
	Timezone       string // auto, system or an IANA name
	Locale         string // auto, system or a JSON list of BCP 47 tags
	Geolocation    string // auto, off or a JSON position
	Screen         string // a JSON screen; "" is the browser's own
	WebRTC         string
	Consistency    string // off, warn or block
}

// FollowsExit says whether a setting is auto, or start is refused for mismatches: then the exit has to be known.
func (d Declared) FollowsExit() bool {
	return d.Timezone == "auto" || d.Locale == "auto" || d.Geolocation == "auto" || d.Consistency == "block"
}

// Exit is where a proxy comes out, by its last good check. A member that the check did not tell is "" or nil.
type Exit struct {
	Country       string // ISO 3166-1, two letters
	Timezone      string // an IANA name
	ZoneOfCountry bool   // Timezone is the one where most of the country's people live
	Locale        string // the country's likely language, a BCP 47 tag
	Latitude      *float64
	Longitude     *float64
	CheckedAt     time.Time
}

// Environment is what settings are resolved against.
type Environment struct {
	Proxied bool
	Exit    *Exit          // nil: not known
	OS      string         // of the host, in a profile's words
	Zone    string         // the name of the host's time zone; "" when it is not known
	Local   *time.Location // the host's time zone
	Browser int            // the major version of the browser that runs; 0: none is installed
	Now     time.Time      // for comparing time zones
}

// Position is a place on earth, or, with Off, none: pages are denied it.
type Position struct {
	Latitude  float64 `json:"latitude"`  // degrees (WGS 84)
	Longitude float64 `json:"longitude"` // degrees (WGS 84)
	Accuracy  float64 `json:"accuracy"`  // metres
	Off       bool    `json:"-"`
}

// Screen is a display in CSS pixels.
type Screen struct {
	Width             int     `json:"width"`
	Height            int     `json:"height"`
	DeviceScaleFactor float64 `json:"deviceScaleFactor"` // device pixels per CSS pixel
}

// Values are what a browser is told. A member that is "" or nil is not overridden.
type Values struct {
	OS        string
	Version   string // a major version
	Timezone  string // an IANA name
	Languages []string
	Position  *Position
	Screen    *Screen
}

// Setting is one setting as pages see it.
type Setting struct {
	Value  any    `json:"value" doc:"As start's effective shows it; null: not known before the browser runs, or the browser's own."`
	Source string `json:"source" enum:"profile,exit,host,default"`
	Detail string `json:"detail" doc:"Why, for people."`
}

// The sources of a setting.
const (
	FromProfile = "profile" // it is declared
	FromExit    = "exit"    // it is auto, and the last good check tells it
	FromHost    = "host"    // the host's own
	ByDefault   = "default" // the browser's own
)

// Settings are all settings of a profile.
type Settings struct {
	OS             Setting `json:"os"`
	BrowserVersion Setting `json:"browserVersion"`
	Timezone       Setting `json:"timezone"`
	Locale         Setting `json:"locale"`
	Geolocation    Setting `json:"geolocation"`
	Screen         Setting `json:"screen"`
	WebRTC         Setting `json:"webrtc"`
}

// Resolution is what a profile's settings come to.
type Resolution struct {
	Values   Values
	Settings Settings
	Missing  []string // settings that are auto, and of which the exit tells nothing
	Followed []string // settings that follow the exit
}
