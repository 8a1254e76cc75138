package extensions

import (
	"archive/zip"
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/encoding/protowire"
)

// file is a file of a package. Its mode and its content may be wrong on purpose.
type file struct {
	name, text string
	mode       fs.FileMode
	change     func(*zip.FileHeader)
}

const plainManifest = `{"manifest_version": 3, "name": "Example", "version": "1.2"}`

func packed(t testing.TB, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		if f.mode != 0 {
			h.SetMode(f.mode)
		}
		if f.change != nil {
			f.change(h)
		}
		w, err := z.CreateHeader(h)
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

func ordinary(t testing.TB) []byte {
	return packed(t, file{name: "manifest.json", text: plainManifest}, file{name: "js/", mode: fs.ModeDir | 0o755},
		file{name: "js/a.js", text: "1"})
}

func read(b []byte) (*Package, error) { return Read(bytes.NewReader(b), int64(len(b))) }

// keys are the keys of a developer, made once: RSA takes its time.
type keys struct {
	rsa *rsa.PrivateKey
	ec  *ecdsa.PrivateKey
}

func newKeys(t testing.TB) keys {
	t.Helper()
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	e, failed := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return keys{r, e}
}

func public(t testing.TB, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func idBytesOf(key []byte) []byte {
	sum := sha256.Sum256(key)
	return sum[:idBytes]
}

func bytesField(out []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(out, field, protowire.BytesType), value)
}

// crx packs a zip as CRX3, signed with both keys, for the extension of the id.
func (k keys) crx(t testing.TB, zipped, id []byte) []byte {
	t.Helper()
	signed := bytesField(nil, fieldID, id)
	hash := sha256.New()
	hash.Write([]byte(signatureContext))
	hash.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(signed))))
	hash.Write(signed)
	hash.Write(zipped)
	sum := hash.Sum(nil)
	byRSA, err1 := rsa.SignPKCS1v15(nil, k.rsa, crypto.SHA256, sum)
	byEC, err2 := ecdsa.SignASN1(rand.Reader, k.ec, sum)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	var header []byte
	header = bytesField(header, fieldRSA, bytesField(bytesField(nil, fieldProofKey, public(t, &k.rsa.PublicKey)), fieldProofValue, byRSA))
	header = bytesField(header, fieldECDSA, bytesField(bytesField(nil, fieldProofKey, public(t, &k.ec.PublicKey)), fieldProofValue, byEC))
	header = bytesField(header, 4, []byte("hashes of the store, which are left out"))
	header = bytesField(header, fieldSigned, signed)
	return slices.Concat([]byte(crxMagic), binary.LittleEndian.AppendUint32(nil, crxVersion),
		binary.LittleEndian.AppendUint32(nil, uint32(len(header))), header, zipped)
}

func TestID(t *testing.T) {
	t.Parallel()
	// The id that Chromium's own test has for this text (components/crx_file/id_util_unittest.cc).
	if got := ID([]byte("test")); got != "jpignaibiiemhngfjkcpokkamffknabf" || !IsID(got) || IsID(got[1:]+"q") || IsID(got+"a") {
		t.Errorf("%s", got)
	}
}

// TestRead: a zip, with and without a key, and CRX3 files whose id is of either key.
func TestRead(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	zipped := ordinary(t)
	plain, err := read(zipped)
	if err != nil {
		t.Fatal(err)
	}
	again, err := read(packed(t, file{name: "manifest.json", text: strings.Replace(plainManifest, "1.2", "1.3", 1)}))
	if err != nil || again.ID != plain.ID || !IsID(plain.ID) || plain.Files != 2 || plain.Name != "Example" || plain.Version != "1.2" {
		t.Errorf("%v, %+v, the next version %s", err, plain, again.ID)
	}
	for _, key := range [][]byte{public(t, &k.rsa.PublicKey), public(t, &k.ec.PublicKey)} {
		p, err := read(k.crx(t, zipped, idBytesOf(key)))
		if err != nil || p.ID != ID(key) || !strings.Contains(string(p.manifest), base64.StdEncoding.EncodeToString(key)) {
			t.Errorf("%v %+v", err, p)
		}
	}
	key := public(t, &k.ec.PublicKey)
	named := `{"key": "-----BEGIN PUBLIC KEY-----\n` + base64.StdEncoding.EncodeToString(key) + `\n-----END PUBLIC KEY-----",` +
		plainManifest[1:]
	p, err := read(packed(t, file{name: "manifest.json", text: named}))
	if err != nil || p.ID != ID(key) {
		t.Errorf("a key of its own: %v %+v", err, p)
	}
}

// TestManifest: comments, a byte-order mark, texts of a language, hosts of content scripts, lists of rules.
func TestManifest(t *testing.T) {
	t.Parallel()
	p, err := read(packed(t, file{name: "manifest.json", text: "\ufeff" + `{ // "a comment"
		"manifest_version": 3, "name": "__MSG_appName__", /* another */ "description": "__MSG_none__ // no comment \" //", "version": "1",
		"default_locale": "en", "permissions": ["proxy", "storage", "proxy"], "host_permissions": ["https://*.a.example/*"],
		"content_scripts": [{"matches": ["<all_urls>"], "js": ["a.js"]}], "optional_host_permissions": ["file:///*"],
		"declarative_net_request": {"rule_resources": [{"id": "r", "enabled": true, "path": "r.json"}]}}`},
		file{name: "_locales/en/messages.json", text: `{"APPNAME": {"message": "A blocker"}}`},
		file{name: "_metadata/verified_contents.json"}, file{name: "__MACOSX/x"}))
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "A blocker" || p.Description != `__MSG_none__ // no comment " //` || !p.Rules || p.Files != 2 ||
		!slices.Equal(p.Permissions, []string{"proxy", "storage"}) ||
		!slices.Equal(p.Hosts, []string{"https://*.a.example/*", "<all_urls>"}) {
		t.Errorf("%+v", p)
	}
	words := Words(append(p.Permissions, "telepathy"), append(p.Hosts, "https://*/*", "https://b.example/x"))
	want := []string{"Read and change everything on a.example and the sites below it", everySite, "Read and change everything on b.example"}
	if len(words) != 5 || !slices.Equal(words[:3], want) || !strings.HasPrefix(words[3], "Change the browser's proxy") ||
		words[4] != `Use "telepathy"` {
		t.Errorf("%q", words)
	}
}

// TestUnpack: a package appears whole, with the key in its manifest, and is removed. What was left is swept away.
func TestUnpack(t *testing.T) {
	t.Parallel()
	f := Folder(filepath.Join(t.TempDir(), "extensions"))
	in, size, sum, err := f.Receive(bytes.NewReader(ordinary(t)), MaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read(in, size)
	if err != nil || f.Has(sum) {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Unpack(p, sum); err != nil {
			t.Fatal(err)
		}
	}
	f.Discard(in)
	var m struct {
		Key  string `json:"key"`
		Name string `json:"name"`
	}
	text, err := os.ReadFile(filepath.Join(f.Path(sum), "manifest.json"))
	if err != nil || json.Unmarshal(text, &m) != nil || m.Name != "Example" {
		t.Fatalf("%v %s", err, text)
	}
	if key, err := base64.StdEncoding.DecodeString(m.Key); err != nil || ID(key) != p.ID {
		t.Errorf("%v %q", err, m.Key)
	}
	if script, err := os.ReadFile(filepath.Join(f.Path(sum), "js", "a.js")); string(script) != "1" {
		t.Errorf("%v %q", err, script)
	}
	if _, _, _, err := f.Receive(bytes.NewReader(make([]byte, 11)), 10); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a body that is too long: %v", err)
	}
	for _, left := range []string{newPrefix + "x", hex.EncodeToString(make([]byte, 32)), "of somebody"} {
		if err := os.Mkdir(f.Path(left), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sweep(map[string]bool{sum: true}); err != nil {
		t.Fatal(err)
	}
	if all, _ := filepath.Glob(string(f) + "/*"); len(all) != 2 || !f.Has(sum) {
		t.Errorf("after the sweep: %v", all)
	}
	if err := f.Remove(sum); err != nil || f.Has(sum) {
		t.Error(err)
	}
	if err := f.Remove(sum); err != nil {
		t.Error(err)
	}
}

// TestPack: a package comes back from what Pack writes, file by file, also one as large as a package may be.
func TestPack(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", MaxBytes-1<<10)
	for name, more := range map[string][]file{"small": {{name: "a/é.js", text: "1"}, {name: "b/c/d.txt"}},
		"large": {{name: "a.bin", text: large}}} {
		p, err := read(packed(t, append(more, file{name: manifestName, text: plainManifest})...))
		if err != nil {
			t.Fatal(name, err)
		}
		from, to := Folder(t.TempDir()), Folder(t.TempDir())
		if err := from.Unpack(p, name); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := from.Pack(&out, name); err != nil {
			t.Fatal(err)
		}
		again, err := ReadPacked(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(name, err)
		}
		if err := to.Unpack(again, name); err != nil {
			t.Fatal(err)
		}
		if again.ID != p.ID || again.Files != p.Files {
			t.Errorf("%s: %+v, packed %+v", name, again.Manifest, p.Manifest)
		}
		var twice bytes.Buffer
		if err := to.Pack(&twice, name); err != nil || !bytes.Equal(out.Bytes(), twice.Bytes()) {
			t.Errorf("%s: its files differ: %v", name, err)
		}
	}
}
