package runs

import "testing"

func TestMaxStarting(t *testing.T) {
	for _, c := range []struct {
		cores int
		mib   int64 // 0: the system does not tell
		want  int
	}{{2, 24 << 10, 2}, {8, 2 << 10, 4}, {4, 300, 1}, {4, 0, 4}} {
		var memory *Memory
		if c.mib > 0 {
			memory = &Memory{TotalBytes: c.mib << 20}
		}
		if got := maxStarting(c.cores, memory); got != c.want {
			t.Errorf("%d cores, %d MiB: got %d, want %d", c.cores, c.mib, got, c.want)
		}
	}
	if DefaultMaxStarting() < 1 {
		t.Error("no browser may start on this machine")
	}
}
