package packs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// conforms holds any Blobs to what the interface says. An object is there whole or not at all, and a second Put changes nothing.
// Ranges are exact, and no name leads elsewhere.
func conforms(t *testing.T, b Blobs) {
	t.Helper()
	put := func(name, text string, size int) error {
		return b.Put(t.Context(), name, int64(size), strings.NewReader(text))
	}
	holds := func(want ...string) {
		t.Helper()
		if names := list(t, b, ""); !slices.Equal(names, want) {
			t.Errorf("the list has %q, want %q", names, want)
		}
	}
	holds()
	must(t, put("packs/aa/x", "first", 5))
	must(t, put("packs/aa/x", "other", 5))
	if got, err := readAll(t.Context(), b, "packs/aa/x", 100); err != nil || string(got) != "first" {
		t.Errorf("%q, %v", got, err)
	}
	for _, size := range []int{4, 6} {
		if put("packs/aa/y", "12345", size) == nil {
			t.Errorf("5 bytes for %d", size)
		}
	}
	for _, name := range []string{"", "/etc/x", "../x", "a/../b", "A", ".new-x", "a//b", "a/", "a\x00", strings.Repeat("../", 9) + "x"} {
		_, got := b.Get(t.Context(), name, 0, -1)
		if put(name, "x", 1) == nil || got == nil || b.Delete(t.Context(), name) == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
	holds("packs/aa/x")
	must(t, put("trees/empty", "", 0))
	must(t, b.Put(t.Context(), "trees/piped", 5, io.MultiReader(strings.NewReader("pi"), strings.NewReader("ped")))) // cannot be read twice
	holds("packs/aa/x", "trees/empty", "trees/piped")
	if names := list(t, b, "trees/"); !slices.Equal(names, []string{"trees/empty", "trees/piped"}) {
		t.Errorf("below trees/ are %q", names)
	}
	ranges(t, b)
	must(t, b.Delete(t.Context(), "packs/aa/x"))
	must(t, b.Delete(t.Context(), "packs/aa/x"))
	for _, length := range []int64{-1, 0, 3} {
		if _, err := b.Get(t.Context(), "packs/aa/x", 0, length); !errors.Is(err, ErrNone) {
			t.Errorf("%d bytes of a deleted object: %v", length, err)
		}
	}
	ends(t, b)
	together(t, b)
}

// ranges reads parts of packs/aa/x, which holds "first".
func ranges(t *testing.T, b Blobs) {
	t.Helper()
	for _, c := range []struct {
		at, length int64
		want       string
	}{{0, -1, "first"}, {0, 5, "first"}, {0, 99, "first"}, {1, 3, "irs"}, {4, -1, "t"}, {4, 1, "t"}, {3, 9, "st"}, {2, 0, ""}, {5, -1, ""},
		{5, 1, ""}, {9, 2, ""}, {9, -1, ""}} {
		body, err := b.Get(t.Context(), "packs/aa/x", c.at, c.length)
		must(t, err)
		got, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil || string(got) != c.want {
			t.Errorf("%d bytes from %d on: %q, %v; want %q", c.length, c.at, got, err, c.want)
		}
	}
	body, err := b.Get(t.Context(), "trees/empty", 0, -1)
	must(t, err)
	if got, err := io.ReadAll(body); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
	must(t, body.Close())
}

// ends calls everything with a context that is over.
func ends(t *testing.T, b Blobs) {
	t.Helper()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Put(ended, "packs/aa/z", 1, strings.NewReader("z")); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
	if names := list(t, b, "packs/"); len(names) > 0 {
		t.Errorf("%q is there", names)
	}
	for o, err := range b.List(ended, "") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("list: %v, %v", o, err)
		}
	}
}

// together has several write one name at once: the object is one of theirs.
func together(t *testing.T, b Blobs) {
	t.Helper()
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			if err := b.Put(t.Context(), "packs/bb/x", 100<<10, bytes.NewReader(bytes.Repeat([]byte{byte(i)}, 100<<10))); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	got, err := readAll(t.Context(), b, "packs/bb/x", 1<<20)
	if err != nil || len(got) != 100<<10 || !bytes.Equal(got, bytes.Repeat(got[:1], len(got))) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// list returns the names of objects, sorted.
func list(t *testing.T, b Blobs, prefix string) (names []string) {
	t.Helper()
	for o, err := range b.List(t.Context(), prefix) {
		must(t, err)
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return names
}

// TestFolder: a folder is Blobs, and what failed leaves no file.
func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "objects")
	conforms(t, Folder(dir))
	for path, want := range map[string]int{"packs/aa": 0, "packs/bb": 1, "trees": 2} {
		left, err := os.ReadDir(filepath.Join(dir, path))
		must(t, err)
		if len(left) != want {
			t.Errorf("%v is left in %s", left, path)
		}
	}
}

// TestSweep: what killed writers left is removed once it is old; objects, and what is being written, stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "objects")
	f := Folder(dir)
	sweep := func(want int) {
		t.Helper()
		if n, err := f.(Sweeper).Sweep(t.Context(), time.Hour); n != want || err != nil {
			t.Errorf("%d removed, %v; want %d", n, err, want)
		}
	}
	sweep(0) // there is no folder
	long, into := io.Pipe()
	slow := make(chan error)
	must(t, f.Put(t.Context(), "packs/aa/x", 1, strings.NewReader("x")))
	go func() { slow <- f.Put(t.Context(), "packs/aa/slow", 2, long) }()
	_, err := into.Write([]byte("s"))
	must(t, err)
	old := time.Now().Add(-61 * time.Minute)
	for name, at := range map[string]time.Time{"packs/aa/.new-old": old, ".new-old": old, "packs/aa/.new-young": time.Now()} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600))
		must(t, os.Chtimes(filepath.Join(dir, name), at, at))
	}
	must(t, os.Chtimes(filepath.Join(dir, "packs/aa/x"), old, old))
	sweep(2)
	sweep(0)
	_, err = into.Write([]byte("l"))
	must(t, errors.Join(err, into.Close(), <-slow))
	if names := list(t, f, ""); !slices.Equal(names, []string{"packs/aa/slow", "packs/aa/x"}) {
		t.Errorf("%q", names)
	}
	left, err := os.ReadDir(filepath.Join(dir, "packs/aa"))
	must(t, err)
	if len(left) != 3 {
		t.Errorf("%v is left", left)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.(Sweeper).Sweep(ended, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}
