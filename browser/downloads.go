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

// downloads says where the files of a run's downloads go, and keeps what became of each.
//
// Chrome keeps one behaviour per browser context, of whoever spoke last, and forgets it with the session that said it. So the words of clients that may not
// use files of the machine never reach it: the owner, whose session lasts as long as the run, says them with a folder of the run's own in place of the one
// that was named, and files are named by Chrome's id, whatever a site suggests. Events come to the owner's session, and from here to such clients, with
// the folder that they named. Clients that may use files of the machine speak to Chrome themselves; when one leaves, what held before holds again. Where
// the run's own folder is the only one that Chrome can write, all clients are served in the first way: a download would fail in the other.
type downloads struct {
	mux           *mux
	dir           string // the run's own folder for them; "" in tests without a browser: clients' words pass
	root          string // what the quota counts; dir lies in it
	quota         int64  // bytes; 0: none
	headless      bool   // no person saves files at a window
	ownFolderOnly bool   // Chrome can write no other folder that a client or a person would name

	sendMu sync.Mutex // held while Chrome is told of a behaviour, so that orders come in the order in which they were made

	mu         sync.Mutex
	restricted bool              // a client came that may not use files of the machine, or alone
	ownContext string            // the profile's own browser context; "" stands for it everywhere else
	contexts   map[string]bool   // the others; true: a client made it
	requests   []behaviorRequest // of sessions that are there, the last that was spoken last
	revision   map[string]int    // how often Chrome was told of a context's behaviour
	touched    map[*session][]string
	aliases    []folderAlias // place i is the folder i+1 in dir
	listeners  []*session
	downloadList
}

// downloadBehavior are the parameters of Browser.setDownloadBehavior.
type downloadBehavior struct {
	Behavior string `json:"behavior"`
	Context  string `json:"browserContextId,omitempty"`
	Path     string `json:"downloadPath,omitempty"`
	Events   bool   `json:"eventsEnabled"`
}

// behaviorRequest is what a client wants of a browser context, as Chrome is told.
type behaviorRequest struct {
	session  *session
	behavior downloadBehavior
}

// folderAlias is a folder that a client named, for which one of the run's own stands.
type folderAlias struct {
	folder string
	named  bool // its files have names there, and not Chrome's ids
}

// maxAliases is how many folders clients may name in a run.
const maxAliases = 1000

func newDownloads(m *mux) *downloads {
	return &downloads{mux: m, contexts: map[string]bool{}, revision: map[string]int{}, touched: map[*session][]string{},
		downloadList: downloadList{byID: map[string]*Download{}, names: map[string]bool{}, changed: make(chan struct{}, 1), quotaDue: make(chan struct{}, 1)}}
}

// defaultBehavior is where downloads of a context go that no client has a wish for: into the run's own folder, but where a person may sit at a window and no client
// came that must not write elsewhere. d.mu is held.
func (d *downloads) defaultBehavior(context string) downloadBehavior {
	if !d.headless && !d.restricted && !d.contexts[context] {
		return downloadBehavior{Behavior: "default", Events: true}
	}
	return downloadBehavior{Behavior: "allowAndName", Context: context, Path: d.dir, Events: true}
}

// applyBehavior tells Chrome where the downloads of a context go: as the client wants that spoke last of those that are there, or as the run has it.
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
	order.Events = true // the owner's
	d.mux.send("", "Browser.setDownloadBehavior", order, d.onContextAnswer(context))
}

// onContextAnswer takes the answer to a command about a browser context, and forgets the context when Chrome has it no more.
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

// KeepDownloads has all downloads go to the run's own folder from now on, as when a client comes that may not use files of the machine.
func (b *Browser) KeepDownloads() { b.mux.downloads.noteClient(false) }

// noteClient hears of each client and viewer that comes. From the first on that may not use files of the machine no download goes elsewhere unasked, until the run ends: what
// a client has set going may begin to load after it left.
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

// notePageContext hears of the browser context of each page. The first page is the profile's own.
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

// onContextCreated hears of a browser context that a client has made, before the client does.
func (d *downloads) onContextCreated(a answer) {
	var made struct {
		Context string `json:"browserContextId"`
	}
	if a.err() != nil || json.Unmarshal(a.Result, &made) != nil || made.Context == "" {
		return
	}
	d.mu.Lock()
	d.contexts[made.Context] = true
	d.mu.Unlock()
	d.applyBehavior(made.Context)
}

// onContextDisposed hears that a client disposes of a browser context.
func (d *downloads) onContextDisposed(params []byte) (first func(answer, func())) {
	var p struct {
		Context string `json:"browserContextId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil // Chrome says what is wrong with it
	}
	return func(a answer, deliver func()) {
		if a.err() == nil {
			d.forgetContext(p.Context)
		}
		deliver()
	}
}

// parseBehavior is what a client's command says: its parameters, with the browser context of the page that it was sent to.
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

// knowsContext reports whether there is a browser context, "" for the profile's own. Of what a client makes up nothing is kept. d.mu is held.
func (d *downloads) knowsContext(context string) bool {
	_, there := d.contexts[context]
	return there || context == ""
}

// onBehavior notes a client's own word to Chrome (Browser.setDownloadBehavior, Page.setDownloadBehavior). m.mu is held. first is called with the answer.
func (d *downloads) onBehavior(s *session, method string, params []byte) (first func(answer, func())) {
	p, ok := d.parseBehavior(s, method, params)
	if d.dir == "" || !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.knowsContext(p.Context) {
		return nil // Chrome refuses it
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
		if late { // what others said meanwhile came later, and gives way
			d.applyBehavior(p.Context)
		}
		deliver()
	}
}

// setRequest makes w its session's wish for the context. d.mu is held.
func (d *downloads) setRequest(w behaviorRequest) {
	d.requests = slices.DeleteFunc(d.requests, func(o behaviorRequest) bool {
		return o.session == w.session && o.behavior.Context == w.behavior.Context
	})
	d.requests = append(d.requests, w)
}

// onSessionEnded forgets what a session of a client wanted, when it has ended and Chrome with it has gone back to its own ways.
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

// redirect is what Chrome is told for a client whose downloads go into the run's own folder; refusal says why it is told nothing. d.mu is held.
func (d *downloads) redirect(p downloadBehavior) (order downloadBehavior, refusal string) {
	order = downloadBehavior{Behavior: p.Behavior, Context: p.Context, Events: true}
	switch p.Behavior {
	case "deny":
	case "default":
		order = d.defaultBehavior(p.Context)
	case "allow", "allowAndName":
		if p.Path == "" {
			return order, "" // Chrome says what is missing
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

// aliasOf is the folder of the run's own that stands for one that a client named. Of the run's own folder it is that folder. d.mu is held.
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

// clientPath is the path of a file as the client named it, for one that lies in the run's own folder at file ("3/" and Chrome's id). d.mu is held.
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

// setsDownloadBehavior says whether a command says where downloads go.
func setsDownloadBehavior(method string) bool {
	return method == "Browser.setDownloadBehavior" || method == "Page.setDownloadBehavior"
}

// wrapsDownloadBehavior says whether messages within a Target.sendMessageToTarget, which the guard has understood, say where downloads go.
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

// noSuchContext is how Chrome begins to say that there is no browser context of an id.
const noSuchContext = "Failed to find browser context"

// setDownloadBehavior carries out Browser.setDownloadBehavior or Page.setDownloadBehavior of a client whose downloads go into the run's own folder. A client has
// one such command on its way at a time: they pass the bound on what may wait for Chrome.
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
	if p.Path != "" && filepath.Clean(p.Path) != d.dir { // not while others wait: who names a dead disk waits for it
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
			c.sendError(msg, e, err.Code, err.Message) //nolint:errcheck // it answers the client
			return
		}
		if a.lost == nil && d.onRedirected(s, method, p, order, turn) {
			c.deliver(c.reply(msg, e, `"result":{}`))
		}
	})
	return nil
}

// onRedirected notes a wish that Chrome has heard, if its session is there still. What others said meanwhile came later, and gives way.
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
