package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"warren/cgroup"
)

// groupsAim is the time of a start with a control group, beside one without.
const groupsAim = 1.02

// measureGroups compares the starts of two servers: one whose runs have control groups, and one that cannot see the kernel's.
func (b *bench) measureGroups(ctx context.Context) error {
	if found := cgroup.Look(); found.Kind == cgroup.None || !canHideGroups() {
		fmt.Fprintln(os.Stderr, "groups: skipped, it needs root and control groups;", found)
		return nil
	}
	with, err := b.serveOne(ctx, true)
	if err != nil {
		return err
	}
	defer with.server.stop()
	without, err := b.serveOne(ctx, false, b.exe, "without-groups")
	if err != nil {
		return err
	}
	defer without.server.stop()
	got, err := b.play(ctx, "groups", 6*b.rounds, side{"with", with.timed}, side{"without", without.timed})
	if err != nil {
		return err
	}
	b.table = append(b.table, figure{name: "start in a control group, against without", unit: "ms", ours: got[0][0], floor: got[1][0],
		aim: groupsAim})
	return nil
}

// oneProfile is a server with a profile to start again and again.
type oneProfile struct {
	*starts
	id string
}

// serveOne starts a server, and its profile until the folder is warm. It fails unless the run has a control group, or has none, as it
// should.
func (b *bench) serveOne(ctx context.Context, grouped bool, before ...string) (*oneProfile, error) {
	data, err := b.data()
	if err != nil {
		return nil, err
	}
	w, err := b.serve(ctx, data, before...)
	if err != nil {
		return nil, err
	}
	o := &oneProfile{starts: &starts{bench: b, server: w}}
	if o.id, err = w.create(ctx, map[string]any{"name": "bench"}); err != nil {
		return nil, err
	}
	for range 2 {
		var list struct {
			Data []struct{ Usage struct{ MemoryKind string } }
		}
		if err := errors.Join(o.start(ctx, o.id, "off"), w.call(ctx, "GET", "/runs", nil, &list), o.stop(ctx, o.id)); err != nil {
			return nil, err
		}
		if len(list.Data) != 1 || (list.Data[0].Usage.MemoryKind == "cgroup") != grouped {
			return nil, fmt.Errorf("the run's control group is not as it should be: %+v", list.Data)
		}
	}
	return o, nil
}

// timed returns the milliseconds of a start.
func (o *oneProfile) timed(ctx context.Context, _ int) ([]float64, error) {
	begun := time.Now()
	if err := o.start(ctx, o.id, "off"); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	return []float64{milliseconds(took)}, o.stop(ctx, o.id)
}
