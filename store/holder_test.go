package store

import (
	"testing"
	"time"
)

// TestKeyAndTheClock: a key that has expired stays so when the clock is set back, and one that lives gets through a clock that was a day
// ahead for a while.
func TestKeyAndTheClock(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	h, err := Key{Scopes: `["read"]`, ExpiresAt: new(time.Now().Add(time.Hour).UnixMilli())}.Holder()
	if err != nil || h.Expired() {
		t.Fatalf("it has an hour: %v", err)
	}
	for _, c := range []struct {
		name    string
		wall    time.Duration // of the clock, since the key was read
		elapsed time.Duration
		over    bool
	}{
		{"as it was read", 0, 0, false},
		{"in time", 59 * time.Minute, 59 * time.Minute, false},
		{"too late", 61 * time.Minute, 61 * time.Minute, true},
		{"a day ahead", day, time.Minute, true},
		{"back again", 2 * time.Minute, 2 * time.Minute, false},
		{"a day back, in time", -day, 59 * time.Minute, false},
		{"a day back, too late", 61*time.Minute - day, 61 * time.Minute, true},
		{"after a sleep of the machine", day, 0, true},
	} {
		if got := h.expiredAt(h.read.Add(c.wall), c.elapsed); got != c.over {
			t.Errorf("%s: over is %v", c.name, got)
		}
	}
	if never := (Holder{read: time.Now()}); never.Expired() {
		t.Error("a key that never expires is over")
	}
}
