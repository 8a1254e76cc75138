package snapshots

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/events"
	"warren/packs"
	"warren/store"
	"warren/testnet"
)

// secretKey is the file of a key that servers share.
func secretKey(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(strings.Repeat("5a", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// server is the rig of one of the servers that share a database.
func server(t *testing.T, database, key, node string) *rig {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, nodeName), []byte(`{"id":"`+node+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), dir, store.Options{Database: database, SecretKeyFile: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	r := &rig{New(dir, slog.New(slog.DiscardHandler), st, events.New()), t}
	r.write(func(q *store.Queries) error {
		_, err := q.EnsureWorkspace(context.Background(), store.EnsureWorkspaceParams{ID: "w", Now: 1})
		return errors.Join(err, q.ClaimNode(context.Background(), store.ClaimNodeParams{ID: node, Name: node, Labels: "{}"}))
	})
	return r
}

// keep makes a profile whose data a server has, and keeps a snapshot of cookies. With "" it is as in a copied database, which names no
// servers.
func (r *rig) keep(node, cookies string) store.Snapshot {
	r.t.Helper()
	p := r.profile()
	if node != "" {
		r.write(func(q *store.Queries) error {
			return store.ErrorOf(q.PlaceProfile(context.Background(), store.PlaceProfileParams{ID: p.ID, NodeID: node}))
		})
	}
	r.put(p.ID, map[string]string{"chrome/Cookies": cookies})
	before := &rig{New(r.data, r.log, r.store, r.events), r.t}
	before.node = node
	return before.save(p.ID, Request{Reason: Stop, Pinned: true})
}

// sound wants no faults, and so many snapshots that other servers have.
func (r *rig) sound(o CheckOptions, elsewhere int64) {
	r.t.Helper()
	o.ReadAll = true
	found, err := Check(r.t.Context(), o)
	if err != nil || len(found.Faults) > 0 || found.Elsewhere != elsewhere || found.Snapshots != 3 {
		r.t.Errorf("%+v, %v", found, err)
	}
}

// TestBackupsOfServers: a backup of one of two servers that share a database has the whole state and what that server has of snapshots.
// It is restored to a data folder that knows its server. The state goes back to PostgreSQL, with the servers that have the profiles' data.
func TestBackupsOfServers(t *testing.T) {
	t.Parallel()
	url, place := testnet.Postgres(t), packs.Folder(t.TempDir())
	key := secretKey(t)
	a, b := server(t, url, key, "node-a"), server(t, url, key, "node-b")
	text := func(i string) string { return strings.Repeat(i+" ", 1000) }
	want := map[*rig]map[string]string{a: {}, b: {}} // cookies by snapshot
	for r, node := range map[*rig]string{a: "node-a", b: "node-b"} {
		for _, cookies := range []string{text(node), text("the same of both"), text(node + " unplaced")} {
			at := node
			if strings.Contains(cookies, "unplaced") {
				at = ""
			}
			want[r][r.keep(at, cookies).ID] = cookies
		}
	}
	made, folders := map[*rig]*Backup{}, map[*rig]string{}
	for _, r := range []*rig{a, b, a} {
		o := BackupOptions{Data: r.data, To: place, Warren: "test", Database: url, KeyFile: key, WithKey: true}
		backup, err := MakeBackup(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if made[r] = backup; backup.Profiles != 6 || backup.Snapshots != 3 || backup.Elsewhere != 3 || backup.Version != nodeVersion {
			t.Errorf("%+v", backup)
		}
		r.sound(CheckOptions{Data: r.data, Database: url, KeyFile: key}, 3)
	}
	if thinned, err := Thin(t.Context(), ThinOptions{At: place, Keep: 1, Made: made[a]}); err != nil || thinned.Backups != 1 {
		t.Errorf("the other server's backup has to stay: %+v, %v", thinned, err)
	}
	for r, backup := range made {
		r.sound(CheckOptions{From: place, ID: backup.ID}, 3)
		folders[r] = filepath.Join(t.TempDir(), "restored")
		if _, err := Restore(t.Context(), RestoreOptions{From: place, ID: backup.ID, Data: folders[r]}); err != nil {
			t.Fatal(err)
		}
		r.sound(CheckOptions{Data: folders[r]}, 3)
		if again, err := MakeBackup(t.Context(), BackupOptions{Data: folders[r], To: packs.Folder(t.TempDir())}); err != nil ||
			again.Elsewhere != 3 || again.Node != backup.Node {
			t.Errorf("a backup of what was restored: %+v, %v", again, err)
		}
	}
	other := testnet.Postgres(t)
	if _, err := store.Transfer(t.Context(), store.TransferOptions{From: folders[a], To: other}); err != nil {
		t.Fatal(err)
	}
	back := map[*rig]*store.Store{}
	for r, folder := range folders {
		st, err := store.Open(t.Context(), folder, store.Options{Database: other, SecretKeyFile: key})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if got, want := placesOf(t, st), placesOf(t, a.store); !maps.Equal(got, want) || len(got) != 6 {
			t.Errorf("%v, want %v", got, want)
		}
		back[r] = st
	}
	for r, folder := range folders {
		k := New(folder, r.log, back[r], events.New())
		for id, cookies := range want[r] {
			wantCookies(t, k, id, cookies)
		}
	}
}

// placesOf returns the servers that have profiles' data.
func placesOf(t *testing.T, st *store.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := eachSnapshot(t.Context(), st, func(s store.Snapshot) error {
		row, err := st.Read().GetProfileAny(t.Context(), store.GetProfileAnyParams{ID: s.ProfileID})
		out[row.ID] = "none"
		if row.NodeID != nil {
			out[row.ID] = *row.NodeID
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestBackupOfAServerThatLost: what a server has lost is no other server's. Neither is that of a profile that no server has placed, where
// one server has all the others.
func TestBackupOfAServerThatLost(t *testing.T) {
	t.Parallel()
	url, key := testnet.Postgres(t), secretKey(t)
	a := server(t, url, key, "node-a")
	for _, node := range []string{"node-a", ""} {
		s := a.keep(node, "x")
		o := BackupOptions{Data: a.data, To: packs.Folder(t.TempDir()), Database: url, KeyFile: key}
		if err := a.blobs.Delete(t.Context(), packs.TreePrefix+s.ID); err != nil {
			t.Fatal(err)
		}
		if b, err := MakeBackup(t.Context(), o); err == nil {
			t.Errorf("a backup without a snapshot: %+v", b)
		}
		a.write(func(q *store.Queries) error {
			return store.ErrorOf(q.DeleteProfile(context.Background(), store.DeleteProfileParams{ID: s.ProfileID}))
		})
		if _, err := MakeBackup(t.Context(), o); err != nil {
			t.Error(err)
		}
		o.Data = t.TempDir()
		if _, err := MakeBackup(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no server of a PostgreSQL database") {
			t.Errorf("a folder of no server: %v", err)
		}
	}
}
