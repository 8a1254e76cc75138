package snapshots

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"

	"warren/archive"
	"warren/packs"
	"warren/problem"
	"warren/store"
)

// export returns an archive of profiles, unsealed. Those without a snapshot are in it with their settings alone.
func (r *rig) export(ids ...string) []byte {
	r.t.Helper()
	var all []Exported
	for _, id := range ids {
		e := Exported{Profile: r.row(id), Settings: jsontext.Value(`{"name":"p"}`)}
		if s, _, err := r.Save(r.t.Context(), id, Request{Reason: Asked}); err == nil {
			e.Snapshot = &s
		}
		all = append(all, e)
	}
	var b bytes.Buffer
	if err := r.Export(r.t.Context(), &b, "v1", Seal{Unsealed: true}, all); err != nil {
		r.t.Fatal(err)
	}
	return b.Bytes()
}

// take imports all profiles of an archive under new ids, and returns these.
func (r *rig) take(b []byte) (ids []string, err error) {
	r.t.Helper()
	file, size, err := r.Receive(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer r.Discard(file)
	a, err := r.OpenArchive(r.t.Context(), file, size, Seal{})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	all := make([]Imported, len(a.Profiles()))
	for i := range all {
		all[i] = Imported{Place: i, ID: store.NewID(), Workspace: "w"}
		ids = append(ids, all[i].ID)
	}
	return ids, r.Import(r.t.Context(), a, all, func(q *store.Queries) error {
		for _, id := range ids {
			if err := insertProfile(q, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// hidden lists what of the data folder begins with a dot.
func (r *rig) hidden() []string {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.data, ".*"))
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// TestArchive: profiles go by a file to a server with another keyring, with all that snapshots keep, and their data are unpacked there.
func TestArchive(t *testing.T) {
	t.Parallel()
	from, to := newRig(t), newRig(t)
	first, second, empty := from.profile(), from.profile(), from.profile()
	files := map[string]string{"chrome/Default/Cookies": "one", "chrome/Last Version": "156.0.1.2", "home/.pki/nssdb/cert9.db": "c"}
	from.put(first.ID, files)
	from.put(first.ID, map[string]string{"chrome/Default/Cache/x": "not kept", "files/downloads/x": "mine"})
	from.put(second.ID, map[string]string{"chrome/Default/Cookies": "two"})
	ids, err := to.take(from.export(first.ID, second.ID, empty.ID))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := to.Prepare(t.Context(), to.row(id)); err != nil {
			t.Fatal(err)
		}
	}
	wantFiles(t, to.files(ids[0]), files)
	wantFiles(t, to.files(ids[1]), map[string]string{"chrome/Default/Cookies": "two"})
	all := to.allSnapshots(t)
	if len(all) != 2 || all[0].Reason != FromArchive || all[0].Browser != "156.0.1.2" || all[0].Bytes == 0 || all[0].NewBytes == 0 {
		t.Errorf("%+v", all)
	}
	if to.row(ids[2]).HeadID != nil || isThere(to.profileDir(ids[2])) {
		t.Error("a profile without data has some")
	}
	if left := to.hidden(); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	to.whole(t)
	to.nothingLeft(t)
	if err := from.Readable(t.Context(), *must1(from.Save(t.Context(), first.ID, Request{}))); err != nil {
		t.Error(err)
	}
	for name := range from.list("packs/") {
		if err := os.Remove(filepath.Join(from.data, "snapshots", name)); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, from.Readable(t.Context(), *must1(from.Save(t.Context(), first.ID, Request{}))), "snapshot_damaged")
}

func must1(s store.Snapshot, _ bool, err error) *store.Snapshot {
	if err != nil {
		panic(err)
	}
	return &s
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// list goes through the names of objects.
func (r *rig) list(prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for o, err := range r.blobs.List(context.Background(), prefix) {
			if err != nil {
				r.t.Fatal(err)
			}
			if !yield(o.Name) {
				return
			}
		}
	}
}

// TestImportUndone: an import that fails at its end, or that is given up, leaves nothing.
func TestImportUndone(t *testing.T) {
	t.Parallel()
	from, to := newRig(t), newRig(t)
	p, second := from.profile(), from.profile()
	from.put(p.ID, textFiles("one"))
	from.put(second.ID, textFiles("two"))
	b := from.export(p.ID, second.ID)
	file, size, err := to.Receive(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Discard(file)
	a, err := to.OpenArchive(t.Context(), file, size, Seal{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	all := []Imported{{ID: store.NewID(), Workspace: "w"}, {Place: 1, ID: store.NewID(), Workspace: "w"}}
	refused := errors.New("refused")
	if err := to.Import(t.Context(), a, all, func(*store.Queries) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = to.Import(ctx, a, all, func(*store.Queries) error { cancel(); return ctx.Err() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := to.Import(ctx, a, all, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n, trees := to.objects(); n+trees > 0 {
		t.Errorf("%d packs and %d trees are left", n, trees)
	}
	if _, _, err := to.Receive(iotest.ErrReader(refused)); !errors.Is(err, refused) || len(to.hidden()) > 0 {
		t.Errorf("a body that breaks off: %v, and %q is left", err, to.hidden())
	}
}

// TestForeignData: an archive whose data are not a browser's is refused: such files would be those of the run's own process.
func TestForeignData(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"files/uploads/x", ".lock", "chrome", "run/socket"} {
		v, err := packs.NewVault(packs.Folder(filepath.Join(t.TempDir(), "objects")), make([]byte, packs.SecretSize))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700),
			os.WriteFile(filepath.Join(dir, path), []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
		saved, err := v.Save(t.Context(), dir, packs.SaveOptions{Subject: packs.Subject{ID: "t", Owner: "w|p"}})
		if err != nil {
			t.Fatal(err)
		}
		p := archive.Profile{About: archive.About{ID: "p", Name: "p", Settings: jsontext.Value("{}")}, Vault: v, Tree: saved.Tree}
		var b bytes.Buffer
		if err := archive.Write(t.Context(), &b, archive.Options{Unsealed: true}, func(yield func(archive.Profile, error) bool) {
			yield(p, nil)
		}); err != nil {
			t.Fatal(err)
		}
		_, err = r.take(b.Bytes())
		wantCode(t, err, "archive_refused")
	}
	if n, trees := r.objects(); n+trees > 0 {
		t.Errorf("%d packs and %d trees are left", n, trees)
	}
}

// TestRefusedArchives: what is wrong with a file is told with what to do, and where.
func TestRefusedArchives(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.profile()
	r.put(p.ID, textFiles("one"))
	e := []Exported{{Profile: p, Settings: jsontext.Value("{}")}}
	var sealed bytes.Buffer
	if err := r.Export(t.Context(), &sealed, "v1", Seal{Passphrase: "correct horse"}, e); err != nil {
		t.Fatal(err)
	}
	whole := r.export(p.ID)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for name, c := range map[string]struct {
		text     []byte
		seal     Seal
		location string
	}{
		"another file": {[]byte(strings.Repeat("other ", 100)), Seal{}, ofFile},
		"empty":        {nil, Seal{}, ofFile},
		"cut":          {whole[:len(whole)-1], Seal{}, ofFile},
		"flipped":      {flipped, Seal{}, ofFile},
		"unsealed":     {whole, Seal{Passphrase: "x"}, ofPassphrase},
		"sealed":       {sealed.Bytes(), Seal{}, ofPassphrase},
		"wrong":        {sealed.Bytes(), Seal{Passphrase: "wrong horse"}, ofPassphrase},
	} {
		_, err := r.OpenArchive(t.Context(), bytes.NewReader(c.text), int64(len(c.text)), c.seal)
		p, ok := errors.AsType[*problem.Error](err)
		if !ok || p.Code != "archive_refused" || len(p.Faults) != 1 || p.Faults[0].Location != c.location {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(r.importing) > 0 || len(r.deriving) > 0 {
		t.Errorf("turns were not given back: %d, %d", len(r.importing), len(r.deriving))
	}
}
