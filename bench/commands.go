package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	// commandAim is how many milliseconds a command may take longer than curl.
	commandAim = 30.0
	// commandCalls is how often each program is called per round. Their median counts.
	commandCalls = 10
	// commandProfiles is how many profiles the list has.
	commandProfiles = 20
)

// measureCommands compares a command with curl and the same request: the time from the program's start to its end.
func (b *bench) measureCommands(ctx context.Context) error {
	curl, err := exec.LookPath("curl")
	if err != nil {
		fmt.Fprintln(os.Stderr, "commands: skipped, curl is not installed")
		return nil
	}
	w, err := b.serveEmpty(ctx)
	if err != nil {
		return err
	}
	defer w.stop()
	var id string
	for i := range commandProfiles {
		if id, err = w.create(ctx, map[string]any{"name": fmt.Sprint("shop-", i)}); err != nil {
			return err
		}
	}
	header := filepath.Join(b.dir, "curl-header") // not on the command line, where everybody sees it
	if err := os.WriteFile(header, []byte("Authorization: Bearer "+w.key+"\n"), 0o600); err != nil {
		return err
	}
	home := filepath.Join(b.dir, "home") // without contexts
	env := append(os.Environ(), "WARREN_URL="+w.address, "WARREN_API_KEY="+w.key, "HOME="+home, "XDG_CONFIG_HOME="+home)
	for _, c := range []struct {
		path string
		args []string
	}{
		{"/profiles", []string{"profile", "list", "-o", "json"}},
		{"/profiles/" + id, []string{"profile", "show", id, "-o", "json"}},
	} {
		name := "warren " + c.args[0] + " " + c.args[1]
		got, err := b.play(ctx, name, 2*b.rounds, side{"warren", repeated(env, b.warren, c.args...)},
			side{"curl", repeated(env, curl, "-sS", "--fail", "-H", "@"+header, w.address+"/api/v1"+c.path)})
		if err != nil {
			return err
		}
		longer := make([]float64, len(got[0][0]))
		for i := range longer {
			longer[i] = got[0][0][i] - got[1][0][i]
		}
		b.table = append(b.table, figure{name: name + ", beside curl", unit: "ms", ours: got[0][0], floor: got[1][0]},
			figure{name: "  longer than curl", unit: "ms", ours: longer, floor: constant(commandAim, len(longer)), aim: 1})
	}
	return nil
}

// repeated runs a program some times. It returns the median in ms.
func repeated(env []string, program string, args ...string) trial {
	return func(ctx context.Context, _ int) ([]float64, error) {
		took := make([]float64, commandCalls)
		for i := range took {
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Env = env
			begun := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%s: %w: %s", program, err, out)
			}
			took[i] = milliseconds(time.Since(begun))
		}
		return []float64{median(took)}, nil
	}
}
