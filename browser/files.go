package browser

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// FileName turns a suggested name into a safe one: no folders, no control characters, at most maxFileName bytes.
func FileName(name string) string {
	name = strings.ToValidUTF8(name, "_")
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	if name = strings.Trim(name, " ."); name == "" {
		name = "file"
	}
	if len(name) > maxFileName {
		name = strings.ToValidUTF8(name[:maxFileName], "")
	}
	return name
}

// maxFileName is the longest name of a file, in bytes.
const maxFileName = 200

// withoutEnding splits a name into its start and its ending, such as ".txt".
func withoutEnding(name string) (start, end string) {
	if end = path.Ext(name); len(end) > 20 {
		end = ""
	}
	return strings.TrimSuffix(name, end), end
}

// SizeOf returns how many bytes the files in a folder and its subfolders count towards a quota. Files that disappear meanwhile do not
// count.
func SizeOf(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += max(info.Size(), fileCost)
		}
		return nil
	})
	return total
}

// fileCost is the least that a file counts, in bytes: empty files take room too, and slow down every check.
const fileCost = 4096

// within reports whether path is dir or lies below it. It compares names only.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// liesIn reports whether path, which contains no links, is dir or lies below it. It compares folders by identity, since one folder may have
// several names.
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

// realPath follows every link of a path, step by step, as Chrome would. Missing parts are taken literally. known is false for paths that
// cannot be resolved for another process: /proc shows each process itself, and links may form a circle.
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

// pathSteps returns the parts of a path. It keeps "..", which after a link leads elsewhere than the text says.
func pathSteps(path string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }),
		func(s string) bool { return s == "." })
}

// pathSpellings returns a folder's path as given, and without links.
func pathSpellings(dir string) []string {
	all := []string{filepath.Clean(dir)}
	if real, known := realPath(dir, ""); known && real != all[0] {
		all = append(all, real)
	}
	return all
}
