package browser

import "errors"

// process returns the launched process, nil before the launch.
func (b *Browser) process() *process {
	select {
	case <-b.launched:
		return b.proc
	default:
		return nil
	}
}

// running returns the multiplexer of a browser that was launched.
func (b *Browser) running() (*mux, error) {
	select {
	case <-b.launched:
		return b.mux, nil
	default:
		return nil, errNotStarted
	}
}

var (
	errNotStarted = errors.New("the browser has not been started")
	errStarted    = errors.New("the browser has been started already: a Browser runs once")
)

// PID is the main process' id in the host's numbering, 0 before the start.
func (b *Browser) PID() int {
	if p := b.process(); p != nil {
		return p.pid()
	}
	return 0
}

// Version is what runs, as the browser itself says it (Browser.getVersion). Path is the spec's. It is empty before Start has returned.
func (b *Browser) Version() Installed {
	if !b.ready() {
		return Installed{}
	}
	return b.version
}

// UserAgent is the browser's own user agent (Browser.getVersion), "" before Start has returned.
func (b *Browser) UserAgent() string {
	if !b.ready() {
		return ""
	}
	return b.userAgent
}

func (b *Browser) ready() bool {
	select {
	case <-b.startDone:
		return true
	default:
		return false
	}
}

// Done is closed when Chrome's main process has gone, also when a start failed.
func (b *Browser) Done() <-chan struct{} { return b.done }

// Exit says how the main process ended. It is the zero Exit before Done is closed, and when there never was a process.
func (b *Browser) Exit() Exit {
	select {
	case <-b.done:
		if p := b.process(); p != nil {
			return p.exit
		}
	default:
	}
	return Exit{}
}
