package packs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// failing is Blobs over a disk that fails after a number of operations or bytes, and from then on.
type failing struct {
	Blobs
	err   error
	late  bool // an operation fails when it is done, as if the disk could not say so
	mu    sync.Mutex
	ops   int // that still succeed; less than 0: all
	bytes int // of bodies, likewise
}

// op takes one operation from those that succeed.
func (f *failing) op() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ops == 0 || f.bytes == 0 {
		return f.err
	}
	f.ops--
	return nil
}

// Put is of Blobs.
func (f *failing) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	failed := f.op()
	if failed != nil && !f.late {
		return failed
	}
	return errors.Join(f.Blobs.Put(ctx, name, size, metered{f, body}), failed)
}

// Get is of Blobs.
func (f *failing) Get(ctx context.Context, name string, at, length int64) (io.ReadCloser, error) {
	if err := f.op(); err != nil {
		return nil, err
	}
	body, err := f.Blobs.Get(ctx, name, at, length)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{metered{f, body}, body}, nil
}

// metered is a body that ends when the bytes are used up.
type metered struct {
	f *failing
	r io.Reader
}

// Read is of io.Reader.
func (m metered) Read(b []byte) (int, error) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	if m.f.bytes == 0 {
		return 0, m.f.err
	}
	if m.f.bytes > 0 {
		b = b[:min(len(b), m.f.bytes)]
	}
	n, err := m.r.Read(b)
	if m.f.bytes > 0 {
		m.f.bytes -= n
	}
	return n, err
}

// packsOf returns random files that fill more than one pack, and small ones.
func packsOf(size int) map[string]string {
	random := make([]byte, size)
	rand.Read(random) //nolint:errcheck // it never fails
	return map[string]string{"a": "small", "b/": "", "b/large": string(random), "z": strings.Repeat("text", 100)}
}

// whole fails if a tree is there, and not all that it names. It returns how many trees there are.
func whole(t *testing.T, v *Vault) int {
	t.Helper()
	ids := list(t, v.blobs, "trees/")
	for _, id := range ids {
		tree, err := v.Tree(t.Context(), Subject{strings.TrimPrefix(id, "trees/"), "w|p"})
		must(t, err)
		must(t, v.Check(t.Context(), tree, true))
	}
	return len(ids)
}

// faults calls try with every fault from the first on, until it returns true: the whole passes. Bytes go in steps.
func faults(t *testing.T, like *failing, try func(f *failing) bool) {
	t.Helper()
	const step = 128 << 10
	n := 0
	for ; n < 100; n++ {
		f := &failing{err: like.err, late: like.late, ops: n, bytes: -1}
		if like.ops < 0 {
			f.ops, f.bytes = -1, n*step
		}
		if try(f) {
			break
		}
	}
	if n < 2 || n == 100 {
		t.Errorf("%v, late %t: passed after %d faults", like.err, like.late, n)
	}
}

// TestSaveFaults: wherever a Save fails, the error says why, no tree names what is not there, and the next Save succeeds.
func TestSaveFaults(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	dir := filepath.Join(temp, "tree")
	write(t, dir, packsOf(4*chunkSize))
	run := 0
	try := func(f *failing) bool {
		run++
		good := Folder(filepath.Join(temp, fmt.Sprint("objects", run)))
		v, err := NewVault(good, secret())
		must(t, err)
		v.full, f.Blobs = chunkSize, good
		o := SaveOptions{Subject: Subject{"t1", "w|p"}, Stamps: filepath.Join(temp, fmt.Sprint("stamps", run))}
		_, err = (&Vault{f, v.keys, v.level, v.settled, v.maxTree, v.full}).Save(t.Context(), dir, o)
		trees := whole(t, v)
		if err == nil {
			return trees == 1
		}
		if !errors.Is(err, f.err) || trees > 0 && !f.late {
			t.Fatalf("%d trees after %v", trees, err)
		}
		o.Subject.ID = "t2"
		_, err = v.Save(t.Context(), dir, o)
		must(t, err)
		if now := whole(t, v); now != trees+1 {
			t.Errorf("%d trees with room, %d before", now, trees)
		}
		return false
	}
	faults(t, &failing{err: syscall.EIO}, try)
	faults(t, &failing{err: syscall.EIO, late: true}, try)
	faults(t, &failing{err: syscall.ENOSPC, ops: -1}, try)
}

// TestLoadFaults: wherever a Load fails, the error says why, the folder is as it was, and nothing is beside it.
func TestLoadFaults(t *testing.T) {
	t.Parallel()
	v, _ := vault(t)
	v.full = chunkSize
	temp := t.TempDir()
	dir, from := filepath.Join(temp, "tree"), filepath.Join(temp, "from")
	before, after := map[string]string{"a": "old", "kept/": "", "kept/x": "mine"}, packsOf(4*chunkSize)
	write(t, from, after)
	subject := Subject{"t1", "w|p"}
	_, err := v.Save(t.Context(), from, SaveOptions{Subject: subject})
	must(t, err)
	after["kept/"], after["kept/x"] = "", "mine"
	o := LoadOptions{Stamps: filepath.Join(temp, "stamps"),
		Filter: leaves(func(path string, _ bool) bool { return path == "kept" })}
	try := func(f *failing) bool {
		f.Blobs = v.blobs
		bad := &Vault{f, v.keys, v.level, v.settled, v.maxTree, v.full}
		tree, err := bad.Tree(t.Context(), subject)
		if err == nil {
			err = bad.Load(t.Context(), tree, dir, o)
		}
		if left, _ := filepath.Glob(dir + ".*"); len(left) > 0 {
			t.Fatalf("%q is left", left)
		}
		if err == nil {
			same(t, read(t, dir), after)
			return readStamps(o.Stamps).Tree == subject.ID
		}
		if !errors.Is(err, f.err) || errors.Is(err, ErrDamaged) {
			t.Errorf("%v", err)
		}
		same(t, read(t, dir), before)
		return false
	}
	for _, like := range []*failing{{err: syscall.EIO}, {err: syscall.EIO, ops: -1}} {
		must(t, os.RemoveAll(dir))
		write(t, dir, before)
		faults(t, like, try)
	}
}

// TestNoStamps: stamps that cannot be written spoil nothing: Save and Load succeed, and the next Save reads all files.
func TestNoStamps(t *testing.T) {
	t.Parallel()
	v, _ := vault(t)
	v.settled = 0
	dir, marks := filepath.Join(t.TempDir(), "tree"), filepath.Join(t.TempDir(), "stamps")
	write(t, dir, map[string]string{"a": "12345"})
	must(t, os.Mkdir(marks+unfinished, 0o700)) // a file cannot be written there
	saved, err := v.Save(t.Context(), dir, SaveOptions{Subject: Subject{"t1", "w|p"}, Stamps: marks})
	must(t, err)
	must(t, v.Load(t.Context(), saved.Tree, dir, LoadOptions{Stamps: marks}))
	again, err := v.Save(t.Context(), dir, SaveOptions{Subject: Subject{"t2", "w|p"}, Stamps: marks, Parent: saved.Tree})
	must(t, err)
	if !again.Same || again.Read != 5 {
		t.Errorf("same %t, %d bytes read", again.Same, again.Read)
	}
}
