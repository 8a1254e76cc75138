package snapshots

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warren/packs"
	"warren/testnet"
)

// bucketOf opens a part of the bucket behind a proxy. After a fault it is as patient as one request takes.
func bucketOf(t *testing.T, p *testnet.S3Proxy, prefix string, attempts int) packs.Blobs {
	t.Helper()
	b, err := packs.S3(packs.S3Options{Endpoint: p.URL, Bucket: testnet.S3Bucket, Prefix: prefix, AccessKey: testnet.S3Access,
		SecretKey: testnet.S3Secret, Attempts: attempts})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBackupInS3 is the drill with a real S3 server, over a connection that breaks in many ways. It is a long trial because the
// server takes 90 s of processor time to build.
func TestBackupInS3(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	s3 := testnet.NewS3(t)
	t.Run("faults that pass", func(t *testing.T) {
		t.Parallel()
		p := s3.Proxy(t)
		var n atomic.Int32
		p.Set(func(w http.ResponseWriter, r *http.Request) bool {
			switch n.Add(1) % 20 {
			case 1:
				return testnet.S3Error(w, http.StatusInternalServerError, "InternalError", "")
			case 6:
				testnet.Cut()
			case 11: // the server has it, and nobody hears of that
				p.Pass(testnet.Discards{ResponseWriter: w}, r)
				testnet.Cut()
			case 16:
				p.Pass(&testnet.Shortened{ResponseWriter: w, Left: 100}, r)
				return true
			}
			return false
		})
		underLoad(t, func(int) drillPlace { return openPlace(bucketOf(t, p, "passing", 6)) })
	})
	t.Run("faults that stay", func(t *testing.T) {
		t.Parallel()
		lastingFaults(t, s3.Proxy(t))
	})
	t.Run("old backups", func(t *testing.T) {
		t.Parallel()
		at := bucketOf(t, s3.Proxy(t), "old", 6)
		all := newRig(t).many(at, 3)
		if thinned, err := Thin(t.Context(), ThinOptions{At: at, Keep: 2, Made: all[2]}); err != nil || thinned.Objects != 2 {
			t.Errorf("%+v, %v", thinned, err)
		}
		wantBackups(t, at, all[2], all[1])
		wantNoMore(t, at)
	})
}

// lastingFaults: a server that refuses, fails or cuts from any request on is told in plain words, after few attempts. The backup
// of before is the newest then and whole, and no data folder is half restored.
func lastingFaults(t *testing.T, p *testnet.S3Proxy) {
	at, r := bucketOf(t, p, "lasting", 2), newRig(t)
	first := r.many(at, 1)[0]
	for word, breaks := range map[string]testnet.Breaker{
		"s3:PutObject": func(w http.ResponseWriter, _ *http.Request) bool {
			return testnet.S3Error(w, http.StatusForbidden, "AccessDenied", testnet.S3Secret)
		},
		"500 InternalError": func(w http.ResponseWriter, _ *http.Request) bool {
			return testnet.S3Error(w, http.StatusInternalServerError, "InternalError", testnet.S3Secret)
		},
		"clock is 20m": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Date", time.Now().Add(-20*time.Minute).UTC().Format(http.TimeFormat))
			return testnet.S3Error(w, http.StatusForbidden, "RequestTimeTooSkewed", "")
		},
		"2 attempts": func(http.ResponseWriter, *http.Request) bool { testnet.Cut(); return true },
	} {
		p.Set(nil)
		profile := r.profile()
		r.put(profile.ID, map[string]string{"chrome/Cookies": word})
		r.save(profile.ID, Request{Reason: Stop})
		for after := range int32(6) {
			p.Set(from(after, breaks))
			_, err := MakeBackup(t.Context(), r.options(at))
			plainly(t, word, err)
			p.Set(from(after, breaks))
			data := filepath.Join(t.TempDir(), "data")
			_, err = Restore(t.Context(), RestoreOptions{From: at, Data: data})
			plainly(t, word, err)
			if left, err := os.ReadDir(filepath.Dir(data)); len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s after %d requests: %v is left, %v", word, after, left, err)
			}
		}
		p.Set(nil)
		wantBackups(t, at, first)
	}
	wantBackups(t, at, r.backup(at), first)
}

// from breaks every request but the first n.
func from(n int32, breaks testnet.Breaker) testnet.Breaker {
	var seen atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) bool { return seen.Add(1) > n && breaks(w, r) }
}

func plainly(t *testing.T, word string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), testnet.S3Secret) {
		t.Errorf("%v, want %q and no secret", err, word)
	}
}
