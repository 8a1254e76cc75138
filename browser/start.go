package browser

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Start launches Chrome. It returns when Chrome takes commands and every open page has its overrides. If ctx ends first, or on any error,
// nothing is left: no process, no temporary folder. It fails with a *StartError.
func (b *Browser) Start(ctx context.Context) error {
	if !b.claim() {
		return &StartError{Kind: StartFailed, Err: errStarted}
	}
	defer close(b.startDone)
	b.phases.Set()
	err := b.launch()
	if err == nil {
		b.phases.Lap("launch")
		err = b.awaitReady(ctx)
	}
	if err != nil {
		b.probe.set(pageValues{})
		return err
	}
	endFirst(b.PID())
	b.log.Info("browser started", "pid", b.PID(), "version", b.version.Version, "headless", b.spec.Headless)
	return nil
}

// claim reports whether this is the first call of Start or Stop.
func (b *Browser) claim() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.claimed
	b.claimed = true
	return first
}

// launch prepares the folders and starts the process. On failure it cleans up, and closes done and released.
func (b *Browser) launch() error {
	err := b.prepare()
	if err == nil {
		err = b.spawn()
	}
	if err == nil {
		return nil
	}
	b.removeFailed()
	close(b.done)
	close(b.released)
	if se, ok := errors.AsType[*StartError](err); ok {
		return se
	}
	return &StartError{Kind: StartFailed, Err: err}
}

// prepare creates the folders and writes Chrome's preferences.
func (b *Browser) prepare() error {
	if err := executable(b.spec.Path); err != nil {
		return &StartError{Kind: StartNotFound, Err: err}
	}
	if err := b.checkConfined(); err != nil {
		return err
	}
	if err := removeStaleLock(b.spec.UserDataDir); err != nil {
		return err
	}
	_, err := os.Lstat(b.spec.UserDataDir)
	b.createdDir = errors.Is(err, fs.ErrNotExist)
	if err := ownFolder(b.spec.UserDataDir); err != nil {
		return &StartError{Kind: StartUnwritable, Err: err}
	}
	if err := os.MkdirAll(b.spec.UserDataDir, 0o700); err != nil {
		return fmt.Errorf("make the profile's folder: %w", err)
	}
	if err := emptyFolder(b.spec.TempDir); err != nil {
		return fmt.Errorf("make the temporary folder: %w", err)
	}
	if err := errors.Join(writeStandIns(&b.spec), writeClearer(&b.spec)); err != nil {
		return fmt.Errorf("write into the temporary folder: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(b.filesDir(), "downloads"), 0o700); err != nil {
		return fmt.Errorf("make the folder for downloads: %w", err)
	}
	if b.emulation.baseLocale, err = copyLocalePack(&b.spec, b.isolator.isolation().Files == FilesInNamespace); err != nil {
		return err
	}
	if err := settleSession(&b.spec); err != nil {
		return fmt.Errorf("keep the tabs of the last session: %w", err)
	}
	return writeSettings(&b.spec)
}

// emptyFolder creates a folder, or removes what is in it.
func emptyFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// filesDir returns the run's own folder for uploads and downloads. Without Spec.FilesDir it is a temporary one.
func (b *Browser) filesDir() string {
	if b.spec.FilesDir != "" {
		return filepath.Clean(b.spec.FilesDir)
	}
	return filepath.Join(b.spec.TempDir, "files")
}

// spawn starts Chrome in its isolation, and the goroutines that supervise the process and the pipe.
func (b *Browser) spawn() error {
	p, err := newPipe()
	if err != nil {
		return err
	}
	defer p.closeChild()
	cmd := exec.Command(b.spec.Path, b.Arguments()...)
	cmd.Env = b.Environment()
	cmd.Dir = b.spec.TempDir
	if err = p.give(cmd); err == nil {
		b.proc, err = startProcess(cmd, b.isolator, b.limits.groupExit)
	}
	if err != nil {
		p.close()
		return err
	}
	p.wake = b.freezer.thaw
	b.mux = newMux(p, b.log)
	b.mux.blocked.extensions = b.extensions
	b.mux.passkeys.mode, b.mux.passkeys.all = b.spec.Passkeys, b.spec.Credentials
	b.mux.passkeys.onMade = b.passkeyMade
	d := b.mux.downloads
	d.dir, d.root, d.quota, d.headless = filepath.Join(b.filesDir(), "downloads"), b.filesDir(), b.spec.FilesQuota, b.spec.Headless
	d.ownFolderOnly = b.spec.ReadOnly && len(b.spec.Writable) == 0 && b.Isolation().Files == FilesInNamespace
	d.restricted = d.ownFolderOnly
	b.mux.controller.emulation, b.mux.controller.overridesFor = b.emulation, b.emulation.targetOverrides
	b.mux.controller.overriding.Store(b.emulation.isActive())
	if b.overridesFor != nil {
		b.mux.controller.overridesFor = b.overridesFor
		b.mux.controller.overriding.Store(true)
	}
	close(b.launched)
	go b.supervise()
	return nil
}

// supervise follows the run to its end: the main process, then its group, the pipe and the folders.
func (b *Browser) supervise() {
	piped := make(chan struct{})
	go func() { defer close(piped); b.mux.run() }()
	watching, over := context.WithCancel(context.Background())
	defer over()
	go b.mux.downloads.watchQuota(watching)
	<-b.proc.exited
	close(b.done)
	b.log.Info("browser exited", "pid", b.proc.pid(), "code", b.proc.exit.Code, "signal", b.proc.exit.Signal)
	<-b.proc.groupGone
	b.mux.pipe.close() // ends run even if a process outside of the group holds the other end
	<-piped
	if err := removeSettings(&b.spec); err != nil {
		b.log.Warn("what kept the browser from files and pages of its own stays in the profile's preferences", "error", err)
	}
	if err := restoreSession(b.spec.UserDataDir); err != nil {
		b.log.Warn("the tabs of the last session come back at the next start", "error", err)
	}
	if err := os.RemoveAll(b.spec.TempDir); err != nil {
		b.log.Warn("temporary folder not removed", "dir", b.spec.TempDir, "error", err)
	}
	close(b.released)
}

// removeFailed removes what a failed start has created.
func (b *Browser) removeFailed() {
	_ = os.RemoveAll(b.spec.TempDir)
	if b.createdDir {
		_ = os.RemoveAll(b.spec.UserDataDir)
	}
}

// awaitReady waits until the browser is ready. If it exits, is cancelled or takes too long, awaitReady ends it.
func (b *Browser) awaitReady(ctx context.Context) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.limits.start)
		defer cancel()
	}
	shaking, cancel := context.WithCancel(ctx)
	defer cancel()
	ready, shaken := make(chan error, 1), make(chan struct{})
	go func() { defer close(shaken); ready <- b.handshake(shaking) }()

	var failed *StartError
	select {
	case err := <-ready:
		if err == nil {
			return nil
		}
		failed = &StartError{Kind: StartFailed, Err: err}
		if cause := ctx.Err(); cause != nil {
			failed = cancelled(cause)
		}
	case <-b.proc.exited:
		failed = &StartError{Kind: StartFailed}
	case <-ctx.Done():
		failed = cancelled(ctx.Err())
	case <-b.stopc:
		failed = cancelled(context.Canceled)
	}
	b.abandon(failed.Kind == StartFailed)
	cancel()
	<-shaken
	b.removeFailed()
	b.explain(failed)
	return failed
}

func cancelled(cause error) *StartError {
	kind := StartCancelled
	if errors.Is(cause, context.DeadlineExceeded) {
		kind = StartTimeout
	}
	return &StartError{Kind: kind, Err: cause}
}

// abandon ends a browser whose start failed, and waits until nothing is left of it. Closing the pipe lets Chrome flush its data. own says
// that the browser itself has failed; it then gets time to exit and to print why.
func (b *Browser) abandon(own bool) {
	if own {
		select { // it is often exiting already
		case <-b.proc.exited:
		case <-b.killc:
		case <-time.After(b.limits.abandon / 2):
		}
	}
	b.mux.pipe.close()
	select {
	case <-b.proc.exited:
	case <-b.killc:
	case <-time.After(b.limits.abandon):
	}
	b.proc.kill()
	<-b.released
}

// exitProfileInUse is Chrome's exit code when another Chrome uses the profile (chrome/common/chrome_result_codes.h,
// RESULT_CODE_PROFILE_IN_USE).
const exitProfileInUse = 21

// explain adds the browser's exit and its last output to a failure.
func (b *Browser) explain(e *StartError) {
	e.Lines = b.proc.exit.Lines
	if e.Kind != StartFailed {
		return
	}
	exit := b.proc.exit
	if exit.Signal == "" {
		e.ExitCode = exit.Code
	}
	switch {
	case exit.Code == exitProfileInUse:
		e.Kind, e.Err = StartLocked, errors.New("another browser runs with this profile")
	case e.Err == nil || errors.Is(e.Err, errPipeEnded):
		e.Err = fmt.Errorf("the browser %v before it took commands", exit)
	}
}

// handshake asks for the version, attaches the controller, and waits until every open page has its overrides.
func (b *Browser) handshake(ctx context.Context) error {
	m := b.mux
	attached := make(chan answer, 1)
	m.downloads.applyBehavior("")
	m.controller.emulate()
	m.controller.autoAttach(func(a answer) { attached <- a })
	if err := b.getVersion(ctx); err != nil {
		return err
	}
	a, err := receive(ctx, attached)
	if err != nil {
		return err
	}
	if err := a.err(); err != nil {
		return fmt.Errorf("attach to the browser's pages: %w", err)
	}
	if err := b.awaitPage(ctx); err != nil {
		return err
	}
	b.phases.Lap("attach")
	asked, first := b.probeFirstPage()
	m.controller.closeBlocked.Store(true) // before the list: events tell of the pages that come later
	targets, err := m.targets(ctx)
	if err != nil {
		return err
	}
	if err := m.controller.awaitAllOverrides(ctx, targets); err != nil {
		return err
	}
	b.phases.Lap("override")
	if err := m.controller.closeBlockedPages(ctx, targets, b.closeAndWait); err != nil {
		return err
	}
	loaded, err := b.loadExtensions(ctx)
	if err != nil {
		return err
	}
	if b.hasGate() {
		if b.refusedCookies, err = m.restoreCookies(ctx, b.spec.Cookies); err != nil {
			return err
		}
		m.controller.reloadEarlyTabs(ctx, b.gate, len(b.spec.Cookies) > 0 || loaded)
		m.controller.openGate(b.gate)
	}
	go b.probePages(asked, first)
	m.prepareSpares()
	b.fitWindow(ctx)
	return b.leaveNewTab(ctx)
}

func (b *Browser) getVersion(ctx context.Context) error {
	var v struct {
		Product   string `json:"product"`
		UserAgent string `json:"userAgent"`
	}
	if err := b.mux.call(ctx, "", "Browser.getVersion", nil, &v); err != nil {
		return err
	}
	b.version = parseProduct(v.Product)
	b.version.Path = b.spec.Path
	if was := b.spec.Version; was != "" && was != b.version.Version {
		b.log.Warn("the browser is not of the version that it was when it was looked for; pages are told that one", "was", was, "is",
			b.version.Version)
	}
	b.userAgent = v.UserAgent
	return nil
}

// awaitPage waits for the first page, and opens one if none comes.
func (b *Browser) awaitPage(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, b.limits.firstPage)
	defer cancel()
	if b.mux.controller.awaitFirstPage(soon) == nil {
		return nil
	}
	if err := b.mux.call(ctx, "", "Target.createTarget", map[string]string{"url": BlankPage}, nil); err != nil {
		return err
	}
	return b.mux.controller.awaitFirstPage(ctx)
}

// leaveNewTab navigates a browser without restored tabs away from the New Tab Page.
func (b *Browser) leaveNewTab(ctx context.Context) error {
	pages := b.mux.controller.openPages()
	if len(pages) != 1 {
		return nil
	}
	scheme, rest, _ := strings.Cut(pages[0].URL, "://") // chrome://newtab, edge://newtab
	if strings.HasPrefix(scheme, "http") || !strings.HasPrefix(rest, "new") {
		return nil
	}
	return b.mux.call(ctx, pages[0].Session, "Page.navigate", map[string]string{"url": BlankPage}, nil)
}
