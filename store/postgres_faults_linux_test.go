package store

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/testnet"
)

// TestPostgresDiskFull: PostgreSQL's disk is full. What was acknowledged is there, what failed is not, reads work, and writes go on when
// there is room.
func TestPostgresDiskFull(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	disk := smallDisk(t, "size=24m,mode=755")
	folder, ballast := filepath.Join(disk, "tables"), filepath.Join(disk, "ballast")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(ballast, make([]byte, 4<<20), 0o600)); err != nil {
		t.Fatal(err)
	}
	reachable(t, disk)
	server := testnet.OwnPostgres(t)
	s := openIn(t, t.TempDir(), Options{Database: server.NewDatabaseIn(folder)})
	ensure(t, s, "w")
	var acknowledged []string
	for refusals := 0; refusals < 5; {
		p := aProfile("w", "p")
		var notes strings.Builder // PostgreSQL compresses repetitions
		for range 2000 {
			notes.WriteString(rand.Text())
		}
		p.Notes = notes.String()
		err := s.Write(ctx, func(q *Queries) error { return ErrorOf(q.InsertProfile(ctx, p)) })
		switch {
		case err == nil:
			acknowledged = append(acknowledged, p.ID)
		case !errors.Is(err, ErrDiskFull):
			t.Fatalf("after %d writes: %v, want ErrDiskFull", len(acknowledged), err)
		default:
			if refusals++; there(s, p.ID) {
				t.Error("a write failed, and its row is there")
			}
		}
		if len(acknowledged) > 2000 {
			t.Fatal("the disk does not get full")
		}
	}
	t.Logf("%d writes until the disk was full", len(acknowledged))
	for _, id := range acknowledged {
		if !there(s, id) {
			t.Errorf("acknowledged, and not there: %s", id)
		}
	}
	if page, err := s.ListProfiles(ctx, ProfileList{Limit: 1}); err != nil || page.Total != int64(len(acknowledged)) {
		t.Errorf("%d listed of %d, %v", page.Total, len(acknowledged), err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, "writes", func() bool { return s.Ready(ctx) == nil })
	putProfile(t, s, aProfile("w", "after there was room again"))
	assertCounters(t, s)
}

// reachable lets PostgreSQL's account pass through the folders above a disk.
func reachable(t *testing.T, folder string) {
	t.Helper()
	for ; folder != os.TempDir() && folder != "/"; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err == nil {
			err = os.Chmod(folder, info.Mode().Perm()|0o055)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
