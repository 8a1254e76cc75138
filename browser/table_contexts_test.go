//go:build linux

package browser

import (
	"slices"
	"strings"
)

// tableContext is a place where a site's code runs, or for which a request is made: a row of TestIdentityTable.
type tableContext struct {
	name   string
	class  string
	silent bool // it cannot report
	plain  bool // it uses http, even in a round over https
}

// Classes of contexts.
const (
	classPage      = "page"      // a tab's own document
	classFrame     = "frame"     // a frame with an address and an origin of its own
	classHeir      = "heir"      // a document without an address: it has its creator's origin
	classOpaque    = "opaque"    // a document without an origin
	classOpaqueURL = "data"      // the same without an address
	classWorker    = "worker"    // any worker with a script
	classBlob      = "blob"      // a worker whose script is in memory
	classAudio     = "audio"     // an audio worklet
	classPaint     = "paint"     // a paint worklet
	classBack      = "back"      // a page that is shown again without being loaded
	classInside    = "inside"    // Chrome's own document: a site cannot run code there, DevTools can
	classExtPage   = "extpage"   // an extension's page
	classExtWorker = "extworker" // an extension's service worker
	classRequest   = "request"   // no context: a request that is made in another way
	classContent   = "content"   // an extension's script in a site's page
)

// tableContexts returns the rows of the table.
func tableContexts() []tableContext {
	all := []tableContext{
		{name: "page", class: classPage},
		{name: "page-http", class: classPage, plain: true},
		{name: "iframe-same", class: classFrame}, {name: "iframe-cross", class: classFrame}, {name: "iframe-nested", class: classFrame},
		{name: "iframe-srcdoc", class: classHeir}, {name: "iframe-blank", class: classHeir},
		{name: "iframe-sandbox", class: classOpaque}, {name: "iframe-data", class: classOpaqueURL},
		{name: "worker-cross", class: classWorker}, {name: "worker", class: classWorker}, {name: "worker-nested", class: classWorker},
		{name: "worker-module", class: classWorker}, {name: "worker-blob", class: classBlob},
		{name: "worker-shared", class: classWorker}, {name: "worker-service", class: classWorker},
		{name: "worklet-audio", class: classAudio}, {name: "worklet-paint", class: classPaint, silent: true},
		{name: "popup", class: classPage}, {name: "popup-blank", class: classHeir}, {name: "popup-cross", class: classPage},
		{name: "popup-window", class: classPage},
		{name: "popup-noopener", class: classPage}, {name: "popup-redirect", class: classPage}, {name: "popup-form", class: classPage},
		{name: "link-blank", class: classPage}, {name: "link-opener", class: classPage},
		{name: "prerender", class: classPage}, {name: "bfcache", class: classBack}, {name: "critical", class: classPage},
		{name: "crashed", class: classPage}, {name: "error", class: classInside}, {name: "pdf", class: classInside},
		{name: "pdf-viewer", class: classInside},
		{name: "tab-raw", class: classPage}, {name: "tab-http", class: classPage}, {name: "tab-playwright", class: classPage},
		{name: "tab-puppeteer", class: classPage},
		{name: "tab-private", class: classPage},
		{name: "playwright", class: classPage}, {name: "puppeteer", class: classPage},
		{name: "extension-page", class: classExtPage}, {name: "extension-worker", class: classExtWorker},
		{name: "extension-content", class: classContent},
		{name: "restored", class: classPage},
	}
	for _, name := range []string{"events", "video", "font", "prefetch", "icon", "later", "redirect", "report"} {
		all = append(all, tableContext{name: "request-" + name, class: classRequest, silent: true})
	}
	return all
}

func contextNamed(name string) tableContext {
	for _, c := range tableContexts() {
		if c.name == name {
			return c
		}
	}
	return tableContext{name: name, class: "other"}
}

// requests returns the kinds of request that a context makes.
func (c tableContext) requests() []string {
	switch c.class {
	case classPage:
		return requestKinds()
	case classFrame:
		return []string{"first", "sub", "fetch", "worker", "ws", "beacon", "download"}
	case classHeir:
		return []string{"sub", "fetch", "worker", "ws", "beacon"}
	case classOpaque:
		return []string{"first", "sub", "fetch", "ws", "beacon"}
	case classOpaqueURL, classBlob:
		return []string{"sub", "fetch", "ws"}
	case classWorker:
		return []string{"first", "sub", "fetch", "ws"}
	case classBack:
		return []string{"sub", "fetch", "worker", "ws", "beacon", "download"}
	case classExtPage, classExtWorker:
		return []string{"fetch", "ws"}
	case classAudio, classPaint, classRequest:
		return []string{"first"}
	case classInside:
		if c.name != "pdf-viewer" {
			return []string{"first"}
		}
	}
	return nil
}

// document reports whether the context has a document.
func (c tableContext) document() bool {
	return !slices.Contains([]string{classWorker, classBlob, classAudio, classPaint, classExtWorker, classRequest}, c.class)
}

// lacks returns why a context cannot have a property, "" if it can.
func (c tableContext) lacks(property, scheme string) string {
	if kind, _, isHead := strings.Cut(property, ":"); isHead {
		if !slices.Contains(c.requests(), kind) {
			return "there is no such request"
		}
		return ""
	}
	if c.class == classRequest {
		return "it is a request alone"
	}
	secure := scheme == "https" && !c.plain
	switch property {
	case "zone", "dates", "locale":
		if c.class == classPaint {
			return "a paint worklet has no way to tell"
		}
		return ""
	}
	switch {
	case c.class == classAudio, c.class == classPaint:
		return "a worklet has no navigator"
	case slices.Contains([]string{"position", "screen", "sizes", "dpr", "webrtc"}, property):
		return c.lacksScreen(property, secure)
	case (property == "low" || property == "high") && (!secure && c.class != classExtPage && c.class != classExtWorker || c.insecure()):
		return "userAgentData is for secure contexts"
	case property == "high" && c.class == classInside:
		return "only what needs no waiting is asked here"
	}
	return ""
}

func (c tableContext) insecure() bool { return c.name == "error" || c.class == classOpaqueURL }

func (c tableContext) lacksScreen(property string, secure bool) string {
	switch {
	case !c.document():
		return "a worker has none"
	case property == "position" && !secure:
		return "positions are for secure contexts"
	case property == "position" && (c.class == classOpaque || c.class == classOpaqueURL):
		return "a document without an origin has no permissions"
	case property == "position" && (c.class == classExtPage || c.class == classContent), property == "webrtc" && c.class == classContent:
		return "the extension's permissions are its own"
	case (property == "position" || property == "webrtc") && c.class == classInside:
		return "only what needs no waiting is asked here"
	}
	return ""
}

func (c tableContext) lacksFor(property, scheme string) bool { return c.lacks(property, scheme) != "" }
