package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Watch wakes its reader when the group is short of memory.
type Watch struct {
	group *Group
	wake  chan struct{}
	files []*os.File
}

// Watch begins to watch the group: in version 2 its memory.events (inotify), in version 1 the kernel's event of an
// out-of-memory situation (eventfd). It fails with errors.ErrUnsupported without the controller.
func (g *Group) Watch() (*Watch, error) {
	if !g.Has(Memory) {
		return nil, errors.ErrUnsupported
	}
	w := &Watch{group: g, wake: make(chan struct{}, 1)}
	event := w.openV2
	if g.Version == V1 {
		event = w.openV1
	}
	f, err := event(g.Dirs[Memory])
	if err != nil {
		w.Close()
		return nil, err
	}
	go w.read(f)
	return w, nil
}

func (w *Watch) openV2(dir string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "memory.events") //nolint:gosec // a descriptor
	w.files = append(w.files, f)
	if _, err := unix.InotifyAddWatch(fd, filepath.Join(dir, "memory.events"), unix.IN_MODIFY); err != nil {
		return nil, err
	}
	return f, nil
}

// openV1 asks for an event (memory.rst of version 1, "OOM control"). The kernel keeps what is written until the
// descriptor is closed.
func (w *Watch) openV1(dir string) (*os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "oom") //nolint:gosec // a descriptor
	w.files = append(w.files, f)
	control, err := os.Open(filepath.Join(dir, "memory.oom_control"))
	if err != nil {
		return nil, err
	}
	defer control.Close()
	return f, write(dir, "cgroup.event_control", fmt.Sprintf("%d %d", fd, control.Fd()))
}

func (w *Watch) read(f *os.File) {
	defer close(w.wake)
	buffer := make([]byte, 4096)
	for kills := w.group.OOMKills(); ; {
		if _, err := f.Read(buffer); err != nil {
			return // closed
		}
		if w.group.Version == V1 {
			kills = w.awaitKill(kills)
		}
		select {
		case w.wake <- struct{}{}:
		default: // it is woken already
		}
	}
}

// killTime bounds the wait for the kernel's choice. It may find another way out.
const killTime = 2 * time.Second

// awaitKill waits until the kernel has counted what it kills: version 1 sends its event before. It returns the count.
func (w *Watch) awaitKill(before int64) int64 {
	for late := time.Now().Add(killTime); ; time.Sleep(time.Millisecond) {
		if n := w.group.OOMKills(); n != before || time.Now().After(late) {
			return n
		}
	}
}

// C has a value when the group was short of memory: it has reached memory.high, or the kernel has killed one of its
// processes. It is closed by Close.
func (w *Watch) C() <-chan struct{} { return w.wake }

// Close ends the watch.
func (w *Watch) Close() {
	for _, f := range w.files {
		f.Close() //nolint:errcheck // nothing was written
	}
}
