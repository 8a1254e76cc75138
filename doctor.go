package main

import (
	"context"
	"errors"
	"fmt"
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

type doctorCommand struct {
	Data    string   `env:"WARREN_DATA" placeholder:"DIR" help:"The data folder to look at."`
	Browser string   `env:"WARREN_BROWSER" placeholder:"PATH" help:"The browser to look at."`
	JSON    bool     `name:"json" env:"WARREN_JSON" help:"Print JSON."`
	Folders []string `name:"browsers" env:"WARREN_BROWSERS" placeholder:"DIR" help:"Folders below which more builds lie."`
	databaseFlag
	Leaks bool `help:"Try every way out of a browser, in a throw-away profile without a proxy (a quarter of a minute, longer on a busy machine)."`
}

// Run examines the machine. It fails if no browser can start.
func (d *doctorCommand) Run(ctx context.Context, c *console) (err error) {
	if d.Data, err = dataDir(d.Data); err != nil {
		return err
	}
	if err := d.check(); err != nil {
		return err
	}
	findings := d.examination().Findings(ctx)
	if d.Store != "" {
		findings = append(findings, databaseFinding(ctx, d.Store))
	}
	var leaky error
	if d.Leaks && findings[0].OK {
		var more []runs.Finding
		more, leaky = d.leakFindings(ctx)
		findings = append(findings, more...)
	}
	if d.JSON {
		if err := printJSON(c.stdout, map[string]any{"findings": findings, "version": versionInfo()}); err != nil {
			return err
		}
	} else {
		v := versionInfo()
		fmt.Fprintf(c.stdout, "ok  %-12s %s, commit %s, %s\n", "warren", v["version"], v["commit"], v["go"])
		width := 12
		for _, f := range findings {
			width = max(width, len(f.Name))
		}
		for _, f := range findings {
			mark := "ok  "
			if !f.OK {
				mark = "!!  "
			}
			fmt.Fprintf(c.stdout, "%s%-*s %s\n", mark, width, f.Name, f.Detail)
			if f.Advice != "" {
				fmt.Fprintf(c.stdout, "    %-*s %s\n", width, "", strings.ReplaceAll(f.Advice, "\n", "\n    "+strings.Repeat(" ", width+1)))
			}
		}
	}
	if !findings[0].OK {
		return fmt.Errorf("no browser was found")
	}
	return leaky
}

func (d *doctorCommand) examination() runs.Examination {
	return runs.Examination{Data: d.Data, Browser: d.Browser, Folders: d.Folders}
}

// leakFindings are the channels of a leak test without a server: direct, in a temporary folder.
func (d *doctorCommand) leakFindings(ctx context.Context) (out []runs.Finding, err error) {
	fail := func(err error) ([]runs.Finding, error) {
		return []runs.Finding{{Name: "leaks", Detail: "could not be looked for: " + err.Error()}}, errors.New("the leak test did not run")
	}
	private()
	installed, err := new(shim.Catalog).Default(ctx, d.examination().Places())
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
		out = append(out, runs.Finding{Name: c.Name, OK: c.Passed, Detail: c.Seen})
		if !c.Passed {
			failed = append(failed, c.Name)
		}
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
