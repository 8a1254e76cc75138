package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"warren/packs"
)

// Keys open an archive: what it is sealed with is needed. None is given for one that is unsealed.
type Keys struct {
	Passphrase string
	Identity   string // of age, such as AGE-SECRET-KEY-1…; lines as age-keygen writes them are taken, too
	Turns      Turns
}

// Archive is an archive that was verified.
type Archive struct {
	Warren string    // the version that made it
	MadeAt time.Time // when that began
	Sealed bool

	plain    io.ReaderAt
	members  []member
	packs    map[[sha256.Size]byte]int // their places in members
	trees    map[int]int               // the same, by the number of the profile
	vault    *packs.Vault
	profiles []Content
}

// Content is a profile in an archive. What will not travel with it, such as logins that another system's keychain seals, follows
// from its system and its browser.
type Content struct {
	About
	Data *Data // nil: the settings alone
}

// Open opens an archive that is here as a whole, in size bytes. It verifies all of it: each byte, each seal, each chunk. Every object
// that is named must be there, and no other. The memory that this takes is bounded, also for an archive of a stranger. A passphrase
// takes up to 256 MiB for a moment. The archive is read from r as long as it is used.
//
// The error is one of this package, that of r, or that of the context.
func Open(ctx context.Context, r io.ReaderAt, size int64, k Keys) (*Archive, error) {
	plain, length, err := k.unseal(ctx, file{r}, size)
	if err != nil {
		return nil, err
	}
	_, bare := plain.(file)
	a := &Archive{Sealed: !bare, plain: plain, packs: map[[sha256.Size]byte]int{}, trees: map[int]int{}}
	ahead := int(min(readAhead, length))
	s := &scanner{archive: a, r: bufio.NewReaderSize(io.NewSectionReader(plain, 0, length), ahead), size: length}
	defer s.close()
	if err := s.all(ctx); err != nil {
		return nil, err
	}
	if err := a.checkTrees(ctx, s.verifier); err != nil {
		return nil, err
	}
	return a, nil
}

// readAhead is how many bytes are read at a time.
const readAhead = 1 << 20

// scanner reads an archive from its beginning to its end, once.
type scanner struct {
	archive  *Archive
	r        *bufio.Reader
	at, size int64 // how much was read, and how much there is
	verifier *packs.Verifier
	chunks   int
	records  int64 // bytes
	now      member
	buffer   []byte
}

func (s *scanner) close() {
	if s.verifier != nil {
		s.verifier.Close()
	}
}

// all reads all members.
func (s *scanner) all(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.header(); err != nil {
			return err
		}
		if s.now.kind == manifestKind {
			return s.end()
		}
		if err := s.body(); err != nil {
			return err
		}
		if err := s.member(); err != nil {
			return err
		}
		s.archive.members = append(s.archive.members, s.now)
	}
}

// damaged is the error for what is wrong with the current member.
func (s *scanner) damaged(why string, details ...any) error {
	return fmt.Errorf("%w: %s: %w", ErrDamaged, s.where(), fmt.Errorf(why, details...))
}

// where says which member is read.
func (s *scanner) where() string { return fmt.Sprintf("%s, at byte %d", s.now.name(), s.now.at) }

// read fills b.
func (s *scanner) read(b []byte) error {
	n, err := io.ReadFull(s.r, b)
	s.at += int64(n)
	if err != nil {
		return explain(s.where(), err)
	}
	return nil
}

// header reads the header of the next member, and checks that this member may follow.
func (s *scanner) header() error {
	var b [block]byte
	at := s.at
	if err := s.read(b[:]); err != nil {
		return err
	}
	name, size, ok := parseHeader(b)
	next, known := memberOf(name)
	if !ok || !known {
		return fmt.Errorf("%w: at byte %d no member of an archive begins", ErrDamaged, at)
	}
	s.now = next
	s.now.at, s.now.size = s.at, size
	if size > s.size-s.at {
		return ErrTruncated
	}
	return s.follows()
}

// follows checks that the current member may be at its place, and be so large.
func (s *scanner) follows() error {
	if !s.belongs() {
		return s.damaged("it does not belong there")
	}
	if len(s.archive.members) == maxMembers {
		return s.damaged("there are more than %d members", maxMembers)
	}
	if most := s.most(); s.now.size > most {
		return s.damaged("it has %d bytes, more than the %d that it may have", s.now.size, most)
	}
	return nil
}

// belongs reports whether the current member may follow on those before it.
func (s *scanner) belongs() bool {
	a := s.archive
	number := len(a.profiles) + 1 // of the profile that is next
	_, data := a.trees[number]
	_, twice := a.packs[s.now.sum]
	switch s.now.kind {
	case headKind:
		return len(a.members) == 0
	case packKind:
		return len(a.members) > 0 && !twice
	case treeKind:
		return len(a.members) > 0 && s.now.number == number && !data
	case recordKind:
		return len(a.members) > 0 && s.now.number == number && number <= maxProfiles
	default:
		return number > 1 && !data
	}
}

// most returns how many bytes the current member may have.
func (s *scanner) most() int64 {
	switch s.now.kind {
	case headKind:
		return maxHead
	case packKind:
		return packs.MaxPack
	case treeKind:
		return maxTree
	case recordKind:
		return min(maxRecord, maxRecords-s.records)
	default:
		return manifestSize(s.archive.members)
	}
}

// body reads the current member into the buffer, and what follows up to the next block.
func (s *scanner) body() error {
	s.buffer = slices.Grow(s.buffer[:0], int(s.now.size))[:s.now.size]
	if err := s.read(s.buffer); err != nil {
		return err
	}
	return s.zeros(padding(s.now.size))
}

func (s *scanner) zeros(n int64) error {
	var b [2 * block]byte
	if err := s.read(b[:n]); err != nil {
		return err
	}
	if b != [2 * block]byte{} {
		return s.damaged("there is something behind it")
	}
	return nil
}

// member checks the current member, whose bytes are in the buffer.
func (s *scanner) member() error {
	a, place := s.archive, len(s.archive.members)
	switch s.now.kind {
	case headKind:
		if err := s.head(); err != nil {
			return err
		}
	case packKind:
		chunks, err := s.verifier.Pack(fmt.Sprintf("%x", s.now.sum), s.buffer)
		if err != nil {
			return s.damaged("%w", err)
		}
		if s.chunks += chunks; s.chunks > maxChunks {
			return s.damaged("there are more than %d chunks", maxChunks)
		}
		a.packs[s.now.sum] = place
		return nil
	case treeKind:
		a.trees[s.now.number] = place
	case recordKind:
		if err := s.record(); err != nil {
			return err
		}
	}
	s.now.sum = sha256.Sum256(s.buffer)
	return nil
}

// head reads what the archive is.
func (s *scanner) head() error {
	var h head
	if err := json.Unmarshal(s.buffer, &h); err != nil { // members of a newer format are passed over
		return s.damaged("%w", err)
	}
	if h.Format > format {
		return fmt.Errorf("%w, %d: Warren %s, which made it, reads it; this version reads format %d", ErrNewer, h.Format, h.Warren, format)
	}
	if h.Format < format {
		return s.damaged("there is no format %d", h.Format)
	}
	vault, err := packs.NewVault(fromArchive{s.archive}, h.Secret)
	if err != nil {
		return s.damaged("%w", err)
	}
	a := s.archive
	a.Warren, a.MadeAt, a.vault = h.Warren, h.MadeAt, vault
	s.verifier, err = a.vault.Verifier()
	return err
}

// record reads what a profile is.
func (s *scanner) record() error {
	var r record
	if err := json.Unmarshal(s.buffer, &r, json.RejectUnknownMembers(true)); err != nil {
		return s.damaged("%w", err)
	}
	s.records += s.now.size
	a := s.archive
	if _, data := a.trees[s.now.number]; data != (r.Data != nil) || r.ID == "" || !isObject(r.Settings) {
		return s.damaged("it is no profile, or its data are not there")
	}
	a.profiles = append(a.profiles, Content(r))
	return nil
}

// end compares the manifest with what stands before it, and checks that nothing follows.
func (s *scanner) end() error {
	same := &comparer{s: s}
	if err := writeManifest(same, s.archive.members); err != nil {
		return err
	}
	if same.n != s.now.size {
		return s.damaged("it is not the list of the other members")
	}
	if err := s.zeros(padding(s.now.size)); err != nil {
		return err
	}
	if err := s.zeros(2 * block); err != nil {
		return err
	}
	if s.at != s.size {
		return s.damaged("%d bytes follow on it", s.size-s.at)
	}
	return nil
}

// comparer compares what is written to it with what is read.
type comparer struct {
	s    *scanner
	n    int64
	read [block]byte
}

func (c *comparer) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		b := c.read[:min(len(c.read), len(p)-done)]
		if err := c.s.read(b); err != nil {
			return done, err
		}
		if !bytes.Equal(b, p[done:done+len(b)]) {
			return done, c.s.damaged("it is not the list of the other members")
		}
		done += len(b)
	}
	c.n += int64(len(p))
	return len(p), nil
}
