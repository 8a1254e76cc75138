package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"warren/events"
	"warren/pool"
	"warren/problem"
	"warren/runs"
	"warren/snapshots"
	"warren/state"
	"warren/store"
)

// Imports profiles from an archive. It is received whole and verified to its last byte before anything else is written. Files of other
// products go to import_others.go.

// ImportedProfile says what became of a profile of a file.
type ImportedProfile struct {
	ID             string         `json:"id" doc:"The profile that was made; empty in a dry run, and if it was refused."`
	Number         int            `json:"number" doc:"Its place in the file, from 1." example:"1"`
	Line           int            `json:"line" doc:"Where it begins in a file of text, from 1; 0 in others." example:"0"`
	Result         string         `json:"result" enum:"created,refused" doc:"refused: reason says why. In a dry run: what would become of it."`
	Reason         string         `json:"reason" doc:"Why it was refused: sentences. Empty if it was not."`
	ArchivedID     string         `json:"archivedId" doc:"The id that it had where it was exported."`
	Name           string         `json:"name" example:"Shop, Berlin"`
	Bytes          int64          `json:"bytes" doc:"Of its data; 0: the settings alone."`
	BrowserVersion string         `json:"browserVersion" doc:"The full version that last opened the data; empty if it is not known." example:"156.0.8078.79"`
	System         string         `json:"system" doc:"That the data are from: linux, darwin or windows."`
	ProxyID        *string        `json:"proxyId" doc:"Its proxy, which was made or was here already; null: none, or not yet made in a dry run."`
	Proxy          string         `json:"proxy" enum:"none,created,existing,missing" doc:"missing: it has a proxy that cannot be used, and does not start before it has another."`
	Cookies        int            `json:"cookies" doc:"Cookies that its first start sets. Those in the data of a browser are not counted." example:"0"`
	Warnings       []runs.Warning `json:"warnings" doc:"What does not travel. setting_left_out: a setting that this server refuses. proxy_missing: its proxy is not here, and it does not start before it has one. fallback_left_out: a fallback is not here. sealed_by_system: another machine's system seals cookies and passwords. newer_browser: no browser here is as new as its data. left_out: something that no profile here can have, or a cookie or a passkey that Chrome would refuse. proxy_password: its proxy is here with another password."`
}

// ImportedProfiles is the answer of an import.
type ImportedProfiles struct {
	Format   string            `json:"format" enum:"warren,adspower,gologin,dolphin,multilogin,bitbrowser,csv,chrome" doc:"What the file is, by its content. warren: an archive. chrome: a folder of Chrome's user data."`
	DryRun   bool              `json:"dryRun" doc:"Nothing was made."`
	Created  int               `json:"created" doc:"Profiles that were made, or would be."`
	Refused  int               `json:"refused" doc:"Profiles that were not taken."`
	Proxies  int               `json:"proxies" doc:"Proxies that were made, or would be."`
	Warren   string            `json:"warren" doc:"The version that made the archive; empty for other files." example:"1.4.0"`
	Sealed   bool              `json:"sealed"`
	Profiles []ImportedProfile `json:"profiles" nullable:"false" doc:"In the order of the file."`
}

func (ImportedProfiles) example() any {
	return ImportedProfiles{Format: "warren", Created: 1, Warren: "1.4.0", Sealed: true, Profiles: []ImportedProfile{{ID: exampleProfileID,
		Number: 1, Result: "created", Proxy: "missing", ArchivedID: exampleRunID, Name: "Shop, Berlin",
		Bytes: 135056589, BrowserVersion: "156.0.8078.79", System: "linux",
		Warnings: []runs.Warning{withoutProxy()}}}}
}

// importOptions are the query parameters of an import.
type importOptions struct {
	workspace string
	same      bool // the ids that the profiles had
	dryRun    bool
}

// readImportOptions reads the query, and returns all its faults at once.
func readImportOptions(c *caller, raw string) (in importOptions, err error) {
	var f faults
	query, err := url.ParseQuery(raw)
	f.require(err == nil, "query", "The query cannot be read. Write & between parameters, and % as %25.")
	for name, values := range query {
		switch {
		case name != "workspaceId" && name != "as" && name != "dryRun":
			f.add("query."+name, "Unknown parameter. Remove it, or check its spelling.", nil)
		case len(values) > 1:
			f.add("query."+name, "Give this parameter once.", nil)
		}
	}
	f.require(!query.Has("as") || slices.Contains([]string{"new", "same"}, query.Get("as")), "query.as", "Enter new or same.")
	in.same, in.dryRun = query.Get("as") == "same", f.truth(query, "dryRun")
	in.workspace = f.workspace(c, "query.workspaceId", opt[string]{Set: query.Has("workspaceId"), Value: query.Get("workspaceId")})
	return in, f.problem()
}

// importProfiles is POST /profiles/import.
func (s *API) importProfiles(w http.ResponseWriter, r *http.Request) error {
	c := callerOf(r.Context())
	in, err := readImportOptions(c, r.URL.RawQuery)
	if err != nil {
		return err
	}
	if p := c.may(scopeSecrets); p != nil { // an archive brings logins
		return p
	}
	if b, ok := r.Body.(*timedBody); ok {
		b.step = bodyTime // a large file may take longer as long as bytes arrive
	}
	key := r.Header.Get("Idempotency-Key")
	if err := checkIdempotencyKey(key); err != nil {
		return err
	}
	body := io.Reader(keyedBody{r.Body, r.Context()})
	var sum hash.Hash
	if key != "" {
		sum = sha256.New()
		body = io.TeeReader(body, sum)
	}
	file, size, err := s.runs.Snapshots().Receive(body)
	if err != nil {
		return uploadProblem(r, err)
	}
	defer s.runs.Snapshots().Discard(file)
	take := func(w http.ResponseWriter, r *http.Request) error { return s.takeFile(w, r, file, size, in) }
	if key == "" {
		return take(w, r)
	}
	return s.idempotency.once(w, r, key, [32]byte(sum.Sum(nil)), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := take(w, r); err != nil {
			writeProblem(w, r, s.log, fromError(s.withUse(r.Context(), err)))
		}
	}))
}

// takeArchive imports the profiles of a file, and answers.
func (s *API) takeArchive(w http.ResponseWriter, r *http.Request, file io.ReaderAt, size int64, in importOptions) error {
	ctx := r.Context()
	a, err := s.runs.Snapshots().OpenArchive(ctx, file, size, snapshots.Seal{Passphrase: r.Header.Get("X-Warren-Passphrase"),
		Identity: r.Header.Get("X-Warren-Identity")})
	if err != nil {
		return err
	}
	defer a.Close()
	t, err := s.newTaking(ctx, a, in)
	if err != nil {
		return err
	}
	if requestOf(ctx).made == "" && !in.dryRun {
		err = s.importAll(ctx, a, t)
	} else {
		err = t.each(ctx, s.store.Read()) // a dry run, or all that is missing is the answer
	}
	if err != nil {
		return err
	}
	return writeImported(w, r, t.out)
}

// writeImported answers an import.
func writeImported(w http.ResponseWriter, r *http.Request, out ImportedProfiles) error {
	var made []string
	for i := range out.Profiles {
		p := &out.Profiles[i]
		if out.DryRun {
			p.ID = ""
		}
		if p.ID != "" {
			made = append(made, p.ID)
		}
	}
	if out.DryRun {
		return writeJSON(w, r, http.StatusOK, out)
	}
	if len(made) == 1 {
		w.Header().Set("Location", Prefix+"/profiles/"+made[0])
	}
	return writeJSON(w, r, http.StatusCreated, out)
}

// taking is one import: which profiles become which.
type taking struct {
	*API
	importOptions
	profiles []snapshots.Archived
	ids      []string // of the profiles that are made
	rows     []store.Profile
	passkeys [][]state.Credential // of rows
	out      ImportedProfiles
}

// newTaking chooses the ids. Those of before must be free.
func (s *API) newTaking(ctx context.Context, a *snapshots.Archive, in importOptions) (*taking, error) {
	t := &taking{API: s, importOptions: in, profiles: a.Profiles(), out: ImportedProfiles{Format: "warren",
		DryRun: in.dryRun, Created: len(a.Profiles()), Warren: a.Warren, Sealed: a.Sealed}}
	if len(t.profiles) > maxArchived {
		return nil, refusedFile(fmt.Sprintf("The archive has %d profiles. Import at most %d at a time: export them in parts.",
			len(t.profiles), maxArchived))
	}
	if made := requestOf(ctx).made; made != "" {
		t.ids = strings.Fields(made)
		return t, nil
	}
	if !in.same {
		t.ids = store.NewIDs(len(t.profiles))
		return t, nil
	}
	for _, p := range t.profiles {
		if u, err := uuid.Parse(p.ID); err != nil || u.Version() != 7 || u.String() != p.ID {
			return nil, snapshots.Refused(problem.Fault{Location: "query.as", Message: "A profile in the archive has an id that this " +
				"server does not take. Import it without as=same."})
		}
		t.ids = append(t.ids, p.ID)
	}
	return t, t.free(ctx, s.store.Read())
}

// refusedFile is the error for an archive whose content is not taken.
func refusedFile(message string) *problem.Error {
	return snapshots.Refused(problem.Fault{Location: "body", Message: message})
}

// free refuses ids that are taken, also by profiles in the trash or of workspaces that the caller does not see.
func (t *taking) free(ctx context.Context, q *store.Queries) error {
	var taken faults
	first := ""
	for i, id := range t.ids {
		_, err := q.GetProfileAny(ctx, store.GetProfileAnyParams{ID: id})
		if err == nil {
			taken.add(element("body.profiles", i), "The profile "+id+" is here already.", nil)
			first = cmp.Or(first, id)
		} else if err := orNotFound(err, "profile"); !problem.Is(err, problem.NotFound) {
			return err
		}
	}
	if len(taken) == 0 {
		return nil
	}
	p := idTaken().With(pool.Existing(first))
	p.Faults = taken
	return p
}

// idTaken is the error for an import with the id of a profile that is there.
func idTaken() *problem.Error {
	return problem.New(problem.Conflict, "duplicate", "There is a profile with this id already, maybe in the trash. Import it as a new "+
		"one (without as=same), or delete that one for good first. Nothing was imported.")
}

// importAll makes the profiles: all of them, or none.
func (s *API) importAll(ctx context.Context, a *snapshots.Archive, t *taking) error {
	all := make([]snapshots.Imported, len(t.ids))
	for i, id := range t.ids {
		all[i] = snapshots.Imported{Place: i, ID: id, Workspace: t.workspace}
	}
	if err := t.each(ctx, s.store.Read()); err != nil { // what is wrong is known before anything is written
		return err
	}
	object := ""
	if len(t.ids) == 1 {
		object = t.ids[0]
	}
	about(ctx, t.workspace, object, map[string]any{"count": len(t.ids), "profileIds": some(t.ids), "sealed": a.Sealed, "same": t.same})
	if err := s.hasRoom(ctx, t.workspace); err != nil {
		return err
	}
	var err error
	at := now()
	if err := s.store.Write(ctx, func(q *store.Queries) error { // the secret of its packs is the workspace's
		return s.workspaces.ensure(ctx, q, t.workspace, at)
	}); err != nil {
		return err
	}
	for i := range all {
		if all[i].Files, err = s.runs.PasskeyFiles(ctx, t.workspace, t.passkeys[i]); err != nil {
			return err
		}
	}
	err = recordedUnless(ctx, s.runs.Snapshots().Import(ctx, a, all, withEntry(ctx, func(q *store.Queries) error {
		if err := t.insert(ctx, q); err != nil {
			return err
		}
		return recordCreated(ctx, q, strings.Join(t.ids, " "))
	})))
	s.workspaces.wrote(t.workspace, err)
	if err != nil {
		return err
	}
	if object != "" {
		s.events.Publish(events.Event{Type: "profile.created", Workspace: t.workspace, Data: objectEvent{object}})
	} else {
		s.events.Publish(events.Event{Type: "profile.batch_created", Workspace: t.workspace, Data: profilesCreated{len(t.ids)}})
	}
	return nil
}

// insert writes the rows. Ids may have been taken meanwhile, and proxies deleted.
func (t *taking) insert(ctx context.Context, q *store.Queries) error {
	if err := t.free(ctx, q); err != nil {
		return err
	}
	if err := t.each(ctx, q); err != nil {
		return err
	}
	for _, row := range t.rows {
		if err := q.AddProfile(ctx, insertOf(row)); err != nil {
			return err
		}
	}
	return nil
}

// each makes the rows, and what is answered of them.
func (t *taking) each(ctx context.Context, q *store.Queries) error {
	t.rows, t.passkeys, t.out.Profiles = nil, nil, []ImportedProfile{}
	for i, p := range t.profiles {
		row := newProfile(t.workspace)
		row.ID = t.ids[i]
		warnings, err := t.settle(ctx, q, p, &row)
		if err != nil {
			return err
		}
		out := ImportedProfile{ID: row.ID, Number: i + 1, Result: "created", ArchivedID: p.ID, Name: row.Name, BrowserVersion: p.Browser,
			System: p.System, ProxyID: row.ProxyID, Proxy: proxyState(row), Warnings: append(warnings, t.lost(p)...)}
		passkeys, w, err := archivedPasskeys(p)
		if err != nil {
			return err
		}
		if t.passkeys = append(t.passkeys, passkeys); w.Code != "" {
			out.Warnings = append(out.Warnings, w)
		}
		if p.Data != nil {
			out.Bytes = p.Data.Bytes
		}
		t.rows, t.out.Profiles = append(t.rows, row), append(t.out.Profiles, out)
	}
	return nil
}
