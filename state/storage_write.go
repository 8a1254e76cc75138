package state

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// WriteStorageState writes Playwright's storageState, one origin after another. Failed origins stand in a member of their own, which
// Playwright does not look at. Cookies are written as WriteCookies does it.
func WriteStorageState(w io.Writer, s *StorageFile, now time.Time) error {
	b := &stateWriter{w: bufio.NewWriter(w)}
	b.text(`{"cookies":[`)
	for _, c := range s.Cookies.Cookies {
		if leftOut(Playwright, c) == "" {
			b.next()
			b.value(shaped(Playwright, c, now))
		}
	}
	b.text(`],"origins":[`)
	for _, o := range s.Origins {
		b.next()
		b.origin(o)
	}
	b.text("]")
	if len(s.Credentials) > 0 {
		b.text(`,"credentials":`)
		b.value(s.Credentials)
	}
	if len(s.Failed) > 0 {
		b.text(`,"failed":`)
		b.value(s.Failed)
	}
	b.text("}\n")
	if b.err == nil {
		b.err = b.w.Flush()
	}
	return b.err
}

// stateWriter writes JSON and remembers the first error.
type stateWriter struct {
	w     *bufio.Writer
	begun bool // the array has an element
	buf   []byte
	err   error
}

func (b *stateWriter) text(s string) {
	b.begun = false
	b.raw([]byte(s))
}

func (b *stateWriter) raw(s []byte) {
	if b.err == nil {
		_, b.err = b.w.Write(s)
	}
}

// next begins an element of an array.
func (b *stateWriter) next() {
	if b.begun {
		b.raw([]byte(","))
	}
	b.begun = true
}

// value writes a value. It leaves begun as it is.
func (b *stateWriter) value(v any) {
	text, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if b.err == nil {
		b.err = err
	}
	b.raw(text)
}

// quoted writes text that may have half a surrogate pair.
func (b *stateWriter) quoted(s string) {
	var err error
	b.buf, err = appendText(b.buf[:0], s)
	if b.err == nil {
		b.err = err
	}
	b.raw(b.buf)
}

func (b *stateWriter) origin(o Origin) {
	b.raw([]byte(`{"origin":`))
	b.quoted(o.Origin)
	b.text(`,"localStorage":[`)
	for _, i := range o.LocalStorage {
		b.next()
		b.raw([]byte(`{"name":`))
		b.quoted(i.Name)
		b.raw([]byte(`,"value":`))
		b.quoted(i.Value)
		b.raw([]byte("}"))
	}
	b.text("]")
	if len(o.IndexedDB) > 0 {
		b.text(`,"indexedDB":[`)
		for _, db := range o.IndexedDB {
			b.next()
			b.database(db)
		}
		b.text("]")
	}
	b.raw([]byte("}"))
	b.begun = true
}

func (b *stateWriter) database(db Database) {
	b.raw([]byte(`{"name":`))
	b.quoted(db.Name)
	b.text(fmt.Sprintf(`,"version":%d,"stores":[`, db.Version))
	for _, s := range db.Stores {
		b.next()
		b.raw([]byte(`{"name":`))
		b.quoted(s.Name)
		b.raw(fmt.Appendf(nil, `,"autoIncrement":%t`, s.AutoIncrement))
		b.path(s.KeyPath, s.KeyPathArray)
		b.text(`,"records":[`)
		for _, r := range s.Records {
			b.next()
			if !jsontext.Value(r).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) && b.err == nil {
				b.err = fmt.Errorf("a record of a store is no JSON")
			}
			b.raw(r)
		}
		b.text(`],"indexes":[`)
		for _, i := range s.Indexes {
			b.next()
			b.raw([]byte(`{"name":`))
			b.quoted(i.Name)
			b.path(i.KeyPath, i.KeyPathArray)
			b.raw(fmt.Appendf(nil, `,"multiEntry":%t,"unique":%t}`, i.MultiEntry, i.Unique))
		}
		b.text("]}")
		b.begun = true
	}
	b.text("]}")
	b.begun = true
}

// path writes the key path of a store or an index.
func (b *stateWriter) path(one *string, several []string) {
	if one != nil {
		b.raw([]byte(`,"keyPath":`))
		b.quoted(*one)
	}
	if several != nil {
		b.raw([]byte(`,"keyPathArray":`))
		b.value(several)
	}
}
