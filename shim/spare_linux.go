package shim

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasSpares says that a start waits for what a spare has ready.
const hasSpares = true

// logTo makes a file the standard error of this process, where a shim that is no spare has it from the beginning.
func logTo(path string) error {
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	return unix.Dup3(int(log.Fd()), 2, 0)
}
