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

// IsolationError says why a run cannot be isolated as it must be. Refused tells whether the machine forbids it, now and later;
// otherwise another attempt may do better.
type IsolationError struct {
	Refused bool
	Advice  string // what to do, with the command; "" when nothing is known
	Err     error
}

func (e *IsolationError) Error() string { return e.Err.Error() }
func (e *IsolationError) Unwrap() error { return e.Err }

// CheckIsolation makes a namespace as a run's and closes it again. Where runs have none, the *IsolationError says why.
func CheckIsolation() error {
	home, err := openNamespace(&Spec{})
	if err != nil {
		return err
	}
	return home.close()
}

// CheckFiles makes a namespace as a run's, and tries whether the kernel can hide files in it. Where it cannot, the *IsolationError says why.
func CheckFiles() error {
	home, err := openNamespace(&Spec{Files: FilesInNamespace})
	if err != nil {
		return err
	}
	return home.close()
}

// openBurrow prepares the best burrow that this machine gives: a namespace, or loopback where the machine refuses one or the run
// cannot live in one.
func openBurrow(s *Spec) (burrow, error) {
	refused := s.needsLoopback()
	if refused == nil && s.Network != OnLoopback {
		home, err := openNamespace(s)
		if err == nil {
			return home, nil
		}
		if !errors.As(err, &refused) || !refused.Refused {
			return nil, err // a fault that passes is no reason for less
		}
	}
	if refused == nil {
		refused = &IsolationError{Refused: true, Err: errors.New("it was asked for")}
	}
	switch {
	case s.Network == InNamespace:
		return nil, refused
	case os.Geteuid() == 0: // Chrome runs its sandbox as an ordinary user only, and without it a page that breaks out of Chrome is root
		return nil, &IsolationError{Refused: true, Advice: refused.Advice, Err: fmt.Errorf("%w; and as root Chrome runs in no other way, since its sandbox would be off", refused)}
	}
	return openLoopback(s, refused)
}

// needsLoopback says why a run cannot live in a namespace whatever the machine gives; nil: it can.
func (s *Spec) needsLoopback() *IsolationError {
	switch {
	case s.WebRTC == WebRTCDefault:
		return &IsolationError{Refused: true, Advice: "set webrtc to proxy_only or off", Err: errors.New("webrtc default sends UDP, which a namespace has no way for")}
	case !s.Headless && displayOverTCP(s.ExtraEnv):
		return &IsolationError{Refused: true, Advice: "run headless, or give a display on this machine", Err: errors.New("the display is reached over the network (DISPLAY names a host), which a namespace has no way to")}
	case isSnap(s.Path):
		return &IsolationError{Refused: true, Advice: "install a browser that is no snap, such as Google Chrome's .deb", Err: errors.New("the browser is a snap, which cannot be started in a namespace")}
	}
	return nil
}

// displayOverTCP reports whether windows would go to an X server that is reached over TCP, as with ssh -X: DISPLAY names a host then (X(7)).
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

// loopback is the burrow in the machine's own network: the relay listens on 127.0.0.1 and the flags keep Chrome on it. Files may be hidden all the same.
type loopback struct {
	l      net.Listener
	why    *IsolationError
	hiding hiding // starts the browser where files are hidden; nil: nothing hides them
	peers  peers
}

// hiding is a mount namespace that waits for its browser.
type hiding interface {
	start(cmd *exec.Cmd) (*exec.Cmd, error)
	close() error
}

func openLoopback(s *Spec, why *IsolationError) (*loopback, error) {
	b := &loopback{why: why}
	if s.Files != FilesByGuard && !isSnap(s.Path) {
		home, err := openMounts(s)
		var refused *IsolationError
		switch {
		case err == nil:
			b.hiding = home
		case !errors.As(err, &refused) || !refused.Refused || s.Files == FilesInNamespace:
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
	if b.hiding != nil {
		return b.hiding.start(cmd)
	}
	return cmd, cmd.Start()
}

func (b *loopback) close() (err error) {
	if b.hiding != nil {
		err = b.hiding.close()
	}
	if b.l != nil {
		err = errors.Join(err, b.l.Close())
	}
	return err
}

func (b *loopback) isolation() Isolation {
	files := FilesByGuard
	if b.hiding != nil {
		files = FilesInNamespace
	}
	return Isolation{Network: OnLoopback, Files: files, Sandbox: true}
}

// admit refuses every connection that is not a socket of our own browser's.
func (b *loopback) admit(c net.Conn, group int) error { return b.peers.check(c, group) }

func (b *loopback) warnings() []Warning {
	text := "This run has no network namespace: Chrome's flags, not the kernel, keep it on its relay, and an extension or an update of Chrome may change its mind."
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
