//go:build !windows

package browser

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// give makes the pipe's ends Chrome's file descriptors 3 and 4, where --remote-debugging-pipe expects them. closeChild must be called after
// the start.
func (p *pipe) give(cmd *exec.Cmd) error {
	cmd.ExtraFiles = []*os.File{p.childR, p.childW}
	return nil
}

// writeSome writes what the socket takes without blocking, and returns how many bytes that was. A later blocking write reports errors.
func writeSome(c syscall.RawConn, b []byte) (n int) {
	_ = c.Write(func(fd uintptr) bool {
		n, _ = unix.Write(int(fd), b)
		return true
	})
	return max(n, 0)
}
