// Package userdata takes profiles out of a folder of Chrome's user data, and packs such a folder for the way to a server. What it reads
// may be made by a stranger: no name leads out of a folder, no link is followed, and sizes are bounded.
package userdata

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"warren/snapshots"
)

// Profile is a profile of Chrome that was unpacked.
type Profile struct {
	Folder  string // its name in the user data, such as Default or Profile 1
	Name    string // as Chrome shows it
	Version string // of the browser that last opened it; "": not known
	Dir     string // a folder of user data that has this profile alone, as Default
	Files   int
	Bytes   int64
	System  string // linux, windows or darwin, by what seals the cookies; "": not known
	Cookies Cookies
}

// Cookies counts the cookies of a profile.
type Cookies struct {
	All    int
	Sealed int // that cannot be opened here: a keyring, a keychain or Windows has their key
}

// Refusal says why a file or a folder is not taken.
type Refusal struct{ Message string }

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

func refuse(message string) error { return &Refusal{message} }

// Names of Chrome's files.
const (
	preferences = "Preferences"
	localState  = "Local State"
	lastVersion = "Last Version"
	own         = "Default" // the folder of the only profile, where a run looks for it
)

// notProfiles are folders of Chrome's own.
var notProfiles = []string{"System Profile", "Guest Profile"}

// leavesOut reports whether a file of a profile, or a folder above it, is of no use elsewhere. rel is of the profile's folder.
func leavesOut(rel string, isDir bool) bool {
	parts := strings.Split(rel, "/")
	for i := range parts {
		at := path.Join("chrome", own, path.Join(parts[:i+1]...))
		if snapshots.LeavesOut(at, isDir || i < len(parts)-1) {
			return true
		}
	}
	return false
}

// isRunning reports whether a file at the top of the user data says that a Chrome has the folder open.
func isRunning(name string) bool {
	return slices.Contains([]string{"SingletonLock", "SingletonSocket", "lockfile"}, name)
}

const running = "A Chrome has the folder open, or ended in a crash: "

var versions = regexp.MustCompile(`^\d{1,4}(\.\d{1,6}){0,3}$`)

// versionOf returns the content of Last Version; "" if it is none.
func versionOf(text []byte) string {
	if v := strings.TrimSpace(string(text)); versions.MatchString(v) {
		return v
	}
	return ""
}

// state is what is read of Local State.
type state struct {
	Profile struct {
		Info map[string]struct {
			Name string `json:"name"`
		} `json:"info_cache"`
	} `json:"profile"`
	Crypt struct {
		Key string `json:"encrypted_key"`
	} `json:"os_crypt"`
}

// stateOf reads Local State; one that cannot be read says nothing.
func stateOf(text []byte) (s state) {
	if json.Unmarshal(text, &s) != nil {
		return state{}
	}
	return s
}
