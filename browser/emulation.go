package browser

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// emulation makes the browser what its Identity says, in two layers. The base is flags and environment: process-wide, there before anything
// runs. On top of it the owner sends CDP's overrides to every target, for what the base cannot say (client hints, navigator.platform, the
// locale of Intl) and for what changes while the browser runs.
type emulation struct {
	mu       sync.Mutex
	current  Identity // what targets get
	base     Identity // what the browser was launched with
	agent    *agent   // nil: targets need not be told
	resolved *agent   // what agent becomes when they need to be; nil: not known
	differs  bool     // the browser's own words are not the identity's
	webrtc   WebRTC
	headful  bool

	baseLocale  bool   // every process begins with the base's first language: packs_linux.go
	positioned  bool   // pages had a position, or were denied one, and the browser must be told when they are not any longer
	ownPlatform string // navigator.platform of this machine
	hints       *hintRewriter
}

func newEmulation(s *Spec) *emulation {
	e := &emulation{current: s.Identity, base: s.Identity, webrtc: s.WebRTC, headful: !s.Headless}
	if s.Version == "" {
		return e
	}
	words, own := newAgent(s.Identity, s.installed()), newAgent(Identity{}, s.installed())
	e.ownPlatform, e.resolved = own.platform, &words
	// A browser that is to be another, or would call itself HeadlessChrome, must be told what to say of itself.
	e.differs = cmp.Or(s.Identity.OS, HostOS()) != HostOS() || s.Identity.Version != "" && s.Identity.Version != strconv.Itoa(s.installed().Major) || s.Headless
	if e.differs {
		e.hints = newHintRewriter(own, words)
	}
	if e.differs || len(s.Identity.Languages) > 0 { // a client's browser context takes its languages from nothing else
		e.agent = e.resolved
	}
	return e
}

// flags are the base's part on the command line (Chromium: content_switches, kUserAgent; chrome_switches, kWindowSize, kWindowPosition;
// headless_switches, kScreenInfo). Every value is checked: numbers, language tags, and text made here. Languages are not among them: languages.go.
func (e *emulation) flags() (flags []string) {
	if e.differs {
		flags = append(flags, "--user-agent="+e.agent.userAgent)
	}
	if len(e.base.Languages) > 0 && runtime.GOOS == "windows" {
		flags = append(flags, "--lang="+e.base.Languages[0])
	}
	if !e.headful {
		s := cmp.Or(e.base.Screen, defaultScreen())
		flags = append(flags, fmt.Sprintf("--screen-info={%dx%d devicePixelRatio=%g}", devicePixels(s.Width, s), devicePixels(s.Height, s), s.DeviceScaleFactor),
			fmt.Sprintf("--window-size=%d,%d", s.Width, s.Height), "--window-position=0,0")
	}
	return flags
}

// defaultScreen is the screen of a browser without windows that is not told of one: Chrome's own, 800 x 600, is too small for most pages, and for who works them
// from elsewhere.
func defaultScreen() *Screen { return &Screen{Width: 1440, Height: 900, DeviceScaleFactor: 1} }

// devicePixels is a length of the screen in its own pixels.
func devicePixels(css int, s *Screen) int { return int(math.Round(float64(css) * s.DeviceScaleFactor)) }

// environment is the base's part in the environment: ICU reads TZ (not on Windows), and GLib, by which Chrome on Linux chooses the language of its
// interface and of Intl where it has that language's pack, reads LANGUAGE unless the locale is C.
func (e *emulation) environment(env []string) []string {
	if e.base.Timezone != "" {
		env = setVariable(env, "TZ="+e.base.Timezone)
	}
	if len(e.base.Languages) > 0 && runtime.GOOS == "linux" {
		first := strings.ReplaceAll(e.base.Languages[0], "-", "_")
		env = unsetVariable(env, "LC_ALL")
		env = setVariable(env, "LC_MESSAGES="+first+".UTF-8")
		env = setVariable(env, "LANGUAGE="+first)
	}
	return env
}

// pausedDocuments are the patterns of the document requests that are paused on their way out (CDP Fetch.RequestPattern); nil: none is.
func (e *emulation) pausedDocuments() []map[string]string {
	switch {
	case e.hints != nil:
		return []map[string]string{{"resourceType": "Document"}}
	case e.headful: // where nobody may have a file it is not asked for: closed_pages.go
		return []map[string]string{{"resourceType": "Document", "urlPattern": "file:*"}}
	}
	return nil
}

// permission is the parameters of Browser.setPermission by which pages of a browser context ("" is the profile's own) get their position
// without being asked, or are denied it; nil: nothing is to be said. e.mu is held.
func (e *emulation) permission(browserContext string) map[string]any {
	if e.current.Geolocation == nil && !e.positioned {
		return nil
	}
	setting := "granted"
	switch {
	case e.current.Geolocation == nil:
		setting = "prompt"
	case e.current.Geolocation.Off:
		setting = "denied"
	}
	p := map[string]any{"permission": map[string]string{"name": "geolocation"}, "setting": setting}
	if browserContext != "" {
		p["browserContextId"] = browserContext
	}
	return p
}

// setTimezoneAndPosition takes over what can change while the browser runs, and needs nothing but to be told.
func (e *emulation) setTimezoneAndPosition(id Identity) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.positioned = e.positioned || e.current.Geolocation != nil || id.Geolocation != nil
	e.current.Timezone, e.current.Geolocation = cmp.Or(id.Timezone, e.current.Timezone), id.Geolocation
}

// setLanguages takes over languages that the browser has.
func (e *emulation) setLanguages(languages []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.current.Languages = slices.Clone(languages)
	e.agent = cmp.Or(e.agent, e.resolved)
}

// languages are what pages are told now, nil for the host's.
func (e *emulation) languages() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.current.Languages)
}
