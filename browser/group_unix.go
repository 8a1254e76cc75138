//go:build !windows

package browser

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// maxTempDir is the longest path that still leaves room for Chrome's "/org.chromium.Chromium.XXXXXX/SingletonSocket" in a
// unix socket's address (104 bytes on macOS, 108 on Linux).
const maxTempDir = 104 - 1 - 46

// group is the process group of a browser: the main process and all that it starts (zygotes, renderers, the crash handler).
type group struct{ id int }

// prepareGroup makes cmd the leader of a new group. There is no Pdeathsig: when we die, the pipe closes and Chrome ends by itself with its
// cookies flushed; a signal would lose them.
func prepareGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true
}

func newGroup(leader *os.Process) *group { return &group{leader.Pid} }

// interrupt asks the main process to quit.
func (g *group) interrupt() { _ = syscall.Kill(g.id, syscall.SIGINT) }

// kill ends every process of the group.
func (g *group) kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

func (g *group) close() {}

// await waits until the group is empty, at most for d, and reports whether it is.
func (g *group) await(d time.Duration) bool {
	deadline := time.Now().Add(d)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		g.reap()
		if !g.alive() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause) // there is nothing to wait on: these are not our children
	}
}

// reap takes the exit of processes of the group that became our children, as they do when we are their subreaper. The main process was waited for before.
func (g *group) reap() {
	for {
		pid, err := syscall.Wait4(-g.id, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if pid <= 0 || err != nil {
			return
		}
	}
}

// alive reports whether a process of the group still runs.
func (g *group) alive() bool {
	if errors.Is(syscall.Kill(-g.id, 0), syscall.ESRCH) {
		return false
	}
	return hasLiving(g.id)
}
