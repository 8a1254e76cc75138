package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Files are the texts of the folder deploy, which the binary has in it.
type Files fs.FS

// where is whose service is meant.
type where struct {
	User   bool `xor:"whose" env:"WARREN_SERVICE_USER" help:"A service of your own, which runs while you are logged in. The default, but for root."`
	System bool `xor:"whose" env:"WARREN_SERVICE_SYSTEM" help:"The system's service, with a user of its own. The default for root."`
	DryRun bool `name:"dry-run" env:"WARREN_SERVICE_DRY_RUN" help:"Print the steps, and do nothing."`
}

// Install is the command install-service.
type Install struct{ where }

// Uninstall is the command uninstall-service.
type Uninstall struct{ where }

// Run installs the service and starts it, and says each step.
func (i *Install) Run(ctx context.Context, out io.Writer, files Files) error {
	s, err := i.system(files)
	if err != nil {
		return err
	}
	steps, err := s.Install()
	if err != nil {
		return err
	}
	if err := perform(ctx, out, steps, i.DryRun); err != nil || i.DryRun {
		return err
	}
	fmt.Fprintf(out, "Warren runs as a service. Its data are in %s.\n", s.Data)
	if s.User && s.OS == "linux" {
		fmt.Fprintln(out, "It ends when you log out, but after `loginctl enable-linger`.")
	}
	return nil
}

// Run stops and removes the service. The data stay.
func (u *Uninstall) Run(ctx context.Context, out io.Writer, files Files) error {
	s, err := u.system(files)
	if err != nil {
		return err
	}
	steps, err := s.Uninstall()
	if err != nil {
		return err
	}
	if err := perform(ctx, out, steps, u.DryRun); err != nil || u.DryRun {
		return err
	}
	fmt.Fprintf(out, "The service is removed. The data stay in %s; delete that folder if nobody needs them.\n", s.Data)
	return nil
}

// system is this machine.
func (w where) system(files Files) (s System, err error) {
	s = System{OS: runtime.GOOS, Root: mayChangeSystem(), Files: map[string]string{}, Has: has}
	s.User = w.User || !w.System && !s.Root && s.OS != "windows"
	if s.Program, err = os.Executable(); err == nil {
		s.Program, err = filepath.EvalSymlinks(s.Program)
	}
	if err != nil {
		return s, err
	}
	if s.Home, err = os.UserHomeDir(); err == nil {
		s.Config, err = os.UserConfigDir()
	}
	if err != nil && s.User {
		return s, err
	}
	s.Data = s.data()
	return s, fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		s.Files[d.Name()] = string(text)
		return err
	})
}

// data is the data folder of the service, as main.dataDir finds it.
func (s System) data() string {
	switch {
	case s.OS == "windows":
		return os.Getenv("ProgramData") + `\warren`
	case s.OS == "darwin":
		return s.Home + "/Library/Application Support/warren"
	case !s.User:
		return "/var/lib/warren"
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir + "/warren"
	}
	return s.Home + "/.local/share/warren"
}

func has(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// perform does the steps in their order, and says each. Before it writes the first file it looks whether one of them is somebody else's.
func perform(ctx context.Context, out io.Writer, steps []Step, dry bool) error {
	var foreign []error
	for _, step := range steps {
		path := step.Write + step.Remove
		if text, err := os.ReadFile(path); path != "" && err == nil && !step.Once && !strings.Contains(string(text), mark) {
			foreign = append(foreign, fmt.Errorf("%s was not written by `%s`: move it away first", path, mark))
		}
	}
	if err := errors.Join(foreign...); err != nil {
		return err
	}
	for _, step := range steps {
		if err := step.do(ctx, out, dry); err != nil {
			return fmt.Errorf("%s: %w", step.Say, err)
		}
	}
	return nil
}

// do does one step.
func (s Step) do(ctx context.Context, out io.Writer, dry bool) error {
	switch {
	case s.Write != "":
		fmt.Fprintf(out, "write %s (%s)\n", s.Write, s.Say)
		if dry {
			_, err := fmt.Fprintln(out, "    "+strings.ReplaceAll(strings.TrimSuffix(s.Text, "\n"), "\n", "\n    "))
			return err
		}
		if err := os.MkdirAll(filepath.Dir(s.Write), 0o755); err != nil || s.Once && has(s.Write) {
			return err
		}
		return replaceFile(s.Write, s.Text)
	case s.Remove != "":
		if !dry && !has(s.Remove) {
			return nil
		}
		fmt.Fprintf(out, "remove %s (%s)\n", s.Remove, s.Say)
		if dry {
			return nil
		}
		return os.Remove(s.Remove)
	}
	for i, word := range s.Command {
		s.Command[i] = strings.Replace(word, "gui/UID", "gui/"+strconv.Itoa(os.Getuid()), 1)
	}
	fmt.Fprintf(out, "run %s (%s)\n", strings.Join(s.Command, " "), s.Say)
	if dry {
		return nil
	}
	said, err := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...).CombinedOutput()
	if err == nil || s.May {
		return nil
	}
	return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said)))
}

// replaceFile writes a file whole or not at all.
func replaceFile(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
