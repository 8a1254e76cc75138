package runs

import (
	"time"
	"warren/pool"
)

// Config says how browsers are run.
type Config struct {
	Data             string        // the data folder
	Executable       string        // the program whose command shim supervises a run; "" is this one
	Browser          string        // the browser to run; "" is the first one found
	Browsers         []string      // folders with further builds
	Headless         string        // auto, always or never
	AllowPrivate     bool          // whether pages reach private networks and this machine
	Protected        []string      // folders and files that no run may read or write
	ReadOnly         bool          // whether runs may only read everything else
	ClientFiles      []string      // folders that runs may write despite ReadOnly
	FilesQuota       int64         // bytes of a profile's uploads and downloads; 0: no limit
	RequireIsolation bool          // refuse runs that the kernel does not isolate
	KeepBrowsers     bool          // leave runs to the next server
	MaxStarting      int           // browsers that are launched at the same time
	MaxRunning       int           // browsers that run at the same time; 0: no limit
	MaxQueue         int           // starts that may wait for their turn
	QueueTimeout     time.Duration // how long a start waits for a free slot
	StartTimeout     time.Duration // how long a browser may take until it accepts commands
	OrphanGrace      time.Duration // how long a run lives without a server
	TrashDays        int           // days until deleted profiles are removed
	EnvironmentKey   string        // the mark of the key from the environment, which is in no table; "" none
	Own              pool.Own      // this server's own address
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
