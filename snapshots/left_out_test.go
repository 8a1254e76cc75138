package snapshots

import (
	"path"
	"testing"
)

// TestLeftOut: each of these paths is left out, or kept, for itself and not for its parent.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]bool{ // an ending slash marks a folder
		"chrome/": false, "home/": false, "files/": true, "snapshots/": true, "stamps": true, ".lock": true, "downloads.json": true,
		"chrome":          true,
		"chrome/Default/": false, "chrome/Default/Cache/": true, "chrome/Default/Code Cache/": true, "chrome/Profile 1/GPUCache/": true,
		"chrome/ShaderCache/": true, "chrome/GraphiteDawnCache/": true, "chrome/component_crx_cache/": true,
		"chrome/extensions_crx_cache/": true, "chrome/BrowserMetrics/": true, "chrome/BrowserMetrics-spare.pma": true,
		"chrome/Crash Reports/": true, "chrome/Crashpad/": true, "chrome/Safe Browsing/": true,
		"chrome/OptimizationGuideModelsManifest/": true,
		"chrome/optimization_guide_model_store/":  true, "chrome/OptGuideOnDeviceModel/": true, "chrome/hyphen-data/": true,
		"chrome/SingletonLock": true, "chrome/SingletonSocket": true, "chrome/lockfile": true, "chrome/Default/LOCK": true,
		"chrome/Default/LOG.old": true, "chrome/Default/Session Storage/LOG": true,
		"chrome/Default/IndexedDB/https_a.test_0.indexeddb.leveldb/LOCK": true, "chrome/Default/.org.chromium.Chromium.aB3x": true,
		"chrome/Local State.123.tmp": true, "chrome/Default/Storage/ext/abc/def/Cache/": true, "home/cache/": true, "home/.cache/": true,

		"chrome/Last Version": false, "chrome/Local State": false, "chrome/Default/Preferences": false,
		"chrome/Default/Secure Preferences": false,
		"chrome/Default/Cookies":            false, "chrome/Default/Network/": false, "chrome/Default/Network/Cookies": false,
		"chrome/Default/Login Data": false, "chrome/Default/Login Data-journal": false, "chrome/Default/History": false,
		"chrome/Default/Sessions/": false, "chrome/Default/Sessions/Session_1": false, "chrome/Default/Sessions_Encrypted/": false,
		"chrome/Default/Local Storage/leveldb/000003.log": false, "chrome/Default/Local Storage/leveldb/CURRENT": false,
		"chrome/Default/Session Storage/000005.ldb": false, "chrome/Default/IndexedDB/": false, "chrome/Default/WebStorage/": false,
		"chrome/Default/File System/": false, "chrome/Default/Local Extension Settings/": false, "chrome/Default/GCM Store/": false,
		"chrome/Default/Service Worker/": false, "chrome/Default/Service Worker/ScriptCache/": false,
		"chrome/Default/Service Worker/CacheStorage/": false, "chrome/Default/Service Worker/Cache/": false,
		"chrome/Default/WebStorage/1/CacheStorage/": false, "chrome/NativeMessagingHosts/": false, "chrome/Default/Extensions/": false,
		"chrome/Default/Extensions/abc/1.0_0/Cache/": false, "chrome/Default/Extensions/abc/1.0_0/LOG": false,
		"chrome/Default/Extensions/abc/1.0_0/a.tmp": false, "chrome/Default/UnpackedExtensions/abc/LOCK": false,
		"chrome/Default/Extensions/Temp/": true, "chrome/Default/Storage/ext/abc/def/IndexedDB/": false,
		"chrome/WidevineCdm/": false, "chrome/Dictionaries/": false, "chrome/Default/Cache": false, "chrome/Cookies.tmp/": false,
		"home/data/pki/": false, "home/.pki/": false, "home/config/": false, "home/data/LOG": false,
	} {
		isDir := at[len(at)-1] == '/'
		if got := leaveOut(path.Clean(at), isDir); got != want {
			t.Errorf("%q is left out: %v, want %v", at, got, want)
		}
	}
	for _, g := range notKept {
		for _, pattern := range append(g.places, g.names...) {
			if _, err := path.Match(pattern, "x"); err != nil || g.reason == "" {
				t.Errorf("%q is no pattern, or has no reason: %v", pattern, err)
			}
		}
	}
}

// BenchmarkLeftOut is a walk's part of the work for one file.
func BenchmarkLeftOut(b *testing.B) {
	for b.Loop() {
		leaveOut("chrome/Default/IndexedDB/https_a.test_0.indexeddb.leveldb/000005.ldb", false)
	}
}
