package browser

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Identity is what a run's pages are told. What is left out is the host's own: then nothing of it is emulated, and nothing can contradict.
type Identity struct {
	// OS is win, mac or linux; "" is the host's.
	OS string `json:"os"`
	// Version is a major version, "124"; "" is the browser's own.
	Version string `json:"version"`
	// Timezone is an IANA name; "" is the host's.
	Timezone string `json:"timezone"`
	// Languages is navigator.languages, most wanted first, as BCP 47 tags; the first is also the locale of Intl. nil is the host's.
	Languages []string `json:"languages"`
	// Geolocation is where pages believe to be; nil: Chrome asks the person and the host.
	Geolocation *Geolocation `json:"geolocation"`
	// Screen is the display that pages see; nil is the browser's own.
	Screen *Screen `json:"screen"`
}

// Geolocation is a position that pages get without being asked, or, with Off, none: they are denied it.
type Geolocation struct {
	Off                           bool
	Latitude, Longitude, Accuracy float64 // degrees (WGS 84), metres
}

// Screen is a display in CSS pixels.
type Screen struct {
	Width, Height     int
	DeviceScaleFactor float64 // device pixels per CSS pixel
}

// tagForm is what a language tag looks like (RFC 5646, 2.1); it goes on a command line and into the environment.
var tagForm = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`)

// check refuses what no browser can be told. What a user declares was looked at before; this keeps the command line and the environment clean.
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
	case g != nil && !g.Off && (!(g.Latitude >= -90 && g.Latitude <= 90) || !(g.Longitude >= -180 && g.Longitude <= 180) || !(g.Accuracy >= 0)):
		return fmt.Errorf("no such position: %+v", *g)
	case id.Screen != nil && (id.Screen.Width <= 0 || id.Screen.Height <= 0 || !(id.Screen.DeviceScaleFactor > 0)):
		return fmt.Errorf("no such screen: %+v", *id.Screen)
	}
	return nil
}
