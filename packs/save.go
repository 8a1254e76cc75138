package packs

import (
	"bytes"
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

// Filter says what of a folder is in no tree. A save leaves it out, and a load leaves it where it is.
type Filter interface {
	// Leaves is asked for a path from the folder on, with slashes. What is in a folder that it leaves is not asked for.
	Leaves(path string, isDir bool) bool
}

// SaveOptions say what is saved, and what is known already.
type SaveOptions struct {
	Subject Subject
	Parent  *Tree // chunks of it are not written again; nil: there is none
	// Stamps is the path of a file beside the folder that tells which files are as they were in a tree. Empty: all are read.
	Stamps string
	Filter Filter            // what is left out; nil: nothing
	About  map[string]string // is kept in the tree
	Always bool              // writes a tree also if nothing has changed since Parent
}

// Saved is the outcome of a save.
type Saved struct {
	Tree     *Tree
	Same     bool     // nothing has changed: Tree is Parent, and nothing was written
	NewBytes int64    // that were written
	Read     int64    // bytes of files that were read; the others were known to be unchanged
	Left     []string // what cannot be kept: sockets, pipes, links out of the folder
}

// Save keeps a folder that nothing writes to meanwhile. When it returns, all is on the disk. After an error some packs may
// have been written, which no tree names.
func (v *Vault) Save(ctx context.Context, dir string, o SaveOptions) (*Saved, error) {
	if err := o.Subject.check(); err != nil {
		return nil, err
	}
	t := &Tree{Version: treeVersion, ID: o.Subject.ID, MadeAt: time.Now().UTC(), About: o.About}
	if o.Parent != nil {
		t.Parent = o.Parent.ID
	}
	scanned, err := v.scan(ctx, dir, o.Filter, t)
	if err != nil {
		return nil, err
	}
	left := scanned.left
	s, err := v.newSaving(o, t, scanned.files)
	if err != nil {
		return nil, err
	}
	for _, f := range scanned.files {
		if err := s.file(ctx, dir, f); err != nil {
			return nil, err
		}
	}
	if !o.Always && o.Parent != nil && o.Parent.equals(t) {
		s.remember(ctx, dir, o.Stamps, o.Parent.ID)
		return &Saved{Tree: o.Parent, Same: true, Read: s.read, Left: left}, nil
	}
	if err := s.packer.flush(ctx); err != nil {
		return nil, err
	}
	s.resolve()
	written, err := v.putTree(ctx, t, o.Subject)
	if err != nil {
		return nil, err
	}
	s.remember(ctx, dir, o.Stamps, t.ID)
	return &Saved{Tree: t, NewBytes: s.packer.sum + written, Read: s.read, Left: left}, nil
}

// putTree writes a tree, and returns how many bytes that took.
func (v *Vault) putTree(ctx context.Context, t *Tree, s Subject) (int64, error) {
	zip, err := newCompressor(v.level)
	if err != nil {
		return 0, err
	}
	defer zip.Close() //nolint:errcheck // it writes to nothing
	sealed, err := t.sealWithin(v.keys, s, zip, v.maxTree)
	if err != nil {
		return 0, err
	}
	if err := v.blobs.Put(ctx, treeName(s.ID), int64(len(sealed)), bytes.NewReader(sealed)); err != nil {
		return 0, fmt.Errorf("cannot write a tree: %w", err)
	}
	return int64(len(sealed)), nil
}

// location is where a chunk is: in a pack that is there, or in one that is being filled.
type location struct {
	pack       Pack
	filling    *filling
	at, length int64
}

// saving is one Save.
type saving struct {
	tree   *Tree
	sealer sealer
	packer packer
	stamps stamps                      // of the parent
	now    stamps                      // of what is saved
	parent map[string]*File            // by path
	packs  []Pack                      // of the parent
	thin   map[string]bool             // packs of which too little is used: what is in them is written anew
	known  map[[nameSize]byte]location // chunks that are there
	where  []location                  // of each chunk of the tree, in order
	read   int64                       // bytes of files
	fresh  []string                    // paths of the files that were read
	buffer []byte
}

func (v *Vault) newSaving(o SaveOptions, t *Tree, files []found) (*saving, error) {
	zip, err := newCompressor(v.level)
	if err != nil {
		return nil, err
	}
	s := &saving{tree: t, sealer: sealer{keys: v.keys, zip: zip}, packer: packer{blobs: v.blobs, keys: v.keys, full: v.full},
		now: stamps{Files: map[string]stamp{}}, parent: map[string]*File{}, known: map[[nameSize]byte]location{},
		buffer: make([]byte, chunkSize)}
	if o.Parent == nil {
		return s, nil
	}
	s.packs = o.Parent.Packs
	if s.stamps = readStamps(o.Stamps); s.stamps.Tree != o.Parent.ID {
		s.stamps = stamps{}
	}
	for i := range o.Parent.Files {
		s.parent[o.Parent.Files[i].Path] = &o.Parent.Files[i]
	}
	s.thin = s.thinPacks(files)
	for i := range o.Parent.Files {
		for _, c := range o.Parent.Files[i].Chunks {
			if pack := o.Parent.Packs[c.Pack]; !s.thin[pack.Name] {
				s.known[c.Name] = location{pack: pack, at: c.At, length: c.Length}
			}
		}
	}
	return s, nil
}

// thinPacks returns the parent's packs of which the files that are still there use less than half.
func (s *saving) thinPacks(files []found) map[string]bool {
	used := make([]int64, len(s.packs))
	seen := map[[nameSize]byte]bool{}
	for _, f := range files {
		before := s.parent[f.path]
		if before == nil {
			continue
		}
		for _, c := range before.Chunks {
			if !seen[c.Name] {
				seen[c.Name] = true
				used[c.Pack] += c.Length
			}
		}
	}
	thin := map[string]bool{}
	for i, pack := range s.packs {
		if 2*used[i] < pack.Body {
			thin[pack.Name] = true
		}
	}
	return thin
}

// file adds a file to the tree. One that is as it was in the parent is not read.
func (s *saving) file(ctx context.Context, dir string, f found) error {
	if f.known && !f.young {
		s.now.Files[f.path] = f.stamp
	}
	before := s.parent[f.path]
	if before != nil && s.stamps.unchanged(f.path, f.stamp, f.known) && !s.isThin(before) {
		now := *before
		now.Chunks, now.Mode, now.Modified = slices.Clone(before.Chunks), uint32(f.info.Mode().Perm()), f.info.ModTime().UnixNano()
		for _, c := range now.Chunks {
			s.where = append(s.where, s.known[c.Name])
		}
		s.tree.Files = append(s.tree.Files, now)
		return nil
	}
	now := File{Path: f.path, Mode: uint32(f.info.Mode().Perm()), Modified: f.info.ModTime().UnixNano()}
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.path)))
	if errors.Is(err, fs.ErrNotExist) { // it has gone since the folder was listed
		delete(s.now.Files, f.path)
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	for ctx.Err() == nil {
		n, err := io.ReadFull(file, s.buffer)
		if n > 0 {
			if err := s.chunk(ctx, &now, s.buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			s.tree.Files, s.fresh = append(s.tree.Files, now), append(s.fresh, f.path)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *saving) isThin(f *File) bool {
	return slices.ContainsFunc(f.Chunks, func(c Chunk) bool { return s.thin[s.packs[c.Pack].Name] })
}

// chunk adds a part of a file, and writes it if it is new.
func (s *saving) chunk(ctx context.Context, f *File, plain []byte) error {
	name := s.sealer.keys.nameOf(plain)
	size := int64(len(plain))
	at, err := s.put(ctx, name, size, func(dst []byte) []byte { return s.sealer.seal(dst, name, plain) })
	if err != nil {
		return err
	}
	s.read += size
	f.Size += size
	f.Chunks = append(f.Chunks, Chunk{Name: name, Size: size})
	s.where = append(s.where, at)
	return nil
}

// put writes a chunk if it is not known, and returns where it is.
func (s *saving) put(ctx context.Context, name [nameSize]byte, size int64, seal func(dst []byte) []byte) (location, error) {
	if at, ok := s.known[name]; ok {
		return at, nil
	}
	into, start, length, err := s.packer.add(ctx, name, size, seal)
	if err != nil {
		return location{}, err
	}
	at := location{filling: into, at: start, length: length}
	s.known[name] = at
	return at, nil
}

// resolve writes into the tree where its chunks are, once all packs have their names.
func (s *saving) resolve() {
	places := map[string]int{}
	next := 0
	for i := range s.tree.Files {
		chunks := s.tree.Files[i].Chunks
		for j := range chunks {
			at := s.where[next]
			next++
			if at.filling != nil {
				at.pack = at.filling.pack
			}
			place, ok := places[at.pack.Name]
			if !ok {
				place = len(s.tree.Packs)
				places[at.pack.Name] = place
				s.tree.Packs = append(s.tree.Packs, at.pack)
			}
			chunks[j].Pack, chunks[j].At, chunks[j].Length = place, at.at, at.length
		}
	}
}

// remember notes that the folder equals a tree. It first waits until the disk has the files that were read, because a power loss may
// leave a file its times and not its bytes. It may fail, such as on a full disk: the tree is there, and the next save reads all files.
func (s *saving) remember(ctx context.Context, dir, path, tree string) {
	if path == "" {
		return
	}
	if len(s.fresh) > 0 && syncTree(ctx, dir, s.tree, s.fresh) != nil {
		return
	}
	s.now.Tree = tree
	s.now.write(path) //nolint:errcheck // see above
}

// equals reports whether another tree holds the same files.
func (t *Tree) equals(other *Tree) bool {
	return slices.Equal(t.Folders, other.Folders) && slices.Equal(t.Links, other.Links) &&
		slices.EqualFunc(t.Files, other.Files, func(a, b File) bool {
			return a.Path == b.Path && a.Mode == b.Mode && a.Size == b.Size && sameChunks(a.Chunks, b.Chunks)
		})
}

func sameChunks(a, b []Chunk) bool {
	return slices.EqualFunc(a, b, func(x, y Chunk) bool { return x.Name == y.Name && x.Size == y.Size })
}
