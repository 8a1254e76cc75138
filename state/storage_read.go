package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a storageState. Parts are entries of localStorage, databases, stores, records and indexes.
const (
	MaxOrigins = 1000
	MaxParts   = 1_000_000
)

// ReadStorageState reads Playwright's storageState. Cookies are taken or refused as ReadCookies does it.
//
// A fault in an entry of localStorage refuses this entry, a fault in a database the whole database, and one in an origin's address the
// whole origin. Each refusal has its place. Errors are a *FileError, or one of r.
func ReadStorageState(r io.Reader, now time.Time) (*StorageFile, error) {
	src := newSource(r)
	first, err := src.firstByte()
	if err != nil {
		return nil, src.explain(err)
	}
	if first != '{' {
		return nil, broken("This is no storageState: it must be a JSON object with cookies and origins.")
	}
	s := &storageReader{collector: newCollector(now), d: newDecoder(src)}
	s.out.Format = Playwright
	if err := s.read(); err != nil {
		return nil, src.explain(err)
	}
	s.file.Cookies = *s.finish()
	return &s.file, nil
}

// storageReader reads a storageState.
type storageReader struct {
	*collector
	d    *jsontext.Decoder
	file StorageFile

	parts int // so far
}

func (s *storageReader) read() error {
	seen := map[string]bool{}
	index := -1 // of the origin or credential
	err := eachMember(s.d, func(name string) error {
		if seen[name] {
			return &FileError{Index: -1, Byte: s.d.InputOffset(), Message: "A member of the file is there twice."}
		}
		if len(seen) < 100 { // the known ones are among them, or the file is none of ours
			seen[name] = true
		}
		switch name {
		case "cookies":
			return s.readArray(s.d)
		case "origins":
			return s.each(&index, s.readOrigin)
		case "credentials":
			return s.each(&index, s.readCredential)
		case "failed": // what we write ourselves
		default:
			s.unknown(name)
		}
		return s.d.SkipValue()
	})
	if err != nil {
		return jsonError(s.d, index, err)
	}
	if !seen["cookies"] && !seen["origins"] && !seen["credentials"] {
		return broken("The JSON object has none of the members cookies, origins and credentials: this is no storageState.")
	}
	s.file.HasCredentials = seen["credentials"]
	return ended(s.d)
}

// each reads an array of objects of the file.
func (s *storageReader) each(index *int, do func(index int) error) error {
	if s.d.PeekKind() != '[' {
		return &FileError{Index: -1, Byte: s.d.InputOffset() + 1, Message: "This member must be an array."}
	}
	*index = -1
	return eachElement(s.d, func() error {
		*index++
		return do(*index)
	})
}

// no refuses a part of the file.
func (s *storageReader) no(index int, place, name, origin, reason string) {
	if len(s.out.Refused) == MaxRefused {
		s.out.More++
		return
	}
	s.out.Refused = append(s.out.Refused,
		Refusal{Index: index, Place: place, Name: excerpt(name), Domain: excerpt(origin), Reason: reason})
}

// object reads the members of an object into the values of known, and reports whether it is one with each member once at most. Values
// that are null are as if they were not there.
func (s *storageReader) object(known map[string]func() error, wrong *faults) error {
	if s.d.PeekKind() != '{' {
		wrong.require(false, "It is not an object.")
		return s.d.SkipValue()
	}
	seen := map[string]bool{}
	return eachMember(s.d, func(name string) error {
		read, ok := known[name]
		if !ok {
			if s.d.PeekKind() != 'n' {
				s.unknown(name)
			}
			return s.d.SkipValue()
		}
		wrong.require(!seen[name], "The member "+name+" is there twice.")
		seen[name] = true
		if s.d.PeekKind() == 'n' {
			return s.d.SkipValue()
		}
		return read()
	})
}

// texts returns a reader of a member that is text.
func (s *storageReader) texts(name string, into *string, there *bool, half bool, wrong *faults) func() error {
	return func() error {
		v, err := s.d.ReadValue()
		if err != nil {
			return err
		}
		if v.Kind() != '"' {
			wrong.require(false, "The member "+name+" must be text.")
			return nil
		}
		*into, *there = unquote(v), true
		if !half {
			_, err := jsontext.AppendUnquote(nil, v)
			wrong.require(err == nil, "The member "+name+" has half a character (a surrogate without its other half).")
		}
		return nil
	}
}

func (s *storageReader) bools(name string, into *bool, wrong *faults) func() error {
	return func() error {
		v, err := s.d.ReadValue()
		wrong.require(err != nil || v.Kind() == 't' || v.Kind() == 'f', "The member "+name+" must be true or false.")
		*into = v.Kind() == 't'
		return err
	}
}

func (s *storageReader) ints(name string, least int64, into *int64, wrong *faults) func() error {
	return func() error {
		v, err := s.d.ReadValue()
		if err != nil {
			return err
		}
		const most = 1<<53 - 1 // what a JavaScript number has exactly
		n, bad := strconv.ParseInt(string(v), 10, 64)
		wrong.require(bad == nil && n >= least && n <= most, fmt.Sprintf("The member %s must be a whole number from %d.", name, least))
		*into = n
		return nil
	}
}

// arrays returns a reader of a member that is an array.
func (s *storageReader) arrays(name string, do func(index int) error, wrong *faults) func() error {
	return func() error {
		if s.d.PeekKind() != '[' {
			wrong.require(false, "The member "+name+" must be an array.")
			return s.d.SkipValue()
		}
		index := -1
		return eachElement(s.d, func() error {
			index++
			if s.parts++; s.parts > MaxParts {
				return s.tooMany(-1, "entries of storage", MaxParts)
			}
			return do(index)
		})
	}
}

// maxPaths is how many key paths an index may have.
const maxPaths = 1000

// textArrays returns a reader of a member that is an array of texts.
func (s *storageReader) textArrays(name string, into *[]string, wrong *faults) func() error {
	*into = nil
	return s.arrays(name, func(int) error {
		var text string
		var there bool
		err := s.texts(name, &text, &there, false, wrong)()
		if wrong.require(len(*into) < maxPaths, "The member "+name+" is too long."); len(*wrong) == 0 {
			*into = append(*into, text)
		}
		return err
	}, wrong)
}

// tooMany is the error of a file with more entries than it may have.
func (s *storageReader) tooMany(index int, what string, most int) error {
	return &FileError{Index: index, Byte: s.d.InputOffset(), Large: true, Message: fmt.Sprintf("The file has more than %d %s.", most, what)}
}

// part is a refusal of a part of an origin, whose address may come after it.
type part struct{ place, name, reason string }

func (s *storageReader) readOrigin(index int) error {
	if index == MaxOrigins {
		return s.tooMany(index, "origins", MaxOrigins)
	}
	place := fmt.Sprintf("origins[%d]", index)
	o := Origin{LocalStorage: []Item{}}
	var wrong faults
	var parts []part
	refuse := func(p part) {
		if len(parts) == MaxRefused {
			s.out.More++
			return
		}
		parts = append(parts, p)
	}
	var there bool
	names, databases := map[string]int{}, map[string]bool{}
	err := s.object(map[string]func() error{
		"origin": s.texts("origin", &o.Origin, &there, false, &wrong),
		"localStorage": s.arrays("localStorage", func(i int) error {
			item, bad, err := s.readItem()
			switch at, double := names[item.Name]; {
			case len(bad) > 0:
				refuse(part{fmt.Sprintf("%s.localStorage[%d]", place, i), item.Name, bad.text()})
			case double:
				s.notices["duplicate_items"]++
				o.LocalStorage[at] = item
			default:
				names[item.Name] = len(o.LocalStorage)
				o.LocalStorage = append(o.LocalStorage, item)
			}
			return err
		}, &wrong),
		"indexedDB": s.arrays("indexedDB", func(i int) error {
			db, bad, err := s.readDatabase()
			bad.require(len(bad) > 0 || !databases[db.Name], "The origin has two databases of this name.")
			if databases[db.Name] = true; len(bad) > 0 {
				refuse(part{fmt.Sprintf("%s.indexedDB[%d]", place, i), db.Name, bad.text()})
			} else {
				o.IndexedDB = append(o.IndexedDB, db)
			}
			return err
		}, &wrong),
		"opfs": s.arrays("opfs", func(int) error {
			s.lost["opfs"]++
			return s.d.SkipValue()
		}, &wrong),
	}, &wrong)
	if err != nil {
		return err
	}
	s.takeOrigin(index, place, o, there, wrong, parts)
	return nil
}

func (s *storageReader) takeOrigin(index int, place string, o Origin, there bool, wrong faults, parts []part) {
	wrong.require(len(wrong) > 0 || there, "The origin is missing.")
	wrong.require(!there || isOrigin(o.Origin), originRule)
	wrong.require(!slices.ContainsFunc(s.file.Origins, func(p Origin) bool { return p.Origin == o.Origin }), "The origin is there twice.")
	if len(wrong) > 0 {
		s.no(index, place, "", o.Origin, wrong.text())
		return
	}
	for _, p := range parts {
		s.no(index, p.place, p.name, o.Origin, p.reason)
	}
	s.file.Origins = append(s.file.Origins, o)
}

func (s *storageReader) readItem() (item Item, wrong faults, err error) {
	var name, value bool
	err = s.object(map[string]func() error{
		"name":  s.texts("name", &item.Name, &name, true, &wrong),
		"value": s.texts("value", &item.Value, &value, true, &wrong),
	}, &wrong)
	wrong.require(len(wrong) > 0 || name && value, "It needs a name and a value.")
	return item, wrong, err
}

func (s *storageReader) readDatabase() (db Database, wrong faults, err error) {
	db.Stores = []Store{}
	var name bool
	stores := map[string]bool{}
	err = s.object(map[string]func() error{
		"name":    s.texts("name", &db.Name, &name, false, &wrong),
		"version": s.ints("version", 1, &db.Version, &wrong),
		"stores": s.arrays("stores", func(i int) error {
			store, bad, err := s.readStore()
			bad.require(len(bad) > 0 || !stores[store.Name], "The database has two stores of this name.")
			stores[store.Name] = true
			if wrong.within("stores", i, bad); len(wrong) == 0 {
				db.Stores = append(db.Stores, store)
			}
			return err
		}, &wrong),
	}, &wrong)
	wrong.require(len(wrong) > 0 || name && db.Version > 0, "It needs a name and a version.")
	return db, wrong, err
}

// within adds faults of a part, with its place.
func (f *faults) within(place string, index int, part faults) {
	for _, s := range part {
		if len(*f) == maxFaults {
			return
		}
		*f = append(*f, fmt.Sprintf("%s[%d]: %s", place, index, s))
	}
}

func (s *storageReader) readStore() (store Store, wrong faults, err error) {
	store.Records, store.Indexes = []json.RawMessage{}, []Index{}
	var name, path bool
	var keyPath string
	indexes := map[string]bool{}
	keys := keyed{with: -1, without: -1}
	err = s.object(map[string]func() error{
		"name":          s.texts("name", &store.Name, &name, false, &wrong),
		"autoIncrement": s.bools("autoIncrement", &store.AutoIncrement, &wrong),
		"keyPath":       s.texts("keyPath", &keyPath, &path, false, &wrong),
		"keyPathArray":  s.textArrays("keyPathArray", &store.KeyPathArray, &wrong),
		"records": s.arrays("records", func(i int) error {
			v, err := s.d.ReadValue()
			if err != nil {
				return err
			}
			if wrong.within("records", i, keys.check(i, v)); len(wrong) > 0 {
				return nil
			}
			v = bytes.Clone(v)
			err = v.Compact()
			store.Records = append(store.Records, json.RawMessage(v))
			return err
		}, &wrong),
		"indexes": s.arrays("indexes", func(i int) error {
			index, bad, err := s.readIndex()
			bad.require(len(bad) > 0 || !indexes[index.Name], "The store has two indexes of this name.")
			indexes[index.Name] = true
			if wrong.within("indexes", i, bad); len(wrong) == 0 {
				store.Indexes = append(store.Indexes, index)
			}
			return err
		}, &wrong),
	}, &wrong)
	if path {
		store.KeyPath = &keyPath
	}
	wrong.require(len(wrong) > 0 || name, "It needs a name.")
	store.checkKeys(keys, &wrong)
	return store, wrong, err
}

// checkKeys checks the store's key path, and that each record has a key where it needs one.
func (s *Store) checkKeys(keys keyed, wrong *faults) {
	several := len(s.KeyPathArray) > 0
	wrong.require(s.KeyPath == nil || !several, "It has both keyPath and keyPathArray.")
	wrong.require(!s.AutoIncrement || !several && (s.KeyPath == nil || *s.KeyPath != ""),
		"A store with autoIncrement needs one key path that is not empty, or none.")
	if inline := s.KeyPath != nil || several; inline && keys.with >= 0 {
		wrong.within("records", keys.with, faults{"Its store has a key path, so that it has no key of its own."})
	} else if !inline && !s.AutoIncrement && keys.without >= 0 {
		wrong.within("records", keys.without, faults{"It needs either key or keyEncoded."})
	}
}

func (s *storageReader) readIndex() (index Index, wrong faults, err error) {
	var name, path bool
	var keyPath string
	err = s.object(map[string]func() error{
		"name":         s.texts("name", &index.Name, &name, false, &wrong),
		"keyPath":      s.texts("keyPath", &keyPath, &path, false, &wrong),
		"keyPathArray": s.textArrays("keyPathArray", &index.KeyPathArray, &wrong),
		"multiEntry":   s.bools("multiEntry", &index.MultiEntry, &wrong),
		"unique":       s.bools("unique", &index.Unique, &wrong),
	}, &wrong)
	if path {
		index.KeyPath = &keyPath
	}
	wrong.require(len(wrong) > 0 || name && path != (len(index.KeyPathArray) > 0), "It needs a name, and either keyPath or keyPathArray.")
	wrong.require(!index.MultiEntry || len(index.KeyPathArray) == 0, "An index of several key paths cannot have multiEntry.")
	return index, wrong, err
}

// keyed has the index of a record with a key of its own, and of one without, or -1. Which one is right is known with the store's key
// path.
type keyed struct{ with, without int }

// check checks a record as far as it can without its store.
func (k *keyed) check(index int, raw jsontext.Value) (bad faults) {
	if raw.Kind() != '{' {
		return faults{"It is not an object."}
	}
	var keys, values int
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	err := eachMember(d, func(name string) error {
		switch name {
		case "key", "keyEncoded":
			keys++
		case "value", "valueEncoded":
			values++
		default:
			bad.require(false, "It has a member besides key, keyEncoded, value and valueEncoded.")
		}
		return d.SkipValue()
	})
	bad.require(err == nil, "It cannot be read.")
	bad.require(values == 1, "It needs either value or valueEncoded.")
	bad.require(keys <= 1, "It needs either key or keyEncoded.")
	if keys > 0 {
		k.with = index
	} else {
		k.without = index
	}
	return bad
}
