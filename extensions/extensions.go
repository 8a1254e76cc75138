// Package extensions reads packages of browser extensions: zip files and CRX3 files. It checks what strangers packed, and
// unpacks it for a browser.
//
// Read finds every fault of a package before anything is written. Its id is the one that Chrome computes from the key
// (components/crx_file/id_util.cc). A package without a key gets one that follows from its name, so that the id is the same
// in every profile and stays with the next version. Folder keeps packages unpacked, once each.
//
// The package knows nothing of profiles and runs.
package extensions

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// The limits of a package.
const (
	MaxBytes = 100 << 20 // of the file, and of what is unpacked
	MaxFiles = 10000

	// MaxPacked is the limit of what Pack writes: the files, their names twice, and the key that the manifest may have got.
	MaxPacked = MaxBytes + 2*maxDirectory + maxManifest
)

// Package is a package without a fault.
type Package struct {
	ID    string // Chrome's: 32 letters from a to p
	Files int
	Bytes int64 // unpacked
	Manifest

	key      []byte // public, DER (X.509 SubjectPublicKeyInfo) as a rule; the id is its hash
	manifest []byte // as it is unpacked, with the key
	entries  []entry
}

// Read reads a package of size bytes. It fails with Faults if it is not one that Chrome would load, and with r's error.
func Read(r io.ReaderAt, size int64) (*Package, error) { return readWithin(r, size, MaxBytes) }

// ReadPacked is Read of what Folder.Pack has written. It may have MaxPacked bytes, since nothing is compressed.
func ReadPacked(r io.ReaderAt, size int64) (*Package, error) { return readWithin(r, size, MaxPacked) }

// readWithin reads a package. It may have limit bytes, and as many unpacked.
func readWithin(r io.ReaderAt, size, limit int64) (*Package, error) {
	if size > limit {
		return nil, Faults{fmt.Sprintf("The file has %d bytes, and may have %d.", size, limit)}
	}
	zipped, size, key, err := openCRX(r, size)
	if err != nil {
		return nil, err
	}
	p := &Package{key: key}
	if err := p.readEntries(zipped, size, limit); err != nil {
		return nil, err
	}
	return p, p.readManifest()
}

// ID returns the id of an extension whose public key has these bytes: the first half of their SHA-256, with a to p as digits.
func ID(key []byte) string { return idOf(sha256.Sum256(key)) }

func idOf(sum [sha256.Size]byte) string {
	return strings.Map(func(digit rune) rune {
		if digit >= 'a' {
			return digit - 'a' + 'k'
		}
		return digit - '0' + 'a'
	}, fmt.Sprintf("%x", sum[:idBytes]))
}

// idBytes is how many bytes an id stands for.
const idBytes = 16

// IsID reports whether a text is an id as Chrome writes it.
func IsID(text string) bool {
	return len(text) == 2*idBytes && strings.Trim(text, "abcdefghijklmnop") == ""
}

// makeKey returns the public key of an extension that brings none. Nobody signs with it: Chrome only computes the id from it.
func makeKey(name string) ([]byte, error) {
	seed := sha256.Sum256([]byte("warren extension\x00" + name))
	return x509.MarshalPKIXPublicKey(ed25519.NewKeyFromSeed(seed[:]).Public())
}

// readKey returns the bytes of a manifest's key: base64, also between the lines of PEM (extensions/common/extension.cc,
// ParsePEMKeyBytes).
func readKey(text string) ([]byte, error) {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
			lines.WriteString(line)
		}
	}
	key, err := base64.StdEncoding.DecodeString(lines.String())
	if err == nil && len(key) == 0 {
		err = io.ErrUnexpectedEOF
	}
	return key, err
}

// Faults are all that is wrong with a package, each as a sentence that says what to do.
type Faults []string

// Error satisfies error.
func (f Faults) Error() string { return strings.Join(f, " ") }

// maxFaults is how many faults are told of one package.
const maxFaults = 20

// add adds a fault about a file of the package, "" for the whole.
func (f *Faults) add(name, message string) {
	if name != "" {
		message = fmt.Sprintf("%s: %s", cut(name), message)
	}
	if len(*f) < maxFaults {
		*f = append(*f, message)
	}
}

// err returns the faults as an error, nil for none.
func (f Faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// cut quotes a name of a stranger's, shortened.
func cut(name string) string {
	const most = 100
	if len(name) > most {
		name = name[:most] + "…"
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(name, "?"))
}
