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
}

// NewVault returns a vault for a secret of SecretSize random bytes.
func NewVault(blobs Blobs, secret []byte) (*Vault, error) {
	k, err := newKeys(secret)
	if err != nil {
		return nil, err
	}
	return &Vault{blobs, k, zstd.SpeedFastest, settled}, nil
}

// Tree reads a tree. The error is ErrNone if there is none, and ErrDamaged if it is not what was written or is of another subject.
func (v *Vault) Tree(ctx context.Context, s Subject) (*Tree, error) {
	sealed, err := readAll(ctx, v.blobs, treeName(s.ID), maxTree)
	if err != nil {
		return nil, err
	}
	t, err := openTree(v.keys, s, sealed)
	if err != nil {
		return nil, fmt.Errorf("the tree %s: %w", s.ID, err)
	}
	return t, nil
}

// Branch keeps a tree for another subject, without its content: both share their packs. It returns how many bytes that took.
func (v *Vault) Branch(ctx context.Context, t *Tree, s Subject) (*Tree, int64, error) {
	if !validName.MatchString(treeName(s.ID)) {
		return nil, 0, fmt.Errorf("%q cannot be the ID of a tree", s.ID)
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
