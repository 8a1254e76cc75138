package extensions

import (
	"fmt"
	"slices"
	"strings"
)

// Says in words what an extension may do, for who decides about it. The permissions are those of
// developer.chrome.com/docs/extensions/reference/permissions-list.

// Words returns what an extension with these permissions and hosts may do, each once. What grants nothing by itself is left out.
func Words(permissions, hosts []string) []string {
	out := HostWords(hosts)
	for _, p := range permissions {
		text := wordsOf(p)
		if text == "" && strings.Contains(p, "://") || p == "<all_urls>" { // older manifests have hosts here
			out = append(out, HostWords([]string{p})...)
		} else if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// HostWords returns what patterns of pages mean (developer.chrome.com/docs/extensions/develop/concepts/match-patterns), each once.
func HostWords(patterns []string) []string {
	out := []string{}
	for _, pattern := range patterns {
		text := hostWords(pattern)
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

const everySite = "Read and change everything on every page"

func hostWords(pattern string) string {
	scheme, rest, _ := strings.Cut(pattern, "://")
	host, _, _ := strings.Cut(rest, "/")
	switch {
	case scheme == "file":
		return "Read files of this machine: it asks for that, and does not get it here"
	case pattern == "<all_urls>" || host == "*" || host == "":
		return everySite
	case strings.HasPrefix(host, "*."):
		return fmt.Sprintf("Read and change everything on %s and the sites below it", host[2:])
	}
	return "Read and change everything on " + host
}

// wordsOf returns what a permission means, "" for one that by itself gives nothing of the user's. It reads best as one table.
func wordsOf(permission string) string {
	switch permission {
	case "activeTab", "alarms", "storage", "unlimitedStorage", "scripting", "contextMenus", "offscreen", "sidePanel", "favicon", "idle",
		"power", "system.cpu", "system.memory", "system.display", "tts", "wallpaper", "declarativeContent", "fontSettings", "dns", "gcm",
		"commands", "menus":
		return ""
	case "background":
		return "Keep running while the browser runs"
	case "bookmarks":
		return "Read and change bookmarks"
	case "browsingData":
		return "Delete cookies, history and other data of the browser"
	case "clipboardRead":
		return "Read what is copied and pasted"
	case "clipboardWrite":
		return "Change what is copied and pasted"
	case "contentSettings":
		return "Change what sites may do: scripts, cookies, camera, microphone, position"
	case "cookies":
		return "Read and change the cookies of the sites that it may read"
	case "debugger":
		return "Use the DevTools of every page: see and change all that happens there"
	case "declarativeNetRequest", "declarativeNetRequestWithHostAccess":
		return "Block and redirect requests of pages"
	case "declarativeNetRequestFeedback", "webNavigation":
		return "See which pages are opened"
	case "desktopCapture", "tabCapture", "pageCapture":
		return "Record what pages show"
	case "downloads", "downloads.open", "downloads.ui", "downloads.shelf":
		return "Download files, and see and change downloads"
	case "geolocation":
		return "Read the position"
	case "history", "topSites", "sessions":
		return "Read and change the history"
	case "identity", "identity.email":
		return "Know the account that the browser is signed in with"
	case "management":
		return "See and switch other extensions"
	case "nativeMessaging":
		return "Talk to programs of this machine that are registered for it"
	case "notifications":
		return "Show notifications"
	case "privacy":
		return "Change the browser's settings of privacy"
	case "proxy":
		return "Change the browser's proxy: runs stay behind their own, and pages load no more"
	case "readingList":
		return "Read and change the reading list"
	case "tabs", "tabGroups":
		return "See the addresses and titles of all tabs"
	case "webRequest", "webRequestBlocking", "webRequestAuthProvider":
		return "See the requests of the pages that it may read"
	}
	if strings.Contains(permission, "://") || permission == "<all_urls>" {
		return ""
	}
	return "Use " + cut(permission)
}
