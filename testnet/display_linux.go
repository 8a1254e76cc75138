package testnet

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// Display starts an X server without a screen, and returns the value for DISPLAY. The server ends with the test. Its
// socket is in the file system, not in the network. Without Xvfb the test is skipped.
func Display(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("Xvfb"); err != nil {
		t.Skipf("needs Xvfb (deploy/install-test-tools.sh): %v", err)
	}
	for range 5 {
		if display := fmt.Sprintf(":%d", 100+rand.IntN(50000)); startDisplay(t, display) {
			return display
		}
	}
	t.Skip("needs Xvfb, which did not start")
	return ""
}

// startDisplay starts an X server with this number and reports whether it runs. A number that the server chooses
// itself is not locked. A server in another network namespace would take the same one, and its windows with it.
func startDisplay(t testing.TB, display string) bool {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	// Every user of the machine may open windows there, whatever this user's umask.
	cmd := exec.Command("sh", "-c", "umask 0; exec Xvfb "+display+" -displayfd 3 -nolisten tcp -ac -screen 0 1280x800x24")
	cmd.ExtraFiles = []*os.File{in}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // the process may have exited
		cmd.Wait()                          //nolint:errcheck // the exit code does not matter
	})
	said, _ := io.ReadAll(io.LimitReader(out, int64(len(display)))) // the number and a line feed when it listens; nothing when it exits
	return ":"+strings.TrimSpace(string(said)) == display
}
