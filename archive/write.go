package archive

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/packs"
)

// Options say how an archive is sealed: exactly one of the first three is given.
type Options struct {
	Passphrase string
	Recipients []string // of age, such as age1ql3z7hjy54pw3…: whoever has the identity of one of them can open it
	Unsealed   bool     // whoever has the file can read it, logins too, and can change it
	Warren     string   // the version that writes
	Turns      Turns
}

// About says what a profile is.
type About struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Settings jsontext.Value `json:"settings"`           // an object
	Browser  string         `json:"browser,omitempty"`  // the version that wrote the data
	System   string         `json:"system,omitempty"`   // that it ran on: linux, darwin or windows
	Passkeys jsontext.Value `json:"passkeys,omitempty"` // with their private keys, as the list credentials of a storageState (package state)
}

// Profile is what is put into an archive.
type Profile struct {
	About
	Vault *packs.Vault // that has the tree
	Tree  *packs.Tree  // the data; nil: the settings alone
}

// Data says what the tree of a profile holds.
type Data struct {
	MadeAt time.Time `json:"madeAt"`
	Files  int       `json:"files"`
	Bytes  int64     `json:"bytes"` // that they take when they are loaded
}

// record is the member profiles/N.json.
type record struct {
	About
	Data *Data `json:"data,omitempty"`
}

// head is the member archive.json.
type head struct {
	Format int       `json:"format"`
	Warren string    `json:"warren"` // the version that made it
	MadeAt time.Time `json:"madeAt"`
	Secret []byte    `json:"secret"` // of its packs and trees
}

// Write writes an archive of some profiles. It needs no file beside it, and the memory that it takes depends on the number of
// chunks, not on their bytes. What is written when there is an error, or when the context has ended, is no archive: it has no end.
func Write(ctx context.Context, w io.Writer, o Options, profiles iter.Seq2[Profile, error]) error {
	sealed, err := o.seal(ctx, w)
	if err != nil {
		return err
	}
	x, err := newWriter(ctx, sealed, o)
	if err != nil {
		return err
	}
	for p, err := range profiles {
		if err != nil {
			return err
		}
		if err := x.profile(ctx, p); err != nil {
			return err
		}
	}
	if err := x.end(); err != nil {
		return err
	}
	return sealed.Close()
}

// writer writes the members of an archive. It is the place where its vault puts packs and trees.
type writer struct {
	w       io.Writer
	vault   *packs.Vault
	copied  packs.Copied
	members []member
	ids     map[string]bool // of profiles
	records int64           // bytes
	lists   int             // bytes
}

func newWriter(ctx context.Context, w io.Writer, o Options) (*writer, error) {
	secret := make([]byte, packs.SecretSize)
	rand.Read(secret) //nolint:errcheck // it never fails
	x := &writer{w: w, ids: map[string]bool{}}
	vault, err := packs.NewVault(intoArchive{x}, secret)
	if err != nil {
		return nil, err
	}
	x.vault = vault.Within(maxTree)
	text, err := json.Marshal(head{format, o.Warren, time.Now().UTC(), secret})
	if err == nil && len(text) > maxHead {
		err = errors.New("the name of the version is too long")
	}
	if err != nil {
		return nil, err
	}
	return x, x.text(ctx, member{kind: headKind}, text)
}

// profile writes a profile: packs and tree, if it has data, and then its record.
func (x *writer) profile(ctx context.Context, p Profile) error {
	number := len(x.ids) + 1
	r := record{About: p.About}
	text, err := r.check(p.Tree, x.ids)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrProfile, p.ID, err)
	}
	if x.records += int64(len(text)); x.records > maxRecords || number > maxProfiles {
		return ErrLarge
	}
	x.ids[p.ID] = true
	m := member{kind: recordKind, number: number}
	if p.Tree != nil {
		o := packs.CopyOptions{Subject: subject(m, p.ID), Beside: &x.copied}
		saved, err := packs.Copy(ctx, p.Vault, p.Tree, x.vault, o)
		if err != nil {
			return fmt.Errorf("the data of the profile %s: %w", p.ID, err)
		}
		if x.lists += saved.Tree.List(); x.copied.Len() > maxChunks || x.lists > maxLists {
			return ErrLarge
		}
	}
	return x.text(ctx, m, text)
}

// subject is what the tree of a profile is sealed for.
func subject(m member, profile string) packs.Subject {
	return packs.Subject{ID: m.treeID(), Owner: "archive|" + profile}
}

// check returns the text of a record, with what its tree holds.
func (r *record) check(t *packs.Tree, ids map[string]bool) ([]byte, error) {
	switch {
	case r.ID == "":
		return nil, errors.New("it has no ID")
	case ids[r.ID]:
		return nil, errors.New("it is there twice")
	case !isObject(r.Settings):
		return nil, errors.New("its settings are no JSON object")
	}
	if t != nil {
		r.Data = dataOf(t)
	}
	text, err := json.Marshal(r)
	if err == nil && len(text) > maxRecord {
		err = fmt.Errorf("its settings take more than %d bytes", maxRecord)
	}
	return text, err
}

func isObject(v jsontext.Value) bool { return v.Kind() == '{' && v.IsValid() }

func dataOf(t *packs.Tree) *Data { return &Data{t.MadeAt, len(t.Files), t.Bytes()} }

// text writes a small member.
func (x *writer) text(ctx context.Context, m member, text []byte) error {
	m.size, m.sum = int64(len(text)), sha256.Sum256(text)
	return x.member(ctx, m, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// member writes a member whose bytes body writes.
func (x *writer) member(ctx context.Context, m member, body func(io.Writer) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(x.members) == maxMembers {
		return ErrLarge
	}
	head := header(m.name(), m.size)
	if _, err := x.w.Write(head[:]); err != nil {
		return err
	}
	if err := body(x.w); err != nil {
		return err
	}
	x.members = append(x.members, m)
	return x.zeros(padding(m.size))
}

func (x *writer) zeros(n int64) error {
	_, err := x.w.Write(make([]byte, n))
	return err
}

// end writes the manifest, and the end of the tar: two empty blocks.
func (x *writer) end() error {
	if len(x.ids) == 0 {
		return fmt.Errorf("%w: there is none", ErrProfile)
	}
	members := x.members
	m := member{kind: manifestKind, size: manifestSize(members)}
	body := func(w io.Writer) error {
		lines := bufio.NewWriter(w)
		return errors.Join(writeManifest(lines, members), lines.Flush())
	}
	if err := x.member(context.Background(), m, body); err != nil {
		return err
	}
	return x.zeros(2 * block)
}

// intoArchive lets a vault put its objects into an archive. Nothing is read from there.
type intoArchive struct{ x *writer }

// Put satisfies packs.Blobs.
func (a intoArchive) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	m, ok := memberOf(name)
	if !ok || m.kind != packKind && m.kind != treeKind {
		return fmt.Errorf("%q cannot be in an archive", name)
	}
	m.size = size
	if m.kind == treeKind {
		text, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		return a.x.text(ctx, m, text)
	}
	return a.x.member(ctx, m, func(w io.Writer) error { // a pack's name is the sum of its bytes
		n, err := io.Copy(w, body)
		if err == nil && n != size {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
}

// Get satisfies packs.Blobs.
func (intoArchive) Get(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return nil, errors.ErrUnsupported
}

// Delete satisfies packs.Blobs.
func (intoArchive) Delete(context.Context, string) error { return errors.ErrUnsupported }

// List satisfies packs.Blobs.
func (intoArchive) List(context.Context, string) iter.Seq2[packs.Object, error] {
	return func(yield func(packs.Object, error) bool) { yield(packs.Object{}, errors.ErrUnsupported) }
}
