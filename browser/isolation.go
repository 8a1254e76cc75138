package browser

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
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

// CheckIsolation creates a namespace as for a run and closes it again. It fails with an *IsolationError where that is not possible.
func CheckIsolation() error { return tryNamespace(&Spec{}) }

// CheckFiles creates a namespace as for a run and tries whether the kernel can hide files in it. It fails with an *IsolationError where
// that is not possible.
func CheckFiles() error { return tryNamespace(&Spec{Files: FilesInNamespace}) }

func tryNamespace(s *Spec) error {
	iso, err := openNamespace(s, true)
	if err != nil {
		return err
	}
	return iso.close()
}

// openIsolation sets up the best isolation of this machine: a namespace, or loopback if the machine refuses one or the run cannot use one.
func openIsolation(s *Spec) (isolator, error) {
	refused := s.needsLoopback()
	if refused == nil && s.Network != OnLoopback {
		iso, err := openNamespace(s, true)
		if err == nil {
			return iso, nil
		}
		if refused, _ = errors.AsType[*IsolationError](err); refused == nil || !refused.Refused {
			return nil, err // a temporary error is no reason for weaker isolation
		}
	}
	if refused == nil {
		refused = &IsolationError{Refused: true, Err: errors.New("it was asked for")}
	}
	switch {
	case s.Network == InNamespace:
		return nil, refused
	case os.Geteuid() == 0: // Chrome's sandbox needs an ordinary user; without it a page that breaks out of Chrome is root
		return nil, &IsolationError{
			Refused: true, Advice: refused.Advice,
			Err: fmt.Errorf("%w; and as root Chrome runs in no other way, since its sandbox would be off", refused)}
	}
	return openLoopback(s, refused)
}

// needsLoopback returns why a run cannot use a namespace on any machine; nil if it can.
func (s *Spec) needsLoopback() *IsolationError {
	switch {
	case s.WebRTC == WebRTCDefault:
		return &IsolationError{
			Refused: true, Advice: "set webrtc to proxy_only or off",
			Err: errors.New("webrtc default sends UDP, which a namespace has no way for")}
	case !s.Headless && displayOverTCP(s.ExtraEnv):
		return &IsolationError{
			Refused: true, Advice: "run headless, or give a display on this machine",
			Err: errors.New("the display is reached over the network (DISPLAY names a host), which a namespace has no way to")}
	case isSnap(s.Path):
		return &IsolationError{
			Refused: true, Advice: "install a browser that is no snap, such as Google Chrome's .deb",
			Err: errors.New("the browser is a snap, which cannot be started in a namespace")}
	}
	return nil
}

// displayOverTCP reports whether windows would go to an X server over TCP, as with ssh -X. DISPLAY then names a host (X(7)).
func displayOverTCP(extra []string) bool {
	env := map[string]string{"DISPLAY": os.Getenv("DISPLAY"), "WAYLAND_DISPLAY": os.Getenv("WAYLAND_DISPLAY")}
	for _, entry := range extra {
		if key, value, ok := strings.Cut(entry, "="); ok {
			env[key] = value
		}
	}
	host, _, ok := strings.Cut(env["DISPLAY"], ":")
	return ok && env["WAYLAND_DISPLAY"] == "" && host != "" && host != "unix" && !strings.HasPrefix(host, "/")
}
