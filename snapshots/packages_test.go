package snapshots

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/packs"
	"warren/store"
	"warren/testnet"
)

// packagesRig has two extensions. The files of one are there.
type packagesRig struct {
	*rig
	sum, missing string
	files        map[string]string
}

func newPackagesRig(t *testing.T) *packagesRig {
	r := &packagesRig{newRig(t), strings.Repeat("a1", 32), strings.Repeat("b2", 32),
		map[string]string{"manifest.json": "{}", "js/worker.js": strings.Repeat("w", 100_000), "empty": ""}}
	r.profile()
	for _, s := range []string{r.sum, r.missing} {
		r.write(func(q *store.Queries) error {
			return q.InsertExtension(t.Context(), store.InsertExtensionParams{ID: s, WorkspaceID: "w", ExtensionID: s[:32], Name: "x",
				Version: "1", Sha256: s, Permissions: "[]", OptionalPermissions: "[]", Hosts: "[]", OptionalHosts: "[]", CreatedAt: 1})
		})
	}
	for name, text := range r.files {
		path := filepath.Join(packageFolder(r.data, r.sum), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// check wants as many faults, the one of the missing package among them.
func (r *packagesRig) check(o CheckOptions, faults int) {
	r.t.Helper()
	o.ReadAll = true
	found, err := Check(r.t.Context(), o)
	if err != nil || len(found.Faults) != faults || !strings.Contains(strings.Join(found.Faults, ""), r.missing) || found.Unneeded > 0 {
		r.t.Errorf("%+v, %v; want %d faults", found, err, faults)
	}
}

// thin removes all backups but the one that was made last, and wants as many objects to go.
func (r *packagesRig) thin(at packs.Blobs, last *Backup, objects int) {
	r.t.Helper()
	gone, err := Thin(r.t.Context(), ThinOptions{At: at, Keep: 1, Made: last})
	if err != nil || gone.Backups != 1 || gone.Objects != objects {
		r.t.Errorf("%+v, %v; want %d objects", gone, err, objects)
	}
}

// TestBackupOfPackages: packages of extensions go into a backup once, stay while one needs them, and come back byte for byte. A missing
// one is told.
func TestBackupOfPackages(t *testing.T) {
	t.Parallel()
	r := newPackagesRig(t)
	to := packs.Folder(t.TempDir())
	r.backup(to)
	second := r.backup(to)
	if second.Version != 2 || second.Objects != 1 || second.Written != second.Database.Size+second.Contents.Size {
		t.Errorf("the second backup: %+v", second)
	}
	r.thin(to, second, 0)
	path := filepath.Join(t.TempDir(), "b.tar")
	whole, err := NewTar(path)
	if err == nil {
		_, err = MakeBackup(t.Context(), r.options(whole))
	}
	if err = whole.Finish(err); err != nil {
		t.Fatal(err)
	}
	from, closer, err := OpenTar(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	r.check(CheckOptions{Data: r.data}, 1)
	for _, from := range []packs.Blobs{to, from} {
		r.check(CheckOptions{From: from}, 1)
		data := filepath.Join(t.TempDir(), "restored")
		if _, err := Restore(t.Context(), RestoreOptions{From: from, Data: data}); err != nil {
			t.Fatal(err)
		}
		for name, want := range r.files {
			if got, err := os.ReadFile(filepath.Join(packageFolder(data, r.sum), name)); err != nil || string(got) != want {
				t.Errorf("%s has %d bytes, want %d: %v", name, len(got), len(want), err)
			}
		}
		r.check(CheckOptions{Data: data}, 1)
	}
	r.write(func(q *store.Queries) error {
		_, err := q.DeleteExtension(t.Context(), store.DeleteExtensionParams{ID: r.sum})
		return err
	})
	last := r.backup(to)
	if last.Version != 1 {
		t.Errorf("a backup without packages has version %d", last.Version)
	}
	r.thin(to, last, 1)
}

// TestPackagesOfServers: a package that a server does not have is a fault only where no other server has profiles.
func TestPackagesOfServers(t *testing.T) {
	t.Parallel()
	url, key := testnet.Postgres(t), secretKey(t)
	a := server(t, url, key, "node-a")
	a.keep("node-a", "x")
	sum := strings.Repeat("b2", 32)
	a.write(func(q *store.Queries) error {
		return q.InsertExtension(t.Context(), store.InsertExtensionParams{ID: sum, WorkspaceID: "w", ExtensionID: sum[:32], Name: "x",
			Version: "1", Sha256: sum, Permissions: "[]", OptionalPermissions: "[]", Hosts: "[]", OptionalHosts: "[]", CreatedAt: 1})
	})
	for _, others := range []int{0, 1} {
		if others > 0 {
			other := a.profile().ID
			a.write(func(q *store.Queries) error {
				return store.ErrorOf(q.PlaceProfile(t.Context(), store.PlaceProfileParams{ID: other, NodeID: "node-b"}))
			})
		}
		place := packs.Folder(t.TempDir())
		backup := BackupOptions{Data: a.data, To: place, Database: url, KeyFile: key, WithKey: true}
		if _, err := MakeBackup(t.Context(), backup); err != nil {
			t.Fatal(err)
		}
		for _, o := range []CheckOptions{{Data: a.data, Database: url, KeyFile: key}, {From: place}} {
			found, err := Check(t.Context(), o)
			if err != nil || len(found.Faults) != 1-others || found.PackagesElsewhere != others {
				t.Errorf("with %d other servers: %+v, %v", others, found, err)
			}
		}
	}
}

// TestDamagedPackage: a flipped bit is found, and not restored.
func TestDamagedPackage(t *testing.T) {
	t.Parallel()
	r := newPackagesRig(t)
	place := t.TempDir()
	to := packs.Folder(place)
	r.backup(to)
	file := filepath.Join(place, packageName(r.sum))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := errors.Join(os.Remove(file), os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	r.check(CheckOptions{From: to}, 2)
	_, err = Restore(t.Context(), RestoreOptions{From: to, Data: filepath.Join(t.TempDir(), "bad")})
	if !errors.Is(err, packs.ErrDamaged) {
		t.Errorf("it is restored: %v", err)
	}
}

// TestPackagesStayBelow: nothing in a package's tar leads out of its folder.
func TestPackagesStayBelow(t *testing.T) {
	t.Parallel()
	for _, h := range []tar.Header{{Name: "../up", Size: 1}, {Name: "/up", Size: 1},
		{Name: "up", Typeflag: tar.TypeSymlink, Linkname: "/etc"}} {
		dir := t.TempDir()
		var text bytes.Buffer
		w := tar.NewWriter(&text)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		if err := unpackPackage(text.Bytes(), filepath.Join(dir, "below")); err == nil {
			t.Errorf("%s %c is unpacked", h.Name, h.Typeflag)
		}
		if all, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(all) != 1 {
			t.Errorf("%s: there is %v", h.Name, all)
		}
	}
}
