//go:build !windows

package browser

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// maxTempDir is the longest TempDir in bytes. Chrome's "/org.chromium.Chromium.XXXXXX/SingletonSocket" must fit below it into the address
// of a unix socket (104 bytes on macOS, 108 on Linux).
const maxTempDir = 104 - 1 - 46

// group is the process group of a browser: the main process and all that it starts (zygotes, renderers, the crash handler).
type group struct{ id int }

// prepareGroup makes cmd the leader of a new group. It sets no Pdeathsig: when this process dies, the pipe closes, and Chrome flushes its
// cookies and exits. A signal would lose them.
func prepareGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true
}

func newGroup(leader *os.Process) *group { return &group{leader.Pid} }

// interrupt asks the main process to quit.
func (g *group) interrupt() { _ = syscall.Kill(g.id, syscall.SIGINT) }

// kill kills every process of the group.
func (g *group) kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

func (g *group) close() {}

// await waits until the group is empty, for at most d, and reports whether it is.
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
		time.Sleep(pause) // these are not our children, so nothing can be waited on
	}
}

// reap waits for exited processes of the group that have become children of this process, as they do if it is their subreaper.
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
