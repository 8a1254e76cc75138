package cli

import (
	"fmt"
	"testing"
)

// TestOpenerOf: each system has its opener. Without a display there is none.
func TestOpenerOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ system, set, want string }{
		{"linux", "", "[]"}, {"linux", "DISPLAY", "[xdg-open]"}, {"linux", "WAYLAND_DISPLAY", "[xdg-open]"},
		{"freebsd", "DISPLAY", "[xdg-open]"}, {"darwin", "", "[open]"}, {"darwin", "SSH_CONNECTION", "[]"},
		{"windows", "", "[rundll32 url.dll,FileProtocolHandler]"},
	} {
		env := func(name string) string { return map[bool]string{true: ":0"}[name == c.set] }
		if got := fmt.Sprint(openerOf(c.system, env)); got != c.want {
			t.Errorf("%s with %q: %s, want %s", c.system, c.set, got, c.want)
		}
	}
}
