package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	cpuPeriod     = 100_000 // microseconds: the kernel's default
	defaultShares = 1024    // of version 1: those of a new group
	defaultWeight = 100     // of version 2: the same
	// highPercent is where reclaiming begins, of the limit of memory. Watchers are woken there. From there on the kernel makes
	// the group's processes wait: a program that takes all memory reached its limit after 10 s, and after 3 s without.
	highPercent = 90
)

// Set writes the limits of a group. Controllers that the group lacks are left out.
func (g *Group) Set(l Limits) error {
	if g == nil {
		return nil
	}
	var err error
	if dir := g.Dirs[Memory]; dir != "" {
		err = g.setMemory(dir, l.MemoryBytes)
	}
	if dir := g.Dirs[PIDs]; dir != "" {
		err = errors.Join(err, write(dir, "pids.max", orMax(int64(l.PIDs))))
	}
	if dir := g.Dirs[CPU]; dir != "" {
		err = errors.Join(err, g.setCPU(dir, l.CPUPercent))
	}
	return err
}

// orMax returns a number as the kernel takes it; 0 is no limit.
func orMax(n int64) string {
	if n == 0 {
		return "max"
	}
	return strconv.FormatInt(n, 10)
}

// setMemory limits memory. The swap of a limited group is off, since a run that swaps slows the whole machine down.
func (g *Group) setMemory(dir string, limit int64) error {
	if g.Version == V1 {
		return setMemoryV1(dir, limit)
	}
	high, swap := orMax(limit*highPercent/100), "max"
	if limit > 0 {
		swap = "0"
	}
	err := errors.Join(write(dir, "memory.high", high), write(dir, "memory.max", orMax(limit)))
	for file, value := range map[string]string{"memory.swap.max": swap, "memory.oom.group": "1"} {
		if failed := write(dir, file, value); !errors.Is(failed, os.ErrNotExist) { // without swap, and before Linux 4.19
			err = errors.Join(err, failed)
		}
	}
	return err
}

// Mark sets the mark below the limit of memory at which a watch is woken, or takes it away. Above it the kernel slows the
// group's processes down more and more (memory.high). Version 1 has none.
func (g *Group) Mark(on bool) error {
	if !g.Has(Memory) || g.Version == V1 {
		return nil
	}
	limit := number(g.Dirs[Memory], "memory.max")
	if !on || limit == nil {
		return write(g.Dirs[Memory], "memory.high", "max")
	}
	return write(g.Dirs[Memory], "memory.high", orMax(*limit*highPercent/100))
}

// setMemoryV1 limits memory in version 1. The sum with swap may never be below the limit, so the order depends on the
// direction.
func setMemoryV1(dir string, limit int64) error {
	value := "-1"
	if limit > 0 {
		value = strconv.FormatInt(limit, 10)
	}
	const with, plain = "memory.memsw.limit_in_bytes", "memory.limit_in_bytes"
	setSum := func() error {
		if err := write(dir, with, value); !errors.Is(err, os.ErrNotExist) { // a kernel that does not account swap
			return err
		}
		return nil
	}
	if failed := write(dir, plain, value); failed == nil {
		return setSum()
	} else if err := setSum(); err != nil {
		return errors.Join(failed, err)
	}
	return write(dir, plain, value)
}

// setCPU limits processor time. Version 1 has the same numbers in two files.
func (g *Group) setCPU(dir string, percent int) error {
	quota := int64(percent) * cpuPeriod / 100
	if g.Version == V2 {
		return write(dir, "cpu.max", orMax(quota)+" "+strconv.Itoa(cpuPeriod))
	}
	if quota == 0 {
		quota = -1
	}
	return errors.Join(write(dir, "cpu.cfs_period_us", strconv.Itoa(cpuPeriod)),
		write(dir, "cpu.cfs_quota_us", strconv.FormatInt(quota, 10)))
}

// setDiskShare sets the group's share of the disk beside other runs, in percent of the ordinary one. The kernel has the files only with a
// scheduler that shares by weight (BFQ, or iocost in version 2).
func (g *Group) setDiskShare(percent int) {
	if !g.Has(IO) {
		return
	}
	weight := strconv.Itoa(max(1, defaultWeight*percent/100))
	for _, file := range []string{"io.weight", "io.bfq.weight", "blkio.bfq.weight"} {
		_ = write(g.Dirs[IO], file, weight)
	}
}

// SetShare sets the group's share of processor time and of the disk beside other runs, in percent of the ordinary one.
func (g *Group) SetShare(percent int) error {
	g.setDiskShare(percent)
	switch dir := g.Dirs[CPU]; {
	case dir == "":
		return errors.ErrUnsupported
	case g.Version == V1:
		return write(dir, "cpu.shares", strconv.Itoa(max(2, defaultShares*percent/100)))
	default:
		return write(dir, "cpu.weight", strconv.Itoa(max(1, defaultWeight*percent/100)))
	}
}

// Add moves a process into the group. Its children stay where they are.
func (g *Group) Add(pid int) error {
	if g == nil {
		return nil
	}
	for _, c := range g.each() {
		if err := write(g.Dirs[c], "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("move process %d into the control group %s: %w", pid, g.Dirs[c], err)
		}
	}
	return nil
}

// Enter moves this process into the group, so that what it starts is in it from the beginning. leave moves it back to
// where it was. Memory that this process takes meanwhile stays charged to the group.
func (g *Group) Enter() (leave func() error, err error) {
	if g == nil {
		return func() error { return nil }, nil
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	self, _ := os.ReadFile("/proc/self/cgroup")
	l := findLayout(mounts, self)
	home := l.v1
	if g.Version == V2 {
		home = map[string]string{}
		for c := range g.Dirs {
			home[c] = l.v2
		}
	}
	leave = func() error {
		var err error
		for _, c := range g.each() {
			err = errors.Join(err, write(home[c], "cgroup.procs", "0"))
		}
		return err
	}
	for _, c := range g.each() {
		if err := write(g.Dirs[c], "cgroup.procs", "0"); err != nil {
			return nil, errors.Join(fmt.Errorf("enter %s: %w", g.Dirs[c], err), leave())
		}
	}
	return leave, nil
}

// each returns the controllers that have a folder of their own: all of version 1 that are not mounted together, and one
// of version 2.
func (g *Group) each() (out []string) {
	var seen []string
	for _, c := range []string{core, Memory, PIDs, CPU, Account, Freezer, IO} {
		if dir := g.Dirs[c]; dir != "" && !slices.Contains(seen, dir) {
			seen, out = append(seen, dir), append(out, c)
		}
	}
	return out
}

// PIDs lists the processes in the group.
func (g *Group) PIDs() (pids []int, err error) {
	for _, dir := range g.dirs() {
		text, failed := words(filepath.Join(dir, "cgroup.procs"))
		if failed != nil && !errors.Is(failed, os.ErrNotExist) && !errors.Is(failed, unix.ENODEV) {
			err = errors.Join(err, failed)
		}
		for _, w := range text {
			if pid, _ := strconv.Atoi(w); pid > 0 && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids, err
}

// Kill kills every process of the group, and returns when none is left. It fails if some are left after endTime.
func (g *Group) Kill() error {
	if g == nil {
		return nil
	}
	if g.Version == V1 { // a frozen process would take its signal later
		g.Thaw() //nolint:errcheck // the processes that are left say more
	}
	late := time.Now().Add(endTime)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		pids, err := g.PIDs()
		if err != nil || len(pids) == 0 {
			return err
		}
		if time.Now().After(late) {
			return fmt.Errorf("%d processes are left in %s", len(pids), g.dirs()[0])
		}
		if g.Version != V2 || write(g.Dirs[core], "cgroup.kill", "1") != nil { // before Linux 5.14 there is no such file
			g.killEach(pids)
		}
		time.Sleep(pause) // the kernel has no event for it in version 1
	}
}

// killEach kills processes of the group. A descriptor pins each, and the group is read again, so that a pid that was
// reused meanwhile is spared.
func (g *Group) killEach(pids []int) {
	held := map[int]int{}
	for _, pid := range pids {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			held[pid] = fd
		}
	}
	again, _ := g.PIDs() //nolint:errcheck // those that are left are tried again
	for pid, fd := range held {
		if slices.Contains(again, pid) {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		_ = unix.Close(fd)
	}
}

// Remove removes the group. It must have no processes. One that is gone is no error.
func (g *Group) Remove() error {
	if g == nil {
		return nil
	}
	var err error
	for _, dir := range g.dirs() {
		err = errors.Join(err, rmdir(dir))
	}
	return err
}

// rmdir removes a group. Processes that have exited a moment ago may still hold it.
func rmdir(dir string) error {
	late := time.Now().Add(endTime)
	for {
		err := unix.Rmdir(dir)
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
			return nil
		case errors.Is(err, unix.EBUSY) && time.Now().Before(late):
			time.Sleep(5 * time.Millisecond)
		default:
			return fmt.Errorf("remove the control group %s: %w", dir, err)
		}
	}
}

// Usage reads the group's figures. A group that is gone has none.
func (g *Group) Usage() (u Usage) {
	switch {
	case g == nil:
		return u
	case g.Version == V2:
		u = g.usageV2()
	default:
		u = g.usageV1()
	}
	if dir := g.Dirs[PIDs]; dir != "" {
		if n := number(dir, "pids.current"); n != nil {
			u.PIDs = new(int(*n))
		}
	}
	u.OOMKills = g.OOMKills()
	return u
}

func (g *Group) usageV2() (u Usage) {
	if dir := g.Dirs[Memory]; dir != "" {
		u.MemoryBytes = less(number(dir, "memory.current"), field(dir, "memory.stat", "inactive_file"))
		u.SwapBytes = number(dir, "memory.swap.current")
		u.PeakBytes, u.LimitBytes = number(dir, "memory.peak"), number(dir, "memory.max") // "max" is no number
	}
	if n := field(g.Dirs[core], "cpu.stat", "usage_usec"); n != nil { // there without the controller, too
		u.CPU = new(time.Duration(*n) * time.Microsecond)
	}
	if dir := g.Dirs[IO]; dir != "" {
		u.ReadBytes, u.WriteBytes = sumV2(dir, "rbytes="), sumV2(dir, "wbytes=")
	}
	return u
}

// noLimitV1 is about what memory.limit_in_bytes says without a limit: the largest number of whole pages.
const noLimitV1 = 1 << 62

func (g *Group) usageV1() (u Usage) {
	if dir := g.Dirs[Memory]; dir != "" {
		u.MemoryBytes = less(number(dir, "memory.usage_in_bytes"), field(dir, "memory.stat", "total_inactive_file"))
		u.SwapBytes = field(dir, "memory.stat", "total_swap")
		u.PeakBytes = number(dir, "memory.max_usage_in_bytes")
		if n := number(dir, "memory.limit_in_bytes"); n != nil && *n < noLimitV1 {
			u.LimitBytes = n
		}
	}
	if dir := g.Dirs[Account]; dir != "" {
		if n := number(dir, "cpuacct.usage"); n != nil {
			u.CPU = new(time.Duration(*n))
		}
	}
	if dir := g.Dirs[IO]; dir != "" {
		u.ReadBytes, u.WriteBytes = sumV1(dir, "Read"), sumV1(dir, "Write")
	}
	return u
}

// less subtracts what a group could give back.
func less(n, by *int64) *int64 {
	if n != nil && by != nil {
		return new(max(0, *n-*by))
	}
	return n
}

// number reads a file with one number; nil for another content.
func number(dir, file string) *int64 {
	text, err := os.ReadFile(filepath.Join(dir, file))
	n, bad := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil || bad != nil {
		return nil
	}
	return &n
}

// field reads a number behind a name, of a file with one of them a line.
func field(dir, file, name string) *int64 {
	text, _ := os.ReadFile(filepath.Join(dir, file)) // none: the loop finds nothing
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && key == name {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return nil
			}
			return &n
		}
	}
	return nil
}

// sumV2 adds up a value of all disks of io.stat.
func sumV2(dir, key string) *int64 {
	all, err := words(filepath.Join(dir, "io.stat"))
	if err != nil {
		return nil
	}
	var out int64
	for _, w := range all {
		if value, ok := strings.CutPrefix(w, key); ok {
			n, _ := strconv.ParseInt(value, 10, 64) // the kernel writes numbers
			out += n
		}
	}
	return &out
}

// sumV1 adds up a value of all disks.
func sumV1(dir, key string) *int64 {
	text, err := os.ReadFile(filepath.Join(dir, "blkio.throttle.io_service_bytes_recursive"))
	if err != nil {
		return nil
	}
	var out int64
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[1] == key { // disk, what, bytes
			n, _ := strconv.ParseInt(f[2], 10, 64) // the kernel writes numbers
			out += n
		}
	}
	return &out
}

// OOMKills counts the processes that the kernel has killed in the group for lack of memory.
func (g *Group) OOMKills() int64 {
	if !g.Has(Memory) {
		return 0
	}
	file := "memory.events"
	if g.Version == V1 {
		file = "memory.oom_control"
	}
	if n := field(g.Dirs[Memory], file, "oom_kill"); n != nil {
		return *n
	}
	return 0
}

// Freeze stops every process of the group where it is, until Thaw. It returns before the last one has stopped.
func (g *Group) Freeze() error { return g.freeze("1", "FROZEN") }

// Thaw lets the processes of a frozen group go on.
func (g *Group) Thaw() error { return g.freeze("0", "THAWED") }

func (g *Group) freeze(second, first string) error {
	switch {
	case g == nil:
		return errors.ErrUnsupported
	case g.Version == V2:
		return write(g.Dirs[core], "cgroup.freeze", second)
	case g.Dirs[Freezer] != "":
		return write(g.Dirs[Freezer], "freezer.state", first)
	}
	return errors.ErrUnsupported
}

// ThawProcess lets a process go on whose group is frozen, if it is a run's of any server.
func ThawProcess(pid int) error {
	mounts, _ := os.ReadFile("/proc/self/mountinfo") // without /proc there are no groups
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return err
	}
	l := findLayout(mounts, text)
	g := &Group{Version: V2, Dirs: map[string]string{core: l.v2}}
	if dir := l.v1[Freezer]; dir != "" {
		g = &Group{Version: V1, Dirs: map[string]string{Freezer: dir}}
	}
	if !strings.HasPrefix(filepath.Base(filepath.Dir(g.dirs()[0])), treePrefix) {
		return nil
	}
	return g.Thaw()
}

// Reclaim asks the kernel to take memory from the group: as much as it can, at most so many bytes. It returns what it got. A limited group
// may swap meanwhile: nobody waits for a run whose memory is taken.
func (g *Group) Reclaim(bytes int64) (int64, error) {
	if !g.Has(Memory) {
		return 0, errors.ErrUnsupported
	}
	dir := g.Dirs[Memory]
	now, reclaim := "memory.current", func() error { return write(dir, "memory.reclaim", strconv.FormatInt(bytes, 10)) }
	if g.Version == V1 {
		now, reclaim = "memory.usage_in_bytes", func() error { return write(dir, "memory.force_empty", "1") }
	}
	if text, _ := words(filepath.Join(dir, "memory.swap.max")); g.Version == V2 && slices.Equal(text, []string{"0"}) {
		if write(dir, "memory.swap.max", "max") == nil {
			defer write(dir, "memory.swap.max", "0") //nolint:errcheck // what is swapped stays there; the next limits set it again
		}
	}
	before := number(dir, now)
	if err := reclaim(); err != nil && !errors.Is(err, unix.EAGAIN) { // EAGAIN: less than was asked for
		return 0, err
	}
	after := number(dir, now)
	if before == nil || after == nil {
		return 0, nil
	}
	return max(0, *before-*after), nil
}
