package packs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// CopyOptions say what a copy of a tree is, and what of it is there already.
type CopyOptions struct {
	Subject Subject
	Parent  *Tree             // of the vault that is copied into: chunks of it are not written again; nil: there is none
	Beside  *Copied           // what earlier copies wrote there: it is not written again, and gets what this one writes; nil: nothing
	About   map[string]string // is kept in the tree; nil: what the tree that is copied says
	Files   map[string][]byte // by path, what files are in the copy, whatever they are in the tree; nil: they are not there
}

// Copied are the chunks that copies into one vault wrote. It is for one copy at a time, and of no use after one that failed.
type Copied struct{ known map[[nameSize]byte]location }

// Len returns how many chunks are known to be there.
func (c *Copied) Len() int { return len(c.known) }

// Copy keeps a tree of one vault in another one, which has another secret. Each chunk is verified on its way. It gets the name
// that it has there, and stays compressed as it is. The memory that this takes is that of a few packs, and of the list of
// chunks. When Copy returns, all is on the disk. After an error some packs may have been written, which no tree names.
func Copy(ctx context.Context, from *Vault, t *Tree, to *Vault, o CopyOptions) (*Saved, error) {
	if err := o.Subject.check(); err != nil {
		return nil, err
	}
	c, err := newCopying(from, t, to, o)
	if err != nil {
		return nil, err
	}
	defer c.open.unzip.Close()
	for i, pack := range t.Packs {
		if err := c.pack(ctx, pack, c.pieces[i]); err != nil {
			return nil, err
		}
	}
	if err := c.add(ctx, o.Files); err != nil {
		return nil, err
	}
	if err := c.packer.flush(ctx); err != nil {
		return nil, err
	}
	c.resolve()
	written, err := to.putTree(ctx, c.tree, o.Subject)
	if err != nil {
		return nil, err
	}
	return &Saved{Tree: c.tree, NewBytes: c.packer.sum + written, Read: c.read}, nil
}

// copying is one Copy.
type copying struct {
	*saving
	from   *Vault
	open   opener    // of from
	pieces [][]piece // by the place of their pack in the tree that is copied
	buffer []byte    // a whole pack of from
}

// piece is a chunk on its way: it says where from has it, until it is written.
type piece struct {
	chunk *Chunk // of the new tree
	place int    // in where
}

func newCopying(from *Vault, t *Tree, to *Vault, o CopyOptions) (*copying, error) {
	tree := &Tree{Version: treeVersion, ID: o.Subject.ID, MadeAt: t.MadeAt, About: o.About, Folders: slices.Clone(t.Folders),
		Files: slices.Clone(t.Files), Links: slices.Clone(t.Links)}
	tree.Files = slices.DeleteFunc(tree.Files, func(f File) bool { _, other := o.Files[f.Path]; return other })
	if o.About == nil {
		tree.About = maps.Clone(t.About)
	}
	if o.Parent != nil {
		tree.Parent = o.Parent.ID
	}
	paths := make([]found, len(tree.Files))
	pieces := make([][]piece, len(t.Packs))
	n := 0
	for i := range tree.Files {
		f := &tree.Files[i]
		paths[i].path = f.Path
		f.Chunks = slices.Clone(f.Chunks)
		for j := range f.Chunks {
			pieces[f.Chunks[j].Pack] = append(pieces[f.Chunks[j].Pack], piece{&f.Chunks[j], n})
			n++
		}
	}
	s, err := to.newSaving(SaveOptions{Parent: o.Parent}, tree, paths)
	if err != nil {
		return nil, err
	}
	s.where = make([]location, n)
	if o.Beside != nil {
		if o.Beside.known == nil {
			o.Beside.known = map[[nameSize]byte]location{}
		}
		maps.Copy(o.Beside.known, s.known)
		s.known = o.Beside.known
	}
	unzip, err := newDecompressor(chunkSize)
	if err != nil {
		return nil, err
	}
	return &copying{saving: s, from: from, open: opener{from.keys, unzip}, pieces: pieces}, nil
}

// add adds files that the tree does not have, or has otherwise.
func (c *copying) add(ctx context.Context, files map[string][]byte) error {
	for _, at := range slices.Sorted(maps.Keys(files)) {
		if files[at] == nil {
			continue
		}
		f := File{Path: at, Mode: 0o600, Modified: time.Now().UnixNano()}
		for plain := range slices.Chunk(files[at], chunkSize) {
			if err := c.saving.chunk(ctx, &f, plain); err != nil {
				return err
			}
		}
		c.tree.Files = append(c.tree.Files, f)
	}
	return nil
}

// pack copies the chunks of a pack, each of them once.
func (c *copying) pack(ctx context.Context, pack Pack, pieces []piece) error {
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.chunk.At, b.chunk.At) })
	whole, err := c.whole(ctx, pack, pieces)
	if err != nil {
		return err
	}
	var was, is Chunk // the last one
	var at location
	for _, p := range pieces {
		if err := ctx.Err(); err != nil {
			return err
		}
		if *p.chunk != was {
			was = *p.chunk
			if is, at, err = c.chunk(ctx, pack, whole, was); err != nil {
				return err
			}
		}
		*p.chunk, c.where[p.place] = is, at
	}
	return nil
}

// whole reads a pack if most of it is needed, which is one request where the objects are far. Else it returns nil.
func (c *copying) whole(ctx context.Context, pack Pack, pieces []piece) ([]byte, error) {
	var needed, end int64
	for _, p := range pieces {
		needed += max(0, p.chunk.At+p.chunk.Length-max(end, p.chunk.At))
		end = max(end, p.chunk.At+p.chunk.Length)
	}
	if len(pieces) < 2 || 2*needed < pack.Size || end > MaxPack {
		return nil, nil
	}
	body, err := c.from.blobs.Get(ctx, PackName(pack.Name), 0, end)
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // it was only read
	c.buffer = slices.Grow(c.buffer[:0], int(end))
	n, err := readUpTo(body, c.buffer[:end])
	return c.buffer[:n], err
}

// chunk copies one chunk. It returns what the new tree says of it, and where it is.
func (c *copying) chunk(ctx context.Context, pack Pack, whole []byte, was Chunk) (is Chunk, at location, err error) {
	sealed, err := c.from.sealedChunk(ctx, pack, whole, was)
	if err != nil {
		return Chunk{}, location{}, err
	}
	text, plain, err := c.open.openText(was, sealed)
	if err != nil {
		return Chunk{}, location{}, fmt.Errorf("a chunk of the pack %s: %w", pack.Name, err)
	}
	is = Chunk{Name: c.sealer.keys.nameOf(plain), Size: was.Size}
	c.read += was.Size
	at, err = c.put(ctx, is.Name, is.Size, func(dst []byte) []byte { return c.sealer.reseal(dst, is.Name, text, plain) })
	return is, at, err
}
