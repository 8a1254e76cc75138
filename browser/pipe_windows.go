package browser

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
)

// give lets Chrome inherit its two handles and names them in --remote-debugging-io-pipes (read handle, write handle), since Windows has no
// file descriptors 3 and 4. Our own ends are made private, so that no child keeps the pipe open. closeChild must be called after the start.
func (p *pipe) give(cmd *exec.Cmd) error {
	for _, f := range []*os.File{p.r, p.w} {
		if err := syscall.SetHandleInformation(syscall.Handle(f.Fd()), syscall.HANDLE_FLAG_INHERIT, 0); err != nil {
			return fmt.Errorf("make our end of the pipe private: %w", err)
		}
	}
	read, write := syscall.Handle(p.childR.Fd()), syscall.Handle(p.childW.Fd())
	for _, h := range []syscall.Handle{read, write} {
		if err := syscall.SetHandleInformation(h, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT); err != nil {
			return fmt.Errorf("make the browser's end of the pipe inheritable: %w", err)
		}
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.AdditionalInheritedHandles = append(cmd.SysProcAttr.AdditionalInheritedHandles, read, write)
	handles := strconv.FormatUint(uint64(read), 10) + "," + strconv.FormatUint(uint64(write), 10)
	cmd.Args = slices.Insert(cmd.Args, 1, "--remote-debugging-io-pipes="+handles)
	return nil
}

// writeSome writes nothing: every write may block here.
func writeSome(syscall.RawConn, []byte) int { return 0 }
