package main

import (
	"cmp"
	"log/slog"
	"os"
	"strings"
	"time"

	"warren/identity"
)

// This file says what this machine itself is: its system and its time zone.

// localEnvironment is this machine without a proxy, with a browser of a major version (0: none).
func localEnvironment(browser int) identity.Environment {
	return identity.Environment{OS: identity.HostSystem(), Zone: hostZone(), Local: time.Local, Browser: browser, Now: time.Now()}
}

// dropUnknownZone takes a TZ away that names no time zone: libraries read it as UTC, browsers as no zone at all. What /etc/localtime says counts then, for
// this process and for what it starts.
func dropUnknownZone(log *slog.Logger) {
	name, set := os.LookupEnv("TZ")
	if !set || hostZone() != "" {
		return
	}
	os.Unsetenv("TZ") //nolint:errcheck // it is set
	log.Warn("TZ names no time zone and is ignored: give an IANA name such as Europe/Berlin", "TZ", name, "instead", hostZone())
}

// hostZone is the IANA name of this machine's time zone; "" when it cannot be told.
func hostZone() string {
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
