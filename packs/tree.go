package packs

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"
)

const (
	treeVersion = 1
	// maxTree is the length in bytes of the longest tree, before it is compressed.
	maxTree = 256 << 20
	// minMember is less than the length in bytes of a file, a folder, a link, a pack or a chunk in the text of a tree.
	minMember = 20
	// maxFileSize is the length in bytes of the largest file.
	maxFileSize = 1 << 44
)

// Subject is what a tree is of. A tree is opened only for the subject that it was sealed for.
type Subject struct {
	ID    string // the tree's own: lower-case letters, digits and dashes; new for each Save, also after one that failed
	Owner string // such as workspace|profile
}

// Tree is a folder at a moment.
type Tree struct {
	Version int               `json:"version"`
	ID      string            `json:"id"`
	Parent  string            `json:"parent,omitempty"` // the ID of the tree that it was made from
	MadeAt  time.Time         `json:"madeAt"`
	About   map[string]string `json:"about,omitempty"` // what the caller says of it
	Packs   []Pack            `json:"packs"`           // that its chunks are in
	Folders []Dir             `json:"folders"`         // below it, parents first
	Files   []File            `json:"files"`           // in the order of their paths
	Links   []Link            `json:"links,omitempty"`

	list int // bytes of all this as text
}

// List returns the length in bytes of what a tree says of its files, before it is compressed: of one that was written or read.
func (t *Tree) List() int { return t.list }

// Pack is an object of chunks.
type Pack struct {
	Name string `json:"name"` // the SHA-256 of its bytes, in hexadecimal
	Size int64  `json:"size"`
	Body int64  `json:"body"` // of this, the chunks
}

// Dir is a folder below the tree's own.
type Dir struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode"`
}

// File is a file of a tree.
type File struct {
	Path     string  `json:"path"` // from the tree's folder on, with slashes
	Mode     uint32  `json:"mode"` // permissions
	Size     int64   `json:"size"`
	Modified int64   `json:"modified"` // nanoseconds since 1970
	Chunks   []Chunk `json:"chunks"`
}

// Link is a symbolic link to something in the tree.
type Link struct {
	Path   string `json:"path"`
	Target string `json:"target"` // relative to the link's folder
}

// Chunk says where a part of a file is.
type Chunk struct {
	Name   [nameSize]byte `json:"name,format:base64"`
	Pack   int            `json:"pack"` // its place in the tree's Packs
	At     int64          `json:"at"`
	Length int64          `json:"length"` // of the sealed bytes
	Size   int64          `json:"size"`   // of the file's bytes
}

// Bytes is the length of all files together.
func (t *Tree) Bytes() (n int64) {
	for i := range t.Files {
		n += t.Files[i].Size
	}
	return n
}

// check finds an ID that cannot be the name of an object.
func (s Subject) check() error {
	if !validName.MatchString(treeName(s.ID)) {
		return fmt.Errorf("%q cannot be the ID of a tree", s.ID)
	}
	return nil
}

// about is what a tree's seal is bound to.
func (s Subject) about() []byte { return []byte("warren tree " + s.Owner + "|" + s.ID) }

func treeLabel() []byte { return []byte("tree") }

// seal returns the bytes of a tree's object.
func (t *Tree) seal(k keys, s Subject, zip *zstd.Encoder) ([]byte, error) {
	return t.sealWithin(k, s, zip, maxTree)
}

// sealWithin is seal for a vault whose trees take at most most bytes.
func (t *Tree) sealWithin(k keys, s Subject, zip *zstd.Encoder, most int) ([]byte, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	if len(text) > most {
		return nil, fmt.Errorf("the folder has too many files: their list takes more than %d bytes", most)
	}
	t.list = len(text)
	return k.seal(nil, treeLabel(), zip.EncodeAll(text, nil), s.about()), nil
}

// openTree reads a tree's object, and trusts nothing that it says. The error is ErrDamaged.
func openTree(k keys, s Subject, sealed []byte) (*Tree, error) {
	return openTreeWithin(k, s, sealed, maxTree)
}

// openTreeWithin is openTree for a vault whose trees take at most most bytes.
func openTreeWithin(k keys, s Subject, sealed []byte, most int) (*Tree, error) {
	packed, err := k.open(treeLabel(), sealed, s.about())
	if err != nil {
		return nil, err
	}
	unzip, err := newDecompressor(uint64(most)) //nolint:gosec // it is positive
	if err != nil {
		return nil, err
	}
	defer unzip.Close()
	text, err := unzip.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := isDense(text, minMember); err != nil {
		return nil, err
	}
	t := &Tree{list: len(text)}
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if t.Version != treeVersion {
		return nil, fmt.Errorf("the tree is of version %d; this program reads version %d", t.Version, treeVersion)
	}
	if t.ID != s.ID {
		return nil, fmt.Errorf("%w: it is another tree", ErrDamaged)
	}
	return t, t.check()
}

// check finds what would leave the folder, or take more than the sizes say.
func (t *Tree) check() error {
	packs := make(map[string]bool, len(t.Packs))
	for _, pack := range t.Packs {
		if packs[pack.Name] {
			return fmt.Errorf("%w: the pack %s is there twice", ErrDamaged, pack.Name)
		}
		packs[pack.Name] = true
		if len(pack.Name) != 2*nameSize || strings.Trim(pack.Name, "0123456789abcdef") != "" || pack.Body < 0 ||
			pack.Size < pack.Body+int64(packTail) {
			return fmt.Errorf("%w: %q is no pack", ErrDamaged, pack.Name)
		}
	}
	kinds := make(map[string]string, len(t.Files)+len(t.Folders))
	for _, d := range t.Folders {
		if err := place(kinds, d.Path, "folder"); err != nil {
			return err
		}
	}
	for i := range t.Files {
		if err := place(kinds, t.Files[i].Path, "file"); err != nil {
			return err
		}
		if err := t.Files[i].check(len(t.Packs)); err != nil {
			return err
		}
	}
	for _, l := range t.Links {
		if err := place(kinds, l.Path, "link"); err != nil {
			return err
		}
		if !staysBelow(l) {
			return fmt.Errorf("%w: the link %q leads out of the folder", ErrDamaged, l.Path)
		}
	}
	return nil
}

// place notes what is at a path. Its folder must be a folder of the tree, and nothing else may be there.
func place(kinds map[string]string, at, kind string) error {
	parent := path.Dir(at)
	switch {
	case !isClean(at):
		return fmt.Errorf("%w: the path %q leaves the folder", ErrDamaged, at)
	case kinds[at] != "":
		return fmt.Errorf("%w: %q is there twice", ErrDamaged, at)
	case parent != "." && kinds[parent] != "folder":
		return fmt.Errorf("%w: %q lies in something that is no folder", ErrDamaged, at)
	}
	kinds[at] = kind
	return nil
}

// isClean reports whether a path stays below its folder, on every system, and is written in the one way. JSON holds UTF-8 alone.
func isClean(at string) bool {
	return at != "." && path.Clean(at) == at && filepath.IsLocal(filepath.FromSlash(at)) && !strings.ContainsAny(at, "\\\x00") &&
		utf8.ValidString(at)
}

// staysBelow reports whether a link's target is relative and in the tree.
func staysBelow(l Link) bool {
	return l.Target != "" && !path.IsAbs(l.Target) && isClean(path.Join(path.Dir(l.Path), l.Target)) && !turnsBack(l.Target) &&
		!strings.ContainsAny(l.Target, "\\\x00") && utf8.ValidString(l.Target)
}

// turnsBack reports whether a target goes up again after it has gone down. If it goes down through another link, it comes out
// elsewhere than its text says, and above the folder too.
func turnsBack(target string) bool {
	down := false
	for part := range strings.SplitSeq(target, "/") {
		if part == ".." && down {
			return true
		}
		down = down || part != ".." && part != "." && part != ""
	}
	return false
}

func (f *File) check(packs int) error {
	var size int64
	for _, c := range f.Chunks {
		if c.Pack < 0 || c.Pack >= packs || c.Size <= 0 || c.Size > chunkSize || c.At < 0 || c.At > 2*packSize ||
			c.Length < nonceSize+tagSize || c.Length > 2*chunkSize {
			return fmt.Errorf("%w: %q names a chunk that cannot be", ErrDamaged, f.Path)
		}
		size += c.Size
	}
	if size != f.Size || size > maxFileSize {
		return fmt.Errorf("%w: the chunks of %q have other sizes than the file", ErrDamaged, f.Path)
	}
	return nil
}
