package browser

// WebRTC is what pages may do with WebRTC.
type WebRTC string

// The values of WebRTC.
const (
	WebRTCProxyOnly WebRTC = "proxy_only" // only TURN over TCP through the relay (Chromium, WebRtcIPHandling: disable_non_proxied_udp)
	WebRTCOff       WebRTC = "off"        // there is no RTCPeerConnection
	// Chrome's default: UDP to any address, beside the relay; such a run cannot use a network namespace
	WebRTCDefault WebRTC = "default"
)

// webrtcPolicy restricts WebRTC to proxied connections, without UDP beside the relay (Chromium, WebRtcIPHandling).
const webrtcPolicy = "disable_non_proxied_udp"
