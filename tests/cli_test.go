package tests

import (
	"bufio"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"warren/shim"
)

// TestScripts runs the command lines of testdata/script with the real binary. The scripts have these commands of their own:
//
//	expect CODE warren ARGS…   runs it and wants its exit code
//	serving [FLAGS…]           serves $WORK/data in the background until the script ends; $WARREN_URL and $ADDRESS say where
//	crash                      ends that server as a crash would
//	sql FILE STATEMENT         changes a database
//	overwrite FILE OFFSET TEXT writes into the middle of a file; OFFSET may be -N, from the end
//	truncate FILE SIZE         cuts a file
//	mode FILE OCTAL            wants a file's permissions
//	set NAME FILE REGEXP       sets a variable to what the expression's group finds
func TestScripts(t *testing.T) {
	t.Parallel()
	binary := builtBinary
	_, err := shim.FindBrowser(t.Context(), os.Getenv("WARREN_BROWSER"))
	haveBrowser := err == nil
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			for _, dir := range []string{"home", "t"} {
				if err := os.Mkdir(filepath.Join(env.WorkDir, dir), 0o700); err != nil {
					return err
				}
			}
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("TMPDIR", filepath.Join(env.WorkDir, "t"))
			env.Setenv("PATH", filepath.Dir(binary)+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Values["server"] = new(scriptServer)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond != "browser" {
				return false, errors.New("no such condition")
			}
			return haveBrowser, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"expect":  expectCode,
			"serving": serving,
			"crash": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Value("server").(*scriptServer).end(syscall.SIGKILL)
			},
			"sql":       changeDatabase,
			"overwrite": overwrite,
			"truncate":  truncate,
			"mode":      wantMode,
			"set":       setFrom,
		},
	})
}

func expectCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: expect CODE PROGRAM ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if code != want {
		ts.Fatalf("%v exited with %d, want %d", args[1:], code, want)
	}
}

// scriptServer is the server in the background of a script.
type scriptServer struct {
	cmd  *exec.Cmd
	gone chan struct{}
}

func (s *scriptServer) end(signal syscall.Signal) {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(signal)
	select {
	case <-s.gone:
	case <-time.After(enough):
		s.cmd.Process.Kill()
		<-s.gone
	}
	s.cmd = nil
}

func serving(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value("server").(*scriptServer)
	s.end(syscall.SIGTERM)
	cmd := exec.Command("warren", append([]string{"serve", "--listen", "127.0.0.1:0", "--data", ts.MkAbs("data")}, args...)...)
	path, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(filepath.ListSeparator))[0], "warren"))
	ts.Check(err)
	cmd.Path, cmd.Err = path, nil
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "WARREN_API_KEY", "WARREN_BROWSER", "SystemRoot"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	log, err := os.Create(ts.MkAbs("server.log"))
	ts.Check(err)
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	s.cmd, s.gone = cmd, make(chan struct{})
	ts.Defer(func() { s.end(syscall.SIGTERM) })
	line, _ := bufio.NewReader(out).ReadString('\n')
	gone := s.gone
	go func() { cmd.Wait(); close(gone) }()
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "warren: listening on ")
	if !ok {
		text, _ := os.ReadFile(ts.MkAbs("server.log"))
		ts.Fatalf("the server did not serve: %q\n%s", line, text)
	}
	ts.Setenv("WARREN_URL", base)
	ts.Setenv("ADDRESS", strings.TrimPrefix(base, "http://"))
}

func changeDatabase(ts *testscript.TestScript, neg bool, args []string) {
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(strings.Join(args[1:], " "))
	ts.Check(err)
	_, err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	ts.Check(err)
}

func overwrite(ts *testscript.TestScript, neg bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	defer f.Close()
	offset, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	if offset < 0 {
		info, err := f.Stat()
		ts.Check(err)
		offset += info.Size()
	}
	_, err = f.WriteAt([]byte(args[2]), offset)
	ts.Check(err)
}

func truncate(ts *testscript.TestScript, neg bool, args []string) {
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}

func setFrom(ts *testscript.TestScript, neg bool, args []string) {
	found := regexp.MustCompile(args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if found == nil {
		ts.Fatalf("%s is not in %s", args[2], args[1])
	}
	ts.Setenv(args[0], found[1])
}

func wantMode(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := strconv.FormatUint(uint64(info.Mode().Perm()), 8); got != args[1] {
		ts.Fatalf("%s has the mode %s, want %s", args[0], got, args[1])
	}
}
