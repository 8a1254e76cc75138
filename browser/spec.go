package browser

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"warren/state"
)

// Spec describes a run. Of its values only the folders' paths, the key's hash and Args appear on Chrome's command line.
type Spec struct {
	// Path is the browser's program. Product and Version are those of Find; without a version pages see the browser's own user agent.
	Path, Product, Version string
	// UserDataDir is the profile's folder, an absolute path. The caller holds the profile's lock.
	UserDataDir string
	// TempDir is Chrome's folder for temporary files, an absolute and short path, since Chrome makes a unix socket in it. It belongs to the
	// run alone: it is emptied before the start and removed after the end.
	TempDir string
	// Headless runs without windows.
	Headless bool
	// Identity is what pages see of system, version, time zone, languages, position and screen. The zero value is the host's own.
	Identity Identity
	// WebRTC is what pages may do with WebRTC; "" is WebRTCProxyOnly.
	WebRTC WebRTC
	// Network is the required network isolation, InNamespace or OnLoopback; "" is the best one available.
	Network string
	// Spare is a network namespace for the run that is there already; nil: one is made. Open takes it over in any case.
	Spare *SpareNetwork
	// FilesDir is the run's own folder for uploads and downloads of clients, an absolute path; "": none. Clients that may not use files of
	// this machine get only files of this folder. The caller creates it, with "downloads" and "uploads" in it.
	FilesDir string
	// FilesQuota is how many bytes FilesDir may hold; 0: no quota. Downloads that would exceed it are cancelled.
	FilesQuota int64
	// HomeDir is the folder for caches and settings of Chrome and its libraries (XDG_CACHE_HOME and the like), an absolute path; "": the
	// user's own home. The caller creates it.
	HomeDir string
	// Protected are folders and files that DevTools clients must not reach. In a mount namespace they do not exist; without one, commands
	// that refer to them are refused. Siblings are prefixes of the paths of further ones, which come and go. TempDir is exempt.
	Protected, Siblings []string
	// Hidden are further folders that do not exist in a mount namespace. The run's own folders do exist, even within hidden or protected
	// ones.
	Hidden []string
	// ReadOnly lets a run with a mount namespace write only its own folders and those of Writable, which must exist.
	ReadOnly bool
	Writable []string
	// Files is the required isolation of files, FilesInNamespace or FilesByGuard; "" is the best one available.
	Files string
	// TrustSPKI is the base64 SHA-256 of the one public key whose certificates need no authority: that of a site of our own.
	TrustSPKI string
	// Resolver is the URL template of a DNS-over-HTTPS server (RFC 8484), which Chrome asks beside its proxy; "": none.
	Resolver string
	// Args are further switches of Chrome, which CheckArguments allows.
	Args []string
	// Cookies are set before any page loads, for a profile whose own file of them is lost; nil: none.
	Cookies []state.Cookie
	// Passkeys gives pages authenticators with the passkeys of Credentials; "": none.
	Passkeys    PasskeyMode
	Credentials []state.Credential
	// Offline is a run without a network, for the profile's state alone. Listener is closed. No tab is restored, and the tabs of the last
	// session stay for the next run.
	Offline bool
	// Extensions are loaded before any page loads. They get no files of this machine, whatever they ask for.
	Extensions []Extension
	// Clear is what an offline run clears; nil: nothing.
	Clear *ClearOptions
	// Group is the control group that Chrome runs in, from its first instruction; nil: none.
	Group Group
	// Logger gets the log; nil: nothing is logged.
	Logger *slog.Logger
	// ExtraEnv is added to Chrome's environment as "KEY=value", and replaces what is there.
	ExtraEnv []string
}

// Group is a control group.
type Group interface {
	// Add moves a process into the group.
	Add(pid int) error
	// Enter moves this process into the group, and leave back again.
	Enter() (leave func() error, err error)
	// Freeze stops its processes where they are, until Thaw.
	Freeze() error
	Thaw() error
}

// Extension is an unpacked extension of a run.
type Extension struct {
	ID   string // Chrome's: 32 letters, which follow from the key in the manifest
	Path string // of its folder, an absolute path. The run cannot write it, unless it lies in a folder of its own.
	// Confined extensions may choose another way out: they change the proxy, or talk to programs of the machine. A run without a network
	// namespace refuses them.
	Confined bool
}

// check returns what is wrong with an extension.
func (e Extension) check() error {
	if len(e.ID) != 32 || strings.Trim(e.ID, "abcdefghijklmnop") != "" || !filepath.IsAbs(e.Path) ||
		strings.ContainsFunc(e.Path, unicode.IsControl) {
		return fmt.Errorf("an extension must have Chrome's id and an absolute path: %q %q", e.ID, e.Path)
	}
	return nil
}

// check returns what is wrong with a spec.
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
		return fmt.Errorf("the temporary folder's path is too long: %d bytes, at most %d for Chrome's socket: %s", len(s.TempDir),
			maxTempDir, s.TempDir)
	case within(s.UserDataDir, s.TempDir) || within(os.TempDir(), s.TempDir):
		return fmt.Errorf("the temporary folder must be one of its own: %s", s.TempDir)
	case s.Version == "" && (s.Identity.OS != "" || s.Identity.Version != ""):
		return errors.New("a system or version is declared, and what the browser is was not told")
	}
	var wrong error
	for _, e := range s.Extensions {
		wrong = errors.Join(wrong, e.check())
	}
	for _, f := range CheckArguments(s.Args) {
		wrong = errors.Join(wrong, errors.New(f.Message))
	}
	return errors.Join(wrong, s.Identity.check())
}

// ownFolders returns the folders that the run writes.
func (s *Spec) ownFolders() (out []string) {
	for _, dir := range []string{s.UserDataDir, s.TempDir, s.FilesDir, s.HomeDir} {
		if dir != "" {
			out = append(out, dir)
		}
	}
	return out
}

// installed returns the browser as it was found.
func (s *Spec) installed() Installed {
	return Installed{Path: s.Path, Product: s.Product, Version: s.Version, Major: majorOf(s.Version)}
}

// profileFolder is the Chrome profile that a run uses within a folder of user data.
const profileFolder = "Default"

// WebRTC is what pages may do with WebRTC.
type WebRTC string

// The values of WebRTC.
const (
	WebRTCProxyOnly WebRTC = "proxy_only" // only TURN over TCP through the relay (Chromium, WebRtcIPHandling: disable_non_proxied_udp)
	WebRTCOff       WebRTC = "off"        // there is no RTCPeerConnection
	// Chrome's default: UDP to any address, beside the relay; such a run cannot use a network namespace
	WebRTCDefault WebRTC = "default"
)

// webrtcPolicy restricts WebRTC to proxied connections, without UDP beside the relay (Chromium, WebRtcIPHandling).
const webrtcPolicy = "disable_non_proxied_udp"
