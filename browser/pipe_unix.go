//go:build !windows

package browser

import (
	"os"
	"os/exec"
)

// givePipe makes the pipe's ends Chrome's file descriptors 3 and 4, where --remote-debugging-pipe expects them.
func givePipe(cmd *exec.Cmd, p *pipe) error {
	cmd.ExtraFiles = []*os.File{p.childR, p.childW}
	return nil
}
