package extensions

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Folder keeps packages unpacked, each in a folder that is called after the SHA-256 of its file. Packages of the same bytes are one.
type Folder string

// Path returns where a package is unpacked. sum is the SHA-256 of its file in hexadecimal digits.
func (f Folder) Path(sum string) string { return filepath.Join(string(f), sum) }

// Has reports whether a package is unpacked.
func (f Folder) Has(sum string) bool {
	_, err := os.Lstat(f.Path(sum))
	return err == nil
}

// newPrefix begins the names of what is being written and has no name yet.
const newPrefix = ".new-"

// Receive writes a body to a file, with at most limit bytes, and returns its size and its SHA-256. Discard removes it. The error is Faults
// if the body is longer, and the body's own error if it has one.
func (f Folder) Receive(body io.Reader, limit int64) (file *os.File, size int64, sum string, err error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, 0, "", err
	}
	if file, err = os.CreateTemp(string(f), newPrefix+"*"); err != nil {
		return nil, 0, "", err
	}
	hash := sha256.New()
	size, err = io.Copy(io.MultiWriter(file, hash), io.LimitReader(body, limit+1))
	if err == nil && size > limit {
		err = ErrTooLarge
	}
	if err != nil {
		f.Discard(file)
		return nil, 0, "", err
	}
	return file, size, hex.EncodeToString(hash.Sum(nil)), nil
}

// ErrTooLarge is the error of a body with more bytes than it may have.
var ErrTooLarge = errors.New("the package has more bytes than it may have")

// Discard removes what Receive returned.
func (f Folder) Discard(file *os.File) {
	file.Close()           //nolint:errcheck // it is removed
	os.Remove(file.Name()) //nolint:errcheck // the next Sweep does
}

// Unpack unpacks a package, unless it is there. It appears whole or not at all.
func (f Folder) Unpack(p *Package, sum string) error {
	if f.Has(sum) {
		return nil
	}
	dir, err := os.MkdirTemp(string(f), newPrefix+"*")
	if err != nil {
		return err
	}
	err = p.unpack(dir)
	if err == nil {
		err = syncFolder(dir)
	}
	if err == nil {
		err = os.Rename(dir, f.Path(sum))
	}
	if err == nil {
		return syncFolder(string(f))
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// unpack writes the files of a package into an empty folder. Nothing within leads out of it, since nothing but folders and plain files is
// made there.
func (p *Package) unpack(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, e := range p.entries {
		if at := filepath.Dir(filepath.FromSlash(e.name)); at != "." {
			if err := root.MkdirAll(at, 0o700); err != nil {
				return err
			}
		}
		if err := p.unpackFile(root, e); err != nil {
			return err
		}
	}
	return nil
}

func (p *Package) unpackFile(root *os.Root, e entry) error {
	out, err := root.OpenFile(filepath.FromSlash(e.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if e.name == manifestName {
		_, err = out.Write(p.manifest)
	} else {
		err = e.copyTo(out)
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// Pack writes the files of an unpacked package as a zip for ReadPacked. A package that is removed meanwhile is an error.
func (f Folder) Pack(w io.Writer, sum string) error {
	root, err := os.OpenRoot(f.Path(sum))
	if err != nil {
		return err
	}
	defer root.Close()
	z := zip.NewWriter(w)
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		out, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return err
		}
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, file)
		return errors.Join(err, file.Close())
	})
	if err != nil {
		return err
	}
	return z.Close()
}

// syncFolder waits until the names in a folder are on the disk, where the system knows that.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	d.Sync() //nolint:errcheck // Windows has it not
	return nil
}

// Remove removes a package.
func (f Folder) Remove(sum string) error {
	gone, err := os.MkdirTemp(string(f), newPrefix+"*") // so that no part of it is ever at its place
	if err != nil {
		return err
	}
	if err := os.Rename(f.Path(sum), filepath.Join(gone, sum)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, os.Remove(gone))
	}
	return os.RemoveAll(gone)
}

// Sweep removes what an earlier server has left: parts, and packages that keep does not name. It is for a start, when nothing is written.
func (f Folder) Sweep(keep map[string]bool) error {
	names, err := f.names()
	for _, name := range names {
		if strings.HasPrefix(name, newPrefix) {
			err = errors.Join(err, os.RemoveAll(f.Path(name)))
		}
	}
	return errors.Join(err, f.Prune(keep))
}

// Prune removes packages that keep does not name. No package may come meanwhile.
func (f Folder) Prune(keep map[string]bool) error {
	names, err := f.names()
	for _, name := range names {
		if len(name) == 2*sha256.Size && !strings.HasPrefix(name, newPrefix) && !keep[name] {
			err = errors.Join(err, f.Remove(name))
		}
	}
	return err
}

func (f Folder) names() (names []string, err error) {
	all, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names, err
}
