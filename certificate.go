package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// certificate is the server's TLS certificate, which can be read anew while it serves.
type certificate struct {
	file, key string // PEM
	current   atomic.Pointer[tls.Certificate]
}

// load reads the files. On an error the certificate stays as it was.
func (c *certificate) load() error {
	read, err := tls.LoadX509KeyPair(c.file, c.key)
	if err == nil {
		c.current.Store(&read)
	}
	return err
}

// get is tls.Config's GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}

// onHangUp returns a channel of SIGHUPs, with which a service manager asks to read the certificate anew. With a terminal
// the signal ends the server instead.
func onHangUp() (reload chan os.Signal) {
	reload = make(chan os.Signal, 1)
	if !hasTerminal() {
		signal.Notify(reload, syscall.SIGHUP)
	}
	return reload
}

// keep reloads the certificate on each signal until ctx ends. A nil certificate is none.
func (c *certificate) keep(ctx context.Context, reload chan os.Signal, log *slog.Logger) {
	defer signal.Stop(reload)
	for {
		select {
		case <-reload:
		case <-ctx.Done():
			return
		}
		if c == nil {
			log.Info("SIGHUP reads the TLS certificate anew, and there is none")
		} else if err := c.load(); err != nil {
			log.Error("the TLS certificate was not read anew; the one of before stays", "cause", err)
		} else {
			log.Info("the TLS certificate was read anew")
		}
	}
}
