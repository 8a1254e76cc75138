package packs

import (
	"context"
	"errors"
	"fmt"
)

// Check verifies that what a tree names is there. With whole every byte is read: packs against their names, chunks against
// theirs. It goes on after a fault, and returns all of them.
func (v *Vault) Check(ctx context.Context, t *Tree, whole bool) error {
	var faults []error
	unzip, err := newDecompressor(chunkSize)
	if err != nil {
		return err
	}
	defer unzip.Close()
	chunks := make([][]Chunk, len(t.Packs))
	for i := range t.Files {
		for _, c := range t.Files[i].Chunks {
			chunks[c.Pack] = append(chunks[c.Pack], c)
		}
	}
	for i, pack := range t.Packs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if whole {
			err = v.checkPack(ctx, opener{v.keys, unzip}, pack, chunks[i])
		} else {
			err = v.checkThere(ctx, pack)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("the pack %s: %w", pack.Name, err))
		}
	}
	return errors.Join(faults...)
}

// checkThere reads the end of a pack.
func (v *Vault) checkThere(ctx context.Context, pack Pack) error {
	end := int64(len(packMagic))
	body, err := v.blobs.Get(ctx, PackName(pack.Name), pack.Size-end, end+1)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was only read
	b := make([]byte, end+1)
	n, err := readUpTo(body, b)
	if err != nil {
		return err
	}
	if string(b[:n]) != packMagic {
		return fmt.Errorf("%w: it does not end where its tree says", ErrDamaged)
	}
	return nil
}

func (v *Vault) checkPack(ctx context.Context, open opener, pack Pack, chunks []Chunk) error {
	b, err := verifyPack(ctx, v.blobs, pack.Name)
	if err != nil {
		return err
	}
	if _, err := v.keys.tableOf(b); err != nil {
		return err
	}
	for _, c := range chunks {
		if c.At > int64(len(b))-c.Length {
			return fmt.Errorf("%w: it is shorter than its chunks", ErrDamaged)
		}
		if _, err := open.open(c, b[c.At:c.At+c.Length]); err != nil {
			return err
		}
	}
	return nil
}
