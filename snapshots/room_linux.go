package snapshots

import "golang.org/x/sys/unix"

// roomAt returns how many bytes this user may still write to the file system of a folder, and how large that is. known is false if
// nobody can say.
func roomAt(dir string) (free, total uint64, known bool) {
	var about unix.Statfs_t
	if err := unix.Statfs(dir, &about); err != nil || about.Bsize <= 0 {
		return 0, 0, false
	}
	size := uint64(about.Bsize)
	return about.Bavail * size, about.Blocks * size, true
}
