package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/identity"
	"warren/problem"
	"warren/store"
)

// profileJSON is a profile as the API shows it.
type profileJSON struct {
	ID                string       `json:"id" example:"0199a1c2-7d3e-7a10-8a55-0123456789ab"`
	WorkspaceID       string       `json:"workspaceId" example:"default"`
	Name              string       `json:"name" example:"Shop, Berlin"`
	OS                string       `json:"os" enum:"win,mac,linux"`
	BrowserVersion    string       `json:"browserVersion" doc:"The declared major version. Empty while no browser is installed and none is declared." example:"156"`
	Tags              rawStrings   `json:"tags"`
	Notes             string       `json:"notes"`
	ProxyID           *string      `json:"proxyId"`
	FallbackProxyIDs  rawStrings   `json:"fallbackProxyIds"`
	FallbackCountry   string       `json:"fallbackCountry" enum:"same,any"`
	ProxyMissing      bool         `json:"proxyMissing" doc:"The proxy was deleted while the profile was in the trash: start is refused until proxyId is set."`
	StartURLs         rawStrings   `json:"startUrls"`
	Timezone          string       `json:"timezone" example:"auto"`
	Locale            locale       `json:"locale"`
	Geolocation       geolocation  `json:"geolocation"`
	WebRTC            string       `json:"webrtc" enum:"proxy_only,off,default"`
	Screen            *screen      `json:"screen"`
	Headless          *bool        `json:"headless"`
	IdleTimeoutMs     *int64       `json:"idleTimeoutMs"`
	MaxRunMs          *int64       `json:"maxRunMs"`
	BackgroundTraffic string       `json:"backgroundTraffic" enum:"refuse,allow"`
	AllowLocal        rawStrings   `json:"allowLocal"`
	LogHosts          bool         `json:"logHosts"`
	LocalhostVia      rawStrings   `json:"localhostVia"`
	AllowHosts        rawStrings   `json:"allowHosts"`
	DenyHosts         rawStrings   `json:"denyHosts"`
	Consistency       string       `json:"consistency" enum:"off,warn,block"`
	Status            string       `json:"status" enum:"stopped,starting,running,stopping,failed"`
	Run               *RunJSON     `json:"run" doc:"What runs now, as start answered it, without its capability."`
	LastRun           *lastRunJSON `json:"lastRun" doc:"How the last run ended."`
	LastStartedAt     *time.Time   `json:"lastStartedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	DiskBytes         int64        `json:"diskBytes" doc:"Size of the profile's folder when it last stopped."`
	CreatedAt         time.Time    `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	UpdatedAt         time.Time    `json:"updatedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	TrashedAt         *time.Time   `json:"trashedAt,omitempty,format:'2006-01-02T15:04:05.000Z07:00'" doc:"Only in the trash." example:"2026-11-21T14:06:00.000Z"`
}

// ProfileBody is a profile as an answer, with the tag of its version.
type ProfileBody struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     profileJSON
}

func etag(revision int64) string { return fmt.Sprintf(`"%d"`, revision) }

// matches says whether an If-Match header (RFC 9110, 13.1.1) names the revision. Empty matches.
func matches(ifMatch string, revision int64) bool {
	if ifMatch == "" {
		return true
	}
	for t := range strings.SplitSeq(ifMatch, ",") {
		if t = strings.TrimSpace(t); t == "*" || t == etag(revision) {
			return true
		}
	}
	return false
}

func etagMismatch() *problem.Error {
	return problem.New(problem.Changed, "etag_mismatch", "The object has changed since it was read. Read it again, and send its new ETag.")
}

// profile makes the answer of a row.
func (s *server) profile(row store.Profile) (profileJSON, error) {
	p := profileJSON{
		ID: row.ID, WorkspaceID: row.WorkspaceID, Name: row.Name, OS: row.OS, BrowserVersion: row.BrowserVersion,
		Tags: rawStrings(row.Tags), Notes: row.Notes, ProxyID: row.ProxyID, ProxyMissing: row.ProxyMissing,
		FallbackProxyIDs: rawStrings(row.FallbackProxyIDs), FallbackCountry: row.FallbackCountry,
		StartURLs: rawStrings(row.StartURLs), Timezone: row.Timezone, Locale: locale(row.Locale),
		Geolocation: geolocation(row.Geolocation), WebRTC: row.WebRTC, Headless: row.Headless,
		IdleTimeoutMs: row.IdleTimeoutMs, MaxRunMs: row.MaxRunMs, BackgroundTraffic: row.BackgroundTraffic, AllowLocal: rawStrings(row.AllowLocal), Consistency: row.Consistency, Status: row.Status,
		LogHosts: row.LogHosts, LocalhostVia: rawStrings(row.LocalhostVia), AllowHosts: rawStrings(row.AllowHosts), DenyHosts: rawStrings(row.DenyHosts),
		LastStartedAt: startedAt(row.LastStartedAt), DiskBytes: row.DiskBytes,
		CreatedAt: millis(row.CreatedAt), UpdatedAt: millis(row.UpdatedAt), TrashedAt: millisOrNil(row.TrashedAt),
	}
	if p.BrowserVersion == "" {
		p.BrowserVersion = s.runs.installedMajor()
	}
	if row.Screen != nil {
		p.Screen = new(screen)
		if err := json.Unmarshal([]byte(*row.Screen), p.Screen); err != nil {
			return p, err
		}
	}
	if row.LastRun != nil {
		p.LastRun = new(lastRunJSON)
		if err := json.Unmarshal([]byte(*row.LastRun), p.LastRun); err != nil {
			return p, err
		}
	}
	p.Status, p.Run = s.runs.look(row.ID, atRest(row))
	return p, nil
}

func (s *server) profileAnswer(row store.Profile) (*ProfileBody, error) {
	p, err := s.profile(row)
	return &ProfileBody{ETag: etag(row.Revision), Body: p}, err
}

// profileList is what a list of profiles can be asked for.
type profileList struct {
	InWorkspace
	Paging
	Search  string   `query:"search" maxLength:"200" doc:"Profiles whose name or notes contain it, whatever the case."`
	Tag     []string `query:"tag,explode" maxItems:"50" doc:"Profiles that have the tag; given several times, all of them."`
	Status  string   `query:"status" enum:"stopped,starting,running,stopping,failed"`
	ProxyID string   `query:"proxyId" doc:"Profiles that use this proxy."`
	OS      string   `query:"os" enum:"win,mac,linux,windows,macos,darwin,lin"`
	Sort    string   `query:"sort" enum:"createdAt,updatedAt,name,lastStartedAt" doc:"Default: createdAt."`
	Order   string   `query:"order" enum:"asc,desc" doc:"Default: desc, newest first."`
	Trashed bool     `query:"trashed" doc:"List the trash instead."`
}

// ProfilePath names one profile.
type ProfilePath struct {
	ID string `path:"id" doc:"The profile's id."`
}

type profileGet struct {
	ProfilePath
	Trashed bool `query:"trashed" doc:"Look in the trash."`
}

func (s *server) getProfile(ctx context.Context, in *profileGet) (*ProfileBody, error) {
	row, err := s.profileRow(ctx, in.ID, in.Trashed)
	if err != nil {
		return nil, err
	}
	return s.profileAnswer(row)
}

// profileRow reads a profile that the caller may see, out of the trash when trashed is set.
func (s *server) profileRow(ctx context.Context, id string, trashed bool) (store.Profile, error) {
	q, c := s.store.Read(), callerOf(ctx)
	var row store.Profile
	var err error
	if trashed {
		row, err = q.GetProfileAny(ctx, store.GetProfileAnyParams{ID: id, Workspaces: c.Sees.Filter()})
		if err == nil && row.TrashedAt == nil {
			err = store.ErrNoRow
		}
	} else {
		row, err = q.GetProfile(ctx, store.GetProfileParams{ID: id, Workspaces: c.Sees.Filter()})
	}
	if errors.Is(err, store.ErrNoRow) {
		return row, problem.Missing("profile")
	}
	return row, err
}

// profileCreate is a profile to make. What only the server sets is refused by the schema.
type profileCreate struct {
	Body profileInput

	workspace string
}

// Resolve checks everything at once, also what only the database knows.
func (in *profileCreate) Resolve(ctx huma.Context) []error {
	var f faults
	req := requestOf(ctx.Context())
	if !in.Body.Name.Set {
		f.add("body.name", "is required", nil)
	}
	in.Body.check(&f)
	in.Body.checkLocal(req.server, &f)
	in.Body.checkVia(req.server, &f)
	workspace, bad := req.caller.workspaceFor(in.Body.WorkspaceID)
	if bad != nil {
		f = append(f, *bad)
	} else if err := in.Body.checkProxy(ctx.Context(), req.server.store.Read(), req.caller, workspace, nil, &f); err != nil {
		return []error{problem.Hidden(err)}
	}
	in.workspace = workspace
	return f.errors()
}

func (s *server) createProfile(ctx context.Context, in *profileCreate) (*ProfileBody, error) {
	at := now()
	row := store.Profile{ID: store.NewID(), WorkspaceID: in.workspace, OS: identity.HostSystem(), Tags: "[]", StartURLs: "[]", Timezone: "auto",
		Locale: "auto", Geolocation: "auto", WebRTC: "proxy_only", BackgroundTraffic: "refuse", AllowLocal: "[]", Consistency: "warn",
		FallbackProxyIDs: "[]", FallbackCountry: "same", AllowHosts: "[]", DenyHosts: "[]", LocalhostVia: "[]", Status: "stopped", Revision: 1, CreatedAt: at, UpdatedAt: at}
	if err := in.Body.apply(&row); err != nil {
		return nil, err
	}
	err := s.store.Write(ctx, func(q *store.Queries) error {
		var f faults // again: a fall-back may have gone between the look and the write, and no foreign key holds it
		if err := in.Body.checkProxy(ctx, q, callerOf(ctx), row.WorkspaceID, nil, &f); err != nil {
			return err
		}
		if len(f) > 0 {
			return problem.NotValid(f...)
		}
		if _, err := q.EnsureWorkspace(ctx, store.EnsureWorkspaceParams{ID: row.WorkspaceID, Now: at}); err != nil {
			return err
		}
		if err := q.AddProfile(ctx, insertOf(row)); err != nil {
			return err
		}
		return noteMade(ctx, q, row.ID)
	})
	if err != nil {
		return nil, proxyVanished(err)
	}
	s.events.Publish(events.Event{Type: "profile.created", Workspace: row.WorkspaceID, Data: map[string]any{"id": row.ID}})
	body, err := s.profileAnswer(row)
	if err != nil {
		return nil, err
	}
	body.Location = apiPrefix + "/profiles/" + row.ID
	return body, nil
}

// proxyVanished turns a broken foreign key into the fault that it is: the proxy went between the look and the write.
func proxyVanished(err error) error {
	if errors.Is(err, store.ErrReference) {
		return problem.NotValid(problem.Fault{Location: "body.proxyId", Message: "is no proxy of the profile's workspace"})
	}
	return err
}

// profileUpdate holds the members to change.
type profileUpdate struct {
	ProfilePath
	Cutting
	IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 when the profile has changed since."`
	Body    profileInput
}

// Resolve checks everything at once, also what only the database knows.
func (in *profileUpdate) Resolve(ctx huma.Context) []error {
	f, err := in.check(ctx.Context(), requestOf(ctx.Context()).server)
	if err != nil {
		return []error{fromError(err)}
	}
	return f.errors()
}

func (in *profileUpdate) check(ctx context.Context, s *server) (f faults, err error) {
	in.Body.check(&f)
	in.Body.checkLocal(s, &f)
	in.Body.checkVia(s, &f)
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	if in.Body.WorkspaceID.Set && (in.Body.WorkspaceID.Null || in.Body.WorkspaceID.Value != row.WorkspaceID) {
		f.add("body.workspaceId", "never changes", nil)
	}
	return f, in.Body.checkProxy(ctx, s.store.Read(), callerOf(ctx), row.WorkspaceID, &row, &f)
}

func (s *server) updateProfile(ctx context.Context, in *profileUpdate) (*ProfileBody, error) {
	by := callerOf(ctx)
	var row store.Profile
	err := s.store.Write(ctx, func(q *store.Queries) error {
		var err error
		row, err = q.GetProfile(ctx, store.GetProfileParams{ID: in.ID, Workspaces: by.Sees.Filter()})
		if errors.Is(err, store.ErrNoRow) {
			return problem.Missing("profile")
		}
		if err != nil {
			return err
		}
		if !matches(in.IfMatch, row.Revision) {
			return etagMismatch()
		}
		var f faults // again: it may have changed between the look and the write
		if err := in.Body.checkProxy(ctx, q, by, row.WorkspaceID, &row, &f); err != nil {
			return err
		}
		if len(f) > 0 {
			return problem.NotValid(f...)
		}
		if err := in.Body.apply(&row); err != nil {
			return err
		}
		row.UpdatedAt = now()
		row, err = q.UpdateProfile(ctx, updateOf(row, by.Sees.Filter()))
		return err
	})
	if err != nil {
		return nil, proxyVanished(err)
	}
	given := in.Body.ProxyID.given()
	c := change{followProfile: given, resetFailover: given, closeOld: in.Cut}
	if given || in.Body.Timezone.Set || in.Body.Locale.Set || in.Body.Geolocation.Set {
		c.exit = checkIfStale
	}
	s.runs.profileChanged(context.WithoutCancel(ctx), row.ID, c)
	s.events.Publish(events.Event{Type: "profile.updated", Workspace: row.WorkspaceID, Data: map[string]any{"id": row.ID, "changed": membersOf(in.Body)}})
	return s.profileAnswer(row)
}

type profileDelete struct {
	ProfilePath
	IfMatch   string `header:"If-Match" doc:"The ETag that was read: 412 when the profile has changed since."`
	Permanent bool   `query:"permanent" doc:"Remove the profile and its data now, also out of the trash."`
}

func (s *server) deleteProfile(ctx context.Context, in *profileDelete) (*struct{}, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil && in.Permanent {
		row, err = s.profileRow(ctx, in.ID, true)
	}
	if err != nil {
		return nil, err
	}
	if !matches(in.IfMatch, row.Revision) {
		return nil, etagMismatch()
	}
	release, err := s.runs.close(ctx, row.ID) // a running profile is stopped first; none starts until release
	if err != nil {
		return nil, err
	}
	defer release()
	check := func(q *store.Queries) error { return s.unchanged(ctx, q, row.ID, in.IfMatch) }
	if in.Permanent {
		err = s.runs.erase(ctx, callerOf(ctx).Sees, row.ID, check)
	} else {
		err = s.trash(ctx, row.ID, check)
	}
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "profile.deleted", Workspace: row.WorkspaceID, Data: map[string]any{"id": row.ID, "permanent": in.Permanent}})
	return nil, nil
}

// unchanged looks again, in the transaction that removes: while the browser stopped the profile may have changed.
func (s *server) unchanged(ctx context.Context, q *store.Queries, id, ifMatch string) error {
	row, err := q.GetProfileAny(ctx, store.GetProfileAnyParams{ID: id, Workspaces: callerOf(ctx).Sees.Filter()})
	if err != nil {
		return orNotFound(err, "profile")
	}
	if !matches(ifMatch, row.Revision) {
		return etagMismatch()
	}
	return nil
}

func (s *server) trash(ctx context.Context, id string, check func(*store.Queries) error) error {
	return s.store.Write(ctx, func(q *store.Queries) error {
		if err := check(q); err != nil {
			return err
		}
		_, err := q.TrashProfile(ctx, store.TrashProfileParams{ID: id, TrashedAt: now(), Workspaces: callerOf(ctx).Sees.Filter()})
		return orNotFound(err, "profile")
	})
}

type profileRestore struct {
	ProfilePath
	Body *noInput `required:"false"`
}

func (s *server) restoreProfile(ctx context.Context, in *profileRestore) (*ProfileBody, error) {
	c := callerOf(ctx)
	var row store.Profile
	err := s.store.Write(ctx, func(q *store.Queries) (err error) {
		row, err = q.RestoreProfile(ctx, store.RestoreProfileParams{ID: in.ID, Workspaces: c.Sees.Filter()})
		return orNotFound(err, "profile")
	})
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "profile.restored", Workspace: row.WorkspaceID, Data: map[string]any{"id": row.ID}})
	return s.profileAnswer(row)
}

// orNotFound turns the want of a row into its 404.
func orNotFound(err error, kind string) error {
	if errors.Is(err, store.ErrNoRow) {
		return problem.Missing(kind)
	}
	return err
}

func startedAt(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	return millisOrNil(&ms)
}

// searchKeys are the columns that searches look through.
func searchKeys(row store.Profile) (search, tags string) {
	var list []string
	if json.Unmarshal([]byte(row.Tags), &list) != nil {
		list = nil
	}
	return store.SearchKey(row.Name, row.Notes), store.TagsKey(list)
}

func insertOf(r store.Profile) store.AddProfileParams {
	search, tags := searchKeys(r)
	return store.AddProfileParams{ID: r.ID, WorkspaceID: r.WorkspaceID, Name: r.Name, OS: r.OS, BrowserVersion: r.BrowserVersion,
		Tags: r.Tags, TagsKey: tags, Notes: r.Notes, SearchKey: search, ProxyID: r.ProxyID, ProxyMissing: r.ProxyMissing,
		StartURLs: r.StartURLs, Timezone: r.Timezone, Locale: r.Locale, Geolocation: r.Geolocation, WebRTC: r.WebRTC, Screen: r.Screen,
		Headless: r.Headless, IdleTimeoutMs: r.IdleTimeoutMs, MaxRunMs: r.MaxRunMs, BackgroundTraffic: r.BackgroundTraffic, AllowLocal: r.AllowLocal, Consistency: r.Consistency,
		FallbackProxyIDs: r.FallbackProxyIDs, FallbackCountry: r.FallbackCountry, AllowHosts: r.AllowHosts, DenyHosts: r.DenyHosts, LocalhostVia: r.LocalhostVia, LogHosts: r.LogHosts,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
}

func updateOf(r store.Profile, workspaces *string) store.UpdateProfileParams {
	search, tags := searchKeys(r)
	return store.UpdateProfileParams{ID: r.ID, Revision: r.Revision, Name: r.Name, OS: r.OS, BrowserVersion: r.BrowserVersion,
		Tags: r.Tags, TagsKey: tags, Notes: r.Notes, SearchKey: search, ProxyID: r.ProxyID, ProxyMissing: r.ProxyMissing,
		StartURLs: r.StartURLs, Timezone: r.Timezone, Locale: r.Locale, Geolocation: r.Geolocation, WebRTC: r.WebRTC, Screen: r.Screen,
		Headless: r.Headless, IdleTimeoutMs: r.IdleTimeoutMs, MaxRunMs: r.MaxRunMs, BackgroundTraffic: r.BackgroundTraffic, AllowLocal: r.AllowLocal, Consistency: r.Consistency,
		FallbackProxyIDs: r.FallbackProxyIDs, FallbackCountry: r.FallbackCountry, AllowHosts: r.AllowHosts, DenyHosts: r.DenyHosts, LocalhostVia: r.LocalhostVia, LogHosts: r.LogHosts,
		UpdatedAt: r.UpdatedAt, Workspaces: workspaces}
}
