package runs

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"warren/identity"
	"warren/shim"
)

// Types of the answers about runs.

// Info is a run as every key with read rights sees it.
type Info struct {
	ID              string      `json:"id" doc:"The profile's id, as profileId."`
	ProfileID       string      `json:"profileId"`
	WorkspaceID     string      `json:"workspaceId"`
	RunID           string      `json:"runId" doc:"This life of the profile's browser, from start to exit."`
	Status          string      `json:"status" enum:"running,stopping"`
	Reused          bool        `json:"reused" doc:"The browser ran already."`
	StartedAt       time.Time   `json:"startedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	ExpiresAt       *time.Time  `json:"expiresAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"When maxRunMs ends it." example:"2026-11-21T14:06:00.000Z"`
	FrozenSince     *time.Time  `json:"frozenSince,format:'2006-01-02T15:04:05.000Z07:00'" doc:"Since when its processes are stopped, because nobody needs them (freezeAfter); null: they are not, or the answer is not from the server that has the run, as in a list of profiles or while that server is away." example:"2026-11-21T14:06:00.000Z"`
	PID             int         `json:"pid" doc:"The browser's main process."`
	Headless        bool        `json:"headless"`
	Browser         UsedBrowser `json:"browser"`
	Requested       Requested   `json:"requested"`
	Effective       Effective   `json:"effective"`
	Proxy           *Egress     `json:"proxy" doc:"The proxy and where it comes out; null: direct."`
	Isolation       Isolation   `json:"isolation"`
	DebuggerAddress *string     `json:"debuggerAddress" doc:"host:port for Selenium, in 127.77.0.0/16 (127.0.0.1 where the system has no other); only when debugPort asked for it."`
	Pending         []string    `json:"pending" doc:"Members of the profile that were changed since and wait for the next start."`
	Warnings        []Warning   `json:"warnings"`
}

// Started is the start's answer: the run, and how to drive it.
type Started struct {
	Info
	WsEndpoint string `json:"wsEndpoint" doc:"For puppeteer.connect and other CDP clients. It carries a capability that opens this run alone, with the rights of the key that asked, and ends with either."`
	CdpURL     string `json:"cdpUrl" doc:"For Playwright's connectOverCDP."`
	LiveURL    string `json:"liveUrl" doc:"The live view, a page. What stands behind # is the capability."`

	run    *run         // set only in the answer of Start
	known  bool         // false for an adopted run until its process has answered
	phases []shim.Phase // set only in the answer of Start to the caller whose start it is
}

// Phases returns the parts of the start, in their order; none if the caller joined a start of another's. claim lasts until the
// profile is claimed and read, and plan until the run's process is asked for. process is what that takes beside its parts, which
// are namespace, launch, attach, override and ready. record lasts until the start is on disk, and later changes are applied.
func (s *Started) Phases() []shim.Phase { return s.phases }

// Ended returns a channel that is closed when the run has ended, or when this server does not watch it any more.
func (s *Started) Ended() <-chan struct{} { return s.run.done }

// UsedBrowser is the browser that a run was started with.
type UsedBrowser struct {
	Product string `json:"product" example:"Chromium"`
	Version string `json:"version" example:"156.0.8078.79"`
	Path    string `json:"path" example:"/usr/lib/chromium/chromium"`
	Match   string `json:"match" enum:"exact,nearest" doc:"Whether it is of the declared major version."`
}

// Requested is what the profile declares.
type Requested struct {
	OS             string `json:"os"`
	BrowserVersion string `json:"browserVersion"`
}

// Effective is what pages see.
type Effective struct {
	OS             string           `json:"os"`
	BrowserVersion string           `json:"browserVersion"`
	UserAgent      string           `json:"userAgent"`
	Timezone       string           `json:"timezone"`
	Locale         []string         `json:"locale" doc:"As navigator.languages shows it. Empty in a dryRun where only the browser knows."`
	Geolocation    jsontext.Value   `json:"geolocation" doc:"A position, off, or null: the page asks as Chrome does."`
	Screen         *identity.Screen `json:"screen" doc:"null: the display's; 1440 x 900 where there are no windows."`
	WebRTC         string           `json:"webrtc"`
}

// Egress is the proxy in use and its exit.
type Egress struct {
	ID        string     `json:"id"`
	Type      string     `json:"type"`
	Fallback  bool       `json:"fallback" doc:"It is one of fallbackProxyIds, and in use since those before it were dead."`
	ExitIP    *string    `json:"exitIp"`
	Country   *string    `json:"country"`
	Timezone  *string    `json:"timezone"`
	LatencyMs *int64     `json:"latencyMs"`
	CheckedAt *time.Time `json:"checkedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
}

// Isolation says what separates a run from the machine.
type Isolation struct {
	Network string `json:"network" enum:"namespace,loopback"`
	Files   string `json:"files" enum:"namespace,guard" doc:"namespace: the kernel hides the data folder and other runs from this one. guard: commands of clients that lead there are refused."`
	Sandbox bool   `json:"sandbox" doc:"Whether Chrome's own sandbox is on."`
}

// Warning is a condition that did not prevent the start.
type Warning struct {
	Code    string `json:"code" example:"sandbox_off"`
	Message string `json:"message"`
}

// End is how a run ended.
type End struct {
	RunID      string    `json:"runId"`
	StartedAt  time.Time `json:"startedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	EndedAt    time.Time `json:"endedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	DurationMs int64     `json:"durationMs"`
	Status     string    `json:"status" enum:"stopped,failed"`
	Reason     string    `json:"reason" enum:"stopped,closed,orphaned,expired,idle,crashed,out_of_memory,lost,start_failed" doc:"closed: by its window; out_of_memory: memory has more; expired: maxRunMs; idle: idleTimeoutMs; orphaned: its server did not come back in time; lost: gone without a word."`
	Method     string    `json:"method,omitempty" doc:"What it took to end the browser: close, interrupt or kill."`
	ExitCode   int       `json:"exitCode"`
	Signal     string    `json:"signal,omitempty"`
	BytesUp    int64     `json:"bytesUp"`
	BytesDown  int64     `json:"bytesDown"`
	ByRules    int64     `json:"refusedByRules" doc:"Connections that allowHosts and denyHosts refused."`
	Lines      []string  `json:"lines,omitempty" doc:"The browser's last lines, after a failure."`

	PeakMemoryBytes *int64     `json:"peakMemoryBytes,omitempty" doc:"The most memory that the run had; absent where the kernel does not tell."`
	CPUMs           *int64     `json:"cpuMs,omitempty" doc:"Processor time of all its processes; absent where the system does not tell."`
	Memory          *EndMemory `json:"memory,omitempty" doc:"After out_of_memory."`

	traffic []shim.Traffic // as the run's process reported it at its end
	hosts   *shim.Hosts
}

func newWarnings(in []shim.Warning) []Warning {
	out := []Warning{}
	for _, w := range in {
		out = append(out, Warning{w.Code, w.Message})
	}
	return out
}

// Memory is the memory of the machine, in bytes.
type Memory struct {
	TotalBytes     int64 `json:"totalBytes"`
	AvailableBytes int64 `json:"availableBytes" doc:"What new programs can have without swapping."`
}
