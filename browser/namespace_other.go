//go:build !linux

package browser

import (
	"errors"
	"net"
)

// ChildArgument is the argument of the child that enters a namespace.
const ChildArgument = "burrow"

var errOnlyLinux = errors.New("only Linux has network namespaces")

// EnterNamespace always fails on this system.
func EnterNamespace() error { return errOnlyLinux }

// SpareNetwork is a network namespace that no run uses yet. There is none on this system.
type SpareNetwork struct{}

// OpenSpareNetwork always fails on this system.
func OpenSpareNetwork() (*SpareNetwork, error) {
	return nil, &IsolationError{Refused: true, Err: errOnlyLinux}
}

// Close does nothing.
func (*SpareNetwork) Close() error { return nil }

func openNamespace(*Spec, bool) (isolator, error) {
	return nil, &IsolationError{Refused: true, Err: errOnlyLinux}
}

// knowsPeers says that this system does not tell who owns a connection.
const knowsPeers = false

type peers struct{}

func (*peers) check(net.Conn, int) error { return nil }

// isSnap returns false: only Linux has snaps.
func isSnap(string) bool { return false }
