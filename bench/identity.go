package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"warren/browser"
)

// measureIdentity compares a browser with another identity (system, version, zone, language, place and screen) with
// the same one without. It measures the start, and a tab that a DevTools client opens, attaches to, navigates and
// evaluates in. The two folders change sides.
func (b *bench) measureIdentity(ctx context.Context) error {
	found, err := findSandboxed(ctx, "identity")
	if found == nil {
		return err
	}
	dir, err := b.shortDir("wbe")
	if err != nil {
		return err
	}
	spec := browser.Spec{Path: found.Path, Headless: true}
	other := spec
	other.Product, other.Version = found.Product, found.Version
	other.Identity = browser.Identity{OS: "win", Version: "124", Timezone: "America/New_York", Languages: []string{"de-DE", "de"},
		Geolocation: &browser.Geolocation{Latitude: 52.5, Longitude: 13.4, Accuracy: 50},
		Screen:      &browser.Screen{Width: 1920, Height: 1080, DeviceScaleFactor: 1}}
	one := func(s browser.Spec, which int) trial {
		return func(ctx context.Context, round int) ([]float64, error) {
			folder := strconv.Itoa((which + round) % 2)
			s.UserDataDir, s.TempDir = filepath.Join(dir, folder), filepath.Join(dir, "t"+folder)
			return startAndOpen(ctx, s)
		}
	}
	for round := range 2 { // warms both folders
		if _, err := one(spec, 0)(ctx, round); err != nil {
			return err
		}
	}
	got, err := b.play(ctx, "identity", 3*b.rounds, side{"told", one(other, 0)}, side{"not told", one(spec, 1)})
	if err != nil {
		return err
	}
	b.table = append(b.table,
		figure{name: "start with another identity, against without", unit: "ms", ours: got[0][0], floor: got[1][0], aim: 1.1},
		figure{name: "new tab with another identity, against without", unit: "ms", ours: got[0][1], floor: got[1][1], aim: 1.1})
	return nil
}

// findSandboxed finds the browser. It returns nil and says so if the browser cannot have its sandbox: as root without
// a namespace.
func findSandboxed(ctx context.Context, part string) (*browser.Installed, error) {
	found, err := browser.Find(ctx, "")
	if err != nil {
		return nil, err
	}
	if err := browser.CheckIsolation(); err != nil && os.Geteuid() == 0 {
		fmt.Fprintln(os.Stderr, part+": skipped,", err)
		return nil, nil
	}
	return &found, nil
}

// tabs is how many tabs are opened, one after the other; their mean counts.
const tabs = 20

// startAndOpen returns the milliseconds of a start and of a tab.
func startAndOpen(ctx context.Context, s browser.Spec) (took []float64, err error) {
	begun := time.Now()
	run, shut, err := startOffline(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, shut()) }()
	took = append(took, milliseconds(time.Since(begun)))
	defer run.Stop(ctx, false)
	gateway := httptest.NewServer(run.Gateway())
	defer gateway.Close()
	c, err := dialDevTools(ctx, gateway.URL)
	if err != nil {
		return nil, err
	}
	defer c.socket.CloseNow()           //nolint:errcheck // the round is over
	if err := c.open(ctx); err != nil { // the first tab warms up
		return nil, err
	}
	begun = time.Now()
	for range tabs {
		if err := c.open(ctx); err != nil {
			return nil, err
		}
	}
	return append(took, milliseconds(time.Since(begun))/tabs), nil
}
