package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"warren/cgroup"
)

// What a frozen run may keep of its memory, how many milliseconds a client may wait for its page, and how many runs shall fit into how
// many bytes.
const (
	frozenAim   = 0.4
	thawAim     = 200.0
	frozenRuns  = 200.0
	frozenSpace = 20 << 30
)

const (
	// freezeBatch is how many runs are started before they are frozen.
	freezeBatch = 10
	// freezeReserve is how much memory other programs keep: no further run is started below it.
	freezeReserve = 4 << 30
	// freezeWait bounds the wait until the runs of a batch are frozen, and nothing more is taken of them.
	freezeWait = 2 * time.Minute
)

// idleRuns are signed-in runs behind a SOCKS5 proxy with a password. Each has a page, which keeps all that a site may keep.
type idleRuns struct {
	*bench
	server      *warren
	proxy, port string
	free        int64 // bytes that were available before the first one
	packed      int64 // bytes that were compressed before
	runs        []*idleRun

	awake, frozen, thawed []float64 // of each run: MiB in its group
	took, takes           []float64 // of each run: milliseconds until it answers a client, frozen and awake
}

// idleRun is a run, and the client that keeps it awake.
type idleRun struct {
	profile, address string
	client           *page
}

// measureFreeze measures what idle runs take awake, frozen, and thawed. It goes on until -idle runs are frozen, or the machine is full.
func (b *bench) measureFreeze(ctx context.Context) error {
	if found := cgroup.Look(); found.Kind == cgroup.None || !canMeasureProcesses || swapTotal() == 0 {
		progress("")
		fmt.Fprintln(os.Stderr, "freeze: skipped, it needs control groups and swap (zram, say);", found)
		return nil
	}
	f, err := b.newIdleRuns(ctx)
	if err != nil {
		return err
	}
	defer f.server.stop()
	for len(f.runs) < b.browsers && available() > freezeReserve {
		if err := f.batch(ctx); err != nil {
			return err
		}
	}
	return f.sum(ctx)
}

// sum adds the figures to the table. A run costs what its group has, its share of what is compressed, and of the server and the runs' own
// processes. What the machine has available depends on its other programs, too.
func (f *idleRuns) sum(ctx context.Context) error {
	groups, _, err := f.usages(ctx, f.runs)
	if err != nil {
		return err
	}
	ours := pss(f.server.pid())
	for _, shim := range childrenOf(f.server.pid()) {
		ours += pss(shim)
	}
	n := float64(len(f.runs))
	own, packed := mebibytes(ours)/n, mebibytes(zramUsed()-f.packed)/n
	frozen, awake := total(groups)/n+packed+own, total(f.awake)/n+own
	title := fmt.Sprintf("%.0f idle signed-in runs: ", n)
	f.table = append(f.table,
		figure{name: title + "one's group, frozen beside awake", unit: "MiB", ours: f.frozen, floor: f.awake, aim: frozenAim},
		figure{name: "  the same, thawed beside awake", unit: "MiB", ours: f.thawed, floor: f.awake},
		figure{name: "  one's cost, frozen beside awake", unit: "MiB", ours: []float64{frozen}, floor: []float64{awake}, aim: frozenAim},
		figure{name: "    of that compressed", unit: "MiB", ours: []float64{packed}},
		figure{name: "    of that its own process, and its share of the server", unit: "MiB", ours: []float64{own}},
		figure{name: "  all together: less of the machine available", unit: "MiB", ours: []float64{mebibytes(f.free - available())}},
		figure{name: "  frozen runs that cost 20 GiB", ours: []float64{mebibytes(frozenSpace) / frozen}, floor: []float64{frozenRuns},
			aim: 1, atLeast: true},
		figure{name: "  a frozen one, from a client's dial until its page answers", unit: "ms", ours: f.took,
			floor: constant(thawAim, len(f.took)), aim: 1},
		figure{name: "    beside one that is awake", unit: "ms", ours: f.took, floor: f.takes})
	return nil
}

func total(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

func (b *bench) newIdleRuns(ctx context.Context) (*idleRuns, error) {
	far, err := b.role(ctx, "far-side")
	if err != nil {
		return nil, err
	}
	sites, err := b.role(ctx, "sites")
	if err != nil {
		return nil, err
	}
	f := &idleRuns{bench: b, port: sites.address[strings.LastIndexByte(sites.address, ':')+1:]}
	if f.server, err = b.serveEmpty(ctx, "WARREN_FREEZE_AFTER=1s"); err != nil {
		return nil, err
	}
	if f.proxy, err = f.server.addProxy(ctx, far.address); err != nil {
		return nil, err
	}
	f.free, f.packed = available(), zramUsed()
	return f, nil
}

// addProxy adds the far side as a proxy with a password.
func (w *warren) addProxy(ctx context.Context, far string) (id string, err error) {
	var made struct{ ID string }
	url := "socks5://" + farUser + ":" + strings.ReplaceAll(farPassword, " ", "%20") + "@" + far
	err = w.call(ctx, "POST", "/proxies", map[string]any{"url": url}, &made)
	return made.ID, err
}

// batch starts some runs, and measures them while clients keep them awake, when they are frozen, and after a thaw.
func (f *idleRuns) batch(ctx context.Context) error {
	first := len(f.runs)
	for range min(freezeBatch, f.browsers-first) {
		progress("freeze: starting run %d of %d, %.0f MiB are left", len(f.runs)+1, f.browsers, mebibytes(available()))
		r, err := f.signIn(ctx)
		if err != nil {
			return err
		}
		f.runs = append(f.runs, r)
	}
	batch := f.runs[first:]
	if err := pause(ctx, quiet); err != nil {
		return err
	}
	if err := f.note(ctx, batch, &f.awake); err != nil {
		return err
	}
	for _, r := range batch {
		r.client.socket.CloseNow() //nolint:errcheck // it was only a client
		if err := f.answer(ctx, r, &f.takes); err != nil {
			return err
		}
		r.client.socket.CloseNow() //nolint:errcheck // it was only a client
	}
	if err := f.awaitFrozen(ctx, batch); err != nil {
		return err
	}
	if err := f.note(ctx, batch, &f.frozen); err != nil {
		return err
	}
	for _, r := range batch {
		if err := f.answer(ctx, r, &f.took); err != nil {
			return err
		}
	}
	if err := errors.Join(pause(ctx, time.Second), f.note(ctx, batch, &f.thawed)); err != nil {
		return err
	}
	for _, r := range batch {
		r.client.socket.CloseNow() //nolint:errcheck // it was only a client
	}
	return f.awaitFrozen(ctx, batch)
}

// signIn starts a new profile, and signs it in to a site. The client stays.
func (f *idleRuns) signIn(ctx context.Context) (*idleRun, error) {
	id, err := f.server.create(ctx, map[string]any{"name": fmt.Sprint("idle ", len(f.runs)), "proxyId": f.proxy, "snapshots": "off",
		"localhostVia": []string{f.port}})
	if err != nil {
		return nil, err
	}
	var run startedRun
	if err := f.server.call(ctx, "POST", "/profiles/"+id+"/start", struct{}{}, &run); err != nil {
		return nil, err
	}
	r := &idleRun{profile: id, address: run.WsEndpoint}
	if r.client, err = attach(ctx, r.address); err != nil {
		return nil, err
	}
	if err := r.client.navigate(ctx, fmt.Sprintf("http://site%d.localhost:%s/?%s", len(f.runs), f.port, signIn)); err != nil {
		return nil, err
	}
	return r, r.answers(ctx, "done")
}

// answers fails unless an expression is who the site takes the profile for.
func (r *idleRun) answers(ctx context.Context, expression string) error {
	got, err := r.client.evaluate(ctx, expression)
	if err == nil && got != "somebody" {
		err = fmt.Errorf("the site takes the profile for %q", got)
	}
	return err
}

// answer adds the milliseconds until a client has an answer of a run's page. The client stays. The site still knows the profile then.
func (f *idleRuns) answer(ctx context.Context, r *idleRun, to *[]float64) error {
	took, err := clocked(func() (err error) {
		if r.client, err = attach(ctx, r.address); err != nil {
			return err
		}
		return r.answers(ctx, "done")
	})
	if err != nil {
		return err
	}
	*to = append(*to, took)
	return r.answers(ctx, `fetch("/who").then((r) => r.text())`)
}

// usages returns what each run's group has, in MiB, and whether all are frozen.
func (f *idleRuns) usages(ctx context.Context, of []*idleRun) (mib []float64, frozen bool, err error) {
	var list struct {
		Data []struct {
			ProfileID   string
			FrozenSince *string
			Usage       struct{ MemoryBytes int64 }
		}
	}
	if err := f.server.call(ctx, "GET", "/runs", nil, &list); err != nil {
		return nil, false, err
	}
	frozen = true
	for _, r := range of {
		for _, got := range list.Data {
			if got.ProfileID == r.profile {
				mib, frozen = append(mib, mebibytes(got.Usage.MemoryBytes)), frozen && got.FrozenSince != nil
			}
		}
	}
	if len(mib) != len(of) {
		return nil, false, fmt.Errorf("%d of %d runs are listed", len(mib), len(of))
	}
	return mib, frozen, nil
}

// note adds what each run's group has.
func (f *idleRuns) note(ctx context.Context, of []*idleRun, to *[]float64) error {
	mib, _, err := f.usages(ctx, of)
	*to = append(*to, mib...)
	return err
}

// awaitFrozen waits until runs are frozen, and their memory stays as it is.
func (f *idleRuns) awaitFrozen(ctx context.Context, of []*idleRun) error {
	before := math.Inf(1)
	for late := time.Now().Add(freezeWait); time.Now().Before(late); {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		mib, frozen, err := f.usages(ctx, of)
		if err != nil {
			return err
		}
		now := total(mib)
		if frozen && now > before-1 {
			return nil
		}
		if frozen {
			before = now
		}
	}
	return errors.New("the runs were not frozen")
}
