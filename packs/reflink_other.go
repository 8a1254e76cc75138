//go:build !linux

package packs

import (
	"errors"
	"os"
)

func reflink(_, _ *os.File) error { return errors.ErrUnsupported }
