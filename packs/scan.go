package packs

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// found is a file of a folder, before it is read.
type found struct {
	path  string
	info  fs.FileInfo
	stamp stamp
	known bool // whether the stamp says enough
	young bool // whether its last change may be followed by one with the same times
}

// scanning is one walk through a folder.
type scanning struct {
	ctx   context.Context
	dir   string
	leave Filter
	young time.Time // files that changed later are young

	tree  *Tree // gets the folders, and the links into the tree
	files []found
	left  []string // what is neither, such as a socket, and links that leave the folder
}

// scan lists a folder. It reads no file.
func (v *Vault) scan(ctx context.Context, dir string, leave Filter, t *Tree) (*scanning, error) {
	s := &scanning{ctx: ctx, dir: dir, leave: leave, young: time.Now().Add(-v.settled), tree: t}
	return s, filepath.WalkDir(dir, s.visit)
}

// visit is the walk's fs.WalkDirFunc.
func (s *scanning) visit(at string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	rel, err := filepath.Rel(s.dir, at)
	if err != nil || rel == "." {
		return err
	}
	path := filepath.ToSlash(rel)
	out := s.leave != nil && s.leave.Leaves(path, entry.IsDir())
	if !out && !isClean(path) { // a name that another system would take for a path
		s.left = append(s.left, path)
		out = true
	}
	if out && entry.IsDir() {
		return filepath.SkipDir
	}
	if out {
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	return s.keep(at, path, info)
}

// keep notes what is at a path.
func (s *scanning) keep(at, path string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		s.tree.Folders = append(s.tree.Folders, Dir{path, uint32(info.Mode().Perm())})
	case info.Mode().IsRegular():
		f := found{path: path, info: info}
		f.stamp, f.known = stampOf(info)
		f.young = time.Unix(0, max(f.stamp.Changed, f.stamp.Modified)).After(s.young)
		s.files = append(s.files, f)
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(at)
		if err != nil {
			return err
		}
		if link := (Link{path, filepath.ToSlash(target)}); staysBelow(link) {
			s.tree.Links = append(s.tree.Links, link)
		} else {
			s.left = append(s.left, path)
		}
	default:
		s.left = append(s.left, path)
	}
	return nil
}
