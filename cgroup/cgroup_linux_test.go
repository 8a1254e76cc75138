package cgroup

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"warren/testnet"
)

// helper in the environment makes the test binary a small program that runs in a group.
const helper = "CGROUP_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helper) {
	case "":
		os.Exit(m.Run())
	case "eat": // memory, until the kernel ends it
		for all := [][]byte{}; ; {
			all = append(all, bytes.Repeat([]byte{1}, 1<<20))
		}
	case "hold": // 40 MiB, and the line that says so
		held := bytes.Repeat([]byte{1}, 40<<20)
		os.Stdout.WriteString("held\n") //nolint:errcheck // the test waits for it
		_, _ = os.Stdin.Read(held[:1])
	case "work": // half a second of processor time
		var u unix.Rusage
		for u.Utime.Nano()+u.Stime.Nano() < 5e8 {
			_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
		}
		os.Stdout.WriteString("worked\n") //nolint:errcheck // the test waits for it
		_, _ = os.Stdin.Read(make([]byte, 1))
	}
}

// tree makes a part of the kernel's tree for a test. Where the machine lets this user make none, the test is skipped.
func tree(t *testing.T) *Tree {
	t.Helper()
	tr := Open("warren-test-" + strconv.Itoa(os.Getpid()) + "-" + strings.ToLower(t.Name()))
	t.Log(tr.Support())
	if tr.Support().Kind == None {
		t.Skip("no group can be made: ", tr.Support().Reason)
	}
	t.Cleanup(func() {
		if _, err := tr.Sweep(func(string) bool { return false }); err != nil {
			t.Error(err)
		}
		tr.Close()
		for _, dir := range tr.dirs {
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left", dir)
			}
		}
	})
	return tr
}

func create(t *testing.T, tr *Tree, name string, l Limits) *Group {
	t.Helper()
	g, err := tr.Create(name, l)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// program is a helper in a group.
type program struct {
	*exec.Cmd
	in, out *os.File
}

// start starts a helper in a group, as a run's process starts its browser.
func start(t *testing.T, g *Group, what string) program {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), helper+"="+what, "GOMAXPROCS=2")
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout = in, w
	leave, err := g.Enter()
	if err == nil {
		err = errors.Join(cmd.Start(), leave())
	}
	w.Close()
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait(); hold.Close(); out.Close() }) //nolint:errcheck // it may have ended
	return program{cmd, hold, out}
}

// says waits for the helper's line.
func (p program) says(t *testing.T, line string) {
	t.Helper()
	text := make([]byte, 64)
	if n, err := p.out.Read(text); err != nil || string(text[:n]) != line+"\n" {
		t.Fatalf("the helper said %q, %v", text[:n], err)
	}
}

func (p program) signal() syscall.Signal {
	p.Wait() //nolint:errcheck // how it ended is the answer
	return p.ProcessState.Sys().(syscall.WaitStatus).Signal()
}

// TestOOM is that a group that takes too much ends alone: its neighbour and this process go on, and the watch of each
// says so.
func TestOOM(t *testing.T) { induce(t, 2) }

// TestHundredOOMs is the same a hundred times.
func TestHundredOOMs(t *testing.T) {
	testnet.Long(t)
	induce(t, 100)
}

func induce(t *testing.T, times int) {
	t.Helper()
	tr := tree(t)
	if !tr.has(Memory) {
		t.Skip("no controller of memory")
	}
	neighbour := create(t, tr, "neighbour", Limits{MemoryBytes: 256 << 20})
	quiet, err := neighbour.Watch()
	if err != nil {
		t.Fatal(err)
	}
	defer quiet.Close()
	lives := start(t, neighbour, "hold")
	lives.says(t, "held")
	for i := range times {
		g := create(t, tr, "greedy"+strconv.Itoa(i), Limits{MemoryBytes: 48 << 20})
		w, err := g.Watch()
		if err != nil {
			t.Fatal(err)
		}
		if got := start(t, g, "eat").signal(); got != syscall.SIGKILL {
			t.Fatalf("%d: the greedy program ended with %v", i, got)
		}
		<-w.C()
		u := g.Usage()
		if u.OOMKills == 0 || u.LimitBytes == nil || *u.LimitBytes != 48<<20 {
			t.Fatalf("%d: %d killed, limit %v", i, u.OOMKills, u.LimitBytes)
		}
		if u.PeakBytes != nil && (*u.PeakBytes < 47<<20 || *u.PeakBytes > 50<<20) { // a killed process gets what it dies with
			t.Fatalf("%d: a peak of %d bytes", i, *u.PeakBytes)
		}
		w.Close()
		if err := errors.Join(g.Kill(), g.Remove()); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-quiet.C():
		t.Error("the neighbour was short of memory")
	default:
	}
	if pids, err := neighbour.PIDs(); err != nil || !slices.Equal(pids, []int{lives.Process.Pid}) {
		t.Errorf("the neighbour's group has %v, %v", pids, err)
	}
}

// TestUsage is that the figures are the kernel's own of the same processes, within a twentieth.
func TestUsage(t *testing.T) {
	tr := tree(t)
	g := create(t, tr, "run", Limits{MemoryBytes: 512 << 20, PIDs: 100, CPUPercent: 200})
	holds := start(t, g, "hold")
	holds.says(t, "held")
	start(t, g, "work").says(t, "worked")
	u := g.Usage()
	if tr.has(Memory) {
		near(t, "memory", *u.MemoryBytes, rss(t, g), 8<<20) // the kernel counts 32 pages at once for each processor, and page tables
	}
	if u.CPU != nil {
		near(t, "processor time", int64(*u.CPU), cpuOf(t, g), int64(20*time.Millisecond)) // two ticks of /proc
	}
	if tr.has(PIDs) && (u.PIDs == nil || *u.PIDs < 4) {
		t.Errorf("%v processes and threads", u.PIDs)
	}
	var sums Usage
	sums.Add(u)
	sums.Add(Usage{CPU: new(time.Second)})
	if u.CPU != nil && *sums.CPU != *u.CPU+time.Second || tr.has(Memory) && *sums.MemoryBytes != *u.MemoryBytes {
		t.Errorf("sums %+v", sums)
	}
}

// near fails if two figures differ by more than a twentieth and what the kernel rounds.
func near(t *testing.T, what string, got, want, rounding int64) {
	t.Helper()
	t.Logf("%s: %d, by /proc %d", what, got, want)
	if d := got - want; max(d, -d) > want/20+rounding {
		t.Errorf("%s is %d, by /proc %d", what, got, want)
	}
}

// rss adds up what the group's processes have of their own, as /proc says it.
func rss(t *testing.T, g *Group) (sum int64) {
	t.Helper()
	pids, err := g.PIDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		n := field("/proc/"+strconv.Itoa(pid), "smaps_rollup", "Private_Dirty:")
		if n == nil {
			text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
			_, rest, _ := strings.Cut(string(text), "\nPrivate_Dirty:")
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			n = new(kb << 10)
		}
		sum += *n
	}
	return sum
}

// cpuOf adds up the processor time of the group's processes, as /proc says it.
func cpuOf(t *testing.T, g *Group) (sum int64) {
	t.Helper()
	pids, _ := g.PIDs()
	for _, pid := range pids {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/schedstat")
		n, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64) // of the first thread; the others follow
		if err != nil {
			t.Fatal(err)
		}
		tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
		for _, task := range tasks {
			if strings.HasPrefix(task, "/proc/"+strconv.Itoa(pid)+"/task/"+strconv.Itoa(pid)+"/") {
				continue
			}
			text, _ := os.ReadFile(task)
			more, _ := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
			n += more
		}
		sum += n
	}
	return sum
}

// TestLimits is that each limit holds, that it can be changed while processes run, and that 0 takes it away.
func TestLimits(t *testing.T) {
	tr := tree(t)
	g := create(t, tr, "run", Limits{})
	files := map[string][4]string{ // by controller: the file, without a limit, with the first, with the second
		Memory: {"memory.max", "max", "268435456", "134217728"}, PIDs: {"pids.max", "max", "100", "50"},
		CPU: {"cpu.max", "max 100000", "50000 100000", "150000 100000"},
	}
	if tr.kind == V1 {
		files = map[string][4]string{
			Memory: {"memory.limit_in_bytes", "", "268435456", "134217728"}, PIDs: {"pids.max", "max", "100", "50"},
			CPU: {"cpu.cfs_quota_us", "-1", "50000", "150000"},
		}
	}
	for i, l := range []Limits{{}, {256 << 20, 50, 100}, {128 << 20, 150, 50}, {256 << 20, 50, 100}, {}} {
		if err := g.Set(l); err != nil {
			t.Fatal(err)
		}
		for c, f := range files {
			got, _ := words(filepath.Join(g.Dirs[c], f[0]))
			if want := f[1+[]int{0, 1, 2, 1, 0}[i]]; tr.has(c) && want != "" && strings.Join(got, " ") != want {
				t.Errorf("limits %d: %s is %v, not %s", i, f[0], got, want)
			}
		}
		if u := g.Usage(); l.MemoryBytes == 0 && u.LimitBytes != nil {
			t.Errorf("limits %d: a limit of %d", i, *u.LimitBytes)
		}
	}
	if !tr.has(PIDs) {
		return
	}
	if err := g.Set(Limits{PIDs: 1}); err != nil {
		t.Fatal(err)
	}
	out, err := inGroup(t, g, exec.Command("/bin/sh", "-c", "/bin/true & wait"))
	if err == nil {
		t.Errorf("a second process was started: %s", out)
	}
}

// inGroup runs a command in the group. This process has more threads than a small limit allows: the command's own shell
// joins.
func inGroup(t *testing.T, g *Group, cmd *exec.Cmd) (string, error) {
	t.Helper()
	join := ""
	for _, c := range g.each() {
		join += "echo $$ >" + g.Dirs[c] + "/cgroup.procs; "
	}
	cmd.Args[2] = join + cmd.Args[2]
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestKill is that nothing is left of a group: neither a process that ignores signals, nor one that is frozen, nor a
// child. Its sweep spares those that are known.
func TestKill(t *testing.T) {
	tr := tree(t)
	known := create(t, tr, "known", Limits{})
	start(t, known, "hold").says(t, "held")
	g := create(t, tr, "gone", Limits{})
	for range 3 {
		start(t, g, "hold").says(t, "held")
	}
	if err := g.Freeze(); err != nil && tr.has(Freezer) {
		t.Fatal(err)
	}
	removed, err := tr.Sweep(func(name string) bool { return name == "known" })
	if err != nil || !slices.Equal(removed, []string{"gone"}) {
		t.Fatalf("removed %v, %v", removed, err)
	}
	if pids, err := known.PIDs(); err != nil || len(pids) != 1 {
		t.Errorf("the known group has %v, %v", pids, err)
	}
	if err := errors.Join(g.Kill(), g.Remove()); err != nil {
		t.Errorf("a group that is gone: %v", err)
	}
	if u := g.Usage(); u.MemoryBytes != nil || u.PIDs != nil {
		t.Errorf("a group that is gone uses %+v", u)
	}
}

// TestFreeze is that a frozen group does nothing, and goes on at once.
func TestFreeze(t *testing.T) {
	tr := tree(t)
	g := create(t, tr, "run", Limits{MemoryBytes: 256 << 20})
	if err := g.Freeze(); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("no freezer")
	}
	if err := g.Thaw(); err != nil {
		t.Fatal(err)
	}
	p := start(t, g, "hold")
	p.says(t, "held")
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	p.Process.Signal(syscall.SIGTERM) //nolint:errcheck // taken when it goes on
	p.awaitFrozen(t)
	if freed, err := g.Reclaim(64 << 20); err != nil {
		t.Log("nothing is reclaimed: ", err)
	} else {
		t.Log("reclaimed ", freed)
		wantSwapped(t, g)
	}
	if err := g.Thaw(); err != nil {
		t.Fatal(err)
	}
	if got := p.signal(); got != syscall.SIGTERM {
		t.Errorf("it ended with %v", got)
	}
}

// wantSwapped checks that most of what a process holds is in swap, where there is any, and that its limited group may swap no more.
func wantSwapped(t *testing.T, g *Group) {
	t.Helper()
	if swaps, err := words("/proc/swaps"); err != nil || !slices.Contains(swaps, "partition") && !slices.Contains(swaps, "file") {
		t.Log("there is no swap")
		return
	}
	u := g.Usage()
	if u.SwapBytes == nil {
		t.Fatal("the kernel does not tell what is in swap")
	}
	if *u.SwapBytes < 20<<20 || *u.MemoryBytes > 20<<20 {
		t.Errorf("in swap are %d bytes, and in memory %d", *u.SwapBytes, *u.MemoryBytes)
	}
	if text, err := words(filepath.Join(g.Dirs[Memory], "memory.swap.max")); err == nil && !slices.Equal(text, []string{"0"}) {
		t.Errorf("the group may have %v in swap", text)
	}
}

// awaitFrozen waits until the kernel holds the process in its freezer.
func (p program) awaitFrozen(t *testing.T) {
	t.Helper()
	for late := time.Now().Add(10 * time.Second); time.Now().Before(late); time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(p.Process.Pid) + "/wchan")
		state, _ := os.ReadFile("/proc/" + strconv.Itoa(p.Process.Pid) + "/stat")
		fields := strings.Fields(string(state[bytes.LastIndexByte(state, ')')+1:]))
		frozen := strings.Contains(string(text), "freez") || strings.Contains(string(text), "refrigerator")
		if frozen || len(fields) > 0 && fields[0] == "D" {
			return
		}
	}
	t.Log("the kernel does not say that it is frozen")
}

// TestShare is that the share of processor time can be set and set back.
func TestShare(t *testing.T) {
	tr := tree(t)
	g := create(t, tr, "run", Limits{})
	for _, share := range []int{10, 100} {
		if err := g.SetShare(share); err != nil && tr.has(CPU) {
			t.Errorf("share %d: %v", share, err)
		}
	}
}

// TestRemoveStale: a group of another data folder's runs is removed once it has been empty for a day. A server that
// lives makes its own again at its next run.
func TestRemoveStale(t *testing.T) {
	tr := tree(t)
	mine, young, busy := *tr, *tr, *tr
	for name, of := range map[string]*Tree{"warren-00c0ffee": &mine, "warren-00c0ffef": &young, "warren-00c0fff0": &busy} {
		of.name, of.dirs = name, map[string]string{}
		for c, dir := range tr.dirs {
			of.dirs[c] = filepath.Join(filepath.Dir(dir), name)
		}
		if err := of.make(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(of.Close)
	}
	run := create(t, &busy, "run", Limits{})
	defer run.Remove() //nolint:errcheck // the next Close fails then
	old := time.Now().Add(-2 * staleAge)
	for _, of := range []*Tree{&mine, &busy} {
		for _, dir := range of.dirs {
			if err := os.Chtimes(dir, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	tr.RemoveStale()
	for of, want := range map[*Tree]bool{&mine: false, &young: true, &busy: true} {
		for _, dir := range of.dirs {
			if _, err := os.Stat(dir); (err == nil) != want {
				t.Errorf("%s: %v", dir, err)
			}
		}
	}
	if err := create(t, &mine, "again", Limits{}).Remove(); err != nil {
		t.Error(err)
	}
}

// TestThawProcess: a process whose group is frozen goes on, whoever has frozen it.
func TestThawProcess(t *testing.T) {
	tr := tree(t)
	g := create(t, tr, "run", Limits{})
	if !g.CanFreeze() {
		t.Skip("no freezer")
	}
	p := start(t, g, "hold")
	p.says(t, "held")
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	p.awaitFrozen(t)
	p.Process.Signal(syscall.SIGTERM) //nolint:errcheck // taken when it goes on
	if err := ThawProcess(p.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if got := p.signal(); got != syscall.SIGTERM {
		t.Errorf("it ended with %v", got)
	}
	if err := ThawProcess(os.Getpid()); err != nil {
		t.Errorf("a process that is no run's: %v", err)
	}
}
