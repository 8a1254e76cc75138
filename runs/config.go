package runs

import (
	"time"

	"github.com/go-json-experiment/json"

	"warren/pool"
	"warren/store"
	"warren/tally"
)

// Config says how browsers are run.
type Config struct {
	Data             string        // the data folder
	Spans            tally.Spans   // takes the spans of starts; nil: nobody traces
	Executable       string        // the program whose command shim supervises a run; "" is this one
	Browser          string        // the browser to run; "" is the first one found
	Browsers         []string      // folders with further builds
	Headless         string        // auto, always or never
	AllowPrivate     bool          // whether pages reach private networks and this machine
	BrowserMirror    string        // where builds are downloaded from; "" Chrome for Testing's own; InstallOff: not over the API
	Protected        []string      // folders and files that no run may read or write
	ReadOnly         bool          // whether runs may only read everything else
	ClientFiles      []string      // folders that runs may write despite ReadOnly
	FilesQuota       int64         // bytes of a profile's uploads and downloads; 0: no limit
	RequireIsolation bool          // refuse runs that the kernel does not isolate
	KeepBrowsers     bool          // leave runs to the next server
	NoSnapshots      bool          // whether profiles without a choice of their own make none when they stop
	MaxStarting      int           // browsers that are launched at the same time
	MaxRunning       int           // browsers that run at the same time; 0: no limit
	Warm             int           // warm runs to keep
	MaxQueue         int           // starts that may wait for their turn
	QueueTimeout     time.Duration // how long a start waits for a free slot
	Limits           Limits        // of runs whose profile does not say
	FreezeAfter      time.Duration // how long nobody has needed a run that is frozen, where its profile does not say; 0: it never is
	StartTimeout     time.Duration // how long a browser may take until it accepts commands
	OrphanGrace      time.Duration // how long a run lives without a server
	TrashDays        int           // days until deleted profiles are removed
	EnvironmentKey   string        // the mark of the key from the environment, which is in no table; "" none
	Node             string        // this server's id among those that share a database, which has the data of profiles; "": it is alone
	Packages         Packages      // the other servers' packages of extensions; nil: it is alone
	Own              pool.Own      // where this server itself answers
}

// Millis converts a time of a row, in milliseconds since 1970.
func Millis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Name returns the base name of a run's files: the last 12 digits of its id, which are random (RFC 9562, 5.7). It is
// short because a socket's path is limited.
func Name(runID string) string { return runID[max(0, len(runID)-12):] }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// StopTime is how long a browser may take to close.
const StopTime = 25 * time.Second

// Override is a start option that may be absent. If it is not Set, the profile's value applies.
type Override[T any] struct {
	Set   bool
	Value T
}

// Options override the profile for one start.
type Options struct {
	Headless       Override[*bool] // nil: headed where there is a display
	StartURLs      Override[[]string]
	Proxy          Override[ProxyChoice]
	MaxRun         Override[time.Duration] // how long the run may take
	Preflight      string                  // off, warn or require; "" is warn
	DebugPort      bool                    // open a debug port on this machine for clients that only take host:port
	AllowDowngrade bool                    // allow an older browser than last time, after a snapshot of the profile's data
	Repair         bool                    // go back to the newest snapshot that opens if the data are damaged
	SetAside       bool                    // with Repair: if no snapshot opens, move what is damaged out of the data, and begin it anew
	DryRun         bool                    // change nothing

	Asker Asker
}

// Asker is the key that requests a start, and its rights.
type Asker struct {
	Sees    store.Scope
	Key     string // the key's mark, which its capabilities carry
	Files   bool   // whether its clients may use files of the machine
	Expires time.Time
}

// ProxyChoice is the proxy of one start: an id, a pick by tag, or neither for a direct connection.
type ProxyChoice struct {
	ID   string
	Pick *Pick
}

// Pick selects a proxy by tag. How is random, leastUsed, roundRobin or sticky.
type Pick struct{ Tag, How string }

// NewAsker returns the rights of a key's holder. mark is what the key's capabilities carry.
func NewAsker(h store.Holder, mark string) Asker {
	return Asker{Sees: h.Sees, Key: mark, Files: h.Has(store.MayFiles), Expires: h.Expires}
}

// StringsOf reads a JSON list of strings from a column.
func StringsOf(text string) (out []string) {
	if json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}
