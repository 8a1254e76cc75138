package snapshots

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"warren/packs"
	"warren/store"
)

// A backup in one file: a tar (POSIX.1-2001, pax) of the objects, the backup's own last.

// TarWriter are blobs that are written one after another into a new file. It can only put.
type TarWriter struct {
	path string
	file *os.File
	tar  *tar.Writer
}

// NewTar begins a tar file. It is there under its name after Finish alone. A file of that name is refused.
func NewTar(path string) (*TarWriter, error) {
	removeParts(path)
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("%s is there already; name a new file", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+partMark+"*") // 0600
	if err != nil {
		return nil, err
	}
	return &TarWriter{path, file, tar.NewWriter(file)}, nil
}

// partMark is in the name of a tar file that is being written, behind the name that it will have.
const partMark = ".part-"

// partAge is how long nobody has written to a tar file whose writer was killed. A backup writes all the time.
const partAge = time.Hour

// removeParts removes what killed backups have left of a file.
func removeParts(path string) {
	parts, _ := filepath.Glob(path + partMark + "*") //nolint:errcheck // a name that is no pattern has none
	for _, part := range parts {
		if info, err := os.Lstat(part); err == nil && time.Since(info.ModTime()) > partAge {
			os.Remove(part) //nolint:errcheck // the next backup tries again
		}
	}
}

// Put implements packs.Blobs.
func (t *TarWriter) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := t.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: time.Now(),
		Format: tar.FormatPAX})
	if err != nil {
		return err
	}
	_, err = io.Copy(t.tar, body)
	return err
}

// Get implements packs.Blobs: it has nothing to read.
func (t *TarWriter) Get(_ context.Context, name string, _, _ int64) (io.ReadCloser, error) {
	return nil, fmt.Errorf("%s: %w", name, packs.ErrNone)
}

// Delete implements packs.Blobs: a tar that is written keeps everything.
func (t *TarWriter) Delete(context.Context, string) error { return errors.ErrUnsupported }

// List implements packs.Blobs: nothing is there before.
func (t *TarWriter) List(context.Context, string) iter.Seq2[packs.Object, error] {
	return func(func(packs.Object, error) bool) {}
}

// Finish ends the file, waits for the disk, and gives it its name. With an error of before it removes the file.
func (t *TarWriter) Finish(before error) error {
	if before == nil {
		before = errors.Join(t.tar.Close(), t.file.Sync())
	}
	before = errors.Join(before, t.file.Close())
	if before == nil {
		before = os.Link(t.file.Name(), t.path) // it refuses a file that has come meanwhile
	}
	return errors.Join(before, os.Remove(t.file.Name()), store.SyncFolder(filepath.Dir(t.path)))
}

// tarReader are the objects of a tar file. They can only be read.
type tarReader struct {
	file    *os.File
	objects map[string]place
	names   []string
}

// place is where an object is in the file.
type place struct{ at, size int64 }

// OpenTar opens a tar file of a backup. Whoever opens it must close it.
func OpenTar(path string) (packs.Blobs, io.Closer, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	t := &tarReader{file: file, objects: map[string]place{}}
	for r := tar.NewReader(file); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return t, file, nil
		}
		if err == nil && h.Typeflag != tar.TypeReg {
			err = fmt.Errorf("%s is no object: this is no backup", h.Name)
		}
		if err != nil {
			return nil, nil, errors.Join(err, file.Close())
		}
		at, err := file.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, nil, errors.Join(err, file.Close())
		}
		t.objects[h.Name] = place{at, h.Size}
		t.names = append(t.names, h.Name)
	}
}

// Put implements packs.Blobs.
func (t *tarReader) Put(context.Context, string, int64, io.Reader) error {
	return errors.ErrUnsupported
}

// Delete implements packs.Blobs.
func (t *tarReader) Delete(context.Context, string) error { return errors.ErrUnsupported }

// Get implements packs.Blobs.
func (t *tarReader) Get(_ context.Context, name string, at, length int64) (io.ReadCloser, error) {
	p, ok := t.objects[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, packs.ErrNone)
	}
	left := max(0, p.size-at)
	if length < 0 || length > left {
		length = left
	}
	return io.NopCloser(io.NewSectionReader(t.file, p.at+at, length)), nil
}

// List implements packs.Blobs.
func (t *tarReader) List(_ context.Context, prefix string) iter.Seq2[packs.Object, error] {
	return func(yield func(packs.Object, error) bool) {
		for _, name := range t.names {
			if strings.HasPrefix(name, prefix) && !yield(packs.Object{Name: name, Size: t.objects[name].size}, nil) {
				return
			}
		}
	}
}
