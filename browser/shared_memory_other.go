//go:build !linux

package browser

// sharedMemoryFlags returns nothing: only Linux has /dev/shm.
func sharedMemoryFlags() []string { return nil }
