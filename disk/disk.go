// Package disk tells what a file system's error means, on every system.
package disk

import (
	"errors"
	"slices"
)

// IsFull reports whether a file could not be written because the disk or its owner's quota is full.
func IsFull(err error) bool { return is(err, fullErrnos()) }

// IsBroken reports whether the disk itself failed: what it holds there cannot be read or written.
func IsBroken(err error) bool { return is(err, brokenErrnos()) }

func is(err error, kinds []error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}
