package nodes

import (
	"context"
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitSilence ends a connection whose data nobody confirms (tcp(7), TCP_USER_TIMEOUT). Keep-alive alone sees only connections on which
// nothing is under way.
func limitSilence(_ context.Context, _, _ string, socket syscall.RawConn) error {
	var set error
	err := socket.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silentFor.Milliseconds()))
	})
	return errors.Join(err, set)
}
