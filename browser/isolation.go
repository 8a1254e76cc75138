package browser

import (
	"net"
	"os/exec"
)

// The two kinds of isolation that a run can have.
const (
	InNamespace = "namespace" // the kernel: no way out but the relay's socket
	OnLoopback  = "loopback"  // flags, and a relay that takes this browser's connections only
)

// Isolation says how a run is kept from going out beside its relay.
type Isolation struct {
	Network string `json:"network"` // InNamespace or OnLoopback
	Files   string `json:"files"`   // FilesInNamespace or FilesByGuard
	Sandbox bool   `json:"sandbox"` // Chrome's own sandbox is on
}

// The two ways in which files of the machine are kept from a run.
const (
	// FilesInNamespace: the run has a mount namespace, in which Spec.Protected is not there (mount_namespaces(7)).
	FilesInNamespace = "namespace"
	// FilesByGuard: DevTools clients are refused what leads to them. An extension or a fault of Chrome's may find another way.
	FilesByGuard = "guard"
)

// Warning is something that the user should know about a run. Code is for programs, Message for people.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// IsolationError says why a run cannot be isolated as it must be. Refused tells whether the machine forbids it, now and later;
// otherwise another attempt may do better.
type IsolationError struct {
	Refused bool
	Advice  string // what to do, with the command; "" when nothing is known
	Err     error
}

func (e *IsolationError) Error() string { return e.Err.Error() }

func (e *IsolationError) Unwrap() error { return e.Err }

// isolator is where a browser lives: it decides where the relay's listener comes from and how the child is started.
// Nothing else in this package knows how the browser is isolated.
type isolator interface {
	// listener is the socket that the relay serves on and that the browser's --proxy-server names.
	listener() net.Listener
	// start starts the prepared command inside, and returns the command whose process it is.
	start(cmd *exec.Cmd) (*exec.Cmd, error)
	// isolation says what this burrow gives.
	isolation() Isolation
	// warnings say what it leaves open.
	warnings() []Warning
	// admit says whether a connection to the listener may be served. group is the process group of the browser.
	admit(c net.Conn, group int) error
	// close releases what open took, the listener too.
	close() error
}

// fileIsolator is a mount namespace that waits for its browser.
type fileIsolator interface {
	start(cmd *exec.Cmd) (*exec.Cmd, error)
	close() error
}
