package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"warren/browser"
)

// Keeps a process that waits for a run, with a network namespace that waits too. A start that takes it waits neither for
// a process nor for a namespace.
//
// A spare has no name, no socket and no file. Its standard input is its lifeline: when the server ends, in whatever way,
// the spare reads the end of its input and exits. On its standard output it says that it is ready, then that it has got
// its run, and then it reports as every shim.

// spareVariable in the environment makes a shim a spare.
const spareVariable = "WARREN_SPARE"

// The lines that a spare says before its report.
const (
	spareReady = "ready"
	spareTaken = "taken"
)

// spareEnd is how long a spare may take to be ready, to say that it has its run, and to end.
const spareEnd = 5 * time.Second

// IsSpare reports whether this process was started as a spare.
func IsSpare() bool { return os.Getenv(spareVariable) != "" }

// RunSpare is the main function of a spare: it prepares, waits for its Spec, and then is what Run is. It returns nil if
// no run comes.
func RunSpare(ctx context.Context, stdin io.Reader, stdout io.Writer, log *slog.Logger) error {
	prepareProcess(log)
	network, err := browser.OpenSpareNetwork()
	if err != nil {
		network = nil // the run tries it again, and says why there is none
	}
	if _, err := fmt.Fprintln(stdout, spareReady); err != nil {
		return err
	}
	var spec Spec
	got := make(chan error, 1)
	in := json.NewDecoder(stdin)
	go func() { got <- in.Decode(&spec) }()
	select {
	case err = <-got:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		if network != nil {
			network.Close() //nolint:errcheck // this process ends
		}
		return nil
	}
	if err := logTo(logPath(spec.RunDir, spec.Name)); err != nil {
		return err // before it is taken: the start goes on without this process
	}
	if _, err := fmt.Fprintln(stdout, spareTaken); err != nil {
		return err
	}
	return run(ctx, spec, network, in, stdout, log)
}

// Spares starts runs, with a spare if there is one. It keeps one, which it makes when no start is under way.
type Spares struct {
	exe, dir string
	log      *slog.Logger

	mu       sync.Mutex
	keep     bool
	spare    *spare // nil: there is none
	launches int    // under way
	making   bool
	made     sync.WaitGroup
}

// spare is a process that waits for a run.
type spare struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	taken chan bool // true when it has got its run; closed when it is gone
	ended sync.Once
}

// NewSpares returns a starter of runs. exe is this program, and dir is the RunDir of the runs. It keeps no spare before
// Keep.
func NewSpares(exe, dir string, log *slog.Logger) *Spares {
	return &Spares{exe: exe, dir: dir, log: log}
}

// Keep makes a spare, and a new one after each start. It does nothing on a system without spares.
func (s *Spares) Keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = hasSpares
	s.refill()
}

// Close ends the spare. Later starts have none.
func (s *Spares) Close() {
	s.mu.Lock()
	s.keep = false
	last := s.spare
	s.spare = nil
	s.mu.Unlock()
	if last != nil {
		last.end()
	}
	s.made.Wait()
}

// Launch is the function Launch, with the spare if it is alive.
func (s *Spares) Launch(ctx context.Context, spec Spec) (*Client, *State, error) {
	taken := s.take()
	defer s.finish()
	if taken != nil {
		client, state, used, err := taken.launch(ctx, spec)
		if used {
			return client, state, err
		}
		s.log.Info("the spare process is gone, the run starts without it")
	}
	return Launch(ctx, s.exe, spec)
}

// take begins a launch, and returns the spare, nil if there is none.
func (s *Spares) take() *spare {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.launches++
	taken := s.spare
	s.spare = nil
	return taken
}

// finish ends a launch. A new spare is made behind the last one that is under way, which it would delay.
func (s *Spares) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.launches--
	s.refill()
}

// refill makes a spare if there is none, and nothing starts. mu is held.
func (s *Spares) refill() {
	if !s.keep || s.spare != nil || s.making || s.launches > 0 {
		return
	}
	s.making = true
	s.made.Go(func() {
		made, err := startSpare(s.exe, s.dir)
		if err != nil {
			s.log.Info("there is no spare process: the next start makes its own", "cause", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.making = false
		switch {
		case made == nil:
		case s.keep:
			s.spare = made
			go s.watch(made)
		default:
			made.end()
		}
	})
}

// startSpare starts a spare and waits until it is ready. One that does not say so in time is killed.
func startSpare(exe, dir string) (*spare, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	cmd := command(exe, dir)
	cmd.Env = append(cmd.Env, spareVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &spare{cmd: cmd, in: in, out: bufio.NewReader(out), taken: make(chan bool, 1)}
	late := time.AfterFunc(spareEnd, func() { cmd.Process.Kill() }) //nolint:errcheck // it may have exited
	line, err := s.out.ReadString('\n')
	late.Stop()
	if line != spareReady+"\n" {
		s.end()
		return nil, errors.Join(fmt.Errorf("it said %q", line), err)
	}
	return s, nil
}

// watch waits until the spare has got its run, or is gone without one.
func (s *Spares) watch(sp *spare) {
	defer close(sp.taken)
	if line, _ := sp.out.ReadString('\n'); line == spareTaken+"\n" {
		sp.taken <- true
		return
	}
	sp.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare == sp {
		s.spare = nil // the next start makes another one: one that dies at once must not be made again and again
	}
}

// launch gives the spare its run. used is false if it was gone: then nothing has begun.
func (s *spare) launch(ctx context.Context, spec Spec) (client *Client, state *State, used bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, spec.Timeout+slack)
	defer cancel()
	text, err := json.Marshal(spec)
	if err != nil {
		s.end()
		return nil, nil, true, err
	}
	l := begin(spec, s.cmd)
	go func() { // a spare that hangs does not read
		s.in.Write(text) //nolint:errcheck // if it is gone, taken says so
		s.in.Close()     //nolint:errcheck // the same
	}()
	select { // also if ctx ends: only a shim that has its run can end it in order
	case ok := <-s.taken:
		if !ok {
			return nil, nil, false, nil
		}
	case <-time.After(spareEnd): // it hangs, or has begun at the last moment
		s.end()
		endLeftovers(spec.ProfileDir, spec.Name)
		Forget(spec.RunDir, spec.Name)
		return nil, nil, false, nil
	}
	client, state, err = l.await(ctx, s.out)
	return client, state, true, err
}

// end ends a spare that has no run, and waits for it. With its input it ends its network's process too, which would
// otherwise be in the data folder a moment longer. One that does not end is told to, and then killed.
func (s *spare) end() {
	s.ended.Do(func() {
		s.in.Close() //nolint:errcheck // it may be gone
		late := time.AfterFunc(spareEnd, func() { interrupt(s.cmd.Process) })
		defer late.Stop()
		hung := time.AfterFunc(spareEnd+slack, func() { s.cmd.Process.Kill() }) //nolint:errcheck // it may have exited
		defer hung.Stop()
		s.cmd.Wait() //nolint:errcheck // nothing depends on how it ended
	})
}
