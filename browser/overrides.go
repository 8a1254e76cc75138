package browser

import (
	"fmt"
	"runtime"
	"strings"
)

// withoutWebRTC removes the WebRTC API from every document before its first line (CDP Page.addScriptToEvaluateOnNewDocument). Workers have
// no such API. Packets are blocked independently, by webrtcPolicy and the namespace.
func withoutWebRTC(t TargetInfo) []override {
	if t.Type != "page" && t.Type != "iframe" {
		return nil
	}
	const script = `for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "RTCIceTransport", ` +
		`"RTCDtlsTransport", "RTCSctpTransport", "RTCCertificate"]) delete globalThis[name]`
	return []override{{"Page.enable", nil},
		{"Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script, "runImmediately": true}}}
}

// override is one CDP command that the controller sends to a target.
type override struct {
	method string
	params any
}

// targetOverrides returns what a target gets before its first line runs.
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

// geolocationOverride sets or clears the position of a page. It is for a page's own session: on a frame's session it would end with the
// frame.
func (e *emulation) geolocationOverride() override {
	g := e.current.Geolocation
	if g == nil || g.Off {
		return override{"Emulation.clearGeolocationOverride", nil}
	}
	return override{"Emulation.setGeolocationOverride",
		map[string]float64{"latitude": g.Latitude, "longitude": g.Longitude, "accuracy": g.Accuracy}}
}

// sessionOverrides returns what a client's session on a target gets. Each session has a user agent of its own, and an empty one would
// replace the controller's (third_party/blink/renderer/core/inspector/inspector_emulation_agent.cc). The caller holds e.mu until they are
// sent, so that a later change cannot overtake them.
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

// userAgentOverrideAs returns the controller's override of a target for which a client has set a user agent, and perhaps languages. The
// rest stays the identity's.
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

// processOverrides returns the overrides that apply to a whole renderer process. The first target that sets one owns it; others get an
// error. Values that every process begins with need no override.
func (e *emulation) processOverrides() []override {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lockedProcessOverrides()
}

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

// hasBaseLocale reports whether every process begins with the locale that pages see.
func (e *emulation) hasBaseLocale() bool {
	return e.baseLocale && len(e.current.Languages) > 0 && e.current.Languages[0] == e.base.Languages[0]
}

// mayLoseOverrides reports whether a target that moves to another process may lose its time zone or locale.
func (e *emulation) mayLoseOverrides() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	zone := e.current.Timezone != "" && (e.current.Timezone != e.base.Timezone || runtime.GOOS == "windows")
	return zone || len(e.current.Languages) > 0 && !e.hasBaseLocale()
}

// isActive reports whether pages get any overrides.
func (e *emulation) isActive() bool {
	return len(e.targetOverrides(TargetInfo{Type: "page"})) > 0
}

// changeOverrides returns what a running target gets after a change.
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

// workerPlatform returns a script that sets navigator.platform in a worker before it begins. No override reaches it there, but a paused
// worker takes Runtime.evaluate.
func workerPlatform(platform string) string {
	return fmt.Sprintf(`Object.defineProperty(WorkerNavigator.prototype, "platform", {get: function platform() { return %q }, set: `+
		`undefined, enumerable: true, configurable: true})`, platform)
}
