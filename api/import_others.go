package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"warren/comeover"
	"warren/events"
	"warren/problem"
	"warren/proxy"
	"warren/runs"
	"warren/snapshots"
	"warren/state"
	"warren/store"
	"warren/userdata"
)

// Imports profiles of other products (package comeover). They are written in one transaction: a profile is there with its proxy and its
// cookies, or it is not there at all. Their cookies wait for the first start.

// takeFile imports a file, whose content tells what it is.
func (s *API) takeFile(w http.ResponseWriter, r *http.Request, file io.ReaderAt, size int64, in importOptions) error {
	head := make([]byte, 4096)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case isText(head[:n]):
		return s.takeList(w, r, file, size, in)
	case userdata.IsOne(head[:n]) && !bytes.HasPrefix(head, []byte("archive.json\x00")):
		return s.takeFolder(w, r, file, size, in)
	}
	return s.takeArchive(w, r, file, size, in)
}

// takeFolder imports the profiles of a folder of Chrome's user data.
func (s *API) takeFolder(w http.ResponseWriter, r *http.Request, file io.ReaderAt, size int64, in importOptions) error {
	if in.same {
		return onlyArchives()
	}
	keeper := s.runs.Snapshots()
	dir, err := keeper.Staging()
	if err != nil {
		return err
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			s.log.Warn("what an import has left stays until the next start", "cause", err)
		}
	}()
	found, err := userdata.Unpack(r.Context(), file, size, dir, keeper.HasRoom)
	if refused, ok := errors.AsType[*userdata.Refusal](err); ok {
		return snapshots.Refused(problem.Fault{Location: "body", Message: refused.Message})
	}
	if err != nil {
		return keeper.ProblemOf(err)
	}
	a := &arrival{API: s, importOptions: in, out: ImportedProfiles{Format: "chrome", DryRun: in.dryRun}}
	for i, p := range found {
		a.all = append(a.all, s.newcomerFrom(i+1, p))
	}
	return a.take(w, r)
}

// newcomerFrom makes the settings of a profile of Chrome, and says what of its data does not travel.
func (s *API) newcomerFrom(number int, p userdata.Profile) *newcomer {
	n := &newcomer{out: ImportedProfile{Number: number, ArchivedID: p.Folder, Name: p.Name, Bytes: p.Bytes, BrowserVersion: p.Version,
		System: p.System, Warnings: []runs.Warning{}, Proxy: "none"}, settings: map[string]any{"name": p.Name}, folder: p.Dir}
	if c := p.Cookies; c.Sealed > 0 || p.System != "" && p.System != "linux" {
		n.warn("sealed_by_system", fmt.Sprintf("Of %d cookies %d are sealed by a keyring, a keychain or Windows, and cannot be opened "+
			"here; saved passwords are sealed so too. The browser drops them: sign in again.", c.All, c.Sealed))
	}
	have := s.runs.DefaultMajor()
	if have != "" && majorOf(p.Version) > majorOf(have) {
		n.refuse("Version " + p.Version + " wrote it, and this server's browser is of version " + have +
			". Install one that is as new first.")
	}
	if p.Version == "" {
		n.warn("version_unknown", "The folder does not say which version of the browser wrote it. An older browser may not read all of it.")
	}
	return n
}

func onlyArchives() error {
	return problem.NotValid(problem.Fault{Location: "query.as", Message: "Only an archive of Warren has ids that profiles can keep."})
}

// isText reports whether a file may be a list of profiles: it begins with text, and not as an archive that is sealed.
func isText(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return true
	}
	head = bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	for _, start := range []string{"age-encryption.org/", "-----BEGIN AGE", "archive.json\x00", "PK\x03\x04"} {
		if bytes.HasPrefix(head, []byte(start)) {
			return false
		}
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return len(line) > 0 && !bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' })
}

// takeList imports a list of profiles.
func (s *API) takeList(w http.ResponseWriter, r *http.Request, file io.ReaderAt, size int64, in importOptions) error {
	ctx := r.Context()
	select { // a large list takes several times its size in memory
	case s.listsRead <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.listsRead }()
	list, err := comeover.Read(io.NewSectionReader(file, 0, size), time.Now())
	if err != nil {
		return listProblem(err)
	}
	if in.same {
		return onlyArchives()
	}
	a := &arrival{API: s, importOptions: in, out: ImportedProfiles{Format: cmp.Or(string(list.Format), "csv"), DryRun: in.dryRun}}
	for _, p := range list.Profiles {
		a.all = append(a.all, newcomerOf(p))
	}
	return a.take(w, r)
}

// listProblem is the error for a list that cannot be read as a whole.
func listProblem(err error) error {
	file, ok := errors.AsType[*state.FileError](err)
	switch {
	case !ok:
		return err
	case file.Large:
		return problem.New(problem.TooLarge, "body_too_large", file.Error())
	}
	return snapshots.Refused(problem.Fault{Location: "body", Message: file.Error()})
}

// newcomer is a profile of another product.
type newcomer struct {
	out      ImportedProfile
	settings map[string]any
	proxy    *proxy.Proxy
	cookies  []state.Cookie
	folder   string // of the browser's data; "": none
	row      store.Profile
}

// newcomerOf makes the settings of a profile that was read.
func newcomerOf(p comeover.Profile) *newcomer {
	n := &newcomer{out: ImportedProfile{Number: p.Number, Line: p.Line, ArchivedID: p.ID, Name: p.Name, Reason: strings.Join(p.Faults, " "),
		Warnings: []runs.Warning{}, Proxy: "none"}, proxy: p.Proxy, settings: map[string]any{"name": p.Name}}
	set := func(name string, value any, given bool) {
		if given {
			n.settings[name] = value
		}
	}
	set("os", p.OS, p.OS != "")
	set("tags", p.Tags, len(p.Tags) > 0)
	set("notes", p.Notes, p.Notes != "")
	set("startUrls", p.StartURLs, len(p.StartURLs) > 0)
	set("timezone", p.Timezone, p.Timezone != "")
	set("locale", p.Languages, len(p.Languages) > 0)
	if p.Screen != nil {
		n.settings["screen"] = map[string]any{"width": p.Screen.Width, "height": p.Screen.Height}
	}
	if p.Cookies != nil {
		n.cookies = p.Cookies.Cookies
		n.out.Cookies = len(n.cookies)
	}
	for _, l := range p.LeftOut {
		if l.What == "proxy" {
			n.out.Proxy = "missing"
			n.warn("proxy_missing", l.Why)
			continue
		}
		n.warn("left_out", l.What+": "+l.Why)
	}
	return n
}

func (n *newcomer) warn(code, message string) {
	n.out.Warnings = append(n.out.Warnings, runs.Warning{Code: code, Message: message})
}

func (n *newcomer) refuse(reason string) {
	n.out.Reason = strings.TrimSpace(n.out.Reason + " " + reason)
}

// arrival is one import of profiles of another product.
type arrival struct {
	*API
	importOptions
	all     []*newcomer // of the file
	taken   []*newcomer // those that are not refused
	proxies []store.Proxy
	out     ImportedProfiles
}

// take imports the profiles, and answers.
func (a *arrival) take(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if err := a.settleAll(ctx); err != nil {
		return err
	}
	if len(a.taken) == 0 {
		return a.noneTaken()
	}
	ids := store.NewIDs(len(a.taken))
	if made := requestOf(ctx).made; made != "" {
		ids = strings.Fields(made)
	}
	for i, n := range a.taken {
		n.row.ID = ids[min(i, len(ids)-1)]
		n.out.ID = n.row.ID
	}
	var err error
	if requestOf(ctx).made == "" && !a.dryRun {
		err = a.begin(ctx)
	} else {
		err = a.chooseProxies(ctx, a.store.Read())
	}
	if err != nil {
		return err
	}
	a.out.Created, a.out.Refused = len(a.taken), len(a.all)-len(a.taken)
	for _, n := range a.all {
		a.out.Profiles = append(a.out.Profiles, n.out)
	}
	return writeImported(w, r, a.out)
}

// settleAll makes the rows, without ids and proxies. A profile whose name this server does not take is refused.
func (a *arrival) settleAll(ctx context.Context) error {
	names := map[string]int{}
	for _, n := range a.all {
		if name := truncate(n.out.Name, maxMember); n.out.Reason != "" {
			n.out.Name = name
			n.out.Result = "refused"
			continue
		}
		var f faults
		f.line("body.name", n.out.Name, 1, 200)
		if len(f) > 0 {
			n.refuse(f[0].Message)
			n.out.Name, n.out.Result = truncate(n.out.Name, maxMember), "refused"
			continue
		}
		text, err := json.Marshal(n.settings)
		if err != nil {
			return err
		}
		n.row = newProfile(a.workspace)
		warnings, err := a.settle(ctx, a.store.Read(), snapshots.Archived{About: snapshots.About{Settings: text}}, &n.row)
		if err != nil {
			return err
		}
		if names[n.row.Name]++; names[n.row.Name] == 2 {
			n.warn("same_name", "Another profile of the file has this name too. Both are taken.")
		}
		n.out.Name, n.out.Result, n.out.Warnings = n.row.Name, "created", append(n.out.Warnings, warnings...)
		n.row.ProxyMissing = n.out.Proxy == "missing"
		a.taken = append(a.taken, n)
	}
	return nil
}

// noneTaken is the error for a file of which no profile can be taken.
func (a *arrival) noneTaken() error {
	var f faults
	for i, n := range a.all[:min(len(a.all), maxFaults)] {
		f.add(element("body.profiles", i), n.out.Reason, nil)
	}
	return snapshots.Refused(f...)
}

// begin writes everything.
func (a *arrival) begin(ctx context.Context) error {
	if err := a.hasRoom(ctx, a.workspace); err != nil {
		return err
	}
	at := now()
	if err := a.store.Write(ctx, func(q *store.Queries) error { // the cookies are sealed with the workspace's secret
		return a.workspaces.ensure(ctx, q, a.workspace, at)
	}); err != nil {
		return err
	}
	ids, all := make([]string, len(a.taken)), make([]runs.Beginning, len(a.taken))
	for i, n := range a.taken {
		ids[i] = n.row.ID
		all[i] = runs.Beginning{ID: n.row.ID, Workspace: a.workspace, Cookies: n.cookies, Folder: n.folder}
	}
	object := ""
	if len(ids) == 1 {
		object = ids[0]
	}
	about(ctx, a.workspace, object, map[string]any{"count": len(ids), "profileIds": some(ids), "format": a.out.Format})
	err := recordedUnless(ctx, a.runs.Begin(ctx, all, withEntry(ctx, func(q *store.Queries) error {
		if err := a.chooseProxies(ctx, q); err != nil {
			return err
		}
		if err := a.insert(ctx, q, at); err != nil {
			return err
		}
		return recordCreated(ctx, q, strings.Join(ids, " "))
	})))
	a.workspaces.wrote(a.workspace, err)
	if err == nil {
		a.publish(object)
	}
	return err
}

func (a *arrival) publish(object string) {
	if n := len(a.proxies); n > 0 {
		a.events.Publish(events.Event{Type: "proxy.imported", Workspace: a.workspace, Data: proxiesImported{Created: n}})
	}
	if object != "" {
		a.events.Publish(events.Event{Type: "profile.created", Workspace: a.workspace, Data: objectEvent{object}})
		return
	}
	a.events.Publish(events.Event{Type: "profile.batch_created", Workspace: a.workspace, Data: profilesCreated{len(a.taken)}})
}

func (a *arrival) insert(ctx context.Context, q *store.Queries, at int64) error {
	if len(a.proxies) > 0 {
		if err := q.AddProxies(ctx, a.workspace, at, a.proxies); err != nil {
			return err
		}
	}
	for _, n := range a.taken {
		if err := q.AddProfile(ctx, insertOf(n.row)); err != nil {
			return err
		}
		if n.folder == "" {
			continue
		}
		err := store.ErrorOf(q.SetProfileStatus(ctx, store.SetProfileStatusParams{ID: n.row.ID, Status: n.row.Status,
			DiskBytes: &n.out.Bytes, Due: new("on")})) // a backup has it then
		if err != nil {
			return err
		}
	}
	return nil
}

// chooseProxies gives each profile its proxy: one that the workspace has already, else a new one of a.proxies. A transaction may be tried
// again, so it begins anew.
func (a *arrival) chooseProxies(ctx context.Context, q *store.Queries) error {
	type shared struct {
		at       int // into rows
		password string
	}
	first := map[proxy.Proxy]shared{}
	var rows []store.Proxy
	var addresses []proxy.Proxy
	for _, n := range a.taken {
		if n.proxy == nil {
			continue
		}
		address := *n.proxy
		address.Password = ""
		if _, there := first[address]; !there {
			first[address] = shared{len(rows), n.proxy.Password}
			rows = append(rows, store.Proxy{ID: store.NewID(), WorkspaceID: a.workspace, Tags: "[]", Type: string(address.Type),
				Host: address.Host, Port: int64(address.Port), Username: address.Username})
			addresses = append(addresses, *n.proxy)
		}
	}
	found, err := q.FindAddresses(ctx, a.workspace, callerOf(ctx).Sees.Filter(), rows)
	if err != nil {
		return err
	}
	passwords, err := a.passwordsOf(ctx, q, found)
	if err != nil {
		return err
	}
	a.proxies = nil
	for i := range rows {
		if _, there := found[i]; there {
			continue
		}
		if err := a.pool.Seal(&rows[i], addresses[i]); err != nil {
			return err
		}
		a.proxies = append(a.proxies, rows[i])
	}
	a.out.Proxies = len(a.proxies)
	for _, n := range a.taken {
		if n.proxy == nil {
			continue
		}
		address := *n.proxy
		address.Password = ""
		one := first[address]
		id, existing := found[one.at]
		if existing {
			one.password = passwords[id]
		}
		n.useProxy(cmp.Or(id, rows[one.at].ID), existing, one.password == n.proxy.Password, a.dryRun)
	}
	return nil
}

// useProxy sets a profile's proxy. Two proxies of the same type, host, port and user name cannot be here beside each other.
func (n *newcomer) useProxy(id string, existing, samePassword, dry bool) {
	n.row.ProxyID, n.out.ProxyID, n.out.Proxy = &id, &id, "created"
	if existing {
		n.out.Proxy = "existing"
	} else if dry {
		n.out.ProxyID = nil
	}
	n.out.Warnings = slices.DeleteFunc(n.out.Warnings, func(w runs.Warning) bool { return w.Code == "proxy_password" })
	if !samePassword {
		n.warn("proxy_password", "A proxy with this type, host, port and user name is here or in the file with another password, and is "+
			"used with that. If the file's is the right one, change the proxy's password.")
	}
}

// passwordsOf returns the passwords of proxies that are here, by id.
func (a *arrival) passwordsOf(ctx context.Context, q *store.Queries, found map[int]string) (map[string]string, error) {
	out := map[string]string{}
	for _, id := range found {
		row, err := q.GetProxy(ctx, store.GetProxyParams{ID: id, Workspaces: callerOf(ctx).Sees.Filter()})
		if err != nil {
			return nil, err
		}
		out[id] = a.pool.Open(row).Address.Password
	}
	return out, nil
}

// proxyState says of a profile that was imported whether it has a proxy.
func proxyState(row store.Profile) string {
	switch {
	case row.ProxyMissing:
		return "missing"
	case row.ProxyID != nil:
		return "existing"
	}
	return "none"
}
