//go:build !linux

package shim

// awaitGone has nothing to look at: the browser ends by itself when it sees its pipe closed, and on Windows with its job.
func awaitGone(profileDir, name string) {}
