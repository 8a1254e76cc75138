package runs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"warren/disk"
	"warren/pool"
	"warren/problem"
	"warren/shim"
)

// Installs browsers, for the API and for `warren browser install`. Who asks names a version. The operator alone names the mirror.

// InstallOff in place of a mirror's address forbids to install over the API.
const InstallOff = "off"

// ErrBrowsersLocked means that another command or installation is at work on the browsers of a data folder.
var ErrBrowsersLocked = errors.New("another installation or warren browser command is at work")

// IsBrowserVersion reports whether a version can be installed: a major, or all four numbers.
func IsBrowserVersion(version string) bool { return shim.IsBuildVersion(version) }

// LockBrowsers keeps other commands and installations out of the browsers of a data folder until release is called. It waits for
// them for so long. The error is then ErrBrowsersLocked.
func LockBrowsers(ctx context.Context, data string, wait time.Duration) (release func(), err error) {
	lock := flock.New(filepath.Join(data, "browsers.lock"), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err == nil && !ok && wait > 0 {
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		ok, err = lock.TryLockContext(waiting, 50*time.Millisecond)
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, context.DeadlineExceeded) || err == nil && !ok:
		err = ErrBrowsersLocked
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return func() { lock.Unlock() }, nil //nolint:errcheck // the process's end unlocks too
}

// InstallBrowser downloads a build, verifies it and installs it in a data folder, whose browsers the caller has locked. fresh is false
// if it was there already.
func InstallBrowser(ctx context.Context, data, mirror, version string, progress func(shim.InstallProgress)) (found shim.Installed,
	fresh bool, err error) {
	return shim.InstallBrowser(ctx, shim.Installation{Mirror: mirror, Version: version, Folder: BrowserPlaces(data, "", nil, nil).Installed,
		Progress: progress})
}

// ClaimBrowsers locks the browsers of this server for an installation, until release is called. It refuses where the operator has
// forbidden installations, where another one is under way, and while the server stops.
func (m *Manager) ClaimBrowsers(ctx context.Context) (release func(), err error) {
	if err := m.MayInstall(); err != nil {
		return nil, err
	}
	leave, err := m.beginWork()
	if err != nil {
		return nil, err
	}
	unlock, err := LockBrowsers(ctx, m.cfg.Data, 0)
	if err != nil {
		leave()
		if errors.Is(err, ErrBrowsersLocked) {
			return nil, BrowsersBusy()
		}
		return nil, err
	}
	return func() {
		unlock()
		leave()
	}, nil
}

// MayInstall returns an error where the operator has forbidden installations over the API.
func (m *Manager) MayInstall() error {
	if m.cfg.BrowserMirror == InstallOff {
		return InstallationNotAllowed()
	}
	return nil
}

// Install installs a build for this server, after ClaimBrowsers. It ends with ctx or with the server. Its errors are for clients. A
// build that is there already is found without any progress, or after a look at the list of builds.
func (m *Manager) Install(ctx context.Context, version string, progress func(shim.InstallProgress)) (ListedBrowser, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	found, fresh, err := InstallBrowser(ctx, m.cfg.Data, m.cfg.BrowserMirror, version, progress)
	switch {
	case err == nil:
	case m.ctx.Err() != nil:
		return ListedBrowser{}, pool.Stopping()
	case ctx.Err() != nil:
		return ListedBrowser{}, InstallationCancelled()
	default:
		return ListedBrowser{}, installProblem(err)
	}
	m.listed.Store(nil) // else the list would be ten seconds old
	m.log.Info("a browser was installed", "version", found.Version, "path", found.Path, "new", fresh)
	return ListedBrowser{Installed: found, Source: shim.SourceInstalled}, nil
}

// InstallationNotAllowed refuses where --browser-mirror is off.
func InstallationNotAllowed() *problem.Error {
	return problem.New(problem.Forbidden, "installation_not_allowed", "This server installs no browsers over the API (--browser-mirror "+
		"off). Run `warren browser install` on its machine.")
}

// BrowsersBusy refuses an installation beside another one.
func BrowsersBusy() *problem.Error {
	return problem.New(problem.Conflict, "browsers_busy", "Another installation or a `warren browser` command is under way on this "+
		"server. Wait for its end, or cancel it with DELETE /browsers/installation.")
}

// InstallationCancelled is the end of an installation that somebody has cancelled.
func InstallationCancelled() *problem.Error {
	return problem.New(problem.Conflict, "installation_cancelled", "The installation was cancelled. Nothing was installed.")
}

// installProblem says what happened to an installation, and what to do.
func installProblem(err error) *problem.Error {
	if disk.IsFull(err) {
		return problem.New(problem.Storage, "disk_full", "The disk is full, so nothing was installed. Free 1 GiB in the file system of "+
			"the data folder and try again.").Because(err)
	}
	failed, ok := errors.AsType[*shim.InstallFailure](err)
	if !ok {
		return problem.Hidden(err)
	}
	kind, code, advice := problem.Upstream, "", ""
	switch failed.Reason {
	case shim.MirrorUnreachable:
		code, advice = "mirror_unreachable", "Check that the server's machine reaches this address, then try again. serve takes another "+
			"one with --browser-mirror, and a proxy from HTTPS_PROXY."
	case shim.NoBuild:
		kind, code, advice = problem.NotFound, "build_not_found", "Choose another version."
	case shim.DownloadUntrusted:
		code, advice = "download_untrusted", "Try again. If it happens again, do not trust this mirror, and tell who runs it."
	default:
		kind, code, advice = problem.Unavailable, "browser_unusable", "`warren doctor` on the server's machine says more."
	}
	return problem.New(kind, code, fmt.Sprintf("The installation failed: %v. %s", err, advice)).Because(err)
}
