package snapshots

import (
	"io"
	"syscall"
)

// An import leaves room on the disk for what else goes on: the database's writes, and what running browsers write.
const (
	mostReserve  = 1 << 30
	reserveParts = 20 // of smaller disks, one part of so many
	lookAgain    = 16 << 20
)

// hasRoom returns ENOSPC if there is no room for so many bytes beside the reserve.
func (k *Keeper) hasRoom(size int64) error {
	free, total, known := k.room(k.data)
	if known && free < uint64(size)+min(mostReserve, total/reserveParts) { //nolint:gosec // sizes are not negative
		return syscall.ENOSPC
	}
	return nil
}

// HasRoom returns disk_full if there is no room for so many bytes beside a reserve.
func (k *Keeper) HasRoom(size int64) error { return k.problemOf(k.hasRoom(size)) }

// roomy is a body that ends with ENOSPC where the reserve begins.
type roomy struct {
	io.Reader
	k    *Keeper
	left int // bytes until it looks again
}

// Read is of io.Reader.
func (r *roomy) Read(p []byte) (int, error) {
	if r.left <= 0 {
		if err := r.k.hasRoom(lookAgain); err != nil {
			return 0, err
		}
		r.left = lookAgain
	}
	n, err := r.Reader.Read(p)
	r.left -= n
	return n, err
}
