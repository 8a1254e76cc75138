package tests

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"warren/testnet"
)

// found is a process that bears the mark of a testbed.
type found struct {
	pid     int
	command string // with spaces between the arguments
	environ string
}

// processes finds everything that runs on the testbed: who names its folder on the command line, in the environment, or
// works in it. The test itself is none of them.
func (g *testbed) processes() (out []found) {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, e := range entries {
		pid, err := strconv.Atoi(filepath.Base(e))
		if err != nil || pid == os.Getpid() {
			continue
		}
		command, _ := os.ReadFile(e + "/cmdline")
		environ, _ := os.ReadFile(e + "/environ")
		cwd, _ := os.Readlink(e + "/cwd")
		if !bytes.Contains(command, []byte(g.dir)) && !bytes.Contains(environ, []byte(g.dir)) && !strings.HasPrefix(cwd, g.dir) {
			continue
		}
		out = append(out, found{pid, string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})), string(environ)})
	}
	return out
}

// census remembers processes, to tell later what became of them.
type census map[census1]string

type census1 struct{ pid, born string }

// add notes what runs on the testbed now.
func (c census) add(g *testbed) {
	for _, p := range g.processes() {
		if name, _, born := statOf(strconv.Itoa(p.pid)); born != "" {
			c[census1{strconv.Itoa(p.pid), born}] = name
		}
	}
}

// zombies counts by name those that have ended and that nobody reaped. A zombie has no mark left, only its number.
func (c census) zombies() map[string]int {
	out := map[string]int{}
	for who, name := range c {
		if _, state, born := statOf(who.pid); born == who.born && state == "Z" {
			out[name]++
		}
	}
	return out
}

// statOf reads a process' name, state and time of birth (proc_pid_stat(5)); empty when it is gone.
func statOf(pid string) (name, state, born string) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return "", "", ""
	}
	_, rest, _ := strings.Cut(string(stat), "(")
	end := strings.LastIndexByte(rest, ')')
	fields := strings.Fields(rest[end+1:])
	return rest[:end], fields[0], fields[19]
}

// alive are the processes on the testbed that run, but for its servers and their spare processes. One without a command
// line has ended, since its memory has gone before it, and so has one without an open file.
func (g *testbed) alive() (out []found) {
	all := g.processes()
	spares := map[string]bool{} // pids
	for _, p := range all {
		if isIdleSpare(p) {
			spares[strconv.Itoa(p.pid)] = true
		}
	}
	for _, p := range all {
		pid := strconv.Itoa(p.pid)
		isSpare := spares[pid] || spares[parentOf(pid)]
		if p.command != "" && !hasNoFiles(pid) && !strings.Contains(p.command, "warren serve ") && !isSpare {
			out = append(out, p)
		}
	}
	return out
}

// hasNoFiles reports whether a process has gone, or has closed every file, as it does when it exits.
func hasNoFiles(pid string) bool {
	files, err := os.ReadDir("/proc/" + pid + "/fd")
	return err == nil && len(files) == 0 || errors.Is(err, fs.ErrNotExist)
}

// isIdleSpare reports whether a process waits for its first run: with a run its standard error is the run's log.
func isIdleSpare(p found) bool {
	log, _ := os.Readlink("/proc/" + strconv.Itoa(p.pid) + "/fd/2")
	return strings.Contains(p.environ, "WARREN_SPARE=1") && strings.HasSuffix(p.command, "warren shim ") && log == os.DevNull
}

// parentOf reads a process' parent (proc_pid_stat(5)); "" when it is gone.
func parentOf(pid string) string {
	stat, _ := os.ReadFile("/proc/" + pid + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return ""
	}
	return fields[1]
}

func (g *testbed) countShims() (n int) {
	for _, p := range g.alive() {
		if strings.HasSuffix(p.command, "warren shim ") {
			n++
		}
	}
	return n
}

// browsers are the main processes of the browsers on the testbed.
func (g *testbed) browsers() (out []found) {
	for _, p := range g.alive() {
		if strings.Contains(p.command, "--remote-debugging-pipe") && !strings.Contains(p.command, " --type=") {
			out = append(out, p)
		}
	}
	return out
}

// awaitEnds waits for the end of what a killed server has left: its spare process ends when it reads the end of its
// input.
func (g *testbed) awaitEnds() {
	if g.killed {
		eventually(g.t, "the end of what a killed server has left", enough, func() bool { return len(g.alive()) == 0 })
	}
}

// nothingLeft wants no process on the testbed, and no file of a run.
func (g *testbed) nothingLeft() {
	g.t.Helper()
	for _, p := range g.alive() {
		g.t.Errorf("left over: process %d: %.200s", p.pid, p.command)
		syscall.Kill(p.pid, syscall.SIGKILL)
	}
	g.noFiles()
}

// awaitGone waits until no process names a folder.
func awaitGone(t testing.TB, dir string) {
	t.Helper()
	g := &testbed{dir: dir}
	eventually(t, "the end of what runs in "+dir, enough, func() bool { return len(g.alive()) == 0 })
}

// become makes the command run as the user.
func (u *ordinary) become(cmd *exec.Cmd) {
	if u != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.uid, Gid: u.gid, NoSetGroups: false}}
	}
}

// asOrdinary makes the testbed an ordinary user's, when the test runs as root.
func (g *testbed) asOrdinary() {
	g.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	g.user = &ordinary{65534, 65534}
	err := filepath.WalkDir(g.dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, 65534, 65534)
	})
	if err != nil {
		g.t.Skipf("needs to give files to another user: %v", err)
	}
}

// pause stops a process, and lets it go on when the test ends.
func pause(t testing.TB, pid int) {
	t.Helper()
	testnet.Pause(t, pid)
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGCONT) })
}
