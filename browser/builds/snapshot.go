package builds

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"warren/browser"
)

// LastOpened returns the full version and the major of the browser that last opened a folder of user data. It returns "" and 0 if none is
// recorded. Chrome, Edge and Brave record it in the file "Last Version" (chrome/browser/downgrade/downgrade_utils.cc).
func LastOpened(userDataDir string) (version string, major int) {
	f, err := os.Open(filepath.Join(userDataDir, "Last Version"))
	if err != nil {
		return "", 0
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return "", 0
	}
	v, ok := browser.ParseVersion(strings.TrimSpace(string(text)))
	if !ok {
		return "", 0
	}
	return strings.TrimSpace(string(text)), v[0]
}

// Snapshot copies a folder of user data to folder/name and returns that path. No browser may have the folder open. Caches are left out,
// since Chrome rebuilds them. The copy is complete and flushed to disk, or it does not exist. Snapshot also removes what an interrupted one
// left behind.
func Snapshot(ctx context.Context, userDataDir, folder, name string) (path string, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if err := removeUnfinished(folder); err != nil {
		return "", err
	}
	half := filepath.Join(folder, unfinishedPrefix+name)
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(half))
		}
	}()
	err = filepath.WalkDir(userDataDir, func(from string, d fs.DirEntry, err error) error {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(userDataDir, from)
		if err != nil {
			return err
		}
		if d.IsDir() && isCache(rel) {
			return filepath.SkipDir
		}
		return copyEntry(from, filepath.Join(half, rel), d)
	})
	if err != nil {
		return "", err
	}
	if err := syncAll(half); err != nil {
		return "", err
	}
	path = filepath.Join(folder, name)
	if err := os.Rename(half, path); err != nil {
		return "", err
	}
	return path, syncAll(folder)
}

// isCache reports whether rel, a path below a folder of user data, is one of Chrome's caches. Caches lie beside the profiles or directly
// within one. Deeper folders of the same name may belong to an extension.
func isCache(rel string) bool {
	if strings.Count(rel, string(filepath.Separator)) > 1 {
		return false
	}
	return slices.Contains([]string{
		"Cache", "Code Cache", "Media Cache", "GPUCache", "GPUPersistentCache", "ShaderCache", "GrShaderCache", "GraphiteDawnCache",
		"DawnCache", "DawnGraphiteCache", "DawnWebGPUCache", "component_crx_cache", "extensions_crx_cache",
	}, filepath.Base(rel))
}

// copyEntry copies a folder, a file or a link. It skips sockets, pipes and Chrome's Singleton links, which say which process has the folder
// open.
func copyEntry(from, to string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return os.Mkdir(to, mode.Perm()|0o700)
	case mode&fs.ModeSymlink != 0 && !strings.HasPrefix(d.Name(), "Singleton"):
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case mode.IsRegular():
		return copyFile(from, to, mode.Perm())
	}
	return nil
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in) // by the kernel where possible, which costs no space on some file systems
	return errors.Join(err, out.Close())
}
