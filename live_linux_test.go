package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// found is a process that bears the mark of a ground.
type found struct {
	pid     int
	zombie  bool
	command string // with spaces between the arguments
	environ string
}

// processes finds everything that runs on the ground: who names its folder on the command line, in the environment, or
// works in it. The test itself is none of them.
func (g *ground) processes() (out []found) {
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
		stat, _ := os.ReadFile(e + "/stat")
		state := bytes.TrimLeft(stat[bytes.LastIndexByte(stat, ')')+1:], " ")
		out = append(out, found{pid, len(state) > 0 && (state[0] == 'Z' || state[0] == 'X'),
			string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})), string(environ)})
	}
	return out
}

// alive are the processes on the ground that run, but for its servers.
func (g *ground) alive() (out []found) {
	for _, p := range g.processes() {
		if !p.zombie && !strings.Contains(p.command, "warren serve ") {
			out = append(out, p)
		}
	}
	return out
}

func (g *ground) countShims() (n int) {
	for _, p := range g.alive() {
		if strings.HasSuffix(p.command, "warren shim ") {
			n++
		}
	}
	return n
}

// browsers are the main processes of the browsers on the ground.
func (g *ground) browsers() (out []found) {
	for _, p := range g.alive() {
		if strings.Contains(p.command, "--remote-debugging-pipe") && !strings.Contains(p.command, " --type=") {
			out = append(out, p)
		}
	}
	return out
}

// nothingLeft wants no process on the ground, and no file of a run.
func (g *ground) nothingLeft() {
	g.t.Helper()
	for _, p := range g.alive() {
		g.t.Errorf("left over: process %d: %.200s", p.pid, p.command)
		syscall.Kill(p.pid, syscall.SIGKILL)
	}
	g.noFiles()
}

// become makes the command run as the user.
func (u *ordinary) become(cmd *exec.Cmd) {
	if u != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.uid, Gid: u.gid, NoSetGroups: false}}
	}
}

// asOrdinary makes the ground an ordinary user's, when the test runs as root.
func (g *ground) asOrdinary() {
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
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGCONT) })
}
