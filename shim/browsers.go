package shim

import (
	"context"
	"errors"
	"io/fs"

	"warren/browser"
	"warren/browser/builds"
)

// Tells the server which browsers are installed and what they leave in a profile folder.

type (
	// Catalog lists installed browsers and caches what each reports about itself.
	Catalog = builds.Catalog
	// Places lists the locations in which browsers are looked for.
	Places = builds.Places
	// Listed is a browser together with the location it was found in.
	Listed = builds.Listed
)

// FindBrowser finds the browser at path. With path "" it takes the first on PATH or in the usual places. It runs the
// browser with --version.
func FindBrowser(ctx context.Context, path string) (Installed, error) { return browser.Find(ctx, path) }

// ChooseBrowser picks the browser that runs a profile of a declared major version, 0 for none declared. have[0] is
// the default. exact reports whether the chosen browser has that version.
func ChooseBrowser(have []Listed, major int) (chosen Installed, exact bool) {
	all := make([]Installed, len(have))
	for i, b := range have {
		all[i] = b.Installed
	}
	return builds.Choose(all, major)
}

// LastOpened returns the version of the browser that last opened a profile, and its major. Unknown is "" and 0.
func LastOpened(profileDir string) (version string, major int) {
	return builds.LastOpened(userDataDir(profileDir))
}

// LockFolder takes the lock of a profile's folder, which each run's process holds until it exits. A *Failure says that a run has
// the folder (locked), or that it cannot be written.
func LockFolder(profileDir string) (unlock func(), err error) {
	lock := profileLock(profileDir)
	ok, err := lock.TryLock()
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, &Failure{Kind: "unwritable", Message: err.Error()}
	case err != nil:
		return nil, err
	case !ok:
		return nil, &Failure{Kind: "locked", Message: "another run holds the profile's folder"}
	}
	return func() { lock.Unlock() }, nil //nolint:errcheck // closing the file unlocks it too
}

type (
	// Installation says which build of Chrome for Testing to download, from where, and into which folder.
	Installation = builds.Installation
	// InstallProgress says how far an installation is.
	InstallProgress = builds.Progress
	// InstallFailure is an installation that failed for a reason with a remedy of its own.
	InstallFailure = builds.Failure
)

// The steps of an installation, the reasons for which one fails, and the source of what was installed.
const (
	Looking     = builds.Looking
	Downloading = builds.Downloading
	Unpacking   = builds.Unpacking
	Checking    = builds.Checking

	MirrorUnreachable = builds.Unreachable
	NoBuild           = builds.NoBuild
	DownloadUntrusted = builds.Untrusted
	BuildUnusable     = builds.Unusable

	SourceInstalled = builds.SourceInstalled
)

// IsBuildVersion reports whether InstallBrowser takes a version: a major, or all four numbers.
func IsBuildVersion(version string) bool { return builds.IsVersion(version) }

// CheckMirror returns an error unless builds may be downloaded from an address; "" is Chrome for Testing's own.
func CheckMirror(address string) error { return builds.CheckMirror(address) }

// InstallBrowser downloads, verifies and unpacks a build. fresh is false if the build was already installed.
func InstallBrowser(ctx context.Context, in Installation) (found Installed, fresh bool, err error) {
	return builds.Install(ctx, in)
}

// RemoveBrowser deletes a build that was installed into folder. what is its version, or a path inside it. The result
// reports whether there was such a build.
func RemoveBrowser(folder, what string) (bool, error) { return builds.Remove(folder, what) }
