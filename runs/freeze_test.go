package runs

import (
	"testing"
	"time"

	"warren/store"
)

// TestFreezeAfter: a profile's own time counts before the server's, and a run with a window is never frozen.
func TestFreezeAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		own      *int64
		server   time.Duration
		headless bool
		want     time.Duration
	}{
		{nil, 0, true, 0}, {nil, time.Minute, true, time.Minute}, {new(int64(0)), time.Minute, true, 0},
		{new(int64(5)), time.Minute, true, 5 * time.Second}, {new(int64(5)), 0, true, 5 * time.Second},
		{new(int64(5)), time.Minute, false, 0},
	} {
		if got := freezeAfter(store.Profile{FreezeAfter: c.own}, c.server, c.headless); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
