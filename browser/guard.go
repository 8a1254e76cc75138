package browser

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// guard keeps clients of the gateway away from files that are not theirs. Chrome runs as the server's user, and a DevTools client could
// make it open file: addresses and give any file to a page. Opening files is refused altogether. Files given to pages, as uploads are, must
// lie in the run's own folder. Clients that may use files of this machine may give others too, except protected ones. The run's own
// commands are not checked.
type guard struct {
	machineFiles bool     // the client may use files of this machine
	ownFolder    string   // the run's own folder; "": none
	ownPaths     []string // its paths that blockPreferences knows
	folders      []string // protected
	siblings     []string // prefixes of the paths of further protected ones
	cwd          string   // Chrome's working folder, for relative paths; it is the run's temporary folder and no sibling

	headful      bool         // a person may use the browser's windows
	extensions   *extensions  // their pages may be opened
	filesDropped *atomic.Bool // set when a client drags files to a page; nil: not needed
}

func newGuard(s *Spec) *guard {
	g := &guard{cwd: s.TempDir, headful: !s.Headless}
	g.folders = g.resolveAll(s.Protected)
	for _, start := range s.Siblings {
		parent, name := filepath.Split(start)
		g.siblings = append(g.siblings, g.resolveAll([]string{parent})[0]+string(filepath.Separator)+name)
	}
	if s.FilesDir != "" {
		g.ownPaths = pathSpellings(s.FilesDir)
		g.ownFolder = g.ownPaths[len(g.ownPaths)-1]
	}
	return g
}

// resolveAll follows the links in paths as far as possible.
func (g *guard) resolveAll(paths []string) (out []string) {
	for _, p := range paths {
		if real, known := realPath(p, g.cwd); known {
			p = real
		}
		out = append(out, p)
	}
	return out
}

// forClient returns the guard of a client with or without access to this machine's files.
func (g *guard) forClient(files bool) *guard {
	its := *g
	its.machineFiles = files
	return &its
}

const (
	isProtected     = "Not allowed: the path lies in, or leads to, a folder that is closed to DevTools clients"
	notOffered      = "Not allowed: this command gives a way to DevTools that is closed to clients here"
	needsFilesScope = "Not allowed: files of this machine are for keys with the scope files. Send the file with PUT " +
		"/api/v1/profiles/ID/uploads/NAME and name the path in its answer, or use such a key"
	// Chrome ends a page with such a file a second later, when it records the page's state (bad_message.h,
	// RFH_CAN_ACCESS_FILES_OF_PAGE_STATE).
	hasDotDot      = "Not allowed: the path goes through .., and Chrome would end the page for it. Name the file without"
	nestedTooDeep  = "Not allowed: messages within messages nest too deep"
	notBrowserWide = "Not allowed: at a browser with windows this would be of a person's pages too. Send it to a page's session"
)

// maxNested is how many messages may lie within each other (CDP Target.sendMessageToTarget).
const maxNested = 4

// refusal returns why a client's command must not reach Chrome, "" if it may. A nil guard refuses nothing.
func (g *guard) refusal(method string, params []byte) string {
	if g == nil {
		return ""
	}
	return g.check(method, params, 0)
}

// check reads every value of a repeated member, since it is unknown which one Chrome would take. It has a case per command and reads best
// as one table.
func (g *guard) check(method string, params []byte, depth int) string {
	if why := g.extensions.refusal(method, params, depth > 0); why != "" {
		return why
	}
	switch method {
	case "DOM.setFileInputFiles", "Page.handleFileChooser": // the second one is of older Chromes
		return g.fileRefusal(stringsOf(members(params)["files"]))
	case "Input.dispatchDragEvent":
		for _, data := range members(params)["data"] {
			if g.filesDropped != nil && len(stringsOf(members(data)["files"])) > 0 {
				g.filesDropped.Store(true)
			}
			if why := g.dropRefusal(members(data)); why != "" {
				return why
			}
		}
	case "Tracing.start":
		if !g.machineFiles && len(members(params)["perfettoConfig"]) > 0 { // it may name a file to write
			return needsFilesScope
		}
	case "Browser.setDownloadBehavior", "Page.setDownloadBehavior":
		return g.folderRefusal(texts(members(params)["downloadPath"]))
	case "Target.sendMessageToTarget":
		return g.checkNested(texts(members(params)["message"]), depth+1)
	case "Page.startScreenRecording":
		for _, area := range members(params)["captureArea"] {
			if string(area) != `"target"` { // the window shows other tabs too
				return notOffered
			}
		}
	// they bypass this guard, or reach Chrome's own pages
	case "Target.exposeDevToolsProtocol", "Target.openDevTools", "Browser.executeBrowserCommand":
		return notOffered
	case "Browser.crash", "Browser.crashGpuProcess": // as Browser.close, these are not for clients
		return notOffered
	}
	return ""
}

// browserWideRefusal refuses a command that, on a session of that kind, would apply to all pages. With windows a person may have blocked
// pages open. On a browser session a client could read and answer the requests of a file's page, and record what every page draws.
func (g *guard) browserWideRefusal(kind, method string) string {
	if g == nil || !g.headful || kind != "browser" && kind != "tab" && kind != "" {
		return ""
	}
	switch method {
	case "Fetch.enable", "Tracing.start":
		return notBrowserWide
	}
	return ""
}

// checkNested checks commands within another one. It refuses what it does not understand completely, since Chrome might understand it.
func (g *guard) checkNested(messages []string, depth int) string {
	for _, within := range messages {
		if depth > maxNested {
			return nestedTooDeep
		}
		msg := []byte(within)
		e, err := scan(msg, maxDepth)
		if err != nil || !wellFormed(msg) || e.invalid(msg) != "" {
			return "JSON: the message within must be one command in UTF-8"
		}
		method := text(msg, e.method)
		if why := g.browserWideRefusal("", method); why != "" { // the command's session is unknown
			return why
		}
		if why := g.check(method, e.params.in(msg), depth); why != "" {
			return why
		}
	}
	return ""
}

// dropRefusal checks what is dropped on a page: files, and addresses, which Chrome opens if the page does not accept them.
func (g *guard) dropRefusal(data map[string][]json.RawMessage) string {
	for _, list := range data["items"] {
		var items []json.RawMessage
		if json.Unmarshal(list, &items) != nil {
			continue
		}
		for _, item := range items {
			is := members(item)
			if !slices.ContainsFunc(
				texts(is["mimeType"]), func(t string) bool { return strings.Contains(strings.ToLower(t), "uri-list") }) {
				continue
			}
			for _, text := range texts(is["data"]) { // RFC 2483, 5
				lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
				if why := g.extensions.addressRefusal(slices.DeleteFunc(lines, func(l string) bool { return l[0] == '#' })); why != "" {
					return why
				}
			}
		}
	}
	return g.fileRefusal(stringsOf(data["files"]))
}

// fileRefusal refuses files that must not be given to a page. Files of the run's own folder are allowed. Other files need machineFiles, and
// must be neither in protected folders nor above them, since a page that is given a folder gets all of its contents. No file becomes a link
// between this check and Chrome's use: clients can only create plain files.
func (g *guard) fileRefusal(paths []string) string {
	for _, p := range paths {
		real, known := realPath(p, g.cwd)
		if known && g.isOwnPath(p) && liesIn(real, g.ownFolder) {
			continue
		}
		if !g.machineFiles {
			return needsFilesScope
		}
		if !known || slices.ContainsFunc(g.folders, func(f string) bool { return liesIn(real, f) || liesIn(f, real) }) ||
			g.isInSibling(real) || g.holdsSiblings(real) {
			return isProtected
		}
	}
	if slices.ContainsFunc(paths, func(p string) bool { return slices.Contains(pathSteps(p), "..") }) {
		return hasDotDot
	}
	return ""
}

// isOwnPath reports whether a path is spelled as one in the run's own folder. blockPreferences block only known spellings, so Chrome might
// open another one as a page.
func (g *guard) isOwnPath(path string) bool {
	return filepath.Clean(path) == path &&
		slices.ContainsFunc(g.ownPaths, func(o string) bool { return path == o || strings.HasPrefix(path, o+string(filepath.Separator)) })
}

// isInSibling reports whether a path lies in one of the folders that come and go.
func (g *guard) isInSibling(real string) bool {
	return slices.ContainsFunc(g.siblings, func(start string) bool {
		parent, name := filepath.Split(start)
		there, err := os.ReadDir(parent)
		if err != nil {
			return !errors.Is(err, fs.ErrNotExist) // unknown
		}
		return slices.ContainsFunc(there, func(e os.DirEntry) bool {
			folder := filepath.Join(parent, e.Name())
			return strings.HasPrefix(e.Name(), name) && !liesIn(g.cwd, folder) && liesIn(real, folder)
		})
	})
}

// holdsSiblings reports whether such folders lie, or may come to lie, below a path.
func (g *guard) holdsSiblings(real string) bool {
	return slices.ContainsFunc(g.siblings, func(start string) bool { return liesIn(filepath.Dir(start), real) })
}

// folderRefusal refuses protected folders as the destination of downloads.
func (g *guard) folderRefusal(paths []string) string {
	for _, p := range paths {
		real, known := realPath(p, g.cwd)
		if !known || slices.ContainsFunc(g.folders, func(f string) bool { return liesIn(real, f) }) || g.isInSibling(real) {
			return isProtected
		}
	}
	return ""
}

// refusal returns why a command is refused because of the address in it or the targets that it reaches, "" if it is not. wrapped is a
// command within another one, whose answers and events nobody inspects.
func (x *extensions) refusal(method string, params []byte, wrapped bool) string {
	domain, _, _ := strings.Cut(method, ".")
	switch {
	case domain == "Extensions":
		return notExtended
	case domain == "PWA":
		return notInstalled
	case method == "Target.setRemoteLocations" || domain == "Tethering" || domain == "Cast":
		return notDialed
	case wrapped && (domain == "Target" || method == "Page.getNavigationHistory"):
		return notWrapped
	}
	switch method {
	case "Page.navigate", "Target.createTarget", "Network.loadNetworkResource", "Fetch.continueRequest":
		return x.addressRefusal(texts(members(params)["url"]))
	case "Target.createBrowserContext": // the context would have its own way to the network
		all := members(params)
		if slices.ContainsFunc(
			append(all["proxyServer"], all["proxyBypassList"]...), func(v json.RawMessage) bool { return string(v) != "null" }) {
			return notElsewhere
		}
	}
	return ""
}

const (
	notOpened = "Cannot navigate to invalid URL: DevTools clients open http, https, data, blob, javascript and about:blank addresses " +
		"here, pages of extensions that the profile has installed, and no others"
	notExtended  = "Not allowed: DevTools clients cannot install, remove or work extensions here"
	notInstalled = "Not allowed: DevTools clients cannot install, start or change web apps here: they become programs of the machine's " +
		"user, which run beside the profile's proxy"
	notDialed    = "Not allowed: Chrome would connect to another place, or listen, beside the profile's proxy"
	notWrapped   = "Not allowed: this command is not taken within Target.sendMessageToTarget here: attach with flatten"
	notElsewhere = "Not allowed: every browser context goes through the profile's own proxy here: leave out proxyServer and proxyBypassList"
)

func (x *extensions) addressRefusal(addresses []string) string {
	if slices.ContainsFunc(addresses, func(a string) bool { return !x.mayOpen(a) }) {
		return notOpened
	}
	return ""
}
