package testnet

import (
	"bufio"
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
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	// Every user of the machine may open windows there, whatever this one's umask.
	cmd := exec.Command("sh", "-c", "umask 0; exec Xvfb -displayfd 3 -nolisten tcp -ac -screen 0 1280x800x24")
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
	number, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Skipf("needs Xvfb, which did not start: %v", err)
	}
	return ":" + strings.TrimSpace(number)
}
