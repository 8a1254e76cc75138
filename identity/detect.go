package identity

import "fmt"

// Difference is one way in which a page can detect emulation.
type Difference struct {
	Code     string   `json:"code" example:"worker_platform"`
	Contexts []string `json:"contexts" doc:"Where it shows: page, frame, worker, shared_worker, service_worker, request, connection."`
	Message  string   `json:"message" doc:"What shows, and why."`
}

// Detectable returns the differences that pages can detect if v is emulated: what an emulated system or version does not
// cover, and what is never hidden. browser is the major version that runs; 0: none is installed.
func Detectable(v Values, browser int) []Difference {
	out := []Difference{}
	add := func(shows bool, code string, contexts []string, message string) {
		if shows {
			out = append(out, Difference{code, contexts, message})
		}
	}
	withOS, withVersion := v.OS != "", v.Version != ""
	withLocale := v.Languages != nil // they are not the host's
	versions := fmt.Sprintf(" Declared is %s.", v.Version)
	if browser != 0 {
		versions += fmt.Sprintf(" Installed is %d.", browser)
	}
	everywhere := []string{"page", "frame", "worker", "shared_worker", "service_worker"}
	scripts, workers := []string{"page", "frame"}, []string{"worker", "shared_worker", "service_worker"}
	requests, connection := []string{"request"}, []string{"connection"}
	add(true, "webdriver", scripts, "navigator.webdriver is true, as in every automated Chrome. Automation is not hidden.")
	add(withOS, "worker_platform", workers,
		"navigator.platform is told by a getter that is not the browser's own: DevTools has no override for workers, and a "+
			"worker that looks at the getter sees that.")
	add(withOS, "attaching", scripts,
		"navigator.platform can be this machine's for a moment, when a DevTools client attaches to a page that is just being "+
			"loaded.")
	add(withOS || withVersion, "restored_tabs", scripts,
		"A tab that is restored out of the browser's cache can run before Chrome listens to DevTools. What it asks for then is "+
			"stopped, and it is loaded again; but what it noted of navigator.platform in its own storage stays.")
	add(withOS, "fonts", everywhere, "Fonts, their names, metrics and rendering are this machine's.")
	add(withOS, "gpu", everywhere,
		"The GPU (WebGL and WebGPU vendor, renderer and limits) and what is drawn to a canvas are this machine's.")
	add(withOS, "codecs", scripts, "Audio and video codecs, DRM and plugins are this browser's on this system.")
	add(withOS, "voices", scripts, "speechSynthesis lists this machine's voices.")
	add(withOS, "keyboard", scripts,
		"The keyboard layout (navigator.keyboard) and the shape of native controls and scroll bars are this machine's.")
	add(withOS, "memory", everywhere, "navigator.deviceMemory is this machine's: DevTools has no override for it.")
	add(withOS, "tcp", connection, "Where there is no proxy, TCP's own parameters are this machine's system's; with one, the proxy's.")
	add(withVersion, "engine", everywhere,
		"JavaScript, CSS and Web APIs are those of the installed version: what it has more or less than the declared one shows."+
			versions)
	add(withVersion, "icu", everywhere, "Intl's data (formats, zones, collation) are those of the installed version."+versions)
	add(withVersion, "tls", connection,
		"TLS and HTTP/2 (cipher suites, extensions, settings and their order) are those of the installed version."+versions)
	add(withVersion, "hints", requests,
		"The set of headers and client hints that are sent is that of the installed version (client hints came with version "+
			"89)."+versions)
	add(withLocale, "ui_language", scripts,
		"Texts of the browser itself (a file chooser, a validation message) are in a language that is installed: on Linux "+
			"Chrome's language packs decide.")
	add(withLocale, "shared_process", scripts,
		"Where pages share a renderer and the one that got the locale first is closed, Intl of the others is that of the "+
			"browser's own language pack for some milliseconds.")
	add(v.Screen != nil, "display", scripts,
		"A browser with windows shows the screen and the pixel ratio of the display that it is on; its window gets the declared "+
			"size as far as that has room. Headless the screen is the declared one, and no window is narrower than 500 pixels.")
	return out
}
