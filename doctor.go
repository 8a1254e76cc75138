package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
	Leaks   bool     `help:"Try every way out of a browser, in a throw-away profile without a proxy (a quarter of a minute, longer on a busy machine)."`
}

// finding is the result of one examination.
type finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"` // what to do, with the command
}

// Run examines the machine. It fails if no browser can start.
func (d *doctorCommand) Run(ctx context.Context, c *console) (err error) {
	if d.Data, err = dataDir(d.Data); err != nil {
		return err
	}
	isolated := shim.CheckIsolation()
	findings := []finding{d.browser(ctx), d.browsers(ctx), sandboxFinding(isolated), namespaceFinding(isolated),
		hiddenFinding(isolated), displayFinding(), shmFinding(), filesFinding(), clockFinding(), diskFinding(d.Data), dataFinding(d.Data)}
	var leaky error
	if d.Leaks && findings[0].OK {
		var more []finding
		more, leaky = d.leakFindings(ctx)
		findings = append(findings, more...)
	}
	if d.JSON {
		if err := printJSON(c.stdout, map[string]any{"findings": findings, "version": versionInfo()}); err != nil {
			return err
		}
	} else {
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

func (d *doctorCommand) browser(ctx context.Context) finding {
	b, err := new(shim.Catalog).Default(ctx, d.places())
	if err != nil {
		return finding{Name: "browser", Detail: "none was found", Advice: err.Error()}
	}
	return finding{Name: "browser", OK: true, Detail: fmt.Sprintf("%s %s at %s", b.Product, b.Version, b.Path)}
}

// browsers lists the builds for profiles that declare a version.
func (d *doctorCommand) browsers(ctx context.Context) finding {
	all, err := new(shim.Catalog).List(ctx, d.places())
	if err != nil {
		return finding{Name: "browsers", Detail: "none to choose from", Advice: "install the default one first"}
	}
	var each []string
	for _, b := range all {
		each = append(each, fmt.Sprintf("%s %s (%s)", b.Product, b.Version, b.Source))
	}
	return finding{Name: "browsers", OK: true, Detail: strings.Join(each, ", ")}
}

// places says where browsers are looked for. `warren browser list` reports a list of added ones that cannot be read.
func (d *doctorCommand) places() shim.Places {
	added, _ := runs.ReadAdded(d.Data)
	return runs.BrowserPlaces(d.Data, d.Browser, d.Folders, added)
}

// sandboxFinding reports whether Chrome runs with its own sandbox. As root it does only in a namespace, where root is an
// ordinary user.
func sandboxFinding(isolated error) finding {
	switch {
	case os.Geteuid() != 0:
		return finding{Name: "sandbox", OK: true, Detail: "on: warren does not run as root"}
	case isolated == nil:
		return finding{Name: "sandbox", OK: true, Detail: "on, also as root, which is an ordinary user inside a run's namespace"}
	}
	return finding{Name: "sandbox", Detail: "as root and without namespaces no browser is started: its sandbox would be off",
		Advice: "run warren as an ordinary user: useradd --create-home warren && su - warren -c 'warren serve'"}
}

// namespaceFinding reports whether the kernel isolates runs. It makes a namespace as a run does.
func namespaceFinding(isolated error) finding {
	if isolated == nil {
		return finding{Name: "isolation", OK: true, Detail: "namespace: the kernel keeps each run on its relay"}
	}
	if os.Geteuid() == 0 {
		return missingFinding("isolation", "none, and as root nothing is started without: ", isolated)
	}
	return missingFinding("isolation", "loopback: Chrome's flags keep each run on its relay, not the kernel: ", isolated)
}

// hiddenFinding reports whether the kernel hides the server's files from runs.
func hiddenFinding(isolated error) finding {
	hidden := isolated
	if hidden == nil {
		hidden = shim.CheckFiles()
	}
	if hidden == nil {
		return finding{Name: "files", OK: true, Detail: "namespace: a run sees neither the data folder nor other runs, whatever " +
			"happens in its browser"}
	}
	return missingFinding("files", "guard: commands of clients that lead to the data folder are refused, but the kernel does not "+
		"hide it: ", hidden)
}

// missingFinding says what there is instead of an isolation by the kernel, and why. Only Linux can isolate.
func missingFinding(name, instead string, err error) finding {
	f := finding{Name: name, OK: runtime.GOOS != "linux", Detail: instead + err.Error()}
	if why, ok := errors.AsType[*shim.Failure](err); ok {
		f.Detail, f.Advice = instead+why.Message, why.Advice
	}
	return f
}

func displayFinding() finding {
	if runs.HasDisplay() {
		return finding{Name: "display", OK: true, Detail: "there is one; profiles run headed unless told otherwise"}
	}
	return finding{Name: "display", OK: true, Detail: "none: profiles run headless"}
}

func clockFinding() finding {
	if y := time.Now().Year(); y < 2026 {
		return finding{Name: "clock", Detail: fmt.Sprintf("it is the year %d", y),
			Advice: "set the clock: TLS and key expiries depend on it"}
	}
	if name, set := os.LookupEnv("TZ"); set && runs.HostZone() == "" {
		return finding{Name: "clock", Detail: fmt.Sprintf("TZ=%q names no time zone and is ignored", name),
			Advice: "set TZ to an IANA name such as Europe/Berlin, or leave it out"}
	}
	zone, _ := time.Now().Zone()
	return finding{Name: "clock", OK: true, Detail: time.Now().Format(time.RFC3339) + " " + zone}
}

func diskFinding(dir string) finding {
	for !exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	free, err := runs.FreeBytes(dir)
	if err != nil {
		return finding{Name: "disk", OK: true, Detail: "not known on " + runtime.GOOS}
	}
	f := finding{Name: "disk", OK: free > 1<<30, Detail: fmt.Sprintf("%.1f GiB free at %s", float64(free)/(1<<30), dir)}
	if !f.OK {
		f.Advice = "free some space: a profile takes 10 to 500 MB"
	}
	return f
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func dataFinding(dir string) finding {
	info, err := os.Stat(dir)
	if os.IsNotExist(err) {
		return finding{Name: "data", OK: true, Detail: dir + " will be made by the first serve"}
	}
	if err != nil {
		return finding{Name: "data", Detail: err.Error(), Advice: "choose another folder with --data DIR"}
	}
	probe, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return finding{Name: "data", Detail: dir + " cannot be written",
			Advice: "give this user the right to write it, or choose another with --data DIR"}
	}
	probe.Close()
	os.Remove(probe.Name()) //nolint:errcheck // it was made a moment ago
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return finding{Name: "data", Detail: fmt.Sprintf("%s is open to others (%o)", dir, info.Mode().Perm()), Advice: "chmod 700 " + dir}
	}
	return finding{Name: "data", OK: true, Detail: dir}
}

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
		out = append(out, finding{Name: c.Name, OK: c.Passed, Detail: c.Seen})
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
