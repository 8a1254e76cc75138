package testnet

import "syscall"

// endWithThread does nothing: the watcher ends the servers.
func endWithThread(*syscall.SysProcAttr) {}

// killChildren leaves them to themselves.
func killChildren(int) error { return nil }
