package shim

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"warren/browser"
	"warren/browser/builds"
)

// This file is what the server needs to know of the browsers that are there, and of what they leave in a profile.

type (
	// Catalog lists browsers, and remembers what each said of itself.
	Catalog = builds.Catalog
	// Places says where browsers are looked for.
	Places = builds.Places
	// Listed is a browser with where it was found.
	Listed = builds.Listed
)

// FindBrowser finds the browser at path, or with "" the first on PATH and in the usual places. It runs it with --version.
func FindBrowser(ctx context.Context, path string) (Installed, error) { return browser.Find(ctx, path) }

// ChooseBrowser picks the browser that runs a profile of a major version, 0 for none declared; have[0] is the default one. exact says
// that it is of that version.
func ChooseBrowser(have []Listed, major int) (chosen Installed, exact bool) {
	all := make([]Installed, len(have))
	for i, b := range have {
		all[i] = b.Installed
	}
	return builds.Choose(all, major)
}

// LastOpened is the version of the browser that last opened a profile, and its major; "" and 0 when that is not known.
func LastOpened(profileDir string) (version string, major int) {
	return builds.LastOpened(userDataDir(profileDir))
}

// Snapshot copies a profile's user data, without caches, beside it, and returns the copy's folder, which version and the time name. A
// *Failure says that the profile is in use (locked) or that its folder cannot be written; a full disk is syscall.ENOSPC. A copy that
// fails leaves nothing.
func Snapshot(ctx context.Context, profileDir, version string) (string, error) {
	lock := profileLock(profileDir)
	ok, err := lock.TryLock()
	if err == nil && !ok {
		err = &Failure{Kind: "locked", Message: "another run holds the profile's folder"}
	}
	if err != nil {
		return "", err
	}
	name := version + "-" + time.Now().UTC().Format("20060102T150405.000Z")
	path, err := builds.Snapshot(ctx, userDataDir(profileDir), filepath.Join(profileDir, "snapshots"), name)
	if errors.Is(err, fs.ErrPermission) {
		err = &Failure{Kind: "unwritable", Message: err.Error()}
	}
	return path, errors.Join(err, lock.Unlock())
}

// Installation says which build of Chrome for Testing to fetch, from where, and where to put it.
type Installation = builds.Installation

// InstallBrowser fetches a build, checks and unpacks it. fresh is false where it was there already.
func InstallBrowser(ctx context.Context, in Installation) (found Installed, fresh bool, err error) {
	return builds.Install(ctx, in)
}

// RemoveBrowser deletes a build that was installed into folder: what is its version, or a path in it. It says whether there was one.
func RemoveBrowser(folder, what string) (bool, error) { return builds.Remove(folder, what) }
