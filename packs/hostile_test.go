package packs

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestFlippedBits: a changed, cut or longer object of any kind is found before the folder changes.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	v, objects := vault(t)
	dir := filepath.Join(t.TempDir(), "tree")
	big := make([]byte, chunkSize+100)
	rand.Read(big) //nolint:errcheck // it never fails
	write(t, dir, map[string]string{"a": "small", "b": string(big), "c": strings.Repeat("text", 1000)})
	subject := Subject{"t1", "w|p"}
	saved, err := v.Save(t.Context(), dir, SaveOptions{Subject: subject})
	must(t, err)
	must(t, v.Check(t.Context(), saved.Tree, true))
	now := read(t, dir)
	find := func() error {
		tree, err := v.Tree(t.Context(), subject)
		if err != nil {
			return err
		}
		if err := v.Check(t.Context(), tree, true); err == nil {
			t.Error("a whole check finds nothing")
		}
		return v.Load(t.Context(), tree, dir, LoadOptions{})
	}
	must(t, filepath.WalkDir(objects, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		good, err := os.ReadFile(path)
		must(t, err)
		bad := map[string][]byte{"cut": good[:len(good)-1], "empty": nil, "longer": append(bytes.Clone(good), 0)}
		for _, at := range []int{0, 5, 13, 40, len(good) / 2, len(good) - 30, len(good) - 9, len(good) - 1} {
			flipped := bytes.Clone(good)
			flipped[at] ^= 0x10
			bad["bit "+string(rune('a'+at%26))] = flipped
		}
		for what, b := range bad {
			must(t, os.WriteFile(path, b, 0o600))
			err := find()
			isTable := strings.Contains(path, "packs") && err == nil // the table of a pack is not needed to load a tree
			if !isTable && !errors.Is(err, ErrDamaged) {
				t.Errorf("%s, %s: %v", entry.Name(), what, err)
			}
			same(t, read(t, dir), now)
		}
		must(t, os.Remove(path))
		if err := find(); !errors.Is(err, ErrNone) {
			t.Errorf("%s is gone: %v", entry.Name(), err)
		}
		same(t, read(t, dir), now)
		return os.WriteFile(path, good, 0o600)
	}))
	must(t, v.Check(t.Context(), saved.Tree, true))
}

// TestHostileTrees: a tree that was sealed with the right secret, but says what cannot be, is refused, and nothing is written.
func TestHostileTrees(t *testing.T) {
	t.Parallel()
	v, _ := vault(t)
	saveIn := filepath.Join(t.TempDir(), "tree")
	write(t, saveIn, map[string]string{"a": "good", "d/": "", "d/b": "text"})
	subject := Subject{"good", "w|p"}
	_, err := v.Save(t.Context(), saveIn, SaveOptions{Subject: subject})
	must(t, err)
	outside := filepath.Join(t.TempDir(), "outside")
	for name, change := range map[string]func(*Tree){
		"up":                  func(x *Tree) { x.Files[0].Path = "../" + filepath.Base(outside) },
		"absolute":            func(x *Tree) { x.Files[0].Path = outside },
		"up in the middle":    func(x *Tree) { x.Files[0].Path = "d/../../x" },
		"not in the one way":  func(x *Tree) { x.Files[0].Path = "d//b" },
		"dot":                 func(x *Tree) { x.Files[0].Path = "." },
		"empty":               func(x *Tree) { x.Files[0].Path = "" },
		"backslash":           func(x *Tree) { x.Files[0].Path = `..\x` },
		"zero byte":           func(x *Tree) { x.Files[0].Path = "a\x00b" },
		"twice":               func(x *Tree) { x.Files[1].Path = x.Files[0].Path },
		"in a file":           func(x *Tree) { x.Files[1].Path = "a/b" },
		"a folder up":         func(x *Tree) { x.Folders[0].Path = "../d" },
		"through a link":      func(x *Tree) { x.Links, x.Files[1].Path = []Link{{"l", "d"}}, "l/b" },
		"link out":            func(x *Tree) { x.Links = []Link{{"l", "../../x"}} },
		"link to a root":      func(x *Tree) { x.Links = []Link{{"l", "/etc/passwd"}} },
		"link out of a link":  func(x *Tree) { x.Links = []Link{{"d/l", "../f"}, {"k", "d/l/../../x"}} },
		"link up in a folder": func(x *Tree) { x.Links = []Link{{"d/l", "../.."}} },
		"other size":          func(x *Tree) { x.Files[0].Size++ },
		"large chunk":         func(x *Tree) { x.Files[0].Chunks[0].Size, x.Files[0].Size = 1<<30, 1<<30 },
		"negative chunk":      func(x *Tree) { x.Files[0].Chunks[0].Size, x.Files[0].Size = -1, -1 },
		"before the pack":     func(x *Tree) { x.Files[0].Chunks[0].At = -1 },
		"behind the pack":     func(x *Tree) { x.Files[0].Chunks[0].At = 1 << 40 },
		"long chunk":          func(x *Tree) { x.Files[0].Chunks[0].Length = 1 << 40 },
		"no such pack":        func(x *Tree) { x.Files[0].Chunks[0].Pack = 7 },
		"pack of a folder":    func(x *Tree) { x.Packs[0].Name = strings.Repeat("../", 21) + "a" },
		"other ID":            func(x *Tree) { x.ID = "other" },
		"other version":       func(x *Tree) { x.Version = 2 },
		"other chunk's bytes": func(x *Tree) { x.Files[0].Chunks[0].Name[0] ^= 1 },
	} {
		tree, err := v.Tree(t.Context(), subject)
		must(t, err)
		change(tree)
		id := "bad-" + strings.Map(func(r rune) rune {
			if r < 'a' || r > 'z' {
				return '-'
			}
			return r
		}, name)
		sealed := sealAs(t, v, tree, Subject{id, "w|p"}, name != "other ID")
		must(t, v.blobs.Put(t.Context(), treeName(id), int64(len(sealed)), bytes.NewReader(sealed)))
		to := filepath.Join(t.TempDir(), "to")
		read, err := v.Tree(t.Context(), Subject{id, "w|p"})
		if err == nil {
			err = v.Load(t.Context(), read, to, LoadOptions{})
		}
		if err == nil {
			t.Errorf("%s: taken", name)
		}
		for _, path := range []string{outside, to, to + newSuffix} {
			if _, err := os.Lstat(path); err == nil {
				t.Errorf("%s: %s was written", name, path)
			}
		}
	}
}

func sealAs(t *testing.T, v *Vault, tree *Tree, s Subject, rename bool) []byte {
	t.Helper()
	if rename {
		tree.ID = s.ID
	}
	zip, err := newCompressor(zstd.SpeedDefault)
	must(t, err)
	sealed, err := tree.seal(v.keys, s, zip)
	must(t, err)
	return sealed
}

// TestZipBombs: what would grow beyond its bounds is refused with little memory.
func TestZipBombs(t *testing.T) {
	t.Parallel()
	v, _ := vault(t)
	var bomb bytes.Buffer
	zip, err := zstd.NewWriter(&bomb, zstd.WithEncoderLevel(zstd.SpeedFastest))
	must(t, err)
	zeros := make([]byte, 1<<20)
	for range 2 * maxTree >> 20 {
		_, err := zip.Write(zeros)
		must(t, err)
	}
	must(t, zip.Close())
	s := Subject{"t1", "w|p"}
	if _, err := openTree(v.keys, s, v.keys.seal(nil, treeLabel(), bomb.Bytes(), s.about())); !errors.Is(err, ErrDamaged) {
		t.Errorf("tree: %v", err)
	}
	unzip, err := newDecompressor(chunkSize)
	must(t, err)
	defer unzip.Close()
	name := v.keys.nameOf([]byte("x"))
	sealed := v.keys.seal(nil, name[:], append([]byte{compressed}, bomb.Bytes()...), nil)
	if _, err := (opener{v.keys, unzip}).open(Chunk{Name: name, Size: chunkSize}, sealed); !errors.Is(err, ErrDamaged) {
		t.Errorf("chunk: %v", err)
	}
}

// TestShortElements: a tree of many elements that are as short as they can be is read. The bound on its memory is not for it.
func TestShortElements(t *testing.T) {
	t.Parallel()
	v, _ := vault(t)
	for what, add := range map[string]func(x *Tree, name string){
		"folders": func(x *Tree, name string) { x.Folders = append(x.Folders, Dir{Path: name}) },
		"files":   func(x *Tree, name string) { x.Files = append(x.Files, File{Path: name}) },
		"links":   func(x *Tree, name string) { x.Links = append(x.Links, Link{name, "a"}) },
		"packs": func(x *Tree, _ string) {
			x.Packs = append(x.Packs, Pack{fmt.Sprintf("%064d", len(x.Packs)), int64(packTail), 0})
		},
		"words": func(x *Tree, name string) { x.About[name] = "" },
	} {
		x := &Tree{Version: treeVersion, About: map[string]string{}}
		for i := range int64(10_000) {
			add(x, strconv.FormatInt(i, 36))
		}
		s := Subject{what, "w|p"}
		if _, err := openTree(v.keys, s, sealAs(t, v, x, s, true)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestNonces: a chunk that another version of the compressor makes smaller or larger has another nonce, and both open.
func TestNonces(t *testing.T) {
	t.Parallel()
	v, _ := vault(t)
	plain := []byte(strings.Repeat("some words that repeat, and others ", 3000))
	name := v.keys.nameOf(plain)
	unzip, err := newDecompressor(chunkSize)
	must(t, err)
	defer unzip.Close()
	nonces := map[string][]byte{}
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedBestCompression, zstd.SpeedFastest} {
		zip, err := newCompressor(level)
		must(t, err)
		s := sealer{keys: v.keys, zip: zip}
		sealed := s.seal(nil, name, plain)
		if before, ok := nonces[string(sealed[:nonceSize])]; ok && !bytes.Equal(before, sealed) {
			t.Fatal("two texts are sealed with one key and nonce")
		}
		nonces[string(sealed[:nonceSize])] = sealed
		got, err := opener{v.keys, unzip}.open(Chunk{Name: name, Size: int64(len(plain))}, sealed)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%v", err)
		}
	}
	if len(nonces) != 2 {
		t.Errorf("%d nonces for two levels, one of them twice", len(nonces))
	}
}

// TestSecretsShareNothing: of the same folder two vaults make no object that is alike.
func TestSecretsShareNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tree")
	write(t, dir, map[string]string{"a": strings.Repeat("x", chunkSize)})
	seen := map[string]bool{}
	for range 2 {
		v, _ := vault(t)
		_, err := v.Save(t.Context(), dir, SaveOptions{Subject: Subject{"t1", "w|p"}})
		must(t, err)
		for o, err := range v.blobs.List(t.Context(), "packs/") {
			must(t, err)
			if seen[o.Name] {
				t.Errorf("%s is in both", o.Name)
			}
			seen[o.Name] = true
		}
	}
	if len(seen) != 2 {
		t.Errorf("%d packs", len(seen))
	}
}

// TestSettle: wherever a load is cut off, the folder is afterwards what it was or what it was to become, and nothing is left.
func TestSettle(t *testing.T) {
	t.Parallel()
	before, after := map[string]string{"a": "old", "kept/": "", "kept/x": "mine"}, map[string]string{"a": "new"}
	kept := leaves(func(name string, _ bool) bool { return name == "kept" })
	whole := map[string]string{"a": "new", "kept/": "", "kept/x": "mine"}
	for name, c := range map[string]struct{ dir, new, old, want map[string]string }{
		"before":              {before, nil, nil, before},
		"half written":        {before, map[string]string{"a": "n"}, nil, before},
		"between the renames": {nil, after, before, whole},
		"not removed yet":     {after, nil, before, whole},
		"kept moved":          {whole, nil, map[string]string{"a": "old"}, whole},
		"put back":            {nil, nil, before, before},
		"first load":          {nil, map[string]string{"a": "n"}, nil, nil},
	} {
		dir := filepath.Join(t.TempDir(), "tree")
		for suffix, files := range map[string]map[string]string{"": c.dir, newSuffix: c.new, oldSuffix: c.old} {
			if files != nil {
				write(t, dir+suffix, files)
			}
		}
		must(t, Settle(dir, kept))
		must(t, Settle(dir, kept))
		if c.want != nil {
			same(t, read(t, dir), c.want)
		} else if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: there is a folder", name)
		}
		if left, _ := filepath.Glob(dir + ".*"); len(left) > 0 {
			t.Errorf("%s: %q is left", name, left)
		}
	}
}
