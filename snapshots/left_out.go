package snapshots

import (
	"path"
	"slices"
	"strings"
)

// group is a part of the list of what no snapshot keeps: files or folders of these names in these places, for one reason.
type group struct {
	reason  string
	places  []string // folders, as patterns of path.Match; "chrome/**" is every folder below but those with programs of extensions
	names   []string // patterns of path.Match
	folders bool     // whether the names are of folders with all that they hold, not of files
}

// The places of the list. A folder of user data holds one folder for each profile of Chrome, of which a run uses Default. An
// extension with a part of its own lays its pages' data below Storage.
const (
	ofChrome    = "chrome"
	ofProfile   = "chrome/*"
	ofPartition = "chrome/*/Storage/ext/*/*"
	anywhere    = "chrome/**"
)

// notKept is the list. All else is kept: what is not known to be of no use may be what a site or an extension needs. Chrome makes
// each of these anew, or works without. The names are those of Linux, Windows and macOS. Two things that Chrome loads from its
// maker are kept, since runs load no components: dictionaries and WidevineCdm.
//
// A cache is left out only where Chrome lays its own. A folder of the same name elsewhere is of a site or of an extension. A service
// worker without its ScriptCache is unregistered, and its CacheStorage is what a site works with offline.
var notKept = []group{
	{"what pages, scripts and pictures were loaded from; Chrome loads them again", []string{ofChrome, ofProfile, ofPartition},
		[]string{"Cache", "Code Cache", "Media Cache", "Shared Dictionary"}, true},
	{"what the graphics processor's driver compiled; it depends on the machine", []string{ofChrome, ofProfile, ofPartition},
		[]string{"GPUCache", "GPUPersistentCache", "ShaderCache", "GrShaderCache", "DawnCache", "DawnGraphiteCache", "DawnWebGPUCache",
			"GraphiteDawnCache"}, true},
	{"packages that extensions and components were unpacked from", []string{ofChrome},
		[]string{"component_crx_cache", "extensions_crx_cache", "PnaclTranslationCache", "Webstore Downloads"}, true},
	{"packages of extensions that were being unpacked", []string{"chrome/*/Extensions"}, []string{"Temp"}, true},
	{"reports of crashes and counts for Chrome's maker; crashes hold memory of pages", []string{ofChrome},
		[]string{"BrowserMetrics", "DeferredBrowserMetrics", "Crash Reports", "Crashpad", "Local Traces"}, true},
	{"counts for Chrome's maker, and logs", []string{ofChrome}, []string{"*.pma", "chrome_debug.log", "chrome_shutdown_ms.txt"}, false},
	{"lists of dangerous sites, the same for everybody", []string{ofChrome}, []string{"Safe Browsing"}, true},
	{"models and hints of Chrome's optimization guide, up to gigabytes", []string{ofChrome, ofProfile},
		[]string{"optimization_guide_*", "OptimizationGuide*", "OptGuide*", "OptimizationHints", "AutofillAiModelCache"}, true},
	{"components, the same for everybody; Chrome has those of its build without them", []string{ofChrome}, components, true},
	{"Chrome's own copies of before an update; snapshots take their place", []string{ofChrome}, []string{"Snapshots"}, true},
	{"blobs of pages that are gone; Chrome empties it at its start", []string{ofProfile, ofPartition}, []string{"blob_storage"}, true},
	{"pictures of Windows' jump lists; Chrome draws them again", []string{ofProfile}, []string{"JumpListIcons*"}, true},
	{"says which process has the folder open, or had; it is wrong anywhere else", []string{ofChrome},
		[]string{"Singleton*", "lockfile", "RunningChromeVersion", "DevToolsActivePort"}, false},
	{"locks and logs of LevelDB, which it makes anew", []string{anywhere}, []string{"LOCK", "LOG", "LOG.old", "*.dbtmp"}, false},
	{"files that were being written and have no name yet", []string{anywhere},
		[]string{".org.chromium.Chromium.*", ".com.google.Chrome.*"}, false},
	{"files that were being written and have no name yet", []string{ofChrome, ofProfile}, []string{"*.tmp", "*.TMP"}, false},
	{"caches of Chrome's libraries: fonts, shaders, settings of the desktop", []string{"home"},
		[]string{"cache", ".cache", ".fontconfig"}, true},
}

// components are the folders of chrome/browser/component_updater that hold the same for every profile.
var components = []string{
	"ActorSafetyLists", "AmountExtractionHeuristicRegexes", "AutofillStates", "CertificateRevocation", "ClientSidePhishing",
	"CookieReadinessList", "Crowd Deny", "EADPData Component", "FileTypePolicies", "FirstPartySetsPreloaded", "HistorySearch",
	"InterventionPolicyDatabase", "MEIPreload", "MaskedDomainListPreloaded", "OnDeviceHeadSuggestModel", "OriginTrials", "PKIMetadata",
	"PlusAddressBlocklist", "PrivacySandboxAttestationsPreloaded", "ProbabilisticRevealTokenRegistry", "RecoveryImproved", "SODA",
	"SODALanguagePacks", "SSLErrorAssistant", "SafetyTips", "Subresource Filter", "SwReporter", "ThirdPartyModuleList*",
	"TpcdMetadata", "TrustTokenKeyCommitments", "ZxcvbnData", "hyphen-data", "pnacl", "screen_ai",
}

// leftOut is the packs.Filter of profiles' folders.
type leftOut struct{}

// Leaves reports whether a path of a profile's folder is in no snapshot.
func (leftOut) Leaves(at string, isDir bool) bool { return leaveOut(at, isDir) }

// LeavesOut reports whether a file or a folder of a profile's folder, such as chrome/Default/Cache, is of no use elsewhere. Whoever asks
// for a file must have asked for the folders above it.
func LeavesOut(at string, isDir bool) bool { return leaveOut(at, isDir) }

// leaveOut reports whether a snapshot leaves out a file or a folder with all below it. The path is of a profile's folder, with
// slashes, such as chrome/Default/Cache. Whoever walks the folder asks for a folder before what it holds.
func leaveOut(at string, isDir bool) bool {
	dir, name := path.Split(at)
	if dir == "" { // of the profile's folder only what the browser writes is kept
		return !isDir || name != "chrome" && name != "home"
	}
	dir = strings.TrimSuffix(dir, "/")
	return slices.ContainsFunc(notKept, func(g group) bool {
		return g.folders == isDir && anyMatches(g.names, name) && slices.ContainsFunc(g.places, func(place string) bool {
			if place == anywhere {
				return isBelowChrome(dir) && !isOfExtension(dir)
			}
			return matches(place, dir)
		})
	})
}

// matches is path.Match for a pattern of the list, which is well formed.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

func anyMatches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

func isBelowChrome(dir string) bool { return dir == ofChrome || strings.HasPrefix(dir, ofChrome+"/") }

// isOfExtension reports whether a folder holds the program of an extension. Its files are called as its author pleases, and Chrome
// disables it when one is missing.
func isOfExtension(dir string) bool {
	parts := strings.SplitN(dir, "/", 4)
	return len(parts) > 2 && (parts[2] == "Extensions" || parts[2] == "UnpackedExtensions")
}
