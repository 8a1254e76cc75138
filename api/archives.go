package api

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/pool"
	"warren/problem"
	"warren/runs"
	"warren/snapshots"
	"warren/store"
)

// Exports profiles with their data as one file, which is sealed unless somebody asks for it in so many words.

// maxArchived is how many profiles one archive may have.
const maxArchived = 1000

// minPassphrase is the length of the shortest passphrase, in characters.
const minPassphrase = 8

// SealQuery says how an archive is sealed.
type SealQuery struct {
	Passphrase string   `header:"X-Warren-Passphrase" maxLength:"1000" doc:"Seals the archive with a passphrase, as UTF-8: whoever knows it can open the archive. At least 8 characters."`
	Recipient  []string `query:"recipient,explode" maxItems:"20" doc:"Seals the archive for an age recipient (age1…) instead: whoever has its identity can open the archive. May be given several times."`
	Unsealed   bool     `query:"unsealed" doc:"Does not seal the archive: whoever has the file is signed in as these profiles, and can change it."`
}

// check notes what is wrong with the seal. Exactly one way must be chosen.
func (in *SealQuery) check(f *faults) {
	const passphrase = "header.X-Warren-Passphrase"
	ways := 0
	for _, given := range []bool{in.Passphrase != "", len(in.Recipient) > 0, in.Unsealed} {
		if given {
			ways++
		}
	}
	f.require(ways > 0, passphrase, "Say how the archive is sealed: a passphrase in X-Warren-Passphrase, or `recipient` with an age "+
		"recipient. `unsealed=true` leaves it open: whoever has the file is then signed in as these profiles.")
	f.require(ways < 2, passphrase, "Seal the archive in one way: X-Warren-Passphrase, `recipient` or `unsealed`.")
	if in.Passphrase != "" {
		f.require(utf8.ValidString(in.Passphrase), passphrase, "Send the passphrase as UTF-8.")
		f.require(utf8.RuneCountInString(in.Passphrase) >= minPassphrase, passphrase,
			fmt.Sprintf("Choose a passphrase of at least %d characters.", minPassphrase))
	}
	before := len(*f)
	for i, r := range in.Recipient {
		f.require(snapshots.CheckRecipients([]string{r}) == nil, element("query.recipient", i), "Enter an age recipient, such as age1….")
	}
	f.require(len(*f) > before || len(in.Recipient) == 0 || snapshots.CheckRecipients(in.Recipient) == nil, "query.recipient",
		"Give recipients of one kind: either all post-quantum (age1pq…), or none. A mixture is sealed for nobody.")
}

// way names the seal, for the audit log.
func (in *SealQuery) way() string {
	switch {
	case in.Unsealed:
		return "unsealed"
	case in.Passphrase != "":
		return "passphrase"
	}
	return "recipient"
}

// profileExport is an export of one profile.
type profileExport struct {
	ProfilePath
	SealQuery
}

func (profileExport) problems() []*problem.Error {
	return []*problem.Error{runs.StillRunning(), snapshots.Damaged(nil), runs.PasskeysUnreadable()}
}

// Resolve implements huma.Resolver. It checks what a schema cannot.
func (in *profileExport) Resolve(huma.Context) []error {
	var f faults
	in.check(&f)
	return f.errors()
}

func (s *API) exportProfile(ctx context.Context, in *profileExport) (*huma.StreamResponse, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	return s.export(ctx, []store.Profile{row}, in.SealQuery)
}

// profilesExport is an export of several profiles.
type profilesExport struct {
	IDs []string `query:"ids,explode" doc:"The profiles: 1 to 1,000 ids, with commas between them or as several ids."`
	SealQuery
}

func (profilesExport) problems() []*problem.Error {
	return append(profileExport{}.problems(), profilesElsewhere(nil))
}

// profilesElsewhere is the error of an export of several profiles some of which have their data on other servers.
func profilesElsewhere(ids []string) *problem.Error {
	return problem.New(problem.Conflict, "profiles_elsewhere", "The data of some of these profiles are on other servers. Export each by "+
		"itself, by any server, or several at their own server's address.").With(pool.Users(ids))
}

// Resolve implements huma.Resolver. It checks what a schema cannot.
func (in *profilesExport) Resolve(huma.Context) []error {
	var f faults
	in.check(&f)
	in.IDs = strings.FieldsFunc(strings.Join(in.IDs, ","), func(r rune) bool { return r == ',' })
	f.require(len(in.IDs) > 0, "query.ids", "Name the profiles, with commas between their ids.")
	if !f.atMost(maxArchived, "profiles", "query.ids", len(in.IDs)) {
		return f.errors()
	}
	seen := map[string]bool{}
	for i, id := range in.IDs {
		f.require(!seen[id], element("query.ids", i), "This profile is in the list already. List each one once.")
		seen[id] = true
	}
	return f.errors()
}

func (s *API) exportProfiles(ctx context.Context, in *profilesExport) (*huma.StreamResponse, error) {
	rows := make([]store.Profile, len(in.IDs))
	var f faults
	var elsewhere []string
	for i, id := range in.IDs {
		var err error
		rows[i], err = s.profileRow(ctx, id, false)
		if problem.Is(err, problem.NotFound) {
			f.add(element("query.ids", i), "There is no profile with this id.", nil)
		} else if err != nil {
			return nil, err
		}
		if s.runs.IsElsewhere(rows[i]) {
			elsewhere = append(elsewhere, id)
		}
	}
	if err := f.problem(); err != nil {
		return nil, err
	}
	if elsewhere != nil {
		return nil, profilesElsewhere(elsewhere)
	}
	return s.export(ctx, rows, in.SealQuery)
}

// export answers an archive of profiles. None of them runs when it begins. They may start while it is sent.
func (s *API) export(ctx context.Context, rows []store.Profile, in SealQuery) (*huma.StreamResponse, error) {
	all := make([]snapshots.Exported, len(rows))
	var running []string
	for i, row := range rows {
		var err error
		if all[i], err = s.exported(ctx, row); problem.HasCode(err, "profile_running") {
			running = append(running, row.ID)
		} else if err != nil {
			return nil, err
		}
	}
	if running != nil {
		return nil, runs.StillRunning().With(pool.Users(running))
	}
	if err := s.auditExport(ctx, rows, in.way()); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		hctx.SetHeader("Content-Type", "application/octet-stream")
		hctx.SetHeader("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": archiveName(rows)}))
		hctx.SetStatus(http.StatusOK)
		if hctx.Method() == http.MethodHead {
			return
		}
		seal := snapshots.Seal{Passphrase: in.Passphrase, Recipients: in.Recipient, Unsealed: in.Unsealed}
		if err := s.runs.Snapshots().Export(ctx, hctx.BodyWriter(), s.cfg.Version["version"], seal, all); err != nil {
			s.log.Warn("an export of profiles failed", "request", requestID(ctx), "cause", err)
			panic(http.ErrAbortHandler) // the client must see that the answer is incomplete
		}
	}}, nil
}

// exported is a profile as it goes into an archive: with its data, if it has some.
func (s *API) exported(ctx context.Context, row store.Profile) (e snapshots.Exported, err error) {
	e.Profile = row
	if e.Settings, err = s.settingsToExport(ctx, row); err != nil {
		return e, err
	}
	data, err := s.runs.DataOf(ctx, row.ID)
	if problem.HasCode(err, "profile_empty") {
		return e, nil
	}
	if err == nil {
		err = s.runs.Snapshots().Readable(ctx, data)
	}
	e.Snapshot, e.Without = &data, runs.StaysHere()
	if err == nil {
		e.Passkeys, err = s.passkeysToExport(ctx, data)
	}
	return e, err
}

// missingProxy is the member of an archive's settings beside those of a request.
const missingProxy = "proxyMissing"

// settingsOf returns the settings of a profile as a request brings them, without empty ones. What waits for a new proxy must
// not go out directly elsewhere, so that is told too.
func settingsOf(row store.Profile) (jsontext.Value, error) {
	p, err := profileFromRow(row)
	if err != nil {
		return nil, err
	}
	text, err := p.appendJSON(nil)
	if err != nil {
		return nil, err
	}
	var all map[string]jsontext.Value
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	kept := map[string]jsontext.Value{}
	for _, setting := range settings {
		if v := all[setting.name]; string(v) != "null" && string(v) != `""` {
			kept[setting.name] = v
		}
	}
	if row.ProxyMissing {
		kept[missingProxy] = jsontext.Value("true")
	}
	return json.Marshal(kept, json.Deterministic(true))
}

// auditExport records an export before it is answered: one record for each workspace.
func (s *API) auditExport(ctx context.Context, rows []store.Profile, way string) error {
	ids := map[string][]string{} // by workspace
	for _, row := range rows {
		ids[row.WorkspaceID] = append(ids[row.WorkspaceID], row.ID)
	}
	for workspace, of := range ids {
		object := ""
		if len(of) == 1 {
			object = of[0]
		}
		err := s.audit(ctx, "profiles.export", workspace, object, map[string]any{"count": len(of), "profileIds": some(of), "seal": way})
		if err != nil {
			return err
		}
	}
	return nil
}

// archiveName is what a browser calls the file.
func archiveName(rows []store.Profile) string {
	name := fmt.Sprintf("%d profiles", len(rows))
	if len(rows) == 1 {
		name = rows[0].Name
	}
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || !unicode.IsPrint(r) {
			return '-'
		}
		return r
	}, shortened(name, 100))
	return name + " " + time.Now().UTC().Format("2006-01-02") + ".warren"
}
