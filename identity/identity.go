// Package identity resolves what pages see from a profile's settings and its proxy's exit. It is pure: it does no I/O.
// What the exit does not provide is the host's own; nothing is guessed.
package identity

import (
	"runtime"
	"strings"
	"time"
)

// Declared holds the settings of a profile that concern its identity, as stored.
type Declared struct {
	OS             string // win, mac or linux
	BrowserVersion string // a major version; "" is the browser's own
	Timezone       string // auto, system or an IANA name
	Locale         string // auto, system or a JSON list of BCP 47 tags
	Geolocation    string // auto, off or a JSON position
	Screen         string // a JSON screen; "" is the browser's own
	WebRTC         string
	Consistency    string // off, warn or block

	Sources Sources // where these are from; nil: all are the profile's own
}

// FollowsExit reports whether the exit must be known: a setting is auto, or mismatches block a start.
func (d Declared) FollowsExit() bool {
	return d.Timezone == "auto" || d.Locale == "auto" || d.Geolocation == "auto" || d.Consistency == "block"
}

// Exit is the exit of a proxy, by its last good check. A member that the check did not find is "" or nil.
type Exit struct {
	Country       string // ISO 3166-1, two letters
	Timezone      string // an IANA name
	ZoneOfCountry bool   // Timezone is that of most people in the country, not of this address
	Locale        string // the country's likely language, a BCP 47 tag
	Latitude      *float64
	Longitude     *float64
	CheckedAt     time.Time
}

// Environment is what settings are resolved against.
type Environment struct {
	Proxied bool
	Exit    *Exit          // nil: not known
	OS      string         // the host's: win, mac or linux
	Zone    string         // IANA name of the host's time zone; "" if not known
	Local   *time.Location // the host's time zone
	Browser int            // major version of the browser that runs; 0: none is installed
	Now     time.Time      // for comparisons of time zones
}

// Position is a place on earth. With Off pages are denied a position.
type Position struct {
	Off       bool    `json:"-"`
	Latitude  float64 `json:"latitude"`  // degrees (WGS 84)
	Longitude float64 `json:"longitude"` // degrees (WGS 84)
	Accuracy  float64 `json:"accuracy"`  // metres
}

// Screen is a display in CSS pixels.
type Screen struct {
	Width             int     `json:"width"`
	Height            int     `json:"height"`
	DeviceScaleFactor float64 `json:"deviceScaleFactor"` // device pixels per CSS pixel
}

// Values are the overrides that a browser gets. A member that is "" or nil is not overridden.
type Values struct {
	OS        string
	Version   string // a major version
	Timezone  string // an IANA name
	Languages []string
	Position  *Position
	Screen    *Screen
}

// Setting is the value of one setting as pages see it, with its source.
type Setting struct {
	Value  any    `json:"value" doc:"As start's effective shows it; null: not known before the browser runs, or the browser's own."`
	Source string `json:"source" enum:"profile,template,workspace,exit,host,default"`
	Detail string `json:"detail" doc:"Why, for people."`
}

// The sources of a setting.
const (
	FromProfile = "profile" // declared
	FromExit    = "exit"    // auto, from the last good check
	FromHost    = "host"    // the host's own
	ByDefault   = "default" // the server's, or the browser's own

	FromTemplate  = "template"  // the profile got it when it was created
	FromWorkspace = "workspace" // the profile got it when it was created
)

// Settings holds all settings of a profile.
type Settings struct {
	OS             Setting `json:"os"`
	BrowserVersion Setting `json:"browserVersion"`
	Timezone       Setting `json:"timezone"`
	Locale         Setting `json:"locale"`
	Geolocation    Setting `json:"geolocation"`
	Screen         Setting `json:"screen"`
	WebRTC         Setting `json:"webrtc"`
}

// Resolution is the result of Resolve.
type Resolution struct {
	Values   Values
	Settings Settings
	Missing  []string // settings that are auto, but unknown at the exit
	Followed []string // settings that follow the exit
}

// System maps the accepted names of a system to the stored one: win, mac or linux.
func System(name string) (string, bool) {
	switch strings.ToLower(name) {
	case "win", "windows":
		return "win", true
	case "mac", "macos", "darwin":
		return "mac", true
	case "linux", "lin":
		return "linux", true
	}
	return "", false
}

// HostSystem returns this machine's system as a profile names it. Systems other than Windows and macOS count as linux.
func HostSystem() string {
	if n, ok := System(runtime.GOOS); ok {
		return n
	}
	return "linux"
}
