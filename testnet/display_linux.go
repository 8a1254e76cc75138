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

// Display starts an X server without a screen, and returns what DISPLAY is to be. It ends with the test, which is skipped where there is
// no Xvfb. It has a socket in the file system and none in the network.
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

// startDisplay says whether the X server is there. The number is chosen for it: one that it finds by itself it does not lock, and a server in another network
// namespace takes the same, whereupon all new windows go there, and end with it.
func startDisplay(t testing.TB, display string) bool {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	// Every user of the machine may open windows there, whatever this one's umask.
	cmd := exec.Command("sh", "-c", "umask 0; exec Xvfb "+display+" -displayfd 3 -nolisten tcp -ac -screen 0 1280x800x24")
	cmd.ExtraFiles = []*os.File{in}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may be gone
		cmd.Wait()                          //nolint:errcheck // however it ends
	})
	said, _ := io.ReadAll(io.LimitReader(out, int64(len(display)))) // the number and a line feed, when it listens; nothing when it ends
	return ":"+strings.TrimSpace(string(said)) == display
}
