package browser

import "testing"

// TestLargestOf: one silent tab is the largest, of several nobody knows.
func TestLargestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sizes []int64
		want  int
	}{{nil, -1}, {[]int64{3, 9, 4}, 1}, {[]int64{9, silent, 4}, 1}, {[]int64{silent, 9, silent}, 1}, {[]int64{silent, silent}, -1}} {
		if got := largestOf(c.sizes); got != c.want {
			t.Errorf("of %v the largest is %d, not %d", c.sizes, got, c.want)
		}
	}
}
