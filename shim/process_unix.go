//go:build unix

package shim

import (
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// detach gives the shim a session of its own: Ctrl-C in the server's terminal is the server's to handle, and the server's
// death is not the shim's.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// isOwn reports whether a folder is this user's alone, and no link.
func isOwn(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && info.Mode().Perm()&0o077 == 0 && int(st.Uid) == os.Geteuid()
}

func interrupt(p *os.Process) { p.Signal(syscall.SIGTERM) } //nolint:errcheck // it may be gone

// become prepares the process: what it makes is the owner's alone, a broken standard output is an error and not a death,
// a second SIGTERM does not cut the closing short, and its browser's orphans come to it.
func become(log *slog.Logger) {
	syscall.Umask(0o077)
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT)
	if err := adoptOrphans(); err != nil {
		log.Warn("the browser's orphans go to the system's first process", "cause", err)
	}
}
