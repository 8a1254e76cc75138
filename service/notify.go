// Package service is Warren as a service of the system. It tells the service manager how the server is. It installs and removes the service
// on Linux (systemd), macOS (launchd) and Windows.
package service

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Managed reports whether a service manager started this process, and keeps what it writes (sd_notify(3)).
func Managed() bool { return os.Getenv("NOTIFY_SOCKET") != "" }

// Notify tells systemd about the server (sd_notify(3)), where systemd started it. A fault is logged: the manager's deadline is what counts.
func Notify(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("the service manager was not told", "state", state, "cause", err)
	}
}

// Ready says that the server answers, and where.
func Ready(log *slog.Logger, base string) {
	Notify(log, daemon.SdNotifyReady+"\nSTATUS=listening on "+base)
}

// Stopping says that the server was told to stop.
func Stopping(log *slog.Logger) { Notify(log, daemon.SdNotifyStopping+"\nSTATUS=closing browsers") }

// Reload says that the configuration is read anew while do works, and that the server is ready after it.
func Reload(log *slog.Logger, do func()) {
	Notify(log, daemon.SdNotifyReloading+"\n"+daemon.SdNotifyMonotonicUsec())
	do()
	Notify(log, daemon.SdNotifyReady)
}

// KeepAlive tells the watchdog that the server lives, for as long as alive says so, twice in the time that the unit gives (WatchdogSec=).
// Where there is no watchdog it returns at once, else when ctx ends.
func KeepAlive(ctx context.Context, log *slog.Logger, alive func(context.Context) error) {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil || every == 0 {
		return
	}
	tick := time.NewTicker(every / 2)
	defer tick.Stop()
	for {
		try, cancel := context.WithTimeout(ctx, every/2)
		err := alive(try)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Error("the server does not work, and the watchdog is not told otherwise", "cause", err)
		default:
			Notify(log, daemon.SdNotifyWatchdog)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
