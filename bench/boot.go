package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"warren/store"
)

// What a small installation of the part "boot" has.
const (
	bootProfiles = 10_000
	bootProxies  = 10_000
)

// bootWrites are creates before a kill: what the next boot finds in the write-ahead log.
const bootWrites = 2000

// measureBoot measures the time from the start of the program until it serves, after a stop and after kill -9, and until
// the runs of the killed one are adopted. The floors are times, in seconds.
func (b *bench) measureBoot(ctx context.Context) error {
	data, err := b.filled(ctx)
	if err != nil {
		return err
	}
	if err := b.bootsOf(ctx, fmt.Sprintf("%d profiles", b.rows), data, 1); err != nil {
		return err
	}
	small := &bench{exe: b.exe, warren: b.warren, dir: b.dir, rounds: b.rounds, rows: bootProfiles}
	defer small.close()
	if data, err = small.data(); err != nil {
		return err
	}
	if err := newDatabase(ctx, data); err != nil {
		return err
	}
	if err := fill(ctx, filepath.Join(data, store.FileName), bootProfiles); err != nil {
		return err
	}
	if err := fillProxies(ctx, data, bootProxies); err != nil {
		return err
	}
	if err := b.bootsOf(ctx, fmt.Sprintf("%d profiles, %d proxies", bootProfiles, bootProxies), data, 0.5); err != nil {
		return err
	}
	return b.adoptions(ctx, data)
}

// bootsOf measures boots of a data folder without runs, in a copy.
func (b *bench) bootsOf(ctx context.Context, name, data string, aim float64) error {
	dir, err := b.data()
	if err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(data)); err != nil {
		return err
	}
	dir = filepath.Join(dir, "copy")
	ended, err := b.serve(ctx, dir) // reads the file from the disk
	if err != nil {
		return err
	}
	defer func() { ended.stop() }()
	after := func(end func(*warren) error) trial {
		return func(ctx context.Context, _ int) ([]float64, error) {
			if err := end(ended); err != nil {
				return nil, err
			}
			begun := time.Now()
			next, err := b.serve(ctx, dir)
			if err != nil {
				return nil, err
			}
			ended = next
			return []float64{time.Since(begun).Seconds()}, nil
		}
	}
	got, err := b.play(ctx, "boot", b.rounds, side{"after a stop", after(func(w *warren) error { w.stop(); return nil })},
		side{"after a kill", after(func(w *warren) error { return w.killWriting(ctx) })})
	if err != nil {
		return err
	}
	for i, after := range []string{"after a stop", "after kill -9"} {
		b.table = append(b.table, figure{name: "boot with " + name + ", " + after + ": serves", unit: "s", ours: got[i][0],
			floor: constant(aim, len(got[i][0])), aim: 1})
	}
	return nil
}

// constant is a floor that is a time.
func constant(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// killWriting kills the server right after creates.
func (w *warren) killWriting(ctx context.Context) error {
	message := request("POST", w.address, "/api/v1/profiles", w.key, "{"+record+"}")
	for made := int64(0); made < bootWrites; {
		l, err := load(ctx, w.child, loadTime/4, 201, func(int) []byte { return message })
		if err != nil {
			return err
		}
		made += l.requests
	}
	return w.kill()
}

// kill ends the server as a crash does.
func (w *warren) kill() error {
	err := w.cmd.Process.Signal(syscall.SIGKILL)
	<-w.dead
	return err
}

// adoptions measures a boot that finds running browsers.
func (b *bench) adoptions(ctx context.Context, data string) error {
	server, err := b.serve(ctx, data)
	if err != nil {
		return err
	}
	defer func() { server.stop() }()
	ids, err := someIDs(ctx, server)
	if err != nil {
		return err
	}
	for i := range b.browsers {
		progress("boot: starting run %d of %d", i+1, b.browsers)
		if err := server.call(ctx, "POST", "/profiles/"+ids[i]+"/start", map[string]any{"preflight": "off"}, nil); err != nil {
			return err
		}
	}
	time.Sleep(quiet) // a browser goes on working after its start
	var serves, adopted []float64
	for range b.rounds {
		if err := server.kill(); err != nil {
			return err
		}
		begun := time.Now()
		next, err := b.serve(ctx, data)
		if err != nil {
			return err
		}
		server = next
		serves = append(serves, time.Since(begun).Seconds())
		if err := server.awaitRuns(ctx, b.browsers); err != nil {
			return err
		}
		adopted = append(adopted, time.Since(begun).Seconds())
	}
	title := fmt.Sprintf("boot with %d profiles, %d proxies, %d runs, after kill -9: ", bootProfiles, bootProxies, b.browsers)
	b.table = append(b.table, figure{name: title + "serves", unit: "s", ours: serves, floor: constant(0.5, len(serves)), aim: 1},
		figure{name: "  all runs adopted", unit: "s", ours: adopted, floor: constant(2, len(adopted)), aim: 1})
	return nil
}

// awaitRuns waits until the server has a number of running browsers that answer.
func (w *warren) awaitRuns(ctx context.Context, want int) error {
	for {
		var list struct{ Data []struct{ Status string } }
		if err := w.call(ctx, "GET", "/runs", nil, &list); err != nil {
			return err
		}
		running := 0
		for _, r := range list.Data {
			if r.Status == "running" {
				running++
			}
		}
		if running == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond): // a list of many runs is work itself
		}
	}
}

// fillProxies adds proxies as an import does.
func fillProxies(ctx context.Context, dir string, count int) error {
	db, err := open(filepath.Join(dir, store.FileName), "")
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
INSERT INTO proxies (id, workspace_id, type, host, port, name, created_at, updated_at)
SELECT printf('019b76da-%%04x-7%%03x-9000-%%012x', i >> 12, i & 4095, i), 'default', 'socks5', 'host-' || i || '.example.test', 1080,
	'Proxy ' || i, 1767225600000 + i, 1767225600000 + i
FROM n`, count-1))
	return err
}
