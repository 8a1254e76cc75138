package api

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/problem"
	"warren/state"
	"warren/store"
)

// Reads, writes and deletes the cookies of a profile in the formats of other programs (package state).

// DomainQuery limits an operation to domains.
type DomainQuery struct {
	Domain []string `query:"domain,explode" maxItems:"1000" doc:"Only cookies of this domain and of its subdomains. May be given several times." example:"shop.example"`
}

// Resolve implements huma.Resolver. It reads the query itself: huma drops an empty domain, and without one all cookies would be meant.
func (in *DomainQuery) Resolve(ctx huma.Context) []error {
	var f faults
	u := ctx.URL()
	in.Domain = f.domains(u.Query()["domain"])
	return f.errors()
}

// domains checks the domains of a query, and returns them as cookies have them.
func (f *faults) domains(in []string) (out []string) {
	for i, d := range in {
		host, err := state.CheckDomain(d)
		f.require(err == nil, element("query.domain", i), "Enter a domain such as shop.example, without scheme, port and path.")
		out = append(out, host)
	}
	return out
}

// cookieList says which cookies are read, and how they are written.
type cookieList struct {
	ProfilePath
	DomainQuery
	Format string `query:"format" enum:"playwright,netscape,cookie-editor,cdp" doc:"Default: netscape where Accept has text/plain first, else playwright."`
}

func (cookieList) problems() []*problem.Error { return stateProblems() }

// format returns the format that was asked for by the query, else by Accept.
func (in *cookieList) format(accept string) state.Format {
	if in.Format != "" {
		return state.Format(in.Format)
	}
	first, _, _ := strings.Cut(accept, ",")
	if kind, _, _ := strings.Cut(first, ";"); strings.EqualFold(strings.TrimSpace(kind), "text/plain") {
		return state.Netscape
	}
	return state.Playwright
}

func (s *API) getCookies(ctx context.Context, in *cookieList) (*huma.StreamResponse, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	all, err := s.runs.Cookies(ctx, row)
	if err != nil {
		return nil, err
	}
	all = state.OfDomains(all, in.Domain)
	format := in.format(requestOf(ctx).accept)
	detail := map[string]any{"count": len(all), "format": format, "domains": in.Domain}
	if err := s.audit(ctx, "cookies.read", row.WorkspaceID, row.ID, detail); err != nil {
		return nil, err
	}
	kind := "application/json"
	if format == state.Netscape {
		kind = "text/plain; charset=utf-8"
	}
	at := time.Now()
	return s.stateAnswer(ctx, kind, state.Lost(format, all), suspects(all, at), func(w io.Writer) error {
		return state.WriteCookies(w, format, all, at)
	}), nil
}

// suspects counts cookies that are probably bound to their device.
func suspects(all []state.Cookie, at time.Time) (notices []state.Note) {
	n := 0
	for _, c := range all {
		if state.Portable(c, at) != "" {
			n++
		}
	}
	if n > 0 {
		notices = []state.Note{state.NoteOf("bound", n)}
	}
	return notices
}

// stateAnswer answers a file. Its format has no place for losses and notices, so these are headers.
func (s *API) stateAnswer(ctx context.Context, kind string, lost, notices []state.Note, write func(io.Writer) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		hctx.SetHeader("Content-Type", kind)
		for name, notes := range map[string][]state.Note{"X-Warren-Lost": lost, "X-Warren-Notices": notices} {
			if len(notes) > 0 {
				hctx.SetHeader(name, noteHeader(notes))
			}
		}
		hctx.SetStatus(http.StatusOK)
		if hctx.Method() == http.MethodHead {
			return
		}
		if err := write(hctx.BodyWriter()); err != nil {
			s.log.Warn("an answer of cookies or storage failed", "request", requestID(ctx), "cause", err)
			panic(http.ErrAbortHandler) // the client must see that the answer is incomplete
		}
	}}
}

// noteHeader writes notes as a header: their codes and counts.
func noteHeader(notes []state.Note) string {
	parts := make([]string, len(notes))
	for i, n := range notes {
		parts[i] = fmt.Sprintf("%s=%d", n.Code, n.Count)
	}
	return strings.Join(parts, ", ")
}

// cookieDelete says which cookies are deleted.
type cookieDelete struct {
	ProfilePath
	DomainQuery
}

func (cookieDelete) problems() []*problem.Error { return stateProblems() }

func (s *API) deleteCookies(ctx context.Context, in *cookieDelete) (*struct{}, error) {
	row, err := s.writableProfile(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := s.audit(ctx, "cookies.delete", row.WorkspaceID, row.ID, map[string]any{"domains": in.Domain}); err != nil {
		return nil, err
	}
	_, err = s.runs.ChangeCookies(context.WithoutCancel(ctx), row, func(have []state.Cookie) (set, remove []state.Cookie, err error) {
		return nil, state.OfDomains(have, in.Domain), nil
	})
	return nil, err
}

// writableProfile returns a profile whose cookies and storage the caller may write. That needs secrets, because logins are written.
func (s *API) writableProfile(ctx context.Context, id string) (store.Profile, error) {
	row, err := s.profileRow(ctx, id, false)
	if err != nil {
		return row, err
	}
	if p := callerOf(ctx).may(scopeSecrets); p != nil {
		return row, p
	}
	return row, nil
}

// StateChange says what became of the cookies and the storage of a file.
type StateChange struct {
	DryRun          bool            `json:"dryRun" doc:"Nothing was changed: the counts are those of a change."`
	Taken           int             `json:"taken" doc:"Cookies of the file that the profile has now." example:"41"`
	Changed         int             `json:"changed" doc:"Of these, those that it did not have, or had otherwise." example:"12"`
	Removed         int             `json:"removed" doc:"Cookies of the profile that were removed, because the file does not have them." example:"3"`
	Origins         int             `json:"origins" doc:"Origins whose storage was written. Of cookies alone: 0."`
	Passkeys        int             `json:"passkeys" doc:"Passkeys of the file that the profile has now. Of cookies alone: 0."`
	PasskeysRemoved int             `json:"passkeysRemoved" doc:"Passkeys of the profile that were removed, because the file does not have them."`
	Refused         []state.Refusal `json:"refused" nullable:"false" doc:"What was not taken, each with all reasons: at most 10,000."`
	More            int             `json:"moreRefused" doc:"Refusals beyond these."`
	Failed          []state.Failure `json:"failed" nullable:"false" doc:"Origins whose storage could not be written."`
	Lost            []state.Note    `json:"lost" nullable:"false" doc:"What the file has and no profile can have: each kind once."`
	Notices         []state.Note    `json:"notices" nullable:"false" doc:"What was converted or assumed: each kind once."`
}

func (StateChange) example() any {
	return StateChange{Taken: 41, Changed: 12, Removed: 3, Refused: []state.Refusal{{Index: 7, Name: "__Host-sid", Domain: ".shop.example",
		Reason: "A __Host- cookie must be of one host: no domain."}}, Failed: []state.Failure{}, Lost: []state.Note{},
		Notices: []state.Note{state.NoteOf("same_site_not_given", 41)}}
}

// putCookies is PUT /profiles/{id}/cookies.
func (s *API) putCookies(w http.ResponseWriter, r *http.Request) error {
	row, in, err := s.stateWrite(r, cookieFormats())
	if err != nil {
		return err
	}
	file, err := state.ReadCookies(stateBody(r), in.format, time.Now())
	if err != nil {
		return stateProblem(r, err)
	}
	if in.json && file.Format == state.Netscape {
		return unreadableState("The body is a Netscape cookies.txt. Send it as text/plain, or name its format.")
	}
	if err := in.mayReplace(file); err != nil {
		return err
	}
	c := &stateChange{API: s, row: row, in: in, file: file}
	if err := c.do(r.Context(), "cookies.write", c.changeCookies); err != nil {
		return err
	}
	return writeJSON(w, r, http.StatusOK, c.answer())
}

// stateChange is one change of a profile's cookies or storage.
type stateChange struct {
	*API
	row     store.Profile
	in      stateOptions
	file    *state.Cookies
	origins []state.Origin

	hasPasskeys bool // the file mentions passkeys
	passkeys    []state.Credential
	passkeyPlan state.CredentialChanges

	plan    state.Changes
	refused map[int]string // by Chrome, by the index into plan.Set
	failed  []state.Failure
}

// planned computes the change from the profile's cookies.
func (c *stateChange) planned(have []state.Cookie) (set, remove []state.Cookie, err error) {
	c.plan = state.Plan(have, c.file.Cookies, c.in.mode, c.in.domains)
	c.plan.RemoveNamed(have, c.file.Cookies, c.file.Remove, c.in.domains)
	return c.plan.Set, c.plan.Remove, nil
}

// do records the change and makes it, or computes what it would be. What changes nothing for certain starts no browser.
func (c *stateChange) do(ctx context.Context, action string, change func(context.Context) error) error {
	if c.in.mode == state.Merge && len(c.file.Cookies)+len(c.file.Remove)+len(c.origins)+len(c.passkeys) == 0 {
		return nil
	}
	detail := map[string]any{"count": len(c.file.Cookies), "format": c.file.Format, "mode": c.in.mode, "domains": c.in.domains,
		"origins": len(c.origins), "passkeys": len(c.passkeys), "remove": len(c.file.Remove), "dryRun": c.in.dryRun}
	if err := c.audit(ctx, action, c.row.WorkspaceID, c.row.ID, detail); err != nil {
		return err
	}
	if !c.in.dryRun {
		return change(context.WithoutCancel(ctx)) // a client that goes away leaves nothing half done
	}
	have, err := c.runs.Cookies(ctx, c.row)
	if err == nil {
		_, _, err = c.planned(have)
	}
	if err != nil || !c.hasPasskeys {
		return err
	}
	passkeys, err := c.runs.Passkeys(ctx, c.row)
	if err == nil {
		_, _, err = c.plannedPasskeys(passkeys)
	}
	return err
}

func (c *stateChange) changeCookies(ctx context.Context) error {
	change, err := c.runs.ChangeCookies(ctx, c.row, c.planned)
	c.refused = change.Refused
	if err != nil || len(c.refused) == 0 || len(c.file.Remove) == 0 {
		return err
	}
	// Chrome, whose rules may be newer, has refused what was to stand for the cookies that the file names. So those go back.
	gone := c.plan.Remove
	c.plan.Remove = nil
	_, err = c.runs.ChangeCookies(ctx, c.row, func([]state.Cookie) (set, remove []state.Cookie, err error) { return gone, nil, nil })
	return err
}

// written counts the origins of which everything was written.
func (c *stateChange) written() int {
	failed := map[string]bool{} // one may have failed in several ways
	for _, f := range c.failed {
		failed[f.Origin] = true
	}
	return len(c.origins) - len(failed)
}

// answer says what became of the file.
func (c *stateChange) answer() StateChange {
	out := StateChange{DryRun: c.in.dryRun, Taken: len(c.plan.Set) + c.plan.Unchanged - len(c.refused),
		Changed: len(c.plan.Set) - len(c.refused), Removed: len(c.plan.Remove), Origins: c.written(),
		Passkeys: c.passkeyPlan.Taken, PasskeysRemoved: len(c.passkeyPlan.Remove),
		Refused: slices.Concat([]state.Refusal{}, c.file.Refused), More: c.file.More, Failed: slices.Concat([]state.Failure{}, c.failed),
		Lost: c.file.Lost, Notices: c.file.Notices}
	for i, reason := range c.refused {
		if i >= 0 && i < len(c.plan.Set) {
			out.Refused = append(out.Refused, state.Refusal{Index: c.file.Index[c.plan.Of[i]], Name: c.plan.Set[i].Name,
				Domain: c.plan.Set[i].Domain, Reason: reason})
		}
	}
	slices.SortStableFunc(out.Refused, func(a, b state.Refusal) int {
		return cmp.Or(strings.Compare(a.Place, b.Place), cmp.Compare(a.Index, b.Index))
	})
	if c.plan.Outside > 0 {
		out.Notices = append(out.Notices, state.NoteOf("outside_domains", c.plan.Outside))
	}
	return out
}
