package packs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Vault keeps trees of files in Blobs, sealed with one secret. It may be used by several goroutines.
type Vault struct {
	blobs   Blobs
	keys    keys
	level   zstd.EncoderLevel
	settled time.Duration
	maxTree int // bytes
	full    int // bytes at which a pack is full
}

// NewVault returns a vault for a secret of SecretSize random bytes.
func NewVault(blobs Blobs, secret []byte) (*Vault, error) {
	k, err := newKeys(secret)
	if err != nil {
		return nil, err
	}
	return &Vault{blobs, k, zstd.SpeedFastest, settled, maxTree, packSize}, nil
}

// Within returns the same vault for trees whose lists of files take at most most bytes, before they are compressed. To read the
// tree of a stranger takes at most some ten times as much memory.
func (v *Vault) Within(most int) *Vault {
	within := *v
	within.maxTree = min(most, maxTree)
	return &within
}

// By returns the same vault for one of several writers that keep their packs in different places. Equal content of two writers gets packs
// of different names. Each reads what the others have written.
func (v *Vault) By(writer string) (*Vault, error) {
	k, err := v.keys.apart(writer)
	by := *v
	by.keys = k
	return &by, err
}

// Tree reads a tree. The error is ErrNone if there is none, and ErrDamaged if it is not what was written or is of another subject.
func (v *Vault) Tree(ctx context.Context, s Subject) (*Tree, error) {
	sealed, err := readAll(ctx, v.blobs, treeName(s.ID), int64(v.maxTree))
	if err != nil {
		return nil, err
	}
	t, err := openTreeWithin(v.keys, s, sealed, v.maxTree)
	if err != nil {
		return nil, fmt.Errorf("the tree %s: %w", s.ID, err)
	}
	return t, nil
}

// Branch keeps a tree for another subject, without its content: both share their packs. It returns how many bytes that took.
func (v *Vault) Branch(ctx context.Context, t *Tree, s Subject) (*Tree, int64, error) {
	if err := s.check(); err != nil {
		return nil, 0, err
	}
	branch := *t
	branch.ID, branch.Parent, branch.MadeAt = s.ID, t.ID, time.Now().UTC()
	written, err := v.putTree(ctx, &branch, s)
	return &branch, written, err
}

// Forget deletes a tree. Its packs stay: others may need them.
func (v *Vault) Forget(ctx context.Context, id string) error {
	return v.blobs.Delete(ctx, treeName(id))
}

// DeletePack deletes a pack that no tree names.
func DeletePack(ctx context.Context, blobs Blobs, name string) error {
	if len(name) != 2*nameSize {
		return fmt.Errorf("%q is no pack", name)
	}
	return blobs.Delete(ctx, PackName(name))
}

// readUpTo reads until b is full or the body ends.
func readUpTo(body io.Reader, b []byte) (int, error) {
	n, err := io.ReadFull(body, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}
