package extensions

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Reads the list of a zip file (APPNOTE.TXT of PKWARE), which a stranger may have written.

const (
	maxName      = 512     // bytes
	maxPart      = 200     // bytes of one folder's or file's name, which every file system holds
	maxDepth     = 32      // folders
	maxDirectory = 8 << 20 // bytes of the list of MaxFiles

	endRecord    = "PK\x05\x06"
	endSize      = 22 // bytes of the end record, without a comment
	manifestName = "manifest.json"
	maxManifest  = 1 << 20
)

// entry is a file of a package.
type entry struct {
	name string // with slashes
	file *zip.File
}

// notAZip is said of a file that is neither.
const notAZip = "This is no zip and no CRX3 file, or it is cut short. Send the package as the store or the developer gives it, or a " +
	"zip of the extension's folder."

// readEntries reads the list, and checks each file of it. Unpacked they may have limit bytes.
func (p *Package) readEntries(r io.ReaderAt, size, limit int64) error {
	if err := checkEnd(r, size); err != nil {
		return err
	}
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return Faults{notAZip}
	}
	if len(z.File) > MaxFiles {
		return Faults{fmt.Sprintf("The package has %d files and folders, and may have %d.", len(z.File), MaxFiles)}
	}
	var f Faults
	seen := newNames()
	for _, file := range z.File {
		folder := strings.HasSuffix(file.Name, "/")
		name := strings.TrimSuffix(file.Name, "/")
		if dropped(name) {
			continue
		}
		f.checkName(name)
		f.checkFile(file, name, folder)
		seen.add(&f, name, folder)
		if folder {
			continue
		}
		p.Bytes += int64(min(file.UncompressedSize64, MaxPacked+1)) //nolint:gosec // bounded
		p.entries = append(p.entries, entry{name, file})
	}
	p.Files = len(p.entries)
	if p.Bytes > limit {
		f.add("", fmt.Sprintf("Unpacked the files have more than %d bytes.", limit))
	}
	return f.err()
}

// checkEnd checks the end record of a zip file before its list is read. The list must end where the record begins, so that no two readers
// see different lists, and its length bounds what is read. Zip64 is for files larger than MaxPacked.
func checkEnd(r io.ReaderAt, size int64) error {
	if size < endSize {
		return Faults{notAZip}
	}
	tail := make([]byte, min(size, endSize+1<<16-1))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	at := bytes.LastIndex(tail, []byte(endRecord))
	if at < 0 || len(tail)-at < endSize {
		return Faults{notAZip}
	}
	end := tail[at:]
	short, long := binary.LittleEndian.Uint16, binary.LittleEndian.Uint32
	count, length, offset := short(end[10:]), int64(long(end[12:])), int64(long(end[16:]))
	begin := size - int64(len(end)) // of the record
	switch {
	case long(end[12:]) == 1<<32-1 || long(end[16:]) == 1<<32-1 || count == 1<<16-1:
		return Faults{"The zip file uses zip64, which no package of this size needs. Pack the folder again with another program."}
	case int(short(end[20:])) != len(end)-endSize || short(end[4:]) != 0 || short(end[8:]) != count || offset+length != begin:
		return Faults{"The zip file contradicts itself, or has something before or behind it. Pack the folder again."}
	case length > maxDirectory || count > MaxFiles:
		return Faults{fmt.Sprintf("The package may have %d files and folders, and has more.", MaxFiles)}
	}
	return nil
}

// dropped reports whether an entry is not unpacked: what Chrome writes itself and refuses from others, and what macOS adds to zip files.
func dropped(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return top == "_metadata" || top == "__MACOSX" || path.Base(name) == ".DS_Store"
}

// checkName notes a name that would leave the folder, or that some system spells otherwise.
func (f *Faults) checkName(name string) {
	bad := func(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(`\:*?"<>|`, r) }
	parts := strings.Split(name, "/")
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, bad):
		f.add(name, "Rename it: file names are UTF-8, without control characters and without \\ : * ? \" < > |.")
	case !fs.ValidPath(name) || name == ".":
		f.add(name, "It does not lie within the package. Take it out.")
	case len(name) > maxName || len(parts) > maxDepth:
		f.add(name, fmt.Sprintf("Shorten its path to %d bytes and %d folders.", maxName, maxDepth))
	case slices.ContainsFunc(parts, func(s string) bool { return len(s) > maxPart || strings.Trim(s[max(0, len(s)-1):], ". ") == "" }):
		f.add(name, fmt.Sprintf("Rename it: a name has at most %d bytes, and ends neither with a dot nor with a space.", maxPart))
	case strings.HasPrefix(name, "_") && !slices.Contains([]string{"_locales", "_platform_specific"}, parts[0]):
		f.add(name, "Rename it: names at the top that begin with _ are Chrome's own, and it loads no extension with them.")
	}
}

// checkFile notes what is no plain file, and what cannot be unpacked.
func (f *Faults) checkFile(file *zip.File, name string, folder bool) {
	mode := file.Mode()
	if mode.IsDir() != folder || mode&(fs.ModeType&^fs.ModeDir) != 0 {
		f.add(name, "It is a link or a device. A package holds only files and folders.")
	}
	const encrypted = 1
	if file.Flags&encrypted != 0 || file.Method != zip.Store && file.Method != zip.Deflate {
		f.add(name, "It is encrypted, or packed in a way that Chrome does not read. Pack the folder again without.")
	}
}

// names are the names of a package, by their spelling on file systems that know neither case nor the forms of Unicode.
type names struct {
	fold    cases.Caser
	spelled map[string]string
	folders map[string]bool // whether a name is a folder's
	told    map[string]bool
}

func newNames() *names {
	return &names{cases.Fold(), map[string]string{}, map[string]bool{}, map[string]bool{}}
}

// add notes a name that is there already, or that differs from another one only in its spelling, and a file that is a folder too.
func (n *names) add(f *Faults, name string, folder bool) {
	for at := name; at != "." && at != "/" && at != ""; at = path.Dir(at) {
		isFolder := folder || at != name
		key := n.fold.String(norm.NFKC.String(at))
		had, there := n.spelled[key]
		switch {
		case !there:
			n.spelled[key], n.folders[key] = at, isFolder
			continue
		case n.told[key] || had == at && isFolder && n.folders[key]:
			continue
		case had != at:
			f.add(at, fmt.Sprintf("There is %s too, which is the same on some systems. Rename one of the two.", cut(had)))
		default:
			f.add(at, "There are two of this name. Take one of them out.")
		}
		n.told[key] = true
	}
}

// read returns the content of a file, at most limit bytes.
func (e entry) read(limit int64) ([]byte, error) {
	r, err := e.open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, damaged(e.name)
	}
	if int64(len(text)) > limit {
		return nil, Faults{fmt.Sprintf("%s may have %d bytes.", cut(e.name), limit)}
	}
	return text, nil
}

func (e entry) open() (io.ReadCloser, error) {
	r, err := e.file.Open()
	if err != nil {
		return nil, damaged(e.name)
	}
	return r, nil
}

// damaged is said of a file that is not what the list says.
func damaged(name string) error {
	return Faults{cut(name) + ": It is damaged. Fetch the package again, or pack it again."}
}

// find returns a file of the package.
func (p *Package) find(name string) (entry, bool) {
	i := slices.IndexFunc(p.entries, func(e entry) bool { return e.name == name })
	if i < 0 {
		return entry{}, false
	}
	return p.entries[i], true
}
