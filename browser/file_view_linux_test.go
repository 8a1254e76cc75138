package browser

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"warren/testnet"
)

// machineFiles is a server's data folder and other files that a run must not read, each with content of its own.
type machineFiles struct {
	t                *testing.T
	dir, data, other string // other: a folder that is not secret
	spec             Spec
	secrets          []string // files that no run may read
}

func newMachineFiles(t *testing.T) *machineFiles {
	m := &machineFiles{t: t, dir: tempDir(t)}
	m.data, m.other = filepath.Join(m.dir, "data"), filepath.Join(m.dir, "other")
	own, temps := filepath.Join(m.data, "profiles", "p1"), filepath.Join(m.dir, "temps")
	m.spec = Spec{Path: "/bin/sh", UserDataDir: filepath.Join(own, "chrome"), TempDir: filepath.Join(temps, "r1"),
		HomeDir: filepath.Join(own, "home"),
		Hidden:  []string{temps}, Protected: []string{m.data, filepath.Join(m.dir, "keys"), filepath.Join(m.other, "tls.key")},
		Files: FilesInNamespace}
	m.secrets = []string{filepath.Join(m.data, "admin.key"), filepath.Join(m.data, "warren.db"), filepath.Join(own, ".lock"),
		filepath.Join(m.data, "profiles", "p2", "chrome", "Cookies"), filepath.Join(temps, "r2", "upload"),
		filepath.Join(m.dir, "keys", "secret.key"),
		filepath.Join(m.other, "tls.key")}
	for _, file := range append(
		m.secrets, filepath.Join(m.other, "public"), filepath.Join(m.spec.UserDataDir, "mine"), filepath.Join(m.spec.TempDir, "mine"),
		filepath.Join(m.spec.HomeDir, "mine")) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("canary\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// inside runs a shell script as a run's browser, and returns its output.
func (m *machineFiles) inside(script string) string {
	m.t.Helper()
	iso, err := openNamespace(&m.spec, true)
	if err != nil {
		m.t.Fatal(err)
	}
	defer iso.close() //nolint:errcheck // nothing serves on it
	out, in, err := os.Pipe()
	if err != nil {
		m.t.Fatal(err)
	}
	defer out.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		m.t.Fatal(err)
	}
	defer null.Close()
	cmd := exec.Command("/bin/sh", "-c", script, "sh", "--user-data-dir="+m.spec.UserDataDir)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = []string{"PATH=/usr/bin:/bin:/usr/sbin"}, m.spec.TempDir, in, in,
		[]*os.File{null, null}
	child, err := iso.start(cmd)
	in.Close()
	if err != nil {
		m.t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	if err != nil {
		m.t.Fatal(err)
	}
	_ = child.Wait() // its output tells the result
	return string(text)
}

// wantUnread makes a run try to read every secret by every path of ways.
func (m *machineFiles) wantUnread(ways ...string) {
	m.t.Helper()
	var script strings.Builder
	for _, file := range m.secrets {
		for _, way := range append(ways, "%s") {
			fmt.Fprintf(&script, "cat '%s'; dd if='%[1]s' bs=1; grep '' '%[1]s'\n", strings.ReplaceAll(way, "%s", file))
		}
	}
	if got := m.inside(script.String()); strings.Contains(got, "canary") {
		m.t.Errorf("the run reads what is closed to it:\n%s", got)
	}
}

// TestRunSeesItsOwnFilesAlone looks at the file system from inside of a run: protected files do not exist, except the run's own, and the
// rest is unchanged.
func TestRunSeesItsOwnFilesAlone(t *testing.T) {
	needsMounts(t)
	m := newMachineFiles(t)
	m.wantUnread("/proc/self/root%s", "/proc/self/cwd/../../..%s", "//%s", "/../%s")
	list := m.inside(fmt.Sprintf(
		"cd %s && find . | sort; for f in %s %s %s %s; do cat $f/mine $f/public; echo new > $f/new; done", m.data, m.spec.UserDataDir,
		m.spec.TempDir, m.spec.HomeDir, m.other))
	want := ".\n./profiles\n./profiles/p1\n./profiles/p1/chrome\n./profiles/p1/chrome/mine\n./profiles/p1/home\n./profiles/p1/home/mine\n"
	if !strings.HasPrefix(list, want) || strings.Count(list, "canary\n") != 4 {
		t.Errorf("the run sees\n%s", list)
	}
	for _, dir := range []string{m.spec.UserDataDir, m.spec.TempDir, m.spec.HomeDir, m.other} {
		if _, err := os.Stat(filepath.Join(dir, "new")); err != nil {
			t.Errorf("the run cannot write %s: %v", dir, err)
		}
	}
	for _, dir := range []string{m.data, filepath.Dir(m.spec.UserDataDir), filepath.Dir(m.spec.TempDir)} {
		if got := m.inside("echo x > " + dir + "/x && echo written"); strings.Contains(got, "written") {
			t.Errorf("the run writes the cover over %s", dir)
		}
	}
}

// TestOtherPathsOfWhatIsProtected: links and further mounts lead to nothing either.
func TestOtherPathsOfWhatIsProtected(t *testing.T) {
	needsMounts(t)
	m := newMachineFiles(t)
	link := filepath.Join(m.dir, "link")
	if err := os.Symlink(m.dir, link); err != nil {
		t.Fatal(err)
	}
	for i, p := range m.spec.Protected {
		m.spec.Protected[i] = strings.Replace(p, m.dir, link, 1)
	}
	m.spec.UserDataDir = strings.Replace(m.spec.UserDataDir, m.dir, link, 1)
	m.wantUnread(link + "/..%s")
	if got := m.inside("cat " + m.spec.UserDataDir + "/mine"); got != "canary\n" {
		t.Errorf("the run's own folder, by a link, gives %q", got)
	}
	m.spec.UserDataDir = filepath.Join(m.data, "profiles", "p1", "chrome")
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, // root of a machine of its own
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}}
	again := filepath.Join(m.dir, "again") // the whole folder, and one below the data folder, are mounted elsewhere too
	if inside(t, "mounts", attr) {
		for from, to := range map[string]string{m.dir: again + "/all", filepath.Join(m.data, "profiles"): again + "/part"} {
			if err := errors.Join(os.MkdirAll(to, 0o700), unix.Mount(from, to, "", unix.MS_BIND, "")); err != nil {
				t.Fatal(err)
			}
		}
		m.wantUnread()
		for _, file := range slices.Clone(m.secrets) {
			m.secrets = append(
				m.secrets, strings.Replace(file, m.dir, again+"/all", 1),
				strings.Replace(file, filepath.Join(m.data, "profiles"), again+"/part", 1))
		}
		m.wantUnread()
	}
}

// TestReadOnlyMachine: a run that may write only its own folders writes those, shared memory and the named ones. It cannot write the
// kernel's settings, which are root's files. Devices and the sandbox's files stay usable.
func TestReadOnlyMachine(t *testing.T) {
	needsMounts(t)
	m := newMachineFiles(t)
	named := filepath.Join(m.dir, "named")
	if err := os.Mkdir(named, 0o700); err != nil {
		t.Fatal(err)
	}
	m.spec.ReadOnly, m.spec.Writable = true, []string{named}
	mountDead(t)
	check := func(t *testing.T) {
		home, _ := os.UserHomeDir()
		script := ""
		for _, dir := range []string{
			m.spec.UserDataDir, m.spec.TempDir, m.spec.HomeDir, named, "/dev/shm", m.dir, m.other, m.data, home, os.TempDir(), "/etc",
			"/var/tmp", "/usr/local"} {
			script += fmt.Sprintf("f=%s/w$$; (: > $f) 2>/dev/null && echo wrote %[1]s; rm -f $f 2>/dev/null\n", dir)
		}
		script += "(: >> /proc/sys/kernel/core_pattern) 2>/dev/null && echo core_pattern; (: >> /proc/sysrq-trigger) 2>/dev/null && " +
			"echo sysrq\n" +
			"echo 500 > /proc/self/oom_score_adj && echo null > /dev/null && echo usable"
		want := ""
		for _, dir := range []string{m.spec.UserDataDir, m.spec.TempDir, m.spec.HomeDir, named, "/dev/shm"} {
			want += "wrote " + dir + "\n"
		}
		if got := m.inside(script); got != want+"usable\n" {
			t.Errorf("the run can\n%s\nwant\n%susable", got, want)
		}
		m.wantUnread()
	}
	t.Run("this kernel", check)
	t.Run("a kernel of before 5.12", func(t *testing.T) {
		if inside(t, "old", nil) {
			forbid(t, unix.SYS_MOUNT_SETATTR, 0, 0, 0, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS))
			check(t)
		}
	})
}

// mountDead mounts a file system of FUSE whose server is gone at once, as a crash of one leaves it.
func mountDead(t *testing.T) {
	t.Helper()
	server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil || os.Geteuid() != 0 {
		return
	}
	dir := t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", server.Fd())
	if err := errors.Join(unix.Mount("dead", dir, "fuse", unix.MS_NOSUID, options), server.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// TestOtherProcessesAreClosed: a run reads neither environment nor memory, files nor folders of other processes, of any user.
func TestOtherProcessesAreClosed(t *testing.T) {
	needsMounts(t)
	m := newMachineFiles(t)
	t.Setenv("CANARY", "canary")
	other := exec.Command("sleep", "60")
	other.Dir = m.data
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Process.Kill(); other.Wait() }) //nolint:errcheck // it is ended by this
	open, err := os.Open(m.secrets[0])
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	script := "cat /proc/self/environ >/dev/null && echo readable;"
	for _, pid := range []int{os.Getpid(), os.Getppid(), other.Process.Pid} {
		script += fmt.Sprintf("cd /proc/%d && cat environ cwd/admin.key root%s fd/%d; ls root cwd fd map_files; cat mem | head -c "+
			"1; cat maps;", pid, m.secrets[0], open.Fd())
	}
	got := m.inside(script)
	if !strings.HasPrefix(got, "readable\n") || strings.Contains(got, "canary") || strings.Contains(got, "admin.key\n") ||
		strings.Count(got, "Permission denied") < 3*6 {
		t.Errorf("of other processes the run reads\n%s", got)
	}
}

// TestMountsRefused: where nothing can be mounted a run has a warning, and a run that requires hidden files is refused.
func TestMountsRefused(t *testing.T) {
	needsMounts(t)
	if !inside(t, "mounts", nil) {
		return
	}
	forbid(t, unix.SYS_MOUNT, 0, 0, 0, refusal)
	b, err := Open(Spec{Path: "/bin/true", UserDataDir: "/a/b", TempDir: tempDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got := b.Isolation(); got != (Isolation{Network: InNamespace, Files: FilesByGuard, Sandbox: true}) {
		t.Errorf("isolation %+v", got)
	}
	if !slices.ContainsFunc(b.Warnings(), func(w Warning) bool { return w.Code == "isolation_files" }) {
		t.Errorf("warnings %+v", b.Warnings())
	}
	var why *IsolationError
	if _, err := Open(Spec{Path: "/bin/true", UserDataDir: "/a/b", TempDir: tempDir(t), Files: FilesInNamespace}); !errors.As(err, &why) ||
		!why.Refused || why.Advice == "" {
		t.Errorf("a run that requires hidden files: %v", err)
	}
}

// TestFilesAreHiddenOnLoopback: a run without a network of its own still sees only its own files, and its relay recognises its connections.
func TestFilesAreHiddenOnLoopback(t *testing.T) {
	needsMounts(t)
	owner := 1000 + os.Geteuid() // root cannot run in the machine's network
	attr := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: []syscall.SysProcIDMap{{ContainerID: owner, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: owner, HostID: os.Getegid(), Size: 1}}}
	if !inside(t, "loopback", attr) {
		return
	}
	p := newProfile(t)
	s, closed := p.spec(), t.TempDir()
	canary := filepath.Join(closed, "canary")
	if err := os.WriteFile(canary, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.WebRTC, s.Protected = WebRTCDefault, []string{closed}
	b := p.open(s)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.Isolation(); got != (Isolation{Network: OnLoopback, Files: FilesInNamespace, Sandbox: true}) {
		t.Errorf("isolation %+v", got)
	}
	root := filepath.Join("/proc", itoa(b.PID()), "root")
	if _, err := os.Stat(root + s.UserDataDir); err != nil {
		t.Errorf("the run does not see its own folder: %v", err)
	}
	if _, err := os.Stat(root + canary); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the run sees what is closed to it: %v", err)
	}
	if err := b.OpenPages(t.Context(), []string{"http://a.test/through"}); err != nil {
		t.Fatal(err)
	}
	pageAt(t, b, "/through")
}

// needsMounts skips the test on a machine without mount namespaces.
func needsMounts(t *testing.T) {
	t.Helper()
	if err := CheckFiles(); err != nil {
		t.Skipf("needs user, network and mount namespaces: %v", err)
	}
}

// TestDownloadsWhereNothingElseIsWritten: if Chrome can write only the run's own folder, downloads of clients and of a person at a window
// go there. Otherwise they go where the person or an allowed client wants them.
func TestDownloadsWhereNothingElseIsWritten(t *testing.T) {
	needsMounts(t)
	open := t.TempDir()
	for name, change := range map[string]func(*Spec){
		"headless": func(s *Spec) {},
		"at a window": func(s *Spec) {
			s.Headless, s.ExtraEnv = false, append(s.ExtraEnv, "DISPLAY="+testnet.Display(t), "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11")
		},
		"named": func(s *Spec) { s.Writable = []string{open} },
	} {
		t.Run(name, func(t *testing.T) {
			l := startLoading(t, func(s *Spec) { s.ReadOnly = true }, change)
			c := dial(t, l.full+"/")
			_, page := l.tab(c, "")
			if name != "named" {
				l.get(c, page, "unasked.txt", "unasked")
				l.holds(l.listed("unasked.txt", DownloadComplete), "unasked")
			}
			wanted := filepath.Join(open, name)
			c.call("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": wanted, "eventsEnabled": true})
			l.get(c, page, "asked.txt", "asked")
			if path := c.ends("completed"); path != filepath.Join(wanted, "asked.txt") {
				t.Errorf("the client was told of %s", path)
			}
			if name != "named" {
				l.holds(l.listed("asked.txt", DownloadComplete), "asked")
				l.leavesTheMachine(wanted)
			} else if got, err := os.ReadFile(filepath.Join(wanted, "asked.txt")); string(got) != "asked" {
				t.Errorf("it finds %q %v", got, err)
			}
		})
	}
}
