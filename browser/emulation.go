package browser

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// emulation makes the browser what its Identity says, in two layers. The base is flags and environment: process-wide, there before anything
// runs. On top of it the owner sends CDP's overrides to every target, for what the base cannot say (client hints, navigator.platform, the
// locale of Intl) and for what changes while the browser runs.
type emulation struct {
	mu      sync.Mutex
	now     Identity // what targets get
	base    Identity // what the browser was launched with
	agent   *agent   // nil: targets need not be told
	words   *agent   // what agent becomes when they need to be; nil: not known
	other   bool     // the browser's own words are not the identity's
	webrtc  WebRTC
	headful bool

	localeHolds bool   // every process begins with the base's first language: packs_linux.go
	positioned  bool   // pages had a position, or were denied one, and the browser must be told when they are not any longer
	ownPlatform string // navigator.platform of this machine
	corrector   *corrector
}

func newEmulation(s *Spec) *emulation {
	e := &emulation{now: s.Identity, base: s.Identity, webrtc: s.WebRTC, headful: !s.Headless}
	if s.Version == "" {
		return e
	}
	words, own := newAgent(s.Identity, s.installed()), newAgent(Identity{}, s.installed())
	e.ownPlatform, e.words = own.platform, &words
	// A browser that is to be another, or would call itself HeadlessChrome, must be told what to say of itself.
	e.other = cmp.Or(s.Identity.OS, HostOS()) != HostOS() || s.Identity.Version != "" && s.Identity.Version != strconv.Itoa(s.installed().Major) || s.Headless
	if e.other {
		e.corrector = newCorrector(own, words)
	}
	if e.other || len(s.Identity.Languages) > 0 { // a client's browser context takes its languages from nothing else
		e.agent = e.words
	}
	return e
}

// installed is the browser as it was found.
func (s *Spec) installed() Installed {
	major, _, _ := strings.Cut(s.Version, ".")
	n, _ := strconv.Atoi(major)
	return Installed{Path: s.Path, Product: s.Product, Version: s.Version, Major: n}
}

// flags are the base's part on the command line (Chromium: content_switches, kUserAgent; chrome_switches, kWindowSize, kWindowPosition;
// headless_switches, kScreenInfo). Every value is checked: numbers, language tags, and text made here. Languages are not among them: languages.go.
func (e *emulation) flags() (flags []string) {
	if e.other {
		flags = append(flags, "--user-agent="+e.agent.userAgent)
	}
	if len(e.base.Languages) > 0 && runtime.GOOS == "windows" {
		flags = append(flags, "--lang="+e.base.Languages[0])
	}
	if !e.headful {
		s := cmp.Or(e.base.Screen, noDisplay())
		flags = append(flags, fmt.Sprintf("--screen-info={%dx%d devicePixelRatio=%g}", physical(s.Width, s), physical(s.Height, s), s.DeviceScaleFactor),
			fmt.Sprintf("--window-size=%d,%d", s.Width, s.Height), "--window-position=0,0")
	}
	return flags
}

// noDisplay is the screen of a browser without windows that is not told of one: Chrome's own, 800 x 600, is too small for most pages, and for who works them
// from elsewhere.
func noDisplay() *Screen { return &Screen{Width: 1440, Height: 900, DeviceScaleFactor: 1} }

// physical is a length of the screen in its own pixels.
func physical(css int, s *Screen) int { return int(math.Round(float64(css) * s.DeviceScaleFactor)) }

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

// begin sends what holds for the whole browser. It comes before the first target is dressed.
func (e *emulation) begin(m *mux) {
	switch looked := map[string]string{"resourceType": "Document"}; {
	case e.headful && e.corrector == nil: // where nobody may have a file it is not asked for: closed_pages.go
		looked["urlPattern"] = "file:*"
		fallthrough
	case e.corrector != nil:
		m.send("", "Fetch.enable", map[string]any{"patterns": []map[string]string{looked}}, nil)
	}
	e.permit(m, "")
}

// permit gives pages of a browser context ("" is the profile's own) what the identity says of their position.
func (e *emulation) permit(m *mux, browserContext string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now.Geolocation != nil || e.positioned {
		m.send("", "Browser.setPermission", e.permission(browserContext), nil)
	}
}

// permission is the parameters of Browser.setPermission by which pages get their position without being asked, or are denied it.
func (e *emulation) permission(browserContext string) map[string]any {
	setting := "granted"
	switch {
	case e.now.Geolocation == nil:
		setting = "prompt"
	case e.now.Geolocation.Off:
		setting = "denied"
	}
	p := map[string]any{"permission": map[string]string{"name": "geolocation"}, "setting": setting}
	if browserContext != "" {
		p["browserContextId"] = browserContext
	}
	return p
}

// orders are what the owner sends to a target before its first line runs.
func (e *emulation) orders(t TargetInfo) []order {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !hasNavigator(t.Type) {
		return nil
	}
	orders := e.agentOrders()
	orders = append(orders, e.shared()...)
	if g := e.now.Geolocation; g != nil && !g.Off && t.Type == "page" {
		orders = append(orders, e.positionOrder())
	}
	if e.agent != nil && e.agent.platform != e.ownPlatform && strings.HasSuffix(t.Type, "worker") {
		orders = append(orders, order{"Runtime.evaluate", map[string]any{"expression": workerPlatform(e.agent.platform)}})
	}
	if e.webrtc == WebRTCOff {
		orders = append(orders, withoutWebRTC(t)...)
	}
	return orders
}

// positionOrder sets or clears the position of a page. It is for a page's own session: set on that of a frame, it would go for the whole page
// with the frame.
func (e *emulation) positionOrder() order {
	g := e.now.Geolocation
	if g == nil || g.Off {
		return order{"Emulation.clearGeolocationOverride", nil}
	}
	return order{"Emulation.setGeolocationOverride", map[string]float64{"latitude": g.Latitude, "longitude": g.Longitude, "accuracy": g.Accuracy}}
}

// clientOrders are what a client's session on a target gets: each session has a user agent of its own, and an empty one would win over the owner's
// (third_party/blink/renderer/core/inspector/inspector_emulation_agent.cc). e.mu is held until they are on their way, so that what is given after a
// change is of after it.
func (e *emulation) clientOrders(kind string) []order {
	if !hasNavigator(kind) {
		return nil
	}
	return e.agentOrders()
}

func (e *emulation) agentOrders() []order {
	if e.agent == nil {
		return nil
	}
	params := map[string]any{"userAgent": e.agent.userAgent, "platform": e.agent.platform, "userAgentMetadata": e.agent.hints}
	if len(e.now.Languages) > 0 {
		params["acceptLanguage"] = strings.Join(e.now.Languages, ",")
	}
	return []order{{"Emulation.setUserAgentOverride", params}}
}

// agentAs are the owner's orders on a target for which a client declares a user agent, and perhaps languages: all else stays as the identity says.
func (e *emulation) agentAs(userAgent, acceptLanguage string) []order {
	e.mu.Lock()
	defer e.mu.Unlock()
	orders := e.agentOrders()
	for _, o := range orders {
		params, _ := o.params.(map[string]any)
		params["userAgent"] = userAgent
		if acceptLanguage != "" {
			params["acceptLanguage"] = acceptLanguage
		}
	}
	return orders
}

// sharedOrders are the overrides that hold for a whole renderer process: the first target of it that sets one has it, others are told that one is in effect.
// What every process begins with needs none.
func (e *emulation) sharedOrders() []order {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shared()
}

func (e *emulation) isShared() bool { return len(e.sharedOrders()) > 0 }

func (e *emulation) zoneOrder() []order {
	if e.now.Timezone == "" {
		return nil
	}
	return []order{{"Emulation.setTimezoneOverride", map[string]string{"timezoneId": e.now.Timezone}}}
}

func (e *emulation) localeOrder() []order {
	if len(e.now.Languages) == 0 {
		return nil
	}
	return []order{{"Emulation.setLocaleOverride", map[string]string{"locale": e.now.Languages[0]}}}
}

func (e *emulation) shared() []order {
	if e.hasLocale() {
		return e.zoneOrder()
	}
	return append(e.zoneOrder(), e.localeOrder()...)
}

// hasLocale reports whether every process begins with the locale that pages are told.
func (e *emulation) hasLocale() bool {
	return e.localeHolds && len(e.now.Languages) > 0 && e.now.Languages[0] == e.base.Languages[0]
}

// isLost reports whether a target that comes to another process may be without the time zone or the locale that pages are told.
func (e *emulation) isLost() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	zone := e.now.Timezone != "" && (e.now.Timezone != e.base.Timezone || runtime.GOOS == "windows")
	return zone || len(e.now.Languages) > 0 && !e.hasLocale()
}

// any reports whether there is something to tell.
func (e *emulation) any() bool {
	return len(e.orders(TargetInfo{Type: "page"})) > 0
}

// workerPlatform makes navigator.platform of a worker that has not begun yet what it is in pages: no override of DevTools reaches it there
// (Runtime.evaluate is taken while a worker waits for its debugger).
func workerPlatform(platform string) string {
	return fmt.Sprintf(`Object.defineProperty(WorkerNavigator.prototype, "platform", {get: function platform() { return %q }, set: undefined, enumerable: true, configurable: true})`, platform)
}

// hasNavigator reports whether targets of this kind take the overrides. Worklets have no navigator, and their time zone and locale are their process'.
func hasNavigator(kind string) bool {
	switch kind {
	case "page", "iframe", "worker", "shared_worker", "service_worker", "background_page", "webview":
		return true
	}
	return false
}
