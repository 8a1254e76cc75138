package browser

import "golang.org/x/sys/unix"

// enoughShm is what Chrome wants of /dev/shm for the memory that its processes share.
const enoughShm = 256 << 20

// sharedMemoryFlags make Chrome keep shared memory in its temporary folder where /dev/shm is small, as it is in containers (64 MiB), or cannot be
// written: else pages crash (Chromium, base/base_switches.cc, --disable-dev-shm-usage).
func sharedMemoryFlags() []string {
	var st unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &st); err == nil && st.Flags&unix.ST_RDONLY == 0 && st.Bavail*uint64(st.Bsize) >= enoughShm {
		return nil
	}
	return []string{"--disable-dev-shm-usage"}
}
