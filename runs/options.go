package runs

import (
	"time"
	"warren/store"

	"github.com/go-json-experiment/json"
)

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
	Preflight      string // off, warn or require; "" is warn
	DebugPort      bool   // open a debug port on this machine for clients that only take host:port
	AllowDowngrade bool   // allow an older browser than last time, after a copy of the profile's data
	DryRun         bool   // change nothing

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

// direct reports whether the start uses no proxy.
func (c ProxyChoice) direct() bool { return c.ID == "" && c.Pick == nil }

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
