package browser

import (
	"fmt"
	"runtime"
	"strings"
)

// withoutWebRTC takes WebRTC's way in from every document before its first line. Workers have none (Page.addScriptToEvaluateOnNewDocument).
// It is not what keeps packets in: the policy and the namespace do that with or without it.
func withoutWebRTC(t TargetInfo) []order {
	if t.Type != "page" && t.Type != "iframe" {
		return nil
	}
	const script = `for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "RTCIceTransport", "RTCDtlsTransport", "RTCSctpTransport", "RTCCertificate"]) delete globalThis[name]`
	return []order{{"Page.enable", nil}, {"Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script, "runImmediately": true}}}
}

// order is one command of the owner to a target.
type order struct {
	method string
	params any
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

// changeOrders are what a target that runs already gets after a change.
func (e *emulation) changeOrders(kind string, languages bool) []order {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !hasNavigator(kind) {
		return nil
	}
	if languages {
		return append(e.agentOrders(), e.localeOrder()...)
	}
	orders := e.zoneOrder()
	if kind == "page" && e.positioned {
		orders = append(orders, e.positionOrder())
	}
	return orders
}

// workerPlatform makes navigator.platform of a worker that has not begun yet what it is in pages: no override of DevTools reaches it there
// (Runtime.evaluate is taken while a worker waits for its debugger).
func workerPlatform(platform string) string {
	return fmt.Sprintf(`Object.defineProperty(WorkerNavigator.prototype, "platform", {get: function platform() { return %q }, set: undefined, enumerable: true, configurable: true})`, platform)
}
