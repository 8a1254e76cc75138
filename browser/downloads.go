package browser

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// downloads directs where the run's downloads go, and keeps the list of them.
//
// Chrome has one download behaviour per browser context, that of the last command, and forgets it when the session of that command ends.
// Commands of clients that may not use files of this machine therefore never reach Chrome. The controller, whose session lasts as long as
// the run, sends them instead, with a folder of the run's own in place of the client's. Files get Chrome's GUID as their name. Chrome's
// events are passed on to such clients with the folder that they named.
//
// Clients that may use files of this machine send their commands to Chrome directly. When such a client leaves, the previous behaviour is
// restored. If Chrome can write only the run's own folder, all clients are treated in the first way, since their downloads would fail
// otherwise.
type downloads struct {
	mux           *mux
	dir           string // the run's own folder for downloads; "" in tests without a browser, where commands pass unchanged
	root          string // the folder that the quota applies to; it contains dir
	quota         int64  // bytes; 0: none
	headless      bool   // nobody saves files at a window
	ownFolderOnly bool   // Chrome can write no other folder that a client or a person might name

	sendMu sync.Mutex // held while a behaviour is sent, so that commands keep their order

	mu         sync.Mutex
	restricted bool              // a client without access to this machine's files has connected, or ownFolderOnly
	ownContext string            // the profile's own browser context, which is "" everywhere else
	contexts   map[string]bool   // the other browser contexts; true: created by a client
	requests   []behaviorRequest // of existing sessions, the newest last
	revision   map[string]int    // by context: how many behaviours were sent
	touched    map[*session][]string
	aliases    []folderAlias // alias i stands for the folder i+1 in dir
	listeners  []*session
	downloadList
}

// downloadBehavior holds the parameters of Browser.setDownloadBehavior (CDP).
type downloadBehavior struct {
	Behavior string `json:"behavior"`
	Context  string `json:"browserContextId,omitempty"`
	Path     string `json:"downloadPath,omitempty"`
	Events   bool   `json:"eventsEnabled"`
}

// behaviorRequest is the behaviour that a client wants in a browser context, as it is sent to Chrome.
type behaviorRequest struct {
	session  *session
	behavior downloadBehavior
}

// folderAlias is a folder that a client named, and that a folder of the run's own replaces.
type folderAlias struct {
	folder string
	named  bool // the client expects files with names, not GUIDs
}

// maxAliases is how many folders clients may name during a run.
const maxAliases = 1000

func newDownloads(m *mux) *downloads {
	return &downloads{mux: m, contexts: map[string]bool{}, revision: map[string]int{}, touched: map[*session][]string{},
		downloadList: downloadList{
			byID: map[string]*Download{}, names: map[string]bool{}, changed: make(chan struct{}, 1), quotaDue: make(chan struct{}, 1)}}
}

// defaultBehavior is the behaviour of a context that no client has set one for. Downloads go into the run's own folder, or where a person
// at the window chooses if no restricted client has connected. d.mu is held.
func (d *downloads) defaultBehavior(context string) downloadBehavior {
	if !d.headless && !d.restricted && !d.contexts[context] {
		return downloadBehavior{Behavior: "default", Events: true}
	}
	return downloadBehavior{Behavior: "allowAndName", Context: context, Path: d.dir, Events: true}
}

// applyBehavior sends Chrome the behaviour of a context: the newest request of an existing session, or the default.
func (d *downloads) applyBehavior(context string) {
	if d.dir == "" {
		return
	}
	d.sendMu.Lock()
	defer d.sendMu.Unlock()
	d.mu.Lock()
	order := d.defaultBehavior(context)
	for _, w := range d.requests {
		if w.behavior.Context == context {
			order = w.behavior
		}
	}
	d.revision[context]++
	d.mu.Unlock()
	order.Events = true // the controller needs them
	d.mux.send("", "Browser.setDownloadBehavior", order, d.onContextAnswer(context))
}

// onContextAnswer handles the answer to a command about a browser context, and forgets a context that Chrome does not have any more.
func (d *downloads) onContextAnswer(context string) func(answer) {
	return func(a answer) {
		if a.Error != nil && strings.HasPrefix(a.Error.Message, noSuchContext) {
			d.forgetContext(context)
		}
	}
}

// forgetContext forgets a browser context that was disposed of.
func (d *downloads) forgetContext(context string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.contexts, context)
	delete(d.revision, context)
	d.requests = slices.DeleteFunc(d.requests, func(w behaviorRequest) bool { return w.behavior.Context == context })
}

// KeepDownloads sends all later downloads to the run's own folder, as if a restricted client had connected.
func (b *Browser) KeepDownloads() { b.mux.downloads.noteClient(false) }

// noteClient is called for each client and viewer that connects. After the first one without access to this machine's files, downloads go
// elsewhere only by request, until the run ends. What a client has started may begin to download after it has left.
func (d *downloads) noteClient(files bool) {
	d.mu.Lock()
	first := !files && !d.restricted
	d.restricted = d.restricted || !files
	contexts := append(slices.Collect(maps.Keys(d.contexts)), "")
	d.mu.Unlock()
	if !first || d.headless {
		return
	}
	for _, context := range contexts {
		d.applyBehavior(context)
	}
}

// notePageContext is called with the browser context of each page. The first page belongs to the profile's own context.
func (d *downloads) notePageContext(context string) {
	d.mu.Lock()
	if d.ownContext == "" {
		d.ownContext = context
	}
	_, known := d.contexts[context]
	known = known || context == d.ownContext
	if !known {
		d.contexts[context] = false
	}
	d.mu.Unlock()
	if !known {
		d.applyBehavior(context)
	}
}

// onContextCreated is called with the answer to a client's Target.createBrowserContext, before the client gets it.
func (d *downloads) onContextCreated(a answer) {
	made, err := a.reference()
	if err != nil || made.Context == "" {
		return
	}
	d.mu.Lock()
	d.contexts[made.Context] = true
	d.mu.Unlock()
	d.applyBehavior(made.Context)
}

// onContextDisposed is called for a client's Target.disposeBrowserContext. The returned function gets the answer before the client.
func (d *downloads) onContextDisposed(params []byte) (first func(answer, func())) {
	var p struct {
		Context string `json:"browserContextId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil // Chrome answers the error
	}
	return func(a answer, deliver func()) {
		if a.err() == nil {
			d.forgetContext(p.Context)
		}
		deliver()
	}
}

// parseBehavior decodes a client's command. For Page.setDownloadBehavior it adds the browser context of the page.
func (d *downloads) parseBehavior(s *session, method string, params []byte) (p downloadBehavior, ok bool) {
	if len(params) > 0 && json.Unmarshal(params, &p) != nil {
		return p, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if method == "Page.setDownloadBehavior" {
		p.Context, p.Events = s.context, false
	}
	if p.Context == d.ownContext {
		p.Context = ""
	}
	return p, true
}

// knowsContext reports whether a browser context exists; "" is the profile's own. Requests for unknown contexts are not stored. d.mu is
// held.
func (d *downloads) knowsContext(context string) bool {
	_, there := d.contexts[context]
	return there || context == ""
}

// onBehavior is called for a client's own command to Chrome (Browser.setDownloadBehavior, Page.setDownloadBehavior). The returned function
// gets the answer before the client. m.mu is held.
func (d *downloads) onBehavior(s *session, method string, params []byte) (first func(answer, func())) {
	p, ok := d.parseBehavior(s, method, params)
	if d.dir == "" || !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.knowsContext(p.Context) {
		return nil // Chrome refuses the command
	}
	if !slices.Contains(d.touched[s], p.Context) {
		d.touched[s] = append(d.touched[s], p.Context)
	}
	d.revision[p.Context]++
	turn := d.revision[p.Context]
	return func(a answer, deliver func()) {
		d.mu.Lock()
		if a.err() == nil {
			d.setRequest(behaviorRequest{s, p})
		}
		late := d.revision[p.Context] != turn
		d.mu.Unlock()
		if late { // later commands were overridden by this one, so apply the newest again
			d.applyBehavior(p.Context)
		}
		deliver()
	}
}

// setRequest makes w the session's only request for its context. d.mu is held.
func (d *downloads) setRequest(w behaviorRequest) {
	d.requests = slices.DeleteFunc(d.requests, func(o behaviorRequest) bool {
		return o.session == w.session && o.behavior.Context == w.behavior.Context
	})
	d.requests = append(d.requests, w)
}

// onSessionEnded drops the requests of a client's session. Chrome has restored its default for their contexts.
func (d *downloads) onSessionEnded(s *session) {
	d.mu.Lock()
	contexts := d.touched[s]
	delete(d.touched, s)
	d.listeners = slices.DeleteFunc(d.listeners, func(o *session) bool { return o == s })
	d.requests = slices.DeleteFunc(d.requests, func(w behaviorRequest) bool {
		if w.session == s {
			contexts = append(contexts, w.behavior.Context)
		}
		return w.session == s
	})
	d.mu.Unlock()
	slices.Sort(contexts)
	for _, context := range slices.Compact(contexts) {
		d.applyBehavior(context)
	}
}

// redirect returns the behaviour that is sent for a restricted client, or why none is sent. d.mu is held.
func (d *downloads) redirect(p downloadBehavior) (order downloadBehavior, refusal string) {
	order = downloadBehavior{Behavior: p.Behavior, Context: p.Context, Events: true}
	switch p.Behavior {
	case "deny":
	case "default":
		order = d.defaultBehavior(p.Context)
	case "allow", "allowAndName":
		if p.Path == "" {
			return order, "" // Chrome answers the error
		}
		dir, ok := d.aliasOf(folderAlias{p.Path, p.Behavior == "allow"})
		if !ok {
			return order, "Not allowed: this run's clients have named too many folders for downloads"
		}
		order.Behavior, order.Path = "allowAndName", dir
	default:
		return order, "Not allowed: behavior must be deny, allow, allowAndName or default"
	}
	return order, ""
}

// aliasOf returns the folder of the run's own that replaces p's. The run's own folder is not replaced. d.mu is held.
func (d *downloads) aliasOf(p folderAlias) (dir string, ok bool) {
	if filepath.Clean(p.folder) == d.dir {
		return d.dir, true
	}
	i := slices.Index(d.aliases, p)
	if i < 0 {
		if i = len(d.aliases); i == maxAliases || len(p.folder) > 4096 {
			return "", false
		}
		d.aliases = append(d.aliases, p)
	}
	return filepath.Join(d.dir, strconv.Itoa(i+1)), true
}

// clientPath returns the path of a file as the client expects it. file is its path below the run's own folder, such as "3/" and Chrome's
// GUID. d.mu is held.
func (d *downloads) clientPath(file, name string) string {
	folder, id, below := strings.Cut(file, "/")
	i, err := strconv.Atoi(folder)
	if !below || err != nil || i < 1 || i > len(d.aliases) {
		return filepath.Join(d.dir, filepath.FromSlash(file))
	}
	p := d.aliases[i-1]
	if p.named {
		id = name
	}
	slash := "/"
	if !strings.Contains(p.folder, "/") && strings.Contains(p.folder, `\`) {
		slash = `\`
	}
	return strings.TrimRight(p.folder, slash) + slash + id
}

// setsDownloadBehavior reports whether a command sets where downloads go.
func setsDownloadBehavior(method string) bool {
	return method == "Browser.setDownloadBehavior" || method == "Page.setDownloadBehavior"
}

// wrapsDownloadBehavior reports whether a command within Target.sendMessageToTarget, which the guard has accepted, sets where downloads go.
func wrapsDownloadBehavior(params []byte) bool {
	for _, within := range texts(members(params)["message"]) {
		msg := []byte(within)
		e, _ := scan(msg, maxDepth)
		method := text(msg, e.method)
		if setsDownloadBehavior(method) || method == "Target.sendMessageToTarget" && wrapsDownloadBehavior(e.params.in(msg)) {
			return true
		}
	}
	return false
}

// noSuchContext begins Chrome's error for an unknown browser context.
const noSuchContext = "Failed to find browser context"

// setDownloadBehavior carries out Browser.setDownloadBehavior or Page.setDownloadBehavior of a restricted client. A client may have one
// such command under way, since it bypasses the limit of what may wait for Chrome.
func (c *client) setDownloadBehavior(name, method string, msg []byte, e envelope) error {
	m, d := c.mux, c.mux.downloads
	select {
	case c.behaviorTurn <- struct{}{}:
	case <-c.done:
		return c.reason()
	}
	done := func() { <-c.behaviorTurn }
	m.mu.Lock()
	s := m.sessions[name]
	known := s != nil && s.client == c
	m.mu.Unlock()
	if !known {
		done()
		return c.sendError(msg, e, codeNoSession, "Session with given id not found.")
	}
	p, ok := d.parseBehavior(s, method, e.params.in(msg))
	if !ok {
		done()
		return c.sendError(msg, e, codeInvalidParams, "Invalid parameters")
	}
	closed := ""
	if p.Path != "" && filepath.Clean(p.Path) != d.dir { // outside of the locks: a dead disk would block all others
		closed = c.guard.folderRefusal([]string{p.Path})
	}
	d.sendMu.Lock()
	defer d.sendMu.Unlock()
	d.mu.Lock()
	order, refusal := d.redirect(p)
	if !d.knowsContext(p.Context) {
		refusal = noSuchContext
	} else if order.Path != "" && refusal == "" {
		refusal = closed
	}
	if refusal != "" {
		d.mu.Unlock()
		done()
		return c.sendError(msg, e, codeServer, refusal)
	}
	d.revision[p.Context]++
	turn := d.revision[p.Context]
	d.mu.Unlock()
	msg = slices.Clone(msg)
	m.send("", "Browser.setDownloadBehavior", order, func(a answer) {
		defer done()
		if err := a.Error; err != nil {
			c.sendError(msg, e, err.Code, err.Message) //nolint:errcheck // the client gets the error
			return
		}
		if a.lost == nil && d.onRedirected(s, method, p, order, turn) {
			c.deliver(c.reply(msg, e, `"result":{}`))
		}
	})
	return nil
}

// onRedirected records a behaviour that Chrome has accepted, if its session still exists, and reports whether it does. Then it applies the
// newest behaviour again, in case another one was overridden meanwhile.
func (d *downloads) onRedirected(s *session, method string, p, order downloadBehavior, turn int) bool {
	d.mux.mu.Lock()
	there := d.mux.sessions[s.id] == s
	d.mu.Lock()
	if there {
		d.setRequest(behaviorRequest{s, order})
		if method == "Browser.setDownloadBehavior" {
			d.listeners = slices.DeleteFunc(d.listeners, func(o *session) bool { return o == s })
			if p.Events {
				d.listeners = append(d.listeners, s)
			}
		}
	}
	late := !there || d.revision[p.Context] != turn
	d.mu.Unlock()
	d.mux.mu.Unlock()
	if late {
		d.applyBehavior(p.Context)
	}
	return there
}
