package browser

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/syndtr/goleveldb/leveldb/storage"
)

// Reads the logs of Chrome's LevelDB (github.com/google/leveldb, doc/log_format.md). The library takes a batch for damaged that is older
// than the manifest, as Chrome's are when a compaction ends while a log is being written.

// withoutLogs hides the logs of a folder from the library.
type withoutLogs struct{ storage.Storage }

// List implements storage.Storage.
func (s withoutLogs) List(kinds storage.FileType) ([]storage.FileDesc, error) {
	return s.Storage.List(kinds &^ storage.TypeJournal)
}

// errDamagedLog is the error for a log that ends within a record, as one that is being written.
var errDamagedLog = errors.New("a log of LevelDB is damaged, or is being written")

// readLogs returns what the logs of a folder change: values by key, nil for one that is deleted.
func readLogs(dir string) (map[string][]byte, error) {
	current, err := os.ReadFile(filepath.Join(dir, "CURRENT"))
	if err != nil {
		return nil, err
	}
	manifest, err := os.ReadFile(filepath.Join(dir, filepath.Base(strings.TrimSpace(string(current)))))
	if err != nil {
		return nil, err
	}
	first := uint64(0) // earlier logs are in the tables
	for _, edit := range logRecords(manifest) {
		if n, ok := logNumber(edit); ok {
			first = n
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names) // six digits and more
	out := map[string][]byte{}
	for _, name := range names {
		n, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(name), ".log"), 10, 64)
		if err != nil || n < first {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for _, batch := range logRecords(text) {
			if err := applyBatch(out, batch); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// logRecords returns the records of a log, up to the first that is not whole: what is being written is not there yet.
func logRecords(text []byte) (all [][]byte) {
	const block, header = 32 << 10, 7
	var record []byte
	for at := 0; ; {
		if left := block - at%block; left < header {
			at += left
		}
		if at+header > len(text) {
			return all
		}
		size, kind := int(binary.LittleEndian.Uint16(text[at+4:])), text[at+6]
		if kind == 0 || kind > 4 || at+header+size > len(text) {
			return all
		}
		part := text[at+header : at+header+size]
		at += header + size
		if kind == 1 || kind == 2 { // whole, or the first part
			record = nil
		}
		record = append(record, part...)
		if kind == 1 || kind == 4 { // whole, or the last part
			all = append(all, record)
		}
	}
}

// logNumber reads the number of the first log from an edit of a manifest (db/version_edit.cc). Its first members are the comparer's name
// (1) and that number (2).
func logNumber(edit []byte) (uint64, bool) {
	for len(edit) > 0 {
		tag, n := binary.Uvarint(edit)
		if n <= 0 {
			return 0, false
		}
		value, m := binary.Uvarint(edit[n:])
		switch {
		case m <= 0:
			return 0, false
		case tag == 2:
			return value, true
		case tag == 1 && value <= uint64(len(edit)-n-m):
			edit = edit[n+m+int(value):]
		default:
			return 0, false
		}
	}
	return 0, false
}

// applyBatch applies a batch of writes (db/write_batch.cc): a sequence number, a count, and records of a kind, a key and a value.
func applyBatch(out map[string][]byte, batch []byte) error {
	if len(batch) < 12 {
		return errDamagedLog
	}
	text := func(b []byte) (string, []byte, bool) {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return "", nil, false
		}
		return string(b[n : n+int(size)]), b[n+int(size):], true
	}
	for rest := batch[12:]; len(rest) > 0; {
		kind := rest[0]
		key, after, ok := text(rest[1:])
		if !ok || kind > 1 {
			return errDamagedLog
		}
		if rest = after; kind == 0 {
			out[key] = nil
			continue
		}
		value, after, ok := text(rest)
		if !ok {
			return errDamagedLog
		}
		out[key], rest = append([]byte{}, value...), after
	}
	return nil
}
