package browser

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

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

// openIsolation prepares the best burrow that this machine gives: a namespace, or loopback where the machine refuses one or the run
// cannot live in one.
func openIsolation(s *Spec) (isolator, error) {
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
