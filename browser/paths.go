package browser

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// liesIn reports whether path, without links in it, is dir or lies below it. Folders are compared as what they are, not by name: a name
// may be written in several ways.
func liesIn(path, dir string) bool {
	want, err := os.Stat(dir)
	for {
		if is, e := os.Stat(path); path == dir || err == nil && e == nil && os.SameFile(is, want) {
			return true
		}
		parent := filepath.Dir(path)
		if parent == path {
			return false
		}
		path = parent
	}
}

// real follows every link of a path as Chrome would, step by step. What is not there yet is taken by its name. known is false for what
// nobody can follow for another process: /proc shows each process itself, and links may go round in a circle.
func realPath(path, cwd string) (real string, known bool) {
	if !filepath.IsAbs(path) {
		path = cwd + string(filepath.Separator) + path
	}
	volume := filepath.VolumeName(path)
	root := volume + string(filepath.Separator)
	left, real := pathSteps(path[len(volume):]), root
	for links := 0; len(left) > 0; {
		step := left[0]
		left = left[1:]
		if step == ".." {
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, step)
		if next == "/proc" {
			return "", false
		}
		to, err := os.Readlink(next)
		if err != nil {
			if _, err := os.Lstat(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", false
			}
			real = next
			continue
		}
		if links++; links > 100 {
			return "", false
		}
		if filepath.IsAbs(to) {
			real = filepath.VolumeName(to) + string(filepath.Separator)
			to = to[len(filepath.VolumeName(to)):]
		}
		left = append(pathSteps(to), left...)
	}
	return real, true
}

// pathSteps are the parts of a path; "..", which after a link leads elsewhere than the name says, stays.
func pathSteps(path string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }), func(s string) bool { return s == "." })
}

// pathSpellings are a folder's path as it was given, and as it is without links.
func pathSpellings(dir string) []string {
	all := []string{filepath.Clean(dir)}
	if real, known := realPath(dir, ""); known && real != all[0] {
		all = append(all, real)
	}
	return all
}
