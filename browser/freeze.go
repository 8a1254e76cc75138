package browser

import (
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Stops the browser's processes where they are while nobody needs them. Whatever is written to Chrome thaws them before, in the one place
// that writes: a command never waits in a pipe that nobody reads.

// ErrInUse says that a browser is not frozen because somebody waits for it, or because it ends.
var ErrInUse = errors.New("the browser is in use")

// freezer freezes and thaws a browser.
type freezer struct {
	group  Group // nil: there is none
	log    *slog.Logger
	thawed chan struct{} // holds a token after a thaw

	mu     sync.Mutex
	since  time.Time // zero: not frozen
	ending bool      // Stop was called
}

// freeze stops the processes. The caller holds the pipe's token.
func (f *freezer) freeze() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.group == nil:
		return errors.ErrUnsupported
	case f.ending:
		return ErrInUse
	case !f.since.IsZero():
		return nil
	}
	if err := f.group.Freeze(); err != nil {
		return errors.Join(err, f.group.Thaw())
	}
	f.since = time.Now()
	return nil
}

// thaw lets the processes go on, if they are frozen.
func (f *freezer) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.since.IsZero() {
		return
	}
	if err := f.group.Thaw(); err != nil { // the next one tries again
		f.log.Error("the browser stays frozen", "error", err)
		return
	}
	f.since = time.Time{}
	putToken(f.thawed)
}

// end thaws the browser for good: a frozen process takes no signal in version 1 of control groups.
func (f *freezer) end() {
	f.mu.Lock()
	f.ending = true
	f.mu.Unlock()
	f.thaw()
}

// Freeze stops every process of the browser where it is, until something is written to Chrome, Thaw or Stop. It fails with ErrInUse if
// Chrome owes somebody an answer, and with errors.ErrUnsupported without a control group that can be frozen.
func (b *Browser) Freeze() error {
	m, err := b.running()
	if err != nil {
		return err
	}
	p := m.pipe
	select {
	case p.writing <- struct{}{}: // nothing is written meanwhile
	default:
		return ErrInUse
	}
	defer func() { <-p.writing }()
	if len(p.rest) > 0 || !m.in.isEmpty() || m.isOwed() {
		return ErrInUse
	}
	return b.freezer.freeze()
}

// isOwed reports whether Chrome has not answered a command yet. What silent pages owe the controller does not count.
func (m *mux) isOwed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pending {
		if !m.silent[p.session] {
			return true
		}
	}
	return m.pending == nil
}

// Thaw lets a frozen browser go on.
func (b *Browser) Thaw() { b.freezer.thaw() }

// Thawed returns a channel that holds a token after the browser was thawed.
func (b *Browser) Thawed() <-chan struct{} { return b.freezer.thawed }

// FrozenSince returns since when the browser is frozen; the zero time: it is not.
func (b *Browser) FrozenSince() time.Time {
	b.freezer.mu.Lock()
	defer b.freezer.mu.Unlock()
	return b.freezer.since
}
