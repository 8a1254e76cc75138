//go:build !linux && !windows

package proxy

// available is not asked for where the kernel does not copy: a peek and a read tell the same.
func available(int) int { return 0 }
