// Package shim is one run as a process of its own: it owns the run's Chrome, its relay and its profile folder's lock,
// and answers the server over a unix socket in the data folder. A fault of one run cannot touch another, and the server
// may die and come back without a browser noticing (containerd's shims are the model).
//
// This file holds what crosses the socket.
package shim

import (
	"encoding/json"
	"path/filepath"
	"time"
	"unicode/utf8"

	"warren/browser"
	"warren/proxy"
)

// What the server needs to know of a browser; it does not import the package.
type (
	Installed = browser.Installed
	Warning   = browser.Warning
	Bypass    = proxy.Bypass
	Identity  = browser.Identity
	Position  = browser.Geolocation
	Screen    = browser.Screen
)

// The two kinds of isolation that a run can have.
const (
	Namespace = browser.InNamespace
	Loopback  = browser.OnLoopback
)

// Spec is all that a run needs. It goes to the shim's standard input, never to a command line: it holds secrets.
type Spec struct {
	RunID        string        `json:"runId"`
	ProfileID    string        `json:"profileId"`
	BrowserPath  string        `json:"browserPath"`
	Product      string        `json:"product"`    // of the browser, as it was found
	Version      string        `json:"version"`    // of the browser, four numbers
	ProfileDir   string        `json:"profileDir"` // holds the browser's user data in "chrome" and the lock
	RunDir       string        `json:"runDir"`     // holds the socket, the end report and the log
	Name         string        `json:"name"`       // of the run's files in RunDir; short, for a socket's path has 104 bytes at most
	Headless     bool          `json:"headless"`
	StartURLs    []string      `json:"startUrls"`
	Upstream     *Upstream     `json:"upstream"`  // nil: direct
	Fallbacks    []Upstream    `json:"fallbacks"` // used in their order when the upstream is dead
	ForOnce      bool          `json:"forOnce"`   // the upstream is this run's alone, whatever the profile has
	Rules        Rules         `json:"rules"`
	Private      bool          `json:"private"`    // private networks may be reached
	Bypasses     []Bypass      `json:"detours"`    // services of this machine that pages may reach all the same
	Background   bool          `json:"background"` // the services that Chrome asks by itself may be reached
	TrustSPKI    string        `json:"trustSpki"`  // base64 SHA-256 of the one key whose certificates are taken unsigned; "" none
	Resolver     string        `json:"resolver"`   // a name server over HTTPS that the browser is to ask, beside its proxy; "" none
	DebugPort    bool          `json:"debugPort"`
	StarterFiles bool          `json:"starterFiles"` // who starts the run may use files of the machine, and so may who comes by that port
	DebugKey     string        `json:"debugKey"`     // for which key the port is open
	DebugUntil   int64         `json:"debugUntil"`   // Unix ms: when that key expires; 0: it does not
	WebRTC       string        `json:"webrtc"`       // proxy_only, off or default
	Identity     Identity      `json:"identity"`     // what pages are told
	Network      string        `json:"network"`      // the isolation that the run must have, Namespace or Loopback; "" the best that there is
	Files        string        `json:"files"`        // the isolation of files that the run must have, Namespace; "" the best that there is
	Protected    []string      `json:"protected"`    // folders and files that the run does not see, and no DevTools client gets at
	ReadOnly     bool          `json:"readOnly"`     // the run writes its own folders alone, and those of Writable
	Writable     []string      `json:"writable"`     // further folders that a ReadOnly run writes
	FilesQuota   int64         `json:"filesQuota"`   // bytes that uploads and downloads may have together; 0: no quota
	Timeout      time.Duration `json:"timeout"`      // until the browser takes commands
	Grace        time.Duration `json:"grace"`        // how long to go on without a server
	MaxRun       time.Duration `json:"maxRun"`       // 0: no limit
	Idle         time.Duration `json:"idle"`         // how long to go on when nobody uses it; 0: no limit
}

// Rights is what a client of a run may do.
type Rights struct {
	Readonly bool `json:"readonly"` // it watches the live view, and does nothing else
	Files    bool `json:"files"`    // it may use files of the machine, and not those of the run's own folder alone
}

// homeDir is the folder for what the browser's libraries would keep in the user's home: caches and settings.
func homeDir(profileDir string) string { return filepath.Join(profileDir, "home") }

// FilesDir is the run's own folder for what clients upload and download, in "uploads" and "downloads". It is emptied when the profile starts.
func FilesDir(profileDir string) string { return filepath.Join(profileDir, "files") }

// Capability opens a run without a key: who shows a secret with this hash gets in, with these rights. It was made for a key, and ends with that.
type Capability struct {
	ID   string `json:"id"`
	Hash []byte `json:"hash"` // SHA-256 of the secret
	// Secret is that of the one that start answers a key, so that the next server answers the same; of others it is nowhere.
	Secret string `json:"secret,omitempty"`
	Key    string `json:"key"` // which one it was made for
	Name   string `json:"name"`
	Rights
	CreatedAt int64 `json:"createdAt"` // milliseconds since 1970
	ExpiresAt int64 `json:"expiresAt"` // as CreatedAt; 0: it ends with the run
}

// Upstream is a proxy with its password: the one form in which it is written out, and only to the shim.
type Upstream struct {
	ID       string     `json:"id"`
	Revision int64      `json:"revision"`
	Type     proxy.Type `json:"type"`
	Host     string     `json:"host"`
	Port     int        `json:"port"`
	Username string     `json:"username"`
	Password string     `json:"password"`
}

// upstreamFields are an Upstream without its methods.
type upstreamFields Upstream

// upstreamJSON is an Upstream as it is written. JSON has text alone, and a login may be of any bytes: one that is no UTF-8 stands a second
// time as base64. A process of a version without that takes the text, as it did.
type upstreamJSON struct {
	upstreamFields
	RawUsername []byte `json:"rawUsername,omitempty"`
	RawPassword []byte `json:"rawPassword,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (u Upstream) MarshalJSON() ([]byte, error) {
	return json.Marshal(upstreamJSON{upstreamFields(u), rawOf(u.Username), rawOf(u.Password)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *Upstream) UnmarshalJSON(b []byte) error {
	var in upstreamJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*u = Upstream(in.upstreamFields)
	if in.RawUsername != nil {
		u.Username = string(in.RawUsername)
	}
	if in.RawPassword != nil {
		u.Password = string(in.RawPassword)
	}
	return nil
}

// rawOf is a text that JSON cannot carry, or nil.
func rawOf(s string) []byte {
	if utf8.ValidString(s) {
		return nil
	}
	return []byte(s)
}

// Proxy is the value that a dialer takes; nil for none.
func (u *Upstream) Proxy() *proxy.Proxy {
	if u == nil {
		return nil
	}
	return &proxy.Proxy{Type: u.Type, Host: u.Host, Port: u.Port, Username: u.Username, Password: u.Password}
}

// UpstreamMark says which proxy it is, in which version.
type UpstreamMark struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"`
}

// State is a run as its shim sees it.
type State struct {
	RunID           string            `json:"runId"`
	ProfileID       string            `json:"profileId"`
	Capabilities    []Capability      `json:"capabilities"`
	PID             int               `json:"pid"`
	StartedAt       time.Time         `json:"startedAt"`
	Headless        bool              `json:"headless"`
	Browser         browser.Installed `json:"browser"`
	UserAgent       string            `json:"userAgent"`
	Languages       []string          `json:"languages"`
	Timezone        string            `json:"timezone"`
	Isolation       browser.Isolation `json:"isolation"`
	Warnings        []browser.Warning `json:"warnings"`
	DebuggerAddress string            `json:"debuggerAddress"` // "" without, and when it is closed again
	DebugKey        string            `json:"debugKey"`        // as in the Spec
	Upstreams       []UpstreamMark    `json:"upstreams"`       // in their order; none: direct
	UpstreamAt      int               `json:"upstreamAt"`      // the one in use; above 0 it is a fallback
	Ending          bool              `json:"ending"`          // the browser has gone or is being closed
	ForOnce         bool              `json:"forOnce"`         // as in the Spec
}

// Outcome says how a run ended.
type Outcome string

const (
	Stopped  Outcome = "stopped"  // it was told to
	Failed   Outcome = "failed"   // the browser died by itself
	Orphaned Outcome = "orphaned" // no server came back within the grace; the browser was closed gracefully
	Expired  Outcome = "expired"  // it ran as long as it may
	Idle     Outcome = "idle"     // nobody used it for as long as it may be idle
	Closed   Outcome = "closed"   // somebody closed the browser's window
	Lost     Outcome = "lost"     // the shim is gone without a word; only a server says this
)

// End is how a run ended. The shim writes it beside its socket before it goes.
type End struct {
	Outcome   Outcome        `json:"outcome"`
	Method    browser.Method `json:"method,omitempty"` // what it took to end the browser
	ExitCode  int            `json:"exitCode"`
	Signal    string         `json:"signal,omitempty"`
	Lines     []string       `json:"lines,omitempty"`
	EndedAt   time.Time      `json:"endedAt"`
	BytesUp   int64          `json:"bytesUp"`
	BytesDown int64          `json:"bytesDown"`
	ByRules   int64          `json:"refusedByRules"` // connections
	Traffic   []Traffic      `json:"traffic"`
	Hosts     *Hosts         `json:"hosts,omitempty"` // nil: not kept
}

// watchLine is a line of GET /watch: a notice, or the end, which is the last one.
type watchLine struct {
	Notice *Notice `json:"notice,omitempty"`
	End
}

// Failure is a start that came to nothing.
type Failure struct {
	Kind     string   `json:"kind"` // not_found, failed, killed, timeout, cancelled, locked, taken, unwritable, folder_unusable, disk_full, isolation_refused, isolation_failed, internal
	Message  string   `json:"message"`
	ExitCode int      `json:"exitCode"`
	Lines    []string `json:"lines,omitempty"`
	Advice   string   `json:"advice,omitempty"` // what to do
	Signal   string   `json:"signal,omitempty"` // that ended the browser, or with killed the shim
	Memory   bool     `json:"-"`                // the kernel has killed a process meanwhile, for want of memory
}

// Error says it in one line.
func (f *Failure) Error() string { return f.Kind + ": " + f.Message }

// report is the shim's first and only line on standard output.
type report struct {
	State   *State   `json:"state,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
}
