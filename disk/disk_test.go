package disk_test

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"testing"

	"warren/disk"
)

// TestIsFull: the codes of this system are known, wrapped as packages os and fs wrap them, and others are not taken for them.
func TestIsFull(t *testing.T) {
	t.Parallel()
	full, broken := []syscall.Errno{syscall.ENOSPC}, []syscall.Errno{syscall.EIO}
	if runtime.GOOS == "windows" {
		full = append(full, 39, 112, 1295) // ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL, ERROR_DISK_QUOTA_EXCEEDED
		broken = append(broken, 23, 1117)  // ERROR_CRC, ERROR_IO_DEVICE
	}
	for _, code := range full {
		err := fmt.Errorf("saving: %w", &fs.PathError{Op: "write", Path: "f", Err: code})
		if !disk.IsFull(err) || disk.IsBroken(err) {
			t.Errorf("%v is not a full disk", err)
		}
	}
	for _, code := range broken {
		err := fmt.Errorf("saving: %w", &fs.PathError{Op: "write", Path: "f", Err: code})
		if disk.IsFull(err) || !disk.IsBroken(err) {
			t.Errorf("%v is not a broken disk", err)
		}
	}
	for _, err := range []error{nil, fs.ErrNotExist, fs.ErrPermission, os.ErrDeadlineExceeded, syscall.EINVAL} {
		if disk.IsFull(err) || disk.IsBroken(err) {
			t.Errorf("%v is taken for the disk's fault", err)
		}
	}
}

// TestFullDisk: a disk that is full says so. WARREN_FULL_DISK names a folder on one, such as a tmpfs of 64 KiB.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("WARREN_FULL_DISK")
	if folder == "" {
		t.Skip("WARREN_FULL_DISK names no folder on a small disk")
	}
	f, err := os.CreateTemp(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { f.Close(); os.Remove(f.Name()) }() //nolint:errcheck // it holds nothing
	for range 1 << 14 {
		if _, err = f.Write(make([]byte, 1<<16)); err != nil {
			break
		}
	}
	if !disk.IsFull(err) {
		t.Errorf("1 GiB on a small disk: %v", err)
	}
}
