package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What it costs to read and write the cookies and the storage of profiles, running or not.
const (
	stateCookies   = 1000
	stateOrigins   = 1000
	stateItems     = 5 // of localStorage, for each origin
	movedProfiles  = 1000
	movedCookies   = 30
	writeSlack     = 300  // ms that a write of cookies may take beside a start
	readSlack      = 1000 // ms that a read may take beside a start
	originsReadAim = 5    // s
)

// keptState is the part with a server and three profiles: one gets many cookies, one has one, one has many origins.
type keptState struct {
	*bench
	server              *warren
	data, browser       string
	many, one, storage  string
	written, aside      []byte // storageStates of the many origins, which differ in every value
	readTime, writeTime float64
}

// measureState measures reads and writes of profiles' state.
func (b *bench) measureState(ctx context.Context) error {
	k := &keptState{bench: b, written: manyOrigins("a"), aside: manyOrigins("b")}
	var err error
	if k.data, err = b.data(); err == nil {
		k.server, err = b.serve(ctx, k.data)
	}
	if err != nil {
		return err
	}
	defer k.server.stop()
	for _, id := range []*string{&k.many, &k.one, &k.storage} {
		if *id, err = k.server.create(ctx, map[string]any{"name": "state", "snapshots": "off"}); err != nil {
			return err
		}
		if _, err := k.startAndStop(ctx, *id); err != nil {
			return err
		}
	}
	if err := k.put(ctx, k.one, "cookies", someCookies("one", 1)); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{k.measureCookies, k.measureMoves, k.measureOrigins, k.comparePlaywright} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// someCookies are cookies with a value, ten of each host.
func someCookies(value string, n int) []map[string]any {
	all := make([]map[string]any, n)
	for i := range all {
		all[i] = map[string]any{"name": fmt.Sprint("c", i), "value": value, "domain": fmt.Sprintf("h%d.example", i/10), "path": "/",
			"expires": time.Now().AddDate(0, 6, 0).Unix(), "httpOnly": true, "secure": true, "sameSite": "Lax"}
	}
	return all
}

// manyOrigins is a storageState of many origins with localStorage.
func manyOrigins(value string) []byte {
	type item struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	type origin struct {
		Origin       string `json:"origin"`
		LocalStorage []item `json:"localStorage"`
	}
	all := make([]origin, stateOrigins)
	for i := range all {
		all[i].Origin = fmt.Sprintf("https://site%d.example", i)
		for j := range stateItems {
			all[i].LocalStorage = append(all[i].LocalStorage, item{fmt.Sprint("k", j), strings.Repeat(value, 50)})
		}
	}
	text, _ := json.Marshal(map[string]any{"cookies": []any{}, "origins": all}) // always valid
	return text
}

// startAndStop returns the milliseconds of a start, and of a start and a stop.
func (k *keptState) startAndStop(ctx context.Context, id string) ([]float64, error) {
	begun := time.Now()
	if err := k.server.call(ctx, "POST", "/profiles/"+id+"/start", struct{}{}, nil); err != nil {
		return nil, err
	}
	started := milliseconds(time.Since(begun))
	err := k.server.call(ctx, "POST", "/profiles/"+id+"/stop", struct{}{}, nil)
	return []float64{started, milliseconds(time.Since(begun))}, err
}

// put writes a part of a profile's state: all of it, or none.
func (k *keptState) put(ctx context.Context, id, part string, body any) error {
	var done struct{ Refused, Failed []any }
	err := k.server.call(ctx, "PUT", "/profiles/"+id+"/"+part, body, &done)
	if err == nil && len(done.Refused)+len(done.Failed) > 0 {
		err = fmt.Errorf("refused are %v, and failed %v", done.Refused, done.Failed)
	}
	return err
}

// clocked returns how many milliseconds work takes.
func clocked(work func() error) (float64, error) {
	begun := time.Now()
	err := work()
	return milliseconds(time.Since(begun)), err
}

// measureCookies compares a write of many cookies and a read of one with starts and stops.
func (k *keptState) measureCookies(ctx context.Context) error {
	write := func(ctx context.Context, round int) ([]float64, error) {
		cookies := someCookies(fmt.Sprint("round", round), stateCookies)
		took, err := clocked(func() error { return k.put(ctx, k.many, "cookies", cookies) })
		return []float64{took}, err
	}
	read := func(ctx context.Context, _ int) ([]float64, error) {
		var have []any
		took, err := clocked(func() error { return k.server.call(ctx, "GET", "/profiles/"+k.one+"/cookies", nil, &have) })
		if err == nil && len(have) != 1 {
			err = fmt.Errorf("there are %d cookies, not one", len(have))
		}
		return []float64{took}, err
	}
	start := func(ctx context.Context, _ int) ([]float64, error) {
		took, err := k.startAndStop(ctx, k.one)
		return append(took, took[0]+writeSlack, took[0]+readSlack), err
	}
	got, err := k.play(ctx, "cookies", k.rounds, side{"write", write}, side{"read", read}, side{"start and stop", start})
	if err != nil {
		return err
	}
	k.table = append(k.table,
		figure{name: "1,000 cookies into a stopped profile, beside a start", unit: "ms", ours: got[0][0], floor: got[2][0]},
		figure{name: "  the same, beside a start and 0.3 s", unit: "ms", ours: got[0][0], floor: got[2][2], aim: 1},
		figure{name: "one cookie of a stopped profile, beside a start and a stop", unit: "ms", ours: got[1][0], floor: got[2][1]},
		figure{name: "  the same, beside a start and 1 s", unit: "ms", ours: got[1][0], floor: got[2][3], aim: 1})
	return nil
}

// measureMoves imports profiles of another product, with their cookies.
func (k *keptState) measureMoves(ctx context.Context) error {
	profiles := make([]map[string]any, movedProfiles)
	for i := range profiles {
		profiles[i] = map[string]any{"id": fmt.Sprintf("%024x", i), "name": fmt.Sprint("moved ", i), "os": "win",
			"navigator": map[string]any{"platform": "Win32"}, "cookies": someCookies(fmt.Sprint("v", i), movedCookies)}
	}
	var took, busy []float64
	for range min(3, k.rounds) {
		progress("state: import of %d profiles", movedProfiles)
		var done struct{ Created int }
		before := cpu(k.server.pid())
		ms, err := clocked(func() error {
			return k.server.call(ctx, "POST", "/profiles/import", map[string]any{"profiles": profiles}, &done)
		})
		if err == nil && done.Created != movedProfiles {
			err = fmt.Errorf("%d profiles came of %d", done.Created, movedProfiles)
		}
		if err != nil {
			return err
		}
		took, busy = append(took, ms/1000), append(busy, (cpu(k.server.pid())-before).Seconds())
	}
	k.table = append(k.table, figure{name: "import of 1,000 profiles with 30 cookies each", unit: "s", ours: took},
		figure{name: "  the same: server CPU", unit: "s", ours: busy})
	return nil
}

// readOrigins reads the storage of the many origins as it was first written, and returns the seconds that it takes.
func (k *keptState) readOrigins(ctx context.Context) (float64, error) {
	var got struct{ Origins []json.RawMessage }
	ms, err := clocked(func() error {
		return k.server.call(ctx, "GET", "/profiles/"+k.storage+"/storage-state?indexedDB=false", nil, &got)
	})
	if err != nil {
		return 0, err
	}
	text, err := json.Marshal(got.Origins)
	if n := strings.Count(string(text), strings.Repeat("a", 50)); err == nil && n != stateOrigins*stateItems {
		err = fmt.Errorf("the state has %d values of %d", n, stateOrigins*stateItems)
	}
	return ms / 1000, err
}

func (k *keptState) writeOrigins(ctx context.Context, text []byte) (float64, error) {
	ms, err := clocked(func() error { return k.put(ctx, k.storage, "storage-state", json.RawMessage(text)) })
	return ms / 1000, err
}

// measureOrigins writes and reads the storage of many origins, of a profile that does not run and of one that runs. What visits each origin
// is measured once.
func (k *keptState) measureOrigins(ctx context.Context) (err error) {
	progress("state: %d origins", stateOrigins)
	if k.writeTime, err = k.writeOrigins(ctx, k.written); err != nil {
		return err
	}
	var reads []float64
	for range k.rounds {
		if k.readTime, err = k.readOrigins(ctx); err != nil {
			return err
		}
		reads = append(reads, k.readTime)
	}
	var run struct{ Browser struct{ Path string } }
	if err := k.server.call(ctx, "POST", "/profiles/"+k.storage+"/start", struct{}{}, &run); err != nil {
		return err
	}
	k.browser = run.Browser.Path
	runningRead, err := k.readOrigins(ctx)
	if err != nil {
		return err
	}
	runningWrite, err := k.writeOrigins(ctx, k.aside)
	if err != nil {
		return err
	}
	aim := make([]float64, len(reads))
	for i := range aim {
		aim[i] = originsReadAim
	}
	k.table = append(k.table, figure{name: "1,000 origins with localStorage: read, stopped", unit: "s", ours: reads, floor: aim, aim: 1},
		figure{name: "  written, stopped", unit: "s", ours: []float64{k.writeTime}},
		figure{name: "  read, running", unit: "s", ours: []float64{runningRead}},
		figure{name: "  written, running", unit: "s", ours: []float64{runningWrite}})
	return k.server.call(ctx, "POST", "/profiles/"+k.storage+"/stop", struct{}{}, nil)
}

// comparePlaywright has Playwright set and read the same state, in a context on a copy of the profile's folder. It reads only origins that
// this context has set or visited, so that it sets them first.
func (k *keptState) comparePlaywright(ctx context.Context) error {
	p := pinned()
	p.bench = k.bench
	one := p.playwright
	progress("fetching %s", one)
	if one.err = p.fetchLibraries(ctx, &one); p.lacks("1,000 origins with localStorage", one) {
		return ctx.Err()
	}
	chrome := filepath.Join(k.data, "profiles", k.storage, "chrome")
	folder, file := filepath.Join(k.dir, "copied"), filepath.Join(k.dir, "state.json")
	if err := errors.Join(os.CopyFS(folder, os.DirFS(chrome)), os.WriteFile(file, k.written, 0o600)); err != nil {
		return err
	}
	d, err := newDriver(p.drive)
	if err != nil {
		return err
	}
	defer d.stop() //nolint:errcheck // its answers were read
	progress("state: Playwright sets and reads %d origins", stateOrigins)
	var took struct {
		Set, Read float64
		Origins   int
	}
	if err := d.ask("storage", map[string]string{"browser": k.browser, "folder": folder, "file": file}, &took); err != nil {
		return err
	}
	if took.Origins != stateOrigins {
		return fmt.Errorf("%s reads %d origins of %d", one, took.Origins, stateOrigins)
	}
	p.compare(one, [][]float64{{k.writeTime}, {k.readTime}}, [][]float64{{took.Set / 1000}, {took.Read / 1000}},
		peerFigure{work: "1,000 origins with localStorage, written to a stopped profile", unit: "s"},
		peerFigure{work: "1,000 origins with localStorage, read from a stopped profile", unit: "s"})
	return nil
}
