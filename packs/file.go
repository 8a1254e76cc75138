package packs

import (
	"context"
	"fmt"
	"slices"
)

// File returns the bytes of one file of a tree, which may have most of them. The error is ErrNone if the tree has no such file.
func (v *Vault) File(ctx context.Context, t *Tree, at string, most int64) ([]byte, error) {
	i := slices.IndexFunc(t.Files, func(f File) bool { return f.Path == at })
	if i < 0 {
		return nil, fmt.Errorf("%s: %w", at, ErrNone)
	}
	f := &t.Files[i]
	if f.Size > most {
		return nil, fmt.Errorf("%w: %q has more than %d bytes", ErrDamaged, at, most)
	}
	unzip, err := newDecompressor(chunkSize)
	if err != nil {
		return nil, err
	}
	defer unzip.Close()
	open := opener{v.keys, unzip}
	out := make([]byte, 0, f.Size)
	for _, c := range f.Chunks {
		sealed, err := v.sealedChunk(ctx, t.Packs[c.Pack], nil, c)
		if err != nil {
			return nil, err
		}
		plain, err := open.open(c, sealed)
		if err != nil {
			return nil, fmt.Errorf("a chunk of %q: %w", at, err)
		}
		out = append(out, plain...)
	}
	return out, nil
}
