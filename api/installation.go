package api

import (
	"context"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/events"
	"warren/problem"
	"warren/runs"
)

// Installs browsers. A request names a version and nothing else: the operator chooses the mirror, and the archive is verified. One
// installation runs at a time, and the last one is kept in memory. All administrators see it.

// InstallationJSON is an installation of a browser.
type InstallationJSON struct {
	Version    string         `json:"version" doc:"As it was asked for." example:"131"`
	Status     string         `json:"status" enum:"running,done,failed"`
	Step       string         `json:"step" enum:"looking,downloading,unpacking,checking" doc:"Where it is, or was when it ended. looking: the mirror's list of builds is read."`
	DoneBytes  int64          `json:"doneBytes" doc:"How much of the archive was downloaded. 0 for a browser that was there already." example:"160432128"`
	TotalBytes int64          `json:"totalBytes" doc:"The size of the archive. 0: not known." example:"160432128"`
	Browser    *ListedBrowser `json:"browser" doc:"With done: the browser."`
	Error      *Problem       `json:"error" doc:"With failed: why, and what to do. installation_cancelled: by DELETE."`
	CreatedAt  time.Time      `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	EndedAt    *time.Time     `json:"endedAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"null: it goes on." example:"2026-11-21T14:06:31.000Z"`
}

// The states of an installation.
const (
	installationRuns   = "running"
	installationDone   = "done"
	installationFailed = "failed"
)

func (InstallationJSON) example() any {
	return InstallationJSON{Version: "131", Status: installationDone, Step: "checking", DoneBytes: 160432128, TotalBytes: 160432128,
		Browser: &ListedBrowser{Path: "/var/lib/warren/browsers/131.0.6778.204/chrome-linux64/chrome",
			Product: "Google Chrome for Testing", Version: "131.0.6778.204", Major: 131, Source: "installed"},
		CreatedAt: exampleTime(), EndedAt: new(exampleTime().Add(31 * time.Second))}
}

// installationStep is the time between two events of an installation within one step. They share the log with all others.
const installationStep = 500 * time.Millisecond

// installation is one installation. Its own goroutine alone changes it.
type installation struct {
	cancel   context.CancelFunc
	began    chan struct{} // closed when it does what takes time
	finished chan struct{} // closed at its end

	mu    sync.Mutex
	shown InstallationJSON
	told  int64 // doneBytes as the last event has it
}

// installations holds the last installation; nil: there was none since the server began.
type installations struct {
	mu   sync.Mutex
	last *installation
}

func noInstallation() *problem.Error {
	return problem.New(problem.NotFound, "installation_not_found", "No browser was installed since the server started. POST /browsers "+
		"installs one.")
}

func notEveryWorkspace() *problem.Error {
	return problem.New(problem.Forbidden, "forbidden", "A browser is for all workspaces: only a key that sees all of them installs one.")
}

// find returns the last installation.
func (k *installations) find() (*installation, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == nil {
		return nil, noInstallation()
	}
	return k.last, nil
}

func (i *installation) show() InstallationJSON {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.shown
}

// change changes what is shown.
func (i *installation) change(to func(*InstallationJSON)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	to(&i.shown)
}

// installInput is what a request for an installation says.
type installInput struct {
	Body struct {
		Version string `json:"version" doc:"A major, such as 131: its newest build. Or a build, such as 131.0.6778.204." example:"131"`
	}
}

func (installInput) example() any { return map[string]any{"version": "131"} }

func (installInput) problems() []*problem.Error {
	return []*problem.Error{runs.BrowsersBusy(), runs.InstallationNotAllowed()}
}

// Resolve checks the request by itself, as the command `warren browser install` does.
func (in *installInput) Resolve(huma.Context) []error {
	var f faults
	f.require(runs.IsBrowserVersion(in.Body.Version), "body.version", memberMessages["version"])
	return f.errors()
}

// installationBody is an answer with an installation.
type installationBody struct {
	Location string `header:"Location"`
	Body     InstallationJSON
}

// mayInstall refuses keys that see some workspaces alone, since every workspace's profiles run with the browsers.
func (s *API) mayInstall(ctx context.Context) error {
	if !callerOf(ctx).Sees.SeesAll() {
		return notEveryWorkspace()
	}
	return s.runs.MayInstall()
}

// installBrowser begins an installation. It answers at once, or with the end of one that has nothing to download.
func (s *API) installBrowser(ctx context.Context, in *installInput) (*installationBody, error) {
	if err := s.mayInstall(ctx); err != nil {
		return nil, err
	}
	release, err := s.runs.ClaimBrowsers(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.audit(ctx, "browser.install", "", in.Body.Version, map[string]any{}); err != nil {
		release()
		return nil, err
	}
	// It goes on without its client, and its errors are logged with the id of this request.
	work, cancel := context.WithCancel(context.WithValue(context.Background(), requestKey{}, &request{id: requestOf(ctx).id}))
	i := &installation{cancel: cancel, began: make(chan struct{}), finished: make(chan struct{}),
		shown: InstallationJSON{Version: in.Body.Version, Status: installationRuns, Step: "looking",
			CreatedAt: time.Now().UTC().Truncate(time.Millisecond)}}
	s.installs.mu.Lock()
	s.installs.last = i
	s.installs.mu.Unlock()
	go func() {
		defer cancel()
		s.runInstallation(work, i, release)
	}()
	select {
	case <-i.began:
	case <-i.finished:
	case <-ctx.Done():
	}
	return &installationBody{Prefix + "/browsers/installation", i.show()}, nil
}

// runInstallation installs and tells of it. release frees the browsers for the next installation.
func (s *API) runInstallation(ctx context.Context, i *installation, release func()) {
	stop, step := s.tellOfBytes(i), ""
	found, err := s.runs.Install(ctx, i.show().Version, func(p runs.InstallProgress) {
		i.change(func(j *InstallationJSON) {
			j.Step, j.DoneBytes, j.TotalBytes = string(p.Step), p.DoneBytes, p.TotalBytes
		})
		if step == "" {
			close(i.began)
		}
		if now := string(p.Step); now != step {
			step = now
			s.tellOfInstallation(i, true)
		}
	})
	stop()
	release()
	if err == nil {
		s.nodes.Report(ctx) // before anybody knows of it: who starts a profile then must not be told that no server has the browser
	}
	kind := "browser.installed"
	i.change(func(j *InstallationJSON) {
		j.EndedAt, j.Status = new(time.Now().UTC().Truncate(time.Millisecond)), installationDone
		if err != nil {
			kind, j.Status, j.Error = "browser.failed", installationFailed, occurrence(ctx, s.log, fromError(err))
			return
		}
		j.Browser = &ListedBrowsers([]runs.ListedBrowser{found})[0]
	})
	s.events.Publish(events.Event{Type: kind, Key: events.Administrators, Data: i.show()})
	close(i.finished)
}

// tellOfBytes tells again and again how far the download is, until stop is called. Then it tells nothing more.
func (s *API) tellOfBytes(i *installation) (stop func()) {
	end := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		tick := time.NewTicker(installationStep)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.tellOfInstallation(i, false)
			case <-end:
				return
			}
		}
	})
	return func() {
		close(end)
		telling.Wait()
	}
}

// tellOfInstallation publishes for administrators how far an installation is. Without newStep it does so only if there are new bytes.
func (s *API) tellOfInstallation(i *installation, newStep bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !newStep && i.told == i.shown.DoneBytes {
		return
	}
	i.told = i.shown.DoneBytes
	s.events.Publish(events.Event{Type: "browser.progress", Key: events.Administrators, Data: i.shown})
}

// installationRequest asks for the installation, or for its end.
type installationRequest struct{}

func (installationRequest) problems() []*problem.Error {
	return []*problem.Error{noInstallation(), runs.InstallationNotAllowed()}
}

func (s *API) getInstallation(ctx context.Context, _ *installationRequest) (*struct{ Body InstallationJSON }, error) {
	i, err := s.seeInstallation(ctx)
	if err != nil {
		return nil, err
	}
	return &struct{ Body InstallationJSON }{i.show()}, nil
}

func (s *API) seeInstallation(ctx context.Context) (*installation, error) {
	if err := s.mayInstall(ctx); err != nil {
		return nil, err
	}
	return s.installs.find()
}

// cancelInstallation answers when nothing of the installation goes on. One that has ended stays as it is.
func (s *API) cancelInstallation(ctx context.Context, _ *installationRequest) (*struct{}, error) {
	i, err := s.seeInstallation(ctx)
	if err != nil {
		return nil, err
	}
	i.cancel()
	select {
	case <-i.finished:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// showInstallation adds to the document what an answer shows at first.
func showInstallation(o *huma.OpenAPI) {
	o.Paths["/browsers"].Post.Responses["202"].Content["application/json"].Example = plain(InstallationJSON{Version: "131",
		Status: installationRuns, Step: "looking", CreatedAt: exampleTime()})
}
