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

// emulation makes the browser match its Identity in two layers. The base layer is flags and environment, which apply to all processes from
// the start. The second layer is CDP overrides of every target. They cover client hints, navigator.platform, the locale of Intl, and
// changes while the browser runs.
type emulation struct {
	mu       sync.Mutex
	current  Identity // what targets get
	base     Identity // what the browser was launched with
	agent    *agent   // nil: targets need no user agent override
	resolved *agent   // becomes agent when an override is needed; nil: unknown
	differs  bool     // the browser's own user agent is not the identity's
	webrtc   WebRTC
	headful  bool

	baseLocale  bool   // every process begins with the base's first language; locale_pack_linux.go
	positioned  bool   // pages had, or were denied, a position, so a change must be sent
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
	// A browser of another system or version needs an override, and so does one that would call itself HeadlessChrome.
	e.differs = cmp.Or(s.Identity.OS, HostOS()) != HostOS() ||
		s.Identity.Version != "" && s.Identity.Version != strconv.Itoa(s.installed().Major) || s.Headless
	if e.differs {
		e.hints = &hintRewriter{userAgent: words.userAgent, own: own.hints.headers(), declared: words.hints.headers()}
	}
	if e.differs || len(s.Identity.Languages) > 0 { // contexts of clients get their languages only from the override
		e.agent = e.resolved
	}
	return e
}

// flags are the base layer's flags (Chromium: content_switches, kUserAgent; chrome_switches, kWindowSize, kWindowPosition;
// headless_switches, kScreenInfo). Their values are numbers, language tags, and text made here. Languages are set in preferences.go.
func (e *emulation) flags() (flags []string) {
	if e.differs {
		flags = append(flags, "--user-agent="+e.agent.userAgent)
	}
	if len(e.base.Languages) > 0 && runtime.GOOS == "windows" {
		flags = append(flags, "--lang="+e.base.Languages[0])
	}
	if !e.headful {
		s := cmp.Or(e.base.Screen, defaultScreen())
		flags = append(flags, fmt.Sprintf(
			"--screen-info={%dx%d devicePixelRatio=%g}", devicePixels(s.Width, s), devicePixels(s.Height, s), s.DeviceScaleFactor),
			fmt.Sprintf("--window-size=%d,%d", s.Width, s.Height), "--window-position=0,0")
	}
	return flags
}

// defaultScreen is the screen of a browser without windows and without a declared screen. Chrome's default of 800 x 600 is too small for
// most pages.
func defaultScreen() *Screen { return &Screen{Width: 1440, Height: 900, DeviceScaleFactor: 1} }

// devicePixels converts a length from CSS pixels to the screen's pixels.
func devicePixels(css int, s *Screen) int { return int(math.Round(float64(css) * s.DeviceScaleFactor)) }

// environment sets the base layer's variables. ICU reads TZ, except on Windows. On Linux Chrome takes the language of its interface and of
// Intl from GLib. GLib reads LANGUAGE unless the locale is C, and the language needs a pack.
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

// pausedDocuments are the patterns of document requests that are paused on their way out (CDP Fetch.RequestPattern); nil: none.
func (e *emulation) pausedDocuments() []map[string]string {
	switch {
	case e.hints != nil:
		return []map[string]string{{"resourceType": "Document"}}
	case e.headful: // file requests are checked; without windows blockPreferences prevent them
		return []map[string]string{{"resourceType": "Document", "urlPattern": "file:*"}}
	}
	return nil
}

// permission returns the parameters of Browser.setPermission (CDP) for the position of pages of a browser context, "" for the profile's
// own. It returns nil if nothing needs to be set. e.mu is held.
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

// setTimezoneAndPosition changes the part of the identity that needs only overrides.
func (e *emulation) setTimezoneAndPosition(id Identity) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.positioned = e.positioned || e.current.Geolocation != nil || id.Geolocation != nil
	e.current.Timezone, e.current.Geolocation = cmp.Or(id.Timezone, e.current.Timezone), id.Geolocation
}

// setLanguages changes the languages, after the browser has adopted them.
func (e *emulation) setLanguages(languages []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.current.Languages = slices.Clone(languages)
	e.agent = cmp.Or(e.agent, e.resolved)
}

// languages returns the languages that pages see, nil for the host's.
func (e *emulation) languages() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.current.Languages)
}
