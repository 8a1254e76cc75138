package browser

import (
	"bytes"
	"encoding/json"
)

// This file makes "attached" of CDP's Target.TargetInfo say whether a client is attached to a target. The owner is attached to every one.

// ofTarget is an event of a client's session as the client gets it: where it says what a target is, "attached" is of clients alone.
func (m *mux) ofTarget(method string, msg []byte, e envelope) ([]byte, envelope) {
	if method != "Target.targetCreated" && method != "Target.targetInfoChanged" {
		return msg, e
	}
	var p struct {
		TargetInfo TargetInfo `json:"targetInfo"`
	}
	if json.Unmarshal(e.params.in(msg), &p) != nil {
		return msg, e
	}
	out := m.attachedByClients(msg, p.TargetInfo.TargetID)
	again, err := scan(out, maxDepth)
	if err != nil { // what was one message is one with another word in it
		return msg, e
	}
	return out, again
}

// attachedByClients is what Chrome says of one target, with "attached" false where no client is: the owner is attached to every target, and a client that
// looks for one that nobody has would find none. Chrome writes no blanks, and within a text it escapes the quotation marks.
func (m *mux) attachedByClients(info []byte, target string) []byte {
	if m.hasClient(target) {
		return info
	}
	return bytes.Replace(info, []byte(`"attached":true`), []byte(`"attached":false`), 1)
}

// hasClient reports whether a client is attached to a target.
func (m *mux) hasClient(target string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.target == target && s.client != nil {
			return true
		}
	}
	return false
}
