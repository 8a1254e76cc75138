package userdata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Limits of what is unpacked.
const (
	maxProfiles = 100
	maxFiles    = 500_000
	maxState    = 16 << 20 // bytes of Local State
	spare       = 16 << 20
	maxRatio    = 200 // unpacked bytes for each of the file
	lookAgain   = 16 << 20
)

// Unpack takes the profiles out of a zip, tar or tar.gz file of a folder of user data, each into a folder of its own below into. Caches
// and locks are left out. room says whether there is room for further bytes. The error is a *Refusal, or that of the files or of room.
func Unpack(ctx context.Context, r io.ReaderAt, size int64, into string, room func(int64) error) ([]Profile, error) {
	s := source{r, size}
	found, err := s.scan(ctx)
	if err != nil {
		return nil, err
	}
	u := &unpacking{scan: found, room: room, most: size*maxRatio + spare}
	for i, folder := range found.profiles {
		dir := filepath.Join(into, strconv.Itoa(i+1))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close() //nolint:errcheck // each file was closed
		if err := root.Mkdir(own, 0o700); err != nil {
			return nil, err
		}
		name := found.state.Profile.Info[folder].Name
		if strings.TrimSpace(name) == "" {
			name = folder
		}
		u.roots = append(u.roots, root)
		u.out = append(u.out, Profile{Folder: folder, Name: name, Version: found.version, Dir: dir})
	}
	if err := s.each(ctx, u.take); err != nil {
		return nil, err
	}
	for i := range u.out {
		if err := u.complete(ctx, i); err != nil {
			return nil, err
		}
	}
	return u.out, nil
}

// scan is what the names of a file say.
type scan struct {
	root     string   // of the user data; "": the top
	profiles []string // names of folders in root
	version  string
	state    state
}

// candidates are what may be the user data.
type candidates struct {
	prefs            []string            // folders with a file of preferences
	states, versions map[string][]byte   // by folder
	running          map[string]struct{} // folders that a Chrome has open
}

// maxDepth is how deep the user data may lie in the file.
const maxDepth = 6

func (s source) scan(ctx context.Context) (out scan, err error) {
	c := candidates{states: map[string][]byte{}, versions: map[string][]byte{}, running: map[string]struct{}{}}
	if err := s.each(ctx, c.note); err != nil {
		return out, err
	}
	root, ok := c.root()
	if !ok {
		return out, refuse("The file has no folder of Chrome's user data: no folder in it has the files Local State or Preferences.")
	}
	if _, open := c.running[root]; open {
		return out, refuse(running + "close it, and pack the folder again without the files SingletonLock and lockfile.")
	}
	for _, p := range c.prefs {
		if dir, name := path.Split(p); strings.TrimSuffix(dir, "/") == root && !slices.Contains(notProfiles, name) {
			out.profiles = append(out.profiles, name)
		}
	}
	slices.Sort(out.profiles)
	switch {
	case len(out.profiles) == 0:
		return out, refuse("The folder of user data has no profile: no folder in it has a file Preferences.")
	case len(out.profiles) > maxProfiles:
		return out, refuse(fmt.Sprintf("The folder has more than %d profiles. Import it in parts.", maxProfiles))
	}
	out.root, out.version, out.state = root, versionOf(c.versions[root]), stateOf(c.states[root])
	return out, nil
}

// note notes what an entry says of where the user data are.
func (c *candidates) note(e entry) error {
	const most = 10_000
	dir, name := path.Split(e.name)
	dir = strings.TrimSuffix(dir, "/")
	if strings.Count(e.name, "/") > maxDepth || len(c.prefs)+len(c.states)+len(c.versions)+len(c.running) > most {
		return nil
	}
	switch {
	case isRunning(name):
		c.running[dir] = struct{}{}
	case e.kind != 0:
	case name == preferences:
		c.prefs = append(c.prefs, dir)
	case name == localState && len(c.states) < 10:
		text, err := e.read(maxState)
		c.states[dir] = text
		return err
	case name == lastVersion && len(c.versions) < 1000:
		text, err := e.read(64)
		c.versions[dir] = text
		return err
	}
	return nil
}

// read reads a small file; nil for a larger one.
func (e entry) read(most int64) ([]byte, error) {
	r, err := e.open()
	if err != nil {
		return nil, refuse(damaged)
	}
	defer r.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, orDamaged(err)
	}
	if int64(len(text)) > most {
		return nil, nil
	}
	return text, nil
}

// root returns the folder of the user data: the uppermost one with a file Local State, else the one above the uppermost Preferences.
func (c *candidates) root() (string, bool) {
	best, depth := "", -1
	consider := func(dir string) {
		n := strings.Count(dir+"/", "/")
		if dir == "" {
			n = 0
		}
		if depth < 0 || n < depth || n == depth && dir < best {
			best, depth = dir, n
		}
	}
	for dir := range c.states {
		consider(dir)
	}
	for _, p := range c.prefs {
		if len(c.states) == 0 && p != "" {
			consider(strings.TrimSuffix(strings.TrimSuffix(p, path.Base(p)), "/"))
		}
	}
	return best, depth >= 0
}

// unpacking is one Unpack.
type unpacking struct {
	scan
	room  func(int64) error
	roots []*os.Root
	out   []Profile
	bytes int64 // so far
	files int
	most  int64
}

// take writes an entry that belongs to a profile.
func (u *unpacking) take(e entry) error {
	rel, below := e.name, true
	if u.root != "" {
		rel, below = strings.CutPrefix(e.name, u.root+"/")
	}
	folder, rel, inner := strings.Cut(rel, "/")
	i := slices.Index(u.profiles, folder)
	if !below || !inner || i < 0 {
		return nil
	}
	isDir := e.kind == fs.ModeDir
	switch {
	case leavesOut(rel, isDir):
		return nil
	case isDir:
		return u.problem(u.roots[i].MkdirAll(path.Join(own, rel), 0o700))
	case e.kind == fs.ModeSymlink:
		return refuse("The folder has a link, and what it leads to is not read: " + strconv.Quote(e.name) + ". Remove it.")
	case e.kind != 0:
		return refuse("The folder has something that is neither a file nor a folder: " + strconv.Quote(e.name) + ". Remove it.")
	}
	return u.write(i, rel, e)
}

func (u *unpacking) write(i int, rel string, e entry) error {
	if u.files++; u.files > maxFiles {
		return refuse(fmt.Sprintf("The folder has more than %d files that are not caches.", maxFiles))
	}
	r, err := e.open()
	if err != nil {
		return refuse(damaged)
	}
	defer r.Close() //nolint:errcheck // it was only read
	to := path.Join(own, rel)
	if err := u.roots[i].MkdirAll(path.Dir(to), 0o700); err != nil {
		return u.problem(err)
	}
	f, err := u.roots[i].OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return u.problem(err)
	}
	n, err := u.copy(f, r)
	u.out[i].Bytes += n
	u.out[i].Files++
	return errors.Join(err, f.Sync(), f.Close())
}

// problem refuses names that a file system has no place for.
func (u *unpacking) problem(err error) error {
	if errors.Is(err, fs.ErrExist) || err != nil && strings.Contains(err.Error(), "not a directory") {
		return refuse("A file of the folder is in the file twice.")
	}
	return err
}

// copy writes a file in parts, and looks after each whether the limits are kept.
func (u *unpacking) copy(w io.Writer, r io.Reader) (n int64, err error) {
	for {
		if err := u.room(lookAgain); err != nil {
			return n, err
		}
		part, err := io.CopyN(w, r, lookAgain)
		n, u.bytes = n+part, u.bytes+part
		switch {
		case u.bytes > u.most:
			return n, refuse(bomb)
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			return n, nil
		case err != nil:
			if _, ok := errors.AsType[*fs.PathError](err); ok { // the disk's, and not the file's
				return n, err
			}
			return n, orDamaged(err)
		}
	}
}

// complete adds what the browser looks at beside the profile, and counts cookies.
func (u *unpacking) complete(ctx context.Context, i int) error {
	p := &u.out[i]
	if p.Version != "" {
		if err := os.WriteFile(filepath.Join(p.Dir, lastVersion), []byte(p.Version), 0o600); err != nil {
			return err
		}
	}
	windows := u.state.Crypt.Key != ""
	for _, at := range []string{"Network/Cookies", "Cookies"} {
		file := filepath.Join(p.Dir, own, filepath.FromSlash(at))
		if info, err := os.Lstat(file); err != nil || info.Size() == 0 {
			continue
		}
		p.Cookies, p.System = countCookies(ctx, file, windows)
		break
	}
	if p.System == "" && windows {
		p.System = "windows"
	}
	return nil
}
