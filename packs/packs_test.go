package packs

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// secret returns a random secret.
func secret() []byte {
	b := make([]byte, SecretSize)
	rand.Read(b) //nolint:errcheck // it never fails
	return b
}

// vault returns a vault over a folder of its own.
func vault(t testing.TB) (*Vault, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "objects")
	v, err := NewVault(Folder(dir), secret())
	if err != nil {
		t.Fatal(err)
	}
	return v, dir
}

// leaves is a filter.
type leaves func(path string, isDir bool) bool

func (l leaves) Leaves(path string, isDir bool) bool { return l(path, isDir) }

// write makes the files of a folder what they are in the map: text by path. A path that ends in a slash is a folder, and a text
// that begins with "-> " a link.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		at := filepath.Join(dir, path)
		if strings.HasSuffix(path, "/") {
			must(t, os.MkdirAll(at, 0o700))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(at), 0o700))
		if target, ok := strings.CutPrefix(files[path], "-> "); ok {
			must(t, os.Symlink(target, at))
			continue
		}
		must(t, os.WriteFile(at, []byte(files[path]), 0o600))
	}
}

// read is the reverse of write.
func read(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		path, _ := filepath.Rel(dir, at)
		switch {
		case entry.IsDir():
			files[path+"/"] = ""
		case entry.Type() == fs.ModeSymlink:
			target, err := os.Readlink(at)
			files[path] = "-> " + target
			return err
		default:
			text, err := os.ReadFile(at)
			files[path] = string(text)
			return err
		}
		return nil
	}))
	return files
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same fails if two folders differ.
func same(t testing.TB, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		for _, path := range slices.Sorted(maps.Keys(want)) {
			if text, ok := got[path]; !ok || text != want[path] {
				t.Errorf("%q: there is %t, %d bytes, want %d", path, ok, len(text), len(want[path]))
			}
		}
		for path := range got {
			if _, ok := want[path]; !ok {
				t.Errorf("%q is there", path)
			}
		}
		t.FailNow()
	}
}

// TestSaveAndLoad: what was saved comes back, byte for byte, with folders, links, permissions and times; unreadable things are
// named; what is left out is not there.
func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	v, _ := vault(t)
	dir := filepath.Join(t.TempDir(), "tree")
	big := make([]byte, 3*chunkSize+17)
	rand.Read(big) //nolint:errcheck // it never fails
	files := map[string]string{"a": "", "empty/": "", "sub/": "", "sub/b": strings.Repeat("text ", 1<<18), "sub/deep/": "",
		"sub/deep/c": string(big), "sub/link": "-> deep/c", "ünï cödé 😀": "x", "sub/again": string(big)}
	write(t, dir, files)
	write(t, dir, map[string]string{"cache/x": "y", "out": "-> ../../etc/passwd", "abs": "-> /etc/passwd"})
	left := []string{"abs", "out"}
	if os.WriteFile(filepath.Join(dir, "no\xffword"), nil, 0o600) == nil { // not every file system takes it
		must(t, os.Symlink("no\xffword", filepath.Join(dir, "to")))
		left = []string{"abs", "no\xffword", "out", "to"}
	}
	must(t, os.Chmod(filepath.Join(dir, "a"), 0o640))
	then := time.Date(2020, 2, 3, 4, 5, 6, 789, time.UTC)
	must(t, os.Chtimes(filepath.Join(dir, "a"), then, then))
	subject := Subject{"t1", "w|p"}
	saved, err := v.Save(t.Context(), dir, SaveOptions{Subject: subject, About: map[string]string{"browser": "156"},
		Filter: leaves(func(path string, isDir bool) bool { return isDir && path == "cache" })})
	must(t, err)
	slices.Sort(saved.Left)
	if !slices.Equal(saved.Left, left) || saved.Same || saved.Tree.Bytes() < int64(2*len(big)) {
		t.Errorf("left %q, same %t", saved.Left, saved.Same)
	}
	if saved.NewBytes > int64(len(big))+chunkSize {
		t.Errorf("%d bytes were written for what is there twice and for text", saved.NewBytes)
	}
	tree, err := v.Tree(t.Context(), subject)
	must(t, err)
	if tree.About["browser"] != "156" || tree.MadeAt.IsZero() {
		t.Errorf("%+v", tree.About)
	}
	to := filepath.Join(t.TempDir(), "to")
	must(t, v.Load(t.Context(), tree, to, LoadOptions{}))
	same(t, read(t, to), files)
	info, err := os.Stat(filepath.Join(to, "a"))
	must(t, err)
	if info.Mode().Perm() != 0o640 || !info.ModTime().Equal(then) {
		t.Errorf("%v, %v", info.Mode(), info.ModTime())
	}
	must(t, v.Check(t.Context(), tree, true))
	if _, err := v.Tree(t.Context(), Subject{"t1", "w|other"}); err == nil {
		t.Error("the tree opens for another owner")
	}
}

// TestUnchangedFiles: what has not changed since the last save, or load, is not read; what has is, also if its length and time
// are as before.
func TestUnchangedFiles(t *testing.T) {
	t.Parallel()
	v, _ := vault(t)
	temp := t.TempDir()
	dir, marks := filepath.Join(temp, "tree"), filepath.Join(temp, "stamps")
	write(t, dir, map[string]string{"a": "12345", "b": "1234567"})
	parent := (*Tree)(nil)
	save := func(id string, always bool, want int64) {
		t.Helper()
		saved, err := v.Save(t.Context(), dir, SaveOptions{Subject: Subject{id, "w|p"}, Parent: parent, Stamps: marks, Always: always})
		must(t, err)
		if saved.Read != want {
			t.Errorf("%s: %d bytes were read, want %d", id, saved.Read, want)
		}
		parent = saved.Tree
	}
	save("t1", false, 12)
	save("t2", false, 12) // too young to tell
	v.settled = 0
	save("t3", false, 12) // the stamps of those that were too young were left out
	if _, ok := stampOf(stat(t, marks)); !ok {
		t.Skip("this system does not tell when a file's inode changed")
	}
	save("t4", true, 0)
	info := stat(t, filepath.Join(dir, "a"))
	must(t, os.WriteFile(filepath.Join(dir, "a"), []byte("54321"), 0o600))
	must(t, os.Chtimes(filepath.Join(dir, "a"), info.ModTime(), info.ModTime()))
	save("t5", false, 5)
	t1, err := v.Tree(t.Context(), Subject{"t1", "w|p"})
	must(t, err)
	must(t, v.Load(t.Context(), t1, dir, LoadOptions{Stamps: marks, From: dir, FromStamps: marks, FromTree: parent}))
	same(t, read(t, dir), map[string]string{"a": "12345", "b": "1234567"})
	parent = t1
	save("t6", true, 0)
}

func stat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	return info
}

// TestManySaves: over any changes of a folder, each tree comes back as it was, from nothing and in place, and a save writes only
// what is new.
func TestManySaves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		temp, err := os.MkdirTemp("/dev/shm", "packs-") // hundreds of saves would wait for the disk
		if err != nil {
			temp, err = os.MkdirTemp("", "packs-")
		}
		must(t, err)
		defer os.RemoveAll(temp) //nolint:errcheck // a temporary folder
		v, err := NewVault(Folder(filepath.Join(temp, "objects")), secret())
		must(t, err)
		dir, marks := filepath.Join(temp, "tree"), filepath.Join(temp, "stamps")
		must(t, os.Mkdir(dir, 0o700))
		var parent *Tree
		var trees []*Tree
		var wants []map[string]string
		for i := range rapid.IntRange(1, 5).Draw(r, "saves") {
			change(r, dir)
			saved, err := v.Save(t.Context(), dir, SaveOptions{Subject: Subject{fmt.Sprint("t", i), "w|p"}, Parent: parent, Stamps: marks})
			must(t, err)
			if saved.Same != (parent != nil && saved.NewBytes == 0) {
				r.Fatalf("same: %t, %d new bytes", saved.Same, saved.NewBytes)
			}
			parent = saved.Tree
			trees, wants = append(trees, saved.Tree), append(wants, read(t, dir))
		}
		back := rapid.IntRange(0, len(trees)-1).Draw(r, "back")
		must(t, v.Load(t.Context(), trees[back], dir, LoadOptions{Stamps: marks, From: dir, FromStamps: marks, FromTree: parent}))
		same(t, read(t, dir), wants[back])
		for i, tree := range trees {
			to := filepath.Join(temp, "to")
			must(t, v.Load(t.Context(), tree, to, LoadOptions{From: dir, FromStamps: marks, FromTree: trees[back]}))
			same(t, read(t, to), wants[i])
		}
		same(t, read(t, dir), wants[back]) // what the other folder was copied from is as it was
	})
}

// change writes, appends to, overwrites, moves and removes some files.
func change(r *rapid.T, dir string) {
	for range rapid.IntRange(0, 6).Draw(r, "changes") {
		path := filepath.Join(dir, rapid.SampledFrom([]string{"a", "b", "c/d", "c/e", "f/g/h"}).Draw(r, "path"))
		os.MkdirAll(filepath.Dir(path), 0o700) //nolint:errcheck // the write fails then
		size := rapid.SampledFrom([]int{0, 1, 100, chunkSize - 1, chunkSize, chunkSize + 1, 3 * chunkSize}).Draw(r, "size")
		text := bytes.Repeat([]byte{byte(rapid.IntRange(0, 255).Draw(r, "byte"))}, size)
		switch rapid.IntRange(0, 3).Draw(r, "how") {
		case 0:
			os.WriteFile(path, text, 0o600) //nolint:errcheck // a model of what programs do
		case 1:
			os.Remove(path) //nolint:errcheck
		case 2:
			if file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
				file.Write(text) //nolint:errcheck
				file.Close()     //nolint:errcheck
			}
		case 3:
			if file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
				file.WriteAt([]byte("changed"), int64(size/2)) //nolint:errcheck
				file.Close()                                   //nolint:errcheck
			}
		}
	}
}

// TestWriters: equal content of two writers has packs of different names, and of one writer the same. Each reads the other's.
func TestWriters(t *testing.T) {
	v, _ := vault(t)
	dir := filepath.Join(t.TempDir(), "of")
	files := map[string]string{"a": strings.Repeat("equal ", 1000), "b/": "", "b/c": "x"}
	write(t, dir, files)
	names := map[string]bool{}
	for i, writer := range []string{"one", "two", "one", ""} {
		by := v
		if writer != "" {
			var err error
			by, err = v.By(writer)
			must(t, err)
		}
		s := Subject{ID: fmt.Sprint("tree-", i), Owner: "o"}
		saved, err := by.Save(t.Context(), dir, SaveOptions{Subject: s})
		must(t, err)
		names[saved.Tree.Packs[0].Name] = true
		other, err := v.By("other")
		must(t, err)
		tree, err := other.Tree(t.Context(), s)
		must(t, err)
		into := filepath.Join(t.TempDir(), "into")
		must(t, other.Load(t.Context(), tree, into, LoadOptions{}))
		must(t, other.Check(t.Context(), tree, true))
		same(t, read(t, into), files)
	}
	if len(names) != 3 {
		t.Errorf("%v", names)
	}
}
