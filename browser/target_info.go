package browser

import (
	"bytes"
	"encoding/json"
)

// rewriteTargetInfo returns an event of a client's session with "attached" of its TargetInfo (CDP) meaning clients only. Chrome says that
// every target is attached, since the controller is.
func (m *mux) rewriteTargetInfo(method string, msg []byte, e envelope) ([]byte, envelope) {
	if method != "Target.targetCreated" && method != "Target.targetInfoChanged" {
		return msg, e
	}
	var p reference
	if json.Unmarshal(e.params.in(msg), &p) != nil {
		return msg, e
	}
	out := m.withClientAttached(msg, p.TargetInfo.TargetID)
	again, err := scan(out, maxDepth)
	if err != nil { // only one word of a valid message has changed
		return msg, e
	}
	return out, again
}

// withClientAttached sets "attached" in a TargetInfo of Chrome's to false if no client is attached. A client that looks for an unattached
// target would find none otherwise. Chrome's JSON has no spaces, and quotation marks within strings are escaped.
func (m *mux) withClientAttached(info []byte, target string) []byte {
	if m.hasClient(target) {
		return info
	}
	return bytes.Replace(info, []byte(`"attached":true`), []byte(`"attached":false`), 1)
}
