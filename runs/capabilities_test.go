package runs

import (
	"crypto/sha256"
	"testing"
	"time"
	"warren/shim"
)

// An empty secret opens nothing.
func TestNoCapabilityOpensNothing(t *testing.T) {
	t.Parallel()
	r := newRun("r", "p", "w", running)
	r.answer = &Started{}
	m := &Manager{byProfile: map[string]*run{"p": r}, byCap: map[[32]byte]*Capability{}}
	c := &Capability{run: r, cancel: func() {}}
	c.ctx = t.Context()
	hash := sha256.Sum256(nil)
	c.Hash, m.byCap[hash] = hash[:], c
	if m.OpenedBy("") != nil {
		t.Error("no capability opens a run")
	}
}

// A capability expires in the millisecond of its expiry.
func TestCapabilityExpires(t *testing.T) {
	t.Parallel()
	at := time.Now().UnixMilli()
	for _, c := range []struct {
		expires int64
		over    bool
	}{{0, false}, {1, true}, {at, true}, {at + time.Hour.Milliseconds(), false}} {
		if got := (&Capability{Capability: shim.Capability{ExpiresAt: c.expires}}).expired(); got != c.over {
			t.Errorf("one that expires at %d is over %v at %d", c.expires, got, at)
		}
	}
}
