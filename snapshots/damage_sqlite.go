package snapshots

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"warren/store"
)

// databases looks at the SQLite files. If one was written after the browser had closed them, all are read whole.
func (i *inspection) databases() {
	thorough := i.how.Thorough
	var there []string
	for _, db := range databases() {
		at, late := i.place(db.places)
		switch {
		case at != "":
			there = append(there, at)
		case db.always:
			i.empty = append(i.empty, db.places...)
		}
		thorough = thorough || late
	}
	for _, at := range there {
		i.judge(at, i.database(at, thorough))
	}
}

// place returns where a database is; "" if it is nowhere, or has no bytes. late says that it was written after the browser had closed.
func (i *inspection) place(places []string) (at string, late bool) {
	for _, at := range places {
		info, err := i.root.Stat(filepath.FromSlash(at))
		if err == nil && info.Mode().IsRegular() && (info.Size() > 0 || i.hasBeside(at)) {
			return at, !i.how.Since.IsZero() && info.ModTime().After(i.how.Since)
		}
	}
	return "", false
}

// hasBeside reports whether a journal or a log lies beside a database, whose content counts more than the file's own.
func (i *inspection) hasBeside(at string) bool {
	return slices.ContainsFunc([]string{"-journal", "-wal"}, func(ending string) bool {
		info, err := i.root.Stat(filepath.FromSlash(at + ending))
		return err == nil && info.Size() > 0
	})
}

// database looks at a SQLite file. One with a journal or a log beside it is as whole as what SQLite makes of both.
func (i *inspection) database(at string, thorough bool) error {
	if !i.hasBeside(at) {
		problem, err := i.header(at)
		if problem != "" {
			i.add(at, problem)
		}
		if problem != "" || err != nil || !thorough {
			return err
		}
	}
	err := i.readWhole(at)
	if errors.Is(err, store.ErrDamaged) {
		i.add(at, "Its pages are damaged.")
		return nil
	}
	return err
}

// The header of a SQLite file (https://www.sqlite.org/fileformat.html, 1.3).
const (
	headerSize    = 100
	atPageSize    = 16
	atFractions   = 21 // 64, 32, 32
	atChange      = 24
	atPages       = 28
	atValidFor    = 92 // the change for which atPages is right
	smallestPage  = 512
	largestPage   = 65536
	largestPageIs = 1
)

// header returns what SQLite would refuse about a file's header and length; "": nothing.
func (i *inspection) header(at string) (problem string, err error) {
	f, info, err := i.open(at)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	h := make([]byte, headerSize)
	if _, err := io.ReadFull(f, h); ended(err) != nil {
		return "", err
	}
	page := int64(binary.BigEndian.Uint16(h[atPageSize:]))
	if page == largestPageIs {
		page = largestPage
	}
	isHeader := bytes.HasPrefix(h, []byte(sqliteHeader)) && page >= smallestPage && page&(page-1) == 0 &&
		bytes.Equal(h[atFractions:atFractions+3], []byte{64, 32, 32})
	pages := int64(binary.BigEndian.Uint32(h[atPages:]))
	if !bytes.Equal(h[atChange:atChange+4], h[atValidFor:atValidFor+4]) { // an old version of SQLite wrote it last
		pages = 0
	}
	switch {
	case !isHeader:
		return "It is no SQLite database.", nil
	case info.Size() < max(1, pages)*page:
		return "Its end is missing.", nil
	}
	return "", nil
}

// readWhole has SQLite read every page of a copy, so that nothing is changed. The error is store.ErrDamaged.
func (i *inspection) readWhole(at string) error {
	dir, err := os.MkdirTemp("", "warren-inspection-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system removes it
	for _, ending := range []string{"", "-journal", "-wal"} {
		if err := i.copyTo(at+ending, filepath.Join(dir, "db"+ending)); missing(err) != nil {
			return err
		}
	}
	return store.CheckPages(i.ctx, filepath.Join(dir, "db"))
}

// copyTo copies a file. The error is fs.ErrNotExist if there is none.
func (i *inspection) copyTo(at, to string) (err error) {
	in, _, err := i.open(at)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it was only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, i.ctx.Err(), out.Close())
}
