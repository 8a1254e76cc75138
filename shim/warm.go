package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"warren/browser"
)

// Starts a browser before it belongs to a profile. Chrome gets its settings and its profile folder at its launch. So a
// warm run serves only a profile without a folder, and a start whose settings of the launch are the same. The folder of
// the launch is renamed to the profile's: the browser's mount namespace shows the same folder at the path of before.
// Outside, a link at that path leads to the profile's folder while the run goes on.
//
// Until a warm run is taken, it has no relay, every connection of its browser is closed, and nothing listens on a socket.
// Its process holds the lock of its folder, which becomes the profile's. It ends with its standard input.

// errNotTaken is the end of a warm run that no profile has taken.
var errNotTaken = errors.New("no profile has taken this run")

// warmAnswer is how long the browser of a warm run may take for an answer before another one is started.
const warmAnswer = 2 * time.Second

// atLaunch returns the part of a spec that a running browser cannot change. A member is part of it unless it is listed
// here, so that another member never makes two specs the same by mistake.
func (s Spec) atLaunch() Spec {
	s.RunID, s.ProfileID, s.ProfileDir, s.Name, s.Warm = "", "", "", "", false // whose run it is
	s.Group = nil                                                              // of the process
	s.CookieKey, s.PasskeyKey = nil, nil                                       // of its profile
	s.Upstream, s.Fallbacks, s.ForOnce, s.Rules = nil, nil, false, Rules{}     // the relay's, which does not exist before
	s.Private, s.Bypasses, s.Background = false, nil, false
	s.StartURLs, s.StarterFiles = nil, false // of the start's end, which a warm run has not reached
	s.DebugPort, s.DebugKey, s.DebugUntil = false, "", 0
	s.Timeout, s.Grace, s.MaxRun, s.Idle, s.FreezeAfter = 0, 0, 0, 0, 0
	return s
}

// SameLaunch reports whether a browser that was launched for one spec may serve the other one.
func (s Spec) SameLaunch(other Spec) bool { return reflect.DeepEqual(s.atLaunch(), other.atLaunch()) }

// beginWarm starts the browser, reports that it is there, and waits for the profile that takes it. The error is
// errNotTaken if none did. Nothing is left then.
func (p *process) beginWarm(ctx context.Context, in *json.Decoder, stdout io.Writer) (net.Listener, func(), error) {
	folder := p.spec.ProfileDir
	unlock, err := p.lockFolder()
	if err != nil {
		return nil, nil, err
	}
	taken := false
	defer func() {
		if !taken {
			os.RemoveAll(folder)       //nolint:errcheck // the next serve removes it
			os.Remove(folder + ".log") //nolint:errcheck // as above
			removeTemp(p.tempName)     //nolint:errcheck // as above
			unlock()
		}
	}()
	if err = p.open(); err != nil {
		return nil, nil, err
	}
	stop := p.browser.Refuse()
	if err = p.startWarm(ctx); err == nil {
		err = writeReport(stdout, report{State: &p.state})
	}
	if err != nil {
		return nil, nil, p.giveUp(err)
	}
	spec, err := p.awaitSpec(ctx, in)
	if err != nil {
		p.giveUp(err) //nolint:errcheck // nobody asks why
		return nil, nil, errNotTaken
	}
	p.log.Info("a warm run is taken", "run", spec.RunID, "profile", spec.ProfileID, "refused", stop())
	listener, taken, err := p.become(ctx, spec)
	if err == nil {
		return listener, unlock, nil
	}
	err = p.giveUp(err)
	if taken {
		forgetWarm(p.spec.ProfileDir) //nolint:errcheck // the profile's next start removes it
		removeTemp(p.tempName)        //nolint:errcheck // the start's error says more
		unlock()
	}
	return nil, nil, err
}

// startWarm starts the browser without a relay. It refuses where the kernel does not isolate network and files: the
// folder could not be renamed unnoticed, and the machine's network would be open.
func (p *process) startWarm(ctx context.Context) error {
	if is := p.browser.Isolation(); is.Network != browser.InNamespace || is.Files != browser.FilesInNamespace {
		return &Failure{Kind: "isolation_refused", Message: "a run without namespaces of network and files cannot be warm"}
	}
	if err := writeWarm(p.spec.ProfileDir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.spec.Timeout)
	defer cancel()
	if err := p.browser.Start(ctx); err != nil {
		return err
	}
	p.state = p.newState()
	return nil
}

// awaitSpec reads the spec of the run that this process becomes. It fails if the server has gone, or the browser.
func (p *process) awaitSpec(ctx context.Context, in *json.Decoder) (spec Spec, err error) {
	got := make(chan error, 1)
	go func() { got <- in.Decode(&spec) }()
	select {
	case err = <-got:
		return spec, err
	case <-p.browser.Done():
		return Spec{}, errors.New("the browser has exited")
	case <-ctx.Done():
		return Spec{}, ctx.Err()
	}
}

// become makes this process the run of spec. taken reports whether the folder is the profile's now. A Failure that is
// Cold says that no page was loaded.
func (p *process) become(ctx context.Context, spec Spec) (l net.Listener, taken bool, err error) {
	began := time.Now()
	if l, taken, err = p.claimAs(ctx, spec); err == nil {
		if err = p.connect(); err != nil {
			l.Close()
		}
	}
	if err != nil {
		return nil, taken, &Failure{Kind: "internal", Message: err.Error(), Cold: true}
	}
	ctx, cancel := context.WithTimeout(ctx, spec.Timeout)
	defer cancel()
	if err = p.completeStart(ctx); err != nil {
		l.Close()
		return nil, true, err
	}
	p.state.Phases = []Phase{{Name: "ready", Took: time.Since(began)}}
	return l, true, nil
}

// claimAs gives the folder of this process to a profile that has none, and opens the run's socket.
func (p *process) claimAs(ctx context.Context, spec Spec) (l net.Listener, taken bool, err error) {
	if !p.spec.SameLaunch(spec) {
		return nil, false, errors.New("the browser was launched with other settings")
	}
	asking, cancel := context.WithTimeout(ctx, warmAnswer)
	defer cancel()
	if err := p.browser.Answers(asking); err != nil {
		return nil, false, fmt.Errorf("the browser does not answer: %w", err)
	}
	warm := p.spec.ProfileDir
	if err := os.Rename(warm, spec.ProfileDir); err != nil { // fails unless the profile has no folder, or an empty one
		return nil, false, err
	}
	p.log = p.log.With("run", spec.RunID, "profile", spec.ProfileID)
	spec.Group = p.spec.Group
	p.spec, p.started = spec, time.Now()
	if err := linkWarm(warm, spec.ProfileDir); err != nil {
		return nil, true, err
	}
	os.Rename(warm+".log", logPath(spec.RunDir, spec.Name)) //nolint:errcheck // the next serve removes it
	l, err = net.Listen("unix", socketPath(spec.RunDir, spec.Name))
	return l, true, err
}

// warmPath is the file in a profile's folder that holds the path at which its browser sees the folder. It exists in the
// folder of a warm run, and while such a run of a profile goes on.
func warmPath(profileDir string) string { return filepath.Join(profileDir, ".warm") }

// writeWarm writes the file.
func writeWarm(dir string) error { return os.WriteFile(warmPath(dir), []byte(dir), 0o600) }

// readWarm returns the path at which a warm run's browser sees the profile's folder, "" for every other run.
func readWarm(profileDir string) string {
	text, err := os.ReadFile(warmPath(profileDir))
	if err != nil || !filepath.IsAbs(string(text)) {
		return ""
	}
	return string(text)
}

// SeenAt returns the path at which the browser of a profile's run sees the profile's folder.
func SeenAt(profileDir string) string {
	if warm := readWarm(profileDir); warm != "" && leadsTo(warm, profileDir) {
		return warm
	}
	return profileDir
}

// linkWarm makes the path of a warm run's launch lead to the profile's folder.
func linkWarm(warm, profileDir string) error {
	to, err := filepath.Rel(filepath.Dir(warm), profileDir)
	if err != nil {
		to = profileDir
	}
	return os.Symlink(to, warm)
}

// leadsTo reports whether path is a link, and leads to dir.
func leadsTo(path, dir string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0 && sameFolder(path, dir)
}

func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	y, failed := os.Stat(b)
	return err == nil && failed == nil && os.SameFile(x, y)
}

// forgetWarm removes what a warm run leaves beside its profile: the link, and the file that names it. Other runs have
// neither. The caller holds the profile's lock.
func forgetWarm(profileDir string) error {
	warm := readWarm(profileDir)
	if warm != "" && leadsTo(warm, profileDir) {
		if err := os.Remove(warm); err != nil {
			return err
		}
	}
	if err := os.Remove(warmPath(profileDir)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// CleanWarm removes what warm runs of an earlier server have left in dir, the folder of all warm runs. That are folders
// that no profile has taken, links of runs that are over, and logs. What a living process holds is left. It follows no
// link.
func CleanWarm(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			if isUnlocked(path) { // the lock of the profile's folder, to which it leads
				err = errors.Join(err, os.Remove(path))
			}
		case e.IsDir():
			err = errors.Join(err, removeUnlocked(path))
		case strings.HasSuffix(e.Name(), ".log"):
			if _, missing := os.Lstat(strings.TrimSuffix(path, ".log")); errors.Is(missing, fs.ErrNotExist) {
				err = errors.Join(err, os.Remove(path))
			}
		}
	}
	return err
}

// removeUnlocked removes a folder that no process holds. A process that holds one removes it itself, or gives it to a
// profile.
func removeUnlocked(dir string) error {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return err
	}
	lock := profileLock(dir)
	ok, err := lock.TryLock()
	if err != nil || !ok {
		return err
	}
	err = errors.Join(removeTemp(filepath.Base(dir)), os.RemoveAll(dir))
	return errors.Join(err, lock.Unlock())
}
