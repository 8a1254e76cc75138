package nodes

import (
	"strings"
	"testing"
)

// TestIsLabel: keys and values are words of some characters, and a value may be empty.
func TestIsLabel(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 63)
	for _, c := range []struct {
		key, value string
		want       bool
	}{
		{"zone", "berlin", true}, {"a.b/c-d_e", "1.2", true}, {long, long, true}, {"ssd", "", true}, {"A", "Z", true}, {"0", "9", true},
		{"", "", false}, {"", "a", false}, {"-a", "b", false}, {"a", ".b", false}, {long + "x", "a", false}, {"a", long + "x", false},
		{"a b", "c", false}, {"a", "b c", false}, {"ä", "b", false}, {"a", "b\n", false}, {"a=", "b", false}, {"a", "b,c", false},
	} {
		if got := IsLabel(c.key, c.value); got != c.want {
			t.Errorf("%q=%q: %v", c.key, c.value, got)
		}
	}
}
