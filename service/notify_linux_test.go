package service

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestNotify: the manager hears that the server is ready, reloads and stops, and its watchdog only what is so.
func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	hear := func(want string) {
		t.Helper()
		b := make([]byte, 1<<12)
		n, err := socket.Read(b)
		if err != nil || !strings.HasPrefix(string(b[:n]), want) {
			t.Fatalf("the manager hears %q, %v, want %q", b[:n], err, want)
		}
	}
	log := slog.New(slog.DiscardHandler)
	Ready(log, "http://x")
	hear("READY=1\nSTATUS=listening on http://x")
	Reload(log, func() { hear("RELOADING=1\nMONOTONIC_USEC=") })
	hear("READY=1")
	KeepAlive(t.Context(), log, func(context.Context) error { return errors.New("no watchdog: nobody asks") })
	t.Setenv("WATCHDOG_USEC", "20000")
	ctx, end := context.WithCancel(t.Context())
	tries := 0
	KeepAlive(ctx, log, func(context.Context) error {
		if tries++; tries == 1 {
			return errors.New("it hangs")
		}
		end()
		return nil
	})
	Stopping(log)
	hear("STOPPING=1") // and nothing of the watchdog's before
	ctx, end = context.WithCancel(t.Context())
	defer end()
	go KeepAlive(ctx, log, func(context.Context) error { return nil })
	hear("WATCHDOG=1")
}
