package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Tree is the part of the kernel's trees that belongs to a server. All runs' groups are in one group of that server.
type Tree struct {
	name    string
	kind    Kind
	dirs    map[string]string // the group of all runs, by controller
	support Support
}

// Open finds and prepares the server's part. name is the group of all its runs, such as "warren-3f2a": the same after a
// restart, and another one for each data folder. Version 2 may move this process and its siblings into a group "server".
// Open does not fail: Support says what there is.
func Open(name string) *Tree {
	mounts, _ := os.ReadFile("/proc/self/mountinfo") // without /proc there are no groups
	self, _ := os.ReadFile("/proc/self/cgroup")
	return open(name, findLayout(mounts, self))
}

func open(name string, l layout) *Tree {
	t := &Tree{name: name, kind: None}
	second := t.openV2(l)
	if second == nil {
		t.support = newSupport(V2, t.has, "the group above does not hand them down", delegateAdvice)
		return t
	}
	first := t.openV1(l)
	if first == nil {
		t.support = newSupport(V1, t.has, "their hierarchies cannot be written", v1Advice)
		return t
	}
	t.support = newSupport(None, t.has, oneLine(second)+"; "+oneLine(first), delegateAdvice)
	return t
}

// What to do where something is missing.
const (
	delegateAdvice = "run the server as a systemd unit with Delegate=yes, or for a trial: " +
		"systemd-run --user --scope -p Delegate=yes warren serve"
	v1Advice = "boot with version 2 (systemd.unified_cgroup_hierarchy=1), or let the server write these hierarchies"
)

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", ", ") }

func (t *Tree) has(controller string) bool { return t.dirs[controller] != "" }

// Look says what Open would find, and changes nothing: no process moves, and no group stays.
func Look() Support {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	self, _ := os.ReadFile("/proc/self/cgroup")
	return look(findLayout(mounts, self))
}

func look(l layout) Support {
	base, second := "", errors.New("version 2 is not mounted")
	if l.v2 != "" {
		base, second = baseV2(l)
	}
	if second == nil {
		offered, _ := words(filepath.Join(base, "cgroup.controllers"))
		has := func(c string) bool { return strings.Contains(" "+strings.Join(offered, " ")+" ", " "+c+" ") }
		if has(Memory) || has(PIDs) {
			return newSupport(V2, has, "the group above does not hand them down", delegateAdvice)
		}
		second = errors.New(base + " offers neither memory nor pids")
	}
	has := func(c string) bool { return l.v1[c] != "" && writable(l.v1[c]) }
	if has(Memory) || has(PIDs) {
		return newSupport(V1, has, "their hierarchies cannot be written", v1Advice)
	}
	first := errors.New("no hierarchy of version 1 with memory or pids can be written")
	return newSupport(None, func(string) bool { return false }, oneLine(second)+"; "+first.Error(), delegateAdvice)
}

// CanFreeze reports whether the groups of runs can be frozen. It may be called on nil.
func (t *Tree) CanFreeze() bool { return t.Group("").CanFreeze() }

// Counts reports whether the kernel counts memory and processor time of the runs' groups. It may be called on nil.
func (t *Tree) Counts() bool {
	return t != nil && t.has(Memory) && (t.kind == V2 || t.has(Account))
}

// Support says what runs get. It may be called on nil.
func (t *Tree) Support() Support {
	if t == nil {
		return Support{Kind: None, Missing: limiting()}
	}
	return t.support
}

// Create makes the group of one run, with its limits. It returns nil without an error where there are no groups. name
// is that of one folder. A group that is there already is taken over.
func (t *Tree) Create(name string, l Limits) (*Group, error) {
	if t == nil || t.kind == None {
		return nil, nil
	}
	g := t.Group(name)
	if err := t.mkdirs(g); err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	if err := g.Set(l); err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	g.setDiskShare(100)
	return g, nil
}

// mkdirs makes the folders of a run's group. The group of all runs may be gone: another server removes those that stay empty.
func (t *Tree) mkdirs(g *Group) (err error) {
	for range 3 {
		for _, dir := range g.dirs() {
			if err = mkdir(dir); err != nil {
				break
			}
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if failed := t.make(); failed != nil {
			return failed
		}
	}
	return err
}

// make makes the group of all runs, unless it is there.
func (t *Tree) make() error {
	for _, dir := range (&Group{Dirs: t.dirs}).dirs() {
		if err := mkdir(dir); err != nil {
			return err
		}
	}
	if t.kind == V2 {
		return enable(t.dirs[core], t.support.Controllers)
	}
	if dir := t.dirs[Memory]; dir != "" { // limits hold for a group with all below it, as in version 2
		_ = write(dir, "memory.use_hierarchy", "1") // newer kernels know nothing else
	}
	if dir := t.dirs[CPU]; dir != "" { // beside the processes of the group above, each of which counts like a group
		_ = write(dir, "cpu.shares", strconv.Itoa(defaultShares*numCPU()))
	}
	return nil
}

// treePrefix begins the names of the groups of all runs of a server.
const treePrefix = "warren-"

// staleAge is how long a group of another server's must have been empty before it is removed.
const staleAge = 24 * time.Hour

// RemoveStale removes the groups of other data folders' runs that have been empty for a day: servers that were killed
// leave them. Of a server that lives nothing is lost, since it makes its group again.
func (t *Tree) RemoveStale() (removed int) {
	if t == nil {
		return 0
	}
	for _, dir := range (&Group{Dirs: t.dirs}).dirs() {
		entries, _ := os.ReadDir(filepath.Dir(dir)) // what cannot be read cannot be removed
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || e.Name() == t.name || !isTree(e.Name()) || time.Since(info.ModTime()) < staleAge {
				continue
			}
			if unix.Rmdir(filepath.Join(filepath.Dir(dir), e.Name())) == nil { // fails for one with a run, or of another user
				removed++
			}
		}
	}
	return removed
}

// isTree reports whether a group has the name of one of all runs of a data folder.
func isTree(name string) bool {
	id, ok := strings.CutPrefix(name, treePrefix)
	return ok && len(id) == 8 && strings.Trim(id, "0123456789abcdef") == ""
}

// Group names a run's group, which need not be there; nil where there are none.
func (t *Tree) Group(name string) *Group {
	if t == nil {
		return nil
	}
	g := &Group{Version: t.kind, Dirs: map[string]string{}}
	for c, dir := range t.dirs {
		g.Dirs[c] = filepath.Join(dir, name)
	}
	return g
}

// Sweep kills and removes the groups of runs that keep does not know.
func (t *Tree) Sweep(keep func(name string) bool) (removed []string, err error) {
	if t == nil {
		return nil, nil
	}
	seen := map[string]bool{}
	for _, dir := range t.dirs {
		entries, _ := os.ReadDir(dir) // what cannot be read has no groups of ours
		for _, e := range entries {
			if e.IsDir() && !seen[e.Name()] && !keep(e.Name()) {
				seen[e.Name()] = true
			}
		}
	}
	for name := range seen {
		g := t.Group(name)
		if failed := errors.Join(g.Kill(), g.Remove()); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		removed = append(removed, name)
	}
	return removed, err
}

// Close removes the group of all runs if no run is left. Version 2's leaf stays: this process is in it.
func (t *Tree) Close() {
	if t == nil {
		return
	}
	for _, dir := range (&Group{Dirs: t.dirs}).dirs() {
		unix.Rmdir(dir) //nolint:errcheck // runs that go on keep it
	}
}

func numCPU() int { return runtime.NumCPU() }

// endTime bounds the wait for the processes of a group that were killed. The kernel frees their memory first.
const endTime = 5 * time.Second
