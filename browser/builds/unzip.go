package builds

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Limits of an unpacked archive. A build of Chrome has 400 MB in a thousand files.
const (
	maxUnpacked = 4 << 30 // bytes
	maxEntries  = 100_000
)

// unzip unpacks an archive into the new folder dir. No file can land outside of it: os.Root confines every path to dir. Links, which macOS
// builds contain, are created last and must lead to something within. Of the file modes only the executable bit is kept.
func unzip(ctx context.Context, archive, dir string) (err error) {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer r.Close()
	if len(r.File) > maxEntries {
		return fmt.Errorf("it has %d files", len(r.File))
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	links, left := map[string]string{}, int64(maxUnpacked)
	for _, f := range r.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := strings.TrimSuffix(f.Name, "/")
		if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\\x00") {
			return fmt.Errorf("it has a file that leads out of it: %.80q", f.Name)
		}
		switch mode := f.Mode(); {
		case mode.IsDir():
			err = root.MkdirAll(filepath.FromSlash(name), 0o700)
		case mode&fs.ModeSymlink != 0:
			links[name], err = readLink(f)
		case mode.IsRegular():
			var n int64
			n, err = unzipFile(root, f, name, left)
			left -= n
		default:
			err = fmt.Errorf("it has a file that is neither file, folder nor link: %.80q", f.Name)
		}
		if err != nil {
			return err
		}
	}
	return makeLinks(root, links)
}

// unzipFile writes one file of at most left bytes and returns its size.
func unzipFile(root *os.Root, f *zip.File, name string, left int64) (n int64, err error) {
	name = filepath.FromSlash(name)
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return 0, err
	}
	mode := fs.FileMode(0o600)
	if f.Mode()&0o111 != 0 {
		mode = 0o700
	}
	in, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, io.LimitReader(in, left+1))
	if err == nil && n > left {
		err = fmt.Errorf("it unpacks to more than %d MiB", int64(maxUnpacked)>>20)
	}
	return n, errors.Join(err, out.Close())
}

// readLink returns the target of a link in the archive, relative to the link's folder.
func readLink(f *zip.File) (string, error) {
	in, err := f.Open()
	if err != nil {
		return "", err
	}
	defer in.Close()
	target, err := io.ReadAll(io.LimitReader(in, 4096))
	if err != nil {
		return "", err
	}
	if t := string(target); path.IsAbs(t) || !filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(f.Name), t))) ||
		strings.ContainsAny(t, "\\\x00") {
		return "", fmt.Errorf("it has a link that leads out of it: %.80q", f.Name)
	}
	return string(target), nil
}

// makeLinks creates the links and then follows each of them, since a link through links could still lead outside.
func makeLinks(root *os.Root, links map[string]string) error {
	for name, target := range links {
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o700); err != nil {
			return err
		}
		if err := root.Symlink(filepath.FromSlash(target), filepath.FromSlash(name)); err != nil {
			return err
		}
	}
	for name := range links {
		if _, err := root.Stat(filepath.FromSlash(name)); err != nil {
			return fmt.Errorf("it has a link that leads out of it, or nowhere: %w", err)
		}
	}
	return nil
}
