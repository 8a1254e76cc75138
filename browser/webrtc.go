package browser

// WebRTC is what pages may do with WebRTC.
type WebRTC string

// What pages may do with WebRTC.
const (
	WebRTCProxyOnly WebRTC = "proxy_only" // TURN over TCP through the relay, no other way (Chromium, WebRtcIPHandling: disable_non_proxied_udp)
	WebRTCOff       WebRTC = "off"        // there is no RTCPeerConnection
	WebRTCDefault   WebRTC = "default"    // as Chrome has it: UDP to anybody, beside the relay. Such a run cannot live in a namespace
)

// webrtcPolicy lets WebRTC use proxied connections only: no UDP beside the relay (Chromium, WebRtcIPHandling).
const webrtcPolicy = "disable_non_proxied_udp"
