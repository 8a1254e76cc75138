package testnet

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// endWithThread has the kernel end a server at once when the thread that started it ends. The watcher does it a moment later.
func endWithThread(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }

// killChildren suspends a process, so that it starts no more, and kills its children (proc_pid_task(5)). It does nothing to one that has
// ended.
func killChildren(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		if errors.Is(err, syscall.ESRCH) {
			err = nil
		}
		return err
	}
	list, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	for child := range strings.FieldsSeq(string(list)) {
		number, failed := strconv.Atoi(child)
		if failed == nil {
			failed = syscall.Kill(number, syscall.SIGKILL)
		}
		if !errors.Is(failed, syscall.ESRCH) {
			err = errors.Join(err, failed)
		}
	}
	return err
}
