package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"warren/events"
	"warren/pool"
	"warren/problem"
	"warren/proxy"
	"warren/runs"
	"warren/store"
)

// proxyJSON is a proxy as the API shows it: without its password.
type proxyJSON struct {
	ID           string        `json:"id" example:"0199a1c2-7d3e-7a10-8a55-0123456789cd"`
	WorkspaceID  string        `json:"workspaceId" example:"default"`
	Type         string        `json:"type" enum:"socks5,http,https,socks4"`
	Host         string        `json:"host" example:"de.proxy.example"`
	Port         int           `json:"port" example:"1080"`
	Username     string        `json:"username" example:"alice"`
	HasPassword  bool          `json:"hasPassword"`
	Name         string        `json:"name"`
	Tags         rawStrings    `json:"tags"`
	Notes        string        `json:"notes"`
	RotateURL    string        `json:"rotateUrl" doc:"Whole for keys with the scope secrets; for others https://host/*** where it has user info, path or query." example:"https://seller.example/***"`
	Status       string        `json:"status" enum:"unknown,alive,dead" doc:"As the last check found it."`
	ProfileCount int64         `json:"profileCount" doc:"How many profiles use it."`
	Uptime       *float64      `json:"uptime" doc:"The share of its last checks (100 at most) that were good, 0 to 1; null without one."`
	Latency      *pool.Latency `json:"latency" doc:"Of its last checks that were good; null without one."`
	LastCheck    *pool.Check   `json:"lastCheck"`
	CreatedAt    time.Time     `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	UpdatedAt    time.Time     `json:"updatedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`

	Runs []changedRunJSON `json:"runs,omitempty" doc:"Only in the answer of a change: the runs that use the proxy, and what became of them."`
}

func (proxyJSON) example() any {
	return proxyJSON{ID: exampleProxyID, WorkspaceID: "default", Type: "socks5", Host: "de.proxy.example", Port: 1080, Username: "alice",
		HasPassword: true, Name: "Berlin", Tags: `["de"]`, Status: "alive", ProfileCount: 1,
		Latency: &pool.Latency{P50Ms: 182, P95Ms: 411, Count: 97}, Uptime: new(1.0), LastCheck: new(exampleCheck()),
		CreatedAt: exampleTime(), UpdatedAt: exampleTime()}
}

// ProxyBody is the answer of the operations on one proxy.
type ProxyBody struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     proxyJSON
}

func proxyFromRow(row store.Proxy) (proxyJSON, error) {
	p := proxyJSON{ID: row.ID, WorkspaceID: row.WorkspaceID, Type: row.Type, Host: row.Host, Port: int(row.Port), Username: row.Username,
		HasPassword: row.Password != nil, Name: row.Name, Tags: rawStrings(row.Tags), Notes: row.Notes, RotateURL: row.RotateURL,
		Status: row.Status, ProfileCount: row.ProfileCount, CreatedAt: runs.Millis(row.CreatedAt), UpdatedAt: runs.Millis(row.UpdatedAt)}
	if row.ChecksTotal > 0 {
		p.Uptime = new(float64(row.ChecksOk) / float64(row.ChecksTotal))
	}
	p.Latency = pool.LatencyOf(row.Recent)
	var err error
	p.LastCheck, err = fromText[pool.Check](row.LastCheck)
	return p, err
}

// shown returns the way to show proxies to a caller. Callers with the scope secrets see rotateUrl whole.
func (s *API) shown(c *caller) func(store.Proxy) (proxyJSON, error) {
	if !c.has(scopeSecrets) {
		return proxyFromRow
	}
	return func(row store.Proxy) (proxyJSON, error) {
		p, err := proxyFromRow(row)
		if err != nil {
			return p, err
		}
		if whole, err := s.store.RotateURL(row); err == nil {
			p.RotateURL = whole
		} else { // masked: one that cannot be opened must not fail a list
			s.log.Error("a rotateUrl cannot be opened with this secret key", "proxy", row.ID, "cause", err)
		}
		return p, nil
	}
}

func (s *API) proxyAnswer(ctx context.Context, row store.Proxy) (*ProxyBody, error) {
	p, err := s.shown(callerOf(ctx))(row)
	return &ProxyBody{ETag: etag(row.Revision), Body: p}, err
}

// proxyInput is a proxy as a request brings it: as fields, or as one string.
type proxyInput struct {
	WorkspaceID opt[string]   `json:"workspaceId,omitempty" doc:"The workspace that owns it; it never changes." example:"default"`
	URL         opt[string]   `json:"url,omitempty" nullable:"false" doc:"Instead of host, port, username and password: socks5://user:pass@host:1080, or a line as an import takes it, such as host:1080:user:pass. type is the type of a line that names none; socks5 without it. A line that can be read in two ways is refused." example:"socks5://alice:secret@de.proxy.example:1080"`
	Type        opt[string]   `json:"type,omitempty" nullable:"false" doc:"socks5, http, https or socks4 (socks5h and socks are taken too)." example:"socks5"`
	Host        opt[string]   `json:"host,omitempty" nullable:"false" doc:"A host name or an address, without scheme and port." example:"de.proxy.example"`
	Port        opt[int64]    `json:"port,omitempty" nullable:"false" minimum:"1" maximum:"65535" example:"1080"`
	Username    opt[string]   `json:"username,omitempty" doc:"1 to 255 bytes; null: none."`
	Password    opt[string]   `json:"password,omitempty" doc:"1 to 255 bytes; null: none; socks4 has none. It is sealed at rest and never answered."`
	Name        opt[string]   `json:"name,omitempty" doc:"At most 200 characters."`
	Tags        opt[[]string] `json:"tags,omitempty"`
	Notes       opt[string]   `json:"notes,omitempty" doc:"At most 10,000 characters."`
	RotateURL   opt[string]   `json:"rotateUrl,omitempty" doc:"An http or https address that makes the proxy change its exit. It is sealed at rest, as the password is. As it is shown without the scope secrets (https://host/***) it stays what it was."`

	whole *proxy.Proxy // what url says
}

func (proxyInput) example() any {
	return map[string]any{"workspaceId": "default", "type": "socks5", "host": "de.proxy.example", "port": 1080,
		"username": "alice", "password": "secret"}
}

// check normalises the members of the request, and notes what is wrong with each by itself.
func (in *proxyInput) check(f *faults) {
	if in.Name.given() {
		in.Name.Value = f.line("body.name", in.Name.Value, 0, 200)
	}
	if in.Tags.given() {
		in.Tags.Value = f.tags("body.tags", in.Tags.Value)
	}
	if in.Notes.given() {
		in.Notes.Value = f.text("body.notes", in.Notes.Value, 10000)
	}
	if in.RotateURL.given() {
		f.rotateURL(in.RotateURL.Value)
	}
	in.checkAddress(f)
}

// rotateURL wants an http or https address, or none.
func (f *faults) rotateURL(text string) {
	u, err := url.Parse(text)
	switch {
	case text != "" && (text == "about:blank" || !isStartURL(text)):
		f.add("body.rotateUrl", "Enter a web address that begins with http:// or https://.", nil)
	case err == nil && proxy.IsDebugHost(u.Hostname()):
		f.add("body.rotateUrl", reserved, nil)
	}
}

// readProxy reads a proxy from one text: a URL, or a line as an import takes it. byDefault is the type of a line that names none. It
// refuses ambiguous lines.
func readProxy(text string, byDefault proxy.Type) (proxy.Proxy, error) {
	p, notURL := proxy.Parse(text)
	if notURL == nil {
		return p, nil
	}
	found, err := proxy.ReadLine(text, byDefault)
	switch {
	case err != nil && strings.Contains(text, "://") && strings.Contains(text, "@"):
		return proxy.Proxy{}, errors.New(strings.TrimPrefix(notURL.Error(), "proxy: "))
	case err != nil:
		return proxy.Proxy{}, err
	case len(found) == 0:
		return proxy.Proxy{}, proxy.Sentence(enterProxy)
	case len(found) > 1:
		return proxy.Proxy{}, proxy.Sentence(fmt.Sprintf("This can be read as %s. Write the one that you mean, with its password.",
			strings.Join(proxy.Readings(found), " and as ")))
	}
	return found[0], nil
}

// checkAddress normalises the address members that are given, and checks each by itself.
func (in *proxyInput) checkAddress(f *faults) {
	f.require(!in.Type.Null, "body.type", chooseType)
	f.require(!in.Host.Null, "body.host", enterHost)
	f.require(!in.Port.Null, "body.port", enterPort)
	f.require(!in.URL.Null, "body.url", enterProxy)
	if in.URL.given() {
		in.readURL(f)
	}
	if in.Type.given() {
		t, ok := proxy.ParseType(in.Type.Value)
		if !ok {
			f.add("body.type", chooseType, cut(in.Type.Value))
			t = proxy.SOCKS5 // so that the other members are looked at too
		}
		in.Type.Value = string(t)
	}
	f.require(!in.Username.given() || in.Username.Value != "", "body.username", "Enter a user name, or null for none.")
	f.require(!in.Password.given() || in.Password.Value != "", "body.password", "Enter a password, or null for none.")
}

// readURL reads the whole address from url. Of the other address members only type may be given beside it, for a text that names none.
func (in *proxyInput) readURL(f *faults) {
	if in.Host.Set || in.Port.Set || in.Username.Set || in.Password.Set {
		f.add("body.url", "Give either url or the separate fields, not both.", nil)
		return
	}
	byDefault, known := proxy.ParseType(in.Type.Value)
	if !known {
		byDefault = proxy.SOCKS5
	}
	p, err := readProxy(in.URL.Value, byDefault)
	switch {
	case err != nil:
		f.add("body.url", err.Error(), nil)
	case known && p.Type != byDefault:
		f.add("body.type", "The url names another type. Leave one of them out.", nil)
	default:
		in.whole = &p
	}
}

// address merges the address members into old, and checks the result. checkAddress has checked the members.
func (in *proxyInput) address(old proxy.Proxy, f *faults) proxy.Proxy {
	p := old
	switch {
	case in.whole != nil:
		p = *in.whole
	case in.URL.given(): // unreadable: its fault is noted already
		return old
	}
	if in.Type.given() {
		p.Type = proxy.Type(in.Type.Value)
	}
	if in.Port.given() {
		p.Port = int(in.Port.Value)
	}
	in.Host.merge(&p.Host, p.Host)
	in.Username.merge(&p.Username, "")
	in.Password.merge(&p.Password, "")
	for _, bad := range p.Validate() {
		f.add("body."+bad.Field, bad.Message, nil)
	}
	// %XX in a URL can be anything; answers show the user name, and JSON cannot.
	f.require(utf8.ValidString(p.Username), "body.username", "The user name must be UTF-8 text.")
	return p.Normalize()
}

// create checks a proxy that is to be made, and returns its address.
func (in *proxyInput) create(f *faults) proxy.Proxy {
	in.check(f)
	in.checkMask(store.Proxy{}, f)
	f.require(in.Type.Set || in.URL.Set, "body.type", chooseType)
	f.require(in.Host.Set || in.URL.Set, "body.host", enterHost)
	f.require(in.Port.Set || in.URL.Set, "body.port", enterPort)
	return in.address(proxy.Proxy{}, f)
}

// changeOf checks a change of a saved proxy against its row, and returns its old and its new address. A change that brings the password
// needs no saved one that can be opened. A saved password goes to another server, or there in another way, only for callers who may
// read it. Others have to give it again.
func (s *API) changeOf(row store.Proxy, in *proxyInput, c *caller) (f faults, old, p proxy.Proxy, err error) {
	saved := s.pool.Open(row)
	if err := saved.Usable(); err != nil && !in.Password.Set && !in.URL.Set {
		return nil, old, p, problem.Hidden(err)
	}
	f.otherWorkspace(in.WorkspaceID, row.WorkspaceID)
	in.checkMask(row, &f)
	old = saved.Address
	p = in.address(old, &f)
	elsewhere := p.Type != old.Type || p.Host != old.Host || p.Port != old.Port
	if elsewhere && old.Password != "" && p.Type != proxy.SOCKS4 && !in.Password.Set && !in.URL.Set && !c.has(scopeSecrets) {
		f.add("body.password", "Type the password again: the saved one does not go to another server. For none, send null.", nil)
	}
	return f, old, p, nil
}

// apply writes the members beside the address into row.
func (in *proxyInput) apply(row *store.Proxy) {
	in.Name.merge(&row.Name, "")
	if in.Tags.Set {
		row.Tags = jsonList(in.Tags.Value)
	}
	in.Notes.merge(&row.Notes, "")
	if in.RotateURL.Set && !in.keepsRotateURL(*row) {
		in.RotateURL.merge(&row.RotateURL, "")
		row.RotateSealed = nil // seal does it
	}
}

// keepsRotateURL says whether the request has rotateUrl as the row shows it masked.
func (in *proxyInput) keepsRotateURL(row store.Proxy) bool {
	return in.RotateURL.given() && row.RotateSealed != nil && in.RotateURL.Value == row.RotateURL
}

// checkMask refuses a masked rotateUrl that is not the row's own: it would be called with ***.
func (in *proxyInput) checkMask(row store.Proxy, f *faults) {
	if u, err := url.Parse(in.RotateURL.Value); in.RotateURL.given() && err == nil && u.Path == "/***" && !in.keepsRotateURL(row) {
		f.add("body.rotateUrl", "Enter the whole address. This one was shown without its secret part.", nil)
	}
}

// ProxyPath names one proxy.
type ProxyPath struct {
	ID string `path:"id" doc:"The proxy's id."`
}

func (s *API) proxyRow(ctx context.Context, id string) (store.Proxy, error) {
	return proxyAsRead(ctx, s.store.Read(), callerOf(ctx), id, "")
}

// proxyAsRead returns a proxy that the caller sees, if it still has the revision of ifMatch.
func proxyAsRead(ctx context.Context, q *store.Queries, c *caller, id, ifMatch string) (store.Proxy, error) {
	row, err := q.GetProxy(ctx, store.GetProxyParams{ID: id, Workspaces: c.Sees.Filter()})
	requestOf(ctx).found.inWorkspace(row.WorkspaceID)
	switch {
	case errors.Is(err, store.ErrNoRow):
		return row, problem.Missing("proxy")
	case err == nil && !matches(ifMatch, row.Revision):
		return row, etagMismatch()
	}
	return row, err
}

func (s *API) getProxy(ctx context.Context, in *struct{ ProxyPath }) (*ProxyBody, error) {
	row, err := s.proxyRow(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return s.proxyAnswer(ctx, row)
}

// proxyCreate is a proxy to add.
type proxyCreate struct {
	Body proxyInput

	value     proxy.Proxy
	workspace string
}

func (proxyCreate) problems() []*problem.Error {
	return []*problem.Error{pool.IsDuplicate(exampleProxyID), exampleQuota()}
}

// Resolve checks the request by itself.
func (in *proxyCreate) Resolve(ctx huma.Context) []error {
	var f faults
	in.value = in.Body.create(&f)
	in.workspace = f.workspace(callerOf(ctx.Context()), "body.workspaceId", in.Body.WorkspaceID)
	return f.errors()
}

func (s *API) addProxy(ctx context.Context, in *proxyCreate) (*ProxyBody, error) {
	at := now()
	row := store.Proxy{ID: store.NewID(), WorkspaceID: in.workspace, Tags: "[]", Status: "unknown", Revision: 1,
		CreatedAt: at, UpdatedAt: at}
	in.Body.apply(&row)
	if err := s.pool.Seal(&row, in.value); err != nil {
		return nil, err
	}
	about(ctx, row.WorkspaceID, row.ID, map[string]any{"name": row.Name, "type": row.Type, "host": row.Host, "port": row.Port})
	err := s.change(ctx, func(q *store.Queries) error {
		if _, err := q.EnsureWorkspace(ctx, store.EnsureWorkspaceParams{ID: row.WorkspaceID, Now: at}); err != nil {
			return err
		}
		if err := pool.Duplicate(ctx, q, row); err != nil {
			return err
		}
		if _, err := q.InsertProxy(ctx, store.InsertProxyParams{ID: row.ID, WorkspaceID: row.WorkspaceID, Type: row.Type, Host: row.Host,
			Port: row.Port, Username: row.Username, Password: row.Password, Name: row.Name, Tags: row.Tags, Notes: row.Notes,
			RotateURL: row.RotateURL, RotateSealed: row.RotateSealed, CreatedAt: at, UpdatedAt: at}); err != nil {
			return err
		}
		return recordCreated(ctx, q, row.ID)
	})
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "proxy.created", Workspace: row.WorkspaceID, Data: objectEvent{row.ID}})
	body, err := s.proxyAnswer(ctx, row)
	body.Location = Prefix + "/proxies/" + row.ID
	return body, err
}

// proxyUpdate holds the members to change.
type proxyUpdate struct {
	ProxyPath
	CloseOldQuery
	IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 when the proxy has changed since."`
	Body    proxyInput
}

func (proxyUpdate) example() any {
	return map[string]any{"host": "de2.proxy.example", "name": "Berlin 2"}
}

func (proxyUpdate) problems() []*problem.Error {
	return []*problem.Error{pool.IsDuplicate(exampleProxyID)}
}

// Resolve checks the request by itself.
func (in *proxyUpdate) Resolve(ctx huma.Context) []error {
	completable(ctx, in)
	var f faults
	in.Body.check(&f)
	return f.errors()
}

func (in *proxyUpdate) storedFaults(ctx context.Context, s *API) (f faults, err error) {
	row, err := s.proxyRow(ctx, in.ID)
	if err == nil {
		f, _, _, err = s.changeOf(row, &in.Body, callerOf(ctx))
	}
	return f, err
}

func (s *API) updateProxy(ctx context.Context, in *proxyUpdate) (*ProxyBody, error) {
	c := callerOf(ctx)
	var row store.Proxy
	var moved bool
	err := s.change(ctx, func(q *store.Queries) (err error) {
		if row, err = proxyAsRead(ctx, q, c, in.ID, ""); err == nil {
			before := row
			moved, err = s.rewriteProxy(ctx, q, &row, in, c)
			about(ctx, row.WorkspaceID, row.ID, differences(membersOf(in.Body), before, row, s.shown(c)))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	runs := changedRuns(s.runs.ProxyChanged(context.WithoutCancel(ctx), row, moved, in.CloseOld))
	s.events.Publish(events.Event{Type: "proxy.updated", Workspace: row.WorkspaceID, Data: objectUpdated{membersOf(in.Body), row.ID}})
	out, err := s.proxyAnswer(ctx, row)
	out.Body.Runs = runs
	return out, err
}

// rewriteProxy checks a change against the row and writes it. moved says that the address or the credentials are new: the results of
// earlier checks are deleted then. Faults come before If-Match (RFC 9110, 13.2.1).
func (s *API) rewriteProxy(ctx context.Context, q *store.Queries, row *store.Proxy, in *proxyUpdate, c *caller) (moved bool, err error) {
	f, old, value, err := s.changeOf(*row, &in.Body, c)
	if err = cmp.Or(err, f.problem()); err != nil {
		return false, err
	}
	if !matches(in.IfMatch, row.Revision) {
		return false, etagMismatch()
	}
	in.Body.apply(row)
	if err := s.pool.Seal(row, value); err != nil {
		return false, err
	}
	if err := pool.Duplicate(ctx, q, *row); err != nil {
		return false, err
	}
	*row, err = q.UpdateProxy(ctx, store.UpdateProxyParams{ID: row.ID, Revision: row.Revision,
		Type: row.Type, Host: row.Host, Port: row.Port, Username: row.Username, Password: row.Password,
		Name: row.Name, Tags: row.Tags, Notes: row.Notes, RotateURL: row.RotateURL, RotateSealed: row.RotateSealed,
		UpdatedAt: now(), Workspaces: c.Sees.Filter()})
	if err != nil || value == old {
		return false, err
	}
	if _, err := q.DeleteProxyChecks(ctx, row.ID); err != nil {
		return true, err
	}
	row.Status, row.LastCheck, row.ChecksTotal, row.ChecksOk, row.Recent = "unknown", nil, 0, 0, ""
	_, err = q.ClearProxyCheck(ctx, store.ClearProxyCheckParams{ID: row.ID, Workspaces: c.Sees.Filter()})
	return true, err
}

// proxyDelete names a proxy to delete.
type proxyDelete struct {
	ProxyPath
	IfMatch string `header:"If-Match" doc:"The ETag that was read: 412 when the proxy has changed since."`
}

func (proxyDelete) problems() []*problem.Error {
	return []*problem.Error{pool.InUse([]string{exampleProfileID})}
}

func (s *API) deleteProxy(ctx context.Context, in *proxyDelete) (*struct{}, error) {
	c := callerOf(ctx)
	var row store.Proxy
	err := s.change(ctx, func(q *store.Queries) (err error) {
		if row, err = proxyAsRead(ctx, q, c, in.ID, in.IfMatch); err != nil {
			return err
		}
		about(ctx, row.WorkspaceID, row.ID, map[string]any{"name": row.Name, "type": row.Type, "host": row.Host, "port": row.Port})
		if err := pool.Unused(ctx, q, c.Sees, row); err != nil {
			return err
		}
		_, err = q.DeleteProxy(ctx, store.DeleteProxyParams{ID: row.ID, Workspaces: c.Sees.Filter()})
		return err
	})
	if err != nil {
		return nil, err
	}
	s.events.Publish(events.Event{Type: "proxy.deleted", Workspace: row.WorkspaceID, Data: objectEvent{row.ID}})
	return nil, nil
}
