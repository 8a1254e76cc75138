//go:build !linux

package shim

import "errors"

// What only Linux offers.

// adoptOrphans does nothing: the system's first process reaps orphans, and on Windows an exited process needs no
// reaping.
func adoptOrphans() error { return nil }

func reapOrphans(func() int, <-chan struct{}) (stop func()) { return func() {} }

// endLeftovers does nothing: the browser exits when it sees its pipe closed, and on Windows with its job.
func endLeftovers(profileDir, name string) {}

// killListener fails: this system does not prove which process listens on a unix socket.
func killListener(socket string) error {
	return errors.New("the process that holds " + socket + " does not answer, and was started by another server: end it by hand")
}

// measureCPU reports nothing on these systems.
func measureCPU() (cpuUse, bool) { return cpuUse{}, false }

func measureMemory([]int) memoryUse { return memoryUse{} }

// setSessionNice fails: these systems have no share of processor time that may be set back by an ordinary user.
func setSessionNice(int) error { return errors.ErrUnsupported }

// oomKills returns 0: this system does not count kills for lack of memory.
func oomKills() int64 { return 0 }
