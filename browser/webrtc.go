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

// withoutWebRTC takes WebRTC's way in from every document before its first line. Workers have none (Page.addScriptToEvaluateOnNewDocument).
// It is not what keeps packets in: the policy and the namespace do that with or without it.
func withoutWebRTC(t TargetInfo) []order {
	if t.Type != "page" && t.Type != "iframe" {
		return nil
	}
	const script = `for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel", "RTCIceTransport", "RTCDtlsTransport", "RTCSctpTransport", "RTCCertificate"]) delete globalThis[name]`
	return []order{{"Page.enable", nil}, {"Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": script, "runImmediately": true}}}
}
