package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Warm is the server's connection to the process of a warm run that no profile has taken yet. It is used by one
// goroutine.
type Warm struct {
	spec    Spec // of the launch
	cmd     *exec.Cmd
	in      io.WriteCloser // the lifeline: the process ends when it is closed before a spec is sent
	reports chan report    // closed when no other one comes
	exited  chan struct{}  // closed when the process has exited
}

// LaunchWarm starts a warm run with the settings of spec, and waits until its browser takes commands. dir is the folder
// of all warm runs, and name the base name of its folder there. The error is a *Failure when the start failed.
func LaunchWarm(ctx context.Context, exe string, spec Spec, dir, name string) (*Warm, error) {
	timeout, group := spec.Timeout, spec.Group
	spec = spec.atLaunch()
	spec.Warm, spec.Name, spec.ProfileDir, spec.Timeout, spec.Group = true, name, filepath.Join(dir, name), timeout, group
	for _, folder := range []string{dir, spec.RunDir} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	log, err := os.OpenFile(spec.ProfileDir+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	w := &Warm{spec: spec, cmd: command(exe, spec.RunDir), reports: make(chan report, 2), exited: make(chan struct{})}
	w.cmd.Stderr = log
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go w.readReports(out)
	if _, err = w.send(ctx, spec); err != nil {
		w.End()
		return nil, err
	}
	return w, nil
}

// readReports reads the process's two reports, and awaits its exit.
func (w *Warm) readReports(out io.Reader) {
	in := bufio.NewReader(out)
	for range 2 {
		var r report
		line, err := in.ReadBytes('\n')
		if err != nil || json.Unmarshal(line, &r) != nil {
			break
		}
		w.reports <- r
	}
	close(w.reports)
	w.cmd.Wait()                          //nolint:errcheck // the reports say it all
	os.Remove(w.spec.ProfileDir + ".log") //nolint:errcheck // that of a taken run has another name
	close(w.exited)
}

// send sends a spec to the process and returns its report.
func (w *Warm) send(ctx context.Context, spec Spec) (*State, error) {
	ctx, cancel := context.WithTimeout(ctx, spec.Timeout+slack)
	defer cancel()
	if err := json.NewEncoder(w.in).Encode(spec); err != nil {
		return nil, &Failure{Kind: "internal", Message: err.Error(), Cold: true}
	}
	select {
	case r, more := <-w.reports:
		switch {
		case !more:
			return nil, &Failure{Kind: "internal", Message: noReport, ExitCode: -1, Cold: true}
		case r.Failure != nil:
			return nil, r.Failure
		}
		return r.State, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Fits reports whether the run may serve a start. The profile must have no folder.
func (w *Warm) Fits(spec Spec) bool { return w.spec.SameLaunch(spec) }

// Exited is closed when the process has exited.
func (w *Warm) Exited() <-chan struct{} { return w.exited }

// Take makes the run that of spec, and waits until its start is complete. After an error the process has exited, and
// the run cannot be taken again. A *Failure that is Cold says that nothing was loaded and that the start may begin anew.
func (w *Warm) Take(ctx context.Context, spec Spec) (*Client, *State, error) {
	began := time.Now()
	state, err := w.send(ctx, spec)
	w.in.Close() //nolint:errcheck // the process reads no more
	if err != nil {
		w.endTaken(spec)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, nil, err
	}
	c := newClient(spec.RunDir, spec.Name, spec.ProfileDir)
	c.cmd, c.exited = w.cmd, w.exited
	c.watch()
	state.Phases = append([]Phase{{Name: "process", Took: time.Since(began) - total(state.Phases)}}, state.Phases...)
	return c, state, nil
}

// endTaken ends a process that has failed to become the run of spec, or that takes too long for it.
func (w *Warm) endTaken(spec Spec) {
	interrupt(w.cmd.Process)
	w.End()
	endLeftovers(spec.ProfileDir, spec.Name)
	Forget(spec.RunDir, spec.Name)
}

// End ends the process of a run that no profile has taken, and its browser. The process removes its folder.
func (w *Warm) End() {
	w.in.Close() //nolint:errcheck // it may be closed
	select {
	case <-w.exited:
		return
	case <-time.After(slack):
	}
	w.cmd.Process.Kill() //nolint:errcheck // the process may have exited
	<-w.exited
	removeUnlocked(w.spec.ProfileDir) //nolint:errcheck // the next serve removes what stays
}
