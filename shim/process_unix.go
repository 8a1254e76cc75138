//go:build unix

package shim

import (
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// detach gives the shim a session of its own. Ctrl-C in the server's terminal reaches only the server, and the shim
// outlives the server.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// isOwn reports whether a path is a folder, not a link, that only this user can access.
func isOwn(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && info.Mode().Perm()&0o077 == 0 && int(st.Uid) == os.Geteuid()
}

func interrupt(p *os.Process) { p.Signal(syscall.SIGTERM) } //nolint:errcheck // the process may have exited

// prepareProcess sets the process up. New files belong to the owner alone, and writing to a broken standard output is
// an error. A second SIGTERM does not interrupt the closing. The browser's orphans become children of this process.
func prepareProcess(log *slog.Logger) {
	syscall.Umask(0o077)
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT)
	if err := adoptOrphans(); err != nil {
		log.Warn("the browser's orphans go to the system's first process", "cause", err)
	}
}

// exitSignal returns the signal that ended a process, "" for none.
func exitSignal(state *os.ProcessState) string {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal().String()
	}
	return ""
}
