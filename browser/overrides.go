package browser

import (
	"fmt"
	"runtime"
	"strings"
)

// withoutWebRTC takes WebRTC's way in from every document before its first line. Workers have none (Page.addScriptToEvaluateOnNewDocument).
// It is not what keeps packets in: the policy and the namespace do that with or without it.
func withoutWebRTC(t TargetInfo) []override {
	if t.Type != "page" && t.Type != "iframe" {
		return nil
	}
	const script = `for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "RTCIceTransport", "RTCDtlsTransport", "RTCSctpTransport", "RTCCertificate"]) delete globalThis[name]`
	return []override{{"Page.enable", nil}, {"Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script, "runImmediately": true}}}
}

// override is one command of the owner to a target.
type override struct {
	method string
	params any
}

// targetOverrides are what the owner sends to a target before its first line runs.
func (e *emulation) targetOverrides(t TargetInfo) []override {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !hasNavigator(t.Type) {
		return nil
	}
	overrides := e.userAgentOverride()
	overrides = append(overrides, e.lockedProcessOverrides()...)
	if g := e.current.Geolocation; g != nil && !g.Off && t.Type == "page" {
		overrides = append(overrides, e.geolocationOverride())
	}
	if e.agent != nil && e.agent.platform != e.ownPlatform && strings.HasSuffix(t.Type, "worker") {
		overrides = append(overrides, override{"Runtime.evaluate", map[string]any{"expression": workerPlatform(e.agent.platform)}})
	}
	if e.webrtc == WebRTCOff {
		overrides = append(overrides, withoutWebRTC(t)...)
	}
	return overrides
}

// geolocationOverride sets or clears the position of a page. It is for a page's own session: set on that of a frame, it would go for the whole page
// with the frame.
func (e *emulation) geolocationOverride() override {
	g := e.current.Geolocation
	if g == nil || g.Off {
		return override{"Emulation.clearGeolocationOverride", nil}
	}
	return override{"Emulation.setGeolocationOverride", map[string]float64{"latitude": g.Latitude, "longitude": g.Longitude, "accuracy": g.Accuracy}}
}

// sessionOverrides are what a client's session on a target gets: each session has a user agent of its own, and an empty one would win over the owner's
// (third_party/blink/renderer/core/inspector/inspector_emulation_agent.cc). e.mu is held until they are on their way, so that what is given after a
// change is of after it.
func (e *emulation) sessionOverrides(kind string) []override {
	if !hasNavigator(kind) {
		return nil
	}
	return e.userAgentOverride()
}

func (e *emulation) userAgentOverride() []override {
	if e.agent == nil {
		return nil
	}
	params := map[string]any{"userAgent": e.agent.userAgent, "platform": e.agent.platform, "userAgentMetadata": e.agent.hints}
	if len(e.current.Languages) > 0 {
		params["acceptLanguage"] = strings.Join(e.current.Languages, ",")
	}
	return []override{{"Emulation.setUserAgentOverride", params}}
}

// userAgentOverrideAs are the owner's orders on a target for which a client declares a user agent, and perhaps languages: all else stays as the identity says.
func (e *emulation) userAgentOverrideAs(userAgent, acceptLanguage string) []override {
	e.mu.Lock()
	defer e.mu.Unlock()
	overrides := e.userAgentOverride()
	for _, o := range overrides {
		params, _ := o.params.(map[string]any)
		params["userAgent"] = userAgent
		if acceptLanguage != "" {
			params["acceptLanguage"] = acceptLanguage
		}
	}
	return overrides
}

// processOverrides are the overrides that hold for a whole renderer process: the first target of it that sets one has it, others are told that one is in effect.
// What every process begins with needs none.
func (e *emulation) processOverrides() []override {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lockedProcessOverrides()
}

func (e *emulation) hasProcessOverrides() bool { return len(e.processOverrides()) > 0 }

func (e *emulation) timezoneOverride() []override {
	if e.current.Timezone == "" {
		return nil
	}
	return []override{{"Emulation.setTimezoneOverride", map[string]string{"timezoneId": e.current.Timezone}}}
}

func (e *emulation) localeOverride() []override {
	if len(e.current.Languages) == 0 {
		return nil
	}
	return []override{{"Emulation.setLocaleOverride", map[string]string{"locale": e.current.Languages[0]}}}
}

func (e *emulation) lockedProcessOverrides() []override {
	if e.hasBaseLocale() {
		return e.timezoneOverride()
	}
	return append(e.timezoneOverride(), e.localeOverride()...)
}

// hasBaseLocale reports whether every process begins with the locale that pages are told.
func (e *emulation) hasBaseLocale() bool {
	return e.baseLocale && len(e.current.Languages) > 0 && e.current.Languages[0] == e.base.Languages[0]
}

// mayLoseOverrides reports whether a target that comes to another process may be without the time zone or the locale that pages are told.
func (e *emulation) mayLoseOverrides() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	zone := e.current.Timezone != "" && (e.current.Timezone != e.base.Timezone || runtime.GOOS == "windows")
	return zone || len(e.current.Languages) > 0 && !e.hasBaseLocale()
}

// isActive reports whether there is something to tell.
func (e *emulation) isActive() bool {
	return len(e.targetOverrides(TargetInfo{Type: "page"})) > 0
}

// changeOverrides are what a target that runs already gets after a change.
func (e *emulation) changeOverrides(kind string, languages bool) []override {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !hasNavigator(kind) {
		return nil
	}
	if languages {
		return append(e.userAgentOverride(), e.localeOverride()...)
	}
	overrides := e.timezoneOverride()
	if kind == "page" && e.positioned {
		overrides = append(overrides, e.geolocationOverride())
	}
	return overrides
}

// workerPlatform makes navigator.platform of a worker that has not begun yet what it is in pages: no override of DevTools reaches it there
// (Runtime.evaluate is taken while a worker waits for its debugger).
func workerPlatform(platform string) string {
	return fmt.Sprintf(`Object.defineProperty(WorkerNavigator.prototype, "platform", {get: function platform() { return %q }, set: undefined, enumerable: true, configurable: true})`, platform)
}
