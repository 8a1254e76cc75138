package browser

import (
	"context"
	"os"
	"sync"
	"syscall"
)

// answers reads what Chrome writes, and knows how much of it has been handled. So one can wait until all is handled that Chrome has written
// by now.
type answers struct {
	file *os.File
	raw  syscall.RawConn // of file

	mu      sync.Mutex
	read    int64         // bytes that were taken from the kernel
	handled int64         // bytes of the messages that were handled
	ended   bool          // nothing is handled any more
	moved   chan struct{} // closed when handled or ended changes; nil while nobody waits
}

func newAnswers(f *os.File) (*answers, error) {
	raw, err := f.SyscallConn()
	return &answers{file: f, raw: raw}, err
}

// handle records that all bytes but the last unhandled ones of what was read are handled.
func (a *answers) handle(unhandled int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handled = a.read - int64(unhandled)
	a.wakeLocked()
}

// end lets all waiters go: nothing more is handled.
func (a *answers) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	a.wakeLocked()
}

// wakeLocked wakes those who wait. a.mu is held.
func (a *answers) wakeLocked() {
	if a.moved != nil {
		close(a.moved)
		a.moved = nil
	}
}

// await returns when all whole messages are handled that Chrome has written by now, or with ctx. What it has written of another one counts
// too: its end follows at once.
func (a *answers) await(ctx context.Context) {
	a.mu.Lock()
	want := a.read + int64(a.unread())
	for a.handled < want && !a.ended {
		if a.moved == nil {
			a.moved = make(chan struct{})
		}
		moved := a.moved
		a.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
		a.mu.Lock()
	}
	a.mu.Unlock()
}
