package packs

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// TestCopy: a copy under another secret and for another subject is equal, file by file, of more than a thousand files, too. The two
// vaults share no object and no chunk.
func TestCopy(t *testing.T) {
	t.Parallel()
	from, objects := vault(t)
	to, copies := vault(t)
	big := random(packSize + 3*chunkSize + 17)
	files := map[string]string{"empty": "", "d/": "", "d/big": big, "d/again": big[:2*chunkSize], "d/link": "-> big", "nothing/": "",
		"many/": "", "text": strings.Repeat("some text ", 1<<17)}
	for i := range 1500 {
		files[fmt.Sprint("many/", i)] = strings.Repeat(fmt.Sprint(i, " "), i%100)
	}
	tree := saved(t, from, "t1", files)
	got, err := Copy(t.Context(), from, tree, to, CopyOptions{Subject: Subject{"t2", "w2|p2"}})
	must(t, err)
	if got.Tree.About["of"] != "t1" || !got.Tree.MadeAt.Equal(tree.MadeAt) || got.Tree.Bytes() != tree.Bytes() || got.Same {
		t.Errorf("%v, %v", got.Tree.About, got.Tree.MadeAt)
	}
	again, err := to.Tree(t.Context(), Subject{"t2", "w2|p2"})
	must(t, err)
	must(t, to.Check(t.Context(), again, true))
	holds(t, to, again, files)
	if n := size(t, copies); n > size(t, objects)*101/100 || n < int64(len(big)) {
		t.Errorf("the copy takes %d bytes, the tree %d", n, size(t, objects))
	}
	names := map[string]bool{}
	for o, err := range from.blobs.List(t.Context(), "packs/") {
		must(t, err)
		names[o.Name] = true
	}
	for i := range tree.Files {
		for _, c := range tree.Files[i].Chunks {
			names[hex.EncodeToString(c.Name[:])] = true
		}
	}
	for o, err := range to.blobs.List(t.Context(), "packs/") {
		must(t, err)
		if names[o.Name] {
			t.Errorf("%s is in both", o.Name)
		}
	}
	for i := range again.Files {
		for _, c := range again.Files[i].Chunks {
			if names[hex.EncodeToString(c.Name[:])] {
				t.Fatalf("a chunk of %s has one name in both", again.Files[i].Path)
			}
		}
	}
}

// TestCopyOtherFiles: a copy has other files than the tree where its caller says so, and each file can be read by itself.
func TestCopyOtherFiles(t *testing.T) {
	t.Parallel()
	from, _ := vault(t)
	to, _ := vault(t)
	big := random(3*chunkSize + 17)
	tree := saved(t, from, "t1", map[string]string{"d/": "", "d/old": "a", "d/gone": big, "d/stays": "b"})
	_, err := Copy(t.Context(), from, tree, to, CopyOptions{Subject: Subject{"t2", "w2|p2"},
		Files: map[string][]byte{"d/old": []byte("c"), "d/gone": nil, "d/new": []byte(big), "d/none": nil}})
	must(t, err)
	again, err := to.Tree(t.Context(), Subject{"t2", "w2|p2"})
	must(t, err)
	must(t, to.Check(t.Context(), again, true))
	want := map[string]string{"d/": "", "d/old": "c", "d/new": big, "d/stays": "b"}
	holds(t, to, again, want)
	for at, text := range want {
		if got, err := to.File(t.Context(), again, at, int64(len(big))); at != "d/" && (err != nil || string(got) != text) {
			t.Errorf("%s has %d bytes: %v", at, len(got), err)
		}
	}
	for at, wrong := range map[string]error{"d/gone": ErrNone, "d/new": ErrDamaged} {
		if _, err := to.File(t.Context(), again, at, chunkSize); !errors.Is(err, wrong) {
			t.Errorf("%s: %v, want %v", at, err, wrong)
		}
	}
}

// holds fails if a tree is not of these files. The name of a chunk tells what it holds.
func holds(t testing.TB, v *Vault, tree *Tree, files map[string]string) {
	t.Helper()
	if n := len(tree.Files) + len(tree.Folders) + len(tree.Links); n != len(files) {
		t.Fatalf("the tree has %d members, want %d", n, len(files))
	}
	for _, f := range tree.Files {
		text, ok := files[f.Path]
		for _, c := range f.Chunks {
			n := min(len(text), int(c.Size))
			ok = ok && v.keys.nameOf([]byte(text[:n])) == c.Name
			text = text[n:]
		}
		if !ok || text != "" {
			t.Fatalf("%q is another", f.Path)
		}
	}
	for _, d := range tree.Folders {
		if _, ok := files[d.Path+"/"]; !ok {
			t.Fatalf("the folder %q is there", d.Path)
		}
	}
	for _, l := range tree.Links {
		if files[l.Path] != "-> "+l.Target {
			t.Fatalf("the link %q is there", l.Path)
		}
	}
}

// inMemory keeps objects where no disk has to be waited for.
type inMemory map[string][]byte

func (m inMemory) Put(_ context.Context, name string, _ int64, body io.Reader) (err error) {
	m[name], err = io.ReadAll(body)
	return err
}

func (m inMemory) Get(_ context.Context, name string, at, length int64) (io.ReadCloser, error) {
	b, ok := m[name]
	if !ok {
		return nil, ErrNone
	}
	if length < 0 {
		length = int64(len(b))
	}
	return io.NopCloser(io.NewSectionReader(bytes.NewReader(b), at, length)), nil
}

func (inMemory) Delete(context.Context, string) error                  { return errors.ErrUnsupported }
func (inMemory) List(context.Context, string) iter.Seq2[Object, error] { return nil }

// size returns how many bytes the files of a folder have.
func size(t testing.TB, dir string) (n int64) {
	t.Helper()
	for o, err := range Folder(dir).List(t.Context(), "") {
		must(t, err)
		n += o.Size
	}
	return n
}

// TestManyCopies: over any changes, the copy of each save onto the copy of the one before is equal to it, and nothing that is
// there is written again.
func TestManyCopies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		temp, err := os.MkdirTemp("", "packs-")
		must(t, err)
		defer os.RemoveAll(temp) //nolint:errcheck // a temporary folder
		from, err := NewVault(inMemory{}, secret())
		must(t, err)
		to, err := NewVault(inMemory{}, secret())
		must(t, err)
		dir := filepath.Join(temp, "tree")
		must(t, os.Mkdir(dir, 0o700))
		var was, copied *Tree
		beside := new(Copied)
		for i := range rapid.IntRange(1, 4).Draw(r, "saves") {
			change(r, dir)
			s, err := from.Save(t.Context(), dir, SaveOptions{Subject: Subject{fmt.Sprint("t", i), "w|p"}, Parent: was, Always: true})
			must(t, err)
			was = s.Tree
			o := CopyOptions{Subject: Subject{fmt.Sprint("c", i), "w|p"}}
			if rapid.Bool().Draw(r, "parent") {
				o.Parent = copied
			} else {
				o.Beside = beside
			}
			c, err := Copy(t.Context(), from, was, to, o)
			must(t, err)
			copied = c.Tree
			must(t, to.Check(t.Context(), copied, true))
			holds(t, to, copied, read(t, dir))
			o.Subject.ID += "-again"
			o.Parent = copied
			again, err := Copy(t.Context(), from, was, to, o)
			must(t, err)
			if !isThin(copied) && !slices.Equal(again.Tree.Packs, copied.Packs) {
				t.Fatalf("some of it is written again: %v, before %v", again.Tree.Packs, copied.Packs)
			}
		}
	})
}

// isThin reports whether a tree uses less than half of a pack.
func isThin(t *Tree) bool {
	s := saving{packs: t.Packs, parent: map[string]*File{}}
	var files []found
	for i := range t.Files {
		s.parent[t.Files[i].Path] = &t.Files[i]
		files = append(files, found{path: t.Files[i].Path})
	}
	return len(s.thinPacks(files)) > 0
}

// TestCopiesBeside: trees that are copied one after another share their chunks, and a copy writes only what its parent lacks.
func TestCopiesBeside(t *testing.T) {
	t.Parallel()
	from, _ := vault(t)
	to, _ := vault(t)
	first := map[string]string{"a": random(3 * chunkSize), "b": "b"}
	second := maps.Clone(first)
	second["c"] = random(1000)
	beside := new(Copied)
	one, err := Copy(t.Context(), from, saved(t, from, "t1", first), to, CopyOptions{Subject: Subject{"c1", "w|p"}, Beside: beside})
	must(t, err)
	t2 := saved(t, from, "t2", second)
	for id, o := range map[string]CopyOptions{"c2": {Beside: beside}, "c3": {Parent: one.Tree}} {
		o.Subject = Subject{id, "w|p"}
		o.About = map[string]string{"x": "y"}
		two, err := Copy(t.Context(), from, t2, to, o)
		must(t, err)
		if two.NewBytes > 4000 || two.Tree.About["x"] != "y" || len(two.Tree.Packs) != 2 {
			t.Errorf("%s: %d new bytes, %v, %d packs", id, two.NewBytes, two.Tree.About, len(two.Tree.Packs))
		}
		must(t, to.Check(t.Context(), two.Tree, true))
	}
	if beside.Len() != 5 {
		t.Errorf("%d chunks are known, want 3 of a, b and c", beside.Len())
	}
}

// TestCopyOfDamage: what is damaged, says what is not so, or ends early leaves no tree.
func TestCopyOfDamage(t *testing.T) {
	t.Parallel()
	from, _ := vault(t)
	copies := inMemory{}
	to, err := NewVault(copies, secret())
	must(t, err)
	files := map[string]string{"a": random(chunkSize + 10), "b": random(100), "c": random(100)}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	full := errors.New("the disk is full")
	for name, c := range map[string]struct {
		change func(*Tree)
		ctx    context.Context
		put    error
		want   error
	}{
		"bit":           {func(x *Tree) { x.Files[1].Chunks[0].Name[3] ^= 4 }, t.Context(), nil, ErrDamaged},
		"other size":    {func(x *Tree) { x.Files[1].Chunks[0].Size++ }, t.Context(), nil, ErrDamaged},
		"other place":   {func(x *Tree) { x.Files[1].Chunks[0].At++ }, t.Context(), nil, ErrDamaged},
		"behind it":     {func(x *Tree) { x.Files[1].Chunks[0].At = packSize }, t.Context(), nil, ErrDamaged},
		"no such pack":  {func(x *Tree) { x.Packs[0].Name = strings.Repeat("a", 64) }, t.Context(), nil, ErrNone},
		"ended":         {func(*Tree) {}, ended, nil, context.Canceled},
		"full":          {func(*Tree) {}, t.Context(), full, full},
		"twice, longer": {longerSecond, t.Context(), nil, ErrDamaged},
	} {
		tree := saved(t, from, "t"+strings.Map(letters, name), files)
		c.change(tree)
		to.blobs = putting{copies, c.put}
		if _, err := Copy(c.ctx, from, tree, to, CopyOptions{Subject: Subject{"c1", "w|p"}}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if copies[treeName("c1")] != nil {
			t.Fatalf("%s: a tree is there", name)
		}
	}
	if _, err := Copy(t.Context(), from, &Tree{}, to, CopyOptions{Subject: Subject{"../x", "w|p"}}); err == nil {
		t.Error("the ID of a tree leaves the folder")
	}
}

// putting takes no pack if it has an error.
type putting struct {
	inMemory
	err error
}

func (p putting) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	if p.err != nil {
		return p.err
	}
	return p.inMemory.Put(ctx, name, size, body)
}

// longerSecond names a chunk twice, with two sizes.
func longerSecond(x *Tree) {
	x.Files[2].Chunks[0] = x.Files[1].Chunks[0]
	x.Files[2].Chunks[0].Size++
}

func letters(r rune) rune {
	if r < 'a' || r > 'z' {
		return -1
	}
	return r
}

// TestCopyOfPadding: what another program made larger than it was is stored as it was.
func TestCopyOfPadding(t *testing.T) {
	t.Parallel()
	v, _ := vault(t)
	plain := []byte("ten bytes!")
	name := v.keys.nameOf(plain)
	zip, err := newCompressor(zstd.SpeedFastest)
	must(t, err)
	padded := append([]byte{compressed, 0x50, 0x2a, 0x4d, 0x18, 0, 0, 4, 0}, make([]byte, 4<<16)...) // a frame that is skipped
	padded = zip.EncodeAll(plain, padded)
	unzip, err := newDecompressor(chunkSize)
	must(t, err)
	defer unzip.Close()
	open := opener{v.keys, unzip}
	text, got, err := open.openText(Chunk{Name: name, Size: 10}, v.keys.seal(nil, name[:], padded, nil))
	if err != nil || !bytes.Equal(got, plain) || len(text) < 1<<16 {
		t.Fatalf("%q, %v", got, err)
	}
	s := sealer{keys: v.keys, zip: zip}
	if sealed := s.reseal(nil, name, text, got); !bytes.Equal(sealed, s.seal(nil, name, plain)) {
		t.Errorf("it takes %d bytes", len(sealed))
	}
}
