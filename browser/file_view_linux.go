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

// A run in a mount namespace (mount_namespaces(7)) sees only a part of this machine's files. Protected folders are covered by empty ones,
// and the run's own folders are bound over the covers. Uncovering needs a capability in the namespace's owner, which no process inside has.

// fileView is what a run sees of this machine's files. Its paths are absolute.
type fileView struct {
	Covers   []string `json:"covers"`   // real paths of folders and files to hide
	Keeps    []string `json:"keeps"`    // folders that the run reads and writes, even within covers
	Shows    []string `json:"shows"`    // folders that the run reads, even within covers
	Writable []string `json:"writable"` // further folders that the run may write when ReadOnly
	ReadOnly bool     `json:"readOnly"` // the run writes only Keeps, Writable and what a browser cannot do without
	Packs    string   `json:"packs"`    // a folder that is seen, read-only, in place of PacksAt; "": none
	PacksAt  string   `json:"packsAt"`
}

// newFileView decides what a run sees. A hidden folder is covered at every path where it is mounted.
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
	slices.SortFunc(v.Covers, func(a, b string) int { return len(a) - len(b) }) // outer ones first, since they hide inner ones
	v.Covers = slices.Compact(v.Covers)
	program, err := filepath.EvalSymlinks(s.Path)
	if err == nil && slices.ContainsFunc(v.Covers, func(c string) bool { return within(program, c) }) { // a build within the data folder
		v.Shows = append(v.Shows, filepath.Dir(program))
	}
	for _, e := range s.Extensions {
		if !slices.ContainsFunc(v.Keeps, func(k string) bool { return within(e.Path, k) }) {
			v.Shows = append(v.Shows, e.Path)
		}
	}
	if _, err := os.Lstat(s.packDir()); err == nil {
		v.Packs, v.PacksAt = s.packDir(), s.programPacks()
	}
	return v, nil
}

// mountPoint is a line of /proc/self/mountinfo (proc_pid_mountinfo(5)): the folder root of a file system appears at the path at.
type mountPoint struct{ device, root, at string }

func parseMounts(text string) (out []mountPoint) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 5 { // id, parent, device, root, mount point, options …
			out = append(out, mountPoint{device: f[2], root: unquoteMount(f[3]), at: unquoteMount(f[4])})
		}
	}
	return out
}

// unquoteMount decodes the kernel's octal escapes of spaces, tabs, newlines and backslashes.
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

// aliases returns the other paths at which a folder or file, or a part of the folder, is mounted.
func aliases(real string, mounts []mountPoint) (out []string) {
	home := -1
	for i, m := range mounts {
		if within(real, m.at) && (home < 0 || len(m.at) >= len(mounts[home].at)) { // of two mounts at one path the later one is visible
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

// ownMounts gives the calling thread a mount namespace that later mounts of the machine do not reach. It also tries to mount, since some
// machines allow the namespace but no mounts (AppArmor, seccomp).
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

// apply makes the calling thread's mount namespace show what v says. After an error nothing may run in it.
func (v *fileView) apply() error {
	folders := slices.Concat(v.Keeps, v.Shows)
	open := make([]int, 0, len(folders))
	defer func() {
		for _, fd := range open {
			unix.Close(fd) //nolint:errcheck // it only named a folder
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

// cover hides the paths of Covers by empty folders and files, and returns the folders.
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

// coverFolder puts an empty folder over another one. It has room for a few folders in which others are bound.
func coverFolder(path string) error {
	return mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=256k,nr_inodes=256,mode=0700")
}

// bind makes the folder from appear at another path, which it creates if necessary.
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

// settingsOfKernel are paths of /proc that change the machine. A process of root's may write them without any capability, since root owns
// them. Containers make the same ones read-only (OCI runtime specification, readonlyPaths).
func settingsOfKernel() []string {
	return []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"}
}

// lockDown makes everything read-only except the run's folders, the writable ones, shared memory, and /proc, where Chrome sets up its
// sandbox. Devices and sockets stay usable, since that is not a write to their folder.
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
		if err := unix.Statfs(dir, &st); err == nil && st.Flags&unix.ST_RDONLY == 0 { // read-only mounts of the machine stay read-only
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
		err := setReadOnly(m.at, true)
		// A path below a cover cannot be named. A mount of FUSE whose server is gone takes no writes, and never will again.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTCONN) {
			return err
		}
	}
	return nil
}

// stRelatime is ST_RELATIME of statfs(2), which has no equal among the flags of mount(2).
const stRelatime = 0x1000

// setReadOnly changes one mount. The kernel requires the other flags as they are (mount(2), MS_REMOUNT); statfs(2) returns them.
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
