package browser

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
)

// loopback is the isolation in the machine's own network. The relay listens on 127.0.0.1, and flags confine Chrome to it. Files may still
// be hidden by a mount namespace.
type loopback struct {
	l     net.Listener
	why   *IsolationError
	files isolator // starts the browser where files are hidden; nil: they are not
	peers peers
}

func openLoopback(s *Spec, why *IsolationError) (*loopback, error) {
	b := &loopback{why: why}
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
	return cmd, cmd.Start()
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
