//go:build !linux

package browser

// sharedMemoryFlags: only Linux has /dev/shm.
func sharedMemoryFlags() []string { return nil }
