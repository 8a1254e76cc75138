package userdata

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reads the entries of zip, tar and tar.gz files.

// entry is a file, a folder or a link of a source.
type entry struct {
	name string // with slashes, without one at an end
	kind fs.FileMode
	open func() (io.ReadCloser, error)
}

// source is a zip, tar or tar.gz file.
type source struct {
	r    io.ReaderAt
	size int64
}

// maxEntries is how many entries a file may have.
const maxEntries = 2_000_000

// IsOne reports whether a file begins as a zip, tar or gzip file. head is its first 512 bytes.
func IsOne(head []byte) bool {
	return strings.HasPrefix(string(head), "PK\x03\x04") || strings.HasPrefix(string(head), "\x1f\x8b") ||
		len(head) >= 262 && string(head[257:262]) == "ustar"
}

// each calls do with every entry.
func (s source) each(ctx context.Context, do func(entry) error) error {
	n := 0
	counted := func(e entry) error {
		if n++; n > maxEntries {
			return refuse("The file has more than 2,000,000 entries.")
		}
		name, err := cleanName(e.name)
		if err != nil || name == "" {
			return err
		}
		e.name = name
		return errors.Join(ctx.Err(), do(e))
	}
	head := make([]byte, 4)
	if _, err := s.r.ReadAt(head, 0); err != nil {
		return refuse(damaged)
	}
	whole := io.NewSectionReader(s.r, 0, s.size)
	switch {
	case string(head) == "PK\x03\x04":
		return s.eachZip(counted)
	case string(head[:2]) == "\x1f\x8b":
		z, err := gzip.NewReader(bufio.NewReader(whole))
		if err != nil {
			return refuse(damaged)
		}
		return eachTar(&bounded{z, s.size*maxRatio + spare}, counted)
	}
	tail := make([]byte, 1024) // two empty blocks end a tar file; archive/tar takes one without them
	if _, err := s.r.ReadAt(tail, max(0, s.size-1024)); err != nil && !errors.Is(err, io.EOF) || len(bytes.Trim(tail, "\x00")) > 0 {
		return refuse(damaged)
	}
	return eachTar(bufio.NewReader(whole), counted)
}

// bounded reads at most left bytes, and then refuses.
type bounded struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, refuse(bomb)
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}

const bomb = "The file unpacks to more than 200 times its size."

const damaged = "The file is cut short or damaged. Pack the folder again."

func (s source) eachZip(do func(entry) error) error {
	z, err := zip.NewReader(s.r, s.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are checked anyway
		return refuse(damaged)
	}
	for _, f := range z.File {
		mode := f.Mode()
		if f.Flags&1 != 0 {
			return refuse("The zip file is encrypted. Pack the folder without a password.")
		}
		if strings.HasSuffix(f.Name, "/") {
			mode |= fs.ModeDir
		}
		if err := do(entry{f.Name, mode.Type(), f.Open}); err != nil {
			return err
		}
	}
	return nil
}

func eachTar(r io.Reader, do func(entry) error) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return orDamaged(err)
		}
		kind := h.FileInfo().Mode().Type()
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeDir:
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeLink:
			kind = fs.ModeSymlink // either leads elsewhere
		default:
			if kind == 0 {
				kind = fs.ModeIrregular
			}
		}
		if err := do(entry{h.Name, kind, func() (io.ReadCloser, error) { return io.NopCloser(t), nil }}); err != nil {
			return err
		}
	}
}

// orDamaged returns a refusal as it is, and another for the errors of a file's format.
func orDamaged(err error) error {
	if own, ok := errors.AsType[*Refusal](err); ok {
		return own
	}
	return refuse(damaged)
}

// cleanName returns a name without ./ in front and / at its end; "" for the top itself. Others that lead out of the folder are refused.
func cleanName(name string) (string, error) {
	const longest = 4096
	name = strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	if name == "" || name == "." {
		return "", nil
	}
	odd := strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '\\' || r == ':' })
	if odd || len(name) > longest || !utf8.ValidString(name) || path.Clean(name) != name || !fs.ValidPath(name) {
		return "", refuse("The file has a name that leads out of the folder, or that has a backslash, a colon or a control character.")
	}
	return name, nil
}
