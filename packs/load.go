package packs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The names beside a folder that is being replaced.
const (
	newSuffix = ".new" // what will take its place
	oldSuffix = ".old" // what it was
)

// LoadOptions say what of a tree is on this machine already.
type LoadOptions struct {
	Stamps string // of the folder that is written, as in SaveOptions
	// From is a folder whose files may be copied where they are the tree's: the folder itself, or the one that it is a clone of.
	From       string
	FromStamps string
	FromTree   *Tree  // that From equalled when its stamps were made
	Filter     Filter // what it leaves at the top of the folder stays as it is; nil: nothing does
}

// Load makes a folder equal to a tree. What was there before is replaced at once, when all is on the disk; until then, and after
// an error, it stays as it was. Settle must be called after a crash before the folder is used.
func (v *Vault) Load(ctx context.Context, t *Tree, dir string, o LoadOptions) error {
	staged, err := v.Stage(ctx, t, dir, o)
	if err != nil {
		return err
	}
	return staged.Swap()
}

// Staged is a new folder that is on the disk, beside the one whose place it takes. Swap or Drop ends it.
type Staged struct {
	tree *Tree
	dir  string
	o    LoadOptions
}

// Stage does the first part of Load: afterwards nothing is left to do that needs room.
func (v *Vault) Stage(ctx context.Context, t *Tree, dir string, o LoadOptions) (*Staged, error) {
	if err := Settle(dir, o.Filter); err != nil {
		return nil, err
	}
	l := loading{v: v, tree: t, into: dir + newSuffix, o: o, links: o.From == dir}
	if err := errors.Join(l.all(ctx), forget(o.Stamps)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(l.into))
	}
	return &Staged{t, dir, o}, nil
}

// Drop removes the new folder.
func (s *Staged) Drop() error { return os.RemoveAll(s.dir + newSuffix) }

// Swap replaces the folder. After an error it is as it was.
func (s *Staged) Swap() error {
	if err := swap(s.dir, s.o.Filter); err != nil {
		return err
	}
	if s.o.Stamps != "" {
		stampsOf(s.dir, s.tree).write(s.o.Stamps) //nolint:errcheck // the folder is there, and without stamps the next save reads all files
	}
	return nil
}

// swap puts the new folder into the place of the old one. After an error the old one is there. Settle goes on from wherever a crash
// interrupts it.
func swap(dir string, keep Filter) error {
	if err := os.Rename(dir, dir+oldSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Rename(dir+newSuffix, dir)
	if err == nil {
		if err = syncFolder(filepath.Dir(dir)); err == nil {
			dropOld(dir, keep) //nolint:errcheck // the new folder is there, and Settle goes on before anybody uses it
			return nil
		}
		err = errors.Join(err, os.Rename(dir, dir+newSuffix))
	}
	back := os.Rename(dir+oldSuffix, dir)
	if back == nil || errors.Is(back, fs.ErrNotExist) { // there was none
		back = os.RemoveAll(dir + newSuffix)
	} // else the new one stays whole, for Settle
	return errors.Join(err, back)
}

// dropOld removes the folder that was replaced, after what is kept of it was moved to the new one.
func dropOld(dir string, keep Filter) error {
	entries, err := os.ReadDir(dir + oldSuffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if keep == nil || !keep.Leaves(e.Name(), e.IsDir()) {
			continue
		}
		if err := os.Rename(filepath.Join(dir+oldSuffix, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	if err := errors.Join(syncFolder(dir), syncFolder(filepath.Dir(dir))); err != nil {
		return err
	}
	return os.RemoveAll(dir + oldSuffix)
}

// Settle ends what a crash interrupted: if the folder was about to be replaced by a whole one, it is; else it is as it was. keep
// is that of the load. There may be no folder.
func Settle(dir string, keep Filter) error {
	_, err := os.Lstat(dir)
	_, old := os.Lstat(dir + oldSuffix)
	switch {
	case old != nil:
	case errors.Is(err, fs.ErrNotExist): // only between the two renames, when the new one is whole
		if _, err := os.Lstat(dir + newSuffix); errors.Is(err, fs.ErrNotExist) { // or after a second one that failed
			return os.Rename(dir+oldSuffix, dir)
		}
		return swap(dir, keep)
	default: // only after both
		return errors.Join(dropOld(dir, keep), os.RemoveAll(dir+newSuffix))
	}
	return os.RemoveAll(dir + newSuffix)
}

// loading is one Load.
type loading struct {
	v     *Vault
	tree  *Tree
	into  string
	o     LoadOptions
	links bool         // whether a file of From may be linked: From is deleted before anything writes to the new folder
	have  map[int]bool // places of the tree's files that were copied
}

// all makes the new folder.
func (l *loading) all(ctx context.Context) error {
	if err := os.MkdirAll(l.into, 0o700); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{l.folders, l.copies, l.chunks, l.finish} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *loading) at(path string) string { return filepath.Join(l.into, filepath.FromSlash(path)) }

func (l *loading) folders(context.Context) error {
	for _, d := range l.tree.Folders {
		if err := os.Mkdir(l.at(d.Path), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// copies takes from the folder From what is as the tree has it.
func (l *loading) copies(ctx context.Context) error {
	l.have = map[int]bool{}
	if l.o.From == "" || l.o.FromTree == nil {
		return nil
	}
	then := readStamps(l.o.FromStamps)
	if then.Tree != l.o.FromTree.ID {
		return nil
	}
	theirs := make(map[string]*File, len(l.o.FromTree.Files))
	for i := range l.o.FromTree.Files {
		theirs[l.o.FromTree.Files[i].Path] = &l.o.FromTree.Files[i]
	}
	for i := range l.tree.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := &l.tree.Files[i]
		other := theirs[f.Path]
		if other == nil || !sameChunks(f.Chunks, other.Chunks) {
			continue
		}
		from := filepath.Join(l.o.From, filepath.FromSlash(f.Path))
		if info, err := os.Lstat(from); err != nil || !info.Mode().IsRegular() {
			continue
		} else if now, known := stampOf(info); !then.unchanged(f.Path, now, known) {
			continue
		}
		if err := l.take(from, l.at(f.Path)); err != nil {
			return err
		}
		l.have[i] = true
	}
	return nil
}

// take copies a file, or links it if nothing will write to it before the other name is gone.
func (l *loading) take(from, to string) error {
	if l.links && os.Link(from, to) == nil {
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // it was only read
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if reflink(target, source) != nil {
		_, err = io.Copy(target, source)
	}
	return errors.Join(err, target.Close())
}

// part is a chunk and where it goes.
type part struct {
	file  int
	start int64
	chunk Chunk
}

// chunks writes what was not copied, pack by pack.
func (l *loading) chunks(ctx context.Context) error {
	parts := make([][]part, len(l.tree.Packs))
	for i := range l.tree.Files {
		if l.have[i] {
			continue
		}
		file, err := os.OpenFile(l.at(l.tree.Files[i].Path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			return err
		}
		var start int64
		for _, c := range l.tree.Files[i].Chunks {
			parts[c.Pack] = append(parts[c.Pack], part{i, start, c})
			start += c.Size
		}
	}
	unzip, err := newDecompressor(chunkSize)
	if err != nil {
		return err
	}
	defer unzip.Close()
	open := opener{l.v.keys, unzip}
	for i, pack := range l.tree.Packs {
		if err := l.pack(ctx, open, pack, parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// pack writes the chunks of a pack. If most of it is needed it is read as a whole, which is one request where the objects are far.
func (l *loading) pack(ctx context.Context, open opener, pack Pack, parts []part) error {
	var needed int64
	for _, p := range parts {
		needed += p.chunk.Length
	}
	var whole []byte
	if len(parts) > 1 && 2*needed > pack.Size {
		var err error
		if whole, err = readAll(ctx, l.v.blobs, PackName(pack.Name), MaxPack); err != nil {
			return err
		}
	}
	var w writer
	for _, p := range parts {
		sealed, err := l.v.sealedChunk(ctx, pack, whole, p.chunk)
		if err != nil {
			return errors.Join(err, w.close())
		}
		plain, err := open.open(p.chunk, sealed)
		if err != nil {
			return errors.Join(fmt.Errorf("%s in the pack %s: %w", l.tree.Files[p.file].Path, pack.Name, err), w.close())
		}
		if err := w.write(l.at(l.tree.Files[p.file].Path), p.start, plain); err != nil {
			return errors.Join(err, w.close())
		}
	}
	return w.close()
}

// sealedChunk returns the bytes of a chunk, from the whole pack if that was read.
func (v *Vault) sealedChunk(ctx context.Context, pack Pack, whole []byte, c Chunk) ([]byte, error) {
	if whole != nil {
		if c.At > int64(len(whole))-c.Length {
			return nil, fmt.Errorf("%w: the pack %s is shorter than its chunks", ErrDamaged, pack.Name)
		}
		return whole[c.At : c.At+c.Length], nil
	}
	body, err := v.blobs.Get(ctx, PackName(pack.Name), c.At, c.Length)
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(io.LimitReader(body, c.Length))
	if err == nil && int64(len(b)) != c.Length {
		err = fmt.Errorf("%w: the pack %s is shorter than its chunks", ErrDamaged, pack.Name)
	}
	return b, err
}

// writer writes parts of files, and keeps the last file open.
type writer struct {
	path string
	file *os.File
}

func (w *writer) write(path string, at int64, b []byte) error {
	if w.path != path {
		if err := w.close(); err != nil {
			return err
		}
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		w.path, w.file = path, file
	}
	_, err := w.file.WriteAt(b, at)
	return err
}

func (w *writer) close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.path, w.file = "", nil
	return err
}

// finish sets permissions and times, makes the links, and waits until the disk has everything, also what was linked: its writer may
// not have waited.
func (l *loading) finish(ctx context.Context) error {
	for i := range l.tree.Files {
		if l.have[i] && l.links {
			continue
		}
		f := &l.tree.Files[i]
		at, modified := l.at(f.Path), time.Unix(0, f.Modified)
		if err := errors.Join(ctx.Err(), os.Chtimes(at, modified, modified), os.Chmod(at, fs.FileMode(f.Mode).Perm())); err != nil {
			return err
		}
	}
	for _, link := range l.tree.Links { // last, so that nothing was written through one
		if err := os.Symlink(filepath.FromSlash(link.Target), l.at(link.Path)); err != nil {
			return err
		}
	}
	paths := make([]string, len(l.tree.Files))
	for i := range l.tree.Files {
		paths[i] = l.tree.Files[i].Path
	}
	if err := syncTree(ctx, l.into, l.tree, paths); err != nil {
		return err
	}
	for _, d := range slices.Backward(l.tree.Folders) {
		if err := os.Chmod(l.at(d.Path), fs.FileMode(d.Mode).Perm()); err != nil {
			return err
		}
	}
	return syncFolder(l.into)
}

// stampsOf returns the stamps of a folder that was just written. Nothing else writes to it, so that no file is too young.
func stampsOf(dir string, t *Tree) stamps {
	s := stamps{Tree: t.ID, Files: map[string]stamp{}}
	for i := range t.Files {
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(t.Files[i].Path)))
		if err != nil {
			continue
		}
		if now, ok := stampOf(info); ok {
			s.Files[t.Files[i].Path] = now
		}
	}
	return s
}
