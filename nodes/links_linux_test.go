package nodes

import (
	"crypto/tls"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDeadPeer: the system ends a connection to another server whose machine is gone, whether something is under way or not.
func TestDeadPeer(t *testing.T) {
	t.Parallel()
	a, b := linkedNodes(t)
	conn, err := a.links.dial(t.Context(), b.ID(), answerLinks(t, b, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*tls.Conn).NetConn().(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		what          string
		level, option int
		want          int
	}{
		{"unconfirmed data, in ms", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 30_000},
		{"keep-alive", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{"silence until a probe, in s", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 10},
		{"time between probes, in s", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 5},
		{"probes", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 4},
	} {
		var got int
		var failed error
		err := raw.Control(func(fd uintptr) { got, failed = unix.GetsockoptInt(int(fd), x.level, x.option) })
		if err != nil || failed != nil || got != x.want {
			t.Errorf("%s: %d, %v, %v; want %d", x.what, got, err, failed, x.want)
		}
	}
}
