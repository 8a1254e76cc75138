package packs

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// syncFileSystem waits until the disk has everything of the file system that a folder is on, which is faster than a wait for each of a
// thousand files (syncfs(2)). done is false where that is not known to work: of FUSE the kernel answers at once, and waits for nothing.
func syncFileSystem(dir string) (done bool, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	var about unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &about); err != nil {
		return false, err
	}
	const zfs, bcachefs = 0x2fc12fc1, 0xca451a4e
	if !slices.Contains([]int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, unix.TMPFS_MAGIC, zfs, bcachefs}, int64(about.Type)) {
		return false, nil
	}
	return true, unix.Syncfs(int(f.Fd()))
}
