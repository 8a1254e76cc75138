//go:build !linux

package shim

import "errors"

// awaitGone has nothing to look at: the browser ends by itself when it sees its pipe closed, and on Windows with its job.
func awaitGone(profileDir, name string) {}

// killListener would end the process that listens on a unix socket. This system does not prove which one that is.
func killListener(socket string) error {
	return errors.New("the process that holds " + socket + " does not answer, and was started by another server: end it by hand")
}
