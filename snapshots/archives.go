package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"warren/archive"
	"warren/packs"
	"warren/problem"
	"warren/store"
)

// Puts profiles into archives, and takes them out of archives.

// importPrefix begins the names of archives that are being received.
const importPrefix = ".import-"

// Seal says how an archive is sealed, or opened: at most one of the members is given.
type Seal struct {
	Passphrase string
	Recipients []string // of age, to seal
	Identity   string   // of age, to open
	Unsealed   bool
}

// Exported is a profile to put into an archive.
type Exported struct {
	Profile  store.Profile
	Settings jsontext.Value  // an object
	Snapshot *store.Snapshot // its data; nil: the settings alone
	Passkeys jsontext.Value  // a list; nil: none
	Without  []string        // paths of files of its data that stay here
}

// CheckRecipients says why an archive cannot be sealed for these recipients of age. It repeats none of them.
func CheckRecipients(recipients []string) error { return archive.CheckRecipients(recipients) }

// Readable checks that the data of a snapshot are there. The error is snapshot_damaged. Their bytes are not read.
func (k *Keeper) Readable(ctx context.Context, s store.Snapshot) error {
	v, _, err := k.vault(ctx, s.WorkspaceID)
	if err != nil {
		return err
	}
	t, err := k.tree(ctx, v, s)
	if err == nil {
		err = v.Check(ctx, t, false)
	}
	return k.problemOf(err)
}

// Export writes an archive. What was written when there is an error is none: it has no end.
func (k *Keeper) Export(ctx context.Context, w io.Writer, version string, s Seal, all []Exported) error {
	o := archive.Options{Passphrase: s.Passphrase, Recipients: s.Recipients, Unsealed: s.Unsealed, Warren: version, Turns: k.deriving}
	return archive.Write(ctx, w, o, k.exported(ctx, all))
}

// exported opens the data of one profile after another.
func (k *Keeper) exported(ctx context.Context, all []Exported) iter.Seq2[archive.Profile, error] {
	return func(yield func(archive.Profile, error) bool) {
		for _, e := range all {
			p := archive.Profile{About: archive.About{ID: e.Profile.ID, Name: e.Profile.Name, Settings: e.Settings, System: runtime.GOOS,
				Passkeys: e.Passkeys}}
			var err error
			if e.Snapshot != nil {
				p.Browser = e.Snapshot.Browser
				if p.Vault, _, err = k.vault(ctx, e.Profile.WorkspaceID); err == nil {
					p.Tree, err = k.tree(ctx, p.Vault, *e.Snapshot)
				}
				if p.Tree != nil {
					p.Tree.Files = slices.DeleteFunc(p.Tree.Files, func(f packs.File) bool { return slices.Contains(e.Without, f.Path) })
				}
			}
			if !yield(p, k.problemOf(err)) || err != nil {
				return
			}
		}
	}
}

// Receive stores what it reads in a file of the data folder. close removes the file. A server that is killed leaves none on Unix, and
// one for the next start elsewhere. Room for its data must remain, and a reserve for others. The error is disk_full, data_unwritable,
// or that of body.
func (k *Keeper) Receive(body io.Reader) (file *os.File, size int64, err error) {
	file, err = os.CreateTemp(k.data, importPrefix)
	if err != nil {
		return nil, 0, k.problemOf(err)
	}
	_ = os.Remove(file.Name()) //nolint:errcheck // Windows removes no open file; Discard does then
	size, err = io.CopyBuffer(struct{ io.Writer }{file}, &roomy{Reader: body, k: k}, make([]byte, 1<<20))
	if err == nil {
		err = k.hasRoom(size) // its data take as much again
	}
	if err != nil {
		k.Discard(file)
		return nil, 0, k.problemOf(err)
	}
	return file, size, nil
}

// Discard removes what Receive has stored.
func (k *Keeper) Discard(file *os.File) {
	_ = file.Close()           //nolint:errcheck // nobody reads it any more
	_ = os.Remove(file.Name()) //nolint:errcheck // it is gone already, but on Windows; there the next start removes what stays
}

// Staging returns a new folder of the data folder for what is being imported. What a killed server leaves of it the next start removes.
func (k *Keeper) Staging() (dir string, err error) {
	dir, err = os.MkdirTemp(k.data, importPrefix)
	return dir, k.problemOf(err)
}

// Archive is an archive that was received whole and verified.
type Archive struct {
	*archive.Archive
	release func()
}

// Close ends the use of an archive.
func (a *Archive) Close() { a.release() }

// What archives have.
type (
	Archived = archive.Content

	// About is what an archive says of a profile beside its data.
	About = archive.About
)

// OpenArchive verifies an archive to its last byte: nothing in it can lie outside of a profile's data. It waits for its turn, since that
// takes a processor. The archive must be closed. The error is archive_refused, and says what to do.
func (k *Keeper) OpenArchive(ctx context.Context, r io.ReaderAt, size int64, s Seal) (*Archive, error) {
	select {
	case k.importing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := &Archive{release: func() { <-k.importing }}
	a, err := archive.Open(ctx, r, size, archive.Keys{Passphrase: s.Passphrase, Identity: s.Identity, Turns: k.deriving})
	for place := 0; err == nil && place < len(a.Profiles()); place++ {
		err = onlyOfBrowser(ctx, a, place)
	}
	if err != nil {
		out.Close()
		return nil, importProblem(err)
	}
	out.Archive = a
	return out, nil
}

// onlyOfBrowser refuses data with other files than a browser's. Beside those are the files of the run's own process.
func onlyOfBrowser(ctx context.Context, a *archive.Archive, place int) error {
	if a.Profiles()[place].Data == nil {
		return nil
	}
	t, err := a.Tree(ctx, place)
	if err != nil {
		return err
	}
	for _, d := range t.Folders { // whatever lies in a folder has the folder in the tree
		if !strings.Contains(d.Path, "/") && leaveOut(d.Path, true) {
			return fmt.Errorf("%w: %q is no folder of a browser", archive.ErrDamaged, d.Path)
		}
	}
	for i := range t.Files {
		if !strings.Contains(t.Files[i].Path, "/") {
			return fmt.Errorf("%w: %q is no file of a browser", archive.ErrDamaged, t.Files[i].Path)
		}
	}
	for _, l := range t.Links {
		if !strings.Contains(l.Path, "/") {
			return fmt.Errorf("%w: %q is no link of a browser", archive.ErrDamaged, l.Path)
		}
	}
	return nil
}

// Where the faults of an archive are.
const (
	ofFile       = "body"
	ofPassphrase = "header.X-Warren-Passphrase"
	ofIdentity   = "header.X-Warren-Identity"
)

// importProblem gives errors of an archive their kind, and says what to do.
func importProblem(err error) error {
	for _, known := range []struct {
		err               error
		location, message string
	}{
		{archive.ErrNoArchive, ofFile, NoArchive},
		{archive.ErrTruncated, ofFile, "The archive is cut short, or its end is damaged. Copy it again, or export it again."},
		{archive.ErrNewer, ofFile, "A newer Warren made the archive. Import it with that version or a later one."},
		{archive.ErrPassphrase, ofPassphrase, "The passphrase is wrong, or the beginning of the archive is damaged."},
		{archive.ErrIdentity, ofIdentity, "This identity does not open the archive. Give one that begins with AGE-SECRET-KEY-1, of one " +
			"of its recipients."},
		{archive.ErrSealed, ofPassphrase, "The archive is sealed. Give its passphrase in X-Warren-Passphrase, or an age identity in " +
			"X-Warren-Identity, whichever it was sealed with."},
		{archive.ErrUnsealed, ofPassphrase, "The archive is not sealed, so anybody may have changed it. If you trust it, give no " +
			"passphrase and no identity."},
		{archive.ErrDamaged, ofFile, "The archive is damaged. Copy it again, or export it again."},
	} {
		if errors.Is(err, known.err) {
			return Refused(problem.Fault{Location: known.location, Message: known.message}).Because(err)
		}
	}
	return err
}

// NoArchive says which files can be imported.
const NoArchive = "This file cannot be imported. Choose an archive of Warren, an export of another product, a CSV file whose first line " +
	"names its columns, or a zip or tar file of a folder of Chrome's user data."

// Refused is the error for an archive that is not taken.
func Refused(faults ...problem.Fault) *problem.Error {
	e := problem.New(problem.Invalid, "archive_refused", "The file was not imported, and nothing was changed. `errors` says what to do.")
	e.Faults = faults
	return e
}

// Imported says as which profile one of an archive is taken over.
type Imported struct {
	Place     int // in the archive's Profiles
	ID        string
	Workspace string
	Files     map[string][]byte // by path, what files its data have here, whatever they are in the archive; nil: not these
}

// Import takes profiles over: their data into this server's packs, their rows by insertProfiles, which runs in the transaction that
// makes them whole. All of them are there afterwards, or none.
func (k *Keeper) Import(ctx context.Context, a *Archive, all []Imported, insertProfiles func(*store.Queries) error) error {
	m := &importing{Keeper: k, archive: a, beside: map[string]*packs.Copied{}}
	err := m.copy(ctx, all)
	if err == nil {
		err = k.store.Write(ctx, func(q *store.Queries) error { return m.commit(ctx, q, insertProfiles) })
	}
	if err != nil {
		m.undo(context.WithoutCancel(ctx))
	}
	return k.problemOf(err)
}

// importing is one Import.
type importing struct {
	*Keeper
	archive *Archive
	beside  map[string]*packs.Copied // what was written, by workspace
	made    []store.Snapshot
	trees   []*packs.Tree // of made, without their files
	wrote   []string      // names of packs
}

// copy copies the data of the profiles. No row names them yet.
func (m *importing) copy(ctx context.Context, all []Imported) error {
	for _, i := range all {
		if m.archive.Profiles()[i.Place].Data == nil {
			continue
		}
		if err := m.one(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (m *importing) one(ctx context.Context, i Imported) error {
	about := m.archive.Profiles()[i.Place]
	s := store.Snapshot{ID: store.NewID(), ProfileID: i.ID, WorkspaceID: i.Workspace, Reason: FromArchive, Browser: about.Browser,
		CreatedAt: now()}
	v, b, err := m.vault(ctx, i.Workspace)
	if err != nil {
		return err
	}
	if m.beside[i.Workspace] == nil {
		m.beside[i.Workspace] = new(packs.Copied)
	}
	saved, err := m.archive.CopyTo(ctx, i.Place, v, packs.CopyOptions{Subject: subject(i.Workspace, i.ID, s.ID),
		Beside: m.beside[i.Workspace], Files: i.Files, About: map[string]string{"browser": about.Browser, "system": about.System}})
	m.wrote = append(m.wrote, b.wrote...)
	if err != nil {
		return err
	}
	s.Bytes, s.NewBytes = saved.Tree.Bytes(), saved.NewBytes
	m.made, m.trees = append(m.made, s), append(m.trees, &packs.Tree{Packs: saved.Tree.Packs})
	return nil
}

// commit writes the rows.
func (m *importing) commit(ctx context.Context, q *store.Queries, insertProfiles func(*store.Queries) error) error {
	if err := insertProfiles(q); err != nil {
		return err
	}
	for i, s := range m.made {
		if err := m.insert(ctx, q, s, m.trees[i]); err != nil {
			return err
		}
		if _, err := q.SetHead(ctx, store.SetHeadParams{ID: s.ProfileID, HeadID: &s.ID}); err != nil {
			return err
		}
	}
	return nil
}

// undo deletes what was written. What cannot be deleted stays for the collection.
func (m *importing) undo(ctx context.Context) {
	for _, s := range m.made {
		if v, _, err := m.vault(ctx, s.WorkspaceID); err == nil {
			m.forgetTrees(ctx, v, []store.Snapshot{s})
		}
	}
	m.dropPending(ctx, m.wrote)
}
