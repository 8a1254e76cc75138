package main

import (
	"fmt"
	"strings"

	"warren/shim"
)

// This file holds what pages can still tell apart, as one table: what an emulated system or version does not cover, and what is never hidden.

// differenceJSON is one thing by which a page can tell what is declared from what is real.
type differenceJSON struct {
	Code     string   `json:"code" example:"worker_platform"`
	Contexts []string `json:"contexts" doc:"Where it shows: page, frame, worker, shared_worker, service_worker, request, connection."`
	Message  string   `json:"message" doc:"What shows, and why."`
}

// When a difference is there.
const (
	always      = "always"
	withOS      = "os"      // the declared system is not the machine's
	withVersion = "version" // the declared version is not the browser's
	withOther   = "other"   // one of these two
	withLocale  = "locale"  // the languages are not the machine's
	withScreen  = "screen"  // a screen is declared
)

// differenceTable is what is known to differ, with when it does.
func differenceTable() []struct {
	when string
	differenceJSON
} {
	everywhere, scripts := []string{"page", "frame", "worker", "shared_worker", "service_worker"}, []string{"page", "frame"}
	workers, requests, connection := []string{"worker", "shared_worker", "service_worker"}, []string{"request"}, []string{"connection"}
	return []struct {
		when string
		differenceJSON
	}{
		{always, differenceJSON{"webdriver", everywhere[:2], "navigator.webdriver is true, as in every automated Chrome. Automation is not hidden."}},
		{withOS, differenceJSON{"worker_platform", workers, "navigator.platform is told by a getter that is not the browser's own: DevTools has no override for workers, and a worker that looks at the getter sees that."}},
		{withOS, differenceJSON{"attaching", scripts, "navigator.platform can be this machine's for a moment, when a DevTools client attaches to a page that is just being loaded."}},
		{withOther, differenceJSON{"restored_tabs", scripts, "A tab that is restored out of the browser's cache can run before Chrome listens to DevTools. What it asks for then is stopped, and it is loaded again; but what it noted of navigator.platform in its own storage stays."}},
		{withOS, differenceJSON{"fonts", everywhere, "Fonts, their names, metrics and rendering are this machine's."}},
		{withOS, differenceJSON{"gpu", everywhere, "The GPU (WebGL and WebGPU vendor, renderer and limits) and what is drawn to a canvas are this machine's."}},
		{withOS, differenceJSON{"codecs", scripts, "Audio and video codecs, DRM and plugins are this browser's on this system."}},
		{withOS, differenceJSON{"voices", scripts, "speechSynthesis lists this machine's voices."}},
		{withOS, differenceJSON{"keyboard", scripts, "The keyboard layout (navigator.keyboard) and the shape of native controls and scroll bars are this machine's."}},
		{withOS, differenceJSON{"memory", everywhere, "navigator.deviceMemory is this machine's: DevTools has no override for it."}},
		{withOS, differenceJSON{"tcp", connection, "Where there is no proxy, TCP's own parameters are this machine's system's; with one, the proxy's."}},
		{withVersion, differenceJSON{"engine", everywhere, "JavaScript, CSS and Web APIs are those of the installed version: what it has more or less than the declared one shows."}},
		{withVersion, differenceJSON{"icu", everywhere, "Intl's data (formats, zones, collation) are those of the installed version."}},
		{withVersion, differenceJSON{"tls", connection, "TLS and HTTP/2 (cipher suites, extensions, settings and their order) are those of the installed version."}},
		{withVersion, differenceJSON{"hints", requests, "The set of headers and client hints that are sent is that of the installed version (client hints came with version 89)."}},
		{withLocale, differenceJSON{"ui_language", scripts, "Texts of the browser itself (a file chooser, a validation message) are in a language that is installed: on Linux Chrome's language packs decide."}},
		{withLocale, differenceJSON{"shared_process", scripts, "Where pages share a renderer and the one that got the locale first is closed, Intl of the others is that of the browser's own language pack for some milliseconds."}},
		{withScreen, differenceJSON{"display", scripts, "A browser with windows shows the screen and the pixel ratio of the display that it is on; its window gets the declared size as far as that has room. Headless the screen is the declared one, and no window is narrower than 500 pixels."}},
	}
}

// differences are what a page can tell apart for an identity. What is not emulated cannot differ.
func differences(id shim.Identity, real int) []differenceJSON {
	out := []differenceJSON{}
	for _, d := range differenceTable() {
		switch {
		case d.when == always, d.when == withOS && id.OS != "", d.when == withLocale && id.Languages != nil, d.when == withScreen && id.Screen != nil,
			d.when == withOther && (id.OS != "" || id.Version != ""):
		case d.when == withVersion && id.Version != "":
			d.Message += fmt.Sprintf(" Declared is %s.", id.Version)
			if real != 0 {
				d.Message += fmt.Sprintf(" Installed is %d.", real)
			}
		default:
			continue
		}
		out = append(out, d.differenceJSON)
	}
	return out
}

// emulated warns of a system or version that the browser is not of, and names what pages can tell that by.
func (p *plan) emulated() []warningJSON {
	id, codes := p.spec.Identity, []string{}
	if id.OS == "" && id.Version == "" {
		return nil
	}
	for _, d := range differences(shim.Identity{OS: id.OS, Version: id.Version}, p.installed.Major) {
		if d.Code != "webdriver" { // every run has it
			codes = append(codes, d.Code)
		}
	}
	return []warningJSON{{"emulated", fmt.Sprintf("What runs is %s %d on %s; system and version are emulated as declared. A page can tell all the same by: %s. GET /api/v1/profiles/%s/explain says more of each.",
		p.installed.Product, p.installed.Major, hostOS(), strings.Join(codes, ", "), p.row.ID)}}
}
