package tests

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"warren/testnet"
)

// Disks that are full or fail: every change that a request makes fails once, on a disk of the test's own.

// diskFault is a way to fail.
type diskFault struct {
	name  string
	errno unix.Errno
	stays bool     // it fails from then on, and not once
	kinds []string // of changes; none: all
}

func diskFaults() []diskFault {
	return []diskFault{
		{"full", unix.ENOSPC, true, []string{"create", "link", "write"}},
		{"failing once", unix.EIO, false, nil},
		{"failing", unix.EIO, true, nil},
	}
}

// applies reports whether a change can fail so. Nobody waits for what is shared in memory.
func (f diskFault) applies(c testnet.Change) bool {
	return (f.kinds == nil || slices.Contains(f.kinds, c.Kind)) && !strings.HasSuffix(c.Name, "-shm")
}

// attempt is a request of which every change fails once.
type attempt struct {
	name    string
	prepare func(p *powered, o *owned)              // nil: nothing
	do      func(p *powered, o *owned) (status int) // 0 is a success of a command, and 1 is its failure
	undone  func(p *powered, o *owned) error        // nil after do failed, when nothing is half done
}

func (p *powered) ask(method, path string, in any) int {
	r, err := p.try(method, path, in)
	if err != nil {
		p.t.Errorf("%s %s: %v", method, path, err)
		return 0
	}
	var problem problemView
	if r.status >= 400 && (json.Unmarshal(r.body, &problem) != nil || problem.Code == "") {
		p.t.Errorf("%s %s answered %d %s", method, path, r.status, r.body)
	}
	return r.status
}

// attempts is one long table, and reads best as one.
func attempts() []attempt {
	named := func(p *powered, name string) (n int) {
		var list struct{ Total int }
		p.do("GET", "/profiles?search="+name, nil, 200, &list)
		return list.Total
	}
	write := func(p *powered, o *owned) { p.write(o, fmt.Sprint("text ", p.disk.Steps())) }
	kept := func(p *powered, o *owned) {
		write(p, o)
		p.snapshot(o)
	}
	data := func(p *powered, o *owned) error { return (&recovered{dir: p.disk.Dir}).holdsText(o.id, o.text) }
	return []attempt{
		{name: "backup", prepare: kept,
			do: func(p *powered, o *owned) int {
				cmd := p.command("backup", "--data", p.data, filepath.Join(p.disk.Dir, "backups"))
				_ = cmd.Run() //nolint:errcheck // its code says it
				return cmd.ProcessState.ExitCode()
			},
			undone: func(p *powered, o *owned) error { return nil }},
		{name: "create",
			do: func(p *powered, o *owned) int {
				return p.ask("POST", "/profiles", map[string]any{"name": "made-" + o.id})
			},
			undone: func(p *powered, o *owned) error { return unlessNone(named(p, "made-"+o.id)) }},
		{name: "change",
			do: func(p *powered, o *owned) int {
				return p.ask("PUT", "/profiles/"+o.id, map[string]any{"name": "renamed-" + o.id, "notes": strings.Repeat("n", 9000)})
			},
			undone: func(p *powered, o *owned) error { return unlessNone(named(p, "renamed-"+o.id)) }},
		{name: "snapshot", prepare: write,
			do:     func(p *powered, o *owned) int { return p.ask("POST", "/profiles/"+o.id+"/snapshots", nil) },
			undone: func(p *powered, o *owned) error { return unlessNone(len(p.snapshots(o.id)) - len(o.texts)) }},
		{name: "roll-back", prepare: func(p *powered, o *owned) { kept(p, o); write(p, o) },
			do: func(p *powered, o *owned) int {
				return p.ask("POST", "/profiles/"+o.id+"/rollback", map[string]any{"snapshotId": o.newest})
			},
			undone: func(p *powered, o *owned) error {
				if !p.dead {
					return data(p, o)
				}
				// No rename back was possible either. The next use makes the folder the old one or the new one, and whole.
				p.do("POST", "/profiles/"+o.id+"/snapshots", nil, 201, nil)
				if data(p, o) == nil {
					return nil
				}
				o.text = o.texts[o.newest]
				return data(p, o)
			}},
		{name: "clone", prepare: kept,
			do: func(p *powered, o *owned) int {
				return p.ask("POST", "/profiles/"+o.id+"/clone", map[string]any{"name": "clone-" + o.id, "count": 2, "withData": true})
			},
			undone: func(p *powered, o *owned) error { return unlessNone(named(p, "clone-"+o.id)) }},
		{name: "purge", prepare: kept,
			do: func(p *powered, o *owned) int { return p.ask("DELETE", "/profiles/"+o.id+"?permanent=true", nil) },
			undone: func(p *powered, o *owned) error {
				p.do("GET", "/profiles/"+o.id, nil, 200, nil)
				p.do("POST", "/profiles/"+o.id+"/snapshots", nil, 201, nil) // sets the folder right
				return data(p, o)
			}},
	}
}

func unlessNone(n int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d are there", n)
}

// TestDiskFaults: when a disk is full or fails, the answer says so and nothing is half done, whichever change it is that fails. The same
// request succeeds when the disk works again. Every ninth change fails, from a random one on; with WARREN_DISK_FAULTS each.
func TestDiskFaults(t *testing.T) {
	needFile(t)
	stride := int64(9)
	if os.Getenv("WARREN_DISK_FAULTS") != "" {
		stride = 1
	}
	g := newTestbed(t)
	disk := testnet.NewDisk(t)
	g.data = filepath.Join(disk.Dir, "data")
	p := &powered{liveServer: g.serve("--browser", g.script("ends", "exit 1")), disk: disk}
	for _, fault := range diskFaults() {
		for _, a := range attempts() {
			failed := 0
			for n := 1 + rand.Int64N(stride); ; n += stride {
				reached, refused := p.failAt(t, fault, a, n)
				if !reached {
					break
				}
				if refused {
					failed++
				}
			}
			if stride == 1 {
				t.Logf("%s, %s: %d answers said so", a.name, fault.name, failed)
			}
			if failed == 0 && stride == 1 {
				t.Errorf("%s on a disk that is %s never failed", a.name, fault.name)
			}
		}
	}
	for range 2 { // the next one removes what could not be
		if code := p.terminate(); code != 0 {
			t.Errorf("the server ended with %d", code)
		}
		p.liveServer = g.serve()
	}
	p.terminate()
	out, err := g.command("check", "--read-all", "--data", g.data).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = exec.Command("find", filepath.Join(g.data, "profiles"), "-maxdepth", "1", "-name", "*.*").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("left over: %v\n%s", err, out)
	}
}

// failAt makes one request whose nth change fails. reached is whether it made so many.
func (p *powered) failAt(t *testing.T, fault diskFault, a attempt, n int64) (reached, refused bool) {
	t.Helper()
	o := &owned{id: p.profile(nil), kept: map[string]*fact{}, texts: map[string]string{}}
	if a.prepare != nil {
		a.prepare(p, o)
	}
	p.dead = fault.errno == unix.EIO && fault.stays
	var seen atomic.Int64
	var what atomic.Value
	p.disk.Fail(func(c testnet.Change) unix.Errno {
		if !fault.applies(c) {
			return 0
		}
		at := seen.Add(1)
		if at == n {
			what.Store(c)
		}
		if at == n || at > n && fault.stays {
			return fault.errno
		}
		return 0
	})
	status := a.do(p, o)
	p.disk.Fail(nil)
	reached = seen.Load() >= n
	refused = status == 1 || status >= 300
	where := fmt.Sprintf("%s, %s from change %d on (%v): %d", a.name, fault.name, n, what.Load(), status)
	if refused && status != 1 && status != 507 && status != 503 || status == 503 && fault.errno == unix.ENOSPC {
		t.Errorf("%s", where)
	}
	if !refused {
		return reached, false
	}
	if err := a.undone(p, o); err != nil {
		t.Errorf("%s: %v", where, err)
	}
	if again := a.do(p, o); again == 1 || again >= 300 {
		t.Errorf("%s: once the disk works again it answers %d", where, again)
	}
	return reached, true
}
