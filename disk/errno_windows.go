package disk

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// Files report the system's own codes on Windows (System Error Codes). Package syscall's ENOSPC and its like are Go's own numbers there.
// They are here too: our own code returns them.
func fullErrnos() []error {
	return []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED, syscall.ENOSPC}
}

func brokenErrnos() []error {
	return []error{windows.ERROR_CRC, windows.ERROR_IO_DEVICE, windows.ERROR_SECTOR_NOT_FOUND, syscall.EIO}
}
