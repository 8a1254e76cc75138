package packs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// unfinished begins the names of files that are being written.
const unfinished = ".new-"

// validName is what an object may be called: nothing that leaves the folder, or that a file system takes for something else.
var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)*$`)

// folder keeps objects as files.
type folder struct{ dir string }

// Folder keeps objects as files below a folder, which it makes when it is first needed. Only their owner can read them. It is a
// Sweeper and a Syncer too.
func Folder(dir string) Blobs { return folder{dir} }

// checkName says why there can be no object of this name.
func checkName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("%q cannot be the name of an object", name)
	}
	return nil
}

func (f folder) path(name string) (string, error) {
	return filepath.Join(f.dir, filepath.FromSlash(name)), checkName(name)
}

func (f folder) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	path, err := f.path(name)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil { // whoever wrote it may not have waited for the disk yet, and may be dead
		return syncFolder(filepath.Dir(path))
	}
	if err := makeFolders(f.dir, filepath.Dir(path)); err != nil {
		return err
	}
	aside := filepath.Join(filepath.Dir(path), unfinished+rand.Text())
	defer os.Remove(aside) //nolint:errcheck // the object has another name by then, or the next sweep removes it
	if err := writeWhole(ctx, aside, size, body); err != nil {
		return err
	}
	// A link and not a rename: of two that write one name the first wins, and readers never see it change.
	if err := os.Link(aside, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// makeFolders makes the folders down to dir, each of them known to its parent on the disk.
func makeFolders(top, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if dir != top {
		if err := makeFolders(top, filepath.Dir(dir)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(dir))
}

// writeWhole writes a new file of exactly size bytes, and waits until the disk has it.
func writeWhole(ctx context.Context, path string, size int64, body io.Reader) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	written, err := io.Copy(file, io.LimitReader(reading{ctx, body}, size+1))
	if err == nil && written != size {
		err = wrongSize(size)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func wrongSize(size int64) error {
	return fmt.Errorf("the object has another size than the %d bytes that were announced", size)
}

// reading ends with its context.
type reading struct {
	ctx context.Context
	r   io.Reader
}

func (r reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func (f folder) Get(_ context.Context, name string, at, length int64) (io.ReadCloser, error) {
	path, err := f.path(name)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", name, ErrNone)
	}
	if err != nil {
		return nil, err
	}
	if length < 0 {
		info, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		length = max(0, info.Size()-at)
	}
	return section{io.NewSectionReader(file, at, length), file}, nil
}

// section is a part of a file that closes the file.
type section struct {
	*io.SectionReader
	io.Closer
}

func (f folder) Delete(_ context.Context, name string) error {
	path, err := f.path(name)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Sync is of Syncer.
func (f folder) Sync(_ context.Context, prefix string) error {
	err := syncFolder(filepath.Join(f.dir, filepath.FromSlash(path.Dir(prefix))))
	if errors.Is(err, fs.ErrNotExist) { // so nothing was ever in it
		return nil
	}
	return err
}

func (f folder) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		stop := errors.New("no more")
		err := f.walk(ctx, func(path string, entry fs.DirEntry) error {
			if strings.HasPrefix(entry.Name(), unfinished) {
				return nil
			}
			rel, err := filepath.Rel(f.dir, path)
			name := filepath.ToSlash(rel)
			if err != nil || !strings.HasPrefix(name, prefix) {
				return err
			}
			info, err := entry.Info()
			if err == nil && !yield(Object{name, info.Size()}, nil) {
				return stop
			}
			return err
		})
		if err != nil && !errors.Is(err, stop) {
			yield(Object{}, err)
		}
	}
}

// walk visits the files. What goes meanwhile is passed over.
func (f folder) walk(ctx context.Context, visit func(path string, entry fs.DirEntry) error) error {
	return filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && !entry.IsDir() {
			err = visit(path, entry)
		}
		if errors.Is(err, fs.ErrNotExist) { // the folder was never needed, or the object was deleted meanwhile
			return nil
		}
		return err
	})
}

// Sweep is of Sweeper.
func (f folder) Sweep(ctx context.Context, age time.Duration) (removed int, err error) {
	young := time.Now().Add(-age)
	err = f.walk(ctx, func(path string, entry fs.DirEntry) error {
		if !strings.HasPrefix(entry.Name(), unfinished) {
			return nil
		}
		info, err := entry.Info()
		if err != nil || info.ModTime().After(young) {
			return err
		}
		err = os.Remove(path)
		if err == nil {
			removed++
		}
		return err
	})
	return removed, err
}
