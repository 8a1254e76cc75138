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

// guard keeps clients of the gateway away from files that are not theirs. Chrome runs as the server's user, and a DevTools client may
// have it open file: addresses and hand any file to a page. Opening is refused altogether. Handed over, which is how uploads are driven, are files of the
// run's own folder, and to who may use files of the machine others too, but those of the protected folders. The run's own commands do not come by here.
type guard struct {
	machineFiles bool     // the client may use files of the machine
	ownFolder    string   // the run's own folder; "" none
	ownPaths     []string // the ways to it that closedPreferences knows
	folders      []string // protected
	siblings     []string // what the paths of further ones begin with
	cwd          string   // Chrome's working folder, from which it takes relative paths, and the run's temporary one: no sibling

	headful      bool         // a person may be there
	extensions   *extensions  // whose pages may be opened
	filesDropped *atomic.Bool // set when a client has dragged files to a page; nil: nobody asks
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

// resolveAll follows links in paths, as far as that can be done.
func (g *guard) resolveAll(paths []string) (out []string) {
	for _, p := range paths {
		if real, known := realPath(p, g.cwd); known {
			p = real
		}
		out = append(out, p)
	}
	return out
}

// forClient is the guard for a client, which may use files of the machine or not.
func (g *guard) forClient(files bool) *guard {
	its := *g
	its.machineFiles = files
	return &its
}

const (
	notShared = "Not allowed: the path lies in, or leads to, a folder that is closed to DevTools clients"
	notHere   = "Not allowed: this command gives a way to DevTools that is closed to clients here"
	notYours  = "Not allowed: files of this machine are for keys with the scope files. Send the file with PUT /api/v1/profiles/ID/uploads/NAME and name the path in its answer, or use such a key"
	// Chrome ends a page that has such a file a second later, when it notes the page's state (bad_message.h, RFH_CAN_ACCESS_FILES_OF_PAGE_STATE).
	notPlain  = "Not allowed: the path goes through .., and Chrome would end the page for it. Name the file without"
	tooNested = "Not allowed: messages within messages nest too deep"
	notWhole  = "Not allowed: at a browser with windows this would be of a person's pages too. Send it to a page's session"
)

// maxNested is how many messages may lie within each other (Target.sendMessageToTarget).
const maxNested = 4

// refusal says why Chrome is not asked to carry out a client's command, "" when it is. A guard that is nil refuses nothing.
func (g *guard) refusal(method string, params []byte) string {
	if g == nil {
		return ""
	}
	return g.check(method, params, 0)
}

// check reads every value of a member that stands more than once: which one Chrome would take is not ours to guess.
func (g *guard) check(method string, params []byte, depth int) string {
	if why := g.extensions.refusal(method, params, depth > 0); why != "" {
		return why
	}
	switch method {
	case "DOM.setFileInputFiles", "Page.handleFileChooser": // the last is an older Chrome's
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
			return notYours
		}
	case "Browser.setDownloadBehavior", "Page.setDownloadBehavior":
		return g.folderRefusal(texts(members(params)["downloadPath"]))
	case "Target.sendMessageToTarget":
		return g.checkNested(texts(members(params)["message"]), depth+1)
	case "Page.startScreenRecording":
		for _, area := range members(params)["captureArea"] {
			if string(area) != `"target"` { // the window shows other tabs too
				return notHere
			}
		}
	case "Target.exposeDevToolsProtocol", "Target.openDevTools", "Browser.executeBrowserCommand": // past this guard, or to pages of Chrome's own
		return notHere
	case "Browser.crash", "Browser.crashGpuProcess": // as Browser.close it is no client's to end
		return notHere
	}
	return ""
}

// browserWideRefusal refuses what, on a session of that kind, is of all pages at once: those that are closed to clients too, which a person at the windows may open.
// A browser's session hears of each request of a file's page and answers it, and gets what every page draws. Without windows nobody opens such.
func (g *guard) browserWideRefusal(kind, method string) string {
	if g == nil || !g.headful || kind != "browser" && kind != "tab" && kind != "" {
		return ""
	}
	switch method {
	case "Fetch.enable", "Tracing.start":
		return notWhole
	}
	return ""
}

// checkNested looks at commands that are wrapped in another. What we do not understand whole is refused: Chrome might.
func (g *guard) checkNested(messages []string, depth int) string {
	for _, within := range messages {
		if depth > maxNested {
			return tooNested
		}
		msg := []byte(within)
		e, err := scan(msg, maxDepth)
		if err != nil || !wellFormed(msg) || e.invalid(msg) != "" {
			return "JSON: the message within must be one command in UTF-8"
		}
		method := text(msg, e.method)
		if why := g.browserWideRefusal("", method); why != "" { // nobody knows what session it is for
			return why
		}
		if why := g.check(method, e.params.in(msg), depth); why != "" {
			return why
		}
	}
	return ""
}

// dropRefusal looks at what is dropped on a page: files, and addresses, which Chrome opens where the page does not want them.
func (g *guard) dropRefusal(data map[string][]json.RawMessage) string {
	for _, list := range data["items"] {
		var items []json.RawMessage
		if json.Unmarshal(list, &items) != nil {
			continue
		}
		for _, item := range items {
			is := members(item)
			if !slices.ContainsFunc(texts(is["mimeType"]), func(t string) bool { return strings.Contains(strings.ToLower(t), "uri-list") }) {
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

// fileRefusal lets files of the run's own folder through. Of others it refuses all, or those of the protected folders and folders that hold these: a page that
// is given a folder gets all in it, also what comes later. Between this look and Chrome's use nothing becomes a link: what clients make are plain files.
func (g *guard) fileRefusal(paths []string) string {
	for _, p := range paths {
		real, known := realPath(p, g.cwd)
		if known && g.isOwnPath(p) && liesIn(real, g.ownFolder) {
			continue
		}
		if !g.machineFiles {
			return notYours
		}
		if !known || slices.ContainsFunc(g.folders, func(f string) bool { return liesIn(real, f) || liesIn(f, real) }) || g.isInSibling(real) || g.holdsSiblings(real) {
			return notShared
		}
	}
	if slices.ContainsFunc(paths, func(p string) bool { return slices.Contains(pathSteps(p), "..") }) {
		return notPlain
	}
	return ""
}

// isOwnPath says whether a path is written as one of the run's own folder: another way there Chrome would open as a page where it does not open this one.
func (g *guard) isOwnPath(path string) bool {
	return filepath.Clean(path) == path && slices.ContainsFunc(g.ownPaths, func(o string) bool { return path == o || strings.HasPrefix(path, o+string(filepath.Separator)) })
}

// isInSibling says whether a path lies in one of the folders that come and go.
func (g *guard) isInSibling(real string) bool {
	return slices.ContainsFunc(g.siblings, func(start string) bool {
		parent, name := filepath.Split(start)
		there, err := os.ReadDir(parent)
		if err != nil {
			return !errors.Is(err, fs.ErrNotExist) // then nobody can say
		}
		return slices.ContainsFunc(there, func(e os.DirEntry) bool {
			folder := filepath.Join(parent, e.Name())
			return strings.HasPrefix(e.Name(), name) && !liesIn(g.cwd, folder) && liesIn(real, folder)
		})
	})
}

// holdsSiblings says whether such folders lie below a path, or may come to.
func (g *guard) holdsSiblings(real string) bool {
	return slices.ContainsFunc(g.siblings, func(start string) bool { return liesIn(filepath.Dir(start), real) })
}

// folderRefusal refuses the protected folders as the place for downloads.
func (g *guard) folderRefusal(paths []string) string {
	for _, p := range paths {
		real, known := realPath(p, g.cwd)
		if !known || slices.ContainsFunc(g.folders, func(f string) bool { return liesIn(real, f) }) || g.isInSibling(real) {
			return notShared
		}
	}
	return ""
}
