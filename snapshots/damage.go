package snapshots

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"warren/disk"
	"warren/packs"
	"warren/store"
)

// Finds what of a profile's data Chrome could not open. Chrome tells nobody: it begins such a file anew, and the logins, the
// passwords or the settings in it are gone. What Chrome repairs by itself is none: a database with a journal or a log beside it, the
// torn end of LevelDB's log. docs/snapshots.md has what each fault does, as it was tried.

// Damage is a part of a profile's data that Chrome cannot open, and would begin anew.
type Damage struct {
	File    string `json:"file" doc:"A file or a folder of Chrome's user data." example:"Default/Cookies"`
	Problem string `json:"problem" doc:"What is wrong, for people." example:"It is no SQLite database."`
}

// preferenceFiles are objects of JSON. Chrome sets one that is not aside, and begins with its defaults.
func preferenceFiles() []string {
	return []string{"Local State", "Default/Preferences", "Default/Secure Preferences"}
}

// sqliteFile is a SQLite file that a person misses. What is not listed is a cache, or Chrome learns it again.
type sqliteFile struct {
	places []string // where it may be: some versions keep it in Network
	always bool     // whether every profile that has run has it
}

func databases() []sqliteFile {
	return []sqliteFile{{[]string{"Default/Cookies", "Default/Network/Cookies"}, true}, {[]string{"Default/Login Data"}, true},
		{[]string{"Default/Web Data"}, true}, {[]string{"Default/History"}, true}, {[]string{"Default/Extension Cookies"}, false}}
}

// workers is where Chrome keeps what service workers there are.
const workers = "Default/Service Worker/Database"

// stores are the LevelDB folders that sites and extensions keep their data in, as patterns of path.Match.
func stores() []string {
	return []string{"Default/Local Storage/leveldb", "Default/Session Storage", workers,
		"Default/IndexedDB/*.leveldb", "Default/Extension State", "Default/Local Extension Settings/*",
		"Default/Sync Extension Settings/*"}
}

// Cookies reports whether a damaged file is the one that holds the cookies.
func (d Damage) Cookies() bool { return path.Base(d.File) == "Cookies" }

// Inspection is how closely a profile's data are looked at.
type Inspection struct {
	Thorough bool      // read every page of the databases
	Since    time.Time // read them too if one was written later than that; zero: never
	Cookies  bool      // there were cookies, whether a snapshot has them or not
	Own      OwnFile   // nil: there is none to look at
}

// OwnFile is a file that Warren keeps in Chrome's user data.
type OwnFile interface {
	Name() string
	Most() int64 // bytes that it may have
	Open(content []byte) error
}

// Damages returns what of a profile's data Chrome could not open. The profile must not run. A folder without data has no damage.
func (k *Keeper) Damages(ctx context.Context, p store.Profile, how Inspection) ([]Damage, error) {
	i, err := inspect(ctx, k.browserData(p.ID), how)
	if err != nil || i == nil {
		return nil, k.problemOf(err)
	}
	if len(i.empty) > 0 {
		i.compareWith(k.headFiles(ctx, p))
	}
	if lost := (Damage{databases()[0].places[0], "It is gone, or empty."}); how.Cookies && slices.Contains(i.empty, lost.File) &&
		!slices.ContainsFunc(i.found, Damage.Cookies) {
		i.found = append(i.found, lost)
	}
	return i.found, nil
}

// headFiles returns the sizes of the files of the snapshot that a profile's data go on from, by path; none without one.
func (k *Keeper) headFiles(ctx context.Context, p store.Profile) map[string]int64 {
	v, _, err := k.vault(ctx, p.WorkspaceID)
	if err != nil {
		return nil
	}
	_, tree := k.head(ctx, v, p)
	return sizesOf(tree)
}

func sizesOf(t *packs.Tree) map[string]int64 {
	if t == nil {
		return nil
	}
	sizes := make(map[string]int64, len(t.Files))
	for _, f := range t.Files {
		sizes[f.Path] = f.Size
	}
	return sizes
}

// inspection is one look at a folder of user data. Paths are of that folder, with slashes.
type inspection struct {
	folder
	ctx    context.Context
	how    Inspection
	found  []Damage
	failed error    // why it could not be done
	empty  []string // files that are not there, or hold nothing: a browser that was killed early may leave such
}

// inspect looks at a folder of user data. It returns nil if there is none, or if it cannot be opened, of which the browser's start says
// why.
func inspect(ctx context.Context, dir string, how Inspection) (*inspection, error) {
	root, err := os.OpenRoot(dir)
	if disk.IsBroken(err) {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	defer root.Close() //nolint:errcheck // it was only read
	i := &inspection{folder: folder{root}, ctx: ctx, how: how}
	for _, at := range preferenceFiles() {
		i.judge(at, i.preferences(at))
	}
	if how.Own != nil {
		i.judge(how.Own.Name(), i.own(how.Own))
	}
	i.databases()
	for _, pattern := range stores() {
		i.stores(pattern)
	}
	return i, i.failed
}

// judge notes what an error says about a file. One that the disk cannot read is damaged. What cannot be opened for another reason is
// left to the browser, whose start says so.
func (i *inspection) judge(at string, err error) {
	switch {
	case err == nil:
	case disk.IsBroken(err):
		i.add(at, "The disk cannot read it.")
	case i.ctx.Err() != nil, disk.IsFull(err):
		i.failed = cmp.Or(i.ctx.Err(), err)
	}
}

// add notes a damage.
func (i *inspection) add(at, problem string) { i.found = append(i.found, Damage{at, problem}) }

// compareWith notes which of the empty files had something in the snapshot that the data go on from. Without one a browser that was
// killed at its first start may have left them so.
func (i *inspection) compareWith(before map[string]int64) {
	for _, at := range i.empty {
		if before[path.Join(ofChrome, at)] > 0 {
			i.add(at, "It is gone, or holds nothing any more. It was there when the last snapshot was made.")
		}
	}
}

// folder is a folder of a profile. A run may have put a link into the place of a file: none is followed out of it.
type folder struct{ root *os.Root }

// open opens a regular file. What else a run may have put into its place is taken for missing, and never waited for.
func (d folder) open(at string) (*os.File, fs.FileInfo, error) {
	f, err := d.root.OpenFile(filepath.FromSlash(at), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil, errors.Join(cmp.Or(err, fs.ErrNotExist), f.Close())
	}
	return f, info, nil
}

// read returns the bytes of a file, at most limit of them.
func (d folder) read(at string, limit int64) ([]byte, error) {
	f, info, err := d.open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	text := make([]byte, min(info.Size(), limit))
	n, err := io.ReadFull(f, text)
	return text[:n], ended(err)
}

// list returns the names in the folder.
func (d folder) list() ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return f.Readdirnames(-1)
}

// maxPreferences is more than Chrome writes into a file of preferences.
const maxPreferences = 256 << 20

// preferences looks at a file of preferences.
func (i *inspection) preferences(at string) error {
	text, err := i.read(at, maxPreferences)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		i.empty = append(i.empty, at)
	case err != nil:
		return err
	case len(text) == 0:
		i.add(at, "It is empty.")
	case !isJSONObject(text):
		i.add(at, "It is no JSON.")
	}
	return nil
}

// own looks at Warren's own file. What is no regular file is damaged too: nothing would be written in its place.
func (i *inspection) own(file OwnFile) error {
	info, err := i.root.Lstat(file.Name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil, !info.Mode().IsRegular(), info.Size() > file.Most():
		i.add(file.Name(), "It is no file of Warren's.")
		return nil
	}
	text, err := i.read(file.Name(), file.Most())
	if err == nil && file.Open(text) != nil {
		i.add(file.Name(), "It cannot be opened: it is damaged, or another server's secret key sealed it.")
	}
	return err
}

// isJSONObject reports whether a text is an object of JSON as Chrome reads it. Chrome takes text after its end for an error too.
func isJSONObject(text []byte) bool {
	v := jsontext.Value(text)
	return v.Kind() == '{' && v.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// stores looks at each LevelDB folder of a pattern.
func (i *inspection) stores(pattern string) {
	above, name := path.Split(pattern)
	above = path.Clean(above)
	root, err := i.root.OpenRoot(filepath.FromSlash(above))
	if err != nil {
		i.judge(above, err)
		return
	}
	defer root.Close() //nolint:errcheck // it was only read
	names := []string{name}
	if strings.ContainsRune(name, '*') {
		names, err = folder{root}.list()
		i.judge(above, err)
	}
	for _, each := range names {
		if at := path.Join(above, each); matches(name, each) {
			i.judge(at, i.store(root, each, at))
		}
	}
}
