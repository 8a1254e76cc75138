package testnet

import "golang.org/x/sys/unix"

// memory is Debian's folder of files in memory (shm_overview(7)).
const memory = "/dev/shm"

// enoughMemory is more than all tests of a package have there at once.
const enoughMemory = 8 << 30

// FastFolder returns a folder in memory for databases of tests that are about neither disks nor power, or "" for the usual one: where
// there is little memory. Each of their requests waits for the disk else, and all at once for one disk.
func FastFolder() string {
	var about unix.Statfs_t
	if err := unix.Statfs(memory, &about); err != nil || about.Bavail*uint64(about.Bsize) < enoughMemory {
		return ""
	}
	if unix.Access(memory, unix.W_OK) != nil {
		return ""
	}
	return memory
}
