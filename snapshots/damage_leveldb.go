package snapshots

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Looks at LevelDB's folders as LevelDB does when it opens one (db/version_set.cc, VersionSet::Recover; db/db_impl.cc, DBImpl::Recover).
// CURRENT names the MANIFEST, whose records name the tables. Chrome deletes a folder that LevelDB does not open.

const (
	currentFile = "CURRENT"
	// maxManifest is more than LevelDB writes before it begins a new one.
	maxManifest = 64 << 20
)

// store looks at one LevelDB folder, which is at a path below the user data.
func (i *inspection) store(above *os.Root, name, at string) error {
	root, err := above.OpenRoot(name)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it was only read
	s := &tableStore{at: at, folder: folder{root}}
	problem, err := s.problem()
	if problem != "" {
		i.add(at, problem)
	}
	if s.lost != "" {
		i.empty = append(i.empty, path.Join(at, s.lost))
	}
	return err
}

// tableStore is one LevelDB folder.
type tableStore struct {
	folder
	at   string
	lost string // its log, if that held all of its data and holds nothing any more
}

func (s *tableStore) problem() (string, error) {
	current, err := s.read(currentFile, 256)
	if errors.Is(err, fs.ErrNotExist) { // Chrome puts it back, but for this one
		names, err := s.list()
		if s.at == workers && slices.ContainsFunc(names, isManifest) {
			return "CURRENT is gone, which names its list of tables.", nil
		}
		return "", err
	}
	if err != nil {
		return "", err
	}
	name, whole := strings.CutSuffix(string(current), "\n")
	if !whole || !isManifest(name) || strings.ContainsAny(name, `/\`) {
		return "CURRENT is damaged, which names its list of tables.", nil
	}
	text, err := s.read(name, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return name + " is gone, its list of tables.", nil
	}
	if err != nil {
		return "", err
	}
	list, ok := readManifest(text)
	if !ok {
		return name + " is damaged, its list of tables.", nil
	}
	for number, size := range list.tables {
		if problem, err := s.table(number, size); problem != "" || err != nil {
			return problem, err
		}
	}
	if len(list.tables) == 0 {
		return "", s.onlyLog(list.log)
	}
	return "", nil
}

// tableMagic ends a table (table/format.h, kTableMagicNumber).
var tableMagic = []byte{0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb}

// table looks at the end of a table, which says where all else in it is.
func (s *tableStore) table(number uint64, size int64) (string, error) {
	name := fmt.Sprintf("%06d.ldb", number)
	f, info, err := s.open(name)
	if errors.Is(err, fs.ErrNotExist) { // its name in old versions
		name = fmt.Sprintf("%06d.sst", number)
		f, info, err = s.open(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("Its table %06d is gone.", number), nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	end := make([]byte, len(tableMagic))
	if _, err := f.ReadAt(end, max(0, size-int64(len(end)))); ended(err) != nil {
		return "", err
	}
	if info.Size() < size || !bytes.Equal(end, tableMagic) {
		return "Its table " + name + " is damaged.", nil
	}
	return "", nil
}

// onlyLog looks at the log of a folder that has no tables, so that all of its data are there. A log whose end is torn is read up to
// there. One that begins with no record has lost everything, unless it is new.
func (s *tableStore) onlyLog(number uint64) error {
	log := fmt.Sprintf("%06d.log", number)
	text, err := s.read(log, logBlock)
	if missing(err) != nil {
		return err
	}
	r := logReader{text: text}
	if _, ok := r.next(); !ok && !(r.torn && len(text) == logBlock) {
		s.lost = log
	}
	return nil
}

// manifest is what a MANIFEST lists.
type manifest struct {
	tables map[uint64]int64 // their sizes, by number
	log    uint64           // the number of the oldest log that counts
}

// readManifest reads a MANIFEST. ok is false if LevelDB would not open it. A record that is cut off at the end is none.
func readManifest(text []byte) (list manifest, ok bool) {
	list.tables = map[uint64]int64{}
	r, complete := logReader{text: text}, 0
	for {
		record, more := r.next()
		if !more {
			return list, !r.bad && complete == hasLog|hasNext|hasSequence
		}
		e := edit{rest: record}
		for len(e.rest) > 0 && !e.bad {
			complete |= e.apply(&list)
		}
		if e.bad {
			return list, false
		}
	}
}

// The numbers without which LevelDB does not open a MANIFEST.
const (
	hasLog = 1 << iota
	hasNext
	hasSequence
)

// The tags of an edit (db/version_edit.cc).
const (
	tagComparator  = 1
	tagLog         = 2
	tagNextFile    = 3
	tagSequence    = 4
	tagCompact     = 5
	tagDeletedFile = 6
	tagNewFile     = 7
	tagPreviousLog = 9
)

// edit is a record of a MANIFEST that is being read.
type edit struct {
	rest []byte
	bad  bool
}

// apply reads one part of the edit into the list. It returns the number that it had.
func (e *edit) apply(list *manifest) (has int) {
	switch e.number() {
	case tagComparator:
		e.text()
	case tagLog:
		list.log = e.number()
		return hasLog
	case tagNextFile:
		e.number()
		return hasNext
	case tagSequence:
		e.number()
		return hasSequence
	case tagPreviousLog:
		e.number()
	case tagCompact:
		e.number()
		e.text()
	case tagDeletedFile:
		e.number()
		delete(list.tables, e.number())
	case tagNewFile:
		e.number()
		number := e.number()
		list.tables[number] = int64(min(e.number(), 1<<62)) //nolint:gosec // bounded
		e.text()
		e.text()
	default:
		e.bad = true
	}
	return 0
}

func (e *edit) number() uint64 {
	n, size := binary.Uvarint(e.rest)
	if size <= 0 {
		e.bad, e.rest = true, nil
		return 0
	}
	e.rest = e.rest[size:]
	return n
}

func (e *edit) text() {
	n := e.number()
	if n > uint64(len(e.rest)) {
		e.bad, e.rest = true, nil
		return
	}
	e.rest = e.rest[n:]
}

// The layout of LevelDB's logs (doc/log_format.md).
const (
	logBlock  = 32 << 10
	logHeader = 7 // checksum, length, kind
)

const (
	logZero = iota
	logFull
	logFirst
	logMiddle
	logLast
)

// logReader reads the records of a log (db/log_reader.cc).
type logReader struct {
	text []byte
	at   int
	bad  bool // a record before the end is damaged
	torn bool // the end is cut off
}

// next returns the next record. more is false at the end, and at the first that is damaged.
func (r *logReader) next() (record []byte, more bool) {
	begun := false
	for {
		kind, part, ok := r.part()
		if !ok {
			return nil, false
		}
		switch {
		case kind == logFull && !begun:
			return part, true
		case kind == logFirst && !begun:
			record, begun = slices.Clone(part), true
		case kind == logMiddle && begun:
			record = append(record, part...)
		case kind == logLast && begun:
			return append(record, part...), true
		default:
			r.bad = true
			return nil, false
		}
	}
}

// part returns the next part of a record.
func (r *logReader) part() (kind byte, part []byte, ok bool) {
	for {
		if left := logBlock - r.at%logBlock; left < logHeader { // the rest of a block is padding
			r.at += left
		}
		if r.at+logHeader > len(r.text) {
			r.torn = r.at < len(r.text)
			return 0, nil, false
		}
		h := r.text[r.at:]
		size, kind := int(binary.LittleEndian.Uint16(h[4:])), h[6]
		switch {
		case kind == logZero && size == 0: // room that was never written: LevelDB leaves the rest of the block
			r.at += logBlock - r.at%logBlock
			continue
		case logHeader+size > logBlock-r.at%logBlock:
			r.bad = len(r.text)-r.at >= logBlock-r.at%logBlock
			r.torn = !r.bad
			return 0, nil, false
		case logHeader+size > len(h):
			r.torn = true
			return 0, nil, false
		}
		body := h[logHeader : logHeader+size]
		if checksum(h[6:logHeader+size]) != binary.LittleEndian.Uint32(h) {
			r.bad = true
			return 0, nil, false
		}
		r.at += logHeader + size
		return kind, body, true
	}
}

// checksum is a masked CRC-32C (util/crc32c.h).
func checksum(text []byte) uint32 {
	c := crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}
