package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"warren/metrics"
)

// What the metrics tell that no package below knows.

// lastBackup is when the newest backup was made.
type lastBackup struct{ unixMilli atomic.Int64 }

func (b *lastBackup) made(at time.Time) { b.unixMilli.Store(at.UnixMilli()) }

// at returns the zero time while none is known.
func (b *lastBackup) at() time.Time {
	if ms := b.unixMilli.Load(); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

// keptAge is how old the size of the snapshots' folder may be. It may have many files, so it is measured in the background.
const keptAge = 5 * time.Minute

// keptSize is the size of the snapshots' folder.
type keptSize struct {
	ctx context.Context // ends a measurement
	dir string

	mu      sync.Mutex
	at      time.Time // when it was last measured
	current metrics.Kept
}

// read returns the last size. It has an old one measured anew, beside the caller.
func (k *keptSize) read() metrics.Kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.at) >= keptAge {
		k.at = time.Now()
		go k.measure()
	}
	return k.current
}

func (k *keptSize) measure() {
	var now metrics.Kept
	err := filepath.WalkDir(k.dir, func(_ string, e fs.DirEntry, err error) error {
		if k.ctx.Err() != nil {
			return k.ctx.Err()
		}
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // what is deleted meanwhile is not counted
		}
		if info, err := e.Info(); err == nil {
			now.Files++
			now.Bytes += info.Size()
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.current = now
}
