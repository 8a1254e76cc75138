package browser

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Identity is what a run's pages see. A missing value is the host's own, and is not emulated.
type Identity struct {
	// OS is win, mac or linux; "" is the host's.
	OS string `json:"os"`
	// Version is a major version such as "124"; "" is the browser's own.
	Version string `json:"version"`
	// Timezone is an IANA name; "" is the host's.
	Timezone string `json:"timezone"`
	// Languages is navigator.languages as BCP 47 tags, preferred first; nil is the host's. The first one is also the locale of Intl.
	Languages []string `json:"languages"`
	// Geolocation is the position that pages get; nil: Chrome asks the person and the host.
	Geolocation *Geolocation `json:"geolocation"`
	// Screen is the display that pages see; nil is the browser's own.
	Screen *Screen `json:"screen"`
}

// Geolocation is a position that pages get without a question. With Off they are denied one.
type Geolocation struct {
	Off                           bool
	Latitude, Longitude, Accuracy float64 // degrees (WGS 84), metres
}

// Screen is a display; lengths are CSS pixels.
type Screen struct {
	Width, Height     int
	DeviceScaleFactor float64 // device pixels per CSS pixel
}

// tagForm matches a language tag (RFC 5646, 2.1), which goes on a command line and into the environment.
var tagForm = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`)

// check refuses values that must not reach the command line or the environment. What a user declares is validated earlier. One case per
// field reads best as one table.
func (id Identity) check() error {
	_, err := time.LoadLocation(id.Timezone)
	g := id.Geolocation
	switch {
	case !slices.Contains([]string{"", "win", "mac", "linux"}, id.OS):
		return fmt.Errorf("no such system: %q", id.OS)
	case strings.Trim(id.Version, "0123456789") != "" || len(id.Version) > 3:
		return fmt.Errorf("no such major version: %q", id.Version)
	case err != nil || id.Timezone == "Local":
		return fmt.Errorf("no such time zone: %q", id.Timezone)
	case slices.ContainsFunc(id.Languages, func(tag string) bool { return !tagForm.MatchString(tag) }):
		return fmt.Errorf("no such language: %q", id.Languages)
	case g != nil && !g.Off &&
		(!(g.Latitude >= -90 && g.Latitude <= 90) || !(g.Longitude >= -180 && g.Longitude <= 180) || !(g.Accuracy >= 0)):
		return fmt.Errorf("no such position: %+v", *g)
	case id.Screen != nil && (id.Screen.Width <= 0 || id.Screen.Height <= 0 || !(id.Screen.DeviceScaleFactor > 0)):
		return fmt.Errorf("no such screen: %+v", *id.Screen)
	}
	return nil
}
