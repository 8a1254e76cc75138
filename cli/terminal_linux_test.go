package cli

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"warren/testnet"
)

// openTerminal returns both ends of a pseudo-terminal of some columns (pty(7)).
func openTerminal(t *testing.T, columns uint16) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// TestTerminal: on a terminal the table has colours, unless NO_COLOR is set, and is as wide as the terminal, down to 20 columns.
func TestTerminal(t *testing.T) {
	var asked testnet.Buffer
	s := httptest.NewServer(anyServer(t, &asked))
	defer s.Close()
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "admin.key"), []byte("the-key"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("COLUMNS", "")
	t.Setenv("TERM", "xterm")
	for _, c := range []struct {
		columns uint16
		noColor string
	}{{200, ""}, {40, "1"}, {20, "1"}} {
		t.Setenv("NO_COLOR", c.noColor)
		master, slave := openTerminal(t, c.columns)
		if err := New(testProgram{}).Run(t.Context(), []string{"profile", "list", "--url", s.URL, "--data", data},
			Streams{strings.NewReader(""), slave, slave}); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1<<16)
		n, err := master.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(b[:n]), "\r\n", "\n")
		if colours := strings.Contains(text, bold); colours == (c.noColor != "") {
			t.Errorf("%d columns, NO_COLOR=%q: colours %v\n%q", c.columns, c.noColor, colours, text)
		}
		for line := range strings.Lines(text) {
			if w := shown(strings.TrimSuffix(line, "\n")); c.noColor != "" && w > int(c.columns) {
				t.Errorf("%d columns of %d: %q", w, c.columns, line)
			}
		}
		if c.columns >= 40 && !strings.Contains(text, "NAME") { // the widest column is cut, and not those behind it
			t.Errorf("%d columns hide the second one: %q", c.columns, text)
		}
		if !strings.Contains(text, "ID") || c.columns < 200 && !strings.Contains(text, "…") {
			t.Errorf("%d columns: %q", c.columns, text)
		}
	}
}
