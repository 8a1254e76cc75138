package main

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// What snapshots of a profile cost that forty sites have filled. Times are of the server's processor.
const (
	keptSites    = 40
	visitedAgain = 4
	backedUp     = 1000
	changedSince = 10
)

// keeping measures snapshots of one profile.
type keeping struct {
	*bench
	server  *warren
	data    string
	port    string // of the sites
	profile string
	first   string // its first snapshot
}

// measureSnapshots measures snapshots, roll-backs, clones, stops and backups.
func (b *bench) measureSnapshots(ctx context.Context) error {
	k, err := b.newKeeping(ctx)
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{k.measureSaves, k.measureStops, k.measureClones, k.measureBackups} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	k.server.stop()
	return nil
}

// newKeeping starts a server, and fills a profile.
func (b *bench) newKeeping(ctx context.Context) (*keeping, error) {
	sites, err := b.role(ctx, "sites")
	if err != nil {
		return nil, err
	}
	k := &keeping{bench: b, port: sites.address[strings.LastIndexByte(sites.address, ':')+1:]}
	if k.data, err = b.data(); err != nil {
		return nil, err
	}
	if k.server, err = b.serve(ctx, k.data); err != nil {
		return nil, err
	}
	if k.profile, err = k.newProfile(ctx, "filled"); err != nil {
		return nil, err
	}
	return k, k.visit(ctx, k.profile, 0, keptSites, signIn)
}

// newProfile creates a profile that keeps no snapshots by itself, and whose pages reach the sites.
func (k *keeping) newProfile(ctx context.Context, name string) (string, error) {
	return k.server.create(ctx, map[string]any{"name": name, "snapshots": "off", "localhostVia": []string{k.port}})
}

// visit runs a profile, opens sites in it, and stops it.
func (k *keeping) visit(ctx context.Context, id string, first, n int, query string) error {
	progress("snapshots: %d sites", n)
	return errors.Join(k.browse(ctx, id, first, n, query), k.stop(ctx, id))
}

func (k *keeping) stop(ctx context.Context, id string) error {
	return k.server.call(ctx, "POST", "/profiles/"+id+"/stop", struct{}{}, nil)
}

// browse starts a profile, and opens sites in it until each has kept all that it keeps. A site that does not know who it is is an error.
func (k *keeping) browse(ctx context.Context, id string, first, n int, query string) error {
	var run startedRun
	if err := k.server.call(ctx, "POST", "/profiles/"+id+"/start", struct{}{}, &run); err != nil {
		return err
	}
	p, err := attach(ctx, run.WsEndpoint)
	if err != nil {
		return err
	}
	defer p.socket.CloseNow() //nolint:errcheck // it was only a client
	for i := first; i < first+n; i++ {
		if err := p.navigate(ctx, fmt.Sprintf("http://site%d.localhost:%s/?%s", i, k.port, query)); err != nil {
			return err
		}
		if got, err := p.evaluate(ctx, "done"); err != nil || got != "somebody" {
			return errors.Join(err, fmt.Errorf("site %d takes the profile for %q", i, got))
		}
	}
	return nil
}

// evaluate returns the text that an expression is, or resolves to.
func (p *page) evaluate(ctx context.Context, expression string) (string, error) {
	var got struct {
		Result           struct{ Value string }
		ExceptionDetails any
	}
	err := p.call(ctx, p.session, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true,
		"returnByValue": true}, &got)
	if err == nil && got.ExceptionDetails != nil {
		err = fmt.Errorf("%s: %v", expression, got.ExceptionDetails)
	}
	return got.Result.Value, err
}

// keptSnapshot is a snapshot as the API shows it.
type keptSnapshot struct {
	ID              string
	Bytes, NewBytes int64
}

// cost runs work, and returns the seconds of the server's processor time, and of the clock.
func (k *keeping) cost(work func() error) (busy, took float64, err error) {
	before, begun := cpu(k.server.pid()), time.Now()
	err = work()
	return (cpu(k.server.pid()) - before).Seconds(), time.Since(begun).Seconds(), err
}

// save makes a snapshot, and returns the seconds of processor time that it took.
func (k *keeping) save(ctx context.Context) (s keptSnapshot, busy float64, err error) {
	busy, _, err = k.cost(func() error {
		return k.server.call(ctx, "POST", "/profiles/"+k.profile+"/snapshots", struct{}{}, &s)
	})
	return s, busy, err
}

// rollBack goes back to a snapshot.
func (k *keeping) rollBack(ctx context.Context, to string) (busy float64, err error) {
	busy, _, err = k.cost(func() error {
		return k.server.call(ctx, "POST", "/profiles/"+k.profile+"/rollback", map[string]string{"snapshotId": to}, nil)
	})
	return busy, err
}

// measureSaves makes the first snapshot, the second after four sites, and one of unchanged data. It goes back from the second.
func (k *keeping) measureSaves(ctx context.Context) error {
	first, firstTime, err := k.save(ctx)
	if err != nil {
		return err
	}
	k.first = first.ID
	floor, err := tarTime(filepath.Join(k.data, "profiles", k.profile))
	if err != nil {
		return err
	}
	if err := k.visit(ctx, k.profile, 0, visitedAgain, ""); err != nil {
		return err
	}
	second, secondTime, err := k.save(ctx)
	if err != nil {
		return err
	}
	_, sameTime, err := k.save(ctx)
	if err != nil {
		return err
	}
	back, err := k.rollBack(ctx, first.ID)
	if err != nil {
		return err
	}
	one := func(name, unit string, value, aim float64) figure {
		return figure{name: name, unit: unit, ours: []float64{value}, floor: []float64{aim}, aim: 1}
	}
	mib := func(n int64) float64 { return float64(n) / (1 << 20) }
	k.table = append(k.table,
		figure{name: "a profile that 40 sites filled: kept of it", unit: "MiB", ours: []float64{mib(first.Bytes)}},
		figure{name: "  first snapshot: processor time, beside a tar.zst", unit: "s", ours: []float64{firstTime}, floor: []float64{floor}},
		one("  the same, beside the aim", "s", firstTime, 1.5),
		one("  second, after 4 sites: processor time", "s", secondTime, 0.3),
		one("  the same: new bytes", "MiB", mib(second.NewBytes), 8),
		one("  unchanged: processor time", "s", sameTime, 0.1),
		one("  roll-back of the second to the first: processor time", "s", back, 0.5))
	return nil
}

// tarTime returns the seconds of processor time of a tar.zst of a folder's files without caches, as zstd compresses fastest.
func tarTime(dir string) (float64, error) {
	before := cpu(os.Getpid())
	z, err := zstd.NewWriter(io.Discard, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return 0, err
	}
	t := tar.NewWriter(z)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasSuffix(d.Name(), "Cache") {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := t.WriteHeader(&tar.Header{Name: d.Name(), Size: info.Size()}); err != nil {
			return err
		}
		_, err = io.CopyN(t, f, info.Size())
		return err
	})
	err = errors.Join(err, t.Close(), z.Close())
	return (cpu(os.Getpid()) - before).Seconds(), err
}

// measureStops compares stops with a snapshot and without, from the request to the answer.
func (k *keeping) measureStops(ctx context.Context) error {
	stop := func(setting string) trial {
		return func(ctx context.Context, round int) ([]float64, error) {
			if err := k.server.call(ctx, "PUT", "/profiles/"+k.profile, map[string]any{"snapshots": setting}, nil); err != nil {
				return nil, err
			}
			if err := k.browse(ctx, k.profile, round%(keptSites-1), 2, ""); err != nil {
				return nil, err
			}
			begun := time.Now()
			if err := k.stop(ctx, k.profile); err != nil {
				return nil, err
			}
			answered := time.Since(begun)
			err := k.server.call(ctx, "GET", "/profiles/"+k.profile+"/snapshots", nil, nil)
			return []float64{milliseconds(answered)}, err
		}
	}
	got, err := k.play(ctx, "stops", 2*k.rounds, side{"with a snapshot", stop("on")}, side{"without", stop("off")})
	if err != nil {
		return err
	}
	k.table = append(k.table, figure{name: "stop with a snapshot, beside one without", unit: "ms", ours: got[0][0], floor: got[1][0],
		aim: 1.15})
	return k.server.call(ctx, "PUT", "/profiles/"+k.profile, map[string]any{"snapshots": "off"}, nil)
}

// clone makes clones with data.
func (k *keeping) clone(ctx context.Context, n int) (ids []string, err error) {
	var made struct{ Data []struct{ ID string } }
	err = k.server.call(ctx, "POST", "/profiles/"+k.profile+"/clone", map[string]any{"name": "clone {n}", "count": n,
		"withData": true}, &made)
	for _, p := range made.Data {
		ids = append(ids, p.ID)
	}
	return ids, err
}

// measureClones makes fifty clones, and runs them at once. Each is signed in, and the parent's bytes stay as they are.
func (k *keeping) measureClones(ctx context.Context) error {
	parent := filepath.Join(k.data, "profiles", k.profile, "chrome")
	before, err := sumOf(parent)
	if err != nil {
		return err
	}
	var ids []string
	busy, took, err := k.cost(func() error {
		ids, err = k.clone(ctx, fifty)
		return err
	})
	if err != nil {
		return err
	}
	ready, err := atOnce(ids, func(_ int, id string) error { return k.browse(ctx, id, keptSites-1, 1, "") })
	if err != nil {
		return err
	}
	_, err = atOnce(ids, func(_ int, id string) error { return k.stop(ctx, id) })
	after, failed := sumOf(parent)
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if before != after {
		return errors.New("the clones changed their parent's files")
	}
	k.table = append(k.table,
		figure{name: "fifty clones with data: each", unit: "ms", ours: []float64{took * 1000 / fifty}, floor: []float64{100}, aim: 1},
		figure{name: "  processor time of each", unit: "ms", ours: []float64{busy * 1000 / fifty}},
		figure{name: "  all run at once and are signed in", unit: "s", ours: []float64{slices.Max(ready) / 1000}})
	return nil
}

// sumOf is a sum of the names and the bytes of a folder's files.
func sumOf(dir string) (sum [sha256.Size]byte, err error) {
	all := sha256.New()
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(all, "%s %d\n", path, len(text))
		all.Write(text)
		return err
	})
	return [sha256.Size]byte(all.Sum(nil)), err
}

// measureBackups backs a thousand profiles up, has ten change, and backs up again.
func (k *keeping) measureBackups(ctx context.Context) error {
	var err error
	if k.profile, err = k.newProfile(ctx, "small"); err != nil {
		return err
	}
	if err := k.visit(ctx, k.profile, 0, 1, signIn); err != nil {
		return err
	}
	var ids []string
	for len(ids) < backedUp {
		more, err := k.clone(ctx, 100)
		if err != nil {
			return err
		}
		ids = append(ids, more...)
	}
	to := filepath.Join(k.dir, "backup")
	whole, err := k.backUp(ctx, to)
	if err != nil {
		return err
	}
	for i, id := range ids[:changedSince] {
		err := errors.Join(k.visit(ctx, id, 1+i, 1, signIn), k.server.call(ctx, "POST", "/profiles/"+id+"/snapshots", struct{}{}, nil))
		if err != nil {
			return err
		}
	}
	changed, err := k.backUp(ctx, to)
	k.table = append(k.table, figure{name: "backup of 1,000 profiles: processor time", unit: "s", ours: []float64{whole}},
		figure{name: "  again, when 10 have changed", unit: "s", ours: []float64{changed}, floor: []float64{2}, aim: 1})
	return err
}

// backUp makes a backup while the server runs, and returns the seconds of processor time.
func (k *keeping) backUp(ctx context.Context, to string) (float64, error) {
	progress("snapshots: backup")
	cmd := exec.CommandContext(ctx, k.warren, "backup", "--data", k.data, to)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("backup: %w: %s", err, out)
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}
