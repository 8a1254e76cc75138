package browser

import (
	"net"
	"os/exec"
)

// The two kinds of network isolation.
const (
	InNamespace = "namespace" // by the kernel: the relay's socket is the only way out
	OnLoopback  = "loopback"  // by Chrome's flags, and by a relay that serves only this browser's connections
)

// Isolation says how a run is confined to its relay, and what it sees of this machine's files.
type Isolation struct {
	Network string `json:"network"` // InNamespace or OnLoopback
	Files   string `json:"files"`   // FilesInNamespace or FilesByGuard
	Sandbox bool   `json:"sandbox"` // Chrome's own sandbox is on
}

// The two kinds of file isolation.
const (
	// FilesInNamespace: the run has a mount namespace, in which Spec.Protected does not exist (mount_namespaces(7)).
	FilesInNamespace = "namespace"
	// FilesByGuard: commands of DevTools clients that refer to protected files are refused. An extension or a bug of Chrome's may find
	// another way.
	FilesByGuard = "guard"
)

// Warning is something that the user should know about a run. Code is for programs, Message for people.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// IsolationError says why a run cannot be isolated as demanded. Refused says that this machine forbids it permanently; otherwise another
// attempt may succeed.
type IsolationError struct {
	Refused bool
	Advice  string // what to do, with the command; "": unknown
	Err     error
}

// Error satisfies error.
func (e *IsolationError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *IsolationError) Unwrap() error { return e.Err }

// isolator is an isolation backend: it provides the relay's listener and starts the browser. Nothing else in this package knows how the
// browser is isolated.
type isolator interface {
	// listener returns the socket that the relay serves and that the browser's --proxy-server names.
	listener() net.Listener
	// start starts cmd in isolation, and returns the command whose process it is.
	start(cmd *exec.Cmd) (*exec.Cmd, error)
	// isolation returns what the backend provides.
	isolation() Isolation
	// warnings returns what it leaves open.
	warnings() []Warning
	// admit returns an error unless a connection to the listener may be served. group is the browser's process group.
	admit(c net.Conn, group int) error
	// close releases everything, the listener too.
	close() error
}
