package packs

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// saved keeps files as a tree of a vault.
func saved(t testing.TB, v *Vault, id string, files map[string]string) *Tree {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	write(t, dir, files)
	s, err := v.Save(t.Context(), dir, SaveOptions{Subject: Subject{id, "w|p"}, About: map[string]string{"of": id}})
	must(t, err)
	return s.Tree
}

// random returns n random bytes.
func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) //nolint:errcheck // it never fails
	return string(b)
}

// TestVerifier: a pack with a flipped bit anywhere, or with bytes that its table does not name, is found. So is a tree that names
// what is not there.
func TestVerifier(t *testing.T) {
	t.Parallel()
	v, _ := vault(t)
	tree := saved(t, v, "t1", map[string]string{"a": random(5000), "b": "text"})
	good, err := verifyPack(t.Context(), v.blobs, tree.Packs[0].Name)
	must(t, err)
	x, err := v.Verifier()
	must(t, err)
	defer x.Close()
	if err := x.Tree(tree); !errors.Is(err, ErrNone) {
		t.Errorf("the pack was not there: %v", err)
	}
	verify := func(b []byte) error {
		_, err := x.Pack(hex.EncodeToString(sum(b)), b)
		return err
	}
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 1 << (at % 8)
		if err := verify(bad); !errors.Is(err, ErrDamaged) {
			t.Fatalf("bit in byte %d: %v", at, err)
		}
	}
	p := packer{blobs: v.blobs, keys: v.keys, bytes: append(bytes.Clone(good[:tree.Packs[0].Body]), "hidden"...), filling: new(filling)}
	table, err := v.keys.tableOf(good)
	must(t, err)
	p.table = table
	f := p.filling
	must(t, p.flush(t.Context()))
	hidden, err := verifyPack(t.Context(), v.blobs, f.pack.Name)
	must(t, err)
	if err := verify(hidden); !errors.Is(err, ErrDamaged) {
		t.Errorf("hidden bytes: %v", err)
	}
	if _, err := x.Pack(f.pack.Name, good); !errors.Is(err, ErrDamaged) {
		t.Errorf("under another name: %v", err)
	}
	if n, err := x.Pack(tree.Packs[0].Name, good); err != nil || n != 2 {
		t.Fatalf("%d chunks, %v", n, err)
	}
	must(t, x.Tree(tree))
	for what, change := range map[string]func(){
		"size": func() { tree.Packs[0].Size++ }, "body": func() { tree.Packs[0].Body-- },
		"place": func() { tree.Files[0].Chunks[0].At++ }, "length": func() { tree.Files[0].Chunks[0].Length++ },
		"chunk": func() { tree.Files[0].Chunks[0].Size++ }, "name": func() { tree.Files[0].Chunks[0].Name[0]++ },
	} {
		before := *tree
		before.Packs, before.Files = []Pack{tree.Packs[0]}, []File{{Chunks: []Chunk{tree.Files[0].Chunks[0]}}}
		change()
		if x.Tree(tree) == nil {
			t.Errorf("another %s is not found", what)
		}
		tree.Packs[0], tree.Files[0].Chunks[0] = before.Packs[0], before.Files[0].Chunks[0]
	}
}

// TestListsWithinTheirBytes: a list of what takes more memory than bytes is refused before that memory is taken. It measures, so
// that no other test runs beside it.
func TestListsWithinTheirBytes(t *testing.T) {
	v, _ := vault(t)
	zip, err := newCompressor(zstd.SpeedFastest)
	must(t, err)
	s := Subject{"t1", "w|p"}
	for _, member := range []string{"{}", "null", `{"chunks":[{},{}]}`, " {}", `{"mode":1}`} {
		list := strings.TrimSuffix(strings.Repeat(member+",", 1<<20), ",")
		text := `{"version":1,"id":"t1","packs":[],"files":[` + list + `],"folders":[]}`
		sealed := v.keys.seal(nil, treeLabel(), zip.EncodeAll([]byte(text), nil), s.about())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := openTree(v.keys, s, sealed); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", member, err)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(8*len(text)) {
			t.Errorf("%s: %d bytes were taken for %d", member, took, len(text))
		}
		if err := isDense([]byte(list), minEntry); err == nil {
			t.Errorf("a table of %s is taken", member)
		}
	}
	if v, err = NewVault(v.blobs, secret()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "tree")
	write(t, dir, map[string]string{strings.Repeat("a", 200): "x", `{"[{}]\"`: "null"})
	if _, err := v.Within(200).Save(t.Context(), dir, SaveOptions{Subject: s}); err == nil {
		t.Error("a list of more bytes than the vault takes is written")
	}
	_, err = v.Save(t.Context(), dir, SaveOptions{Subject: s})
	must(t, err)
	_, err = v.Tree(t.Context(), s)
	must(t, err)
	sealed, err := readAll(t.Context(), v.blobs, treeName(s.ID), maxTree)
	must(t, err)
	if _, err := v.Within(len(sealed)).Tree(t.Context(), s); !errors.Is(err, ErrDamaged) {
		t.Errorf("a list of more bytes than the vault takes is read: %v", err)
	}
}
