package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"warren/store"
)

// loadTime is how long one side is under load per round.
const loadTime = 700 * time.Millisecond

// measureReads compares the server's CPU for reading one profile and a page of profiles.
func (b *bench) measureReads(ctx context.Context) error {
	data, err := b.filled(ctx)
	if err != nil {
		return err
	}
	ours, err := b.serve(ctx, data)
	if err != nil {
		return err
	}
	defer ours.stop()
	floor, err := b.role(ctx, "api-floor", "-db", filepath.Join(data, store.FileName), "-key", ours.key)
	if err != nil {
		return err
	}
	defer floor.stop()
	ids, err := someIDs(ctx, ours)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		path func() string
	}{
		{"get one of %d profiles", func() string { return "/api/v1/profiles/" + ids[rand.IntN(len(ids))] }},
		{"list page 1 (20) of %d profiles", func() string { return "/api/v1/profiles?workspaceId=default&page=1&limit=20" }},
	} {
		name := fmt.Sprintf(c.name, b.rows)
		read := func(server *child, prefix string) func(context.Context, int) ([]float64, error) {
			return func(ctx context.Context, _ int) ([]float64, error) {
				l, err := load(ctx, server, loadTime, 200, func(int) []byte {
					return request("GET", server.address, prefix+c.path(), ours.key, "")
				})
				return []float64{l.cpuMicros(), l.perSecond()}, err
			}
		}
		got, err := b.play(ctx, name, 3*b.rounds, side{"ours", read(ours.child, "")}, side{"floor", read(floor, "")},
			side{"floor, whole profiles", read(floor, "/whole")})
		if err != nil {
			return err
		}
		if canMeasureProcesses {
			b.table = append(b.table, figure{name: name + ": server CPU", unit: "µs", ours: got[0][0], floor: got[1][0], aim: 1.5},
				figure{name: "  the same, floor with whole profiles", unit: "µs", ours: got[0][0], floor: got[2][0]})
		}
		b.table = append(b.table, figure{name: name + ": requests", unit: "/s", ours: got[0][1], floor: got[1][1]})
	}
	return nil
}

// someIDs returns ids of profiles from all over the database.
func someIDs(ctx context.Context, w *warren) (ids []string, err error) {
	for range 50 {
		var page struct{ Data []struct{ ID string } }
		if err := w.call(ctx, "GET", fmt.Sprintf("/profiles?limit=200&page=%d", 1+rand.IntN(4)+len(ids)/50), nil, &page); err != nil {
			return nil, err
		}
		for _, p := range page.Data {
			ids = append(ids, p.ID)
		}
	}
	return ids, nil
}

// measureCreates compares profiles created per second. Both sides answer when the profile is on disk (synchronous
// FULL): ours commits in groups, the floor one by one.
func (b *bench) measureCreates(ctx context.Context) error {
	oursDir, err := b.data()
	if err != nil {
		return err
	}
	floorDir, err := b.data()
	if err != nil {
		return err
	}
	if err := newDatabase(ctx, floorDir); err != nil {
		return err
	}
	file := filepath.Join(floorDir, store.FileName)
	if err := fill(ctx, file, 1); err != nil {
		return err
	}
	ours, err := b.serve(ctx, oursDir)
	if err != nil {
		return err
	}
	defer ours.stop()
	floor, err := b.role(ctx, "api-floor", "-db", file, "-key", ours.key)
	if err != nil {
		return err
	}
	defer floor.stop()
	create := func(server *child) func(context.Context, int) ([]float64, error) {
		message := request("POST", server.address, "/api/v1/profiles", ours.key,
			`{"name":"Shop, Berlin","os":"linux","browserVersion":"156"}`)
		return func(ctx context.Context, _ int) ([]float64, error) {
			l, err := load(ctx, server, loadTime, 201, func(int) []byte { return message })
			return []float64{l.perSecond(), l.cpuMicros()}, err
		}
	}
	got, err := b.play(ctx, "create", 2*b.rounds, side{"ours", create(ours.child)}, side{"floor", create(floor)})
	if err != nil {
		return err
	}
	b.table = append(b.table, figure{name: "create, 32 callers, on disk before the answer", unit: "/s", ours: got[0][0], floor: got[1][0],
		aim: 10, atLeast: true})
	if canMeasureProcesses {
		b.table = append(b.table, figure{name: "  the same: server CPU", unit: "µs", ours: got[0][1], floor: got[1][1]})
	}
	return nil
}
