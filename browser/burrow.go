package browser

import (
	"fmt"
	"net"
	"os"
	"os/exec"
)

// Isolation says how a run is kept from going out beside its relay.
type Isolation struct {
	Network string `json:"network"` // "namespace" or "loopback"
	Sandbox bool   `json:"sandbox"` // Chrome's own sandbox is on
}

// Warning is something that the user should know about a run. Code is for programs, Message for people.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// burrow is where a browser lives: it decides where the relay's listener comes from and how the child is started.
// Nothing else in this package knows how the browser is isolated.
type burrow interface {
	// listener is the socket that the relay serves on and that the browser's --proxy-server names.
	listener() net.Listener
	// start starts the prepared command inside. It may change the command.
	start(cmd *exec.Cmd) error
	// isolation says what this burrow gives.
	isolation() Isolation
	// close releases what open took, the listener too.
	close() error
}

// openBurrow prepares the best burrow that this machine gives.
func openBurrow() (burrow, error) {
	return openLoopback()
}

// loopback is the burrow without a namespace: the relay listens on 127.0.0.1 and the flags keep Chrome on it.
type loopback struct{ l net.Listener }

func openLoopback() (*loopback, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the relay's listener: %w", err)
	}
	return &loopback{l}, nil
}

func (b *loopback) listener() net.Listener    { return b.l }
func (b *loopback) start(cmd *exec.Cmd) error { return cmd.Start() }
func (b *loopback) close() error              { return b.l.Close() }

// isolation: Chrome refuses to run its sandbox as root, and here the browser has the user that we have.
func (b *loopback) isolation() Isolation {
	return Isolation{Network: "loopback", Sandbox: os.Geteuid() != 0}
}
