package packs

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"
)

// memory is Blobs of one goroutine.
type memory map[string][]byte

// Put is of Blobs.
func (m memory) Put(_ context.Context, name string, _ int64, body io.Reader) (err error) {
	if m[name] == nil {
		m[name], err = io.ReadAll(body)
	}
	return err
}

// Get is of Blobs.
func (m memory) Get(_ context.Context, name string, at, length int64) (io.ReadCloser, error) {
	b, ok := m[name]
	if !ok {
		return nil, ErrNone
	}
	b = b[min(at, int64(len(b))):]
	if length >= 0 {
		b = b[:min(length, int64(len(b)))]
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// Delete is of Blobs.
func (m memory) Delete(_ context.Context, name string) error {
	delete(m, name)
	return nil
}

// List is of Blobs.
func (m memory) List(context.Context, string) iter.Seq2[Object, error] {
	return func(func(Object, error) bool) {}
}

// fuzzVault is a vault whose secret and trees are the same in all processes that fuzz. It has one tree, t1, and seals what it is given.
type fuzzVault struct {
	*Vault
	subject Subject
	tree    *Tree
	zip     *zstd.Encoder
}

func newFuzzVault(f *testing.F) *fuzzVault {
	f.Helper()
	v, err := NewVault(memory{}, bytes.Repeat([]byte{7}, SecretSize))
	must(f, err)
	dir := filepath.Join(f.TempDir(), "tree")
	files := map[string]string{"a": "small", "empty": "", "d/": "", "d/e/": "", "d/e/b": strings.Repeat("text", 100_000),
		"d/link": "-> e/b", "z": "small"}
	write(f, dir, files)
	for path, text := range files {
		if !strings.HasSuffix(path, "/") && !strings.HasPrefix(text, "-> ") {
			must(f, os.Chtimes(filepath.Join(dir, path), time.Unix(1, 0), time.Unix(1, 0)))
		}
	}
	x := &fuzzVault{Vault: v, subject: Subject{"t1", "w|p"}}
	saved, err := v.Save(f.Context(), dir, SaveOptions{Subject: x.subject, About: map[string]string{"browser": "156"}})
	must(f, err)
	x.tree = saved.Tree
	x.tree.MadeAt = time.Unix(1, 0).UTC()
	x.zip, err = newCompressor(zstd.SpeedFastest)
	must(f, err)
	return x
}

// allocated is how many bytes this process has allocated in all.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// bounded fails if do allocates more than a constant and a multiple of what it reads.
func bounded(t *testing.T, input int, do func()) {
	t.Helper()
	const constant, factor = 4 << 20, 24
	before := allocated()
	do()
	if n := allocated() - before; n > uint64(constant+factor*input) {
		t.Errorf("%d bytes were allocated for %d", n, input)
	}
}

// load loads a tree that was taken for good. It fails if anything but the folder changes, or if the folder is not as the tree says.
func (x *fuzzVault) load(t *testing.T, tree *Tree) {
	t.Helper()
	if tree.Bytes() > 4<<20 {
		return // it would be slow
	}
	temp := t.TempDir()
	write(t, temp, map[string]string{"outside": "as it was", "in/": ""})
	to := filepath.Join(temp, "in", "to")
	var err error
	sealed := int64(0)
	for _, pack := range tree.Packs {
		sealed += pack.Size
	}
	bounded(t, int(min(sealed, 1<<20)+tree.Bytes())+1000*len(tree.Files), func() { err = x.Load(t.Context(), tree, to, LoadOptions{}) })
	want := map[string]string{"outside": "as it was", "in/": ""}
	if err == nil {
		want["in/to/"] = ""
		for _, d := range tree.Folders {
			must(t, os.Chmod(filepath.Join(to, d.Path), 0o700)) //nolint:gosec // a folder of the test
		}
		x.holds(t, tree, to, want)
	} else if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNone) && !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("%v", err)
	}
	var seen []string
	must(t, filepath.WalkDir(temp, func(at string, entry fs.DirEntry, err error) error {
		if path, _ := filepath.Rel(temp, at); err == nil && at != temp {
			if entry.IsDir() {
				path += "/"
			}
			seen = append(seen, path)
		}
		return err
	}))
	slices.Sort(seen)
	if names := slices.Sorted(maps.Keys(want)); !slices.Equal(seen, names) {
		t.Errorf("%v: there are %q, want %q", err, seen, names)
	}
	if text, err := os.ReadFile(filepath.Join(temp, "outside")); string(text) != "as it was" {
		t.Errorf("outside: %q, %v", text, err)
	}
}

// holds checks each file against the names of its chunks, and adds all paths to want.
func (x *fuzzVault) holds(t *testing.T, tree *Tree, to string, want map[string]string) {
	t.Helper()
	for _, f := range tree.Files {
		want["in/to/"+f.Path] = ""
		must(t, os.Chmod(filepath.Join(to, f.Path), 0o600))
		text, err := os.ReadFile(filepath.Join(to, f.Path))
		must(t, err)
		for _, c := range f.Chunks {
			if int64(len(text)) < c.Size || x.keys.nameOf(text[:c.Size]) != c.Name {
				t.Fatalf("%s is not as the tree says", f.Path)
			}
			text = text[c.Size:]
		}
		if len(text) > 0 {
			t.Errorf("%s has %d bytes too many", f.Path, len(text))
		}
	}
	for _, d := range tree.Folders {
		want["in/to/"+d.Path+"/"] = ""
	}
	for _, l := range tree.Links {
		want["in/to/"+l.Path] = ""
		if target, err := os.Readlink(filepath.Join(to, l.Path)); target != filepath.FromSlash(l.Target) {
			t.Errorf("%s leads to %q, %v", l.Path, target, err)
		}
		if at := filepath.Join(filepath.Dir(l.Path), l.Target); !filepath.IsLocal(at) {
			t.Errorf("%s leads out of the folder, to %q", l.Path, l.Target)
		}
	}
}

// FuzzTree: a tree that was sealed with the right secret, whatever it says, is refused or comes out as it says, in its folder.
func FuzzTree(f *testing.F) {
	x := newFuzzVault(f)
	text, err := json.Marshal(x.tree)
	must(f, err)
	f.Add(text)
	for old, replaced := range map[string]string{`"path":"a"`: `"path":"../a"`, `"pack":0`: `"pack":-1`,
		`"size":5`:       `"size":9223372036854775807`,
		`"target":"e/b"`: `"target":"../../outside"`, `"at":0`: `"at":1`, `"version":1`: `"version":2`, `"mode":448`: `"mode":0`,
		`"mode":384`: `"mode":4294967295`} {
		f.Add(bytes.Replace(text, []byte(old), []byte(replaced), 1))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := openText(t, x.Vault, x.zip, x.subject, text)
		if err == nil {
			x.load(t, tree)
		} else if !errors.Is(err, ErrDamaged) && !strings.Contains(err.Error(), "of version") {
			t.Errorf("%v", err)
		}
	})
}

// openText opens a tree of any text, and holds that to its memory.
func openText(t *testing.T, v *Vault, zip *zstd.Encoder, s Subject, text []byte) (tree *Tree, err error) {
	t.Helper()
	sealed := v.keys.seal(nil, treeLabel(), zip.EncodeAll(text, nil), s.about())
	bounded(t, len(text), func() { tree, err = openTree(v.keys, s, sealed) })
	return tree, err
}

// TestListsOfNothing: a short text that names very many things takes memory in proportion to itself.
func TestListsOfNothing(t *testing.T) { // not beside other tests: it counts the memory of the process
	v, _ := vault(t)
	zip, err := newCompressor(zstd.SpeedFastest)
	must(t, err)
	for _, member := range []string{`"files":[`, `"folders":[`, `"packs":[`, `"links":[`, `"files":[{"path":"a","chunks":[`} {
		for _, nothing := range []string{"{},", "null,", `{"path":""},`} {
			text := `{"version":1,"id":"t1",` + member + strings.Repeat(nothing, 200_000)
			text = text[:len(text)-1] + strings.Repeat("]}", strings.Count(member, "[")) // each list is in one object
			if _, err := openText(t, v, zip, Subject{"t1", "w|p"}, []byte(text)); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s %s: %v", member, nothing, err)
			}
		}
	}
}

// FuzzPack: a pack whose parts were sealed with the right secret, whatever they say, is refused, or its chunks are what their names
// say.
func FuzzPack(f *testing.F) {
	x := newFuzzVault(f)
	plain := []byte(strings.Repeat("text", 1000))
	name := x.keys.nameOf(plain)
	zipped := x.zip.EncodeAll(plain, []byte{compressed})
	table, err := json.Marshal([]entry{{name[:], 0, int64(len(zipped)) + nonceSize + tagSize, int64(len(plain))}})
	must(f, err)
	bomb := x.zip.EncodeAll(make([]byte, 64<<20), []byte{compressed})
	size := int64(len(plain))
	f.Add(table, zipped, int64(0), int64(0), size, uint32(0), false)
	f.Add(table, zipped, int64(0), int64(0), size, uint32(0), true)
	f.Add(table, append([]byte{stored}, plain...), int64(0), int64(0), size, uint32(0), false)
	f.Add(bytes.Replace(table, []byte(`"a":0`), []byte(`"a":99999`), 1), bomb, int64(0), int64(0), int64(chunkSize), uint32(0), false)
	f.Add([]byte(`[`+strings.Repeat("{},", 1000)+`{}]`), zipped, int64(1), int64(-1), int64(1), uint32(1<<31), false)
	f.Fuzz(func(t *testing.T, table, text []byte, at, longer, size int64, cut uint32, lies bool) {
		if len(text) > 2<<20 || len(table) > 2<<20 {
			return // no pack is so large
		}
		unzip, err := newDecompressor(chunkSize)
		must(t, err)
		defer unzip.Close()
		name := x.keys.nameOf([]byte("something else"))
		if kept := text[min(1, len(text)):]; len(kept) < len(text) && text[0] == stored && !lies {
			name = x.keys.nameOf(kept)
		} else if got, err := unzip.DecodeAll(kept, nil); err == nil && !lies {
			name = x.keys.nameOf(got)
		}
		b := x.keys.seal(nil, name[:], text, nil)
		body := int64(len(b))
		b = x.keys.seal(b, tableLabel(), table, nil)
		b = binary.BigEndian.AppendUint32(b, uint32(len(b)-int(body))^cut)
		b = append(b, packMagic...)
		var entries []entry
		bounded(t, len(b), func() { entries, err = x.keys.tableOf(b) })
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%v", err)
		}
		for _, e := range entries {
			_ = b[e.At:][:e.Length]
		}
		pack := Pack{hex.EncodeToString(sum(b)), int64(len(b)), body}
		must(t, x.blobs.Put(t.Context(), PackName(pack.Name), pack.Size, bytes.NewReader(b)))
		defer x.blobs.Delete(t.Context(), PackName(pack.Name)) //nolint:errcheck // below a temporary folder
		chunk := Chunk{Name: name, At: at, Length: body + longer, Size: size}
		tree := &Tree{Packs: []Pack{pack}, Files: []File{{Path: "a", Size: size, Chunks: []Chunk{chunk}}}}
		if tree.check() != nil {
			return
		}
		x.load(t, tree)
		if err := x.Check(t.Context(), tree, true); err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%v", err)
		}
	})
}
