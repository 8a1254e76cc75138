package browser

import "golang.org/x/sys/unix"

// enoughShm is how much free space of /dev/shm Chrome needs, in bytes.
const enoughShm = 256 << 20

// sharedMemoryFlags makes Chrome keep shared memory in its temporary folder if /dev/shm is small, as in containers (64 MiB), or read-only.
// Otherwise pages would crash (Chromium, base/base_switches.cc, --disable-dev-shm-usage).
func sharedMemoryFlags() []string {
	var st unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &st); err == nil && st.Flags&unix.ST_RDONLY == 0 && st.Bavail*uint64(st.Bsize) >= enoughShm {
		return nil
	}
	return []string{"--disable-dev-shm-usage"}
}
