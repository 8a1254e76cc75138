package browser

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
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
	if s.Spare != nil && (refused != nil || s.Network == OnLoopback) {
		_ = s.Spare.Close() // the run cannot use it
		s.Spare = nil
	}
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

// loopback is the isolation in the machine's own network. The relay listens on 127.0.0.1, and flags confine Chrome to it. Files may still
// be hidden by a mount namespace.
type loopback struct {
	l     net.Listener
	why   *IsolationError
	files isolator // starts the browser where files are hidden; nil: they are not
	group Group    // as in the Spec
	peers peers
}

func openLoopback(s *Spec, why *IsolationError) (*loopback, error) {
	b := &loopback{why: why, group: s.Group}
	if s.Files != FilesByGuard && !isSnap(s.Path) {
		iso, err := openNamespace(s, false)
		refused, _ := errors.AsType[*IsolationError](err)
		switch {
		case err == nil:
			b.files = iso
		case refused == nil || !refused.Refused || s.Files == FilesInNamespace:
			return nil, err
		}
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the relay's listener: %w", err), b.close())
	}
	b.l = l
	return b, nil
}

func (b *loopback) listener() net.Listener { return b.l }

func (b *loopback) start(cmd *exec.Cmd) (*exec.Cmd, error) {
	if b.files != nil {
		return b.files.start(cmd)
	}
	err := b.startInGroup(cmd)
	if err == nil {
		dumpNothing(cmd.Process.Pid)
	}
	return cmd, err
}

// startInGroup starts Chrome where no child of ours becomes it. The group would be entered too late afterwards.
func (b *loopback) startInGroup(cmd *exec.Cmd) error {
	if b.group == nil {
		return cmd.Start()
	}
	leave, err := b.group.Enter()
	if err != nil {
		return err
	}
	err = cmd.Start()
	if stays := leave(); err == nil && stays != nil { // this process would end with Chrome
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return stays
	}
	return err
}

func (b *loopback) close() (err error) {
	if b.files != nil {
		err = b.files.close()
	}
	if b.l != nil {
		err = errors.Join(err, b.l.Close())
	}
	return err
}

func (b *loopback) isolation() Isolation {
	files := FilesByGuard
	if b.files != nil {
		files = FilesInNamespace
	}
	return Isolation{Network: OnLoopback, Files: files, Sandbox: true}
}

// admit refuses every connection that is not a socket of this browser.
func (b *loopback) admit(c net.Conn, group int) error { return b.peers.check(c, group) }

func (b *loopback) warnings() []Warning {
	text := "This run has no network namespace: Chrome's flags, not the kernel, keep it on its relay, and an extension or an update of " +
		"Chrome may change its mind."
	if !knowsPeers {
		text += " Any program of this machine can use the run's relay."
	}
	if b.why != nil {
		text += " Why: " + b.why.Error() + "."
		if b.why.Advice != "" {
			text += " What helps: " + b.why.Advice + "."
		}
	}
	if runtime.GOOS == "linux" {
		text += " --require-isolation refuses such runs."
	}
	return []Warning{{"isolation_loopback", text}}
}
