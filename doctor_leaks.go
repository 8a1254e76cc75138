package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"warren/leaks"
	"warren/runs"
	"warren/shim"
	"warren/store"
)

// leakFindings are the channels of a leak test without a server: direct, in a temporary folder.
func (d *doctorCommand) leakFindings(ctx context.Context) (out []finding, err error) {
	fail := func(err error) ([]finding, error) {
		return []finding{{Name: "leaks", Detail: "could not be looked for: " + err.Error()}}, errors.New("the leak test did not run")
	}
	private()
	installed, err := new(shim.Catalog).Default(ctx, d.places())
	if err != nil {
		return fail(err)
	}
	exe, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp(shortTemp(), "warren-leaks-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	channels, err := untilShown(runs.LeakTestTime, func(limit time.Duration) ([]leaks.Channel, error) {
		id := store.NewID()
		spec := shim.Spec{RunID: id, ProfileID: id, Name: runs.Name(id), BrowserPath: installed.Path,
			ProfileDir: filepath.Join(dir, "profile"), RunDir: filepath.Join(dir, "run"),
			ForOnce: true, Private: true, Protected: []string{dir}, Timeout: runs.LeakTestTime, Grace: runs.LeakTestGrace,
			MaxRun: runs.LeakTestTime + limit + runs.StopTime}
		_, channels, err := runs.RunLeakTest(ctx, exe, spec, limit, func() {})
		return channels, err
	})
	if err != nil {
		return fail(err)
	}
	var failed []string
	for _, c := range channels {
		f := finding{Name: c.Name, OK: c.Passed, Detail: c.Seen}
		if !c.Passed {
			failed = append(failed, c.Name)
		}
		out = append(out, f)
	}
	if len(failed) > 0 {
		return out, errors.New("not closed: " + strings.Join(failed, ", "))
	}
	return out, nil
}

// longestDoctorTest bounds the time of doctor's leak test.
const longestDoctorTest = 8 * time.Minute

// untilShown repeats a test with twice the limit while time runs out before a channel shows anything, since the machine is
// busy. It returns the last verdict.
func untilShown(limit time.Duration, try func(limit time.Duration) ([]leaks.Channel, error)) ([]leaks.Channel, error) {
	for ; ; limit *= 2 {
		channels, err := try(limit)
		short := slices.ContainsFunc(channels, func(c leaks.Channel) bool { return c.Undecided })
		if err != nil || !short || 2*limit > longestDoctorTest {
			return channels, err
		}
	}
}
