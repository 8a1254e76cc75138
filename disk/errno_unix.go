//go:build !windows

package disk

import "syscall"

// errno(3).
func fullErrnos() []error   { return []error{syscall.ENOSPC, syscall.EDQUOT} }
func brokenErrnos() []error { return []error{syscall.EIO} }
