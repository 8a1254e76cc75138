//go:build !linux

package shim

import "errors"

// endLeftovers does nothing: the browser exits when it sees its pipe closed, and on Windows with its job.
func endLeftovers(profileDir, name string) {}

// killListener fails: this system does not prove which process listens on a unix socket.
func killListener(socket string) error {
	return errors.New("the process that holds " + socket + " does not answer, and was started by another server: end it by hand")
}
