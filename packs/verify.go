package packs

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
)

// Verifier checks packs of strangers, each of them once, and then that trees name only what those packs hold. Packs and trees
// may be many: it remembers 8 bytes of each chunk. It is for one goroutine.
type Verifier struct {
	open   opener
	seed   maphash.Seed
	seen   []uint64 // hashes of packs and of their chunks; sorted before the first tree
	sorted bool
	buffer []byte
}

// Verifier returns one for the packs of this vault. It must be closed.
func (v *Vault) Verifier() (*Verifier, error) {
	unzip, err := newDecompressor(chunkSize)
	if err != nil {
		return nil, err
	}
	return &Verifier{open: opener{v.keys, unzip}, seed: maphash.MakeSeed()}, nil
}

// Close frees what the verifier holds.
func (x *Verifier) Close() { x.open.unzip.Close() }

// Pack checks the bytes of a pack: they are what its name says, its table tells all of them, and each chunk is what its own name
// says. It returns how many chunks there are. The error is ErrDamaged.
func (x *Verifier) Pack(pack string, b []byte) (chunks int, err error) {
	if err := isPack(pack, b); err != nil {
		return 0, err
	}
	table, err := x.open.keys.tableOf(b)
	if err != nil {
		return 0, err
	}
	var end int64
	for _, e := range table {
		if e.At != end {
			return 0, fmt.Errorf("%w: the pack %s has bytes between its chunks", ErrDamaged, pack)
		}
		end += e.Length
		c := Chunk{Name: [nameSize]byte(e.Name), At: e.At, Length: e.Length, Size: e.Size}
		if _, err := x.open.open(c, b[e.At:end]); err != nil {
			return 0, fmt.Errorf("a chunk of the pack %s: %w", pack, err)
		}
		x.seen = append(x.seen, x.chunkOf(pack, c))
	}
	if end != tableAt(b) {
		return 0, fmt.Errorf("%w: the pack %s has bytes between its chunks and its table", ErrDamaged, pack)
	}
	x.seen, x.sorted = append(x.seen, x.packOf(Pack{pack, int64(len(b)), end})), false
	return len(table), nil
}

// Tree checks that each pack and each chunk of a tree is in the packs that were checked. The error is ErrDamaged, or ErrNone for
// a pack that is not there.
func (x *Verifier) Tree(t *Tree) error {
	if !x.sorted {
		slices.Sort(x.seen)
		x.sorted = true
	}
	for _, pack := range t.Packs {
		if !x.has(x.packOf(pack)) {
			return fmt.Errorf("the pack %s: %w", pack.Name, ErrNone)
		}
	}
	for i := range t.Files {
		for _, c := range t.Files[i].Chunks {
			if !x.has(x.chunkOf(t.Packs[c.Pack].Name, c)) {
				return fmt.Errorf("%w: a part of %q is not where its tree says", ErrDamaged, t.Files[i].Path)
			}
		}
	}
	return nil
}

func (x *Verifier) has(hash uint64) bool {
	_, ok := slices.BinarySearch(x.seen, hash)
	return ok
}

func (x *Verifier) packOf(p Pack) uint64 { return x.hash(p.Name, nil, p.Size, p.Body, 0) }

func (x *Verifier) chunkOf(pack string, c Chunk) uint64 {
	return x.hash(pack, c.Name[:], c.At, c.Length, c.Size)
}

func (x *Verifier) hash(pack string, chunk []byte, a, b, c int64) uint64 {
	x.buffer = append(append(x.buffer[:0], pack...), chunk...)
	for _, n := range [...]int64{a, b, c} {
		x.buffer = binary.BigEndian.AppendUint64(x.buffer, uint64(n)) //nolint:gosec // only its bits count
	}
	return maphash.Bytes(x.seed, x.buffer)
}
