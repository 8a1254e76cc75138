package userdata

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Pack writes a tar file of the profiles of a folder of user data, without caches and locks. only names the profiles' folders; none: all.
// No file outside of the folder is read, and no Chrome may have it open. The error is a *Refusal, or that of the files or of w.
func Pack(ctx context.Context, w io.Writer, dir string, only []string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it was only read
	folders, err := chosen(root, only)
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	for _, name := range []string{localState, lastVersion} {
		if err := packFile(out, root, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, folder := range folders {
		err := fs.WalkDir(root.FS(), folder, func(at string, e fs.DirEntry, err error) error {
			rel := strings.TrimPrefix(strings.TrimPrefix(at, folder), "/")
			switch {
			case err != nil || ctx.Err() != nil:
				return errors.Join(err, ctx.Err())
			case rel == "":
				return nil
			case leavesOut(rel, e.IsDir()):
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			case e.IsDir():
				return nil // it is made with its files
			case !e.Type().IsRegular():
				return refuse("The folder has a link, or something else that is no file: " + strconv.Quote(at) + ". Remove it.")
			}
			return packFile(out, root, at)
		})
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// chosen returns the folders of the profiles to pack.
func chosen(root *os.Root, only []string) (folders []string, err error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if isRunning(e.Name()) {
			return nil, refuse(running + "close it first. If none runs, remove the file " + strconv.Quote(e.Name()) + ".")
		}
		info, err := root.Lstat(path.Join(e.Name(), preferences))
		if e.IsDir() && err == nil && info.Mode().IsRegular() && !slices.Contains(notProfiles, e.Name()) {
			folders = append(folders, e.Name())
		}
	}
	for _, name := range only {
		if !slices.Contains(folders, name) {
			return nil, refuse("There is no profile " + strconv.Quote(name) + " in the folder. It has: " +
				strings.Join(folders, ", ") + ".")
		}
	}
	if len(only) > 0 {
		folders = only
	}
	if len(folders) == 0 {
		return nil, refuse("This is no folder of Chrome's user data: no folder in it has a file Preferences.")
	}
	return folders, nil
}

func packFile(out *tar.Writer, root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return refuse("In the folder this is no file: " + strconv.Quote(name) + ".")
	}
	h := &tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime(), Typeflag: tar.TypeReg}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	if _, err := io.Copy(out, f); err != nil { // also if it grew meanwhile
		return err
	}
	return nil
}
