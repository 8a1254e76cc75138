package browser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// This file decides and lays out which files of the machine a run sees. The browser lives in a mount namespace of its own (mount_namespaces(7)):
// what is protected is covered there with empty folders, and the run's own folders are bound back over them. Nobody inside can take a cover
// away: that needs a capability in the namespace's owner, and no process there has one.

// fileView is what a run sees of the machine's files. Its paths are absolute.
type fileView struct {
	Covers   []string `json:"covers"`   // folders and files that are not there, by their real paths
	Keeps    []string `json:"keeps"`    // folders that the run reads and writes, also where a cover lies over them
	Shows    []string `json:"shows"`    // folders that the run reads, also where a cover lies over them
	Writable []string `json:"writable"` // further folders that the run may write when ReadOnly
	ReadOnly bool     `json:"readOnly"` // nothing but Keeps, Writable and what a browser cannot do without is written
	Packs    string   `json:"packs"`    // a folder that is seen, read-only, in place of PacksAt; "": none
	PacksAt  string   `json:"packsAt"`
}

// newFileView decides what a run sees. What is hidden is covered wherever it is mounted.
func newFileView(s *Spec) (fileView, error) {
	v := fileView{Keeps: s.ownFolders(), Writable: s.Writable, ReadOnly: s.ReadOnly}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return v, err
	}
	mounts := parseMounts(string(text))
	for _, path := range slices.Concat(s.Protected, s.Hidden) {
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return v, err
		}
		v.Covers = append(append(v.Covers, real), aliases(real, mounts)...)
	}
	slices.SortFunc(v.Covers, func(a, b string) int { return len(a) - len(b) }) // an outer one first: it hides the inner ones
	v.Covers = slices.Compact(v.Covers)
	program, err := filepath.EvalSymlinks(s.Path)
	if err == nil && slices.ContainsFunc(v.Covers, func(c string) bool { return within(program, c) }) { // a build that lies in the data folder
		v.Shows = append(v.Shows, filepath.Dir(program))
	}
	if _, err := os.Lstat(s.packDir()); err == nil {
		v.Packs, v.PacksAt = s.packDir(), s.programPacks()
	}
	return v, nil
}

// mountPoint is a line of /proc/self/mountinfo (proc_pid_mountinfo(5)): the folder root of a file system is seen at a path.
type mountPoint struct{ device, root, at string }

func parseMounts(text string) (out []mountPoint) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 5 { // id, parent, device, root, mount point, options …
			out = append(out, mountPoint{device: f[2], root: unquoteMount(f[3]), at: unquoteMount(f[4])})
		}
	}
	return out
}

// unquoteMount reads the kernel's octal escapes of spaces, tabs, line ends and backslashes.
func unquoteMount(s string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, `\`)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if code, err := strconv.ParseUint(rest[:min(3, len(rest))], 8, 8); err == nil {
			out.WriteByte(byte(code))
			rest = rest[3:]
		}
		s = rest
	}
}

// aliases are the other paths under which a folder or file, or a part of the folder, is mounted.
func aliases(real string, mounts []mountPoint) (out []string) {
	home := -1
	for i, m := range mounts {
		if within(real, m.at) && (home < 0 || len(m.at) >= len(mounts[home].at)) { // of two at one place the later one is seen
			home = i
		}
	}
	if home < 0 {
		return nil
	}
	place := filepath.Join(mounts[home].root, strings.TrimPrefix(real, mounts[home].at))
	for i, m := range mounts {
		switch {
		case i == home || m.device != mounts[home].device:
		case within(place, m.root):
			alias := filepath.Join(m.at, strings.TrimPrefix(place, m.root))
			if alias != real && sameFile(alias, real) {
				out = append(out, alias)
			}
		case within(m.root, place) && !within(m.at, real):
			out = append(out, m.at)
		}
	}
	return out
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, failed := os.Stat(b)
	return err == nil && failed == nil && os.SameFile(x, y)
}

// ownMounts gives the calling thread a mount namespace of its own, in which nothing of the machine's later mounts appears, and tries whether
// anything can be mounted there: machines that allow the namespace may forbid that (AppArmor, seccomp).
func ownMounts() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := coverFolder("/proc"); err != nil {
		return err
	}
	return unix.Unmount("/proc", 0)
}

// apply makes the calling thread's mount namespace show what v says. On an error nothing may run in it.
func (v *fileView) apply() error {
	folders := slices.Concat(v.Keeps, v.Shows)
	open := make([]int, 0, len(folders))
	defer func() {
		for _, fd := range open {
			unix.Close(fd) //nolint:errcheck // it was opened to name a folder
		}
	}()
	for _, dir := range folders {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return &fs.PathError{Op: "open", Path: dir, Err: err}
		}
		open = append(open, fd)
	}
	covered, err := v.cover()
	if err != nil {
		return err
	}
	for i, dir := range folders {
		if err := bind("/proc/self/fd/"+strconv.Itoa(open[i]), dir); err != nil {
			return err
		}
	}
	readOnly := slices.Concat(covered, v.Shows)
	if v.Packs != "" {
		if err := mount(v.Packs, v.PacksAt, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		readOnly = append(readOnly, v.PacksAt)
	}
	for _, dir := range readOnly {
		if err := setReadOnly(dir, true); err != nil {
			return err
		}
	}
	if v.ReadOnly {
		return v.lockDown()
	}
	return nil
}

// cover puts an empty folder or file over everything that is to be hidden, and returns the folders.
func (v *fileView) cover() (folders []string, err error) {
	for _, path := range v.Covers {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // an outer cover hides it
			continue
		case err != nil:
			return nil, err
		case info.IsDir():
			err = coverFolder(path)
			folders = append(folders, path)
		default:
			err = mount("/dev/null", path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return nil, err
		}
	}
	return folders, nil
}

// coverFolder puts an empty folder over another. It holds a few folders at most, in which others are bound.
func coverFolder(path string) error {
	return mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=256k,nr_inodes=256,mode=0700")
}

// bind shows the folder from at another path, which it makes where it is not there.
func bind(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	return mount(from, to, "", unix.MS_BIND|unix.MS_REC, "")
}

func mount(from, to, kind string, flags uintptr, data string) error {
	if err := unix.Mount(from, to, kind, flags, data); err != nil {
		return &fs.PathError{Op: "mount", Path: to, Err: err}
	}
	return nil
}

// settingsOfKernel are folders and files of /proc with which root's files change the machine; a process of root's may write them without any
// capability, since their owner is root. Containers close the same ones (OCI runtime specification, readonlyPaths).
func settingsOfKernel() []string {
	return []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"}
}

// lockDown makes everything read-only but the run's folders, the writable ones, shared memory, and /proc, where Chrome sets up its sandbox.
// Devices and sockets can be used all the same: that is not writing to the folder in which they lie.
func (v *fileView) lockDown() error {
	for _, path := range settingsOfKernel() {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if err := mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
	}
	own := slices.Concat(v.Keeps, v.Writable)
	for _, dir := range []string{"/dev/shm", "/proc"} {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err == nil && st.Flags&unix.ST_RDONLY == 0 { // the machine's own read-only mounts stay so
			own = append(own, dir)
		}
	}
	for _, dir := range own {
		if err := mount(dir, dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
	}
	if err := allReadOnly(); err != nil {
		return err
	}
	for _, dir := range own {
		if err := setReadOnly(dir, false); err != nil {
			return err
		}
	}
	return nil
}

// allReadOnly makes every mount read-only.
func allReadOnly() error {
	err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return err
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for _, m := range parseMounts(string(text)) {
		if err := setReadOnly(m.at, true); err != nil && !errors.Is(err, fs.ErrNotExist) { // what a cover hides cannot be named
			return err
		}
	}
	return nil
}

// stRelatime is ST_RELATIME of statfs(2), which is none of mount(2)'s numbers.
const stRelatime = 0x1000

// setReadOnly changes one mount. The kernel wants its other flags as they are (mount(2), MS_REMOUNT; the flags of statfs(2) are the mount's).
func setReadOnly(path string, on bool) error {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	flags := uintptr(st.Flags) & (unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME)
	if st.Flags&stRelatime != 0 {
		flags |= unix.MS_RELATIME
	}
	if on {
		flags |= unix.MS_RDONLY
	}
	if err := mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|flags, ""); err != nil {
		return fmt.Errorf("make it read-only (%v): %w", on, err)
	}
	return nil
}
