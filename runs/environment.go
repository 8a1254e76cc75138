package runs

import (
	"cmp"
	"log/slog"
	"os"
	"strings"
	"time"

	"warren/identity"
)

// Describes the host: its system and its time zone.

// localEnvironment returns this machine's environment without a proxy. browser is the major version that runs; 0: none.
func localEnvironment(browser int) identity.Environment {
	return identity.Environment{OS: identity.HostSystem(), Zone: HostZone(), Local: time.Local, Browser: browser, Now: time.Now()}
}

// DropUnknownZone unsets a TZ that names no time zone. Libraries read such a name as UTC, and browsers as no zone at
// all. /etc/localtime then applies to this process and its children.
func DropUnknownZone(log *slog.Logger) {
	name, set := os.LookupEnv("TZ")
	if !set || HostZone() != "" {
		return
	}
	os.Unsetenv("TZ") //nolint:errcheck // it is set
	log.Warn("TZ names no time zone and is ignored: give an IANA name such as Europe/Berlin", "TZ", name, "instead", HostZone())
}

// HostZone returns the IANA name of this machine's time zone; "" if it is unknown.
func HostZone() string {
	if name, ok := os.LookupEnv("TZ"); ok {
		name = cmp.Or(strings.TrimPrefix(name, ":"), "UTC")
		if !identity.IsZone(name) {
			return ""
		}
		return name
	}
	target, err := os.Readlink("/etc/localtime")
	if _, name, ok := strings.Cut(target, "zoneinfo/"); err == nil && ok && identity.IsZone(name) {
		return name
	}
	return ""
}
