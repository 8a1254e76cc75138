package tests

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"warren/testnet"
)

// completed is what people type before they press Tab, and the words of the line then.
type completed struct{ typed, words string }

func completions() []completed {
	return []completed{
		{"warren profile li", "[profile][list]"},
		{"warren profile list --stat", "[profile][list][--status]"},
		{"warren profile list --status runn", "[profile][list][--status][running]"},
		{"warren profile show Sho", "[profile][show][Shop, Berlin]"},
		{"warren profile show it", "[profile][show][it's]"},
		{"warren profile show -- --o", "[profile][show][--][--odd]"},
	}
}

// TestCompletion: the shells that are installed complete commands, flags, values and the names of a server's profiles.
func TestCompletion(t *testing.T) {
	t.Parallel()
	g := newTestbed(t)
	s := g.serve("--browser", "/nowhere/chromium")
	for _, name := range []string{"Shop, Berlin", "it's", "--odd", "shut"} {
		s.do("POST", "/profiles", map[string]any{"name": name}, 201, nil)
	}
	for shell, script := range map[string]string{
		"bash": `source <($WARREN completion bash)`,
		"zsh":  `mkdir fn; $WARREN completion zsh >fn/_warren; fpath=($PWD/fn $fpath); autoload -Uz compinit; compinit -u -D`,
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("%s is not installed", shell)
			}
			onTerminal(t, s, shell, script)
		})
	}
	t.Run("fish", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("fish"); err != nil {
			t.Skip("fish is not installed")
		}
		completeInFish(t, s)
	})
}

// shellCommand is a shell in a folder of its own, where warren is on the path.
func shellCommand(t *testing.T, s *liveServer, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(builtBinary, filepath.Join(dir, "warren")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(s.environ(), "HOME="+dir, "ZDOTDIR="+dir, "TERM=dumb", "WARREN_URL="+s.base, "WARREN="+builtBinary,
		"PATH="+dir+":"+os.Getenv("PATH"))
	return cmd
}

// onTerminal types the lines into a shell. There warren is a function that prints its words, but completes as the program does.
func onTerminal(t *testing.T, s *liveServer, shell, script string) {
	t.Helper()
	master, terminal := openTerminal(t)
	cmd := shellCommand(t, s, shell, map[string]string{"bash": "--norc", "zsh": "-f"}[shell], "-i")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var screen testnet.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.Copy(&screen, master) //nolint:errcheck // it ends with the terminal
	}()
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // killed
		terminal.Close()
		<-read
	})
	show := ` warren() { if [ "$1" = __complete ]; then command warren "$@"; else printf 'got:'; printf '[%s]' "$@"; printf '.\n'; fi; }`
	typeLine(t, master, script+";"+show+`; printf 'rea%s\n' dy`)
	testnet.Eventually(t, "the shell", func() bool { return strings.Contains(screen.String(), "ready") })
	for _, c := range completions() {
		typeLine(t, master, c.typed+"\t")
		testnet.Eventually(t, c.typed+" in "+shell, func() bool { return strings.Contains(screen.String(), "got:"+c.words+".") })
	}
	if t.Failed() {
		t.Logf("the screen: %q", screen.String())
	}
}

func typeLine(t *testing.T, terminal io.Writer, line string) {
	t.Helper()
	if _, err := io.WriteString(terminal, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// completeInFish asks fish what it would offer: the last argument of each line alone.
func completeInFish(t *testing.T, s *liveServer) {
	t.Helper()
	ask := "warren completion fish | source\n"
	want := ""
	for _, c := range completions() {
		ask += "complete -C " + `"` + c.typed + `"` + "\n"
		want += strings.TrimSuffix(c.words[strings.LastIndexByte(c.words, '[')+1:], "]") + "\n"
	}
	cmd := shellCommand(t, s, "fish", "--no-config", "-c", ask)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}
