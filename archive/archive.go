package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"warren/packs"
)

// Profiles returns what is in the archive, in its order. Places in it are what the other methods take.
func (a *Archive) Profiles() []Content { return slices.Clone(a.profiles) }

// Vault returns the vault of the archive, which can be read.
func (a *Archive) Vault() *packs.Vault { return a.vault }

// Tree returns the data of a profile. The error is packs.ErrNone if it has none.
func (a *Archive) Tree(ctx context.Context, place int) (*packs.Tree, error) {
	return a.treeWithin(ctx, place, maxTree)
}

// treeWithin is Tree for a list of at most most bytes.
func (a *Archive) treeWithin(ctx context.Context, place, most int) (*packs.Tree, error) {
	return a.vault.Within(most).Tree(ctx, subject(member{number: place + 1}, a.profiles[place].ID))
}

// CopyTo takes the data of a profile into another vault. What a stranger's tree says of itself is kept only if o.About is nil.
func (a *Archive) CopyTo(ctx context.Context, place int, to *packs.Vault, o packs.CopyOptions) (*packs.Saved, error) {
	t, err := a.Tree(ctx, place)
	if err != nil {
		return nil, err
	}
	return packs.Copy(ctx, a.vault, t, to, o)
}

// checkTrees verifies that each tree is what its profile says, that what it names is there, and that every pack is named.
func (a *Archive) checkTrees(ctx context.Context, verifier *packs.Verifier) error {
	named := make(map[string]bool, len(a.packs))
	ids := map[string]bool{}
	lists := maxLists // bytes that are left
	for place, p := range a.profiles {
		if err := ctx.Err(); err != nil {
			return err
		}
		if ids[p.ID] {
			return fmt.Errorf("%w: the profile %s is there twice", ErrDamaged, p.ID)
		}
		ids[p.ID] = true
		if p.Data == nil {
			continue
		}
		t, err := a.treeWithin(ctx, place, min(maxTree, lists))
		if err == nil {
			lists -= t.List()
			err = verifier.Tree(t)
		}
		if err != nil {
			return explain(fmt.Sprintf("the data of the profile %s", p.ID), err)
		}
		if is := dataOf(t); is.Bytes != p.Data.Bytes || is.Files != p.Data.Files || !is.MadeAt.Equal(p.Data.MadeAt) {
			return fmt.Errorf("%w: the profile %s has other data than it says", ErrDamaged, p.ID)
		}
		for _, pack := range t.Packs {
			named[pack.Name] = true
		}
	}
	if len(named) != len(a.packs) {
		return fmt.Errorf("%w: no profile needs %d of its packs", ErrDamaged, len(a.packs)-len(named))
	}
	return nil
}

// fromArchive lets a vault read its objects from an archive.
type fromArchive struct{ a *Archive }

// Get satisfies packs.Blobs.
func (f fromArchive) Get(_ context.Context, name string, at, length int64) (io.ReadCloser, error) {
	m, ok := memberOf(name)
	place := 0
	switch {
	case ok && m.kind == packKind:
		place, ok = f.a.packs[m.sum]
	case ok && m.kind == treeKind:
		place, ok = f.a.trees[m.number]
	default:
		ok = false
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, packs.ErrNone)
	}
	m = f.a.members[place]
	if at = min(max(at, 0), m.size); length < 0 || length > m.size-at {
		length = m.size - at
	}
	return io.NopCloser(io.NewSectionReader(f.a.plain, m.at+at, length)), nil
}

// Put satisfies packs.Blobs.
func (fromArchive) Put(context.Context, string, int64, io.Reader) error { return errors.ErrUnsupported }

// Delete satisfies packs.Blobs.
func (fromArchive) Delete(context.Context, string) error { return errors.ErrUnsupported }

// List satisfies packs.Blobs.
func (f fromArchive) List(ctx context.Context, prefix string) iter.Seq2[packs.Object, error] {
	return func(yield func(packs.Object, error) bool) {
		for _, m := range f.a.members {
			if m.kind != packKind && m.kind != treeKind || !strings.HasPrefix(m.name(), prefix) {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(packs.Object{}, err)
				return
			}
			if !yield(packs.Object{Name: m.name(), Size: m.size}, nil) {
				return
			}
		}
	}
}
