package browser

import "errors"

// process returns the launched process, nil before the launch.
func (b *Browser) process() *process {
	if isClosed(b.launched) {
		return b.proc
	}
	return nil
}

// running returns the multiplexer. It fails with errNotStarted before the launch.
func (b *Browser) running() (*mux, error) {
	if !isClosed(b.launched) {
		return nil, errNotStarted
	}
	return b.mux, nil
}

var (
	errNotStarted = errors.New("the browser has not been started")
	errStarted    = errors.New("the browser has been started already: a Browser runs once")
)

// Output returns the last lines that the browser has printed, at most 20 and 4 KiB; empty before the start.
func (b *Browser) Output() []string {
	if p := b.process(); p != nil {
		return p.output.lines()
	}
	return []string{}
}

// PID returns the main process' id in the host's numbering, 0 before the start.
func (b *Browser) PID() int {
	if p := b.process(); p != nil {
		return p.pid()
	}
	return 0
}

// Version returns the running browser as it describes itself (CDP Browser.getVersion), with the spec's path. It is empty before Start has
// returned.
func (b *Browser) Version() Installed {
	if !b.ready() {
		return Installed{}
	}
	return b.version
}

// UserAgent returns the browser's own user agent (CDP Browser.getVersion), "" before Start has returned.
func (b *Browser) UserAgent() string {
	if !b.ready() {
		return ""
	}
	return b.userAgent
}

func (b *Browser) ready() bool { return isClosed(b.startDone) }

// Done returns a channel that is closed when Chrome's main process has exited, or when a start failed.
func (b *Browser) Done() <-chan struct{} { return b.done }

// Exit returns how the main process ended. It is the zero Exit before Done is closed, and if there never was a process.
func (b *Browser) Exit() Exit {
	if p := b.process(); p != nil && isClosed(b.done) {
		return p.exit
	}
	return Exit{}
}
