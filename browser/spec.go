package browser

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Spec is what a run is made of. No value of it but the folders' paths and the key's hash gets on Chrome's command line.
type Spec struct {
	// Path is the browser's program, Product and Version what it is, as Find gives them. Without a version nothing can be told of it, and pages see the
	// browser's own words.
	Path, Product, Version string
	// UserDataDir is the profile's folder, an absolute path. The caller holds the profile's lock.
	UserDataDir string
	// TempDir is Chrome's folder for temporary files, an absolute and short path (Chrome makes a unix socket in it). It is the run's alone:
	// emptied before the start and removed after the end.
	TempDir string
	// Headless runs without windows.
	Headless bool
	// Identity is what pages are told of system, version, time zone, languages, position and screen; the zero value is the host's own.
	Identity Identity
	// WebRTC says what pages may do with it; "" is WebRTCProxyOnly.
	WebRTC WebRTC
	// Network is the isolation that the run must have, InNamespace or OnLoopback; "" is the best that there is.
	Network string
	// FilesDir is the run's own folder for what clients upload and download, an absolute path: the one place whose files a client gets at that may not
	// use those of the machine. The caller makes it, with "downloads" and "uploads" in it. "" is none.
	FilesDir string
	// FilesQuota is how many bytes may lie in FilesDir: downloads that have no room are cancelled. 0 is no quota.
	FilesQuota int64
	// HomeDir is the folder for what Chrome and its libraries keep in a user's home beside the profile: caches and settings (XDG_CACHE_HOME and the
	// like), an absolute path. The caller makes it. "" is the user's own home.
	HomeDir string
	// Protected are folders and files that are closed to DevTools clients: without a mount namespace commands that lead to them are refused, and in one
	// they are not there. Siblings are what the paths of further ones begin with, which come and go; TempDir is none of them.
	Protected, Siblings []string
	// Hidden are further folders that are not there in a mount namespace. The run's own folders are, also where they lie in these or in protected ones.
	Hidden []string
	// ReadOnly keeps a run with a mount namespace from writing anything but its own folders and those of Writable, which are there.
	ReadOnly bool
	Writable []string
	// Files is the isolation of files that the run must have, FilesInNamespace or FilesByGuard; "" is the best that there is.
	Files string
	// TrustSPKI is the base64 SHA-256 of the one public key whose certificates need no signature of an authority: that of a site of our own.
	TrustSPKI string
	// Resolver is a name server over HTTPS (the template of its URL, RFC 8484) that Chrome is to ask, and asks beside its proxy; "" is none.
	Resolver string
	// Logger gets what happens; nil: nothing is logged.
	Logger *slog.Logger
	// ExtraEnv is added to Chrome's environment, as "KEY=value". It replaces what is there.
	ExtraEnv []string
}

// check says what is wrong with a spec.
func (s Spec) check() error {
	switch {
	case s.Path == "":
		return errors.New("no browser is given")
	case s.UserDataDir == "" || s.TempDir == "":
		return errors.New("the profile's and the temporary folder must be given")
	case slices.ContainsFunc(s.ownFolders(), func(dir string) bool { return !filepath.IsAbs(dir) }):
		return errors.New("the run's own folders must be absolute paths")
	case strings.ContainsFunc(s.UserDataDir+s.TempDir, unicode.IsControl):
		return errors.New("the profile's and the temporary folder must have no control characters in their paths")
	case len(s.TempDir) > maxTempDir:
		return fmt.Errorf("the temporary folder's path is too long: %d bytes, at most %d for Chrome's socket: %s", len(s.TempDir), maxTempDir, s.TempDir)
	case within(s.UserDataDir, s.TempDir) || within(os.TempDir(), s.TempDir):
		return fmt.Errorf("the temporary folder must be one of its own: %s", s.TempDir)
	case s.Version == "" && (s.Identity.OS != "" || s.Identity.Version != ""):
		return errors.New("a system or version is declared, and what the browser is was not told")
	}
	return s.Identity.check()
}

// ownFolders are the folders that the run writes, wherever they lie.
func (s *Spec) ownFolders() (out []string) {
	for _, dir := range []string{s.UserDataDir, s.TempDir, s.FilesDir, s.HomeDir} {
		if dir != "" {
			out = append(out, dir)
		}
	}
	return out
}

// installed is the browser as it was found.
func (s *Spec) installed() Installed {
	major, _, _ := strings.Cut(s.Version, ".")
	n, _ := strconv.Atoi(major)
	return Installed{Path: s.Path, Product: s.Product, Version: s.Version, Major: n}
}

// profileFolder is the one of the Chrome profiles in a user-data folder that a run uses.
const profileFolder = "Default"
