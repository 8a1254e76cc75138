package api

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"warren/events"
	"warren/identity"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// profileJSON is a profile as the API shows it.
type profileJSON struct {
	ID                string          `json:"id" example:"0199a1c2-7d3e-7a10-8a55-0123456789ab"`
	WorkspaceID       string          `json:"workspaceId" example:"default"`
	Name              string          `json:"name" example:"Shop, Berlin"`
	OS                string          `json:"os" enum:"win,mac,linux"`
	BrowserVersion    string          `json:"browserVersion" doc:"The declared major version. Empty while no browser is installed and none is declared." example:"156"`
	Tags              rawStrings      `json:"tags"`
	Notes             string          `json:"notes"`
	ProxyID           *string         `json:"proxyId"`
	FallbackProxyIDs  rawStrings      `json:"fallbackProxyIds"`
	FallbackCountry   string          `json:"fallbackCountry" enum:"same,any"`
	TemplateID        *string         `json:"templateId" doc:"The template that it was created with; it may be deleted. null: none."`
	ProxyMissing      bool            `json:"proxyMissing" doc:"The proxy was deleted while the profile was in the trash: start is refused until proxyId is set."`
	StartURLs         rawStrings      `json:"startUrls"`
	Timezone          string          `json:"timezone" example:"auto"`
	Locale            locale          `json:"locale"`
	Geolocation       geolocation     `json:"geolocation"`
	WebRTC            string          `json:"webrtc" enum:"proxy_only,off,default"`
	Screen            *screen         `json:"screen"`
	Headless          *bool           `json:"headless"`
	IdleTimeoutMs     *int64          `json:"idleTimeoutMs"`
	MaxRunMs          *int64          `json:"maxRunMs"`
	BackgroundTraffic string          `json:"backgroundTraffic" enum:"refuse,allow"`
	AllowLocal        rawStrings      `json:"allowLocal"`
	LogHosts          bool            `json:"logHosts"`
	LocalhostVia      rawStrings      `json:"localhostVia"`
	AllowHosts        rawStrings      `json:"allowHosts"`
	DenyHosts         rawStrings      `json:"denyHosts"`
	Consistency       string          `json:"consistency" enum:"off,warn,block"`
	Args              rawStrings      `json:"args"`
	Temporary         bool            `json:"temporary"`
	Snapshots         *string         `json:"snapshots" enum:"on,off"`
	StartWithServer   bool            `json:"startWithServer"`
	Extensions        rawUses         `json:"extensions"`
	Passkeys          string          `json:"passkeys" enum:"off,auto,ask"`
	Limits            *runLimits      `json:"limits"`
	FreezeAfter       *int64          `json:"freezeAfter"`
	Placement         *placement      `json:"placement"`
	NodeID            *string         `json:"nodeId" doc:"The server that has its data, where several share a database (GET /nodes); its first start sets it. null: it was never started, or the server has a database of its own."`
	Status            string          `json:"status" enum:"stopped,starting,running,stopping,failed"`
	Run               *profileRunJSON `json:"run" doc:"What runs now, as start answered it, without its capability."`
	LastRun           *runs.End       `json:"lastRun" doc:"How the last run ended."`
	LastStartedAt     *time.Time      `json:"lastStartedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	DiskBytes         int64           `json:"diskBytes" doc:"Size of the profile's folder when it last stopped."`
	CreatedAt         time.Time       `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	UpdatedAt         time.Time       `json:"updatedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	TrashedAt         *time.Time      `json:"trashedAt,omitempty,format:'2006-01-02T15:04:05.000Z07:00'" doc:"Only in the trash." example:"2026-11-21T14:06:00.000Z"`
}

func (profileJSON) example() any {
	return profileJSON{ID: exampleProfileID, WorkspaceID: "default", Name: "Shop, Berlin", OS: "win", BrowserVersion: "156",
		Tags: `["shop","de"]`, ProxyID: new(exampleProxyID), FallbackProxyIDs: "[]", FallbackCountry: "same", LocalhostVia: "[]",
		AllowHosts: "[]", DenyHosts: `["ads.example"]`, StartURLs: `["https://example.com/"]`, Timezone: "auto", Locale: "auto",
		Geolocation: "auto", WebRTC: "proxy_only", BackgroundTraffic: "refuse", AllowLocal: "[]", Args: "[]",
		Extensions: "[]", Passkeys: "off",
		Consistency: "warn",
		Status:      "stopped", LastRun: exampleLastRun(), LastStartedAt: new(exampleTime()), DiskBytes: 12582912,
		CreatedAt: exampleTime(), UpdatedAt: exampleTime()}
}

// ProfileBody is a profile as an answer, with the tag of its version.
type ProfileBody struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     profileJSON
}

func etag(revision int64) string { return fmt.Sprintf(`"%d"`, revision) }

// matches says whether an If-Match header (RFC 9110, 13.1.1) names the revision. An empty header matches.
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

// profile returns a row as the API shows it, with the state of its browser. A run of another server is left out (shownWith).
func (s *API) profile(row store.Profile) (profileJSON, error) {
	p, err := profileFromRow(row)
	if p.BrowserVersion == "" {
		p.BrowserVersion = s.runs.DefaultMajor()
	}
	var run *runs.Info
	if p.Status, run = s.runs.Status(row.ID, s.runs.StatusElse(row)); run != nil {
		p.Run = &profileRunJSON{Info: *run}
	}
	return p, err
}

// shownWith returns profile for some rows, with their runs of other servers too.
func (s *API) shownWith(ctx context.Context, rows ...store.Profile) (func(store.Profile) (profileJSON, error), error) {
	others, err := s.runs.Elsewhere(ctx, rows...)
	if len(others) == 0 {
		return s.profile, err
	}
	return func(row store.Profile) (profileJSON, error) {
		p, err := s.profile(row)
		if run := others[row.ID]; run != nil && p.Run == nil {
			p.Run = &profileRunJSON{Info: *run}
		}
		return p, err
	}, nil
}

// profileRunJSON is the run of a profile. Its addresses stand only in the answer of a create with start.
type profileRunJSON struct {
	runs.Info
	WsEndpoint string `json:"wsEndpoint,omitempty" doc:"Only in the answer of a create with start, as cdpUrl and liveUrl."`
	CdpURL     string `json:"cdpUrl,omitempty"`
	LiveURL    string `json:"liveUrl,omitempty"`
}

// profileFromRow is written out, and not derived from the table of settings, because lists call it for each profile.
func profileFromRow(row store.Profile) (profileJSON, error) {
	p := profileJSON{
		ID: row.ID, WorkspaceID: row.WorkspaceID, Name: row.Name, OS: row.OS, BrowserVersion: row.BrowserVersion,
		Tags: rawStrings(row.Tags), Notes: row.Notes,
		ProxyID: row.ProxyID, ProxyMissing: row.ProxyMissing,
		FallbackProxyIDs: rawStrings(row.FallbackProxyIDs), FallbackCountry: row.FallbackCountry,
		StartURLs: rawStrings(row.StartURLs), Headless: row.Headless, IdleTimeoutMs: row.IdleTimeoutMs, MaxRunMs: row.MaxRunMs,
		Timezone: row.Timezone, Locale: locale(row.Locale), Geolocation: geolocation(row.Geolocation),
		WebRTC: row.WebRTC, Consistency: row.Consistency, BackgroundTraffic: row.BackgroundTraffic,
		AllowLocal: rawStrings(row.AllowLocal), LocalhostVia: rawStrings(row.LocalhostVia),
		AllowHosts: rawStrings(row.AllowHosts), DenyHosts: rawStrings(row.DenyHosts), LogHosts: row.LogHosts,
		Temporary: row.Temporary, Snapshots: row.Snapshots, Args: rawStrings(row.Args), TemplateID: row.TemplateID,
		StartWithServer: row.StartWithServer, Extensions: rawUses(row.Extensions), Passkeys: row.Passkeys,
		FreezeAfter: row.FreezeAfter, NodeID: row.NodeID,
		DiskBytes: row.DiskBytes, LastStartedAt: startedAt(row.LastStartedAt),
		CreatedAt: runs.Millis(row.CreatedAt), UpdatedAt: runs.Millis(row.UpdatedAt), TrashedAt: millisOrNil(row.TrashedAt),
	}
	var err error
	if p.Screen, err = fromText[screen](row.Screen); err == nil {
		p.LastRun, err = fromText[runs.End](row.LastRun)
	}
	if err == nil {
		p.Limits, err = fromText[runLimits](row.Limits)
	}
	if err == nil {
		p.Placement, err = fromText[placement](row.Placement)
	}
	return p, err
}

// fromText reads a column that holds JSON, or NULL.
func fromText[T any](text *string) (*T, error) {
	if text == nil {
		return nil, nil
	}
	v := new(T)
	return v, json.Unmarshal([]byte(*text), v)
}

func (s *API) profileAnswer(ctx context.Context, row store.Profile) (*ProfileBody, error) {
	show, err := s.shownWith(ctx, row)
	if err != nil {
		return nil, err
	}
	p, err := show(row)
	return &ProfileBody{ETag: etag(row.Revision), Body: p}, err
}

// profileList are the parameters of a list of profiles.
type profileList struct {
	InWorkspace
	Paging
	Search       string   `query:"search" maxLength:"200" doc:"Profiles whose name or notes contain it, whatever the case. One or two letters are looked for where words begin. Eight or more also find an id that begins with them."`
	Tag          []string `query:"tag,explode" maxItems:"50" doc:"Profiles that have the tag; given several times, all of them."`
	Status       string   `query:"status" enum:"stopped,starting,running,stopping,failed"`
	ProxyID      string   `query:"proxyId" doc:"Profiles that use this proxy. none: those that connect directly. missing: those with proxyMissing."`
	ProxyStatus  string   `query:"proxyStatus" enum:"alive,dead,unknown,unchecked" doc:"Profiles whose proxy has this status; unchecked is another word for unknown."`
	Country      string   `query:"country" pattern:"^[A-Za-z]{2}$" patternDescription:"two letters, such as DE" doc:"Profiles that come out there: running ones where their run does, others where their proxy did at its last good check. ISO 3166-1, two letters in any case." example:"DE"`
	OS           string   `query:"os" enum:"win,mac,linux,windows,macos,darwin,lin"`
	NodeID       string   `query:"nodeId" maxLength:"64" doc:"Profiles whose data this server has (GET /nodes)."`
	NeverStarted optBool  `query:"neverStarted" doc:"true: profiles that were never started. false: those that were."`
	Sort         string   `query:"sort" enum:"createdAt,updatedAt,name,lastStartedAt" doc:"Default: createdAt."`
	Order        string   `query:"order" enum:"asc,desc" doc:"Default: desc, newest first."`
	Trashed      bool     `query:"trashed" doc:"List the trash instead."`
}

// rowsOf returns a list for package store, of what the caller sees.
func (s *API) rowsOf(ctx context.Context, in *profileList, c *caller) (l store.ProfileList, err error) {
	orders := map[string]store.Order{"": store.ByCreated, "createdAt": store.ByCreated, "updatedAt": store.ByUpdated, "name": store.ByName,
		"lastStartedAt": store.ByStarted}
	os, _ := identity.System(in.OS)
	l = store.ProfileList{
		ProfileFilter: store.ProfileFilter{Workspaces: c.Sees.Filter(), WorkspaceID: in.WorkspaceID, Trashed: in.Trashed,
			Search: in.Search, Tags: in.Tag, Status: in.Status, ProxyID: in.ProxyID, OS: os, ProxyStatus: in.ProxyStatus,
			NodeID: in.NodeID},
		Order: orders[in.Sort], Ascending: in.Order == "asc", After: in.After, Limit: in.Limit, Offset: in.offset()}
	if in.ProxyStatus == "unchecked" {
		l.ProxyStatus = "unknown"
	}
	if in.Country != "" {
		l.Country = strings.ToUpper(in.Country)
		l.Exits, err = s.runs.Exits(ctx)
	}
	if in.NeverStarted.set {
		l.Started = new(!in.NeverStarted.Value)
	}
	return l, err
}

type profileGet struct {
	ProfilePath
	Trashed bool `query:"trashed" doc:"Look in the trash."`
}

func (s *API) getProfile(ctx context.Context, in *profileGet) (*ProfileBody, error) {
	row, err := s.profileRow(ctx, in.ID, in.Trashed)
	if err != nil {
		return nil, err
	}
	return s.profileAnswer(ctx, row)
}

type profileDelete struct {
	ProfilePath
	IfMatch   string `header:"If-Match" doc:"The ETag that was read: 412 when the profile has changed since."`
	Permanent bool   `query:"permanent" doc:"Remove the profile and its data now, also out of the trash."`
}

func (s *API) deleteProfile(ctx context.Context, in *profileDelete) (*struct{}, error) {
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
	release, err := s.runs.Hold(ctx, row.ID) // a running profile is stopped first; none starts until release
	if err != nil {
		return nil, err
	}
	defer release()
	about(ctx, row.WorkspaceID, row.ID, map[string]any{"name": row.Name, "permanent": in.Permanent})
	check := withEntry(ctx, func(q *store.Queries) error { return s.unchanged(ctx, q, row.ID, in.IfMatch) })
	if in.Permanent {
		err = s.runs.Erase(ctx, callerOf(ctx).Sees, row.ID, check)
	} else {
		err = s.trash(ctx, row.ID, check)
	}
	if recordedUnless(ctx, err) != nil {
		return nil, err
	}
	s.publishChange(ctx, events.Event{Type: "profile.deleted", Workspace: row.WorkspaceID,
		Data: runs.DeletedEvent{ID: row.ID, Permanent: in.Permanent}})
	return nil, nil
}

// unchanged checks If-Match again in the transaction that removes: the profile may have changed while its browser stopped.
func (s *API) unchanged(ctx context.Context, q *store.Queries, id, ifMatch string) error {
	row, err := q.GetProfileAny(ctx, store.GetProfileAnyParams{ID: id, Workspaces: callerOf(ctx).Sees.Filter()})
	if err != nil {
		return orNotFound(err, "profile")
	}
	if !matches(ifMatch, row.Revision) {
		return etagMismatch()
	}
	return nil
}

func (s *API) trash(ctx context.Context, id string, check func(*store.Queries) error) error {
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

func (s *API) restoreProfile(ctx context.Context, in *profileRestore) (*ProfileBody, error) {
	var row store.Profile
	err := s.change(ctx, func(q *store.Queries) (err error) {
		row, err = q.RestoreProfile(ctx, store.RestoreProfileParams{ID: in.ID, Workspaces: callerOf(ctx).Sees.Filter()})
		about(ctx, row.WorkspaceID, in.ID, map[string]any{"name": row.Name})
		return orNotFound(err, "profile")
	})
	if err != nil {
		return nil, err
	}
	s.publishChange(ctx, events.Event{Type: "profile.restored", Workspace: row.WorkspaceID, Data: objectEvent{row.ID}})
	return s.profileAnswer(ctx, row)
}

func startedAt(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	return millisOrNil(&ms)
}

// The parameters of the queries that write a row.
var (
	insertOf = columnsInto[store.AddProfileParams]()
	manyOf   = columnsInto[store.InsertProfilesParams]()
	updateOf = columnsInto[store.UpdateProfileParams]()
)

// columnsInto returns a function that makes a query's parameters from a row. It copies the columns by name, and computes the search keys.
func columnsInto[P any]() func(store.Profile) P {
	type copied struct{ param, column int } // fields of P and of a row
	var fields []copied
	for i, p := range reflect.VisibleFields(reflect.TypeFor[P]()) {
		if column, ok := reflect.TypeFor[store.Profile]().FieldByName(p.Name); ok {
			fields = append(fields, copied{i, column.Index[0]})
		}
	}
	return func(row store.Profile) (params P) {
		row.SearchKey, row.TagsKey = store.SearchKey(row.Name, row.Notes), store.TagsKey(runs.StringsOf(row.Tags))
		from, to := reflect.ValueOf(&row).Elem(), reflect.ValueOf(&params).Elem()
		for _, f := range fields {
			to.Field(f.param).Set(from.Field(f.column))
		}
		return params
	}
}

// What events say of profiles, proxies and keys.
type (
	objectEvent struct {
		ID string `json:"id"`
	}
	objectUpdated struct {
		Changed []string `json:"changed"` // the members that the request had
		ID      string   `json:"id"`
	}
)
