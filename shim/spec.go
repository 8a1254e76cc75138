// Package shim runs one browser in a process of its own. The process owns the run's Chrome, its relay and the lock of
// its profile folder. It serves the server over a unix socket in the data folder. A fault of one run cannot affect
// another. The server may die and come back without any effect on a browser, as with containerd's shims.
//
// This file holds the values that cross the socket.
package shim

import (
	"encoding/json"
	"path/filepath"
	"time"
	"unicode/utf8"

	"warren/browser"
	"warren/cgroup"
	"warren/proxy"
)

// Types that the server needs without importing the packages that declare them.
type (
	Installed = browser.Installed
	Warning   = browser.Warning
	Bypass    = proxy.Bypass
	Identity  = browser.Identity
	Position  = browser.Geolocation
	Screen    = browser.Screen
	Phase     = browser.Phase
	Stopwatch = browser.Stopwatch

	ArgumentFault = browser.ArgumentFault
)

// CheckArguments returns why arguments are refused that a profile adds to the browser's command line.
func CheckArguments(args []string) []ArgumentFault { return browser.CheckArguments(args) }

// The two kinds of isolation that a run can have.
const (
	Namespace = browser.InNamespace
	Loopback  = browser.OnLoopback
)

// Spec describes a run. It is passed on the shim's standard input, never on a command line, because it holds secrets.
type Spec struct {
	RunID        string        `json:"runId"`
	ProfileID    string        `json:"profileId"`
	BrowserPath  string        `json:"browserPath"`
	Product      string        `json:"product"`    // the browser's, as it was found
	Version      string        `json:"version"`    // the browser's, four numbers
	ProfileDir   string        `json:"profileDir"` // holds the browser's user data in "chrome" and the lock
	RunDir       string        `json:"runDir"`     // holds the socket, the end report and the log
	Name         string        `json:"name"`       // of the run's files in RunDir; short, since a socket's path has at most 104 bytes
	Headless     bool          `json:"headless"`
	Args         []string      `json:"args"` // further switches of the browser, from CheckArguments' list
	StartURLs    []string      `json:"startUrls"`
	Upstream     *Upstream     `json:"upstream"`  // nil: direct
	Fallbacks    []Upstream    `json:"fallbacks"` // in their order, for when the upstream is dead
	ForOnce      bool          `json:"forOnce"`   // the upstream is for this run only, whatever the profile has
	Rules        Rules         `json:"rules"`
	Private      bool          `json:"private"`    // private networks may be reached
	Bypasses     []Bypass      `json:"detours"`    // services of this machine that pages may reach without the upstream
	Background   bool          `json:"background"` // the services that Chrome itself connects to may be reached
	TrustSPKI    string        `json:"trustSpki"`  // base64 SHA-256 of the one key whose unsigned certificates are accepted; "" none
	Resolver     string        `json:"resolver"`   // DNS over HTTPS server that the browser asks directly, not through its proxy; "" none
	DebugPort    bool          `json:"debugPort"`
	StarterFiles bool          `json:"starterFiles"` // the starter, and clients of the debug port, may use files of the machine
	DebugKey     string        `json:"debugKey"`     // the key for which the port is open
	DebugUntil   int64         `json:"debugUntil"`   // when that key expires, Unix ms; 0: never
	WebRTC       string        `json:"webrtc"`       // proxy_only, off or default
	Identity     Identity      `json:"identity"`     // what pages see
	Network      string        `json:"network"`      // required isolation, Namespace or Loopback; "" the best available
	Files        string        `json:"files"`        // required isolation of files, Namespace; "" the best available
	Protected    []string      `json:"protected"`    // folders and files that are hidden from the run and from DevTools clients
	ReadOnly     bool          `json:"readOnly"`     // the run can write only its own folders and those of Writable
	Writable     []string      `json:"writable"`     // further folders that a ReadOnly run can write
	FilesQuota   int64         `json:"filesQuota"`   // bytes that uploads and downloads may have together; 0: no quota
	Timeout      time.Duration `json:"timeout"`      // until the browser takes commands
	Grace        time.Duration `json:"grace"`        // how long to continue without a server
	MaxRun       time.Duration `json:"maxRun"`       // 0: no limit
	Idle         time.Duration `json:"idle"`         // how long to continue unused; 0: no limit
	FreezeAfter  time.Duration `json:"freezeAfter"`  // how long nobody has needed a browser that is frozen; 0: it never is
	CookieKey    []byte        `json:"cookieKey"`    // what the kept cookies are sealed with; none: they are not kept
	// RestoreCookies sets the cookies that are kept, since Chrome's own file of them is lost.
	RestoreCookies bool          `json:"restoreCookies"`
	Passkeys       string        `json:"passkeys"`       // auto or ask (browser.PasskeyMode); "": pages have none
	PasskeyKey     []byte        `json:"passkeyKey"`     // what the profile's passkeys are sealed with
	PendingCookies bool          `json:"pendingCookies"` // sets the cookies that wait for a start (PendCookies)
	Extensions     []Extension   `json:"extensions"`     // that are loaded before the first page
	Offline        bool          `json:"offline"`        // a run without a network, for the profile's state alone
	Clear          *ClearOptions `json:"clear"`          // what an offline run clears; nil: nothing
	Group          *cgroup.Group `json:"group"`          // the control group of the browser, which is there already; nil: none
	Warm           bool          `json:"warm"`           // the browser starts now, and belongs to the profile of a second Spec
}

// Extension is an unpacked extension.
type Extension struct {
	ID   string `json:"id"`   // Chrome's
	Path string `json:"path"` // of its folder, an absolute path
	Copy bool   `json:"copy"` // the browser writes beside its files: the run gets a copy of its own
	// Confined extensions may choose another way out, and are loaded only where the kernel leaves none.
	Confined bool `json:"confined"`
}

// Rights are the permissions of a run's client.
type Rights struct {
	Readonly bool `json:"readonly"` // the client may only watch the live view
	Files    bool `json:"files"`    // the client may use files of the machine, not only those in the run's own folder
}

// Rules say which hosts the pages of a run may reach, and whether requested hosts are recorded.
type Rules struct {
	Allow []string `json:"allow"` // none: every host
	Deny  []string `json:"deny"`
	Log   bool     `json:"log"`
}

func userDataDir(profileDir string) string { return filepath.Join(profileDir, "chrome") }

// homeDir is the folder for the caches and settings that the browser's libraries would write to the user's home.
func homeDir(profileDir string) string { return filepath.Join(profileDir, "home") }

// FilesDir returns the run's own folder for what clients upload and download, in "uploads" and "downloads". It is
// emptied when the profile starts.
func FilesDir(profileDir string) string { return filepath.Join(profileDir, "files") }

// Capability grants access to a run without a key, with these rights, to a client that presents its secret. It was
// created for a key and ends with that key.
type Capability struct {
	ID   string `json:"id"`
	Hash []byte `json:"hash"` // SHA-256 of the secret
	// Secret is set only for the capability that a start returns to a key, so that the next server can return it
	// again.
	Secret string `json:"secret,omitempty"`
	Key    string `json:"key"` // the key it was created for
	Name   string `json:"name"`
	Rights
	CreatedAt int64 `json:"createdAt"` // Unix ms
	ExpiresAt int64 `json:"expiresAt"` // Unix ms; 0: ends with the run
}

// Upstream is a proxy with its password. This form is written only to the shim.
type Upstream struct {
	ID       string     `json:"id"`
	Revision int64      `json:"revision"`
	Type     proxy.Type `json:"type"`
	Host     string     `json:"host"`
	Port     int        `json:"port"`
	Username string     `json:"username"`
	Password string     `json:"password"`
}

// upstreamFields is an Upstream without its methods.
type upstreamFields Upstream

// upstreamJSON is the JSON form of an Upstream. A user name or password that is not UTF-8 is added as base64, since
// JSON holds text only. Processes of older versions take the text.
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

// rawOf returns the bytes of a string that JSON cannot hold, nil for any other.
func rawOf(s string) []byte {
	if utf8.ValidString(s) {
		return nil
	}
	return []byte(s)
}

// Proxy returns the proxy for a dialer. It is nil for nil.
func (u *Upstream) Proxy() *proxy.Proxy {
	if u == nil {
		return nil
	}
	return &proxy.Proxy{Type: u.Type, Host: u.Host, Port: u.Port, Username: u.Username, Password: u.Password}
}

// UpstreamMark identifies a proxy and its revision.
type UpstreamMark struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"`
}

// State is a run's state as its shim reports it.
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
	DebuggerAddress string            `json:"debuggerAddress"` // "" without a port, and when it is closed
	DebugKey        string            `json:"debugKey"`        // as in the Spec
	Upstreams       []UpstreamMark    `json:"upstreams"`       // in their order; none: direct
	UpstreamAt      int               `json:"upstreamAt"`      // index of the one in use; above 0 it is a fallback
	Ending          bool              `json:"ending"`          // the browser has exited or is being closed
	Phases          []Phase           `json:"phases"`          // of the start, in their order
	ForOnce         bool              `json:"forOnce"`         // as in the Spec
	FrozenSince     *time.Time        `json:"frozenSince"`     // nil: the browser is not frozen
}

// total returns the time of some phases together.
func total(phases []Phase) (d time.Duration) {
	for _, p := range phases {
		d += p.Took
	}
	return d
}

// isInOrder reports whether the browser has closed by itself or as it was told, with all that it had to write.
func (e End) isInOrder() bool {
	return e.Outcome != Failed && e.Method != browser.MethodKill && e.ExitCode == 0 && e.Signal == ""
}

// Outcome says how a run ended.
type Outcome string

const (
	Stopped  Outcome = "stopped"  // on request
	Failed   Outcome = "failed"   // the browser died
	Orphaned Outcome = "orphaned" // no server came back within the grace; the browser was closed gracefully
	Expired  Outcome = "expired"  // the run reached its maximum duration
	Idle     Outcome = "idle"     // the run reached its idle limit
	Closed   Outcome = "closed"   // a person closed the browser's window
	Lost     Outcome = "lost"     // the shim is gone without a report; only a server says this

	// OutOfMemory is the end of a run whose control group had no memory left. The kernel has killed processes of it.
	OutOfMemory Outcome = "out_of_memory"
)

// End is the report of how a run ended. The shim writes it beside its socket before it exits.
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
	Hosts     *Hosts         `json:"hosts,omitempty"` // nil: not recorded
	CPUMs     int64          `json:"cpuMs"`           // processor time of the browser's processes, milliseconds; 0: not known
	LargeTab  *LargeTab      `json:"largeTab,omitempty"`
	Served    Served         `json:"served"`
}

// LargeTab is the tab that used the most memory shortly before a run ended for lack of it.
type LargeTab struct {
	Target string `json:"target"`
	Origin string `json:"origin"` // of its page: scheme, host and port. What follows in the address is nobody's business
	Bytes  int64  `json:"bytes"`  // of its heap; 0: not known
}

// Served is what a run has served since its start. Older processes do not report it.
type Served struct {
	MessagesIn  int64 `json:"messagesIn"` // of DevTools clients
	MessagesOut int64 `json:"messagesOut"`
	ClientIn    int64 `json:"clientBytesIn"` // in these messages
	ClientOut   int64 `json:"clientBytesOut"`
	Frames      int64 `json:"frames"` // of the live view
}

// Hosts are the recorded hosts that a run's pages have requested.
type Hosts struct {
	List []proxy.HostStats `json:"list"`
	More int64             `json:"more"` // requests for hosts beyond the list's capacity
}

// Traffic is the traffic through a proxy on one day (UTC).
type Traffic struct {
	ProxyID     string `json:"proxyId"` // "": direct
	Day         int64  `json:"day"`     // days since 1970-01-01
	BytesUp     int64  `json:"bytesUp"`
	BytesDown   int64  `json:"bytesDown"`
	Connections int64  `json:"connections"`
}

// The reasons of a notice.
const (
	ReasonIdle   = "idle"   // nobody uses the run
	ReasonMaxRun = "maxRun" // the run has nearly reached its maximum duration
	ReasonMoved  = "moved"  // the proxy was dead; the run continues through the next
	ReasonFrozen = "frozen" // the browser is frozen, or goes on
)

// Notice announces that a run is about to be closed, that the close is called off, that the proxy has changed, or that
// the browser was frozen or thawed.
type Notice struct {
	Reason string     `json:"reason"`
	EndsAt *time.Time `json:"endsAt"`          // nil: the run continues
	Since  *time.Time `json:"since,omitempty"` // of a frozen browser; nil: it goes on
	From   string     `json:"from,omitempty"`  // of a move: the proxy that was dead
	To     string     `json:"to,omitempty"`
	Code   proxy.Code `json:"code,omitempty"` // why that proxy counts as dead
}

// watchLine is a line of GET /watch: a notice, or as the last line the end.
type watchLine struct {
	Notice *Notice `json:"notice,omitempty"`
	End
}

// Failure is why a start failed.
type Failure struct {
	// Kind is not_found, failed, killed, timeout, cancelled, locked, taken, unwritable, folder_unusable, disk_full,
	// isolation_refused, isolation_failed or internal.
	Kind     string   `json:"kind"`
	Message  string   `json:"message"`
	ExitCode int      `json:"exitCode"`
	Lines    []string `json:"lines,omitempty"`
	Advice   string   `json:"advice,omitempty"` // what to do
	Signal   string   `json:"signal,omitempty"` // ended the browser, or with kind killed the shim
	Cold     bool     `json:"cold,omitempty"`   // of a warm run: nothing was loaded, and another process may start the profile
	Memory   bool     `json:"-"`                // the kernel killed a process for lack of memory during the start
}

// Error implements error.
func (f *Failure) Error() string { return f.Kind + ": " + f.Message }

// report is the shim's first and only line on standard output.
type report struct {
	State   *State   `json:"state,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
}
