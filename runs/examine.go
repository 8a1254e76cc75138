package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"warren/cgroup"
	"warren/shim"
)

// Examines the machine: what browsers, isolation and space it has, and what to do about what it lacks.

// Finding is the result of one examination.
type Finding struct {
	Name   string `json:"name" example:"disk"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail" doc:"What was seen." example:"120.5 GiB free at /var/lib/warren"`
	Advice string `json:"advice,omitempty" doc:"What to do, with the command."`
}

// Examination names what to examine.
type Examination struct {
	Data    string   // path of the data folder; it need not exist
	Browser string   // the path of --browser; empty: the first one found
	Folders []string // those of --browsers

	Groups *cgroup.Support // what a server has; nil: what one that starts now would have
}

// Examine examines the machine of this server.
func (m *Manager) Examine(ctx context.Context) []Finding {
	return Examination{m.cfg.Data, m.cfg.Browser, m.cfg.Browsers, new(m.groups.tree.Support())}.Findings(ctx)
}

// Findings examines the machine. The first finding is the default browser: without it nothing starts.
func (e Examination) Findings(ctx context.Context) []Finding {
	isolated := shim.CheckIsolation()
	groups := e.Groups
	if groups == nil {
		groups = new(cgroup.Look())
	}
	found, path := e.browser(ctx)
	return []Finding{found, e.browsers(ctx), sandboxFinding(os.Geteuid() == 0, isolated, canSandbox(path)), namespaceFinding(isolated),
		hiddenFinding(isolated), displayFinding(), shmFinding(), filesFinding(), clockFinding(), diskFinding(e.Data), dataFinding(e.Data),
		groupsFinding(*groups)}
}

// browser reports the default browser, and where it lies.
func (e Examination) browser(ctx context.Context) (Finding, string) {
	b, err := new(shim.Catalog).Default(ctx, e.Places())
	if err != nil {
		return Finding{Name: "browser", Detail: "none was found", Advice: err.Error()}, ""
	}
	return Finding{Name: "browser", OK: true, Detail: fmt.Sprintf("%s %s at %s", b.Product, b.Version, b.Path)}, b.Path
}

// browsers lists the builds for profiles that declare a version.
func (e Examination) browsers(ctx context.Context) Finding {
	all, err := new(shim.Catalog).List(ctx, e.Places())
	if err != nil {
		return Finding{Name: "browsers", Detail: "none to choose from", Advice: "install the default one first"}
	}
	var each []string
	for _, b := range all {
		each = append(each, fmt.Sprintf("%s %s (%s)", b.Product, b.Version, b.Source))
	}
	return Finding{Name: "browsers", OK: true, Detail: strings.Join(each, ", ")}
}

// Places says where browsers are looked for. `warren browser list` reports a list of added ones that cannot be read.
func (e Examination) Places() shim.Places {
	added, _ := ReadAdded(e.Data)
	return BrowserPlaces(e.Data, e.Browser, e.Folders, added)
}

// sandboxFinding reports whether Chrome runs with its own sandbox. As root it does only in a namespace, where root is an ordinary user.
// possible says whether an ordinary user's Chrome can make one by itself.
func sandboxFinding(root bool, isolated error, possible bool) Finding {
	switch {
	case root && isolated == nil:
		return Finding{Name: "sandbox", OK: true, Detail: "on, also as root, which is an ordinary user inside a run's namespace"}
	case root:
		return Finding{Name: "sandbox", Detail: "as root and without namespaces no browser is started: its sandbox would be off",
			Advice: "run warren as an ordinary user: useradd --create-home warren && su - warren -c 'warren serve'"}
	case isolated != nil && !possible:
		return Finding{Name: "sandbox", Detail: "Chrome does not start: it can make no sandbox without user namespaces, and has no " +
			"helper that makes it as root (chrome-sandbox)", Advice: "allow user namespaces, as isolation below says"}
	}
	return Finding{Name: "sandbox", OK: true, Detail: "on: warren does not run as root"}
}

// namespaceFinding reports whether the kernel isolates  It makes a namespace as a run does.
func namespaceFinding(isolated error) Finding {
	if isolated == nil {
		return Finding{Name: "isolation", OK: true, Detail: "namespace: the kernel keeps each run on its relay"}
	}
	if os.Geteuid() == 0 {
		return missingFinding("isolation", "none, and as root nothing is started without: ", isolated)
	}
	return missingFinding("isolation", "loopback: Chrome's flags keep each run on its relay, not the kernel: ", isolated)
}

// hiddenFinding reports whether the kernel hides the server's files from
func hiddenFinding(isolated error) Finding {
	hidden := isolated
	if hidden == nil {
		hidden = shim.CheckFiles()
	}
	if hidden == nil {
		return Finding{Name: "files", OK: true, Detail: "namespace: a run sees neither the data folder nor other runs, whatever " +
			"happens in its browser"}
	}
	return missingFinding("files", "guard: commands of clients that lead to the data folder are refused, but the kernel does not "+
		"hide it: ", hidden)
}

// missingFinding says what there is instead of an isolation by the kernel, and why. Only Linux can isolate.
func missingFinding(name, instead string, err error) Finding {
	f := Finding{Name: name, OK: runtime.GOOS != "linux", Detail: instead + err.Error()}
	if why, ok := errors.AsType[*shim.Failure](err); ok {
		f.Detail, f.Advice = instead+why.Message, why.Advice
	}
	return f
}

func displayFinding() Finding {
	if HasDisplay() {
		return Finding{Name: "display", OK: true, Detail: "there is one; profiles run headed unless told otherwise"}
	}
	return Finding{Name: "display", OK: true, Detail: "none: profiles run headless"}
}

func clockFinding() Finding {
	if y := time.Now().Year(); y < 2026 {
		return Finding{Name: "clock", Detail: fmt.Sprintf("it is the year %d", y),
			Advice: "set the clock: TLS and key expiries depend on it"}
	}
	if name, set := os.LookupEnv("TZ"); set && HostZone() == "" {
		return Finding{Name: "clock", Detail: fmt.Sprintf("TZ=%q names no time zone and is ignored", name),
			Advice: "set TZ to an IANA name such as Europe/Berlin, or leave it out"}
	}
	zone, _ := time.Now().Zone()
	return Finding{Name: "clock", OK: true, Detail: time.Now().Format(time.RFC3339) + " " + zone}
}

// there reports whether a path exists.
func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func diskFinding(dir string) Finding {
	for !there(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	free, err := FreeBytes(dir)
	if err != nil {
		return Finding{Name: "disk", OK: true, Detail: "not known on " + runtime.GOOS}
	}
	f := Finding{Name: "disk", OK: free > 1<<30, Detail: fmt.Sprintf("%.1f GiB free at %s", float64(free)/(1<<30), dir)}
	if !f.OK {
		f.Advice = "free some space: a profile takes 10 to 500 MB"
	}
	return f
}

func dataFinding(dir string) Finding {
	info, err := os.Stat(dir)
	if os.IsNotExist(err) {
		return Finding{Name: "data", OK: true, Detail: dir + " will be made by the first serve"}
	}
	if err != nil {
		return Finding{Name: "data", Detail: err.Error(), Advice: "choose another folder with --data DIR"}
	}
	probe, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return Finding{Name: "data", Detail: dir + " cannot be written",
			Advice: "give this user the right to write it, or choose another with --data DIR"}
	}
	probe.Close()
	os.Remove(probe.Name()) //nolint:errcheck // it was made a moment ago
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return Finding{Name: "data", Detail: fmt.Sprintf("%s is open to others (%o)", dir, info.Mode().Perm()), Advice: "chmod 700 " + dir}
	}
	return Finding{Name: "data", OK: true, Detail: dir}
}

// groupsFinding says what runs can be limited in.
func groupsFinding(s cgroup.Support) Finding {
	return Finding{Name: "limits", OK: len(s.Missing) == 0, Detail: s.String(), Advice: s.Advice}
}
