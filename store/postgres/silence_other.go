//go:build !linux

package postgres

import (
	"context"
	"syscall"
)

// limitSilence leaves it to the system how long data may be without a confirmation.
func limitSilence(context.Context, string, string, syscall.RawConn) error { return nil }
