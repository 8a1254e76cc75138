//go:build !windows

package browser

import (
	"encoding/json"
	"testing"
)

// isAttached returns what Target.getTargets and Target.getTargetInfo say of a target. The test fails if they differ.
func (c *tester) isAttached(target string) bool {
	c.t.Helper()
	var all struct {
		TargetInfos []struct {
			TargetID string
			Attached bool
		}
	}
	var one struct{ TargetInfo struct{ Attached bool } }
	c.decode(c.call("", "Target.getTargetInfo", map[string]any{"targetId": target}), &one)
	c.decode(c.call("", "Target.getTargets", nil), &all)
	for _, info := range all.TargetInfos {
		if info.TargetID == target {
			if info.Attached != one.TargetInfo.Attached {
				c.t.Fatalf("attached: %v in the list, %v of the target alone", info.Attached, one.TargetInfo.Attached)
			}
			return info.Attached
		}
	}
	c.t.Fatalf("%s is not in the list", target)
	return false
}

func (c *tester) decode(raw json.RawMessage, out any) {
	c.t.Helper()
	if err := json.Unmarshal(raw, out); err != nil {
		c.t.Fatal(err)
	}
}

// TestAttachedIsOfClients: a target without clients is not attached, in answers and in events, although the controller is attached to it.
// chromedp's WaitNewTarget takes no other.
func TestAttachedIsOfClients(t *testing.T) {
	b := newProfile(t).start()
	url := serveGateway(t, b)
	c, other := dial(t, url+"/"), dial(t, url+"/")
	c.call("", "Target.setDiscoverTargets", map[string]any{"discover": true})
	target := field(t, other.call("", "Target.createTarget", map[string]any{"url": "http://a.test/one"}), "targetId")
	c.told(target, "http://a.test/one", false)
	if c.isAttached(target) {
		t.Error("a target that no client is attached to is attached")
	}
	session := field(t, other.call("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}), "sessionId")
	if !c.isAttached(target) {
		t.Error("another client is attached, and this one is not told")
	}
	other.call(session, "Page.navigate", map[string]any{"url": "http://a.test/two"})
	c.told(target, "http://a.test/two", true)
	other.call("", "Target.detachFromTarget", map[string]any{"sessionId": session})
	if c.isAttached(target) {
		t.Error("the client has left the target, which stays attached")
	}
}

// told waits until the client has been told that a target is at an address, and checks "attached" until then.
func (c *tester) told(target, address string, attached bool) {
	c.t.Helper()
	for {
		m := <-c.events
		var p struct {
			TargetInfo struct {
				TargetID, URL string
				Attached      bool
			}
		}
		c.decode(m.Params, &p)
		if p.TargetInfo.TargetID != target {
			continue
		}
		early := attached && p.TargetInfo.URL != address // sent before the client attached
		if p.TargetInfo.Attached != attached && !early {
			c.t.Errorf("%s at %q: attached %v", m.Method, p.TargetInfo.URL, p.TargetInfo.Attached)
		}
		if p.TargetInfo.URL == address {
			return
		}
	}
}
