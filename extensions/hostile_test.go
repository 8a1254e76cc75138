package extensions

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHostile: what is no package of an extension is refused with the reason, and all that is wrong with its files at once.
func TestHostile(t *testing.T) {
	t.Parallel()
	good := file{name: "manifest.json", text: plainManifest}
	with := func(files ...file) []byte { return packed(t, append(files, good)...) }
	manifest := func(text string) []byte { return packed(t, file{name: "manifest.json", text: text}) }
	symlink := file{name: "link", text: "/etc/passwd", mode: fs.ModeSymlink | 0o777}
	many := make([]file, MaxFiles)
	for i := range many {
		many[i] = file{name: fmt.Sprint("f", i)}
	}
	claims := func(size uint64) func(*zip.FileHeader) {
		return func(h *zip.FileHeader) {
			h.Method, h.CRC32, h.CompressedSize64, h.UncompressedSize64 = zip.Store, 0, 1, size
		}
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"nothing":            {nil, "no zip"},
		"text":               {[]byte(strings.Repeat("hello ", 100)), "no zip"},
		"cut short":          {ordinary(t)[:200], "no zip"},
		"slip":               {with(file{name: "../../evil.js"}), "does not lie within"},
		"slip in the middle": {with(file{name: "a/../../evil.js"}), "does not lie within"},
		"absolute":           {with(file{name: "/etc/cron.d/evil"}), "does not lie within"},
		"backslash":          {with(file{name: `..\evil.js`}), "Rename it"},
		"drive":              {with(file{name: "C:evil.js"}), "Rename it"},
		"NUL":                {with(file{name: "a\x00.js"}), "Rename it"},
		"dot at the end":     {with(file{name: "a./b"}), "neither with a dot"},
		"deep":               {with(file{name: strings.Repeat("d/", 40) + "f"}), "Shorten"},
		"link":               {with(symlink), "link"},
		"device":             {with(file{name: "null", mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}), "link or a device"},
		"twice":              {with(file{name: "a.js", text: "1"}, file{name: "a.js", text: "2"}), "two of this name"},
		"case":               {with(file{name: "A/x.js"}, file{name: "a/x.js"}), "the same on some systems"},
		"form of Unicode":    {with(file{name: "ﬁ.js"}, file{name: "fi.js"}), "the same on some systems"},
		"file and folder":    {with(file{name: "a"}, file{name: "a/b"}), "two of this name"},
		"Chrome's own":       {with(file{name: "_secret/a"}), "Chrome's own"},
		"many":               {with(many...), "10000"},
		"encrypted":          {with(file{name: "a", change: func(h *zip.FileHeader) { h.Flags |= 1 }}), "encrypted"},
		"bomb by its list":   {raw(t, good, file{name: "zeros", text: "0", change: claims(MaxBytes + 1)}), "Unpacked"},
		"two halves": {raw(t, good, file{name: "a", text: "0", change: claims(60 << 20)},
			file{name: "b", text: "0", change: claims(60 << 20)}), "Unpacked"},
		"wrong length":      {raw(t, good, file{name: "a", text: "0", change: claims(5)}), "damaged"},
		"no manifest":       {packed(t, file{name: "a.js"}), "no manifest.json"},
		"in a folder":       {packed(t, file{name: "my/manifest.json", text: plainManifest}), "what is in that folder"},
		"version 2":         {manifest(`{"manifest_version": 2, "name": "a", "version": "1"}`), "manifest_version"},
		"no name":           {manifest(`{"manifest_version": 3, "version": "1"}`), "name"},
		"wrong versions":    {manifest(`{"manifest_version": 3, "name": "a", "version": "01.x"}`), "one to four numbers"},
		"no JSON":           {manifest(`{"manifest_version": `), "cannot be read"},
		"twice the version": {manifest(`{"manifest_version": 3, "manifest_version": 3, "name": "a", "version": "1"}`), "duplicate"},
		"key":               {manifest(`{"manifest_version": 3, "name": "a", "version": "1", "key": "?"}`), "base64"},
		"locale":            {manifest(`{"manifest_version": 3, "name": "a", "version": "1", "default_locale": "../"}`), "default_locale"},
		"no locale":         {manifest(`{"manifest_version": 3, "name": "a", "version": "1", "default_locale": "en"}`), "messages.json"},
		"large manifest":    {manifest(strings.Repeat(" ", maxManifest) + plainManifest), "may have"},
	} {
		p, err := read(c.b)
		var f Faults
		if !errors.As(err, &f) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v %+v", name, err, p)
		}
	}
	var f Faults
	if _, err := read(with(symlink, file{name: "../x"}, file{name: "c:"})); !errors.As(err, &f) || len(f) != 3 {
		t.Errorf("all at once: %q", err)
	}
}

// raw packs files whose headers say what they please of sizes and sums.
func raw(t testing.TB, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		if f.change == nil {
			w, err := z.CreateHeader(h)
			if err == nil {
				_, err = w.Write([]byte(f.text))
			}
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		f.change(h)
		w, err := z.CreateRaw(h)
		if err == nil {
			_, err = w.Write([]byte(f.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestHostileEnd: what lies about the list of a zip file is refused before the list is read.
func TestHostileEnd(t *testing.T) {
	t.Parallel()
	good := ordinary(t)
	end := len(good) - endSize
	change := func(at int, value []byte) []byte {
		out := slices.Clone(good)
		copy(out[end+at:], value)
		return out
	}
	long := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	for name, b := range map[string][]byte{
		"zip64":                 change(16, long(1<<32-1)),
		"zip64 by its count":    change(8, []byte{0xff, 0xff, 0xff, 0xff}),
		"a huge list":           change(12, long(90<<20)),
		"fewer entries":         change(8, []byte{1, 0, 1, 0}),
		"more entries":          change(8, []byte{9, 0, 9, 0}),
		"another disk":          change(4, []byte{1}),
		"a comment that is not": change(20, []byte{5}),
		"before it":             append([]byte("#!/bin/sh\n"), good...),
		"behind it":             append(slices.Clone(good), "more"...),
		"two ends":              append(slices.Clone(good), good[end:]...),
	} {
		if p, err := read(b); !errors.As(err, new(Faults)) {
			t.Errorf("%s: %v %+v", name, err, p)
		}
	}
	commented := append(slices.Clone(good), "a comment"...)
	commented[end+20] = 9
	if _, err := read(commented); err != nil {
		t.Errorf("a comment: %v", err)
	}
}

// TestHostileCRX: a CRX3 file is what its developer signed, or refused.
func TestHostileCRX(t *testing.T) {
	t.Parallel()
	k, other := newKeys(t), newKeys(t)
	zipped := ordinary(t)
	key := public(t, &k.rsa.PublicKey)
	good := k.crx(t, zipped, idBytesOf(key))
	if _, err := read(good); err != nil {
		t.Fatal(err)
	}
	change := func(at int, b byte) []byte {
		out := slices.Clone(good)
		out[at] ^= b
		return out
	}
	length := int(binary.LittleEndian.Uint32(good[8:]))
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"version 2":            {change(4, 1), "version 2"},
		"a long header":        {change(11, 0x7f), "longer"},
		"a shorter header":     {change(8, 1), ""},
		"only the magic":       {good[:6], "cut short"},
		"half a header":        {good[:12+length/2], "longer"},
		"a changed zip":        {change(len(good)-40, 1), "does not fit"},
		"a changed key":        {change(12+100, 1), ""},
		"a changed id":         {change(12+length-1, 1), "does not fit"},
		"cut short":            {good[:len(good)-1], "does not fit"},
		"more behind it":       {append(slices.Clone(good), 0), "does not fit"},
		"of another id":        {k.crx(t, zipped, idBytesOf(public(t, &other.rsa.PublicKey))), "No signature"},
		"no signature":         {headed(bytesField(nil, fieldSigned, bytesField(nil, fieldID, idBytesOf(key))), zipped), "No signature"},
		"no id":                {headed(nil, zipped), "cannot be read"},
		"a header of nonsense": {headed([]byte(strings.Repeat("\xff", 50)), zipped), "cannot be read"},
		"a hostile zip": {k.crx(t, packed(t, file{name: "../x"}, file{name: "manifest.json", text: plainManifest}), idBytesOf(key)),
			"does not lie within"},
	} {
		if p, err := read(c.b); !errors.As(err, new(Faults)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v %+v", name, err, p)
		}
	}
}

func headed(header, zipped []byte) []byte {
	return slices.Concat([]byte(crxMagic), binary.LittleEndian.AppendUint32(nil, crxVersion),
		binary.LittleEndian.AppendUint32(nil, uint32(len(header))), header, zipped)
}

// FuzzExtension: a reader of any bytes ends with a package or with faults, and what it unpacks lies in its folder, within the limits.
func FuzzExtension(f *testing.F) {
	k := newKeys(f)
	zipped := ordinary(f)
	f.Add(zipped)
	f.Add(k.crx(f, zipped, idBytesOf(public(f, &k.rsa.PublicKey))))
	f.Add(packed(f, file{name: "manifest.json", text: `{"manifest_version":3,"name":"__MSG_a__","version":"1","default_locale":"en"}`},
		file{name: "_locales/en/messages.json", text: `{"a":{"message":"b"}}`}, file{name: "l", text: "/", mode: fs.ModeSymlink | 0o777}))
	f.Add(packed(f, file{name: "manifest.json", text: plainManifest, change: func(h *zip.FileHeader) { h.Method = zip.Store }},
		file{name: "../x"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := read(b)
		if err != nil {
			if !errors.As(err, new(Faults)) {
				t.Fatalf("%v", err)
			}
			return
		}
		if !IsID(p.ID) || p.Bytes > MaxBytes || p.Files > MaxFiles || p.Name == "" {
			t.Fatalf("%+v", p)
		}
		dir := filepath.Join(t.TempDir(), "a")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := p.unpack(dir); err != nil {
			t.Fatal(err)
		}
		if beside, _ := os.ReadDir(filepath.Dir(dir)); len(beside) != 1 {
			t.Fatalf("%v", beside)
		}
		if again, err := readFolder(dir); err != nil || again.ID != p.ID {
			t.Fatalf("%v: %+v", err, again)
		}
	})
}

// readFolder packs a folder again and reads it: the id must stay.
func readFolder(dir string) (*Package, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	if err := z.AddFS(os.DirFS(dir)); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return read(out.Bytes())
}
