package runs

import (
	"strings"
	"testing"
)

// TestLogLines: a line of the log keeps its words and loses addresses, and what a terminal obeys.
func TestLogLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{`{"time":"2026-11-21T14:06:00Z","level":"WARN","msg":"a page","target":"7","url":"https://u:p@shop.example/a?token=1"}`,
			"warn a page target=7 url=https:…"},
		{`{"level":"INFO","msg":"via socks5://user:hunter2@proxy.example:1080, over"}`, "info via socks5:… over"},
		{"panic: runtime error: index out of range [3]\x1b[31m", " panic: runtime error: index out of range [3][31m"},
		{`{"level":"INFO","msg":"file:///home/alice/secret.txt is gone"}`, "info file:… is gone"},
		{`{"level":"INFO","msg":"[7:8:ERROR:dbus/bus.cc(407)] no /run/dbus"}`, "info [7:8:ERROR:dbus/bus.cc(407)] no /run/dbus"},
		{`{"level":"INFO","msg":"data:text/html,secret"}`, "info data:…"},
		{`{"level":"INFO","msg":"at 12:30:00 bus.cc(407) Failed: no"}`, "info at 12:30:00 bus.cc(407) Failed: no"},
	} {
		line, want := c.line, c.want
		got := parseLogLine(line)
		if text := got.Level + " " + got.Text; text != want {
			t.Errorf("%s\nbecomes %q, want %q", line, text, want)
		}
	}
	if got := cleanLogText(strings.Repeat("ä", 2000)); len(got) > maxLogText+3 || strings.ContainsRune(got, '�') {
		t.Errorf("a long line: %d bytes", len(got))
	}
}
