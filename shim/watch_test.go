package shim

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A shim is gone only if nothing listens on its socket and nothing holds its profile.
func TestGone(t *testing.T) {
	dir := t.TempDir()
	held := profileLock(dir)
	if ok, err := held.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer held.Unlock() //nolint:errcheck // the test ends
	free := t.TempDir()
	isFile := filepath.Join(free, "file")
	if err := os.WriteFile(isFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		err    error
		folder string
		gone   bool
	}{
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, free, true},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENOENT)}, free, true},
		{fs.ErrNotExist, "", true},
		{fs.ErrNotExist, filepath.Join(free, "none"), true},
		{fs.ErrNotExist, isFile, true},
		{fs.ErrNotExist, dir, false},
		{syscall.ECONNREFUSED, dir, false},
		{syscall.EMFILE, free, false},
		{syscall.ENFILE, free, false},
		{syscall.EAGAIN, free, false},
		{errors.New("the run's process answered 500"), free, false},
		{context.DeadlineExceeded, free, false},
		{nil, free, false},
	} {
		if got := Gone(c.err, c.folder); got != c.gone {
			t.Errorf("%v, folder %s: gone %v", c.err, c.folder, got)
		}
	}
}

// A watch connection that breaks, or is refused, while the shim lives is opened again. The run is over when the shim
// says so.
func TestBrokenLineIsOpenedAgain(t *testing.T) {
	s := emptySpec(t)
	for _, dir := range []string{s.RunDir, s.ProfileDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock := profileLock(s.ProfileDir)
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	l, err := net.Listen("unix", socketPath(s.RunDir, s.Name))
	if err != nil {
		t.Fatal(err)
	}
	turn := make(chan int, 8)
	var lines atomic.Int64
	shim := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(lines.Add(1))
		turn <- n
		switch n {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			http.Error(w, "too many open files", http.StatusInternalServerError)
		case 3:
			w.Write([]byte(`{"outco`)) //nolint:errcheck // the client sees it
		default:
			writeJSON(w, End{Outcome: Stopped})
			lock.Unlock() //nolint:errcheck // as an exiting shim does
		}
	}), ReadHeaderTimeout: time.Minute}
	go shim.Serve(l) //nolint:errcheck // ends with Close
	defer shim.Close()
	c := Hold(s.RunDir, s.Name, s.ProfileDir)
	defer c.Release()
	await(t, "the run's end", c.Done())
	if c.End().Outcome != Stopped || len(turn) != 4 {
		t.Errorf("after %d lines the run ended %+v", len(turn), c.End())
	}
}
