//go:build unix

package main

import "syscall"

// private makes what this process creates the owner's alone.
func private() { syscall.Umask(0o077) }
