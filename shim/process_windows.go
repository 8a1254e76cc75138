package shim

import (
	"log/slog"
	"os"
	"os/exec"
	"syscall"
)

// detach gives the shim a process group of its own, so that Ctrl-C in the server's console reaches only the server.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// interrupt ends the shim: Windows has no signal to ask with. Its browser exits when the pipe breaks.
func interrupt(p *os.Process) { p.Kill() } //nolint:errcheck // it may be gone

// isOwn reports whether a path is a folder: the temporary folder belongs to the user here.
func isOwn(info os.FileInfo) bool { return info.IsDir() }

func prepareProcess(*slog.Logger) {}

// exitSignal returns "": Windows has no signals.
func exitSignal(*os.ProcessState) string { return "" }
