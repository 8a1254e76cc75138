package cgroup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Finds which part of the kernel's trees belongs to this process.

// layout is where this process is in the kernel's trees.
type layout struct {
	v2 string            // the folder of its group of version 2; "": none is mounted
	at string            // the root of version 2: where it is mounted
	v1 map[string]string // its groups of version 1, by controller
}

// findLayout reads the layout from the kernel's files (cgroups(7), proc_pid_mountinfo(5)).
func findLayout(mountinfo, self []byte) layout {
	out := layout{v1: map[string]string{}}
	paths := map[string]string{} // of this process, by controller; "" is version 2
	for line := range strings.Lines(string(self)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(fields) == 3 {
			for c := range strings.SplitSeq(fields[1], ",") {
				paths[c] = fields[2]
			}
		}
	}
	lines := bufio.NewScanner(bytes.NewReader(mountinfo))
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		mount, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(mount) < 5 || len(kind) < 3 {
			continue
		}
		root, point := unescape(mount[3]), unescape(mount[4])
		switch kind[0] {
		case "cgroup2":
			if own, ok := paths[""]; ok && out.v2 == "" {
				out.v2, out.at = below(point, root, own), point
			}
		case "cgroup":
			for c := range strings.SplitSeq(kind[2], ",") {
				if own, ok := paths[c]; ok && slices.Contains([]string{Memory, PIDs, CPU, Account, Freezer, "blkio"}, c) {
					out.v1[nameOf(c)] = below(point, root, own)
				}
			}
		}
	}
	return out
}

// nameOf returns a controller's name in version 2.
func nameOf(c string) string {
	if c == "blkio" {
		return IO
	}
	return c
}

// below returns the folder of a group. A mount may show a part of the tree, as in a container.
func below(point, root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil && root != "/" && !strings.HasPrefix(rel, "..") {
		path = rel
	}
	return filepath.Join(point, path)
}

// unescape undoes the octal escapes of mountinfo: of a space, a tab, a line's end and a backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// words reads a file of names or numbers.
func words(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	return strings.Fields(string(text)), err
}

// writable reports whether this process may make groups in a folder.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

// openV2 returns the group of version 2 in which the runs' groups are made, and the controllers that they get. own is
// the group of this process, which moves into a leaf beside it: groups with controllers hold no processes of their own
// ("no internal processes" in the kernel's cgroup-v2.rst).
func (t *Tree) openV2(l layout) error {
	if l.v2 == "" {
		return errors.New("version 2 is not mounted")
	}
	base, err := baseV2(l)
	if err != nil {
		return err
	}
	offered, err := words(filepath.Join(base, "cgroup.controllers"))
	if err != nil {
		return err
	}
	var wanted []string
	for _, c := range limiting() {
		if slices.Contains(offered, c) {
			wanted = append(wanted, c)
		}
	}
	if !slices.Contains(wanted, Memory) && !slices.Contains(wanted, PIDs) {
		return fmt.Errorf("%s offers neither memory nor pids", base)
	}
	if base == l.v2 {
		if err := t.leave(base); err != nil {
			return err
		}
	}
	runs := filepath.Join(base, t.name)
	if err := errors.Join(enable(base, wanted), mkdir(runs)); err != nil {
		return err
	}
	for _, file := range []string{"cpu.weight", "io.weight", "io.bfq.weight"} {
		_ = write(filepath.Join(base, leaf), file, serverWeight) // without the leaf, or the controller, the server has no share of its own
	}
	if err := enable(runs, wanted); err != nil {
		return err
	}
	t.dirs = map[string]string{core: runs}
	for _, c := range wanted {
		t.dirs[c] = runs
	}
	t.kind = V2
	return nil
}

// core is the key of a folder of version 2, which has processes and a freezer whatever controllers it has.
const core = "cgroup"

// leaf is the group of the server's own processes.
const leaf = "server"

// baseV2 chooses the folder in which groups are made. systemd marks a delegated group (user.delegate, or
// trusted.delegate, which only root sees). The server may be in a group below it (DelegateSubgroup=). Any other group
// must be this process's alone. Root takes the tree's root otherwise.
func baseV2(l layout) (string, error) {
	own, above := l.v2, filepath.Dir(l.v2)
	switch {
	case own != l.at && isDelegated(own) && isOurs(own):
		return own, nil
	case own != l.at && !isUnit(own) && (isDelegated(above) || filepath.Base(own) == leaf) && isOurs(above):
		return above, nil // also the leaf that a server before this one has made
	case own != l.at && isOurs(own) && isAlone(own):
		return own, nil
	case isOurs(l.at):
		return l.at, nil
	}
	return "", fmt.Errorf("%s is not delegated to this user", own)
}

// isUnit reports whether a group is that of a unit. Those above it are systemd's own then.
func isUnit(dir string) bool {
	return slices.Contains([]string{".service", ".scope", ".slice"}, filepath.Ext(dir))
}

// isOurs reports whether this process may make groups in a group, and fill them.
func isOurs(dir string) bool { return writable(dir) && canMove(dir) }

// isDelegated reports whether systemd has marked a group as delegated.
func isDelegated(dir string) bool {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		var value [8]byte
		if n, err := unix.Getxattr(dir, name, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// canMove reports whether this process may move processes below a group, and hand controllers down.
func canMove(dir string) bool {
	return unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil &&
		unix.Access(filepath.Join(dir, "cgroup.subtree_control"), unix.W_OK) == nil
}

// isAlone reports whether a group has no process but this one.
func isAlone(dir string) bool {
	pids, err := words(filepath.Join(dir, "cgroup.procs"))
	return err == nil && !slices.ContainsFunc(pids, func(pid string) bool { return pid != strconv.Itoa(os.Getpid()) })
}

// leave moves the processes of a group into its leaf. Those that cannot be moved keep the group as it is. The root of
// the tree keeps its own.
func (t *Tree) leave(base string) error {
	if _, err := os.Stat(filepath.Join(base, "cgroup.type")); errors.Is(err, os.ErrNotExist) {
		return nil // only the real root has no type, and it may have processes beside groups
	}
	dir := filepath.Join(base, leaf)
	if err := mkdir(dir); err != nil {
		return err
	}
	pids, err := words(filepath.Join(base, "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := write(dir, "cgroup.procs", pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("move process %s into %s: %w", pid, dir, err)
		}
	}
	return nil
}

// serverWeight is the server's share of processor time and of the disk beside all runs together, which have 100.
const serverWeight = "400"

// enable hands controllers down to the groups below a folder.
func enable(dir string, controllers []string) error {
	have, err := words(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	for _, c := range controllers {
		if slices.Contains(have, c) {
			continue
		}
		if err := write(dir, "cgroup.subtree_control", "+"+c); err != nil {
			return fmt.Errorf("hand %s down to the groups in %s: %w", c, dir, err)
		}
	}
	return nil
}

// openV1 makes a group in each hierarchy of version 1 that can be written.
func (t *Tree) openV1(l layout) error {
	dirs := map[string]string{}
	var failed error
	for c, own := range l.v1 {
		base := own
		if filepath.Base(filepath.Dir(own)) == t.name { // started from within a run's group
			base = filepath.Dir(filepath.Dir(own))
		}
		dir := filepath.Join(base, t.name)
		if err := mkdir(dir); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		dirs[c] = dir
	}
	if dirs[Memory] == "" && dirs[PIDs] == "" {
		for _, dir := range dirs {
			os.Remove(dir) //nolint:errcheck // it may be another server's too
		}
		return errors.Join(errors.New("no hierarchy of version 1 with memory or pids can be written"), failed)
	}
	t.dirs, t.kind = dirs, V1
	return t.make()
}

// mkdir makes a group unless it is there.
func mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) { //nolint:gosec // the kernel's default, too
		return err
	}
	return nil
}

// write writes a value into one of a group's files, which the kernel reads at once. The descriptor blocks: os.OpenFile would wait for ever
// where the kernel answers EAGAIN (memory.reclaim), since these files never tell a poller that they can be written.
func write(dir, file, value string) error {
	path := filepath.Join(dir, file)
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path) //nolint:gosec // a descriptor
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
