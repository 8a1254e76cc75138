package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
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

	"filippo.io/age"
	"github.com/go-json-experiment/json/jsontext"

	"warren/packs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// random returns n random bytes.
func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) //nolint:errcheck // it never fails
	return string(b)
}

// vault returns a vault of its own.
func vault(t testing.TB) *packs.Vault {
	t.Helper()
	v, err := packs.NewVault(packs.Folder(filepath.Join(t.TempDir(), "objects")), []byte(random(packs.SecretSize)))
	must(t, err)
	return v
}

// save keeps files, text by path, as a tree.
func save(t testing.TB, v *packs.Vault, id string, files map[string]string) *packs.Tree {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600))
	}
	s, err := v.Save(t.Context(), dir, packs.SaveOptions{Subject: packs.Subject{ID: id, Owner: "w|p"}})
	must(t, err)
	return s.Tree
}

// load returns the files of a tree.
func load(t testing.TB, v *packs.Vault, tree *packs.Tree) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "to")
	must(t, v.Load(t.Context(), tree, dir, packs.LoadOptions{}))
	files := map[string]string{}
	for _, f := range tree.Files {
		text, err := os.ReadFile(filepath.Join(dir, f.Path))
		must(t, err)
		files[f.Path] = string(text)
	}
	return files
}

// profile returns a profile whose data are a tree; nil: it has none.
func profile(id string, v *packs.Vault, tree *packs.Tree) Profile {
	return Profile{About{ID: id, Name: "Shop " + id, Settings: jsontext.Value(`{"notes":"` + id + `"}`), Browser: "156.0.1",
		System: "linux"}, v, tree}
}

func these(all ...Profile) iter.Seq2[Profile, error] {
	return func(yield func(Profile, error) bool) {
		for _, p := range all {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// written returns an archive.
func written(t testing.TB, o Options, all ...Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	o.Warren = "v1.2.3"
	must(t, Write(t.Context(), &b, o, these(all...)))
	return b.Bytes()
}

func open(t testing.TB, b []byte, k Keys) (*Archive, error) {
	t.Helper()
	return Open(t.Context(), bytes.NewReader(b), int64(len(b)), k)
}

// TestRoundTrip: what was put into an archive comes out of it equal, however it is sealed: settings, files, and what says where
// they come from. Profiles share their chunks, and one may have no data.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	identity, err := age.GenerateX25519Identity()
	must(t, err)
	other, err := age.GenerateHybridIdentity()
	must(t, err)
	third, err := age.GenerateX25519Identity()
	must(t, err)
	from := vault(t)
	first := map[string]string{"a": random(300_000), "d/b": strings.Repeat("text", 100_000), "d/e/empty": ""}
	second := maps.Clone(first)
	second["new"] = random(1000)
	all := []Profile{profile("p1", from, save(t, from, "t1", first)), profile("p2", nil, nil),
		profile("p3", from, save(t, from, "t2", second)), profile("p4", from, save(t, from, "t3", nil))}
	for name, c := range map[string]struct {
		o Options
		k Keys
	}{
		"passphrase": {Options{Passphrase: "correct horse"}, Keys{Passphrase: "correct horse"}},
		"recipients": {Options{Recipients: []string{third.Recipient().String(), identity.Recipient().String()}},
			Keys{Identity: "# created: today\n" + identity.String() + "\n"}},
		"post-quantum": {Options{Recipients: []string{other.Recipient().String()}}, Keys{Identity: other.String()}},
		"unsealed":     {Options{Unsealed: true}, Keys{}},
	} {
		b := written(t, c.o, all...)
		if len(b) > 330_000 {
			t.Errorf("%s: %d bytes for what is there twice", name, len(b))
		}
		if bytes.Contains(b, []byte("Shop")) != c.o.Unsealed {
			t.Errorf("%s: a name can be read: %t", name, !c.o.Unsealed)
		}
		a, err := open(t, b, c.k)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a.Warren != "v1.2.3" || a.MadeAt.IsZero() || a.Sealed == c.o.Unsealed || len(a.Profiles()) != len(all) {
			t.Errorf("%s: %+v", name, a)
		}
		to := vault(t)
		for i, p := range a.Profiles() {
			want := all[i]
			if p.ID != want.ID || p.Name != want.Name || p.Browser != "156.0.1" || p.System != "linux" ||
				!bytes.Equal(p.Settings, want.Settings) {
				t.Errorf("%s: %+v", name, p)
			}
			o := packs.CopyOptions{Subject: packs.Subject{ID: "c" + p.ID, Owner: "w2|" + p.ID}}
			saved, err := a.CopyTo(t.Context(), i, to, o)
			if want.Tree == nil {
				if !errors.Is(err, packs.ErrNone) || p.Data != nil {
					t.Errorf("%s, %s: %v, %+v", name, p.ID, err, p.Data)
				}
				continue
			}
			must(t, err)
			if p.Data.Files != len(want.Tree.Files) || p.Data.Bytes != want.Tree.Bytes() || !p.Data.MadeAt.Equal(want.Tree.MadeAt) {
				t.Errorf("%s, %s: %+v", name, p.ID, p.Data)
			}
			must(t, to.Check(t.Context(), saved.Tree, true))
			if files := load(t, to, saved.Tree); !maps.Equal(files, []map[string]string{first, nil, second, {}}[i]) {
				t.Errorf("%s, %s: the files are others", name, p.ID)
			}
		}
	}
}

// TestTar: other programs can read an unsealed archive, and its list of sums is right.
func TestTar(t *testing.T) {
	t.Parallel()
	from := vault(t)
	b := written(t, Options{Unsealed: true}, profile("p1", from, save(t, from, "t1", map[string]string{"a": "x"})))
	var names []string
	texts := map[string]string{}
	r := tar.NewReader(bytes.NewReader(b))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		text, err := io.ReadAll(r)
		must(t, err)
		if h.Typeflag != tar.TypeReg || h.Mode != 0o600 || h.Format != tar.FormatUSTAR {
			t.Errorf("%+v", h)
		}
		names, texts[h.Name] = append(names, h.Name), string(text)
	}
	if len(names) != 5 || names[0] != "archive.json" || !strings.HasPrefix(names[1], "packs/") ||
		!slices.Equal(names[2:], []string{"trees/1", "profiles/1.json", "manifest.json"}) {
		t.Errorf("%q", names)
	}
	list := jsontext.Value(texts["manifest.json"])
	if !list.IsValid() {
		t.Errorf("%s", list)
	}
	for _, name := range names[:4] {
		want := fmt.Sprintf(`{"name":%q,"size":%d,"sha256":"%x"}`, name, len(texts[name]), sumOf(texts[name]))
		if !strings.Contains(string(list), want) {
			t.Errorf("%s has no %s", list, want)
		}
	}
}

// TestSealing: an archive is sealed in exactly one way, and nothing is written before that is clear.
func TestSealing(t *testing.T) {
	t.Parallel()
	identity, err := age.GenerateX25519Identity()
	must(t, err)
	other, err := age.GenerateHybridIdentity()
	must(t, err)
	to := identity.Recipient().String()
	for name, o := range map[string]Options{
		"nothing": {}, "two": {Passphrase: "x", Unsealed: true}, "other two": {Passphrase: "x", Recipients: []string{to}},
		"all": {Passphrase: "x", Unsealed: true, Recipients: []string{to}}, "no recipient": {Recipients: []string{""}},
		"a comment": {Recipients: []string{"# " + to}}, "two in one": {Recipients: []string{to + "\n" + to}},
		"typing":     {Recipients: []string{to + "x"}},
		"the secret": {Recipients: []string{to, identity.String()}}, "a mix": {Recipients: []string{to, other.Recipient().String()}},
	} {
		var b bytes.Buffer
		err := Write(t.Context(), &b, o, these(profile("p1", nil, nil)))
		if !errors.Is(err, ErrSeal) || b.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", name, err, b.Len())
		}
		if strings.Contains(err.Error(), identity.String()) {
			t.Errorf("%s: the error tells a secret", name)
		}
	}
}

// TestKeys: without what it is sealed with an archive does not open, and the error says what is needed.
func TestKeys(t *testing.T) {
	t.Parallel()
	identity, err := age.GenerateX25519Identity()
	must(t, err)
	other, err := age.GenerateX25519Identity()
	must(t, err)
	sealed := map[string][]byte{
		"passphrase": written(t, Options{Passphrase: "correct horse"}, profile("p1", nil, nil)),
		"recipient":  written(t, Options{Recipients: []string{identity.Recipient().String()}}, profile("p1", nil, nil)),
		"unsealed":   written(t, Options{Unsealed: true}, profile("p1", nil, nil)),
	}
	right := Keys{Passphrase: "correct horse", Identity: identity.String()}
	for name, c := range map[string]struct {
		archive string
		k       Keys
		want    error
	}{
		"both":                  {"recipient", right, nil},
		"wrong passphrase":      {"passphrase", Keys{Passphrase: "wrong horse"}, ErrPassphrase},
		"no passphrase":         {"passphrase", Keys{}, ErrSealed},
		"identity instead":      {"passphrase", Keys{Identity: identity.String()}, ErrSealed},
		"wrong identity":        {"recipient", Keys{Identity: other.String()}, ErrIdentity},
		"no identity":           {"recipient", Keys{}, ErrSealed},
		"passphrase instead":    {"recipient", Keys{Passphrase: "x"}, ErrSealed},
		"no identity at all":    {"recipient", Keys{Identity: "AGE-SECRET-KEY-1x"}, ErrIdentity},
		"the recipient":         {"recipient", Keys{Identity: identity.Recipient().String()}, ErrIdentity},
		"passphrase for nought": {"unsealed", Keys{Passphrase: "x"}, ErrUnsealed},
		"identity for nought":   {"unsealed", Keys{Identity: identity.String()}, ErrUnsealed},
	} {
		a, err := open(t, sealed[c.archive], c.k)
		if !errors.Is(err, c.want) || (err == nil) != (a != nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "AGE-SECRET-KEY-1x") {
			t.Errorf("%s: the error tells a secret", name)
		}
	}
	asks := bytes.Replace(sealed["passphrase"], []byte(" 17\n"), []byte(" 19\n"), 1)
	if _, err := open(t, asks, right); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("an archive that asks for more work than age does: %v", err)
	}
}

// TestTurns: a passphrase waits for its turn, to seal and to open, and gives the turn back. A key of age needs none.
func TestTurns(t *testing.T) {
	t.Parallel()
	identity, err := age.GenerateX25519Identity()
	must(t, err)
	turns := make(Turns, 1)
	by := Options{Passphrase: "correct horse", Turns: turns}
	b := written(t, by, profile("p1", nil, nil))
	to := Options{Recipients: []string{identity.Recipient().String()}, Turns: turns}
	turns <- struct{}{} // somebody else derives a key
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Write(ctx, io.Discard, by, these()); !errors.Is(err, context.Canceled) {
		t.Errorf("sealed without a turn: %v", err)
	}
	if _, err := Open(ctx, bytes.NewReader(b), int64(len(b)), Keys{Passphrase: "x", Turns: turns}); !errors.Is(err, context.Canceled) {
		t.Errorf("opened without a turn: %v", err)
	}
	_, err = open(t, written(t, to, profile("p1", nil, nil)), Keys{Identity: identity.String(), Turns: turns})
	must(t, err)
	<-turns
	_, err = open(t, b, Keys{Passphrase: "correct horse", Turns: turns})
	if must(t, err); len(turns) > 0 {
		t.Error("a turn was not given back")
	}
}

// TestCheckRecipients: what cannot be sealed for is known before anything is written, and is not repeated.
func TestCheckRecipients(t *testing.T) {
	t.Parallel()
	identity, err := age.GenerateX25519Identity()
	must(t, err)
	hybrid, err := age.GenerateHybridIdentity()
	must(t, err)
	good, other := identity.Recipient().String(), hybrid.Recipient().String()
	must(t, CheckRecipients([]string{good, good}))
	must(t, CheckRecipients([]string{other}))
	for _, all := range [][]string{nil, {""}, {"# none"}, {good + "\n" + good}, {identity.String()}, {good, other}} {
		if err := CheckRecipients(all); !errors.Is(err, ErrSeal) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", all, err)
		}
	}
}

// TestWhatCannotBeWritten: faults of what is given are told, and what was written until then is no archive.
func TestWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	from := vault(t)
	tree := save(t, from, "t1", map[string]string{"a": random(1000)})
	gone := *tree
	gone.Packs = []packs.Pack{{Name: strings.Repeat("a", 64), Size: 100}}
	with := func(change func(*Profile)) iter.Seq2[Profile, error] {
		p := profile("p1", from, tree)
		change(&p)
		return these(profile("p0", nil, nil), p)
	}
	large := jsontext.Value(`{"a":"` + strings.Repeat("a", maxRecord) + `"}`)
	unread := errors.New("the database is away")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		all  iter.Seq2[Profile, error]
		want error
	}{
		"none":           {t.Context(), these(), ErrProfile},
		"no ID":          {t.Context(), with(func(p *Profile) { p.ID = "" }), ErrProfile},
		"twice":          {t.Context(), with(func(p *Profile) { p.ID = "p0" }), ErrProfile},
		"no settings":    {t.Context(), with(func(p *Profile) { p.Settings = nil }), ErrProfile},
		"other settings": {t.Context(), with(func(p *Profile) { p.Settings = jsontext.Value(`[]`) }), ErrProfile},
		"half settings":  {t.Context(), with(func(p *Profile) { p.Settings = jsontext.Value(`{"a":`) }), ErrProfile},
		"large settings": {t.Context(), with(func(p *Profile) { p.Settings = large }), ErrProfile},
		"a pack is gone": {t.Context(), with(func(p *Profile) { p.Tree = &gone }), packs.ErrNone},
		"cannot be read": {t.Context(), func(yield func(Profile, error) bool) { yield(Profile{}, unread) }, unread},
		"ended":          {ended, with(func(*Profile) {}), context.Canceled},
		"ended, no data": {ended, these(profile("p0", nil, nil)), context.Canceled},
	} {
		var b bytes.Buffer
		if err := Write(c.ctx, &b, Options{Unsealed: true}, c.all); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if _, err := open(t, b.Bytes(), Keys{}); !errors.Is(err, ErrTruncated) {
			t.Errorf("%s: what was written opens: %v", name, err)
		}
	}
	full := errors.New("the disk is full")
	if err := Write(t.Context(), failing{full}, Options{Unsealed: true}, with(func(*Profile) {})); !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
}

// failing takes nothing.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func sumOf(text string) (sum [32]byte) { return sha256.Sum256([]byte(text)) }
